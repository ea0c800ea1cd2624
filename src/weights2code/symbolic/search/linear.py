"""Sums: of columns, over remainders too; of two and three entries of the bank, of products of two.

All of it is one design matrix. With what is always present (the constant, or the constant and the columns)
projected out, the Gram matrix of the entries gives what every pair leaves over, and a few more products
that of every product of two. Up to multiples of a number the weights are the few that there are. Where
only the order of the values is known, a linear program finds the direction along which they lie apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from weights2code.language import Expr, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.bank import CELL, Bank, Block
from weights2code.symbolic.search.readings import Reader, good_enough, left_over, orthonormal
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.table import Goal, Table

#: Entries that are paired, and how many of them with all others; as many at a time.
PAIRED, SMALL_SUMS, SMALL_PRODUCTS, TOGETHER = 2500, 200, 150, 50
#: Pairs that are written; of those that do not fit, how many are asked for a third.
WRITTEN, THIRDS = 6, 3
#: Seconds of a usual machine for a multiplication in the product of two matrices.
PRODUCT = 3.7e-11
#: Entries that are compared, how many of them with all others, and rows of either value that are asked first.
COMPARED, SMALL_COMPARED, FEW_ROWS = 1500, 80, 12
#: Weights modulo a number that are tried in all.
RESIDUES = 20_000
#: Seconds of a usual machine for a linear program; the largest whole weight that its direction is rounded to.
PROGRAM, LARGEST = 6e-3, 12


def linear(reader: Reader) -> Iterator[Expr]:
    """A linear function of the columns, without those that are not needed."""
    if reader.goal.modulus is not None:
        yield from _linear_modulo(reader)
        return
    for chosen in fewer(reader):
        found = reader.fit([reader.table.variables[j] for j in chosen], reader.X[:, chosen])
        if found is None:
            return
        yield found


def fewer(reader: Reader) -> Iterator[list[int]]:
    """All columns, then without the one that counts least, and so on."""
    goal, known = reader.goal, reader.goal.known
    chosen = list(range(reader.X.shape[1]))
    while chosen and len(known) >= 2:
        yield list(chosen)
        matrix = reader.columns[known][:, [0, *(j + 1 for j in chosen)]]
        weights = np.linalg.lstsq(matrix, goal.middle[known], rcond=None)[0][1:]
        chosen.pop(int(np.argmin(np.abs(weights) * np.ptp(matrix[:, 1:], axis=0))))


def _linear_modulo(reader: Reader) -> Iterator[Expr]:
    """Weights of the columns up to multiples of the modulus, all that there are."""
    m, goal = reader.goal.modulus, reader.goal
    k = reader.X.shape[1]
    assert m is not None
    if not reader.table.discrete or m**k > RESIDUES or len(goal.known) < k + 2:
        return
    X, y = reader.X[goal.known], goal.middle[goal.known]
    sides = np.array(list(itertools.product([w if w < max(m - 1, 2) else -1 for w in range(m)], repeat=k)))
    order = np.argsort((2 * (sides != 0) + 2 * (np.abs(sides) > 1) + 0.1 * np.abs(sides)).sum(axis=1))
    for asked in (min(12, len(y)), len(y)):
        reader.problem.effort.spend(CELL * len(order) * asked)
        rest = (y[:asked] - sides[order] @ X[:asked].T) % m
        order = order[np.all(rest == rest[:, :1], axis=1)]
        if not len(order):
            return
    weights = sides[order[0]]
    shift = int((y[0] - X[0] @ weights) % m)
    terms = [(int(w), v) for w, v in zip(weights, reader.table.variables, strict=True) if w]
    yield weighted_sum(terms, shift - m if shift > m // 2 else shift)


def sums(reader: Reader, bank: Bank, _: Goal) -> Iterator[Expr]:
    """Sums of two and three entries and products of two, beside a constant and beside all columns."""
    known, goal, problem = reader.goal.known, reader.goal, reader.problem
    if len(known) < min(8, len(reader.X)):
        return
    y = goal.middle[known]
    live = bank.varying(99, PAIRED)
    V, cost = bank.values[np.ix_(live, known)], bank.cost[live]
    good = good_enough(y, goal.slack)
    for wide in (False, True):
        if wide and len(y) < reader.X.shape[1] + 5:
            return
        Q = orthonormal(reader.columns[known] if wide else reader.columns[known, :1])
        for product in (False, True):
            if problem.expired():
                return
            best: list[tuple[float, int, int, int]] = []
            blocks = _of_products(V, Q, y) if product else _of_sums(V, Q, y)
            for start, left in blocks:
                problem.effort.spend(PRODUCT * left.size * len(y) * (2 + Q.shape[1] if product else 1))
                problem.effort.spend(0.3 * CELL * left.size)
                rows, columns = np.nonzero(left <= good)
                order = np.argsort(cost[rows + start] + cost[columns], kind="stable")[:WRITTEN]
                for o in order:
                    i, j = int(rows[o] + start), int(columns[o])
                    best.append((0.0, int(cost[i] + cost[j]), i, j))
                near = np.unravel_index(int(np.argmin(left)), left.shape)
                best.append((float(left[near]), 99, int(near[0]) + start, int(near[1])))
                if problem.expired():
                    return
            best.sort()
            for place, (*_cost, i, j) in enumerate(best[:WRITTEN]):
                third = place < THIRDS
                yield from _of_pair(reader, bank, live, V, (i, j), product=product, wide=wide, third=third)


def compared(reader: Reader, bank: Bank, _: Goal) -> Iterator[Expr]:
    """Two values, told apart by a threshold of the sum or the difference of two entries."""
    problem = reader.problem
    live = bank.varying(99, COMPARED)
    V = bank.values[live]
    some = [side[:: max(len(side) // FEW_ROWS, 1)][:FEW_ROWS] for side in (reader.ones, reader.zeros)]
    yes, no = (V[:, rows] for rows in some)
    found: list[tuple[int, int, int, int]] = []
    for i in range(min(SMALL_COMPARED, len(live))):
        if i % 50 == 0 and problem.expired():
            return
        for sign in (1, -1):
            one, other = yes + sign * yes[i], no + sign * no[i]
            apart = (one.min(axis=1) > other.max(axis=1)) | (one.max(axis=1) < other.min(axis=1))
            passed = np.flatnonzero(apart)
            if len(passed):
                both = V[passed] + sign * V[i]
                one, other = both[:, reader.ones], both[:, reader.zeros]
                apart = (one.min(axis=1) > other.max(axis=1)) | (one.max(axis=1) < other.min(axis=1))
                cost = bank.cost[live[passed[apart]]] + bank.cost[live[i]]
                found += [(int(c), i, int(j), sign) for c, j in zip(cost, passed[apart], strict=True)]
    problem.effort.spend(0.25 * CELL * min(SMALL_COMPARED, len(live)) * len(live) * 2 * FEW_ROWS)
    for _cost, i, j, sign in sorted(found)[:WRITTEN]:
        expr = weighted_sum([(1, bank.expr(int(live[j]))), (sign, bank.expr(int(live[i])))])
        block = Block((V[j] + sign * V[i])[None], lambda _, expr=expr: expr, 0)
        yield from reader.tests(block)


def _of_pair(
    reader: Reader,
    bank: Bank,
    live: np.ndarray,
    V: np.ndarray,
    pair: tuple[int, int],
    *,
    product: bool,
    wide: bool,
    third: bool,
) -> Iterator[Expr]:
    """A pair with plain numbers, or with a third entry where it does not do alone."""
    known, goal = reader.goal.known, reader.goal
    exprs = [bank.expr(int(live[i])) for i in pair]
    values = bank.values[live[list(pair)]]
    if product:
        exprs, values = [op("mul", *exprs)], np.prod(values, axis=0)[None]
    if wide:
        exprs, values = [*exprs, *reader.table.variables], np.concatenate([values, reader.X.T])
    fitted = reader.fit(exprs, values.T)
    if fitted is not None:
        yield fitted
    elif third:
        y = goal.middle[known]
        Q = orthonormal(np.column_stack([values[:, known].T, np.ones(len(known))]))
        reader.problem.effort.spend(PRODUCT * V.size * Q.shape[1])
        left = left_over(V, Q, y)
        for i in np.flatnonzero(left <= good_enough(y, goal.slack))[:2]:
            more = np.concatenate([values, bank.values[live[i]][None]])
            fitted = reader.fit([*exprs, bank.expr(int(live[i]))], more.T)
            if fitted is not None:
                yield fitted


def _of_sums(V: np.ndarray, Q: np.ndarray, y: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """What sums of each small entry with every entry leave over, a block of small ones at a time."""
    V = V - (V @ Q) @ Q.T
    norm = np.linalg.norm(V, axis=1)
    alive = norm > 1e-7
    V = V / np.where(alive, norm, 1.0)[:, None]
    rest = y - Q @ (Q.T @ y)
    c = V @ rest
    for start in range(0, min(SMALL_SUMS, len(V)), TOGETHER):
        part = slice(start, start + TOGETHER)
        G = V[part] @ V.T
        with np.errstate(all="ignore"):
            gain = (c[part, None] ** 2 + c[None] ** 2 - 2 * c[part, None] * c[None] * G) / (1 - G**2)
        left = rest @ rest - gain
        left[(np.abs(G) > 1 - 1e-9) | ~alive[None] | ~alive[part, None]] = np.inf
        yield start, left


def _of_products(V: np.ndarray, Q: np.ndarray, y: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The same for products."""
    V = V / np.maximum(np.max(np.abs(V), axis=1, keepdims=True), 1e-9)
    rest = y - Q @ (Q.T @ y)
    square = V**2
    for start in range(0, min(SMALL_PRODUCTS, len(V)), TOGETHER):
        S = V[start : start + TOGETHER]
        norm = (S**2) @ square.T
        for q in Q.T:
            norm = norm - ((S * q) @ V.T) ** 2
        with np.errstate(all="ignore"):
            left = rest @ rest - ((S * rest) @ V.T) ** 2 / norm
        left[norm <= 1e-9 * len(y)] = np.inf
        yield start, left


