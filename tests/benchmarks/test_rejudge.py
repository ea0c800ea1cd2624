"""Stored programs are judged again as they are printed, and a record says what that has changed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from weights2code import tasks
from weights2code.language import Count, Recurrence, Retrieval, Step, Var, op
from weights2code.language.python_source import formula_lines

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
before = list(sys.path)
sys.path.insert(0, str(BENCHMARKS))
try:
    import rejudge
finally:
    sys.path[:] = before

X, Y = Var("x"), Var("y")
PROGRAMS = [
    Recurrence(("x",), (Step("y", X + Var("y", 1)),), ("y",), {"y": 3.0}),
    Recurrence(("x",), (Step("y", op("min", X, Var("y", 2))),), ("y",), {"y": np.inf}),
    Recurrence(("x",), (Step("y", X - Var("x", 1)),), ("y",), {"x": "first"}),
    Recurrence(("x",), (Step("n", Count("x", X + 1, "lt")), Step("y", Var("n") * X)), ("y",)),
    *(Recurrence(("x", "z"), (Step("y", Retrieval("x", "z", X, gap, 7.0)),), ("y",)) for gap in (0, 1, 3)),
]


@pytest.mark.parametrize("machine", PROGRAMS, ids=lambda machine: formula_lines(machine)[0])
def test_what_is_printed_can_be_run_again(machine: Recurrence):
    read = rejudge.recurrence(formula_lines(machine), machine.inputs, machine.outputs)
    x = np.random.default_rng(0).integers(0, 4, (20, 12, len(machine.inputs)))
    assert (read.run(x) == machine.run(x)).all()


def test_what_cannot_be_read_says_so():
    with pytest.raises(rejudge.Unreadable, match="nothing defines"):
        rejudge.recurrence(["y[t] = hour[t] + 1"], ("x",), ("y",))


def test_texts_of_a_table_are_run_by_the_numbers_that_stand_for_them():
    table = next(table for table in rejudge.TABLES if table.name == "repeated_event")
    line = 'label[t] = "{}" if event[t] == event[t-1] else "new"'
    assert table.judge(rejudge.on_texts([line.format("repeat")], table))
    assert not table.judge(rejudge.on_texts([line.format("again")], table))


def test_a_record_is_judged_again_with_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(rejudge, "HERE", tmp_path)
    task = tasks.get("sum_last2")
    right = {"task": task.name, "seed": 0, "exit": 0, "verdict": "tested", "formula": "y[t] = x[t] + x[t-1]"}
    rows = [
        right | {"exact": True},
        right | {"exact": True, "formula": "y[t] = x[t] + 1.0000001*x[t-1]"},
        right | {"exact": True, "formula": "y[t] = hour[t]"},
        right | {"exact": False, "formula": None},
    ]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"summary": {"solved": 3, "proved": 0}, "rows": rows}))
    rejudge.write(path, *rejudge.rejudge(path))
    record = json.loads(path.read_text())
    assert [row["solved"] for row in record["rows"]] == [True, False, True, False]
    assert not any("exact" in row for row in record["rows"])
    assert record["summary"]["solved"] == 2
    note = record["summary"]["judged"]
    assert (note["programs"], note["before"], note["now"]) == (3, 3, 2)
    assert note["changed"] == ["sum_last2 0"]
    assert note["kept"] == ["sum_last2 0: y reads hour, which nothing defines"]
