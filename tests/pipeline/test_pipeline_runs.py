"""End to end: real training, extraction and certificate of a few tasks; text, recurrence and model agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code import pipeline, tasks
from weights2code.cli import main
from weights2code.data import from_arrays
from weights2code.errors import InputError, Reason
from weights2code.graph import from_dict
from weights2code.program import run_program
from weights2code.program.same_text import first_difference
from weights2code.recheck import run_problems, text_problems
from weights2code.results import Outcome, read_run
from weights2code.run_folder import TAUGHT, begin, open_existing
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.verify import certify, compare

FILES = {
    "config.json", "metrics.jsonl", "model.safetensors", "graph.json", "program_raw.py", "program.py",
    "program.tex", "certificate.json", "report.html",
}  # fmt: skip
LINEAR = Settings(samples=1024, rungs=("linear",))
#: What is linear, what is annealed, and what is looked up.
RUNS = {
    "sum_last2": LINEAR,
    "freebody": LINEAR,
    "parity_last2": Settings(layers=1, heads=1, submlps=1, epochs=6, members=4),
    "retrieve_value_by_key": Settings(samples=1024),
}


def run(name: str, settings: Settings, path: Path) -> Outcome:
    with begin(path, name, settings) as folder:
        return pipeline.run(name, settings, folder)


def proved(outcome: Outcome) -> Any:
    assert outcome.exit_code == 0, outcome.attempts
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "proved"
    return outcome


@pytest.mark.parametrize("name", RUNS)
def test_everything_that_a_verified_run_promises(name: str, tmp_path: Path):
    task, settings, path = tasks.get(name), RUNS[name], tmp_path / "run"
    program = proved(run(name, settings, path)).program
    assert {item.name for item in path.iterdir() if not item.name.startswith(".")} - {TAUGHT} == FILES
    # the program is the reference at four times the training length
    x, y = task.sample(16, 40, seed=77)
    assert np.allclose(program.recurrence.run(x), y, atol=1e-9)
    # three-way agreement, from the files alone
    problem = problem_of(name, settings)
    with open_existing(path) as folder:
        stored = read_run(folder)
    assert stored.program.recurrence == program.recurrence
    assert text_problems((path / "program.py").read_text(), stored.program) == ""
    assert run_problems(stored.program, problem) == ""
    own, _ = task.sample(16, task.length, seed=78)
    answers = stored.program.recurrence.run(own)
    texts = run_program(path / "program.py", [item[:, 0] if item.shape[1] == 1 else item for item in own])
    for text, answer in zip(texts, answers, strict=True):
        np.testing.assert_allclose(np.reshape(text, answer.shape), answer, rtol=1e-9, atol=1e-9)
    model = stored.graph.run(from_arrays(own, task.machine.run(own)))
    agreement = compare(answers, model, whole=problem.integer_outputs)
    assert agreement.accuracy == 1.0 if problem.integer_outputs else agreement.rmse < 1e-3


@pytest.mark.slow
def test_the_same_seed_gives_the_same_files(tmp_path: Path):
    for part in ("one", "two"):
        run("parity_last2", RUNS["parity_last2"], tmp_path / part)
    for file in ("program.py", "program_raw.py", "program.tex", "graph.json"):
        assert (tmp_path / "one" / file).read_text() == (tmp_path / "two" / file).read_text()


@pytest.mark.slow
def test_the_papers_own_layout_gives_programs_of_any_length(tmp_path: Path):
    """Trained on [x, y] at one length, re-indexed: program and listing run free, four times as long."""
    outcome = proved(run("freebody", Settings(samples=1024, layout="concat"), tmp_path / "run"))
    assert outcome.extraction.graph.layout.name == "concat"
    x, y = tasks.get("freebody").sample(4, 40, seed=5)
    for file in ("program.py", "program_raw.py"):
        for answer, right in zip(run_program(tmp_path / "run" / file, list(x[..., 0])), y, strict=True):
            assert np.array_equal(np.round(np.reshape(answer, right.shape)), right)


@pytest.mark.slow
def test_a_model_that_does_not_fit_is_said_to(tmp_path: Path):
    """The leaves are right although the model is not: the program is proved, the caveat stays with it."""
    outcome = proved(
        run("Dithering", Settings(layers=1, sum=1, submlps=1, epochs=1, members=1), tmp_path / "run")
    )
    assert outcome.attempts[0].reason is Reason.UNFIT
    for notes in (outcome.certificate.notes, certificate(tmp_path / "run")["notes"]):
        assert any("the discrete model does not fit" in note for note in notes)


@pytest.mark.slow
def test_a_run_that_finds_nothing_says_what_was_tried(tmp_path: Path):
    outcome = run("bitwise_xor", Settings(samples=128, layers=0, epochs=1, members=1), tmp_path / "run")
    assert (outcome.exit_code, outcome.program) == (3, None)
    assert outcome.message.startswith("no program could be extracted; fixed: ")
    assert not (tmp_path / "run" / "program.py").exists()
    assert (tmp_path / "run" / "model.safetensors").exists()


class Sampled:
    """A specification that gives outputs of inputs; whatever else is asked of it is noted and refused."""

    def __init__(self, task: tasks.Task) -> None:
        self._specification, self.asked = task.specification, list[str]()

    def run(self, x: np.ndarray) -> np.ndarray:
        return self._specification.run(x)

    def __getattr__(self, name: str) -> object:
        self.asked.append(name)
        raise AttributeError(name)


@pytest.mark.parametrize("name", ["bitwise_xor", "parity_last2", "tomita_5", "count_mod_5"])
def test_a_program_is_found_without_a_look_at_its_specification(name: str):
    """Of the paper, of MIPS, and with a state that no output shows: tested first, and proved afterwards."""
    settings, task = Settings(samples=1500, time_limit=120.0), tasks.get(name)
    problem, sampled = problem_of(task.name, settings), Sampled(task)
    outcome = pipeline.search(replace(problem, reference=sampled), settings)
    assert sampled.asked == []
    assert outcome.exit_code == 0
    assert outcome.certificate is not None
    assert outcome.certificate.verdict in ("tested", "exhaustive")
    assert outcome.program is not None
    facts: Any = {
        "domains": problem.domains,
        "length": problem.length,
        "integer_outputs": problem.integer_outputs,
    }
    assert certify(outcome.program.recurrence, reference=task.specification, **facts).verdict == "proved"


# -- a run folder and what becomes of it ---------------------------------------------------------------------


def certificate(path: Path) -> dict:
    return json.loads((path / "certificate.json").read_text())


def test_a_right_program_is_verified_again(folder: Path):
    before = (folder / "program.py").read_text()
    assert main(["verify", str(folder), "--quiet"]) == 0
    assert first_difference((folder / "program.py").read_text(), before) is None
    assert certificate(folder)["verdict"] == "proved"
    assert not certificate(folder)["attempts"]  # only the run knew


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+", "-"),
        ("return", "import os\n    return"),
        ("def ", "async def "),
        ("import numpy", "import nothing"),
    ],
)
def test_a_text_that_is_not_the_program_fails(folder: Path, old: str, new: str):
    text = (folder / "program.py").read_text()
    head, _, body = text.rpartition('"""')  # behind the docstring
    changed = f'{head}"""{body.replace(old, new, 1)}' if old in body else text.replace(old, new, 1)
    assert changed != text
    (folder / "program.py").write_text(changed)
    assert main(["verify", str(folder), "--quiet"]) == 1
    assert certificate(folder)["verdict"] == "failed"
    assert "program.py is not the program" in certificate(folder)["method"]
    assert (folder / "program.py").read_text() == changed  # it is judged, not overwritten


