"""The dictionary: about a thousand typed atoms over the variables and their short sums.

Whole-number sums get tests, remainders and quotients; real ones get powers, roots and reciprocals whose
poles are far away. Atoms that are affine images of each other on the data count once, in their shortest
form, because every use of an atom comes with a free scale and offset.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from weights2code.language import Const, Expr, Number, op
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import Inner, comparison, inner_sums, sum_expr

MAX_ATOMS = 1500
#: What there is room for however many sums there are; fewer sums get more of each.
_LEVELS, _EXTREMA, _REMAINDERS, _QUOTIENTS, _TESTED = 21, 12, 16, 9, 5
#: Remainders of each product, at least, and of all together, at most.
_OF_PRODUCTS, _OF_ALL_PRODUCTS = 7, 600
#: Round numbers that a real sum is compared with.
_ROUND_LEVELS = 9


@dataclass(frozen=True, slots=True)
class Pool:
    """Atoms: their formulas, their values on the rows searched on (m, n), their sizes."""

    exprs: list[Expr]
    values: np.ndarray
    cost: np.ndarray

    def __len__(self) -> int:
        return len(self.exprs)

    def tests(self) -> Pool:
        """The atoms that only take the values 0 and 1."""
        keep = np.flatnonzero(np.all((self.values == 0) | (self.values == 1), axis=1))
        return self.take(keep)

    def take(self, indices: np.ndarray) -> Pool:
        return Pool([self.exprs[i] for i in indices], self.values[indices], self.cost[indices])

    def __add__(self, other: Pool) -> Pool:
        values, cost = ((self.values, other.values), (self.cost, other.cost))
        return Pool([*self.exprs, *other.exprs], np.concatenate(values), np.concatenate(cost))


def make_pool(problem: Problem, atoms: list[tuple[Expr, np.ndarray]]) -> Pool:
    """Cheapest first, without invalid, constant and repeated atoms (repeated up to an affine map)."""
    atoms = [atom for atom in atoms if problem.permits(atom[0])]
    count = problem.Xs.shape[0]
    if not atoms:
        return Pool([], np.zeros((0, count)), np.zeros(0, dtype=int))
    problem.spend("atoms", len(atoms))
    problem.spend("atom cells", len(atoms) * count)
    cost = np.array([expr.size() for expr, _ in atoms])
    order = np.argsort(cost, kind="stable")
    values = np.stack([atoms[i][1] for i in order]).astype(float)
    keys, valid = fingerprints(values)
    _, first = np.unique(keys, return_index=True)
    keep = np.array([i for i in np.sort(first) if valid[i]][:MAX_ATOMS], dtype=int)
    return Pool([atoms[order[i]][0] for i in keep], values[keep], cost[order][keep])


def fingerprints(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One number a vector that tells vectors apart up to an affine map, and validity."""
    with np.errstate(all="ignore"):
        valid = np.all(np.isfinite(values), axis=1) & (np.max(np.abs(values), axis=1) < 1e9)
        safe = np.where(valid[:, None], values, 0.0)
        safe = safe - safe.mean(axis=1, keepdims=True)
        norm = np.linalg.norm(safe, axis=1)
        valid = valid & (norm > 1e-9 * (1 + np.abs(values[:, 0])))
        safe = safe / np.where(norm > 0, norm, 1.0)[:, None]
        random = np.random.default_rng(7).normal(size=(values.shape[1], 2))
        keys = safe @ random
        whole = np.round(keys * np.where(keys[:, :1] < 0, -1.0, 1.0) * 10.0**7)
        # one whole number a vector; the multiplier is odd and large, so that the two halves do not mix
        joined = whole[:, 0].astype(np.int64) * np.int64(1_000_003_000_017) + whole[:, 1].astype(np.int64)
    return joined, valid


