"""What tables say about runs that went well or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import InProcess

from weights2code.errors import InputError
from weights2code.experiments import (
    attention_patterns,
    dynamics,
    interventions,
    registry,
    reproduce,
    robustness,
)
from weights2code.experiments.comparison import combined, higher_is_better, lower, lower_is_better, reason
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import Job
from weights2code.experiments.records import Record
from weights2code.experiments.tables import TASK, Column, Line, Table, mean, part, tabulate, theirs
from weights2code.explain import EqualityRetrieval, FixedOffset, PrefixAggregate
from weights2code.graph import RouterNode


def done(**other: Any) -> dict[str, Any]:
    return {"key": "k", "status": "done", "error": None, "seconds": 1.0, "tries": 1, **other}


def test_table1_puts_the_paper_beside_us() -> None:
    good = done(task="div_3", solved=True, verdict="proved", program_rmse=0.0, program_accuracy=1.0)
    missed = done(task="div_3", solved=False, verdict="-", attempts=[{"text": "deep: does not fit"}])
    listed = {**missed, "listing_given_rmse": 0.4, "listing_given_accuracy": 0.7}
    (line,) = registry.get("table1").table([good, good]).lines
    assert line.standing == "better"
    assert line.cells["paper_accuracy"] == 0.67
    (line,) = registry.get("table1").table([good, missed]).lines
    assert (line.cells["accuracy"], line.cells["programs"]) == (0.5, "1/2")
    assert line.standing == "worse"
    assert line.why == "deep: does not fit"
    (line,) = registry.get("table1").table([good, listed]).lines
    assert line.cells["accuracy"] == pytest.approx(0.85)
    assert line.standing == "better"


def test_success_needs_a_model_that_fits_and_a_right_program() -> None:
    assert robustness.succeeded({"solved": True, "model_accuracy": 1.0})
    assert not robustness.succeeded({"solved": True, "model_accuracy": 0.7})
    assert not robustness.succeeded({"solved": False, "model_accuracy": 1.0})
    asked = {"task": "parity_last2", "asked_layers": 1, "asked_heads": 1, "asked_submlps": 1}
    row = done(**asked, asked_layout="tagging", solved=True, model_accuracy=0.7, program_rmse=0.0)
    (line,) = robustness.table([row]).lines
    assert (line.cells["success"], line.cells["verified"], line.standing) == ("0/1", "1/1", "worse")


def test_interventions_ask_for_what_the_paper_found() -> None:
    spring = done(task="spring", solved=True, formula="y[t] = x[t] + x[t-1] - y[t-3]")
    assert interventions.as_expected(spring)
    assert not interventions.as_expected({**spring, "formula": "y[t] = x[t] + y[t-1] - y[t-2]"})
    assert not interventions.as_expected({**spring, "solved": False})
    extremum = done(task="maximum_prev2", solved=True, heads_found={"V1": "Windowed maximum 2"})
    assert interventions.as_expected(extremum)
    assert not interventions.as_expected({**extremum, "heads_found": {"V1": "Fixed offset 1"}})


def test_epochs_of_the_dynamics() -> None:
    assert dynamics.falls([1.0, 0.5, 0.05, 0.2]) == 3
    assert dynamics.falls([1.0, 0.5]) is None
    assert dynamics.shrinks([0.0, -5.0, 2.0, 0.1, 0.2]) == 4
    assert dynamics.shrinks([1.0, 1.0]) is None
    assert dynamics.settles([0.5, 1.0, 0.9, 0.96, 1.0]) == 4
    assert dynamics.settles([1.0, 1.0]) == 1


def test_dynamics_draws_three_panels() -> None:
    names = ("soft_loss", "hard_loss", "discrepancy", "agreement", "temperature")
    curves = {name: [1.0, 0.5, 0.01] for name in names}
    row = done(task="spring", curves=curves, members=[{"mse": 0.1}])
    drawing = dynamics.figure([row, {**row, "task": "freebody"}])
    assert drawing is not None
    assert drawing.body.count('class="panel-title"') == 3
    assert "freebody" in drawing.body
    assert len(dynamics.table([row]).lines) == 1


def test_the_ideal_pattern_follows_from_the_hypothesis() -> None:
    values = np.zeros((1, 4, 3))
    values[0, :, 0] = [1, 2, 1, 3]  # keys
    values[0, :, 1] = [5, 6, 7, 8]
    values[0, :, 2] = [1, 1, 2, 1]  # queries
    node = RouterNode("V3", "equality", {"query": 2, "key": 0, "value": 1}, relative_bias=np.zeros(4))
    found = EqualityRetrieval(1).pattern(node, values)
    assert found is not None
    expected = np.zeros((4, 4))
    expected[1, 0] = expected[2, 1] = expected[3, 2] = 1.0
    np.testing.assert_array_equal(found, expected)
    mean = PrefixAggregate("mean").pattern(node, values)
    assert mean is not None
    np.testing.assert_allclose(mean.sum(1), 1.0)
    shifted = FixedOffset(2).pattern(node, values)
    assert shifted is not None
    np.testing.assert_array_equal(shifted, np.eye(4, k=-2))
    assert attention_patterns.distance({"weights": found, "ideal": found}) == 0.0


def test_models_that_are_there_are_named_with_their_experiment(tmp_path: Path) -> None:
    assert reproduce.trained_by("") == reproduce.trained_by(str(tmp_path)) == {}
    made = {
        "head": {"command": "w2c experiment table1", "commit": "abc", "more": 1},
        "asked": {},
        "rows": [1],
    }
    (tmp_path / "experiment.json").write_text(json.dumps(made))
    found = reproduce.trained_by(str(tmp_path))
    assert found == {"trained_by": [{"command": "w2c experiment table1", "commit": "abc"}]}
    with pytest.raises(InputError, match="robustness trains its own models"):
        registry.get("robustness").jobs(Options(models=str(tmp_path)))


def echo(arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
    if arguments["value"] < 0:
        raise ValueError("negative")
    return {"value": arguments["value"]}


def test_an_experiment_leaves_its_table_and_its_record(tmp_path: Path) -> None:
    def jobs(task: str, options: Options) -> list[Job]:
        work = "weights2code.experiments.work:echo"
        return [Job(f"run{v}", work, {"value": v, "label": {"task": task}}) for v in (0, 1)]

    def table(rows: Any) -> Table:
        lines = [Line({"task": row["task"], "value": row.get("value")}, "equal") for row in rows]
        return Table({"task": "task", "value": "the value"}, lines, ("A note.",))

    experiment = Experiment("toy", "A toy", ("sum",), jobs, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weights2code.experiments.work.echo", echo, raising=False)
        first, _ = reproduce.reproduce(experiment, Options(), tmp_path, InProcess(), "w2c experiment toy")
        again, _ = reproduce.reproduce(experiment, Options(), tmp_path, InProcess(), "w2c experiment toy")
    stored = Record.read(tmp_path / "experiment.json")
    assert stored is not None
    assert (stored.head["standing"], stored.head["failed"]) == ({"equal": 2}, [])
    assert stored.head["command"] == "w2c experiment toy"
    assert [row["value"] for row in stored.rows] == [0, 1]
    assert again.head["wall_seconds"] == first.head["wall_seconds"]  # nothing was done twice
    assert (tmp_path / "table.csv").read_text().splitlines()[1] == "sum,0,equal"
    text = (tmp_path / "table.md").read_text()
    assert "| task | the value | beside the paper |" in text
    assert "A note." in text
    assert not (tmp_path / "figure.svg").exists()


def test_a_table_has_a_line_for_each_group_with_the_paper_s_row_beside_it() -> None:
    columns = (
        TASK,
        Column("rmse", "RMSE", mean("rmse")),
        Column("paper_rmse", "paper", theirs("rmse")),
        Column("solved", "solved", part("solved")),
    )
    members = [{"rmse": 0.5, "solved": True}, {"rmse": None, "solved": False}]
    rows = [done(task="a", members=members), done(task="b", rmse=2.0), done(task="a", rmse=1.5)]
    paper = {"a": {"rmse": "2.0e0"}, "b": {"rmse": "n/a"}}
    found = tabulate(
        rows, columns, paper=lambda row: paper[row["task"]], standing=lower("rmse"), why=lambda rows: "so"
    )
    assert found.columns == {"task": "task", "rmse": "RMSE", "paper_rmse": "paper", "solved": "solved"}
    assert [line.cells for line in found.lines] == [
        {"task": "a", "rmse": 1.0, "paper_rmse": 2.0, "solved": "1/3"},
        {"task": "b", "rmse": 2.0, "paper_rmse": None, "solved": "0/1"},
    ]
    assert [(line.standing, line.why) for line in found.lines] == [("better", "so"), (None, "so")]


@pytest.mark.parametrize(
    ("better", "ours", "theirs", "standing"),
    [
        (lower_is_better, 0.0, 1e-3, "better"),
        (lower_is_better, 1e-2, 1e-3, "worse"),
        (lower_is_better, 1e-7, 1e-12, "equal"),  # both are rounding
        (lower_is_better, 2e-6, 1e-7, "worse"),
        (lower_is_better, None, 1e-3, "worse"),
        (lower_is_better, 0.0, None, None),
        (higher_is_better, 0.996, 1.0, "equal"),  # within their print
        (higher_is_better, 0.98, 1.0, "worse"),
        (higher_is_better, 1.0, 0.67, "better"),
        (higher_is_better, 1.0, None, None),
        (combined, "equal", "better", "better"),
        (combined, "better", "worse", "mixed"),
        (combined, "equal", None, "equal"),
    ],
)
def test_better_equal_or_worse(better: Any, ours: Any, theirs: Any, standing: str | None) -> None:
    assert better(ours, theirs) == standing


def test_the_reason_is_the_last_attempt_and_said_once() -> None:
    missed = done(solved=False, attempts=[{"text": "small: no"}, {"text": "large: does not fit"}])
    assert reason([missed, missed]) == "large: does not fit"
    assert "MemoryError" in reason([{"status": "failed", "error": "MemoryError: x"}])
    assert reason([done(solved=True)]) == ""
