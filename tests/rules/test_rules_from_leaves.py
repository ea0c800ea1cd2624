"""The direct route: from the leaves of a hand-built graph straight to an exact rule, starts included."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pytest

from case_table import rule
from weights2code.data import Layout
from weights2code.errors import NotExtracted
from weights2code.language import Recurrence, Var
from weights2code.rules.assembly import Assembly
from weights2code.rules.from_leaves import (
    direct_recurrences,
    needed_leaves,
    settle_start,
)

SECONDS = 1.0
PLAIN = Layout("tagging", (1.0,), (1.0,))


def past(inputs: int, outputs: int = 1) -> Layout:
    return Layout("autoregressive", (1.0,) * inputs, (1.0,) * outputs)


def assembled(made, problem) -> Assembly:
    assembly = made.assembly(problem.validation)
    assembly.domains = dict(zip(problem.inputs, problem.domains, strict=True))
    return assembly


def whole(*highs: int, low: int = 0, count: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.stack([rng.integers(low, high, (count, 10)) for high in highs], -1).astype(float)


def real(low: float, high: float, digits: int = 16, count: int = 100) -> np.ndarray:
    return np.random.default_rng(0).uniform(low, high, (count, 10, 1)).round(digits)


def steps(recurrence: Recurrence) -> dict[str, str]:
    return {step.name: str(step.definition) for step in recurrence.steps}


class Case(NamedTuple):
    """The true rule, the nodes that the head of a network reads for every output, and what must hold."""

    truth: Recurrence
    layout: Layout
    nodes: Callable[[Any], list[int]]
    drawn: np.ndarray
    holds: Callable[[Recurrence], bool] = lambda _: True


STOCK = rule(
    inputs="day came", outputs="sold stock",
    sold="min(stock[t-1], 3 if day[t] == 0 else 0 if day[t] == 1 else 5 if day[t] == 2 else 1)",
    stock="min(stock[t-1] - sold[t] + came[t], 8)",
)  # fmt: skip
LEVEL: Any = {"level": "min(max(a[t] - b[t] + level[t-1], 0), 9)", "alarm": "level[t] > 7"}
CASES = {
    "inputs": Case(rule(y="abs(x[t] - x[t-1])"), PLAIN, lambda m: [m.operator("distance", 0, m.lag(0, 1))],
                   whole(2), lambda r: r.depths() == {"x": 1}),
    "its own past": Case(rule(y="(x[t] + y[t-1]) % 2"), past(1), lambda m: [m.operator("distance", 0, 1)],
                         whole(2), lambda r: {*r.depths()} == {"y"}),
    "several outputs": Case(
        rule(inputs="a b", outputs="y z", y="a[t] + y[t-1]", z="min(a[t], b[t]) + z[t-1]"), past(2, 2),
        lambda m: [0, 1, 2, 3], whole(4, 4), lambda r: r.outputs == ("y", "z")),
    # an output that another of the same row decides: whichever comes first among them
    **{outputs: Case(rule(inputs="a b", outputs=outputs, **LEVEL), past(2, 2), lambda m: [0, 1, 2, 3],
                     whole(4, 4),
                     lambda r: [*steps(r)] == ["level", "alarm"] and "a[t]" not in steps(r)["alarm"])
       for outputs in ("level alarm", "alarm level")},
    "short by another": Case(STOCK, past(2, 2), lambda m: [0, 1, 3], whole(4, 5),
                             lambda r: "sold[t]" in steps(r)["stock"]),
    "few values beside reals": Case(
        rule(inputs="a", outputs="low level", level="a[t] + 0.5*level[t-1]", low="level[t] < 1.25"),
        past(1, 2), lambda m: [0, 2], real(0, 2, 1, 200), lambda r: "a[t]" not in str(r.steps[1].definition)),
    "tokens": Case(rule(y="x[t] + 2*y[t-1] - y[t-2]"), Layout("concat", (4.0,), (4.0,), 3),
                   lambda m: [m.lag(0, 9), 0, m.lag(0, 1)], whole(4, low=-3)),
    # more ones than zeros
    "counters": Case(rule(ones="ones[t-1] + x[t]", zeros="zeros[t-1] + 1 - x[t]", y="ones[t] > zeros[t]"),
                     PLAIN, lambda m: [m.head("mean", m.operator("opposite", 0, 0))], whole(2),
                     lambda r: {*steps(r)} == {"c0", "c1", "y"}),
    "a running maximum": Case(rule({"m": -inf}, m="max(x[t], m[t-1])", y="m[t] - x[t]"), PLAIN,
                              lambda m: [m.head("max", 0), 0], whole(4, low=-3),
                              lambda r: r.start == {"m1": -inf}),
    "reals": Case(rule(y="0.3*x[t] + 0.7*y[t-1]"), past(1), lambda m: [0, 1], real(-1, 1),
                  lambda r: r.steps[-1].definition.size() <= 7),  # type: ignore[union-attr]
    "a wide window": Case(rule(y=" + ".join(["x[t]", *(f"x[t-{lag}]" for lag in range(1, 10))])), PLAIN,
                          lambda m: [m.lag(0, lag) for lag in range(10)], real(-1, 1)),
    # rows of sums without end hardly repeat
    "what is added": Case(
        rule(inputs="a b", y="y[t-1] + min((a[t] - a[t-1]) % 4, 2) - b[t]"), past(2),
        lambda m: [2, m.operator("distance", 0, m.lag(0, 1)), 1], whole(5, 5, low=-4, count=1500)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_first_rule_is_the_truth_on_sequences_that_nobody_has_seen(name: str, builder):
    truth, layout, nodes, drawn, holds = CASES[name]
    made = builder(truth.inputs, truth.outputs, layout)
    read = dict.fromkeys(nodes(made), 1.0)
    for _ in truth.outputs:
        made.output(read)
    problem = made.problem(drawn, truth.run(drawn))
    found = next(direct_recurrences(assembled(made, problem), problem, SECONDS))
    fresh = np.random.default_rng(9).permutation(drawn.reshape(-1, drawn.shape[2]))
    fresh = fresh[: len(fresh) // 30 * 30].reshape(-1, 30, drawn.shape[2])  # three times as long
    assert np.allclose(found.run(fresh), truth.run(fresh), atol=1e-9)
    assert holds(found)


@pytest.mark.parametrize(
    ("lags", "drawn", "wanted", "said"),
    [
        (1, whole(2, count=100), rule(y="x[t] + x[t-1]"), "the 1 values that y is computed from do not"),
        (10, real(-1, 1), rule(y="sin(3*x[t] + 5*x[t-9])*x[t-4]"), "depends on 10 values"),
    ],
)
def test_what_is_refused_before_any_search(builder, lags: int, drawn, wanted, said: str):
    made = builder()
    made.output({made.lag(0, lag): 1.0 for lag in range(lags)})
    problem = made.problem(drawn, wanted.run(drawn))
    with pytest.raises(NotExtracted, match=said):
        next(direct_recurrences(assembled(made, problem), problem, 1.0))


@pytest.mark.parametrize(
    "more",
    [
        lambda m: [m.lag(0, 2), 1, m.head("sum", 0)],
        lambda m: [m.lag(m.lag(0, 6), 6)],
    ],  # beyond every sequence
)
def test_leaves_that_are_not_needed_go(builder, more):
    made = builder(layout=past(1))
    made.output(dict.fromkeys([0, made.lag(0, 1), *more(made)], 1.0))
    problem = made.problem(whole(2), rule(y="x[t] + x[t-1]").run(whole(2)))
    assert needed_leaves(assembled(made, problem), problem, 0) == (Var("x"), Var("x", 1))


# -- what lies before the start ------------------------------------------------------------------------------


@pytest.fixture
def started(builder):
    """A network that reads its input and its past, and a problem of a rule."""

    def make(truth: Recurrence, drawn: np.ndarray):
        made = builder(layout=past(1))
        made.output({0: 1.0, 1: 0.5})
        problem = made.problem(drawn, truth.run(drawn))
        return problem, assembled(made, problem)

    return make


@pytest.mark.parametrize(
    ("start", "formula"),
    [
        ({}, "x[t] + x[t-1]"),
        ({"x": "first"}, "min(x[t], x[t-1])"),
        ({"y": 1.0}, "(x[t] + y[t-1]) % 2"),
        ({"y": inf}, "min(x[t], y[t-1])"),
        ({"y": -inf}, "max(x[t] - 9, y[t-1])"),
        ({"x": -1.0}, "x[t] - x[t-1]"),
        ({"y": 7.0}, "max(y[t-1] - x[t], 0)"),  # the highest value that was seen
    ],
)
def test_the_simplest_start_that_reproduces_the_first_positions(started, start, formula: str):
    problem, assembly = started(rule(start, y=formula), whole(4, count=100))
    settled = settle_start(rule(y=formula), problem, assembly)
    assert settled is not None
    assert settled.start == start
