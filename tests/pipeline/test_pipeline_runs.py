"""End to end: real training, extraction and certificate of a few tasks; text, recurrence and model agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weights2code import pipeline, tasks
from weights2code.cli import main
from weights2code.data import from_arrays
from weights2code.errors import InputError, Reason
from weights2code.extraction import from_networks as extraction
from weights2code.extraction import refuting
from weights2code.graph import from_dict
from weights2code.program import run_program
from weights2code.program.same_text import first_difference
from weights2code.recheck import run_problems, text_problems
from weights2code.results import Outcome, read_run
from weights2code.run_folder import TAUGHT, begin, open_existing
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.verify import compare

FILES = {
    "config.json", "metrics.jsonl", "model.safetensors", "graph.json", "program_raw.py", "program.py",
    "program.tex", "certificate.json", "report.html",
}  # fmt: skip

QUICK = {name: Settings(samples=1024, rungs=("linear",)) for name in ("sum_last2", "freebody")}
#: What is annealed, and what is looked up.
SLOW = {
    "parity_last2": Settings(layers=1, heads=1, submlps=1, epochs=6, members=4),
    "retrieve_value_by_key": Settings(samples=1024),
}


def run(name: str, settings: Settings, path: Path) -> Outcome:
    with begin(path, name, settings) as folder:
        return pipeline.run(name, settings, folder)


def check(name: str, settings: Settings, path: Path) -> None:
    """Everything that a verified run promises."""
    task = tasks.get(name)
    outcome = run(name, settings, path)
    assert outcome.exit_code == 0, outcome.attempts
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "proved"
    assert outcome.program is not None
    left = {item.name for item in path.iterdir() if not item.name.startswith(".")}
    assert left - {TAUGHT} == FILES
    # the program is the reference at four times the training length
    x, y = task.sample(16, 40, seed=77)
    assert np.allclose(outcome.program.recurrence.run(x), y, atol=1e-9)
    sequences = [item[:, 0] if item.shape[1] == 1 else item for item in x]
    for answer, right in zip(run_program(path / "program.py", sequences), y, strict=True):
        assert np.allclose(np.reshape(answer, right.shape), right, atol=1e-9)
    # three-way agreement, from the files alone
    problem = problem_of(name, settings)
    with open_existing(path) as folder:
        stored = read_run(folder)
    assert stored.program.recurrence == outcome.program.recurrence
    assert text_problems((path / "program.py").read_text(), stored.program) == ""
    assert run_problems(stored.program, problem) == ""

    own, _ = task.sample(16, task.length, seed=78)
    answers = stored.program.recurrence.run(own)
    texts = run_program(path / "program.py", [item[:, 0] if item.shape[1] == 1 else item for item in own])
    for text, answer in zip(texts, answers, strict=True):
        np.testing.assert_allclose(np.reshape(text, answer.shape), answer, rtol=1e-9, atol=1e-9)
    model = stored.graph.run(from_arrays(own, task.machine.run(own)))
    agreement = compare(answers, model, whole=problem.integer_outputs)
    if problem.integer_outputs:
        assert agreement.accuracy == 1.0
    else:
        assert agreement.rmse < 1e-3


@pytest.mark.parametrize("name", QUICK)
def test_a_linear_task_is_proved(name: str, tmp_path: Path):
    check(name, QUICK[name], tmp_path / "run")


@pytest.mark.slow
def test_the_papers_own_layout_gives_programs_of_any_length(tmp_path: Path):
    """Trained on [x, y] at one length, re-indexed: program and listing run free, four times as long."""
    settings = Settings(samples=1024, layout="concat")
    outcome = run("freebody", settings, tmp_path / "run")
    assert outcome.exit_code == 0
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "proved"
    assert outcome.extraction is not None
    assert outcome.extraction.graph.layout.name == "concat"
    x, y = tasks.get("freebody").sample(4, 40, seed=5)
    for file in ("program.py", "program_raw.py"):
        for answer, right in zip(run_program(tmp_path / "run" / file, list(x[..., 0])), y, strict=True):
            assert np.array_equal(np.round(np.reshape(answer, right.shape)), right)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_task_is_proved_and_the_same_seed_gives_the_same_files(name: str, tmp_path: Path):
    check(name, SLOW[name], tmp_path / "one")
    run(name, SLOW[name], tmp_path / "two")
    for file in ("program.py", "program_raw.py", "program.tex", "graph.json"):
        assert (tmp_path / "one" / file).read_text() == (tmp_path / "two" / file).read_text()


@pytest.mark.slow
def test_a_model_that_does_not_fit_is_said_to(tmp_path: Path):
    """The leaves are right although the model is not: the program is proved, the caveat stays with it."""
    settings = Settings(layers=1, sum=1, submlps=1, epochs=1, members=1)
    outcome = run("Dithering", settings, tmp_path / "run")
    assert outcome.exit_code == 0
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "proved"
    assert any("the discrete model does not fit" in note for note in outcome.certificate.notes)
    assert outcome.attempts[0].reason is Reason.UNFIT
    stored = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert any("the discrete model does not fit" in note for note in stored["notes"])


@pytest.mark.slow
def test_a_run_that_finds_nothing_says_what_was_tried(tmp_path: Path):
    settings = Settings(samples=128, layers=0, epochs=1, members=1)
    outcome = run("bitwise_xor", settings, tmp_path / "run")
    assert outcome.exit_code == 3
    assert outcome.program is None
    assert outcome.message.startswith("no program could be extracted; fixed, member 0 (hard loss ")
    assert not (tmp_path / "run" / "program.py").exists()
    assert (tmp_path / "run" / "model.safetensors").exists()


# -- a run folder and what becomes of it ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("finished") / "run"
    run("sum_last2", QUICK["sum_last2"], path)
    return {item.name: item.read_bytes() for item in path.iterdir() if item.is_file()}


@pytest.fixture
def folder(finished: dict[str, bytes], tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    for name, content in finished.items():
        (path / name).write_bytes(content)
    return path


def certificate(path: Path) -> dict:
    return json.loads((path / "certificate.json").read_text())


def test_a_right_program_is_verified_again(folder: Path, capsys: pytest.CaptureFixture[str]):
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
def test_a_text_that_is_not_the_program_fails(folder: Path, old: str, new: str, capsys):
    text = (folder / "program.py").read_text()
    head, _, body = text.rpartition('"""')  # behind the docstring
    changed = f'{head}"""{body.replace(old, new, 1)}' if old in body else text.replace(old, new, 1)
    assert changed != text
    (folder / "program.py").write_text(changed)
    assert main(["verify", str(folder), "--quiet"]) == 1
    assert certificate(folder)["verdict"] == "failed"
    assert "program.py is not the program" in certificate(folder)["method"]
    assert (folder / "program.py").read_text() == changed  # it is judged, not overwritten


