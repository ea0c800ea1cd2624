"""Rules that hold in parts of the space: affine ones, or polynomials, each exact on the rows of its part.

A few rows that lie close together mostly follow one rule. So a rule is put through some rows near a row,
with rows to spare: if those are met too, all rows are asked how many follow it. How close is close is not
known, so neighbourhoods of several sizes are tried. The rules that settle most rows are kept until every row
is settled; rows that are left over show further rules.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import reduce

import numpy as np

from weights2code.language import Expr, Number, Var
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import snap_linear

Term = tuple[int, ...]
#: Rows among which neighbours are looked for, seeds, and neighbourhoods: rows for each number of a rule.
AMONG, SEEDS, WIDTHS = 24_000, 90, (1.5, 12, 100)
#: Rows that a rule must meet beside those that it was put through.
SPARE = 2
#: How near different discrete values are, in standard deviations of reals: hardly, or not at all.
APART = (0.15, 50.0)
#: Rows that rules are ranked on, and that a rule is fitted to in the end.
RANKED, FITTED = 4000, 400
#: Rules, the share of the rows that each must settle, and rounds.
MOST_RULES, LEAST_SHARE, ROUNDS = 8, 0.003, 2


@dataclass(frozen=True, slots=True, eq=False)
class LocalRule:
    """A formula, its weights on terms and its constant, and the rows (booleans) where it is right."""

    expr: Expr
    weights: tuple[Number, ...]
    holds: np.ndarray


def terms_of(count: int, degree: int) -> list[Term]:
    """Products of at most so many of the columns."""
    return [t for d in range(1, degree + 1) for t in itertools.combinations_with_replacement(range(count), d)]


def term_values(X: np.ndarray, terms: list[Term]) -> np.ndarray:
    return np.column_stack([reduce(np.multiply, (X[:, j] for j in term)) for term in terms])


def local_rules(problem: Problem, terms: list[Term]) -> list[LocalRule] | None:
    """Few rules, one of which is right on every row; None where there are none."""
    allowed = problem.accuracy + 1e-9 * problem.scale
    X, y = term_values(problem.X, terms), problem.y
    rng = np.random.default_rng(41)
    found: list[LocalRule] = []
    left = np.ones(len(y), dtype=bool)
    for _ in range(ROUNDS):
        rows = np.flatnonzero(left)
        near = rng.permutation(rows)[:AMONG]
        candidates = _through_neighbours(problem, X, y, near, allowed, rng)
        if not len(candidates):
            return None
        ranked = near[:RANKED]
        holds = np.abs(candidates[:, :-1] @ X[ranked].T + candidates[:, -1:] - y[ranked]) <= allowed
        problem.spend("cells", holds.size)
        waiting = np.ones(len(ranked), dtype=bool)
        while waiting.any() and len(found) < MOST_RULES and not problem.expired():
            settled = (holds & waiting).sum(axis=1)
            best = int(np.argmax(settled))
            if settled[best] < max(X.shape[1] + 1 + SPARE, LEAST_SHARE * len(ranked)):
                break
            rule = _written(problem, terms, X, ranked[holds[best]], candidates[best], allowed)
            if rule is not None:
                found.append(rule)
                left &= ~rule.holds
                waiting &= ~rule.holds[ranked]
            holds[best] = False
        if not left.any():
            return found
        if left.sum() < X.shape[1] + 1 + SPARE or len(found) == MOST_RULES:
            return None
    return None


def _through_neighbours(
    problem: Problem,
    X: np.ndarray,
    y: np.ndarray,
    rows: np.ndarray,
    allowed: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Weights and constants (rules, terms and one) through rows near each other that meet more of them."""
    from scipy.spatial import KDTree

    size = X.shape[1] + 1 + SPARE
    if len(rows) < size:
        return np.zeros((0, X.shape[1] + 1))
    columns = problem.X[rows]
    spread = columns.std(axis=0)
    Z = columns / np.where(spread > 0, spread, 1.0)
    discrete = np.array([domain.discrete for domain in problem.domains])
    chosen: list[np.ndarray] = []
    for apart in APART if discrete.any() else APART[:1]:
        placed = Z * np.where(discrete, apart, 1.0)
        seeds = rng.permutation(len(rows))[:SEEDS]
        widest = min(int(WIDTHS[-1] * size), len(rows))
        problem.spend("near rows", (len(rows) + widest * len(seeds)) * Z.shape[1])
        near = KDTree(placed).query(placed[seeds], k=widest)[1]
        for width in WIDTHS:
            reach = min(int(width * size), widest)
            order = np.argsort(rng.random((len(seeds), reach - 1)), axis=1)[:, : size - 1] + 1
            chosen.append(np.column_stack([seeds, np.take_along_axis(near, order, axis=1)]))
    trials = rows[np.concatenate(chosen)]
    problem.spend("refit cells", len(trials) * size * X.shape[1])
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    moved = (X[trials[:, 1:]] - X[trials[:, :1]]) / scale
    risen = y[trials[:, 1:]] - y[trials[:, :1]]
    # the smallest solution: what does not move in the neighbourhood gets no weight
    weights = np.einsum("tij,tj->ti", np.linalg.pinv(moved, rcond=1e-11), risen)
    met = np.all(np.abs(np.einsum("tij,tj->ti", moved, weights) - risen) <= 2 * allowed, axis=1)
    weights = weights[met] / scale
    constants = y[trials[met, 0]] - np.einsum("ti,ti->t", weights, X[trials[met, 0]])
    found = np.column_stack([weights, constants])
    keys = np.round(np.column_stack([weights * scale, constants]) / (np.ptp(y) or 1.0), 5)
    return found[np.sort(np.unique(keys, axis=0, return_index=True)[1])]


def _written(
    problem: Problem,
    terms: list[Term],
    X: np.ndarray,
    rows: np.ndarray,
    rule: np.ndarray,
    allowed: float,
) -> LocalRule | None:
    """The rule with its numbers fitted to its rows and snapped."""
    y = problem.y
    rows = rows[:FITTED]
    active = np.flatnonzero(np.abs(rule[:-1]) * np.ptp(X[rows], axis=0) > 10 * allowed)
    design = np.column_stack([X[np.ix_(rows, active)], np.ones(len(rows))])
    problem.spend("refits", 1)
    *snapped, constant = snap_linear(design, y[rows], problem.accuracy, noise=problem.noise)
    weights: list[Number] = [0] * X.shape[1]
    for j, number in zip(active, snapped, strict=True):
        weights[j] = number
    values = X @ np.array([float(w) for w in weights]) + float(constant)
    holds = np.abs(values - y) <= allowed
    if not holds[rows].all():
        return None
    written = [(w, _product(problem.variables, term)) for w, term in zip(weights, terms, strict=True)]
    return LocalRule(weighted_sum(written, constant), (*weights, constant), holds)


def _product(variables: tuple[Var, ...], term: Term) -> Expr:
    return reduce(lambda a, b: a * b, [variables[j] for j in term])
