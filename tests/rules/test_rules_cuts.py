"""Reading cut by cut: operators whose values are a gauge of something become variables of the program."""

from __future__ import annotations

import numpy as np

from weights2code.data import Layout
from weights2code.explain.explanation import match_heads
from weights2code.graph import OperatorNode
from weights2code.language import Recurrence, Step, Var, maximum, where
from weights2code.rules.borders import other_borders
from weights2code.rules.cuts import cuts, operator_layers
from weights2code.rules.from_leaves import direct_recurrences

a, b, x = Var("a"), Var("b"), Var("x")


def tabulated(made, operands, table) -> int:
    """An operator with given values at given rows of operands: linear in between, along one direction."""
    rows = np.array(list(table), dtype=float)
    weights = np.array([np.pi**place for place in range(rows.shape[1])])  # rows of few values stay apart
    keys, values = rows @ weights, np.array(list(table.values()), dtype=float)
    order = np.argsort(keys)
    keys, values = keys[order], values[order]
    slopes = np.diff(values) / np.diff(keys)
    index = len(made.nodes)
    bends = np.diff(slopes, prepend=0.0)
    made.nodes.append(
        OperatorNode(
            f"V{index}_MLP_L0M{index}",
            tuple(operands),
            np.tile(weights, (len(slopes), 1)),
            -keys[:-1],
            bends,
            float(values[0]),
        )
    )
    return index


def signed_maximum(builder):
    """y = max(s, s[t-1]) with s = b if a else -b, of which the network keeps 0.3 - 0.7*s."""
    made = builder(inputs=("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    gauge = {s: 0.3 - 0.7 * s for s in range(-2, 3)}
    inner = tabulated(made, (0, 1), {(p, q): gauge[q if p else -q] for p in (0, 1) for q in range(3)})
    before = made.lag(inner, 1, start=0.3)
    outer = tabulated(made, (inner, before), {(gauge[s], gauge[r]): max(s, r) for s in gauge for r in gauge})
    made.output({outer: 1.0})
    s = Var("s")
    rule = Recurrence(("a", "b"), (Step("s", where(a, b, -b)), Step("y", maximum(s, Var("s", 1)))), ("y",))
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.integers(0, 2, (160, 10)), rng.integers(0, 3, (160, 10))], 2).astype(float)
    return made, rule, drawn


def test_an_operator_becomes_a_variable_and_the_rule_is_read(builder):
    made, rule, drawn = signed_maximum(builder)
    problem = made.problem(drawn, rule.run(drawn))
    leaves, cut = cuts(match_heads(made.graph(), problem.validation), problem)
    assert (leaves.number, cut.number) == (0, 1)
    found = next(direct_recurrences(cut.assembly, problem, 0.3))
    fresh = drawn.reshape(-1, 40, 2)
    assert np.array_equal(found.run(fresh), rule.run(fresh))
    assert (cut.rule(found).nodes, cut.rule(found).cut) == (("V2_MLP_L0M2",), 1)
    unread = Recurrence(("a", "b"), (Step("y", maximum(b, Var("b", 1))),), ("y",))
    assert (cut.rule(unread).nodes, cut.rule(unread).cut) == ((), 0)  # it reads leaves alone
    assert operator_layers(made.graph()) == [[2], [4]]


def test_every_side_of_every_threshold_is_offered():
    rule = Recurrence(("x",), (Step("y", (x > 0.4) + 2 * (x > 0.8)),), ("y",))
    borders = np.array([[[0.4], [0.8]]])
    offered = {tuple(found.run(borders).ravel()) for found in (rule, *other_borders(rule))}
    assert offered == {(0.0, 1.0), (1.0, 1.0), (0.0, 3.0), (1.0, 3.0)}


def test_a_single_operator_is_read_only_if_nodes_are_asked_for(builder):
    made = builder(inputs=("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    rows = {(p, q): 0.4 * abs(p - q) - 1 for p in range(4) for q in range(4)}
    made.output({tabulated(made, (0, 1), rows): 2.5}, 2.5)
    drawn = np.random.default_rng(1).integers(0, 4, (300, 10, 2)).astype(float)
    wanted = abs(drawn[..., :1] - drawn[..., 1:])
    problem = made.problem(drawn, wanted)
    matched = match_heads(made.graph(), problem.validation)
    assert [cut.number for cut in cuts(matched, problem)] == [0]
    (cut,) = cuts(matched, problem, lowest=1)
    rule = next(direct_recurrences(cut.assembly, problem, 0.3))
    assert cut.rule(rule).nodes == ("V2_MLP_L0M2",)
    assert np.array_equal(rule.run(drawn), wanted)
