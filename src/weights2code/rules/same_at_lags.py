"""A weighted sum of one line at several lags, which the start shows to be a line.

`12 - s - s[t-1] - s[t-2]` may be `d + d[t-1] + d[t-2]` with `d = 4 - s`. Inside a sequence both are the same;
before the start `d` is 0, and not 4. So the terms of each lag are put together, and if they are one formula
up to a factor, that becomes a line, and the constant is shared out evenly. Where the factors cancel, the rows
say nothing of the constant, and the first outputs say what it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from weights2code.data import Sequences
from weights2code.language import Const, Expr, Op, Recurrence, Step, Var
from weights2code.symbolic.notation import weighted_sum

#: What the terms of one lag are: each normalised to the present, with its factor.
Terms = dict[Expr, Fraction]
#: Decimals to which first outputs must agree, and the largest denominator of what they agree on.
_DECIMALS, _LARGEST = 6, 1000


def as_lines(draft: Recurrence, early: Sequences) -> Iterator[Recurrence]:
    """The draft with a line for what its output sums up at several lags, if it does; the line has no start
    value, which is 0."""
    if len(draft.outputs) != 1:
        return
    output = next(step for step in draft.steps if step.name == draft.outputs[0])
    found = _shared(output.definition) if isinstance(output.definition, Expr) else None
    if found is None:
        return
    part, factors, constant = found
    if any(variable.name in draft.outputs for term in part for variable in term.variables()):
        return
    total = sum(factors.values())
    taken = {*draft.inputs, *(step.name for step in draft.steps)}
    name = next(f"d{i}" for i in range(len(taken) + 1) if f"d{i}" not in taken)
    whole = weighted_sum([(factor, Var(name, lag)) for lag, factor in sorted(factors.items())])
    if total:
        shares = [constant / total] if constant else []
    else:
        shares = _first_share(draft, part, factors, early) if not constant else []
    for share in shares:
        line = weighted_sum([(factor, term) for term, factor in part.items()], share)
        steps: list[Step] = []
        for step in draft.steps:
            steps += [Step(name, line), Step(step.name, whole)] if step is output else [step]
        yield replace(draft, steps=tuple(steps))


def _shared(expr: Expr) -> tuple[Terms, dict[int, Fraction], Fraction] | None:
    """The formula, its factor at each lag, and the constant; None unless two lags or more are all of it."""
    constant, by_lag = Fraction(0), defaultdict[int, Terms](dict)
    for factor, term in _terms(expr, Fraction(1)):
        if term is None:
            constant += factor
            continue
        lag = min((variable.lag for variable in term.variables()), default=0)
        now = term.shift(-lag)
        by_lag[lag][now] = by_lag[lag].get(now, Fraction(0)) + factor
    first = by_lag.get(0)
    if first is None or len(by_lag) < 2 or not all(first.values()):
        return None
    factors: dict[int, Fraction] = {}
    for lag, own in by_lag.items():
        ratios = {own.get(term, Fraction(0)) / first[term] for term in first}
        if set(own) != set(first) or len(ratios) != 1:
            return None
        (factors[lag],) = ratios
    return first, factors, constant


def _terms(expr: Expr, factor: Fraction) -> Iterator[tuple[Fraction, Expr | None]]:
    """Factors and terms of a sum, constants without a term."""
    if isinstance(expr, Const):
        yield factor * Fraction(str(expr.value)), None
    elif isinstance(expr, Op) and expr.name in ("add", "sub"):
        left, right = expr.args
        yield from _terms(left, factor)
        yield from _terms(right, factor if expr.name == "add" else -factor)
    elif isinstance(expr, Op) and expr.name == "neg":
        yield from _terms(expr.args[0], -factor)
    elif isinstance(expr, Op) and expr.name == "mul" and isinstance(expr.args[0], Const):
        yield from _terms(expr.args[1], factor * Fraction(str(expr.args[0].value)))
    else:
        yield factor, expr


def _first_share(
    draft: Recurrence, part: Terms, factors: dict[int, Fraction], early: Sequences
) -> list[Fraction]:
    """What the line has beside its terms, where the first outputs agree on one number."""
    if not len(early):
        return []
    now = weighted_sum([(factor, term) for term, factor in part.items()])
    alone = replace(
        draft,
        steps=tuple(Step(s.name, now) if s.name in draft.outputs else s for s in draft.steps),
    )
    with np.errstate(all="ignore"):
        terms = alone.run(early.x[:, :1])[:, 0, 0]
    rest = early.y[:, 0, 0] / float(factors[0]) - terms
    found = Fraction(float(np.round(rest[0], _DECIMALS))).limit_denominator(_LARGEST)
    same = np.all(np.isfinite(rest)) and np.all(np.abs(rest - float(found)) < 10.0**-_DECIMALS)
    return [found] if same and found else []
