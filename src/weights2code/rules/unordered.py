"""Formulas that compute with the number of a text, as others that only ask which text it is.

What is found about whole numbers knows nothing of texts: it may say `state > 1` or `2*event + 1` where texts
are numbered. Wherever a formula does so, its values are listed for what its variables can hold, and the same
search that speaks of texts rightly is asked for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from weights2code.language import (
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
from weights2code.language.categories import Categories, Texts, fits, speaks, with_locals
from weights2code.language.kinds import Kinds, kinds_of
from weights2code.symbolic.over_texts import search_over_texts

#: Rows that a formula is listed on, at most; of numbers without end, those up to so many.
MOST_ROWS, FARTHEST = 5000, 20
EFFORT, TOLERANCE = 1.0, 1e-9


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


def _mended(expr: Expr, wanted: Texts, types: Categories, kinds: Kinds) -> Expr:
    """The formula said in another way, or its parts; the same if there is none."""
    variables = expr.variables()
    if fits(expr, wanted, types) or not variables:
        return expr
    values = [_held(variable, types, kinds) for variable in variables]
    if prod(map(len, values)) <= MOST_ROWS:
        rows = np.array(list(product(*values)), dtype=float)
    else:
        rng = np.random.default_rng(0)
        rows = np.unique(np.stack([rng.choice(some, MOST_ROWS) for some in values], 1), axis=0)
    with np.errstate(all="ignore"):
        target = np.broadcast_to(compile_numpy(expr, variables)(*rows.T), len(rows))
    sure = np.isfinite(target)
    if wanted:  # what comes before the start may lead to no text at all
        sure &= (target >= 1) & (target <= len(wanted)) & (target == np.round(target))
    front = (
        search_over_texts(
            rows[sure],
            target[sure],
            variables=variables,
            domains=tuple(
                texts(types[v.name]) if v.name in types else infer(column)
                for v, column in zip(variables, rows.T, strict=True)
            ),
            answer=texts(wanted) if wanted else infer(target[sure]),
            tolerance=TOLERANCE,
            effort=EFFORT,
        )
        if sure.any()
        else ()
    )
    found = next((candidate.expr for candidate in front if candidate.exact), None)
    if found is not None or wanted or not isinstance(expr, Op):
        return expr if found is None else found
    return Op(expr.name, tuple(_mended(argument, (), types, kinds) for argument in expr.args))


def _held(variable: Var, types: Categories, kinds: Kinds) -> Sequence[float]:
    """What a variable can hold, or some of it."""
    if variable.name in types:
        return [float(code) for code in range(0 if variable.lag else 1, len(types[variable.name]) + 1)]
    some = np.arange(-FARTHEST, FARTHEST + 1.0) * (1.0 if variable.name in kinds.integers else 0.7)
    return kinds.values.get(variable.name) or some.tolist()
