"""Piecewise linear functions with unknown pieces: maxima, minima, hinges, clipped sums.

Two or three affine functions are found by turns: rows go to the piece that fits them best, pieces are
refitted to their rows. If every row is met, the pieces are joined by max and min, whichever reproduces
the data; a hinge or an absolute value where that is shorter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from weights2code.language import Const, Expr, Number, op
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import inner_sums, sum_expr
from weights2code.symbolic.snapping import snap_linear

Plane = tuple[Number, ...]
#: Planes that extrema are folded of, at most.
MOST_FOLDED = 5


def plane_stage(problem: Problem, collector: Collector) -> None:
    """Two pieces, then three."""
    n, k = problem.Xs.shape
    for pieces in (2, 3):
        if n < 4 * pieces * (k + 1) or problem.expired():
            return
        planes = _find(problem, pieces)
        if planes:
            collector.offer_all(joined(problem, planes))
            return


def _find(problem: Problem, pieces: int) -> list[Plane]:
    X = np.hstack([problem.Xs, np.ones((len(problem.ys), 1))])
    y = problem.ys
    least = X.shape[1] + 1
    allowed = max(problem.accuracy, 1e-9 * problem.scale)
    if problem.estimated and not problem.whole:
        # the noise is not known yet: let the whiteness of the residual decide later
        allowed = max(allowed, 0.02 * float(np.std(y)))
    for inner in inner_sums(problem, 13):
        ranks = np.argsort(np.argsort(inner.values, kind="stable")) / len(y)
        for cuts in ((0.5,), (0.25,), (0.75,)) if pieces == 2 else ((0.33, 0.67), (0.2, 0.6), (0.4, 0.8)):
            if problem.expired():
                return []
            label = np.searchsorted(cuts, ranks)
            for _ in range(14):
                problem.spend("planes", pieces)
                problem.spend("plane cells", pieces * X.size)
                fits = np.stack([_fit(X, y, label == p, least) for p in range(pieces)])
                error = np.abs(y[None] - fits @ X.T)
                fresh = np.argmin(error, axis=0)
                if np.array_equal(fresh, label):
                    break
                label = fresh
            error = np.min(np.abs(y[None] - fits @ X.T), axis=0)
            counts = np.bincount(label, minlength=pieces)
            if error.max() <= allowed and counts.min() > least:
                return [
                    snap_linear(X[label == p], y[label == p], problem.accuracy, noise=problem.noise)
                    for p in range(pieces)
                ]
    return []


def _fit(X: np.ndarray, y: np.ndarray, rows: np.ndarray, least: int) -> np.ndarray:
    if rows.sum() < least:
        # no rows of its own: a plane so far away that it gets none
        return np.full(X.shape[1], 1e12)
    return np.linalg.lstsq(X[rows], y[rows], rcond=None)[0]


def _affine(problem: Problem, plane: Plane) -> Expr:
    return sum_expr(problem, plane[:-1], plane[-1])


def _minus(a: Plane, b: Plane, share: float = 1.0) -> Plane:
    return tuple(_short((float(p) - float(q)) * share) for p, q in zip(a, b, strict=True))


def _turned(plane: Plane) -> Plane:
    return tuple(-v for v in plane)


def _short(value: float) -> Number:
    rounded = round(value, 9)
    return int(rounded) if float(rounded).is_integer() else rounded


def joined(problem: Problem, planes: list[Plane]) -> Iterator[Expr]:
    """Ways to write the pieces; wrong ones are sorted out by the collector."""
    if len(planes) == 2:
        f, g = planes
        for name in ("max", "min"):
            yield _extremum(name, _affine(problem, f), _affine(problem, g))
        for base, other in ((f, g), (g, f)):
            d = _minus(other, base)
            yield op("add", _affine(problem, base), op("relu", _affine(problem, d)))
            yield op("sub", _affine(problem, base), op("relu", _affine(problem, _turned(d))))
        spread = op("abs", _affine(problem, _minus(f, g, 0.5)))
        centre = _affine(problem, _minus(f, _turned(g), 0.5))
        if centre == Const(0):
            yield spread
            yield op("neg", spread)
        yield op("add", centre, spread)
        yield op("sub", centre, spread)
        return
    for a, b, c in itertools.permutations(planes):
        exprs = [_affine(problem, plane) for plane in (a, b, c)]
        for outer, inner in itertools.product(("max", "min"), repeat=2):
            yield _extremum(outer, exprs[0], _extremum(inner, exprs[1], exprs[2]))
        if a[:-1] == b[:-1] and float(a[-1]) < float(b[-1]):
            yield from _clipped(problem, c, a, b)
    p, q, r = (_affine(problem, plane) for plane in planes)
    yield op("clip", r, op("min", p, q), op("max", p, q))  # the middle one of three


def folded(problem: Problem, planes: list[Plane], X: np.ndarray, y: np.ndarray) -> Iterator[Expr]:
    """Extrema inside one another, `max(min(min(x, 3.3), y + 0.5), y - 0.5)`, that are right on these rows."""
    values = [X @ np.array([float(w) for w in plane[:-1]]) + float(plane[-1]) for plane in planes]
    allowed = problem.accuracy + 1e-9 * problem.scale
    few = np.arange(min(len(y), 60))

    def fold(left: list[int], expr: Expr, so_far: np.ndarray) -> Iterator[Expr]:
        if not left:
            if np.all(np.abs(so_far - y) <= allowed):
                yield expr
            return
        for i in left:
            rest = [j for j in left if j != i]
            for name, extremum in (("max", np.maximum), ("min", np.minimum)):
                # what comes last binds: beyond it nothing may lie
                if not rest:
                    beyond = y[few] < values[i][few] - allowed
                    if np.any(beyond if name == "max" else y[few] > values[i][few] + allowed):
                        continue
                new = _extremum(name, expr, _affine(problem, planes[i]))
                yield from fold(rest, new, extremum(so_far, values[i]))

    for first in range(len(planes)):
        rest = [j for j in range(len(planes)) if j != first]
        problem.spend("cells", 2 ** len(rest) * len(y) * len(planes))
        yield from fold(rest, _affine(problem, planes[first]), values[first])


def _clipped(problem: Problem, plane: Plane, low: Plane, high: Plane) -> Iterator[Expr]:
    """`plane` between two parallel ones: clipped itself, or its distance from what these share."""
    shared: Plane = (*low[:-1], 0)
    base = _affine(problem, shared)
    if base == Const(0):
        yield op("clip", _affine(problem, plane), low[-1], high[-1])
        return
    above, beneath = _affine(problem, _minus(plane, shared)), _affine(problem, _minus(shared, plane))
    yield op("add", base, op("clip", above, low[-1], high[-1]))
    yield op("sub", base, op("clip", beneath, _short(-float(high[-1])), _short(-float(low[-1]))))


def _extremum(name: str, a: Expr, b: Expr) -> Expr:
    if name == "max":
        if a == Const(0):
            return op("relu", b)
        if b == Const(0):
            return op("relu", a)
    return op(name, b, a) if isinstance(a, Const) else op(name, a, b)