@pytest.mark.slow
def test_another_rule_in_the_certificate_is_not_proved(folder: Path, capsys):
    """Formula and text agree with each other, and both are wrong."""
    data = certificate(folder)
    text = json.dumps(data).replace('"lag": 1', '"lag": 2')
    (folder / "certificate.json").write_text(text)
    with open_existing(folder) as opened:
        wrong = read_run(opened).program
    (folder / "program.py").write_text(wrong.source())
    assert main(["verify", str(folder), "--quiet"]) == 1
    assert certificate(folder)["verdict"] == "failed"


def test_a_finished_run_is_not_run_again(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def never(*_args: object, **_kw: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("weights2code.training.train.rungs_of", never)
    outcome = run("sum_last2", QUICK["sum_last2"], folder)
    assert outcome.exit_code == 0
    assert outcome.trained is None


def test_extraction_alone_remakes_the_files(folder: Path, finished: dict[str, bytes]):
    for name in ("program.py", "program_raw.py", "graph.json", "certificate.json", "program.tex"):
        (folder / name).unlink()
    with open_existing(folder) as opened:
        outcome = pipeline.extract(opened)
    assert outcome.exit_code == 0
    for name in ("program.py", "program_raw.py", "graph.json", "program.tex"):
        assert (folder / name).read_bytes() == finished[name]


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
def test_a_damaged_graph_is_one_sentence(folder: Path, damage, capsys: pytest.CaptureFixture[str]):
    data = json.loads((folder / "graph.json").read_text())
    from_dict(data)
    damage(data)
    (folder / "graph.json").write_text(json.dumps(data))
    with open_existing(folder) as opened, pytest.raises(InputError, match="damaged"):
        read_run(opened)
    assert main(["verify", str(folder)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_extraction_needs_a_model(folder: Path):
    (folder / "model.safetensors").unlink()
    with open_existing(folder) as opened, pytest.raises(InputError, match="holds no trained model"):
        pipeline.extract(opened)


@pytest.mark.parametrize("name", ["graph.json", "program.py", "certificate.json"])
def test_a_missing_file_is_named(folder: Path, name: str):
    (folder / name).unlink()
    with open_existing(folder) as opened, pytest.raises(InputError, match=f"has no {name}"):
        read_run(opened)


def test_the_listing_of_the_folder_runs(folder: Path):
    x, y = tasks.get("sum_last2").sample(5, 25, seed=3)
    answers = run_program(folder / "program_raw.py", list(x[..., 0]))
    assert np.array_equal(np.round(np.stack([np.reshape(a, (25, 1)) for a in answers])), y)


def test_a_run_folder_knows_what_was_asked(folder: Path):
    with open_existing(folder) as opened:
        assert opened.source == "sum_last2"
        assert opened.settings == QUICK["sum_last2"]


def test_rules_are_regressed_on_part_of_many_sequences(tmp_path, monkeypatch):
    seen = []
    regress = extraction.direct_recurrences

    def watched(assembly, problem, seconds):
        seen.append(len(problem.training.x))
        return regress(assembly, problem, seconds)

    monkeypatch.setattr(extraction, "direct_recurrences", watched)
    monkeypatch.setattr(refuting, "REGRESSED_ON", 500)
    settings = Settings(samples=2000, rungs=("linear",))
    assert run("sum_last2", settings, tmp_path / "run").exit_code == 0
    assert seen == [500]
