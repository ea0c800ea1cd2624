"""Clearing denominators: a running extremum of means that is only compared with a number needs no division.

max over the prefix of a/n <= p/q says the same as max over the prefix of q*a - p*n <= 0, for a counter
n > 0. The second form stays in whole numbers: it is exact, and induction can prove it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from weights2code.language import OPERATORS, Const, Definition, Expr, Op, Recurrence, Step, Var, with_formula

_LARGEST_DENOMINATOR = 100
_ROUNDING = 1e-9


def clear_denominators(recurrence: Recurrence) -> Recurrence:
    """The same recurrence with such extrema in whole numbers; unchanged where the pattern is not met."""
    for step in recurrence.steps:
        quotient = _running_quotient(step, recurrence)
        if quotient is None:
            continue
        apart = _compared_alone(step.name, recurrence)
        bounds = _bounds(step.name, apart)
        if bounds is None or len(bounds) != 1:
            continue
        bound = _ratio(bounds.pop())
        if bound is not None:
            recurrence = _rewritten(apart, step, quotient, bound)
    return recurrence


def _compared_alone(name: str, recurrence: Recurrence) -> Recurrence:
    """The same rules, where an extremum of `name` and others is compared, with a comparison for each."""

    def split(node: Expr) -> Expr:
        if not (isinstance(node, Op) and node.name in ("ge", "gt", "le", "lt")):
            return node
        inner, bound = node.args
        if not (isinstance(inner, Op) and inner.name in ("max", "min") and Var(name) in inner.args):
            return node
        every = (inner.name == "max") == (node.name in ("le", "lt"))  # all of them, or one of them
        return Op("and" if every else "or", tuple(Op(node.name, (arg, bound)) for arg in inner.args))

    steps = tuple(
        Step(own.name, with_formula(own.definition, lambda rule: rule.transform(split)))
        for own in recurrence.steps
    )
    return replace(recurrence, steps=steps)


def _running_quotient(step: Step, recurrence: Recurrence) -> Op | None:
    """The quotient a/n of `m = max(m[t-1], a/n)`, if n counts positions and m starts with nothing."""
    rule = step.definition
    if not (isinstance(rule, Op) and rule.name in ("max", "min") and Var(step.name, 1) in rule.args):
        return None
    if recurrence.start_of(step.name) != (-math.inf if rule.name == "max" else math.inf):
        return None
    other = rule.args[1] if rule.args[0] == Var(step.name, 1) else rule.args[0]
    if not (isinstance(other, Op) and other.name == "div" and isinstance(other.args[1], Var)):
        return None
    counter = other.args[1]
    counts = any(
        s.name == counter.name and s.definition == Var(s.name, 1) + 1 for s in recurrence.steps
    ) and not recurrence.start.get(counter.name)
    return other if counts and counter.lag == 0 else None


def _bounds(name: str, recurrence: Recurrence) -> set[float] | None:
    """The numbers that `name` is compared with; None if it is used in any other way."""
    found: set[float] = set()
    for step in recurrence.steps:
        if not isinstance(step.definition, Expr):
            return None
        nodes = list(step.definition.walk())
        uses = sum(node.name == name for node in nodes if isinstance(node, Var))
        own = step.name == name
        for node in nodes:
            if isinstance(node, Op) and OPERATORS[node.name].compares and node.args[0] == Var(name):
                if not isinstance(node.args[1], Const):
                    return None
                found.add(float(node.args[1].value))
                uses -= 1
        if uses - own:
            return None
    return None if name in recurrence.outputs else found


def _ratio(number: float) -> Fraction | None:
    """The number as a fraction of small terms; None if it is none, since another bound is another rule."""
    if not math.isfinite(number):
        return None
    ratio = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)
    return ratio if abs(float(ratio) - number) <= _ROUNDING * max(abs(number), 1.0) else None


def _rewritten(recurrence: Recurrence, step: Step, quotient: Op, bound: Fraction) -> Recurrence:
    top, counter = quotient.args
    difference = top * bound.denominator - counter * bound.numerator

    def compared(node: Expr) -> Expr:
        if isinstance(node, Op) and OPERATORS[node.name].compares and node.args[0] == Var(step.name):
            return Op(node.name, (node.args[0], Const(0)))
        return node

    def rule(own: Step) -> Definition:
        if own.name == step.name:  # elsewhere the quotient keeps its meaning
            assert isinstance(own.definition, Op)
            return Op(
                own.definition.name, tuple(difference if a == quotient else a for a in own.definition.args)
            )
        return with_formula(own.definition, lambda rule: rule.transform(compared))

    steps = tuple(Step(own.name, rule(own)) for own in recurrence.steps)
    return replace(recurrence, steps=steps)
