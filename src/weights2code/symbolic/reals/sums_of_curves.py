"""Sums of curves, one a variable: `3*clip(x, -0.7, 0.8) - clip(x[t-3], -0.7, 0.8)`, and products of two.

Every variable's range is cut into bins, with a line of its own in each. The sum of these lines is fitted so
that the absolute errors are least: it is then exact on all rows but those in bins where a curve bends or
jumps. Bins whose neighbours go on with the same line are certain, and rows that are in certain bins of all
other variables show one curve alone, exactly. Each is a problem of one variable; a curve that is known
already, at another lag and times a number, is the same curve.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from weights2code.language import Expr, Number, Var
from weights2code.symbolic.engine import preference
from weights2code.symbolic.notation import flattened, simplest_test, weighted_sum
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search
from weights2code.symbolic.snapping import simplest

MOST_VARIABLES = 7
FEWEST_ROWS, MOST_ROWS = 300, 2500
#: Bins of a real variable, and the most values of a discrete one that have a number each.
BINS, MOST_LEVELS = 24, 12
#: What the first fit may leave, as a share of what the target varies by, and rows that the last must meet.
LEAVES, MEETS = 0.25, 0.4
#: Rounds of weighing rows by their errors.
ROUNDS = 12
#: Rows that show a curve, at least, and what its search may take of the effort that is left.
FEWEST_SHOWN, SHARE = 40, 0.25
#: Lines whose constant a curve may be written without.
GAUGES = 3


@dataclass(frozen=True, slots=True)
class Curve:
    """The part of one variable: a line, or a number, in each of its bins; and which bins are certain."""

    place: np.ndarray
    slopes: np.ndarray
    offsets: np.ndarray
    certain: np.ndarray

    def values(self, x: np.ndarray) -> np.ndarray:
        return self.slopes[self.place] * x + self.offsets[self.place]

    @property
    def straight(self) -> bool:
        return bool(np.ptp(self.slopes) == 0 and np.ptp(self.offsets) == 0)


def curve_stage(search: Search) -> None:
    """Offer the sum of what the curves of all variables are."""
    problem = search.problem
    k = len(problem.variables)
    if problem.whole or not 2 <= k <= MOST_VARIABLES or len(problem.y) < FEWEST_ROWS:
        return
    rows = np.random.default_rng(22).permutation(len(problem.y))[:MOST_ROWS]
    X, y = problem.X[rows], problem.y[rows]
    fitted = _fit(problem, X, y)
    if fitted is None:
        return
    curves, products, pairs = fitted
    terms: list[tuple[Number, Expr]] = []
    rest = y.copy()
    for (i, j), weight in zip(pairs, products, strict=True):
        number = simplest(weight, problem.accuracy / max(float(np.max(np.abs(X[:, i] * X[:, j]))), 1e-12))
        if number != 0:
            terms.append((number, problem.variables[i] * problem.variables[j]))
            rest -= float(number) * X[:, i] * X[:, j]
    parts = np.stack([curve.values(x) for curve, x in zip(curves, X.T, strict=True)])
    known: list[tuple[Expr, Var]] = []
    order = sorted(range(k), key=lambda j: (curves[j].straight, np.max(np.abs(curves[j].slopes))))
    total = np.zeros(len(y))
    for j in order:
        shown = np.ones(len(y), dtype=bool)
        for i in range(k):
            if i != j:
                shown &= curves[i].certain[curves[i].place]
        if shown.sum() < FEWEST_SHOWN or problem.expired():
            return
        alone = rest[shown] - np.delete(parts, j, axis=0).sum(axis=0)[shown]
        part = _written(search, j, X[shown, j], alone, curves[j], known)
        if part is None:
            return
        terms.append(part)
        total += float(part[0]) * problem.values(part[1], X)
    constant = simplest(float(np.median(rest - total)), problem.accuracy)
    search.collector.offer(flattened(weighted_sum(terms, constant)))


def _fit(
    problem: Problem, X: np.ndarray, y: np.ndarray
) -> tuple[list[Curve], np.ndarray, list[tuple[int, int]]] | None:
    """The curves and the weights of products, if all rows but those at bends are met."""
    n, k = X.shape
    scale = np.maximum(np.max(np.abs(X), axis=0), 1e-300)
    places, blocks = [], []
    for j in range(k):
        place, block = _bins(X[:, j] / scale[j], problem.domains[j].discrete)
        places.append(place)
        blocks.append(block)
    pairs = list(itertools.combinations(range(k), 2)) if k <= 4 else []
    cross = [(X[:, i] / scale[i]) * (X[:, j] / scale[j]) for i, j in pairs]
    A = np.hstack([*blocks, *(c[:, None] for c in cross)])
    spread = float(np.mean(np.abs(y - np.median(y)))) or 1.0
    goal = y / spread
    if A.shape[1] * 2 > n:
        return None
    problem.spend("separation cells", 0.1 * A.size * A.shape[1])
    solution = _solve(A, goal, np.ones(n))
    error = np.abs(A @ solution - goal)
    if np.mean(error) > LEAVES:
        return None
    for turn in range(ROUNDS):
        problem.spend("separation cells", 0.1 * A.size * A.shape[1])
        solution = _solve(A, goal, 1 / np.maximum(error, 10.0 ** -(2 + turn / 2)))
        error = np.abs(A @ solution - goal)
    near = error <= max(1e-4, 10 * problem.accuracy / spread)
    if near.mean() < MEETS:
        return None
    met = near
    for allowed in (10 * problem.accuracy, problem.accuracy):
        problem.spend("refit cells", 50 * A.shape[1])
        solution = np.linalg.lstsq(A[met], goal[met], rcond=1e-10)[0]
        met = np.abs(A @ solution - goal) * spread <= allowed
        if met.mean() < MEETS:
            return None
    solution = solution * spread
    curves, start = [], 0
    for j in range(k):
        width = blocks[j].shape[1]
        part = solution[start : start + width]
        start += width
        lines = width == 2 * (places[j].max() + 1)
        bins = width // 2 if lines else width
        offsets, slopes = part[:bins], part[bins:] / scale[j] if lines else np.zeros(bins)
        seen = np.bincount(places[j][met], minlength=bins) > 0
        curves.append(_curve(problem, places[j], slopes, offsets, seen, X[:, j], lines))
    weights = np.array([w / (scale[i] * scale[j]) for w, (i, j) in zip(solution[start:], pairs, strict=True)])
    return curves, weights, pairs


def _solve(A: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted least squares, the smallest of the solutions nearly: constants may move between curves."""
    weighted = A * weights[:, None]
    normal = A.T @ weighted
    normal[np.diag_indices_from(normal)] += 1e-9 * np.trace(normal) / len(normal)
    return np.linalg.solve(normal, weighted.T @ y)


