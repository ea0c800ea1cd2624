"""A total that is only read modulo a number is kept modulo it: then it has few states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weights2code.language import Const, Domain, Expr, Op, Recurrence, Step, Var, definition_variables
from weights2code.language.kinds import Kinds, kinds_of

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


def _is(expr: Expr, name: str) -> bool:
    return isinstance(expr, Var) and expr.name == name
