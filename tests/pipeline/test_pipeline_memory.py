"""Programs with a state that no output shows, from rows and from a reference, through all files of a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from weights2code import pipeline
from weights2code.data import Problem, file_source, from_arrays
from weights2code.errors import InputError
from weights2code.language import BITS, Recurrence, Step, Var, uniform
from weights2code.network.load import load_network
from weights2code.run_folder import MEMORY, RunFolder, begin, open_existing
from weights2code.settings import Settings

SETTINGS = Settings(time_limit=120.0)


def evenness(x: np.ndarray) -> np.ndarray:
    """Whether zeros and ones so far are both even in number."""
    ones, zeros = np.cumsum(x, -1), np.cumsum(1 - x, -1)
    return ((ones % 2 == 0) & (zeros % 2 == 0)).astype(int)


def write(path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 2, (300, 12))
    y = evenness(x)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "x", "y"])
        table.writerows((i, x[i, t], y[i, t]) for i in range(300) for t in range(12))


def run_of(tmp_path: Path) -> RunFolder:
    write(tmp_path / "rows.csv")
    source = file_source(tmp_path / "rows.csv", ["x"], ["y"], "id")
    folder = begin(tmp_path / "run", source, SETTINGS)
    assert pipeline.run(source, SETTINGS, folder).exit_code == 0
    return folder


@pytest.mark.slow
def test_a_run_with_a_state_is_verified_extracted_and_loaded_again(tmp_path: Path):
    with run_of(tmp_path) as folder:
        assert folder.has(MEMORY)
        first = pipeline.finished(folder, pipeline.problem_in(folder))
    fresh = np.random.default_rng(1).integers(0, 2, (20, 80))
    program = first.program
    assert program is not None
    assert program.recurrence.outputs == ("y",)
    assert len(program.recurrence.steps) > 1
    assert np.array_equal(program.run(fresh[..., None])[..., 0], evenness(fresh))
    network = load_network(tmp_path / "run")
    assert np.array_equal(network(fresh[..., None])[..., -1], evenness(fresh))  # the state comes before it
    certificate = first.certificate
    assert certificate is not None
    assert certificate.networks()[-1][1].verdict == "proved"
    for command in (pipeline.verify, pipeline.extract):
        with open_existing(tmp_path / "run") as folder:
            outcome = command(folder)
        assert outcome.exit_code == 0
        assert outcome.program is not None
        assert outcome.program.recurrence.outputs == ("y",)
    assert 'id="states"' in (tmp_path / "run" / "report.html").read_text()
    with open_existing(tmp_path / "run") as folder:  # a memory that was tampered with is refused
        data = json.loads(folder.read_text(MEMORY))
        data["outputs"] = ["nothing"]
        folder.write_json(MEMORY, data)
        with pytest.raises(InputError, match=r"memory\.json is damaged"):
            pipeline.verify(folder)


@pytest.mark.slow
def test_a_long_sequence_shows_its_states_too(tmp_path: Path):
    """It is cut into windows, which see the state that came before them."""
    rng, count, length = np.random.default_rng(0), 1, 2000
    press = rng.integers(0, 2, (count, length))
    lamp = np.array(["off", "on"])[evenness(press)]
    with open(tmp_path / "rows.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "press", "lamp"])
        table.writerows((i, "ab"[press[i, t]], lamp[i, t]) for i in range(count) for t in range(length))
    source = file_source(tmp_path / "rows.csv", ["press"], ["lamp"], "id")
    with begin(tmp_path / "run", source, SETTINGS) as folder:
        first = pipeline.run(source, SETTINGS, folder)
        assert first.exit_code == 0
        assert folder.has(MEMORY)
        assert first.program is not None
        assert first.program.run(["a", "a", "b", "b"]).tolist() == ["off", "on", "off", "on"]
        again = pipeline.verify(folder)
    assert again.exit_code == 0


@pytest.mark.slow
def test_a_reference_with_a_hidden_state_is_proved():
    rule = (2 * Var("s", 1) + Var("x")) % 5
    machine = Recurrence(("x",), (Step("s", rule), Step("y", Var("s").equals(0))), ("y",))

    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return uniform(rng, (BITS,), n, length)

    x = draw(np.random.default_rng(0), 1200, 20)
    data = from_arrays(x, machine.run(x))
    parts = data.take(slice(0, 1000)), data.take(slice(1000, None))
    problem = Problem("hidden", ("x",), ("y",), (BITS,), (BITS,), *parts, 20, machine, draw)
    outcome = pipeline.search(problem, SETTINGS)
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "proved"
    assert outcome.certificate.networks()[-1][1].verdict == "proved"
    assert outcome.program is not None
    assert outcome.program.formula().startswith("state[t] = (x[t] + 2*state[t-1]) % 5\ny[t] = ")