def directions(problem: Problem, table: Table, goal: Goal) -> Iterator[np.ndarray]:
    """Weights of the columns along whose sum the values lie apart, one after the other by size.

    One linear program: the largest margin between neighbouring values. Then the smallest whole weights near
    that direction.
    """
    from scipy.optimize import linprog

    known, k = goal.known, len(table.variables)
    spread = np.ptp(table.X, axis=0)
    X = table.X[known] / np.where(spread > 0, spread, 1.0)
    at = [goal.middle[known] == level for level in np.unique(goal.middle[known])]
    borders, count = list(itertools.pairwise(at)), len(at) - 1
    if len(known) < 2 * (k + count):
        return
    rows = []
    for place, pair in enumerate(borders):
        for some, sign in zip(pair, (1.0, -1.0), strict=True):
            part = np.zeros((int(some.sum()), k + count + 1))
            part[:, :k], part[:, k + place], part[:, -1] = sign * X[some], -sign, 1.0
            rows.append(part)
    problem.effort.spend(PROGRAM * (1 + len(known) / 200))
    above, objective = np.concatenate(rows), np.r_[np.zeros(k + count), -1.0]
    bounds = [(-1.0, 1.0)] * k + [(None, None)] * count + [(0.0, 1.0)]
    found = linprog(objective, A_ub=above, b_ub=np.zeros(len(above)), bounds=bounds)
    if found.status == 0 and -found.fun >= 1e-9:
        real = not any(domain.discrete for domain in table.domains)
        w = found.x[:k] / np.where(spread > 0, spread, 1.0)
        yield from _simple(w, table.X[known], borders, decimals=real)


def _simple(
    w: np.ndarray, X: np.ndarray, borders: list[tuple[np.ndarray, np.ndarray]], *, decimals: bool
) -> Iterator[np.ndarray]:
    """Small whole weights in a direction along which every border is still one."""

    def parts(weights: np.ndarray) -> bool:
        v = X @ weights
        return all(v[low].max() < v[high].min() for low, high in borders)

    seen: set[tuple[float, ...]] = set()
    for scale in range(1, LARGEST + 1):
        weights = np.round(w / np.abs(w).max() * scale)
        if np.any(weights) and parts(weights):
            for j in np.argsort(np.abs(weights)):  # without what is not needed
                fewer = np.where(np.arange(len(w)) == j, 0.0, weights)
                weights = fewer if np.any(fewer) and parts(fewer) else weights
            if tuple(weights) in seen:
                continue
            seen.add(tuple(weights))
            yield weights / np.gcd.reduce(weights.astype(int))
            if len(seen) > 1:
                return
    if not seen and decimals:
        for digits in (2, 3):
            weights = np.round(w / np.abs(w).max(), digits)
            if parts(weights):
                yield weights
                return
