"""Functions with one inner constant: exp(c*u), u^p, 1/(u+c), hinges, waves.

Variable projection: for each inner constant on a grid, the outer scale and offset are a least-squares
problem solved in closed form. The best few are then refined jointly and snapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import fit_sum, orthonormal
from weights2code.symbolic.search.weighted_sums import Inner, inner_sums, sum_expr
from weights2code.symbolic.snapping import snap

_GRID = 48
#: Members that are refined.
_REFINED = 6


def family_stage(problem: Problem, collector: Collector) -> None:
    """Offer the refined best members of all families, alone and beside a linear function."""
    y = problem.ys
    spread = float(np.sum((y - y.mean()) ** 2))
    if spread == 0 or len(y) < 6:
        return
    ones = np.ones((len(y), 1))
    bases = [ones] if problem.Xs.shape[1] == 1 else [ones, np.hstack([ones, problem.Xs])]
    ranked: list[tuple[float, bool, list[Expr]]] = []
    for place, base in enumerate(bases):
        for build, constants, columns in _families(problem):
            if problem.expired():
                return
            problem.spend("family cells", columns.size)
            for left, index in _best(base, columns, y):
                ranked.append((left / spread, bool(place), build(float(constants[index]))))
    ranked.sort(key=lambda item: item[0])
    values = dict(zip(problem.variables, problem.Xs.T, strict=True))
    for left, linear, exprs in ranked[:_REFINED]:
        if left > 0.05 or problem.expired():
            break
        columns = np.stack([problem.values(expr, problem.Xs) for expr in exprs])
        for fitted in fit_sum(problem, exprs, columns, linear=linear):
            problem.spend("refits", fitted.size())
            problem.spend("refit cells", fitted.size() * len(y))
            collector.offer(snap(_loosen(fitted), values, y, problem.accuracy, noise=problem.noise))


def _loosen(expr: Expr) -> Expr:
    """Whole-number constants other than the neutral ones as floats, so that a refit may move them."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, Const) and not isinstance(node.value, float) and node.value not in (0, 1, -1):
            # Const keeps whole floats as ints; the last binary digit makes it a free constant.
            return Const(float(np.nextafter(float(node.value), np.inf)))
        return node

    return expr.transform(rule)


def _best(base: np.ndarray, columns: np.ndarray, y: np.ndarray) -> Iterator[tuple[float, int]]:
    """The two least residuals of `base` plus each group of columns (members, group, n), and whose."""
    Q = orthonormal(base)
    rest = y - Q @ (Q.T @ y)
    with np.errstate(all="ignore"):
        valid = np.all(np.isfinite(columns), axis=(1, 2))
        safe = np.where(valid[:, None, None], columns, 0.0)
        part = safe - (safe @ Q) @ Q.T
        norm = np.linalg.norm(part, axis=2)
        valid &= np.all(norm > 1e-9 * np.linalg.norm(safe, axis=2), axis=1)
        part = part / np.where(norm > 0, norm, 1.0)[:, :, None]
        top = part @ rest
        gain = top[:, 0] ** 2
        if part.shape[1] == 2:
            overlap = np.einsum("ij,ij->i", part[:, 0], part[:, 1])
            gain = (gain + top[:, 1] ** 2 - 2 * top[:, 0] * top[:, 1] * overlap) / (1 - overlap**2)
            valid &= np.abs(overlap) < 1 - 1e-9
        left = np.where(valid, float(rest @ rest) - gain, np.inf)
    for i in np.argsort(left, kind="stable")[:2]:
        if np.isfinite(left[i]):
            yield float(left[i]), int(i)


Family = tuple[Callable[[float], list[Expr]], np.ndarray, np.ndarray]


def _families(problem: Problem) -> Iterator[Family]:
    for inner in inner_sums(problem, 13):
        if inner.width <= 2 and len(np.unique(inner.values)) >= 5:
            yield from _of_sum(problem, inner)


def _of_sum(problem: Problem, inner: Inner) -> Iterator[Family]:
    v = inner.values
    low, high = float(v.min()), float(v.max())
    spread = high - low
    largest = max(abs(low), abs(high))

    def shifted(c: float) -> Expr:
        return sum_expr(problem, inner.weights, float(c))

    def stack(function: Callable[[np.ndarray, float], np.ndarray], constants: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.stack([function(v, float(c))[None] for c in constants])

    inside = low + spread * (np.arange(1, _GRID) / _GRID)
    yield (
        lambda c: [op("relu", shifted(-c))],
        inside,
        stack(lambda u, c: np.maximum(u - c, 0), inside),
    )
    if inner.whole and problem.whole:
        return
    half = np.geomspace(0.1, 20, _GRID // 2) / max(largest, 1e-9)
    rates = np.concatenate([-half[::-1], half])
    if problem.allows("exp"):
        yield lambda c: [op("exp", c * inner.expr)], rates, stack(lambda u, c: np.exp(c * u), rates)
    outside = np.concatenate(
        [-low + spread * np.geomspace(0.02, 5, 24), -high - spread * np.geomspace(0.02, 5, 24)]
    )
    if problem.allows("div"):
        yield lambda c: [op("div", 1, shifted(c))], outside, stack(lambda u, c: 1 / (u + c), outside)
    above = -low + spread * np.r_[0.0, np.geomspace(0.01, 5, 24)]
    for name, function in (("log", np.log), ("sqrt", np.sqrt)):
        if problem.allows(name):
            yield (
                lambda c, name=name: [op(name, shifted(c))],
                above[1:],
                stack(lambda u, c, function=function: function(u + c), above[1:]),
            )
    if low > 0 and problem.allows("pow"):
        powers = np.concatenate([np.linspace(-3, -0.25, 12), np.linspace(0.25, 4, 16)])
        yield lambda p: [op("pow", inner.expr, p)], powers, stack(lambda u, p: u**p, powers)
    if problem.allows("sin", "cos"):
        waves = np.linspace(0.5, 40, 80) / max(spread, 1e-9)
        with np.errstate(all="ignore"):
            both = np.stack([np.stack([np.sin(c * v), np.cos(c * v)]) for c in waves])
        yield (
            lambda c: [op("sin", c * inner.expr), op("cos", c * inner.expr)],
            waves,
            both,
        )
