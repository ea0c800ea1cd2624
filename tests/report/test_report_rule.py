"""Rules as people read them: decision tables, states as a diagram, what is missed, and what is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import file_source, from_file
from weights2code.errors import InputError
from weights2code.language import BITS, Const, Expr, Op, Recurrence, Step, Var, integers, op, texts
from weights2code.program import Program
from weights2code.report.contents import _missed
from weights2code.report.decisions import decisions
from weights2code.report.page import page
from weights2code.report.states import machine_drawing, machine_of
from weights2code.simplify.thresholds import gaps_in

EVENT, STATE = Var("event"), Var("state", 1)
EVENTS, STATES = ("pull", "push", "wait"), ("open", "shut")


def where(condition: Expr, yes: Any, no: Any) -> Expr:
    return op("where", condition, yes, no)


def door() -> Program:
    """A door that begins without a state; `unread` is a column that nothing needs."""
    opens = op("and", EVENT.equals(2), op("ne", STATE, 1))
    closes = op("and", EVENT.equals(1), STATE.equals(1))
    rule = where(opens, 1, where(closes, 2, where(STATE.equals(0), 2, STATE)))
    made = Recurrence(("unread", "event"), (Step("state", rule),), ("state",))
    return Program("door", made, (BITS, texts(EVENTS)), True, output_categories={"state": STATES})


def test_chains_of_cases_are_tables_of_what_is_tested():
    (table,) = decisions(door())
    assert table.tested == ("event", "state, 1 row before")
    assert table.cases[0] == ({"event": '"push"', "state, 1 row before": '≠ "open"'}, '"open"')
    assert table.cases[-1] == ({}, "state[t-1]")
    x = Var("x")
    rule = where(Op("lt", (op("floor", x), x)), 1, where(Op("not", (Op("ge", (x, op("max", x, 3))),)), x, 2))
    step = Recurrence(("x",), (Step("y", rule),), ("y",))
    (table,) = decisions(Program("p", step, (integers(0, 9),)))
    assert [sorted(tests.values()) for tests, _ in table.cases] == [["holds"], ["does not hold"], []]
    assert decisions(Program("p", Recurrence(("x",), (Step("y", x + 1),), ("y",)), (BITS,))) == []


def test_states_are_called_what_the_user_calls_them():
    machine = machine_of(door())
    assert machine is not None
    assert machine.states == ("nothing or shut", "open")  # no sequence tells these two apart
    assert machine.moves[1, 0] == ["pull / shut"]
    assert machine.moves[0, 0] == ["pull / shut", "wait / shut"]
    drawing = machine_drawing(machine)
    assert "from open to nothing or shut by pull / shut" in drawing.description
    assert drawing.body.count("<circle") == 2


def test_all_states_of_a_hidden_counter_are_found_or_none_are_drawn():
    def counter(modulus: int) -> Program:
        steps = (Step("s", (Var("s", 1) + Var("x")) % modulus), Step("y", Var("s").equals(2)))
        return Program("p", Recurrence(("x",), steps, ("y",)), (BITS,), True)

    machine = machine_of(counter(5))
    assert machine is not None
    assert len(machine.states) == 5
    assert machine.moves[1, 2] == ["1 / 1"]
    assert machine_of(counter(50)) is None
    endless = Recurrence(("x",), (Step("y", Var("y", 1) + Var("x")),), ("y",))
    assert machine_of(Program("p", endless, (BITS,), True)) is None
    window = Recurrence(("x",), (Step("y", Var("x", 1) + Var("x")),), ("y",))
    assert machine_of(Program("p", window, (BITS,), True)) is None  # its last inputs are no secret


def test_what_is_missed_is_listed_in_the_users_texts(tmp_path: Path):
    events = np.random.default_rng(0).integers(1, 4, 60)
    told = door().recurrence.run(np.stack([np.zeros(60), events], 1)[None])[0, :, 0].astype(int)
    lines = [f"0,{EVENTS[e - 1]},{STATES[s - 1]}" for e, s in zip(events, told, strict=True)]
    lines[50] = lines[50].replace("open", "x").replace("shut", "open").replace(",x", ",shut")
    path = tmp_path / "door.csv"
    path.write_text("unread,event,state\n" + "\n".join(lines) + "\n")
    problem = from_file(file_source(path, ["unread", "event"], ["state"]), 0)
    made = replace(door(), domains=problem.domains)
    missed = _missed(made, problem)
    assert missed is not None
    assert (missed.count, missed.of, missed.inputs) == (1, 60, ("event",))
    _, event, state = lines[50].split(",")
    assert missed.rows == ((event, state, "open" if state == "shut" else "shut"),)


def test_the_box_asks_for_what_is_read(
    make_contents: Callable[..., Any], make_certificate: Callable[..., Any]
):
    contents = replace(make_contents(door()), examples=(np.array([[0.0, 1.0], [1.0, 2.0]]),))
    html = page(contents)
    assert html.count('id="column') == 1
    assert "unread" not in html.partition('id="fields"')[2].partition("<p")[0]
    assert re.search(r"startBox\(.*\[\[\[1(\.0)?, 2(\.0)?\]\]\]\);", html, re.DOTALL)
    assert "The rule as a table" in html
    assert "What it remembers" in html


def test_a_rule_that_does_not_hold_is_no_extracted_program(
    make_contents: Callable[..., Any], make_certificate: Callable[..., Any]
):
    rule = Program("p", Recurrence(("x",), (Step("y", Var("x") * 0 + 1),), ("y",)), (BITS,), True)
    contents = make_contents(rule)
    assert "Extracted program" in page(contents)
    failed = replace(contents, certificate=replace(contents.certificate, verdict="failed", proof=None))
    html = page(failed)
    assert "Extracted program" not in html
    assert "No rule that holds; the best attempt" in html
    assert 'class="formula small"' in html
    assert "Extracted program" not in page(replace(contents, program=None, certificate=None))


def test_a_report_says_if_the_verdict_was_not_checked_again(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def moved(folder: object) -> None:
        raise InputError("there is no file log.csv; check the name.")

    assert main(["report", str(run_folder)]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("weights2code.report.contents.problem_in", moved)
    assert main(["report", str(run_folder)]) == 0
    assert "the verdict is not checked again: there is no file log.csv" in capsys.readouterr().err
    assert "not checked again for this page" in (run_folder / "report.html").read_text(encoding="utf-8")


def test_gaps_around_thresholds_are_shown(
    tmp_path: Path, make_contents: Callable[..., Any], make_certificate: Callable[..., Any]
):
    path = tmp_path / "log.csv"
    path.write_text("x,y\n" + "".join(f"{x},{int(x <= 98)}\n" for x in [3, 98, 101, 150, 60] * 8))
    problem = from_file(file_source(path, ["x"], ["y"]), 0)
    rule = Recurrence(("x",), (Step("y", Op("le", (Var("x"), Const(98)))),), ("y",))
    made = Program("p", rule, problem.domains, True)
    html = page(replace(make_contents(made), gaps=tuple(gaps_in(problem, made.recurrence))))
    row = html.partition('aria-label="Thresholds"')[2].partition("</tbody>")[0]
    assert re.findall(r"<td>(.*?)</td>", row) == ["98", "101", "x[t] &lt; 100"]
