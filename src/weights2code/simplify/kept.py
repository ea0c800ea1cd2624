"""Totals with few states: one that is only read modulo a number is kept modulo it, and one that only grows
and is only compared with numbers is kept up to the largest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weights2code.language import (
    OPERATORS,
    Const,
    Domain,
    Expr,
    Op,
    Recurrence,
    Step,
    Var,
    definition_variables,
)
from weights2code.language.kinds import Kinds, kinds_of
from weights2code.language.ranges import bounds_of
from weights2code.simplify.sums import polynomial

#: Where a number may be replaced by another that differs by a multiple of the divisor.
_ALONG = ("add", "sub", "neg", "mul")


def kept_modulo(program: Recurrence, domains: Sequence[Domain]) -> Recurrence:
    """The program with such totals, hidden steps that add whole numbers up, kept so."""
    kinds = kinds_of(program, domains)
    for step in program.steps:
        last, start = Var(step.name, 1), program.start_of(step.name)
        if step.name in program.outputs or not isinstance(step.definition, Expr) or isinstance(start, str):
            continue
        total, whole = step.definition, kinds.is_integer(Var(step.name)) and kinds.is_integer(last)
        if not whole or _divisors(Op("mod", (total, Const(0))), last, kinds) != {Const(0)} or total == last:
            continue  # it is no sum of whole numbers
        found = {by for other in program.steps if other is not step for by in _read(other, step.name, kinds)}
        divisor = next(iter(found), None)
        if len(found) == 1 and isinstance(divisor, Const) and divisor.value > 1:
            return kept_modulo(_kept(program, step, divisor), domains)
    return program


def _read(step: Step, name: str, kinds: Kinds) -> set[Const | None]:
    """By what a step takes the remainder of a value; None where it reads the value itself."""
    definition = step.definition
    read = [v for v in definition_variables(definition) if v.name == name]
    if not isinstance(definition, Expr):
        named = name in (getattr(definition, "key", ""), getattr(definition, "value", ""))
        return {None} if read or named else set()
    return {by for variable in read for by in _divisors(definition, variable, kinds)}


def _divisors(expr: Expr, variable: Var, kinds: Kinds, by: Const | None = None) -> set[Const | None]:
    """The remainders that a variable is in, and None for where it is in none."""
    if expr == variable:
        return {by}
    if not isinstance(expr, Op) or variable not in expr.variables():
        return set()
    if expr.name == "mod" and isinstance(expr.args[1], Const):
        return _divisors(expr.args[0], variable, kinds, expr.args[1])
    along = expr.name in _ALONG and all(kinds.is_integer(part) for part in expr.args)
    return {one for part in expr.args for one in _divisors(part, variable, kinds, by if along else None)}


def _kept(program: Recurrence, step: Step, divisor: Const) -> Recurrence:
    """The program with a total kept modulo a number, which need not be taken again."""

    def read(node: Expr) -> Expr:
        known = isinstance(node, Op) and node.name == "mod" and node.args[1] == divisor
        return node.args[0] if known and isinstance(node, Op) and _is(node.args[0], step.name) else node

    steps = []
    for other in program.steps:
        definition = other.definition
        if other is step and isinstance(definition, Expr):
            definition = Op("mod", (definition, divisor))
        elif isinstance(definition, Expr):
            definition = definition.transform(read)
        steps.append(replace(other, definition=definition))
    start = {**program.start}
    if step.name in start:
        start[step.name] = start[step.name] % divisor.value  # type: ignore[operator]
    return replace(program, steps=tuple(steps), start=start)


def kept_capped(program: Recurrence, domains: Sequence[Domain]) -> Recurrence:
    """The program with hidden totals that only grow kept up to where no comparison changes any more."""
    for step in program.steps:
        last, start = Var(step.name, 1), program.start_of(step.name)
        if step.name in program.outputs or not isinstance(step.definition, Expr) or isinstance(start, str):
            continue
        grows = polynomial(Op("sub", (step.definition, last))).written()
        reads = [other for other in program.steps if other is not step]
        if step.name in {v.name for v in grows.variables()} or grows.size() >= step.definition.size():
            continue
        levels = [level for other in reads for level in _compared_with(other, step.name)]
        wider = replace(program, steps=(*program.steps, Step("grows'", grows)))
        if not levels or None in levels or bounds_of(wider, tuple(domains))["grows'"].low < 0:
            continue
        most = max(level for level in levels if level is not None) + 1
        if start < most and kinds_of(program, domains).is_integer(Var(step.name)):
            kept = replace(step, definition=Op("min", (step.definition, Const(most))))
            steps = tuple(kept if other is step else other for other in program.steps)
            return kept_capped(replace(program, steps=steps), domains)
    return program


def _compared_with(step: Step, name: str) -> list[int | None]:
    """The whole numbers that a step compares a value with; None where it reads the value otherwise."""
    definition = step.definition
    if not isinstance(definition, Expr):
        return [None for v in definition_variables(definition) if v.name == name]

    def levels(node: Expr) -> list[int | None]:
        if isinstance(node, Var):
            return [None] if node.name == name else []
        if not isinstance(node, Op):
            return []
        one, *rest = node.args
        if OPERATORS[node.name].compares and _is(one, name) and isinstance(rest[0], Const):
            return [rest[0].value if isinstance(rest[0].value, int) else None]
        return [level for part in node.args for level in levels(part)]

    return levels(definition)


def _is(expr: Expr, name: str) -> bool:
    return isinstance(expr, Var) and expr.name == name
