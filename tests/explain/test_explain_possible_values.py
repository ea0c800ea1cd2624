"""What values can occur: inputs by their domain, past outputs by a set that no step leaves."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from weights2code.data import Layout
from weights2code.explain.possible_values import Possible, combinations, possible_channels
from weights2code.graph import OperatorNode
from weights2code.language import Domain, Recurrence, Step, Var

LOOP = Layout("autoregressive", (1.0,), (1.0,))


def parity(builder, slip=0.0):
    """y[t] = |x[t] - y[t-1]|, off by `slip` where both are 1."""
    made = builder(layout=LOOP)
    weight, bias = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, -1.0])
    made.nodes.append(OperatorNode("V2_MLP_L0M0", (0, 1), weight, bias, np.array([1.0, 1.0, slip]), 0.0))
    made.output({2: 1.0})
    return made


def channels(made, integers_of, low=0, high=2):
    problem = made.problem(integers_of(1, low=low, high=high), integers_of(1, seed=1, high=2))
    return possible_channels(made.graph(), problem)


def test_a_set_that_no_step_leaves(builder, integers_of):
    assert channels(parity(builder), integers_of)[1].values == (0.0, 1.0)


def test_what_the_network_gets_wrong_can_occur_too(builder, integers_of):
    """Where both are 1 it says 2, and from 2 it goes on to 4, 1 and 6: the set has no end."""
    assert channels(parity(builder, 2.0), integers_of)[1] == Possible()


def test_an_output_at_the_border_of_rounding_may_be_either(builder, integers_of):
    assert channels(parity(builder, 0.5 - 1e-9), integers_of)[1].values == (0.0, 1.0)
    made = builder(layout=LOOP)
    made.output({made.operator("distance", 0, 1): 0.5}, 0.0)  # 0.5 rounds to 0 or to 1
    assert channels(made, integers_of)[1].values == (0.0, 1.0)


def test_the_start_of_a_past_output_can_occur(builder, integers_of):
    made = parity(builder)
    made.start(1, 0.25)
    assert channels(made, integers_of)[1].values == (0.0, 0.25, 1.0)


def test_heads_hold_what_they_read_and_what_lies_before_the_start(builder, integers_of):
    made = builder(layout=LOOP)
    made.output({made.operator("minimum", made.lag(1, 1, 3.0), 0): 1.0})
    assert channels(made, integers_of, high=5)[1].values == (0.0, 1.0, 2.0, 3.0)
    made = builder(layout=LOOP)
    made.output({made.operator("minimum", made.head("sum", 0), 1): 1.0})
    assert channels(made, integers_of)[1] == Possible()


def test_past_outputs_that_no_operator_reads_are_not_asked_about(builder, integers_of):
    made = builder(layout=LOOP)
    made.output({0: 1.0, made.lag(1, 1): 1.0})
    assert channels(made, integers_of)[1] == Possible()


def test_inputs_are_what_their_domain_says(builder, integers_of):
    made = builder()
    made.output({0: 1.0})
    problem = made.problem(integers_of(1), integers_of(1))
    for domain, expected in {
        Domain("integers", -1, 1): Possible(-1.0, 1.0, (-1.0, 0.0, 1.0)),
        Domain("integers", 0, 10**6): Possible(0, 10**6),
        Domain("reals", 0, 1): Possible(),  # of own data, which may hold others tomorrow
    }.items():
        assert possible_channels(made.graph(), replace(problem, domains=(domain,))) == [expected]
    same = Recurrence(("x",), (Step("y", Var("x")),), ("y",))
    told = replace(problem, domains=(Domain("reals", 0, 1),), reference=same)
    assert possible_channels(made.graph(), told) == [Possible(0, 1)]


def test_sets_of_values():
    some = Possible.of({1.0, 3.0})
    assert some.with_value(3.0) == some
    assert some.with_value(0.0) == Possible(0.0, 3.0, (0.0, 1.0, 3.0))
    assert some.hull() == Possible(1.0, 3.0)
    assert some.added_up() == Possible(1.0, inf)
    assert Possible(-1.0, 0.0).added_up() == Possible(-inf, 0.0)
    found = combinations([(0.0, 1.0), (5.0, 6.0, 7.0)])
    assert found is not None
    assert found.tolist() == [[0, 5], [0, 6], [0, 7], [1, 5], [1, 6], [1, 7]]
    assert combinations([tuple(map(float, range(700)))] * 2) is None