def test_a_finished_run_is_not_run_again(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def never(*_args: object, **_kw: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("weights2code.training.train.rungs_of", never)
    with open_existing(folder) as opened:
        assert opened.source == "sum_last2"
        settings = opened.settings
    assert settings.samples == 1024
    outcome = run("sum_last2", settings, folder)
    assert (outcome.exit_code, outcome.trained) == (0, None)


def test_extraction_alone_remakes_the_files(folder: Path, finished: dict[str, bytes]):
    for name in ("program.py", "program_raw.py", "graph.json", "certificate.json", "program.tex"):
        (folder / name).unlink()
    with open_existing(folder) as opened:
        assert pipeline.extract(opened).exit_code == 0
    for name in ("program.py", "program_raw.py", "graph.json", "program.tex"):
        assert (folder / name).read_bytes() == finished[name]
    x, y = tasks.get("sum_last2").sample(5, 25, seed=3)
    answers = run_program(folder / "program_raw.py", list(x[..., 0]))
    assert np.array_equal(np.round(np.stack([np.reshape(a, (25, 1)) for a in answers])), y)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data["nodes"].pop(),
        lambda data: data.update(nodes="none"),
        lambda data: data.pop("head"),
        lambda data: data["nodes"][0].update(type="shell"),
        lambda data: data["layout"].pop("input_scales"),
    ],
)
def test_a_damaged_graph_is_one_sentence(folder: Path, damage: Callable, capsys: pytest.CaptureFixture[str]):
    data = json.loads((folder / "graph.json").read_text())
    from_dict(data)
    damage(data)
    (folder / "graph.json").write_text(json.dumps(data))
    with open_existing(folder) as opened, pytest.raises(InputError, match="damaged"):
        read_run(opened)
    assert main(["verify", str(folder)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "read", "said"),
    [
        ("model.safetensors", pipeline.extract, "holds no trained model"),
        *((name, read_run, f"has no {name}") for name in ("graph.json", "program.py", "certificate.json")),
    ],
)
def test_a_missing_file_is_named(folder: Path, name: str, read: Callable, said: str):
    (folder / name).unlink()
    with open_existing(folder) as opened, pytest.raises(InputError, match=said):
        read(opened)
