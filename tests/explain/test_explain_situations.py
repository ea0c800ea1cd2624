"""What can occur in a network: every situation, against all runs; else each value alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from weights2code.data import Layout
from weights2code.explain.situations import (
    Possible,
    possible_inputs,
    possible_outputs,
    situations,
)
from weights2code.graph import OperatorNode, machine_of
from weights2code.language import BITS, Domain, Recurrence, Step, Var, integers

LOOP = Layout("autoregressive", (2.0,), (4.0,))
PLAIN = Layout("autoregressive", (1.0,), (1.0,))


def explored(made, domain=BITS):
    return situations(machine_of(made.graph(), whole=True), (domain,))


def test_it_is_what_occurs_in_any_run(builder):
    """y[t] = |x[t-2] - y[t-2]|, or so: both of them are halves and quarters inside."""
    made = builder(layout=LOOP)
    made.start(1, 0.25)
    made.output({made.operator("distance", made.lag(0, 2, 0.5), made.lag(1, 1, 0.25)): 1.0, 0: 0.25}, 0.1)
    found = explored(made)
    assert found is not None
    machine = machine_of(made.graph(), whole=True)
    runs = [machine.trace(np.array(list(product([0.0, 1.0], repeat=n)))[..., None]) for n in (8, 9)]
    rows = [{*zip(*(trace[name].ravel().tolist() for name in found), strict=True)} for trace in runs]
    assert {*zip(*(column.tolist() for column in found.values()), strict=True)} == rows[0] == rows[1]


def test_what_has_no_end_or_no_border_is_not_explored(builder):
    for kind in ("mean", "sum"):
        made = builder()
        made.output({made.head(kind, 0): 1.0})
        assert explored(made) is None
    made = builder(layout=LOOP)
    made.output({0: 0.5, 1: 1.0})  # a sum
    assert explored(made) is None
    made = builder(layout=LOOP)
    made.output({0: 0.25, 1: 0.125})  # half of y[t-1], and x = 1 gives 0.5
    assert explored(made) is None
    made = builder()
    made.output({made.lag(0, 5): 1.0})
    assert explored(made) is not None
    assert explored(made, integers(0, 29)) is None  # 30 to the sixth
    assert explored(made, Domain("reals", 0, 1)) is None


def parity(builder, slip=0.0):
    """y[t] = |x[t] - y[t-1]|, off by `slip` where both are 1."""
    made = builder(layout=PLAIN)
    weight, bias = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, -1.0])
    made.nodes.append(OperatorNode("V2_MLP_L0M0", (0, 1), weight, bias, np.array([1.0, 1.0, slip]), 0.0))
    made.output({2: 1.0})
    return made


def outputs(made, domain=BITS):
    return possible_outputs(machine_of(made.graph(), whole=True), (domain,))[0]


def test_a_set_that_no_step_leaves(builder):
    assert outputs(parity(builder)).values == (0.0, 1.0)
    assert outputs(parity(builder, 2.0)) == Possible()  # where both are 1 it says 2, and there is no end
    assert outputs(parity(builder, 0.5 - 1e-9)) == Possible()  # at the border of rounding
    made = parity(builder)
    made.start(1, 0.25)
    assert outputs(made).values == (0.0, 0.25, 1.0)


def test_inputs_hold_what_their_domain_says(builder, integers_of):
    problem = builder().problem(integers_of(1), integers_of(1))
    for domain, wanted in {
        Domain("integers", -1, 1): Possible(-1.0, 1.0, (-1.0, 0.0, 1.0)),
        Domain("integers", 0, 10**6): Possible(0, 10**6),
        Domain("reals", 0, 1): Possible(),  # of own data, which may hold others tomorrow
    }.items():
        assert possible_inputs(replace(problem, domains=(domain,))) == [wanted]
    rule = Recurrence(("x",), (Step("y", Var("x")),), ("y",))
    told = replace(problem, domains=(Domain("reals", 0, 1),), reference=rule)
    assert possible_inputs(told) == [Possible(0, 1)]
