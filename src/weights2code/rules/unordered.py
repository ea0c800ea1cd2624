"""Formulas that compute with the number of a text, as others that only ask which text it is.

What is found about whole numbers knows nothing of texts: it may say `state > 1` or `2*event + 1` where texts
are numbered. Wherever a formula does so, its values are listed for all that its variables can hold, and
chosen by a list of rules instead; where that is long, or numbers without end are in it too, it is written
once for each text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from weights2code.language import (
    Const,
    Domain,
    Expr,
    Op,
    Recurrence,
    Step,
    Var,
    compile_numpy,
    expression_of,
    infer,
    texts,
    with_formula,
)
from weights2code.language.categories import Categories, fits, speaks, with_locals
from weights2code.language.kinds import Kinds, kinds_of
from weights2code.simplify import cost, simplify
from weights2code.simplify.identities import tidied
from weights2code.symbolic.over_texts import joined_cases
from weights2code.symbolic.rule_lists import rule_list

#: Rows that a formula is listed on, at most, and texts that one is written for.
MOST_ROWS, MOST_CASES = 5000, 12
#: Numbers that rules choose from, at most.
MOST_CHOSEN = 6
#: The cost of a list beyond which formulas for each text may be shorter.
LONG = 12.0


def unordered(recurrence: Recurrence, domains: Sequence[Domain], categories: Categories) -> Recurrence | None:
    """The same recurrence without arithmetic on texts; None if it cannot be said without."""
    if speaks(recurrence, categories):
        return recurrence
    types, kinds = with_locals(recurrence, categories), kinds_of(recurrence, domains)
    steps: list[Step] = []
    for step in recurrence.steps:
        wanted = types.get(step.name, ()) if expression_of(step.definition) is step.definition else ()
        steps.append(
            Step(step.name, with_formula(step.definition, lambda e, w=wanted: _mended(e, w, types, kinds)))
        )
    found = replace(recurrence, steps=tuple(steps))
    return found if speaks(found, categories) else None


def _mended(expr: Expr, wanted: tuple, types: Categories, kinds: Kinds) -> Expr:
    """A list of its values, or the cheapest of what else can be said; the same if nothing can."""
    if fits(expr, wanted, types):
        return expr
    listed = _listed(expr, wanted, types, kinds)
    if wanted or not isinstance(expr, Op) or (listed is not None and cost(listed) <= LONG):
        return expr if listed is None else listed
    parts = Op(expr.name, tuple(_mended(argument, (), types, kinds) for argument in expr.args))
    ways = (listed, parts, _by_text(expr, types, kinds))
    return min((way for way in ways if way is not None and fits(way, (), types)), key=cost, default=expr)


def _listed(expr: Expr, wanted: tuple, types: Categories, kinds: Kinds) -> Expr | None:
    """The values of a formula as a list of rules, if its variables can hold few."""
    variables = expr.variables()
    values = [_held(variable, types, kinds) for variable in variables]
    if not variables or not all(values) or prod(len(some) for some in values) > MOST_ROWS:
        return None
    rows = np.array(list(product(*values)), dtype=float)
    with np.errstate(all="ignore"):
        target = np.broadcast_to(compile_numpy(expr, variables)(*rows.T), len(rows))
    sure = np.isfinite(target)
    if wanted:  # what comes before the start may lead to no text at all
        sure &= (target >= 1) & (target <= len(wanted)) & (target == np.round(target))
    if not sure.any() or (not wanted and (not sure.all() or len(np.unique(target)) > MOST_CHOSEN)):
        return None
    domains = [
        texts(types[v.name]) if v.name in types else infer(rows[:, i]) for i, v in enumerate(variables)
    ]
    answer = texts(wanted) if wanted else infer(target)
    return rule_list(rows[sure], target[sure], variables, domains, answer)


def _held(variable: Var, types: Categories, kinds: Kinds) -> tuple[float, ...]:
    if variable.name in types:
        first = 0 if variable.lag else 1
        return tuple(float(code) for code in range(first, len(types[variable.name]) + 1))
    return kinds.values.get(variable.name, ())


def _by_text(expr: Expr, types: Categories, kinds: Kinds) -> Expr:
    """The formula once for each text of the variables that hold texts."""
    variable = next((v for v in expr.variables() if v.name in types), None)
    if variable is None:
        held = {v: kinds.values.get(v.name) for v in expr.variables()}
        return (
            simplify(expr, {v: infer(np.array(some)) for v, some in held.items()})
            if all(held.values())
            else expr
        )
    if len(types[variable.name]) > MOST_CASES or fits(expr, (), types):
        return expr
    cases: dict[Expr, list[float]] = {}
    for code in _held(variable, types, kinds):
        case = _by_text(tidied(expr.substitute({variable: Const(code)})), types, kinds)
        cases.setdefault(case, []).append(code)
    return joined_cases(variable, cases)
