"""Heads that decide by what a query or a key holds: recognised, put into words, and into programs."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.explain import ByValue, FixedOffset, match_heads
from weights2code.explain.by_value import Decision, Held
from weights2code.explain.routing import match
from weights2code.graph import RouterNode
from weights2code.language import Var
from weights2code.language.evaluation import evaluate
from weights2code.program.listing import listing_machine, raw_outputs
from weights2code.rules.assembly import Assembly

WINDOW = 24


def deciding(scores: list[list[float]], bias: dict[int, float], null: float) -> RouterNode:
    """A head on bits: a score for each pair of a query bit and a key bit, and a bias for some offsets."""
    table = np.zeros((3, 2))
    table[0, 0] = table[2, 1] = 1.0  # the bits 0 and 1 as directions
    keys = np.zeros((3, 2))
    keys[0], keys[2] = np.array(scores).T * np.sqrt(2)
    return RouterNode(
        "V2_Attn_L0H0", "pointer", {"query": 0, "key": 1, "value": 1},
        query_table=table, key_table=keys, value_range=(0.0, 1.0),
        relative_bias=np.array([bias.get(offset, -1e3) for offset in range(WINDOW)]), null_score=null,
    )  # fmt: skip


def bits(count: int = 200, length: int = 10, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (count, length, 2)).astype(float)


#: The present value where query and key are 1, else nothing: an AND of bits.
AND = deciding([[-9, -9], [-9, 9]], {0: 0.0}, 0.0)
#: The value before where the query is 0, the present one where it is 1 and the key here is 1.
TWICE = deciding([[0, 0], [-9, 9]], {0: 0.0, 1: 1.0}, -50.0)


def test_an_and_of_bits() -> None:
    found = match(AND, bits())
    assert isinstance(found.hypothesis, ByValue)
    assert found.hypothesis.tree == Decision("query", 0, 0.5, None, 0)
    assert found.hypothesis.describe() == "0 if query[t] <= 0.5 else value[t]"
    assert found.evidence is not None
    assert found.evidence.agreement == 1.0


def test_two_levels_and_what_is_none() -> None:
    values = bits()
    found = match(TWICE, values).hypothesis
    assert isinstance(found, ByValue)
    assert np.array_equal(found.predict(TWICE, values)[:, 1:], TWICE.compute(values)[:, 1:])
    assert all(back in (0, 1) for _, back in found.operands())
    assert found.reach() == 1
    only = deciding([[0, 0], [0, 0]], {1: 0.0}, -50.0)  # simpler hypotheses come first
    assert match(only, values).hypothesis == FixedOffset(1)
    newest = deciding([[9, -9], [-9, 9]], {offset: -0.1 * offset for offset in range(WINDOW)}, -50.0)
    unmatched = match(newest, np.random.default_rng(1).uniform(0, 1, (200, 10, 2)))
    assert unmatched.hypothesis is None
    assert unmatched.runner_up is not None


def comparing() -> RouterNode:
    """The value before where it is at most the present one, else nothing: on three values."""
    scores = np.where(np.arange(3)[:, None] >= np.arange(3)[None, :], 9.0, -9.0)
    return RouterNode(
        "V2_Attn_L0H0", "pointer", {"query": 0, "key": 0, "value": 0},
        query_table=np.eye(3), key_table=scores.T * np.sqrt(3), value_range=(0.0, 1.0),
        relative_bias=np.where(np.arange(WINDOW) == 1, 0.0, -1e3), null_score=0.0,
    )  # fmt: skip


def test_query_and_key_are_compared(builder) -> None:
    made = builder(layout=Layout("tagging", (2.0, 1.0), (1.0,)), inputs=("a", "b"))
    made.nodes.append(comparing())
    made.output({2: 1.0})
    x = np.random.default_rng(0).integers(0, 3, (80, 10, 2)).astype(float)
    wanted = made.graph().run(made.sequences(x))
    problem = made.problem(x, wanted)
    matched = match_heads(made.graph(), problem.validation)
    found = matched.routers[2].hypothesis
    assert isinstance(found, ByValue)
    assert found.tree == Decision("difference", 1, 0.25, 1, None)
    units = {"query": 2.0, "key": 2.0, "value": 2.0}
    assert found.in_units(units) == "value[t-1] if key[t-1] - query[t] <= 0.5 else 0"
    assert found.operands() == (("key", 1), ("query", 0), ("value", 1))
    assert np.allclose(Assembly.of(matched, problem, 1.0).compose().run(x)[:, 1:], wanted[:, 1:])
    other = found.combined([Var("k"), Var("q"), Var("v")], {**units, "key": 1.0})
    values = {Var("k"): 1.0, Var("q"): 3.0, Var("v"): 5.0}  # the key is 1, the query 1.5, in their units
    assert float(evaluate(other, {name: np.array(value) for name, value in values.items()})) == 5.0


def test_a_value_from_anywhere() -> None:
    """Where the query is 1 a key of 1, wherever it lies, else the value before."""
    offsets = dict.fromkeys(range(WINDOW), 0.0) | {1: 5.0}
    node = deciding([[0, 0], [-50, 50]], offsets, -100.0)
    values = bits(length=20)
    found = match(node, values, first=8)
    assert isinstance(found.hypothesis, ByValue)
    assert found.hypothesis.tree == Decision("query", 0, 0.5, 1, Held(1.0))
    units = {"query": 1.0, "key": 1.0, "value": 3.0}
    assert found.hypothesis.in_units(units) == "value[t-1] if query[t] <= 0.5 else 3"
    assert found.hypothesis.operands() == (("query", 0), ("value", 1))
    made = found.hypothesis.combined([Var("q"), Var("v")], units)
    assert float(evaluate(made, {Var("q"): np.array(1.0), Var("v"): np.array(0.0)})) == 3.0
    assert match(node, np.random.default_rng(0).uniform(0, 1, (200, 20, 2)), 8).hypothesis is None


@pytest.mark.parametrize("node", [AND, TWICE])
def test_programs_of_it(node: RouterNode, builder) -> None:
    made = builder(layout=Layout("tagging", (1.0, 1.0), (1.0,)), inputs=("a", "b"))
    made.nodes.append(node)
    made.output({2: 2.0})
    x = bits(60)
    wanted = made.graph().run(made.sequences(x))
    problem = made.problem(x, wanted)
    matched = match_heads(made.graph(), problem.validation)
    assert isinstance(matched.routers[2].hypothesis, ByValue)
    assembly = Assembly.of(matched, problem, 1.0)
    fresh = bits(20, 30, seed=5)
    wanted = made.graph().run(made.sequences(fresh))
    assert np.allclose(assembly.compose().run(fresh)[:, 1:], wanted[:, 1:])
    assert {leaf.name for leaf in assembly.output_leaves(0)} == {"a", "b"}
    listing = listing_machine(matched.explain(problem, 1.0), problem)
    assert np.allclose(raw_outputs(listing, fresh), wanted)


def test_it_is_followed_through_tokens(builder) -> None:
    """In one sequence of ten inputs and outputs, ten tokens back from y[t-1] lies x[t-1]."""
    made = builder(layout=Layout("concat", (1.0, 1.0), (1.0, 1.0), 2), inputs=("a", "b"), outputs=("y", "z"))
    node = deciding([[-9, -9], [-9, 9]], {10: 0.0}, 0.0)
    made.nodes.append(node)
    made.output({2: 1.0})
    made.output({0: 1.0})
    x, y = bits(80), bits(80, seed=3)
    matched = match_heads(made.graph(), made.sequences(x, y))
    assert isinstance(matched.routers[2].hypothesis, ByValue)
    problem = made.problem(x, y)
    given = raw_outputs(listing_machine(matched.explain(problem, 1.0), problem), x, y)
    wanted = made.graph().run(made.sequences(x, y))
    assert np.allclose(given[:, 2:, 0], wanted[:, 2:, 0])
