"""Start values that are solved for, and first positions with a rule of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weights2code.data import Layout, Problem, from_lists
from weights2code.language import Recurrence, Start
from weights2code.language.formula_reading import read_recurrence
from weights2code.rules.from_leaves import reproduces
from weights2code.rules.starts import unusual_starts, usual_starts, with_first_rule


def rule(start: dict[str, Start] | None = None, inputs: str = "x", **steps: Any) -> Recurrence:
    return read_recurrence([inputs], steps, None, start)


def problem_of(draft: Recurrence, before: Any) -> Problem:
    """Sequences of the draft, with a start that may depend on the first input."""
    rng = np.random.default_rng(0)
    xs = [rng.integers(0, 5, (12, 1)).astype(float) for _ in range(40)]
    starts: list[Any] = [before(item[0, 0]) if callable(before) else before for item in xs]
    ys = [replace(draft, start={"y": y}).run(item[None])[0] for item, y in zip(xs, starts, strict=True)]
    return from_lists(xs, ys, ("x",), ("y",), seed=0)


def settled(draft: Recurrence, problem: Problem) -> Recurrence | None:
    found = unusual_starts(draft, problem)
    return next((some for some in found if reproduces(some, problem.validation, problem)), None)


@pytest.mark.parametrize(
    ("formula", "start"),
    [
        *(("1.005*y[t-1] - x[t]", start) for start in (10_000.0, -2.5, 0.3125)),
        ("(y[t-1] + x[t]) % 7", 3.0),  # whole numbers are tried one by one
        ("y[t-1] + (40*x[t] if x[t] > 2 else -30 - x[t])", 137.0),
    ],
)
def test_a_number_is_solved_for(formula: str, start: float):
    found = settled(rule(y=formula), problem_of(rule(y=formula), start))
    assert found is not None
    assert found.start == {"y": start}


def test_a_wrong_rule_has_no_start():
    assert settled(rule(y="1.01*y[t-1] - x[t]"), problem_of(rule(y="1.005*y[t-1] - x[t]"), 100.0)) is None


def test_a_first_position_has_its_own_rule_if_there_are_enough_of_them():
    draft = rule(y="0.25*x[t] + 0.75*y[t-1]")
    problem = problem_of(draft, lambda value: value)  # so the first output is the first input
    found = settled(draft, problem)
    assert found is not None
    assert found.outputs == ("y",)
    assert not found.start
    kept = problem.held_out
    assert kept is not None
    assert np.allclose(found.run(kept.x), kept.y, atol=1e-9)
    assert not list(with_first_rule(draft, problem, problem.training.take(slice(0, 3))))


def test_what_was_not_computed_before_the_start_is_zero():
    """`4 - x` of two positions ago is 4 for an x of zero, but nothing was computed before the start."""
    truth = read_recurrence(["x"], "s = 4 - x[t]\ny = s[t-2]", ["y"])
    xs = [np.random.default_rng(seed).integers(0, 5, (12, 1)).astype(float) for seed in range(40)]
    problem = from_lists(xs, [truth.run(item[None])[0] for item in xs], ("x",), ("y",), seed=0)
    draft = rule(y="4 - x[t-2]")
    assert not reproduces(draft, problem.validation, problem)
    found = settled(draft, problem)
    assert found is not None
    assert found.start == {"x": 4.0}


def test_several_numbers_before_the_start_are_found_together():
    """A price before the start decides the first answer alone; a level is seen through a limit."""
    moved = "1.0 if price[t] > price[t-1] + 5 else -1.0 if price[t] < price[t-1] - 5 else 0.0"
    steps = {"moved": moved, "level": "min(level[t-1] + moved[t], 9)"}
    truth = rule({"price": 51.5, "level": 4.0}, "price", **steps)
    rng = np.random.default_rng(0)
    xs = [rng.uniform(40, 60, (12, 1)).round(1) for _ in range(200)]
    ys = [truth.run(item[None])[0] for item in xs]
    found = settled(rule(None, "price", **steps), from_lists(xs, ys, truth.inputs, truth.outputs, seed=0))
    assert found is not None
    assert found.start["level"] == 4.0
    assert found.start["price"] == pytest.approx(51.5, abs=0.25)


def test_a_text_that_is_copied_is_one_before_the_start(builder):
    """Where sequences do not show what a door was before them: no text at all would be no answer."""
    rng = np.random.default_rng(0)
    x, y = rng.choice(["push", "wait"], (40, 12, 1)), rng.choice(["closed", "open"], (40, 12, 1))
    problem = from_lists(list(x), list(y), ("event",), ("door",), seed=0)
    made = builder(("event",), ("door",), Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0})
    assembly = made.assembly(problem.validation)
    copying, asking = "2.0 if event[t] == 1 else door[t-1]", "2.0 if door[t-1] == 1 else 1.0"
    for definition, start in ((copying, {"door": 1.0}), (asking, {})):
        draft = rule(None, "event", door=definition)
        assert next(usual_starts(draft, problem, assembly)).start == start


def test_an_end_that_was_nearly_seen_is_a_round_number(builder):
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0, 1: 1.0})
    drawn = np.random.default_rng(0).uniform(-1, 1, (50, 8, 1))
    drawn[0, 0] = 0.00002  # so that the least output is near its end, and not at it
    formula = "abs(y[t-1] - 4*x[t] - 2) + 2"
    problem = made.problem(drawn, rule({"y": 2.0}, y=formula).run(drawn))
    least = problem.output_domains[0].low
    assert 2 < least < 2.001
    found = usual_starts(rule(y=formula), problem, made.assembly(problem.validation))
    tried = [some.start.get("y", 0.0) for some in found]
    assert tried.index(2.0) < tried.index(least)
