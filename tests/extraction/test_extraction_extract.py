"""One extraction: the same for every command, whatever the targets are taken for."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code import pipeline
from weights2code.data import Regime, file_source, from_lists
from weights2code.effort import within
from weights2code.errors import NotExtracted, Reason
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.from_networks import extract, last_resort
from weights2code.extraction.refuting import LONG, with_counterexample
from weights2code.extraction.values import Log
from weights2code.language import Recurrence, Step, Var
from weights2code.run_folder import begin, open_existing
from weights2code.settings import Settings
from weights2code.training.train import rungs_of

ROWS = 240
#: Noise is climbed to the end; one rung is enough to say how it is told.
SETTINGS = Settings(rungs=("linear",))


def table(path: Path, noise: float) -> Path:
    """Level of a tank: what stays, what flows in, and the noise of the process."""
    rng = np.random.default_rng(3)
    lines = ["tank,flow,level"]
    for tank in range(ROWS // 12):
        level = 0.0
        for flow in rng.uniform(0, 4, 12):
            level = 0.8 * level + 0.5 * flow + noise * rng.normal()
            lines.append(f"{tank},{flow:.9f},{level:.9f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a fit to noisy reals."""
    file = table(tmp_path_factory.mktemp("noisy") / "tank.csv", 0.02)
    source = file_source(file, ["flow"], ["level"], "tank", None)
    with begin(file.parent / "run", source, SETTINGS) as folder:
        assert pipeline.run(source, SETTINGS, folder).exit_code == 0
    return file.parent / "run"


@pytest.mark.slow
def test_extracting_in_the_folder_of_a_fit_gives_its_program_again(fitted: Path, tmp_path: Path, monkeypatch):
    copied = Path(shutil.copytree(fitted, tmp_path / "run"))
    with open_existing(copied) as folder:
        outcome = pipeline.extract(folder)
    assert outcome.exit_code == 0
    assert outcome.program is not None
    assert outcome.program.regime is Regime.NOISY
    values = outcome.program.run(np.array([[[1.0], [0.0], [0.0]]]))[0, :, 0]
    assert values[0] == pytest.approx(0.5, abs=0.05)
    assert values[1] / values[0] == pytest.approx(0.8, abs=0.05)
    assert (copied / "program.py").read_bytes() == (fitted / "program.py").read_bytes()
    assert 'id="program"' in (copied / "report.html").read_text()
    # a model that gives nothing leaves the program that is there
    before = {path.name: path.read_bytes() for path in copied.iterdir() if path.is_file()}
    monkeypatch.setattr("weights2code.extraction.from_networks.extract", lambda *_, **__: None)
    with open_existing(copied) as folder:
        assert pipeline.extract(folder).exit_code == 3
    assert {path.name: path.read_bytes() for path in copied.iterdir() if path.is_file()} == before


ATTEMPTS = {
    "linear, member 0 (hard loss 0.5): does not fit": Attempt(
        "linear", 0, 0.5, reason=Reason.UNFIT, detail="does not fit"),
    "pairs, member 2 (hard loss 1e-09): regressed from the live leaves, proved": Attempt(
        "pairs", 2, 1e-9, verdict="proved", origin="regressed from the live leaves"),
    "wide window, member 0 (hard loss inf), with mistakes: too rarely": Attempt(
        "wide window", 0, math.inf, Regime.MISTAKES, reason=Reason.TOO_RARE, detail="too rarely"),
    "prefix, member 1 (hard loss 0.25), as rounded readings: regressed, failed": Attempt(
        "prefix", 1, 0.25, Regime.ROUNDED, "failed", "regressed", Reason.WRONG),
}  # fmt: skip


@pytest.mark.parametrize("words", ATTEMPTS)
def test_what_was_tried_is_a_value(words: str):
    """It goes to JSON and back, and says the same in words."""
    attempt = ATTEMPTS[words]
    assert str(attempt) == words
    assert Attempt.from_dict(json.loads(json.dumps(attempt.to_dict(), allow_nan=False))) == attempt


