"""At the end of what a whole number can be, a comparison is an equality: that says plainly what is meant."""

from __future__ import annotations

from dataclasses import replace

from weights2code.language import Const, Domain, Expr, Op, Recurrence, Var
from weights2code.language.kinds import kinds_of
from weights2code.language.ranges import bounds_of

#: By how much the number that is meant differs from the one that is compared with, at the low and high end.
_LOW, _HIGH = {"le": 0, "lt": -1}, {"ge": 0, "gt": 1}


def equal_at_ends(program: Recurrence, domains: tuple[Domain, ...]) -> Recurrence:
    """The program with `s <= 0` of a state that is never less than 0 as `s == 0`, and so at the other end."""
    kinds, bounds = kinds_of(program, domains), bounds_of(program, domains)
    hidden = {step.name for step in program.steps} - {*program.outputs}

    def plain(node: Expr) -> Expr:
        if not isinstance(node, Op) or node.name not in _LOW | _HIGH:
            return node
        value, number = node.args
        if not (isinstance(value, Var) and isinstance(number, Const) and value.name in hidden):
            return node
        found = bounds.get(value.name)
        if found is None or not kinds.is_integer(value):
            return node
        end = found.low if node.name in _LOW else found.high
        return value.equals(int(end)) if number.value + (_LOW | _HIGH)[node.name] == end else node

    steps = tuple(
        replace(step, definition=step.definition.transform(plain))
        if isinstance(step.definition, Expr)
        else step
        for step in program.steps
    )
    return replace(program, steps=steps)