def _bins(x: np.ndarray, discrete: bool) -> tuple[np.ndarray, np.ndarray]:
    """The bin of each row, and the columns: one in its bin, and of a real variable x in its bin."""
    levels = np.unique(x)
    if len(levels) <= MOST_LEVELS:
        place = np.searchsorted(levels, x)
        return place, np.eye(len(levels))[place]
    edges = np.unique(np.quantile(x, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, x)
    one = np.eye(len(edges) + 1)[place]
    return place, np.hstack([one, one * x[:, None]])


def _curve(
    problem: Problem,
    place: np.ndarray,
    slopes: np.ndarray,
    offsets: np.ndarray,
    seen: np.ndarray,
    x: np.ndarray,
    lines: bool,
) -> Curve:
    """A bin is certain if the bins beside it go on with its line; of single values, if it is met at all."""
    if not lines:
        return Curve(place, slopes, offsets, seen)
    reach = float(np.max(np.abs(x)))
    allowed = 4 * problem.accuracy + 1e-9 * problem.scale
    joined = np.abs(np.diff(slopes)) * reach + np.abs(np.diff(offsets)) <= 4 * allowed
    after, before = np.append(joined, True), np.insert(joined, 0, True)
    return Curve(place, slopes, offsets, after & before & seen)


def _written(
    search: Search, j: int, x: np.ndarray, alone: np.ndarray, curve: Curve, known: list[tuple[Expr, Var]]
) -> tuple[Number, Expr] | None:
    """The curve of one variable times a number: one that is known, or the shortest that is found."""
    problem = search.problem
    variable = problem.variables[j]
    allowed = problem.accuracy
    for expr, old in [(variable, variable), *known]:
        moved = expr.substitute({old: variable})
        values = problem.values(moved, np.where(np.arange(len(problem.variables)) == j, x[:, None], 0.0))
        design = np.column_stack([values, np.ones(len(x))])
        weight, _ = np.linalg.lstsq(design, alone, rcond=None)[0]
        reach = max(float(np.ptp(values)), 1e-300)
        number = simplest(float(weight), allowed / reach)
        if np.ptp(alone - float(number) * values) <= 2 * allowed:
            return number, moved
    step = _step(variable, x, alone, allowed)
    if step is not None:
        known.append((step[1], variable))
        return step
    found: list[Expr] = []
    flat = np.abs(curve.slopes) * max(float(np.ptp(x)), 1e-300) <= 8 * allowed
    slopes = curve.slopes[~flat & curve.certain]
    factor = simplest(float(np.median(slopes)), 1e-6 * float(np.max(np.abs(slopes)))) if len(slopes) else 1
    offsets = dict.fromkeys(round(float(o), 7) for o in [*curve.offsets[~flat], *curve.offsets[flat]])
    gauges = [o for o in offsets if np.sum(np.abs(curve.offsets - o) < 1e-6) > 1] or [0.0]
    for gauge in gauges[:GAUGES]:
        expr = _one_variable(search, j, x, (alone - gauge) / float(factor), abs(float(factor)))
        if expr is not None:
            found.append(expr)
    if not found:
        return None
    best = min(found, key=preference)
    known.append((best, variable))
    return factor, best


def _step(variable: Var, x: np.ndarray, alone: np.ndarray, allowed: float) -> tuple[Number, Expr] | None:
    """A number times `[x > threshold]`, if the curve is two levels, one after the other."""
    low = np.abs(alone - alone[np.argmin(x)]) <= 2 * allowed
    if low.all() or np.ptp(alone[~low]) > 2 * allowed or x[low].max() >= x[~low].min():
        return None
    height = simplest(float(alone[~low].mean() - alone[low].mean()), allowed)
    return height, simplest_test(variable, float(x[low].max()), float(x[~low].min()))


def _one_variable(search: Search, j: int, x: np.ndarray, y: np.ndarray, factor: float) -> Expr | None:
    problem = search.problem
    single = derived(
        problem,
        x[:, None],
        y,
        (problem.variables[j],),
        SHARE * problem.effort.left,
        domains=(problem.domains[j],),
        tolerance=2 * problem.tolerance / factor,
    )
    found = search.below(single, depth=search.depth + 1)
    return found.exact.expr if found.exact is not None and found.exact.kind == "formula" else None