def test_what_the_targets_may_be():
    x = [np.arange(6.0)[:, None]] * 8

    def problem(y: np.ndarray):
        return from_lists(x, [y[:, None]] * 8, ("x",), ("y",), seed=0)

    bits, readings, reals = np.arange(6) % 2, np.arange(6) * 9, np.arange(6) / 7
    assert problem(bits.astype(float)).inexact() is Regime.MISTAKES
    assert problem(readings.astype(float)).inexact() is Regime.ROUNDED
    assert problem(reals).inexact() is Regime.NOISY
    assert not problem(readings.astype(float)).under(Regime.ROUNDED).integer_outputs
    assert problem(bits.astype(float)).under(Regime.MISTAKES).integer_outputs


@pytest.fixture(scope="module")
def summed():
    x = np.random.default_rng(0).integers(0, 9, (60, 8, 1)).astype(float)
    problem = from_lists(list(x), list(np.cumsum(x, 1)), ("x",), ("y",), seed=0)
    return problem, next(iter(rungs_of(problem, Settings())))


def test_a_member_without_a_chance_is_noted_and_not_explained(summed):
    problem, trained = summed
    hopeless = replace(trained, losses=(0.9,) * len(trained.losses), accuracies=(0.1,) * len(trained.losses))
    log = Log()
    assert extract(hopeless, problem, Regime.EXACT, log) is None
    assert [attempt.reason for attempt in log.attempts] == [Reason.UNFIT]
    assert extract(hopeless, problem, Regime.EXACT, Log(), resort=True) is not None


def raising(error: Exception) -> Callable[..., Any]:
    def broken(*_: Any) -> Any:
        raise error

    return broken


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NotExtracted("too many values.", Reason.TOO_MANY), Reason.TOO_MANY),
        (KeyError("lost"), Reason.DEFECT),
    ],
)
def test_an_attempt_that_fails_says_why(summed, monkeypatch, error: Exception, reason: Reason):
    """A defect costs the attempt alone, and is named."""
    problem, trained = summed
    monkeypatch.setattr("weights2code.extraction.from_networks.direct_recurrences", raising(error))
    log = Log()
    assert extract(trained, problem, Regime.EXACT, log) is None
    assert {attempt.reason for attempt in log.attempts} == {reason}
    assert ("KeyError: 'lost'" in str(log.attempts[0])) == (reason is Reason.DEFECT)


def test_the_last_resort_says_that_the_time_is_up(summed):
    problem, trained = summed
    problem = replace(problem, reference=Recurrence(("x",), (Step("y", Var("x")),), ("y",)))
    log = Log()
    with within(-1.0):
        assert list(last_resort([trained], problem, log)) == []
    assert [attempt.reason for attempt in log.attempts] == [Reason.NO_TIME]
    assert str(log.attempts[0]) == "linear: the time limit of -1 s was reached."


def test_a_defect_of_one_proposer_leaves_the_others(summed, monkeypatch):
    problem, _ = summed
    monkeypatch.setattr("weights2code.pipeline.from_rows", raising(KeyError("lost")))
    outcome = pipeline.search(problem, Settings())
    assert outcome.exit_code == 0
    assert [(attempt.rung, attempt.reason) for attempt in outcome.attempts][:1] == [("rows", Reason.DEFECT)]


def test_a_counterexample_beyond_the_training_length_comes_with_long_sequences(summed):
    problem, trained = summed
    found = extract(trained.only([0]), problem, Regime.EXACT, Log(), resort=True)
    assert found is not None
    problem = replace(problem, reference=found.program.recurrence)
    length, before = problem.training.x.shape[1], len(problem.training)
    certificate = replace(found.certificate, counterexample=((1.0,),) * (length + 3))
    training = with_counterexample(problem, certificate).training
    assert training.x.shape[1] == LONG * length
    assert training.lengths[before] == length + 3
    assert np.array_equal(training.y[before:], problem.reference.run(training.x[before:]))
    assert np.array_equal(training.lengths[:before], problem.training.lengths)
    held = training.x[-1, :, 0].reshape(LONG, length)
    assert np.all(held == held[:, :1])
