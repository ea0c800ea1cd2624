"""Affine rules that a share of the rows obeys exactly, found by trying small neighbourhoods.

A few rows that lie close together mostly follow one rule. The rule through one row and its neighbours is
fitted, with one row to spare: if that row is met too, the rule is taken seriously and all rows are asked.
The rules that settle the most rows are kept until every row is settled. Constants are rules as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.language import Const, Expr, Number
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import sum_expr
from weights2code.symbolic.snapping import simplest, snap_linear

#: Neighbourhoods tried, and the most rules that are kept.
TRIALS = 300
MOST_RULES = 6
#: Share of the rows that a rule must settle.
LEAST_SHARE = 0.02
#: A constant is believed from this share of the rows on.
CONSTANT_SHARE = 0.04
#: How near two levels of a two-valued variable count as, relative to the range of the others.
TWO_LEVELS = 0.15


@dataclass(frozen=True, slots=True)
class Rule:
    """Weights of the variables and a constant, the formula, and the rows (booleans) where it is right."""

    weights: tuple[Number, ...]
    expr: Expr
    holds: np.ndarray


def affine_rules(problem: Problem, X: np.ndarray, y: np.ndarray) -> list[Rule]:
    """Few rules that together are right on every row, or nothing."""
    allowed = problem.accuracy + 1e-9 * problem.scale
    found: list[Rule] = []
    open_rows = np.ones(len(y), dtype=bool)
    candidates = [*_constants(problem, y), *_through_neighbours(X, y, allowed)]
    if not candidates:
        return []
    slopes, offsets = np.array([w for w, _ in candidates]), np.array([c for _, c in candidates])
    holds = np.abs(slopes @ X.T + offsets[:, None] - y) <= allowed
    flat = ~slopes.any(axis=1)
    least = max(3, int(LEAST_SHARE * len(y)))
    while open_rows.any() and len(found) < MOST_RULES:
        settled = (holds & open_rows).sum(axis=1)
        # where two settle alike, the constant is the simpler one
        best = int(np.argmax(settled + 0.5 * flat))
        if settled[best] < least and settled[best] < open_rows.sum():
            # a few rows that lie on a boundary, where two signs cancel, may have a value of their own
            if open_rows.sum() <= least and np.ptp(y[open_rows]) <= allowed:
                value = simplest(float(y[open_rows][0]), problem.accuracy)
                holds_there = np.abs(float(value) - y) <= allowed
                return [*found, Rule((*[0] * X.shape[1], value), Const(value), holds_there)]
            return []
        rule = _written(problem, X, y, slopes[best], holds[best], allowed)
        if rule is None:
            holds[best] = False
            continue
        found.append(rule)
        open_rows &= ~rule.holds
        holds[best] = False
    return [] if open_rows.any() else found


def _constants(problem: Problem, y: np.ndarray) -> list[tuple[np.ndarray, float]]:
    values, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_RULES]
    enough = max(4, int(CONSTANT_SHARE * len(y)))
    zero = np.zeros(len(problem.variables))
    return [(zero, float(values[i])) for i in order if counts[i] >= enough]


def _through_neighbours(X: np.ndarray, y: np.ndarray, allowed: float) -> list[tuple[np.ndarray, float]]:
    """The distinct affine functions through neighbouring rows, one row of each left over as a check."""
    n, k = X.shape
    size = k + 2
    if n < 3 * size:
        return []
    spread = np.ptp(X, axis=0)
    Z = X / np.where(spread > 0, spread, 1.0)
    Z = Z * np.where([len(np.unique(column)) == 2 for column in X.T], TWO_LEVELS, 1.0)
    rng = np.random.default_rng(0)
    seeds = rng.permutation(n)[: TRIALS // 3]
    near = np.argsort(((Z[seeds, None, :] - Z[None, :, :]) ** 2).sum(2), axis=1, kind="stable")
    near = near[:, 1 : 3 * size + 1]
    trials = [
        (seed, rng.permutation(near.shape[1])[: size - 1]) for seed in range(len(seeds)) for _ in range(3)
    ]
    centre = seeds[[seed for seed, _ in trials]]
    others = np.stack([near[seed][chosen] for seed, chosen in trials])
    scale = np.where(spread > 0, spread, 1.0)
    D = (X[others] - X[centre][:, None, :]) / scale
    r = y[others] - y[centre][:, None]
    # the smallest solution: variables that do not move in the neighbourhood get no weight
    w = np.einsum("tij,tj->ti", np.linalg.pinv(D, rcond=1e-9), r)
    met = np.all(np.abs(np.einsum("tij,tj->ti", D, w) - r) <= allowed * 10, axis=1)
    slopes = w[met] / scale
    offsets = y[centre[met]] - np.einsum("ti,ti->t", slopes, X[centre[met]])
    keys = np.round(np.column_stack([slopes * scale, offsets]) / (np.ptp(y) or 1.0), 5)
    _, first = np.unique(keys, axis=0, return_index=True)
    return [(slopes[i], float(offsets[i])) for i in np.sort(first)]


def _written(
    problem: Problem, X: np.ndarray, y: np.ndarray, slope: np.ndarray, rows: np.ndarray, allowed: float
) -> Rule | None:
    """The rule with its numbers fitted to all its rows and snapped."""
    active = np.flatnonzero(np.abs(slope) * np.ptp(X, axis=0) > 10 * allowed)
    weights: list[Number] = [0] * X.shape[1]
    if len(active):
        design = np.column_stack([X[rows][:, active], np.ones(rows.sum())])
        *snapped, constant = snap_linear(design, y[rows], problem.accuracy, noise=problem.noise)
        for j, number in zip(active, snapped, strict=True):
            weights[j] = number
    else:
        constant = simplest(float(y[rows].mean()), problem.accuracy)
    values = X @ np.array([float(w) for w in weights]) + float(constant)
    holds = np.abs(values - y) <= allowed
    if holds.sum() < rows.sum():
        return None
    return Rule((*weights, constant), sum_expr(problem, weights, constant), holds)
