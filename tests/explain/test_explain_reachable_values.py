"""Every situation that a network of fixed offsets can come to, against running it on every sequence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.explain.reachable_values import reachable_values

LOOP = Layout("autoregressive", (2.0,), (4.0,))


def problem_of(made, integers_of, high=2):
    return made.problem(integers_of(1, high=high), integers_of(1, seed=1, high=2))


def ran(made, length):
    """The values of all nodes on every sequence of bits, the network fed with its own rounded outputs."""
    graph = made.graph()
    x = np.array(list(product([0.0, 1.0], repeat=length)))[..., None]
    y = np.zeros_like(x)
    for _ in range(length):
        y = np.round(graph.run(made.sequences(x, y)))
    values = graph.stream(graph.encode(made.sequences(x, y))[0]) * graph.units()
    return np.unique(values.reshape(-1, values.shape[2]).round(9), axis=0)


def test_it_is_what_occurs_in_any_run(builder, integers_of):
    """y[t] = |x[t] - y[t-2]|, or so: both of them are halves and quarters inside."""
    made = builder(layout=LOOP)
    made.start(1, 0.25)
    made.output({made.operator("distance", made.lag(0, 2, 0.5), made.lag(1, 1, 0.25)): 1.0, 0: 0.25}, 0.1)
    found = reachable_values(made.graph(), problem_of(made, integers_of))
    assert found is not None
    assert np.array_equal(np.unique(found.round(9), axis=0), ran(made, 9))
    assert len(ran(made, 9)) == len(ran(made, 8))  # nothing new after that


def test_values_that_never_meet_are_left_out(builder, integers_of):
    """x[t-1] and its own output of then are the same."""
    made = builder(layout=LOOP)
    made.output({made.operator("both", 0, 1): 0.0, 0: 0.5, made.lag(0, 1): 0.001})
    made.rows[0][2] = 1e-9
    found = reachable_values(made.graph(), problem_of(made, integers_of))
    assert found is not None
    assert set(map(tuple, found[:, [1, 3]].tolist())) == {(0.0, 0.0), (1.0, 1.0)}


@pytest.mark.parametrize("kind", ["mean", "sum", "max"])
def test_networks_of_another_kind_are_not_explored(builder, integers_of, kind):
    made = builder()
    made.output({made.head(kind, 0): 1.0})
    assert reachable_values(made.graph(), problem_of(made, integers_of)) is None


@pytest.mark.slow
def test_what_has_no_end_or_no_border_is_not_explored(builder, integers_of):
    made = builder(layout=LOOP)
    made.output({0: 0.5, 1: 1.0})  # a sum
    assert reachable_values(made.graph(), problem_of(made, integers_of)) is None
    made = builder(layout=LOOP)
    made.output({0: 0.25, 1: 0.0})
    assert reachable_values(made.graph(), problem_of(made, integers_of)) is not None  # nothing goes back
    made.rows[0][1] = 0.125  # half of y[t-1], and x = 1 gives 0.5
    assert reachable_values(made.graph(), problem_of(made, integers_of)) is None
    made = builder()
    made.output({made.lag(0, 5): 1.0})
    assert reachable_values(made.graph(), problem_of(made, integers_of, 30)) is None  # 30 to the sixth
