"""Networks that are written from a rule: exact for whole numbers of any size, or none at all."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from case_table import in_text
from weights2code.data import Problem, fit_layout, from_arrays
from weights2code.graph import ChannelNode, DiscreteGraph
from weights2code.graph.machine import free_running
from weights2code.language import Count, Domain, Recurrence, Step, Var, integers, op, reals
from weights2code.language.operators import order_name
from weights2code.network.tuning.compiled import compiled

A, B = Var("a"), Var("b")
DOMAINS = (integers(-3, 9), integers(0, 4))


def rule(lines: str, start: dict[str, Any] | None = None) -> Recurrence:
    return in_text(lines, start, "a b")


def problem_of(program: Recurrence, domains: tuple[Domain, ...] = DOMAINS) -> Problem:
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(int(d.low), int(d.high) + 1, (60, 12)) for d in domains], -1).astype(float)
    data = from_arrays(x, program.run(x))
    return Problem("p", program.inputs, ("y",), domains, data.domains()[1], data, data, 12)


def empty(problem: Problem) -> DiscreteGraph:
    layout = fit_layout("autoregressive", problem.training)
    names = layout.channel_names(problem.inputs, problem.outputs)
    channels = tuple(ChannelNode(f"V{i}_input", name) for i, name in enumerate(names))
    return DiscreteGraph(channels, np.zeros((1, len(names) + 1)), layout, problem.inputs, ("y",), 12)


NEAR = (A, Var("a", 1), Var("a", 2), B, Var("b", 2))
HALF = Step("y", 2 * Var("c") >= Var("n"))
RULES = {
    "window": rule("y = max(a[t], a[t-2]) - min(b[t], abs(a[t]) + 1)", {"a": 2.0}),
    "far start": rule("y = a[t] - a[t-1] > -30", {"a": 70.0}),
    "tests": rule("y = (a[t] > b[t]) + 2*(b[t-1] >= a[t]) - (a[t] == b[t]) + (a[t] != 1)"),
    "logic": rule("y = (a[t] > 2 and b[t] < 3) or not b[t]"),
    "choice": rule("y = a[t] + 1 if a[t] > b[t] else -b[t] if b[t] else 7"),
    "choice of what grows": rule("s = s[t-1] + a[t]; y = s[t] if b[t] else 0"),
    "since a reset": rule("y = y[t-1] + 1 if b[t] else 0"),
    "bounds": rule("y = clip(a[t] + b[t], 0, 5) + relu(a[t] - 2)"),
    "products": rule("y = a[t]*b[t] - (a[t-1]//2)*(b[t] - 2)"),
    "remainders": rule("y = (a[t]*a[t] - 3*b[t]) % 7 + (b[t] if a[t] % 2 else a[t])"),
    "least so far": rule("y = min(a[t] - b[t], y[t-1])", {"y": inf}),
    "past outputs": rule("y = y[t-1] + a[t] - y[t-2]", {"y": 1.0}),
    "sum": rule("s = s[t-1] - b[t] + 2; y = s[t] > 3", {"s": 5.0}),
    "extrema": rule("s = a[t] + s[t-1]; n = min(s[t], n[t-1]); y = min(n[t], 0) >= s[t]", {"n": inf}),
    "rank": Recurrence(
        ("a", "b"), (*rule("n = n[t-1] + 1").steps, Step("c", Count("a", A - B, "lt")), HALF), ("y",)),
    "order": Recurrence(("a", "b"), (Step("y", op(order_name(3, 5), *NEAR)),), ("y",)),
    "most frequent": rule("n = n[t-1] + (b[t] == 0); s = s[t-1] + (b[t] == 1); y = 0 if n[t] >= s[t] else 1"),
}  # fmt: skip


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
        rule("s = s[t-1] + a[t]; y = s[t] % 3"),  # no bound
        rule("s = s[t-1] + a[t]; y = s[t]*b[t]"),
        rule("s = 0 if a[t] > 2 else s[t-1] + 1; y = s[t]"),  # no sum, since it is reset
        rule("s = 2*s[t-1] + a[t]; y = s[t] > 3"),
        rule("y = b[t]/2 < a[t]"),
    ],
)
def test_what_has_no_such_network(program: Recurrence):
    problem = problem_of(program)
    assert compiled(program, empty(problem), problem) is None


def test_reals_between_corners():
    """What is linear between corners needs no whole numbers; a comparison does."""
    domains = (reals(-3.0, 9.0), reals(0.0, 4.0))
    clipped = rule("y = clip(0.9*a[t] - 1.1*b[t] + y[t-1], 0, 10)")
    problem = problem_of(clipped, domains)
    network = compiled(clipped, empty(problem), problem)
    assert network is not None
    assert np.allclose(network.run(problem.validation), problem.validation.y, rtol=0, atol=1e-12)
    for other in (rule("y = a[t] > b[t]"), rule("y = a[t]*b[t]"), rule("y = a[t] % 2")):
        assert compiled(other, empty(problem), problem) is None
