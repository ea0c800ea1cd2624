"""A file of weights gives its network, trained or taught, and it runs by itself at any length."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weights2code
from weights2code import pipeline
from weights2code.data import Layout, from_arrays
from weights2code.errors import InputError
from weights2code.extraction.members import whole_graph
from weights2code.graph import to_dict
from weights2code.graph.from_model import graph_with_names
from weights2code.heads import HEADS
from weights2code.model import HARD, Architecture, DiscreteTransformer
from weights2code.network.load import Network, load_network
from weights2code.results import Outcome, read_run
from weights2code.run_folder import MODEL, TAUGHT, begin, open_existing
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.storage import Trained

LENGTH = 7
#: What is trained, where rules are not to be taken from rows.
SETTINGS = Settings(seed=0, rungs=("linear", "prefix", "window"))


def trained_of(layout: Layout, architecture: Architecture, *, whole: bool, seed: int = 0) -> Trained:
    """Two members with random weights, of a size at which outputs stay small."""
    model = DiscreteTransformer(architecture, 2, (-4.0, 4.0), seed, torch.float64)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(drawn * (1.0 if name == "choices" else 0.3))
    found = Trained("rung", "annealed", layout, model.weights(), (0.0,) * 2, (1.0,) * 2, True, (), 0.0)
    return replace(found, integer_outputs=whole)


def torch_free_running(trained: Trained, x: np.ndarray, *, whole: bool) -> np.ndarray:
    """The module on its own past outputs, every position with the whole prefix."""
    y = np.zeros((*x.shape[:2], trained.layout.outputs))
    scale = np.array(trained.layout.output_scales)
    for t in range(x.shape[1]):
        shown = x.shape[1] if trained.layout.name == "concat" else t + 1
        channels = trained.layout.encode(from_arrays(x[:, :shown], y[:, :shown]), np.float64).channels
        with torch.no_grad():
            outputs = trained.model(torch.from_numpy(channels), HARD)[0].numpy().transpose(2, 1, 0)
        answer = outputs[:, t - x.shape[1]] if trained.layout.name == "concat" else outputs[:, t]
        y[:, t] = np.floor(answer * scale + 0.5) if whole else answer * scale
    return y


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["tagging", "autoregressive", "concat"])
def test_it_runs_as_the_module_does(name: str, whole: bool, tmp_path: Path) -> None:
    scales = (2.0, 2.0), (4.0, 4.0)
    layout = Layout(name, *scales, first_scored=2 if name == "concat" else 0)
    past = 2 if name == "autoregressive" else 0
    architecture = Architecture(
        channels=layout.channels, outputs=2, layers=2, submlps=2, window=4, past=past,
        learned_start=name != "concat",
        **dict.fromkeys(HEADS, 1),  # type: ignore[arg-type]
    )  # fmt: skip
    trained = trained_of(layout, architecture, whole=whole)
    trained.save(tmp_path / MODEL)
    network = load_network(tmp_path)
    x = np.random.default_rng(0).integers(-3, 4, (5, LENGTH, 2)).astype(float)
    expected = torch_free_running(trained, x, whole=whole)
    assert np.abs(expected).max() > 0.1
    assert np.allclose(network(x), expected, rtol=1e-9, atol=1e-9)
    assert np.allclose(network(x[0]), expected[0], rtol=1e-9, atol=1e-9)


def test_one_column_and_one_output_are_plain_sequences(tmp_path: Path) -> None:
    layout = Layout("autoregressive", (2.0,), (4.0,))
    trained = trained_of(layout, Architecture(channels=2, past=1, location=1, window=3), whole=True)
    trained.save(tmp_path / MODEL)
    network = weights2code.load_network(str(tmp_path / MODEL))
    assert isinstance(network, Network)
    x = np.arange(1000.0) % 3
    assert network(x).shape == (1000,)
    assert network(list(x[:4])).shape == (4,)
    assert network(x[:0]).shape == (0,)
    assert np.array_equal(network(x), network(x[:, None]))
    assert np.array_equal(network(x)[:20], network(x[:20]))
    assert repr(network).startswith("Network(x1 -> y1; ")
    assert len(repr(network)) + len(repr(network.graph)) < 100


def test_what_it_cannot_read_is_refused(tmp_path: Path) -> None:
    layout = Layout("tagging", (2.0, 2.0), (4.0,))
    trained = trained_of(layout, Architecture(channels=2, location=1, window=3), whole=False)
    trained.save(tmp_path / MODEL)
    network = load_network(tmp_path)
    for x in (np.zeros(4), np.zeros((4, 3)), np.zeros((1, 1, 4, 2)), [[np.nan, 0.0]]):
        with pytest.raises(InputError):
            network(x)
    with pytest.raises(InputError):
        load_network(tmp_path / "nothing")


def test_a_taught_network_is_alone_in_its_file(tmp_path: Path) -> None:
    layout = Layout("tagging", (2.0,), (4.0,))
    trained = trained_of(layout, Architecture(channels=1, location=1, window=3), whole=False)
    graph = graph_with_names(trained.weights, 1, layout, ("x",), ("y",), 1)
    trained.taught(graph, 0.25, 1.0, integer_outputs=True).save(tmp_path / TAUGHT)
    read = Trained.load(tmp_path / TAUGHT)
    assert (read.integer_outputs, read.losses, read.accuracies) == (True, (0.25,), (1.0,))
    assert to_dict(graph_with_names(read.weights, 0, layout, ("x",), ("y",), 1)) == to_dict(graph)


def test_a_folder_gives_the_network_that_equals_the_program_unless_asked(tmp_path: Path) -> None:
    trained = trained_of(Layout("tagging", (2.0,), (4.0,)), Architecture(channels=1), whole=False)
    trained.save(tmp_path / MODEL)
    with pytest.raises(InputError, match="taught"):
        load_network(tmp_path, "taught")
    graph = load_network(tmp_path).graph
    other = replace(graph, head=graph.head + 1.0)
    trained.taught(other, 0.0, 1.0, integer_outputs=False).save(tmp_path / TAUGHT)
    heads = {which: load_network(tmp_path, which).graph.head for which in (None, "trained", "taught")}
    assert np.array_equal(heads[None], other.head)
    assert np.array_equal(heads["taught"], other.head)
    assert np.array_equal(heads["trained"], graph.head)
    with pytest.raises(InputError, match="choose trained or taught"):
        load_network(tmp_path, "other")  # type: ignore[arg-type]


# -- in the folder of a run ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Outcome]]:
    """One of which the trained network is right, and one whose network is written from its program."""
    found = {}
    for task in ("sum_last2", "Evens_Counter"):
        path = tmp_path_factory.mktemp(task) / "run"
        with begin(path, task, SETTINGS) as folder:
            found[task] = path, pipeline.run(task, SETTINGS, folder)
    return found


@pytest.fixture
def copied(runs: dict[str, tuple[Path, Outcome]], tmp_path: Path) -> Callable[[str], Path]:
    return lambda task: Path(shutil.copytree(runs[task][0], tmp_path / task))


@pytest.mark.parametrize(("task", "made"), [("sum_last2", None), ("Evens_Counter", "written")])
def test_extraction_leaves_what_was_trained(task: str, made: str | None, runs: Any, copied: Any) -> None:
    trained = runs[task][1].trained
    with open_existing(copied(task)) as folder:
        before = folder.file(MODEL).read_bytes()
        assert set(Trained.load(folder.file(MODEL)).losses) == set(trained.losses)
        found, problem = read_run(folder), problem_of(task, SETTINGS)
        network, taught = found.certificate.network, found.certificate.taught
        assert network is not None
        assert network.member is not None
        assert (taught.made if taught else None) == made
        assert folder.has(TAUGHT) == (made is not None)
        graph = load_network(folder.path).graph
        assert np.array_equal(graph.head, found.graph.head)
        assert folder.read_json("graph.json")["network"] == (TAUGHT if made else MODEL)
        own = whole_graph(trained, network.member, problem)
        assert np.array_equal(load_network(folder.path, "trained").graph.head, own.head)
        x = problem.validation.x[:50]
        assert np.array_equal(load_network(folder.path)(x), problem.validation.y[:50])
        folder.file(TAUGHT).write_bytes(b"left over")  # goes, or is made again
        pipeline.extract(folder)
        again = read_run(folder)
        assert folder.has(TAUGHT) == (made is not None)
        assert to_dict(again.graph) == to_dict(found.graph)
        assert again.certificate == found.certificate
        checked = pipeline.verify(folder).certificate
        assert checked is not None
        assert checked.to_dict() == found.certificate.checkable().to_dict()
        assert folder.file(MODEL).read_bytes() == before


def test_a_member_that_is_not_there_is_refused(copied: Any) -> None:
    with open_existing(copied("sum_last2")) as folder:
        stored = folder.read_json("certificate.json")
        stored["network"]["member"] = 99
        folder.write_json("certificate.json", stored)
        with pytest.raises(InputError, match="a member that"):
            pipeline.verify(folder)
        with pytest.raises(InputError, match="no member 99"):
            load_network(folder.path)


def test_a_taught_network_is_checked_from_its_file(copied: Any) -> None:
    with open_existing(copied("Evens_Counter")) as folder:
        content = folder.file(TAUGHT).read_bytes()
        trained = Trained.load(folder.file(TAUGHT))
        trained.weights.parameters["head"] += 0.7
        trained.save(folder.file(TAUGHT))
        outcome = pipeline.verify(folder)
        assert outcome.exit_code == 1
        assert outcome.broken.startswith("taught.safetensors is not the network in graph.json")
        assert outcome.certificate is not None
        assert outcome.certificate.taught is not None
        assert outcome.certificate.taught.verdict == "differs"
        folder.file(TAUGHT).unlink()
        assert pipeline.verify(folder).broken == "taught.safetensors is missing"
        folder.file(TAUGHT).write_bytes(content)
        assert pipeline.verify(folder).exit_code == 0
