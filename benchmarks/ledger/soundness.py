"""Pairs of which too much was claimed once, or what is right was refused; each shows one way to be wrong.

A program computes in Python's and NumPy's own numbers, a specification means exact ones, and a plain function
may tell states apart that look the same. Sequences that show the difference stand beside each pair.
"""

from __future__ import annotations

from math import inf

import numpy as np
from claims import Written
from truth import Case, Rows

from weights2code.data import Layout
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode
from weights2code.language import (
    BITS,
    Const,
    Definition,
    Domain,
    Expr,
    Recurrence,
    Start,
    Step,
    Var,
    integers,
    op,
    where,
)

x = Var("x")


def _machine(output: Definition, start: dict[str, Start] | None = None, **steps: Definition) -> Recurrence:
    """One input x, one output y, other steps after it."""
    made = (Step("y", output), *(Step(name, definition) for name, definition in steps.items()))
    return Recurrence(("x",), made, ("y",), start or {})


def _case(
    name: str,
    program: Recurrence,
    specification: Recurrence | str,
    domain: Domain,
    telling: list[float],
    length: int = 10,
    *,
    right: bool = False,
) -> Case:
    """A pair over one column of whole numbers; a text is a plain function."""
    rows: Rows = [[value] for value in telling]
    meant = Written(specification, ("x",), (domain,)) if isinstance(specification, str) else specification
    return Case(name, program, meant, (domain,), True, length, (rows,), right)


# -- numbers -------------------------------------------------------------------------------------------------

#: Python's whole numbers have no end where NumPy's powers overflow.
_large = op("pow", Const(10), 400 * (x > 5))
_overflow = _case(
    "intproof", _machine((_large / _large).equals(1)), _machine(x <= 5), integers(0, 9), [1, 7, 5]
)
#: Infinity less infinity is no number, of which Python and NumPy take another maximum.
_no_number = _case(
    "nanproof",
    _machine(op("max", Const(3), Var("s", 1) - Var("s", 1)) >= 2, {"s": inf}, s=x),
    _machine(Var("f", 1) * 1, f=Const(1) + 0 * x),
    BITS,
    [1, 0, 1],
)
#: A power of single numbers and of arrays differs in its last digit, and the comparison with it.
_power = _machine(op("pow", Const(10), x) < 1e-5)
_powers = (
    _case("powproof-5", _power, _machine(x <= -5), integers(-9, 9), [-6, -5, -4]),
    _case("powproof-6", _power, _machine(x <= -6), integers(-9, 9), [-6, -5, -4]),
)
#: A step that nobody reads stops the text.
_dead = Recurrence(
    ("x",), (Step("d", Const(1) / op("ne", x, 12345)), Step("y", x)), ("y",)
)  # fmt: skip
_unread = _case("prog_cert-unread", _dead, _machine(x), integers(0, 19_000), [1, 12345, 2])
#: Decimals that meet in exact numbers and not in float64: the specification means exact ones.
_decimals = _machine((0.1 * x + 0.2 * x).equals(0.3 * x))
_floored = _machine(op("floor", x / 255 * 255))
_third = _machine((0.1 * x).equals(0.3))
_meeting = (
    _case("prog_cert-itself-9", _decimals, _decimals, integers(0, 9), [8]),
    _case("prog_cert-itself-15000", _decimals, _decimals, integers(0, 15_000), [7556]),
    _case("prog_cert-floor-itself", _floored, _floored, integers(0, 19_000), [16325]),
    _case("prog_cert-floor", _machine(x), _floored, integers(0, 19_000), [16325], right=True),
    *(
        _case(f"prog_cert2-{name}-{top}", program, _third, integers(0, top), [1, 3], right=right)
        for top in (19_000, 30_000)
        for name, program, right in (
            ("zero", _machine(Const(0) * x), False),
            ("three", _machine(x.equals(3)), True),
        )
    ),
)


def _after_a_code() -> Case:
    """After one of many thousand beginnings the specification is a half, which rounds to what the program
    says: whole numbers are claimed of what is none."""
    code = [1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1]
    found: Expr = x.equals(code[-1])
    for lag, value in enumerate(reversed(code[:-1]), start=1):
        found = op("and", found, Var("x", lag).equals(value))
    program, specification = (_machine(where(found, Const(value), x)) for value in (0, 0.5))
    return _case("rare_half2", program, specification, BITS, list(map(float, code)))


# -- states that look the same -------------------------------------------------------------------------------

#: Two sets are equal whose first items are not.
_SET = """
start = set()

def step(seen, row):
    seen.add(8 * row["x"])
    return seen, next(iter(seen)) // 8
"""
#: Two whole numbers are equal of which one carries something besides.
_NUMBER = """
class Number(int):
    pass

start = 0

def step(total, row):
    after = Number((int(total) + row["x"]) % 3)
    after.last = row["x"]
    return after, getattr(total, "last", 0)
"""
#: So are two dataclasses.
_DATACLASS = """
from dataclasses import dataclass

@dataclass
class State:
    total: int = 0

start = State()

def step(state, row):
    answer = getattr(state, "last", 0)
    state.total = (state.total + row["x"]) % 2
    state.last = row["x"]
    return state, answer
"""


#: Functions whose states cannot be told apart; they are refused, so that nothing can be claimed of them.
REFUSED = {
    "prog_cert2-set": _SET, "tasks_bad": _SET, "prog_cert2-number": _NUMBER, "stepset-dataclass": _DATACLASS
}  # fmt: skip

PROGRAMS: tuple[Case, ...] = (
    _overflow, _no_number, *_powers, _unread, *_meeting, _after_a_code()
)  # fmt: skip

# -- networks ------------------------------------------------------------------------------------------------

#: 1 at x == 3, which 0.1*x == 0.3 is in exact numbers and not in float64.
_hat = OperatorNode(
    "V1", (0,), np.ones((3, 1)), np.array([-2.0, -3.0, -4.0]), np.array([1.0, -2.0, 1.0]), 0.0
)
_at_three = DiscreteGraph(
    (ChannelNode("V0", "x"), _hat),
    np.array([[0.0, 1.0, 0.0]]),
    Layout("tagging", (1.0,), (1.0,)),
    ("x",),
    ("y",),
    10,
)

#: Name, network, program, domains, and sequences that tell them apart.
NETWORKS: tuple[tuple[str, DiscreteGraph, Recurrence, tuple[Domain, ...], list[np.ndarray]], ...] = (
    ("net_float", _at_three, _third, (integers(0, 1_000_000),), [np.array([[[3.0], [7.0], [3.0]]])]),
)
