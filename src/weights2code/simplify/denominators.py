"""Clearing denominators: a running extremum of means that is only compared with a number needs no division.

max over the prefix of a/n <= p/q says the same as max over the prefix of q*a - p*n <= 0, for a counter
n > 0. The second form stays in whole numbers: it is exact, and induction can prove it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Step, Var
from weights2code.simplify.passes import with_formulas
from weights2code.simplify.patterns import Bound, matches, read_pattern

_LARGEST_DENOMINATOR = 100
_ROUNDING = 1e-9
#: An extremum so far, and what it is before the start.
_RUNNING = {"max(z[t-1], a/n)": -math.inf, "min(z[t-1], a/n)": math.inf}


def clear_denominators(recurrence: Recurrence) -> Recurrence:
    """The same recurrence with such extrema in whole numbers; unchanged where the pattern is not met."""
    for step in recurrence.steps:
        quotient = _running_quotient(step, recurrence)
        apart = with_formulas(recurrence, lambda rule, name=step.name: rule.transform(_apart(name)))
        bound = _bound(step.name, apart)
        if quotient is not None and bound is not None:
            recurrence = _cleared(apart, step.name, quotient, bound)
    return recurrence


def _running_quotient(step: Step, recurrence: Recurrence) -> Op | None:
    """The quotient a/n of `m = max(m[t-1], a/n)`, if n counts positions and m starts with nothing."""
    rule = step.definition
    counts = {Var(s.name) for s in recurrence.steps if s.definition == Var(s.name, 1) + 1}
    for text, nothing in _RUNNING.items():
        past: Bound = {Var("z", 1): Var(step.name, 1)}
        found = matches(read_pattern(text), rule, past) if isinstance(rule, Expr) else iter(())
        for bound in found if recurrence.start_of(step.name) == nothing else ():
            counter = bound[Var("n")]
            if isinstance(counter, Var) and counter in counts and not recurrence.start.get(counter.name):
                return Op("div", (bound[Var("a")], counter))
    return None


def _apart(name: str) -> Callable[[Expr], Expr]:
    """Where an extremum of `name` and others is compared, a comparison for each."""

    def split(node: Expr) -> Expr:
        if not (isinstance(node, Op) and node.name in ("ge", "gt", "le", "lt")):
            return node
        inner, bound = node.args
        if not (isinstance(inner, Op) and inner.name in ("max", "min") and Var(name) in inner.args):
            return node
        every = (inner.name == "max") == (node.name in ("le", "lt"))  # all of them, or one of them
        return Op("and" if every else "or", tuple(Op(node.name, (part, bound)) for part in inner.args))

    return split


def _compares(node: Expr, name: str) -> bool:
    return isinstance(node, Op) and OPERATORS[node.name].compares and node.args[0] == Var(name)


def _bound(name: str, recurrence: Recurrence) -> Fraction | None:
    """The one number that `name` is compared with, as a fraction of small terms; None if it is none, since
    another bound is another rule, or if `name` is used in any other way than this and in its own past."""
    if name in recurrence.outputs or recurrence.retrieves():
        return None
    nodes = [node for s in recurrence.steps if isinstance(s.definition, Expr) for node in s.definition.walk()]
    uses = sum(isinstance(node, Var) and node.name == name for node in nodes)
    bounds = [node.args[1] for node in nodes if isinstance(node, Op) and _compares(node, name)]
    if len(bounds) != uses - 1 or len(set(bounds)) != 1 or not isinstance(bounds[0], Const):
        return None
    number = float(bounds[0].value)
    ratio = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR) if math.isfinite(number) else Fraction(0)
    return ratio if abs(float(ratio) - number) <= _ROUNDING * max(abs(number), 1.0) < math.inf else None


def _cleared(recurrence: Recurrence, name: str, quotient: Op, bound: Fraction) -> Recurrence:
    top, counter = quotient.args
    difference = top * bound.denominator - counter * bound.numerator

    def own(node: Expr) -> Expr:  # elsewhere the quotient keeps its meaning
        return difference if node == quotient else node

    def compared(node: Expr) -> Expr:
        return (
            Op(node.name, (node.args[0], Const(0)))
            if isinstance(node, Op) and _compares(node, name)
            else node
        )

    steps = [
        Step(s.name, s.definition.transform(own if s.name == name else compared))
        for s in recurrence.steps
        if isinstance(s.definition, Expr)
    ]
    return replace(recurrence, steps=tuple(steps))
