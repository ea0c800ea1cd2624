"""The direct route: from the leaves of a hand-built graph straight to an exact rule, starts included."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.errors import NotExtracted
from weights2code.language import Const, Recurrence, Start, Step, Var, maximum, minimum, where
from weights2code.rules.assembly import Assembly
from weights2code.rules.from_leaves import (
    checked_sequences,
    direct_recurrences,
    needed_leaves,
    reproduces,
    settle_start,
)
from weights2code.rules.starts import start_candidates

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)
INF = math.inf
SECONDS = 4.0


def machine(start: dict[str, Start] | None = None, outputs=("y",), inputs=("x",), **steps) -> Recurrence:
    made = tuple(Step(name, definition) for name, definition in steps.items())
    return Recurrence(inputs, made, outputs, start or {})


def past(inputs: int, outputs: int = 1) -> Layout:
    return Layout("autoregressive", (1.0,) * inputs, (1.0,) * outputs)


def assembled(made, problem) -> Assembly:
    assembly = made.assembly(problem.validation)
    assembly.domains = dict(zip(problem.inputs, problem.domains, strict=True))
    return assembly


def first_rule(made, truth: Recurrence, drawn: np.ndarray) -> Recurrence:
    """The first direct recurrence, which must be the truth on sequences that nobody has seen."""
    problem = made.problem(drawn, truth.run(drawn))
    found = next(direct_recurrences(assembled(made, problem), problem, SECONDS))
    fresh = np.random.default_rng(9).permutation(drawn.reshape(-1, drawn.shape[2]))
    fresh = fresh[: len(fresh) // 30 * 30].reshape(-1, 30, drawn.shape[2])  # three times as long
    assert np.allclose(found.run(fresh), truth.run(fresh), atol=1e-9)
    return found


def test_a_rule_of_inputs(builder, integers_of):
    made = builder()
    made.output({made.operator("distance", 0, made.lag(0, 1)): 1.0})
    found = first_rule(made, machine(y=abs(x - x1)), integers_of(1, high=2, count=200))
    assert found.depths() == {"x": 1}


def test_a_rule_of_its_own_past(builder, integers_of):
    made = builder(layout=past(1))
    made.output({made.operator("distance", 0, 1): 1.0})
    found = first_rule(made, machine(y=(x + y1) % 2), integers_of(1, high=2, count=200))
    assert set(found.depths()) == {"y"}


def test_several_outputs(builder, integers_of):
    made = builder(("a", "b"), ("y", "z"), past(2, 2))
    made.output({0: 1.0, 2: 1.0})
    made.output({made.operator("minimum", 0, 1): 1.0, 3: 1.0})
    truth = machine(
        outputs=("y", "z"), inputs=("a", "b"), y=Var("a") + y1, z=minimum(Var("a"), Var("b")) + Var("z", 1)
    )
    found = first_rule(made, truth, integers_of(2, count=200))
    assert found.outputs == ("y", "z")


@pytest.mark.slow
def test_an_output_that_another_of_the_same_row_decides(builder, integers_of):
    """Whichever comes first among the outputs: the alarm is read from the level, and not the other way."""
    level = minimum(maximum(Var("a") - Var("b") + Var("level", 1), 0), 9)
    for outputs in (("level", "alarm"), ("alarm", "level")):
        made = builder(("a", "b"), outputs, past(2, 2))
        for _ in outputs:
            made.output({0: 1.0, 1: -1.0, 2 + outputs.index("level"): 1.0})
        truth = machine(outputs=outputs, inputs=("a", "b"), level=level, alarm=Var("level") > 7)
        found = first_rule(made, truth, integers_of(2, count=200))
        assert [step.name for step in found.steps] == ["level", "alarm"]
        assert found.outputs == outputs
        assert found.steps[1].definition.variables() == (Var("level"),)  # type: ignore[union-attr]


@pytest.mark.slow
def test_another_output_of_the_same_row_makes_a_long_rule_short(builder):
    day, came = Var("day"), Var("came")
    wanted = where(day.equals(0), 3, where(day.equals(1), 0, where(day.equals(2), 5, 1)))
    truth = machine(
        outputs=("sold", "stock"),
        inputs=("day", "came"),
        sold=minimum(Var("stock", 1), wanted),
        stock=minimum(Var("stock", 1) - Var("sold") + came, 8),
    )
    made = builder(("day", "came"), ("sold", "stock"), past(2, 2))
    for _ in truth.outputs:
        made.output({0: 1.0, 1: 1.0, 3: 1.0})
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.integers(0, most, (200, 10)) for most in (4, 5)], axis=2).astype(float)
    found = first_rule(made, truth, drawn)
    assert Var("sold") in found.steps[1].definition.variables()  # type: ignore[union-attr]


def test_outputs_of_few_values_are_asked_about_beside_reals(builder):
    made = builder(("a",), ("low", "level"), past(1, 2))
    for _ in range(2):
        made.output({0: 1.0, 2: 0.5})
    level = Var("a") + 0.5 * Var("level", 1)
    truth = machine(outputs=("low", "level"), inputs=("a",), level=level, low=Var("level") < 1.25)
    found = first_rule(made, truth, np.random.default_rng(0).uniform(0, 2, (200, 10, 1)).round(1))
    assert found.steps[1].definition.variables() == (Var("level"),)  # type: ignore[union-attr]


def test_a_rule_of_tokens(builder, integers_of):
    made = builder(layout=Layout("concat", (4.0,), (4.0,), 3))
    made.output({made.lag(0, 9): 1.0, 0: 2.0, made.lag(0, 1): -1.0})
    found = first_rule(made, machine(y=x + 2 * y1 - Var("y", 2)), integers_of(1, low=-3, count=200))
    assert set(found.steps[-1].definition.variables()) == {x, y1, Var("y", 2)}  # type: ignore[union-attr]


def test_counters_stand_for_any_function_of_the_input(builder, integers_of):
    """The mean of 1 - x is explained by how often each bit occurred: more ones than zeros."""
    made = builder()
    made.output({made.head("mean", made.operator("opposite", 0, 0)): 1.0})
    truth = machine(ones=Var("ones", 1) + x, zeros=Var("zeros", 1) + 1 - x, y=Var("ones") > Var("zeros"))
    found = first_rule(made, truth, integers_of(1, high=2, count=200))
    assert {step.name for step in found.steps} == {"c0", "c1", "y"}


def test_a_running_maximum_keeps_its_start(builder, integers_of):
    made = builder()
    made.output({made.head("max", 0): 1.0, 0: 1.0})
    truth = machine({"m": -INF}, m=maximum(x, Var("m", 1)), y=Var("m") - x)
    found = first_rule(made, truth, integers_of(1, low=-3, count=200))
    assert found.start == {"m1": -INF}


def test_a_lookup(builder, integers_of):
    made = builder(("key", "value", "query"), layout=Layout("tagging", (1.0,) * 3, (1.0,)))
    made.output({made.lookup(2, 0, 1): 1.0})
    drawn = integers_of(3, count=200)
    target = made.graph().run(made.sequences(drawn))
    problem = made.problem(drawn, target)
    found = next(direct_recurrences(assembled(made, problem), problem, SECONDS))
    assert np.array_equal(found.run(drawn), target)
    assert found.retrieves()


def test_real_outputs(builder):
    made = builder(layout=past(1))
    made.output({0: 0.3, 1: 0.7})
    drawn = np.random.default_rng(0).uniform(-1, 1, (100, 10, 1))
    found = first_rule(made, machine(y=0.3 * x + 0.7 * y1), drawn)
    assert found.steps[-1].definition.size() <= 7  # type: ignore[union-attr]


def test_values_that_do_not_determine_the_output_are_refused_before_any_search(builder, integers_of):
    made = builder()
    made.output({0: 1.0})
    drawn = integers_of(1, high=2, count=100)
    problem = made.problem(drawn, machine(y=x + x1).run(drawn))
    with pytest.raises(NotExtracted, match="the 1 values that y is computed from do not determine it"):
        next(direct_recurrences(assembled(made, problem), problem, SECONDS))


@pytest.mark.slow
def test_many_leaves_are_asked_for_functions_of_the_whole_window_only(builder):
    made = builder()
    made.output({made.lag(0, lag): 1.0 for lag in range(10)})
    drawn = np.random.default_rng(0).uniform(-1, 1, (100, 14, 1))
    total = np.stack([drawn[:, max(0, t - 9) : t + 1].sum(axis=1) for t in range(14)], axis=1)
    linear = made.problem(drawn, total)
    found = next(direct_recurrences(assembled(made, linear), linear, SECONDS))
    assert np.allclose(found.run(drawn), total)
    wild = made.problem(drawn, np.sin(3 * total) * drawn)
    with pytest.raises(NotExtracted, match="depends on 10 values"):
        next(direct_recurrences(assembled(made, wild), wild, 1.0))


def test_leaves_that_are_not_needed_go(builder, integers_of):
    made = builder(layout=past(1))
    made.output({0: 1.0, made.lag(0, 1): 1.0, made.lag(0, 2): 1.0, 1: 1.0, made.head("sum", 0): 1.0})
    drawn = integers_of(1, high=2, count=200)
    problem = made.problem(drawn, machine(y=x + x1).run(drawn))
    assert needed_leaves(assembled(made, problem), problem, 0) == (x, x1)


def test_a_leaf_beyond_every_sequence_is_not_needed(builder, integers_of):
    drawn = integers_of(1, high=2, count=200)
    half = drawn.shape[1] // 2 + 1
    made = builder(layout=past(1))
    made.output({0: 1.0, made.lag(0, 1): 1.0, made.lag(made.lag(0, half), half): 0.5})
    problem = made.problem(drawn, machine(y=x + x1).run(drawn))
    assert needed_leaves(assembled(made, problem), problem, 0) == (x, x1)


# -- what lies before the start ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "rule", "wanted"),
    [
        ({}, x + x1, {}),
        ({"x": "first"}, minimum(x, x1), {"x": "first"}),
        ({"y": 1.0}, (x + y1) % 2, {"y": 1.0}),
        ({"y": INF}, minimum(x, y1), {"y": INF}),
        ({"y": -INF}, maximum(x - 9, y1), {"y": -INF}),
        ({"x": -1.0}, x - x1, {"x": -1.0}),
        ({"y": 7.0}, maximum(y1 - x, 0), {"y": 7.0}),  # the highest value that was seen
    ],
)
def test_the_simplest_start_that_reproduces_the_first_positions(builder, integers_of, start, rule, wanted):
    made = builder(layout=past(1))
    made.output({0: 1.0})
    drawn = integers_of(1, count=100)
    problem = made.problem(drawn, machine(start, y=rule).run(drawn))
    settled = settle_start(machine(y=rule), problem, assembled(made, problem))
    assert settled is not None
    assert settled.start == wanted


def test_what_training_found_is_a_candidate(builder, integers_of):
    made = builder(layout=past(1))
    made.output({0: 1.0, 1: 0.5})
    problem = made.problem(integers_of(1), integers_of(1))
    assembly = assembled(made, problem)
    assert 3.25 not in start_candidates("y", problem, assembly)
    assembly.start["y"] = 3.2500004
    assert 3.25 in start_candidates("y", problem, assembly)


def test_only_inputs_can_repeat_their_first_value(builder, integers_of):
    made = builder(layout=past(1))
    made.output({0: 1.0})
    problem = made.problem(integers_of(1), integers_of(1))
    assembly = assembled(made, problem)
    assert "first" in start_candidates("x", problem, assembly)
    assert "first" not in start_candidates("y", problem, assembly)
    assert start_candidates("x", problem, assembly)[0] == 0.0


def test_a_wrong_rule_has_no_start(builder, integers_of):
    made = builder()
    made.output({0: 1.0})
    drawn = integers_of(1)
    problem = made.problem(drawn, drawn + 1)
    assert settle_start(machine(y=x + x1), problem, assembled(made, problem)) is None


def test_sequences_with_a_true_start_are_looked_at_first(builder, integers_of):
    made = builder()
    problem = made.problem(integers_of(1), integers_of(1))
    context = np.array([3] * 15 + [0] * 5)
    cut = replace(problem.validation, context=context)
    assert checked_sequences(cut).given.tolist() == [0] * 5 + [3] * 15


def test_reproduction_runs_free(builder, integers_of):
    made = builder()
    drawn = integers_of(1)
    problem = made.problem(drawn, np.cumsum(drawn, 1))
    assert reproduces(machine(y=x + y1), problem.validation, problem)
    # right at each step if it were given the past, but not by itself
    drifting = machine(y=x + y1 * Const(1.0005))
    assert not reproduces(drifting, problem.validation, problem)


@pytest.mark.slow
def test_what_an_output_adds_to_its_last_value(builder):
    """Rows of sums without end hardly repeat."""
    made = builder(inputs=("a", "b"), layout=past(2))
    a, b = Var("a"), Var("b")
    rule = machine(inputs=("a", "b"), y=y1 + minimum((a - Var("a", 1)) % 4, 2) - b)
    made.output({2: 1.0, made.operator("distance", 0, made.lag(0, 1)): 1.0, 1: -1.0})
    drawn = np.random.default_rng(0).integers(-4, 5, (1500, 10, 2)).astype(float)
    problem = made.problem(drawn, rule.run(drawn))
    found = next(direct_recurrences(assembled(made, problem), problem, SECONDS))
    assert np.array_equal(found.run(drawn), rule.run(drawn))
