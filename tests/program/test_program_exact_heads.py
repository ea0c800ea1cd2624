"""Heads that seek by content: a rule where it is certain, else scores, and always the head itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.explain import ExplainedGraph
from weights2code.graph import RouterNode
from weights2code.program import raw_source
from weights2code.program.raw_program import raw_program

LENGTHS = (1, 3, 10, 40)


def pointer(made, query, key, value, bias, seed=0, null=-5.0, size=1.0, width=3):
    rng = np.random.default_rng(seed)
    names = ("query_table", "key_table")
    tables: dict[str, Any] = {name: size * rng.normal(size=(5, width)) for name in names}
    reads = {"query": query, "key": key, "value": value}
    name = f"V{len(made.nodes)}_Attn_L0H0"
    made.nodes.append(
        RouterNode(name, "pointer", reads, relative_bias=np.array(bias), null_score=null, **tables)
    )
    return len(made.nodes) - 1


def listed(made, x, reals=False):
    """The last node of the listing, which must be the graph at every length, as a value and as text."""
    y = np.random.default_rng(1).normal(size=(*x.shape[:2], 1))
    graph = made.graph()
    program = raw_program(ExplainedGraph(graph, {}, {}), made.problem(x, y))
    draws = []
    for length in LENGTHS:
        rng, shape = np.random.default_rng(length), (5, length, x.shape[2])
        draws.append(rng.uniform(-2, 5, shape) if reals else rng.choice(x.ravel(), shape))
    given = [item[:, 0] if x.shape[2] == 1 else item for draw in draws for item in draw]
    space: dict = {}
    exec(compile(raw_source(program), "program_raw.py", "exec"), space)
    answers = map(space["hand_built"], given)
    for draw in draws:
        wanted = graph.run(made.sequences(draw))[..., 0]
        assert np.allclose([next(answers) for _ in draw], wanted, rtol=0, atol=1e-12)
        assert np.allclose([program.run(item)[:, 0] for item in draw], wanted, rtol=0, atol=1e-12)
    return program.nodes[-1]


@pytest.fixture
def made(builder):
    return builder(("a", "b"), layout=Layout("tagging", (4.0, 4.0), (1.0,)))


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_pairs(made, integers_of, seed):
    made.output({pointer(made, 0, 1, 0, [0.1, -0.2, 0.3, -0.1], seed, null=-0.2): 1.0})
    node = listed(made, integers_of(2))
    assert node.kind == "seek"
    assert node.scores is not None
    assert len(node.scores.pairs) == 16


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_corners_where_values_are_many(made, seed):
    made.output({pointer(made, 0, 1, 0, [0.1, -0.2, 0.3, -0.1], seed, null=-0.2): 1.0})
    node = listed(made, np.random.default_rng(seed).uniform(-2, 5, (40, 10, 2)), reals=True)
    assert node.kind == "seek"
    assert node.scores is not None
    assert not node.scores.pairs
    assert np.shape(node.scores.corners) == (5, 5)


@pytest.mark.parametrize("reals", [False, True])
def test_an_offset_that_is_certain(made, integers_of, reals):
    made.output({pointer(made, 0, 1, 0, [-1e6, -1e6, 50.0, -1e6], null=0.0): 1.0})
    x = np.random.default_rng(0).uniform(-2, 5, (40, 10, 2)) if reals else integers_of(2)
    node = listed(made, x, reals)
    assert (node.kind, node.offset) == ("offset", 2)


def test_an_offset_that_content_may_outvote(made, integers_of):
    made.output({pointer(made, 0, 1, 0, [0.0, 0.0, 1.0, 0.0], size=3.0): 1.0})
    assert listed(made, integers_of(2)).kind == "seek"


def test_an_offset_before_whose_start_something_else_is_read(made, integers_of):
    made.output({pointer(made, 0, 1, 0, [0.0, 50.0, 0.0], null=-60.0): 1.0})
    assert listed(made, integers_of(2)).kind == "seek"


def test_nothing_at_all(made, integers_of):
    made.output({pointer(made, 0, 1, 0, [0.0, 0.0], null=1e3): 1.0})
    assert listed(made, integers_of(2)).kind == "formula"


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("window", [3, 12])
def test_an_extremum_that_is_certain(builder, integers_of, largest, window):
    made = builder()
    made.output({made.extremum(0, window, largest): 1.0})
    node = listed(made, integers_of(1, low=-2))
    expected = ("extremum", None if window == 12 else window, largest)
    assert (node.kind, node.window, node.largest) == expected


def test_an_extremum_whose_bias_may_outvote_a_value(builder, integers_of):
    made = builder()
    head = made.extremum(0, 3)
    made.nodes[head] = replace(made.nodes[head], relative_bias=np.array([0.0, 25.0, 0.0, -1e6]))
    made.output({head: 1.0})
    assert listed(made, integers_of(1, low=-2)).kind == "seek"


@pytest.mark.parametrize("gap", [0, 1, 3])
def test_a_lookup_that_is_certain(builder, integers_of, gap):
    made = builder(("a", "b"), layout=Layout("tagging", (4.0, 2.0), (1.0,)))
    made.output({made.lookup(0, 1, 0, gap): 1.0})
    node = listed(made, integers_of(2))
    assert (node.kind, node.offset, node.window) == ("retrieval", gap, 10_000)


def test_a_lookup_ends_where_nothing_scores_higher(made, integers_of):
    """Newer positions score a little higher, so old ones fall below the score of nothing."""
    head = made.lookup(0, 1, 0, 1)
    made.nodes[head] = replace(made.nodes[head], null_score=-0.0205)
    made.output({head: 1.0})
    node = listed(made, integers_of(2, high=40))
    assert (node.kind, node.window) == ("retrieval", 20)


@pytest.mark.parametrize(("bias", "sharpness"), [([-1e6, 0.0, 0.5, 0.0], 1e7), ([-1e6, 0.0, 0.0, 0.0], 10.0)])
def test_a_lookup_that_is_not_certain(made, integers_of, bias, sharpness):
    """It prefers an older key, or does not tell two apart."""
    head = made.lookup(0, 1, 0, 1)
    made.nodes[head] = replace(made.nodes[head], relative_bias=np.array(bias), sharpness=sharpness)
    made.output({head: 1.0})
    assert listed(made, integers_of(2)).kind == "seek"


def test_keys_that_are_real_are_compared_as_the_head_does(made):
    made.output({made.lookup(0, 1, 0, 1): 1.0})
    node = listed(made, np.random.default_rng(0).uniform(-2, 5, (40, 10, 2)), reals=True)
    assert node.kind == "seek"
    assert node.scores is not None
    assert node.scores.sharpness > 0
