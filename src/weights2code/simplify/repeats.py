"""What is computed again a few steps later is remembered: one line, read at several lags.

`(x - min(x, 5)) - (x[t-2] - min(x[t-2], 5))` says the same thing at t and at t-2. As a step of its own it is
said once. Before the start it is what its formula gives for the start values of what it reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from weights2code.language import (
    Expr,
    Op,
    Recurrence,
    Start,
    Step,
    Var,
    evaluate,
    expression_of,
    with_formula,
)
from weights2code.simplify.cost import cost, recurrence_cost
from weights2code.simplify.names import free_letters

#: Parts that cost less are as quickly read twice.
_LEAST = 3.0
#: How much cheaper the whole must become.
_GAIN = 2.0


def name_repeats(recurrence: Recurrence) -> Recurrence:
    """With a step for every part that is computed at several lags, where that makes the whole cheaper."""
    while True:
        limit = recurrence_cost(recurrence) - _GAIN
        best = min(_candidates(recurrence), key=recurrence_cost, default=recurrence)
        if recurrence_cost(best) > limit:
            return recurrence
        recurrence = best


def _candidates(recurrence: Recurrence) -> Iterator[Recurrence]:
    letters = free_letters(recurrence)
    found: dict[Expr, set[int]] = defaultdict(set)
    for step in recurrence.steps:
        for node in expression_of(step.definition).walk():
            if isinstance(node, Op) and cost(node) >= _LEAST and node.variables():
                lag = min(variable.lag for variable in node.variables())
                found[node.shift(-lag)].add(lag)
    for part, lags in found.items():
        if len(lags) > 1 and letters:
            named = _named(recurrence, part.shift(min(lags)), letters[0])
            if named is not None:
                yield named


def _named(recurrence: Recurrence, part: Expr, name: str) -> Recurrence | None:
    """The recurrence with `part` as a step, read wherever the part stands, now or some steps ago."""
    own = next((step.name for step in recurrence.steps if step.definition == part), None)
    starts = {v: recurrence.start_of(v.name) for v in part.variables()}
    if own is not None or any(isinstance(value, str) for value in starts.values()):
        return None
    with np.errstate(all="ignore"):
        before = float(evaluate(part, starts))
    least = min(variable.lag for variable in part.variables())

    def read(node: Expr) -> Expr:
        if not isinstance(node, Op) or node.name != getattr(part, "name", None) or not node.variables():
            return node
        lag = min(variable.lag for variable in node.variables()) - least
        return Var(name, lag) if lag >= 0 and node == part.shift(lag) else node

    steps: list[Step] = []
    for step in recurrence.steps:
        rule = with_formula(step.definition, lambda expr: _outermost(expr, read))
        if rule != step.definition and all(other.name != name for other in steps):
            steps.append(Step(name, part))
        steps.append(Step(step.name, rule))
    start: dict[str, Start] = dict(recurrence.start)
    if before:
        start[name] = before
    try:
        return replace(recurrence, steps=tuple(steps), start=start)
    except ValueError:
        return None  # the part reads what is computed later


def _outermost(expr: Expr, read: Callable[[Expr], Expr]) -> Expr:
    """The tree with `read` applied from the top, and not inside of what it changed."""
    changed = read(expr)
    if changed is not expr or not isinstance(expr, Op):
        return changed
    return Op(expr.name, tuple(_outermost(argument, read) for argument in expr.args))
