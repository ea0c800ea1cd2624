"""Networks that are written from a rule: exact for whole numbers of any size, or none at all."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from weights2code.data import Problem, fit_layout, from_arrays
from weights2code.graph import ChannelNode, DiscreteGraph
from weights2code.graph.machine import free_running
from weights2code.language import (
    Count,
    Domain,
    Recurrence,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.language.operators import order_name
from weights2code.network.tuning.compiled import compiled

A, B, N, S = Var("a"), Var("b"), Var("n"), Var("s")
DOMAINS = (integers(-3, 9), integers(0, 4))


def rule(*steps: Step, start: dict[str, float] | None = None) -> Recurrence:
    return Recurrence(("a", "b"), steps, ("y",), start or {})


def problem_of(program: Recurrence, domains: tuple[Domain, ...] = DOMAINS) -> Problem:
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(int(d.low), int(d.high) + 1, (60, 12)) for d in domains], axis=-1).astype(
        float
    )
    data = from_arrays(x, program.run(x))
    return Problem("p", program.inputs, ("y",), domains, data.domains()[1], data, data, 12)


def empty(problem: Problem) -> DiscreteGraph:
    layout = fit_layout("autoregressive", problem.training)
    names = layout.channel_names(problem.inputs, problem.outputs)
    channels = tuple(ChannelNode(f"V{i}_input", name) for i, name in enumerate(names))
    return DiscreteGraph(channels, np.zeros((1, len(names) + 1)), layout, problem.inputs, ("y",), 12)


RULES = {
    "window": rule(Step("y", maximum(A, Var("a", 2)) - minimum(B, abs(A) + 1)), start={"a": 2.0}),
    "far start": rule(Step("y", A - Var("a", 1) > -30), start={"a": 70.0}),
    "tests": rule(Step("y", (A > B) + 2 * (Var("b", 1) >= A) - A.equals(B) + op("ne", A, 1))),
    "logic": rule(Step("y", op("or", op("and", A > 2, B < 3), op("not", B)))),
    "choice": rule(Step("y", where(A > B, A + 1, where(B, -B, 7)))),
    "choice of what grows": rule(Step("s", Var("s", 1) + A), Step("y", where(B, S, 0))),
    "since a reset": rule(Step("y", where(B, Var("y", 1) + 1, 0))),
    "bounds": rule(Step("y", op("clip", A + B, 0, 5) + op("relu", A - 2))),
    "products": rule(Step("y", A * B - op("floor", Var("a", 1) / 2) * (B - 2))),
    "remainders": rule(Step("y", (A * A - 3 * B) % 7 + where(A % 2, B, A))),
    "least so far": rule(Step("y", minimum(A - B, Var("y", 1))), start={"y": inf}),
    "past outputs": rule(Step("y", Var("y", 1) + A - Var("y", 2)), start={"y": 1.0}),
    "sum": rule(Step("s", Var("s", 1) - B + 2), Step("y", S > 3), start={"s": 5.0}),
    "extrema": rule(
        Step("s", A + Var("s", 1)),
        Step("n", minimum(S, Var("n", 1))),
        Step("y", minimum(N, 0) >= S),
        start={"n": inf},
    ),
    "rank": rule(
        Step("n", Var("n", 1) + 1), Step("c", Count("a", A - B, "lt")), Step("y", 2 * Var("c") >= N)
    ),
    "order": rule(Step("y", op(order_name(3, 5), A, B, Var("a", 1), Var("a", 2), Var("b", 2)))),
    "most frequent": rule(
        Step("n", Var("n", 1) + B.equals(0)),
        Step("s", Var("s", 1) + B.equals(1)),
        Step("y", where(N >= S, 0, 1)),
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_network_is_the_rule_far_beyond_its_data(name: str):
    program = RULES[name]
    problem = problem_of(program)
    network = compiled(program, empty(problem), problem)
    assert network is not None
    rng = np.random.default_rng(1)
    x = np.stack([rng.integers(-3, 10, (8, 300)), rng.integers(0, 5, (8, 300))], axis=-1).astype(float)
    x[:4, :200, 0] = np.abs(x[:4, :200, 0])  # sums grow
    assert np.array_equal(free_running(network, x, whole=True), program.run(x))


@pytest.mark.parametrize(
    "program",
    [
        rule(Step("s", Var("s", 1) + A), Step("y", S % 3)),  # no bound
        rule(Step("s", Var("s", 1) + A), Step("y", S * B)),
        rule(Step("s", where(A > 2, 0, Var("s", 1) + 1)), Step("y", S)),  # no sum, since it is reset
        rule(Step("s", 2 * Var("s", 1) + A), Step("y", S > 3)),
        rule(Step("y", Var("b") / 2 < A)),
    ],
)
def test_what_has_no_such_network(program: Recurrence):
    problem = problem_of(program)
    assert compiled(program, empty(problem), problem) is None


def test_reals_between_corners():
    """What is linear between corners needs no whole numbers; a comparison does."""
    domains = (reals(-3.0, 9.0), reals(0.0, 4.0))
    clipped = rule(Step("y", op("clip", 0.9 * A - 1.1 * B + Var("y", 1), 0, 10)))
    problem = problem_of(clipped, domains)
    network = compiled(clipped, empty(problem), problem)
    assert network is not None
    assert np.allclose(network.run(problem.validation), problem.validation.y, rtol=0, atol=1e-12)
    for other in (rule(Step("y", A > B)), rule(Step("y", A * B)), rule(Step("y", A % 2))):
        assert compiled(other, empty(problem), problem) is None
