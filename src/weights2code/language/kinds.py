"""What the values of a recurrence can be: sets of values where they are few, else integer or not.

Program text and simplification both ask: a name that only ever holds 0 and 1 can be written as logic, and
sums of integers may be regrouped. The answer is an over-approximation: names are varied independently, so
whatever is said holds for every reachable state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from weights2code.language import (
    OPERATORS,
    Const,
    Count,
    Definition,
    Domain,
    Expr,
    Number,
    Op,
    Recurrence,
    Retrieval,
    Selection,
    Var,
    evaluate,
    expression_of,
    is_boolean,
)

MOST_VALUES = 256
MOST_ROWS = 2**13
#: A set that still grows after so many rounds is a counter, which has no bound.
MOST_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Kinds:
    """`values`: every value a name can take, where they are few; `integers`: the names that stay whole."""

    values: Mapping[str, tuple[float, ...]]
    integers: frozenset[str]

    def is_bit(self, expr: Expr) -> bool:
        """Whether the expression can only be 0 or 1 (may say no where the answer is yes)."""
        if isinstance(expr, Const):
            return expr.value in (0, 1)
        if isinstance(expr, Var):
            return set(self.values.get(expr.name, (math.nan,))) <= {0, 1}
        assert isinstance(expr, Op)
        if expr.name == "mod":
            return expr.args[1] == Const(2) and self.is_integer(expr.args[0])
        entry = OPERATORS[expr.name]
        kept = "bits" in entry.keeps and all(self.is_bit(part) for part in expr.args[entry.truths :])
        return entry.boolean or kept

    def is_integer(self, expr: Expr) -> bool:
        """Whether the expression is always a whole number (may say no where the answer is yes)."""
        return _is_whole(expr, self.integers)


def kinds_of(recurrence: Recurrence, domains: Sequence[Domain]) -> Kinds:
    """Analyse every input and step of a recurrence over the domains of its inputs."""
    return Kinds(_value_sets(recurrence, domains), whole_names(recurrence, domains))


def lags_of(recurrence: Recurrence) -> dict[str, int]:
    """How far back formulas read each name, where they do; lookups and counts look at what is there, never
    before the start."""
    lags: dict[str, int] = {}
    for step in recurrence.steps:
        for variable in expression_of(step.definition).variables():
            if variable.lag:
                lags[variable.name] = max(lags.get(variable.name, 0), variable.lag)
    return lags


def whole_names(
    recurrence: Recurrence, domains: Sequence[Domain], *, infinities: bool = False
) -> frozenset[str]:
    """The names that only ever hold whole numbers; with `infinities` these count as whole.

    Assume it of every name, then strike out what contradicts itself until nothing changes.
    """
    whole = {name for name, domain in zip(recurrence.inputs, domains, strict=True) if domain.discrete}
    whole |= {step.name for step in recurrence.steps}
    for name, start in recurrence.start.items():
        if start != "first" and not _is_whole(Const(start), whole, infinities):
            whole.discard(name)
    while True:
        names = frozenset(whole)
        for step in recurrence.steps:
            definition = step.definition
            if isinstance(definition, Retrieval | Selection):
                stays = definition.value in names and _is_whole(Const(definition.default), names, infinities)
            elif isinstance(definition, Count):
                stays = True
            else:
                stays = _is_whole(definition, names, infinities)
            if not stays:
                whole.discard(step.name)
        if len(whole) == len(names):
            return names


def _is_whole(expr: Expr, names: Set[str], infinities: bool = False) -> bool:
    if isinstance(expr, Const):
        return float(expr.value).is_integer() or (infinities and math.isinf(expr.value))
    if isinstance(expr, Var):
        return expr.name in names
    assert isinstance(expr, Op)
    entry, parts = OPERATORS[expr.name], expr.args
    kept = "whole" in entry.keeps
    if expr.name == "pow":
        exponent = expr.args[1]
        kept, parts = isinstance(exponent, Const) and is_natural(exponent.value), parts[:1]
    held = kept and all(_is_whole(part, names, infinities) for part in parts[entry.truths :])
    return entry.boolean or entry.whole or held


def is_natural(value: Number) -> bool:
    return isinstance(value, int) and value >= 0


def _value_sets(recurrence: Recurrence, domains: Sequence[Domain]) -> dict[str, tuple[float, ...]]:
    """Grow the set of values of every name until nothing is new; a set that grows too large is given up."""
    few: dict[str, set[float]] = {step.name: set() for step in recurrence.steps}
    for name, domain in zip(recurrence.inputs, domains, strict=True):
        if domain.discrete and domain.high - domain.low < MOST_VALUES:
            few[name] = {float(value) for value in domain.values()}
    for name in lags_of(recurrence):
        start = recurrence.start_of(name)
        if start != "first" and name in few:
            few[name].add(float(start))
    rounds, changed = 0, True
    while changed:
        rounds, changed = rounds + 1, False
        for step in recurrence.steps:
            if step.name not in few:
                continue
            values = _step_values(step.definition, few)
            grows = values is None or not values <= few[step.name]
            if values is None or (grows and (rounds > MOST_ROUNDS or len(values) > MOST_VALUES)):
                del few[step.name]
            else:
                few[step.name] |= values
            changed = changed or grows
    return {name: tuple(sorted(values)) for name, values in few.items()}


def _step_values(definition: Definition, few: Mapping[str, set[float]]) -> set[float] | None:
    if isinstance(definition, Retrieval | Selection):
        found = few.get(definition.value)
        return None if found is None else found | {float(definition.default)}
    if isinstance(definition, Count):
        return None  # it has no bound
    if is_boolean(definition):
        return {0.0, 1.0}
    variables = definition.variables()
    if any(variable.name not in few for variable in variables):
        return None
    choices = [sorted(few[variable.name]) for variable in variables]
    if math.prod(len(choice) for choice in choices) > MOST_ROWS:
        return None
    if not all(choices):
        return set()
    grid = np.meshgrid(*choices, indexing="ij")
    with np.errstate(all="ignore"):
        result = evaluate(definition, dict(zip(variables, grid, strict=True)))
    values = {float(value) for value in np.unique(result)}
    return None if any(math.isnan(value) for value in values) else values
