"""An operand beside a function of something else: `a + clip(b - a, -1, 1)`, `y1 - max(x, 0)`.

Among rows with the same u, v varies with the operand q alone: its weight is read off there. What is left of v
is then a curve along u, and is read like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from weights2code.language import Expr
from weights2code.symbolic.gauge.branches import Quantity
from weights2code.symbolic.gauge.judge import Judge
from weights2code.symbolic.gauge.profiles import readings
from weights2code.symbolic.gauge.sums import plain_weights
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.costs import COSTS

_ROWS = 400
#: Share of neighbouring rows that may be off, and pairs of an operand and a quantity that are read.
_OFF, _READ = 0.06, 6
#: Readings of the rest that are put beside the operand.
_RESTS = 3


def additive(judge: Judge, quantities: Sequence[Quantity]) -> Iterator[Expr]:
    """`q + f(u)` for an operand q and a quantity u."""
    if judge.labels is not None or len(judge.variables) < 2:
        return
    rows = np.random.default_rng(10).permutation(len(judge.v))[:_ROWS]
    v = judge.v[rows]
    found: list[tuple[float, int, int, float]] = []
    for number, (expr, values) in enumerate(quantities):
        judge.effort.spend(COSTS["sorted cells"] * (2 + len(judge.variables)) * len(rows))
        if judge.effort.spent():
            return
        order = np.argsort(values[rows], kind="stable")
        u = values[rows][order]
        near = np.flatnonzero(np.diff(u) <= 0.02 * np.ptp(u))
        if len(near) < max(8, len(u) // 4):
            continue
        dv = np.diff(v[order])[near]
        for i, (name, column) in enumerate(zip(judge.variables, judge.X.T, strict=True)):
            if expr == name:
                continue
            dq = np.diff(column[rows][order])[near]
            weight = _slope(dq, dv, judge.tolerance)
            if abs(weight) * np.ptp(column) <= 2 * judge.tolerance:
                continue
            off = np.abs(dv - weight * dq)
            share = float(np.mean(off > 2 * judge.tolerance))
            if share <= _OFF:
                found.append((expr.size() + float(off.mean()) / judge.tolerance, number, i, weight))
    for _, number, i, weight in sorted(found)[:_READ]:
        yield from _beside(judge, i, weight, quantities[number])


def _slope(dq: np.ndarray, dv: np.ndarray, tolerance: float) -> float:
    """The weight of an operand, from differences of rows; those far off are left out the second time."""
    square = dq @ dq
    if square <= 0:
        return 0.0
    weight = float(dq @ dv / square)
    near = np.abs(dv - weight * dq) <= max(2 * tolerance, float(np.median(np.abs(dv - weight * dq))))
    square = dq[near] @ dq[near]
    return float(dq[near] @ dv[near] / square) if square > 0 else weight


def _beside(judge: Judge, i: int, weight: float, quantity: Quantity) -> Iterator[Expr]:
    rest = replace(judge, v=judge.v - weight * judge.X[:, i], found={}, asked=set())
    rest.offer_all(readings(rest, *quantity))
    affine = [form for form in rest.best(3 * _RESTS) if form.kind == "affine"]
    for form in affine[:_RESTS]:
        values = rest.values(form.expr)
        F = np.stack([judge.X[:, i], values, np.ones(len(values))], 1)
        root = np.sqrt(judge.share)
        solved = np.linalg.lstsq(F * root[:, None], judge.v * root, rcond=None)[0]
        reach = np.array([np.ptp(judge.X[:, i]), np.ptp(values)])
        if not reach.all():
            continue
        for _, (one, other) in plain_weights(solved[:2], 0.8 * judge.tolerance / reach):
            for sign in (1, -1):
                yield weighted_sum([(sign * one, judge.variables[i]), (sign * other, form.expr)])
