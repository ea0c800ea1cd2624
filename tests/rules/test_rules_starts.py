"""Start values that are solved for, and first positions with a rule of their own."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Layout, from_lists
from weights2code.language import Recurrence, Step, Var, op
from weights2code.rules.from_leaves import begun, reproduces
from weights2code.rules.starts import unusual_starts, usual_starts, with_first_rule

x, y1 = Var("x"), Var("y", 1)


def drafted(definition) -> Recurrence:
    return Recurrence(("x",), (Step("y", definition),), ("y",))


def problem_of(draft: Recurrence, first, whole: bool = False, count: int = 40):
    """Sequences of the draft whose outputs before the start are `first(x at the first position)`."""
    rng = np.random.default_rng(0)
    xs = [rng.integers(0, 5, (12, 1)).astype(float) for _ in range(count)]
    ys = []
    for item in xs:
        value = first(item[0, 0])
        start = Recurrence(draft.inputs, draft.steps, draft.outputs, {"y": float(value)})
        ys.append(start.run(item[None])[0])
    return from_lists(xs, ys, ("x",), ("y",), seed=0)


def settled(draft: Recurrence, problem) -> Recurrence | None:
    found = unusual_starts(draft, problem)
    return next((some for some in found if reproduces(some, problem.validation, problem)), None)


@pytest.mark.parametrize("value", [10_000.0, -2.5, 0.3125])
def test_a_number_is_solved_for(value: float):
    draft = drafted(1.005 * y1 - x)
    found = settled(draft, problem_of(draft, lambda _: value))
    assert found is not None
    assert found.start == {"y": value}


def test_whole_numbers_are_tried_one_by_one():
    draft = drafted((y1 + x) % 7)
    found = settled(draft, problem_of(draft, lambda _: 3))
    assert found is not None
    assert found.start == {"y": 3.0}


def test_a_first_position_has_its_own_rule():
    draft = drafted(0.25 * x + 0.75 * y1)
    problem = problem_of(draft, lambda value: value)  # so the first output is the first input
    found = settled(draft, problem)
    assert found is not None
    assert found.outputs == ("y",)
    assert not found.start
    kept = problem.held_out
    assert kept is not None
    assert np.allclose(found.run(kept.x), kept.y, atol=1e-9)


def test_few_starts_give_no_rule_for_the_first_position():
    draft = drafted(0.25 * x + 0.75 * y1)
    problem = problem_of(draft, lambda value: value)
    few = problem.training.take(slice(0, 3))
    assert not list(with_first_rule(draft, problem, few))


def test_a_wrong_rule_has_no_start():
    draft = drafted(1.005 * y1 - x)
    problem = problem_of(draft, lambda _: 100.0)
    assert settled(drafted(1.01 * y1 - x), problem) is None


def test_sequences_that_have_begun_give_their_first_outputs():
    problem = problem_of(drafted(y1 + x), lambda _: 50.0)
    assert not reproduces(drafted(y1 + x), problem.validation, problem)
    assert reproduces(drafted(y1 + x), begun(problem.validation, 1), problem)


def test_what_was_not_computed_before_the_start_is_zero():
    """`4 - x` of two positions ago is 4 for an x of zero, but nothing was computed before the start."""
    draft = drafted(4 - Var("x", 2))
    truth = Recurrence(("x",), (Step("s", 4 - x), Step("y", Var("s", 2))), ("y",))
    xs = [np.random.default_rng(seed).integers(0, 5, (12, 1)).astype(float) for seed in range(40)]
    problem = from_lists(xs, [truth.run(item[None])[0] for item in xs], ("x",), ("y",), seed=0)
    assert not reproduces(draft, problem.validation, problem)
    found = settled(draft, problem)
    assert found is not None
    assert found.start == {"x": 4.0}


def test_wide_whole_numbers_are_solved_for():
    draft = drafted(y1 + op("where", x > 2, 40 * x, -30 - x))
    found = settled(draft, problem_of(draft, lambda _: 137))
    assert found is not None
    assert found.start == {"y": 137.0}


def test_several_numbers_before_the_start_are_found_together():
    """A price before the start decides the first answer alone; a level is seen through a limit."""
    price, last = Var("price"), Var("price", 1)
    moved = Step("moved", op("where", price > last + 5, 1.0, op("where", price < last - 5, -1.0, 0.0)))
    level = Step("level", op("min", Var("level", 1) + Var("moved"), 9))
    draft = Recurrence(("price",), (moved, level), ("moved", "level"))
    truth = Recurrence(draft.inputs, draft.steps, draft.outputs, {"price": 51.5, "level": 4.0})
    rng = np.random.default_rng(0)
    xs = [rng.uniform(40, 60, (12, 1)).round(1) for _ in range(200)]
    ys = [truth.run(item[None])[0] for item in xs]
    problem = from_lists(xs, ys, draft.inputs, draft.outputs, seed=0)
    found = settled(draft, problem)
    assert found is not None
    assert found.start["level"] == 4.0
    assert found.start["price"] == pytest.approx(51.5, abs=0.25)


def test_a_text_that_is_copied_is_one_before_the_start(builder):
    """Where sequences do not show what a door was before them: no text at all would be no answer."""
    copying = op("where", Var("event").equals(1), 2.0, Var("door", 1))
    asking = op("where", Var("door", 1).equals(1), 2.0, 1.0)
    rng = np.random.default_rng(0)
    x, y = rng.choice(["push", "wait"], (40, 12, 1)), rng.choice(["closed", "open"], (40, 12, 1))
    problem = from_lists(list(x), list(y), ("event",), ("door",), seed=0)
    made = builder(("event",), ("door",), Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0})
    assembly = made.assembly(problem.validation)
    for definition, start in ((copying, {"door": 1.0}), (asking, {})):
        draft = Recurrence(("event",), (Step("door", definition),), ("door",))
        assert next(usual_starts(draft, problem, assembly)).start == start


def test_an_end_that_was_nearly_seen_is_a_round_number(builder):
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0, 1: 1.0})
    drawn = np.random.default_rng(0).uniform(-1, 1, (50, 8, 1))
    drawn[0, 0] = 0.00002  # so that the least output is near its end, and not at it
    draft = drafted(op("abs", y1 - 4 * x - 2) + 2)
    problem = made.problem(drawn, Recurrence(("x",), draft.steps, ("y",), {"y": 2.0}).run(drawn))
    assert 2 < problem.output_domains[0].low < 2.001
    tried = [
        found.start.get("y", 0.0) for found in usual_starts(draft, problem, made.assembly(problem.validation))
    ]
    assert tried.index(2.0) < tried.index(problem.output_domains[0].low)