def dictionary(problem: Problem) -> Pool:
    """All atoms for the domains at hand."""
    k = len(problem.variables)
    atoms: list[tuple[Expr, np.ndarray]] = []
    # With many variables wide sums are left to the scans of whole-number functions.
    sums = inner_sums(problem, 130 if k <= 4 else 45)
    if k <= 4:
        known = {s.weights for s in sums}
        sums += [s for s in inner_sums(problem, 70, (1, 2)) if s.weights not in known]
    room = MAX_ATOMS // len(sums)
    for inner in sums:
        atoms.append((inner.expr, inner.values))
        atoms.extend(_whole_atoms(problem, inner, room) if inner.whole else _real_atoms(problem, inner))
    atoms.extend(_pair_atoms(problem, sums))
    return make_pool(problem, atoms)


def levels_of(values: np.ndarray, most: int) -> list[int]:
    """The distinct values of a whole-number column, thinned where there are many."""
    levels = [int(v) for v in np.unique(values)]
    if len(levels) > most:
        places = np.unique(np.round(np.linspace(0, len(levels) - 1, most)).astype(int))
        near = [v for v in levels if abs(v) <= 3]
        levels = sorted({levels[i] for i in places} | set(near))
    return levels


def _whole_atoms(problem: Problem, inner: Inner, room: int) -> list[tuple[Expr, np.ndarray]]:
    """Tests, extrema, remainders and quotients of a sum."""
    u, v = inner.expr, inner.values
    atoms: list[tuple[Expr, np.ndarray]] = []
    levels = levels_of(v, max(_LEVELS, room // 8))
    low, high = levels[0], levels[-1]
    for level in levels[1:]:
        atoms.append((comparison(problem, "ge", inner.weights, level, True), (v >= level) * 1.0))
    for level in levels:
        atoms.append((comparison(problem, "eq", inner.weights, level, True), (v == level) * 1.0))
    if low < 0 < high:
        negated = _turned(problem, inner)
        atoms += [(op("abs", u), abs(v)), (op("relu", u), np.maximum(v, 0))]
        atoms += [(op("relu", negated), np.maximum(-v, 0)), (u * op("abs", u), v * abs(v))]
    for level in levels[1:-1][: max(_EXTREMA, room // 16)]:
        if level:
            atoms.append((op("max", u, level), np.maximum(v, float(level))))
            if inner.width == 1:
                atoms.append((op("abs", u - level if level > 0 else u + -level), abs(v - level)))
        atoms.append((op("min", u, level), np.minimum(v, float(level))))
    for a, b in itertools.combinations(levels[1:-1] if len(levels) <= 12 else [], 2):
        atoms.append((op("clip", u, a, b), np.clip(v, a, b)))
    for m in range(2, min(high - low, max(_REMAINDERS, room // 4)) + 1):
        atoms.append((u % m, v % m))
        if m <= max(_QUOTIENTS, room // 8):
            atoms.append((u // m, v // m))
        if m <= max(_TESTED, room // 64) and inner.width <= 3:
            atoms += [(op("eq", u % m, c), ((v % m) == c) * 1.0) for c in range(m)]
            atoms += [(op("ge", u % m, c), ((v % m) >= c) * 1.0) for c in range(2, m - 1)]
    if len(levels) > 2:
        atoms.append((u * u, v * v))
    return atoms


def _turned(problem: Problem, inner: Inner) -> Expr:
    """The sum with its sign turned, written as a sum where that is possible."""
    return sum_expr(problem, tuple(-w for w in inner.weights))


def _real_atoms(problem: Problem, inner: Inner) -> list[tuple[Expr, np.ndarray]]:
    u, v = inner.expr, inner.values
    low, high = float(v.min()), float(v.max())
    spread = high - low
    atoms: list[tuple[Expr, np.ndarray]] = [(u * u, v * v), (u * u * u, v**3)]
    if low < 0 < high:
        atoms += [(op("abs", u), abs(v)), (op("relu", u), np.maximum(v, 0))]
        atoms += [(op("relu", _turned(problem, inner)), np.maximum(-v, 0)), (u * op("abs", u), v * abs(v))]
        atoms.append((comparison(problem, "gt", inner.weights, 0, False), (v > 0) * 1.0))
    for level in simple_levels(low, high):
        shifted = u - level if level > 0 else u + -level
        if level:
            atoms.append((op("abs", shifted), abs(v - level)))
        atoms.append((op("max", u, level), np.maximum(v, float(level))))
        atoms.append((op("min", u, level), np.minimum(v, float(level))))
        atoms.append((comparison(problem, "gt", inner.weights, level, False), (v > level) * 1.0))
    if inner.width <= 2:
        if low > 0.02 * spread or high < -0.02 * spread:
            atoms += [(op("div", 1, u), 1 / v), (op("div", 1, u * u), 1 / v**2)]
        if low >= 0:
            atoms.append((op("sqrt", u), np.sqrt(v)))
        if low > 0:
            atoms.append((op("log", u), np.log(v)))
        if max(abs(low), abs(high)) < 30:
            atoms += [(op("exp", u), np.exp(v)), (op("exp", -u), np.exp(-v))]
            atoms += [(op("sin", u), np.sin(v)), (op("cos", u), np.cos(v))]
    return atoms


def simple_levels(low: float, high: float) -> list[Number]:
    """A few round numbers strictly inside the interval, zero among them where it is inside."""
    if not high > low:
        return []
    step = 10.0 ** np.floor(np.log10((high - low) / 2))
    for factor in (0.5, 1, 2, 5, 10):
        first = int(np.ceil(low / (step * factor) + 1e-9))
        last = int(np.floor(high / (step * factor) - 1e-9))
        if last - first + 1 <= _ROUND_LEVELS:
            exact = [round(i * step * factor, 12) for i in range(first, last + 1)]
            return [Const(v).value for v in exact if low < v < high]
    return []


def _pair_atoms(problem: Problem, sums: list[Inner]) -> list[tuple[Expr, np.ndarray]]:
    variables = [s for s in sums if s.width == 1 and max(s.weights) == 1]
    short = [s for s in sums if s.width <= 2][:16]
    atoms: list[tuple[Expr, np.ndarray]] = []
    for a, b in itertools.combinations(variables, 2):
        atoms += [
            (op("max", a.expr, b.expr), np.maximum(a.values, b.values)),
            (op("min", a.expr, b.expr), np.minimum(a.values, b.values)),
            (a.expr * b.expr, a.values * b.values),
        ]
    whole = list(itertools.combinations_with_replacement([s for s in variables if s.whole], 2))
    for a, b in whole:
        joined = a.values * b.values
        factors = min(int(max(np.ptp(a.values), np.ptp(b.values))) + 1, _OF_ALL_PRODUCTS // len(whole))
        for m in range(2, min(int(np.ptp(joined)), max(_OF_PRODUCTS, factors)) + 1):
            atoms.append(((a.expr * b.expr) % m, joined % m))
    if len(variables) <= 5:
        for a, b, c in itertools.combinations(variables, 3):
            for name, join in (("max", np.maximum), ("min", np.minimum)):
                joined = join(join(a.values, b.values), c.values)
                atoms.append((op(name, op(name, a.expr, b.expr), c.expr), joined))
            atoms.append((a.expr * b.expr * c.expr, a.values * b.values * c.values))
        for v in variables:
            others = [s for s in short if s.weights != v.weights and s.width == 2]
            for s in others:
                atoms += [
                    (v.expr * s.expr, v.values * s.values),
                    (op("max", v.expr, s.expr), np.maximum(v.values, s.values)),
                    (op("min", v.expr, s.expr), np.minimum(v.values, s.values)),
                ]
    for a, b in itertools.permutations(variables + [s for s in short if s.width == 2 and not s.whole], 2):
        low, high = float(b.values.min()), float(b.values.max())
        if low > 0.02 * (high - low) or high < -0.02 * (high - low):
            atoms.append((a.expr / b.expr, a.values / b.values))
    return atoms
