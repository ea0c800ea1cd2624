"""Two tests joined, and one test that chooses between two affine functions.

A conjunction is found from what each test keeps out: the bound of each is the tightest that lets all rows
with the upper value in, and two of them together must keep all others out. One product of matrices asks all
pairs. For a choice the affine functions on both sides of every test are fitted at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weights2code.language import Const, Expr, Op, is_boolean, op
from weights2code.symbolic.engine import preference
from weights2code.symbolic.gauge.judge import Judge
from weights2code.symbolic.gauge.screen import Screen
from weights2code.symbolic.gauge.sums import plain_weights
from weights2code.symbolic.notation import branch, opposite, simplest_between, simplest_test, weighted_sum
from weights2code.symbolic.search.costs import COSTS

Quantity = tuple[Expr, np.ndarray]

_MOST, _OFFERED = 400, 12
_ROWS = 400
_THRESHOLDS = 16
#: Share of the variation that may be left where a threshold is only near, and how many are moved.
_NEAR, _MOVED = 0.15, 8


def joined(judge: Judge, quantities: Sequence[Quantity]) -> Iterator[Expr]:
    """`A and B`, `A or B`, of thresholds and tests of the quantities."""
    labels = judge.labels
    if labels is None:
        return
    known = np.flatnonzero(labels >= 0)
    known = known[np.random.default_rng(6).permutation(len(known))[: 2 * _ROWS]]
    quantities = quantities[:_MOST]
    U = np.stack([values[known] for _, values in quantities])
    judge.effort.spend(COSTS["trees"] * U.size * 6)
    slack = 0 if judge.discrete else max(1, len(known) // 150)
    for inside in (1, 0):
        yes = labels[known] == inside
        if yes.sum() < 2 or (~yes).sum() < 2:
            continue
        members = np.sort(U[:, yes], axis=1)
        few = min(slack, members.shape[1] // 10)
        tests: list[tuple[int, int, float, float]] = []
        kept: list[np.ndarray] = []
        for sign in (1, -1):
            edge = members[:, few] if sign == 1 else members[:, -1 - few]
            out = sign * U[:, ~yes] < sign * edge[:, None] - 1e-9
            for i in np.flatnonzero(out.any(axis=1)):
                tests.append((int(i), sign, float(edge[i]), 0.0))
                kept.append(~out[i])
        if not tests:
            continue
        K = np.stack(kept).astype(np.float32)
        both = K @ K.T
        judge.effort.spend(1e-9 * len(K) ** 2 * K.shape[1])
        first, second = np.nonzero(np.triu(both <= slack, 1))
        size = np.array([quantities[i][0].size() for i, *_ in tests])
        order = np.lexsort((both[first, second], size[first] + size[second]))[:_OFFERED]
        for i, j in zip(first[order], second[order], strict=True):
            parts = []
            for one, other in ((i, j), (j, i)):
                index, sign, edge, _ = tests[one]
                # the bound lies between the rows let in and the nearest that the other test does not keep out
                rest = U[index, ~yes][K[other] > 0]
                parts.append(_threshold(judge, quantities[index], sign, edge, rest))
            if parts[0] is not None and parts[1] is not None:
                yield from _conjunction(parts[0], parts[1])


def switched(judge: Judge, quantities: Sequence[Quantity]) -> Iterator[Expr]:
    """`[u > c] if bit else [u > d]`: two thresholds and what chooses between them."""
    labels = judge.labels
    if labels is None:
        return
    known = labels >= 0
    for bit, column in zip(judge.variables, judge.X.T, strict=True):
        if not set(np.unique(column)) <= {0.0, 1.0}:
            continue
        for expr, values in quantities:
            if expr == bit or bit in expr.variables() or judge.effort.spent():
                continue
            whole = bool(np.all(values == np.round(values)))
            judge.effort.spend(COSTS["sorted cells"] * len(values))
            for sign in (1, -1):
                tests = []
                for state in (1, 0):
                    rows = known & (column == state)
                    tests.append(_best_split(expr, values[rows], sign * (2 * labels[rows] - 1), whole))
                if tests[0] is not None and tests[1] is not None and tests[0] != tests[1]:
                    yield branch(bit, tests[0], tests[1])


def _best_split(expr: Expr, values: np.ndarray, signs: np.ndarray, whole: bool) -> Expr | None:
    """The threshold above which the sign is positive, almost everywhere."""
    order = np.argsort(values, kind="stable")
    u, total = values[order], np.concatenate([[0], np.cumsum(signs[order])])
    places = np.concatenate([[True], np.diff(u) > 1e-9, [True]])
    split = int(np.argmin(np.where(places, total, len(u) + 1)))
    wrong = total[split] + split + (len(u) - split) - (total[-1] - total[split])
    if wrong > 0.05 * len(u) or not 0 < split < len(u):
        return None
    return simplest_test(expr, float(u[split - 1]), float(u[split]), whole=whole)


def _threshold(judge: Judge, quantity: Quantity, sign: int, edge: float, rest: np.ndarray) -> Expr | None:
    expr, values = quantity
    beyond = sign * rest[sign * rest < sign * edge - 1e-9]
    if not len(beyond):
        return None
    border = sign * float(beyond.max())
    whole = bool(np.all(values == np.round(values)))
    if sign == 1:
        return simplest_test(expr, border, edge, whole=whole)
    return opposite(simplest_test(expr, edge, border, whole=whole))


def _conjunction(one: Expr, other: Expr) -> Iterator[Expr]:
    one, other = _shorter(one), _shorter(other)
    yield op("and", one, other)
    yield op("or", _negated(one), _negated(other))


def _shorter(test: Expr) -> Expr:
    """A bit, or what is a test itself, instead of its comparison with 0."""
    if isinstance(test, Op) and test.name in ("gt", "ge", "lt", "le") and is_boolean(test.args[0]):
        inner = test.args[0]
        return inner if test.name in ("gt", "ge") else _negated(inner)
    return test


def _negated(test: Expr) -> Expr:
    if isinstance(test, Op) and test.name == "not":
        return test.args[0]
    return opposite(test) or op("not", test)


def choices(judge: Judge, quantities: Sequence[Quantity], tests: Sequence[Quantity]) -> Iterator[Expr]:
    """`A if test else B` with affine A and B."""
    rng = np.random.default_rng(8)
    rows = rng.permutation(len(judge.v))[:_ROWS]
    X, v = judge.X[rows], judge.v[rows]
    written: list[Expr] = []
    masks: list[np.ndarray] = []
    sources: list[int | None] = []  # the quantity whose threshold may be moved
    for expr, values in tests:
        written.append(expr)
        sources.append(None)
        masks.append(values > 0.5)
    for number, (expr, values) in enumerate(quantities):
        ends = np.unique(values)
        if len(ends) < 2:
            continue
        whole = bool(np.all(ends == np.round(ends)))
        places = np.arange(1, len(ends))
        if len(places) > _THRESHOLDS:
            places = np.unique(np.linspace(0, len(ends) - 1, _THRESHOLDS + 2).astype(int)[1:-1])
        for place in places:
            written.append(simplest_test(expr, float(ends[place - 1]), float(ends[place]), whole=whole))
            sources.append(number if len(ends) > _THRESHOLDS else None)
            masks.append(values >= ends[place])
    if not masks:
        return
    T = np.stack(masks)[:, rows].astype(float)
    F = np.hstack([np.ones((len(rows), 1)), X])
    p = F.shape[1]
    judge.effort.spend(COSTS["trees"] * T.size * p * p)
    products = (F[:, :, None] * F[:, None, :]).reshape(len(rows), -1)
    total = np.zeros(len(T))
    weights = []
    for side in (T, 1 - T):
        gram = (side @ products).reshape(-1, p, p)
        right = side @ (F * v[:, None])
        solved = np.einsum("tij,tj->ti", np.linalg.pinv(gram, rcond=1e-9, hermitian=True), right)
        weights.append(solved)
        total += side @ (v * v) - np.einsum("ti,ti->t", solved, right)
    count = np.minimum(T.sum(axis=1), (1 - T).sum(axis=1))
    total[count < p + 1] = np.inf
    order = np.argsort(total)
    for t in order[total[order] <= len(rows) * (1.5 * judge.tolerance) ** 2][:_OFFERED]:
        yield from _choice(judge, written[t], masks[t], weights[0][t], weights[1][t])
    spread = float(np.sum((v - v.mean()) ** 2))
    tried = 0
    for t in order:
        if total[t] > _NEAR * spread or tried >= _MOVED:
            break
        if sources[t] is None:
            continue
        tried += 1
        moved = _moved(judge, quantities[sources[t]], weights[0][t], weights[1][t])
        if moved is not None:
            yield from _choice(judge, *moved)


def _moved(
    judge: Judge, quantity: Quantity, yes: np.ndarray, no: np.ndarray
) -> tuple[Expr, np.ndarray, np.ndarray, np.ndarray] | None:
    """The threshold put where the two affine functions say, and they fitted again, a few times."""
    expr, u = quantity
    F = np.hstack([np.ones((len(u), 1)), judge.X])
    order = np.argsort(u, kind="stable")
    judge.effort.spend(COSTS["sorted cells"] * 12 * len(u))
    mask = np.zeros(len(u), bool)
    for _ in range(4):
        off = [np.abs(judge.v - F @ side) for side in (yes, no)]
        capped = [np.minimum(side, 4 * judge.tolerance) ** 2 for side in off]
        gain = np.cumsum((capped[1] - capped[0])[order])
        split = int(np.argmin(gain)) + 1
        if split >= len(u):
            return None
        mask = u >= u[order][split]
        if min(mask.sum(), (~mask).sum()) < F.shape[1] + 1:
            return None
        yes, no = (np.linalg.lstsq(F[side], judge.v[side], rcond=None)[0] for side in (mask, ~mask))
    off = [np.abs(judge.v - F @ side) for side in (yes, no)]
    # rows that only one of the two functions explains say where the threshold may lie
    below = u[~mask & (off[0] > judge.tolerance) & (off[1] <= judge.tolerance)]
    above = u[mask & (off[1] > judge.tolerance) & (off[0] <= judge.tolerance)]
    if not len(below) or not len(above) or below.max() >= above.min():
        return None
    whole = bool(np.all(u == np.round(u)))
    return simplest_test(expr, float(below.max()), float(above.min()), whole=whole), mask, yes, no


def _choice(judge: Judge, test: Expr, mask: np.ndarray, yes: np.ndarray, no: np.ndarray) -> Iterator[Expr]:
    """The two affine functions with plain weights, up to the common gauge."""
    reach = []
    for side in (mask, ~mask):
        reach.append(np.maximum(np.ptp(judge.X[side], axis=0), 1e-9))
    slack = np.concatenate([0.8 * judge.tolerance / r for r in reach])
    both = np.concatenate([yes[1:], no[1:]])
    for scale, numbers in plain_weights(both, slack):
        k = len(judge.variables)
        one, other = numbers[:k], numbers[k:]
        # the constants, after the weights were put straight
        left = [
            float(
                np.average(
                    judge.v[side] - scale * (judge.X[side] @ np.array(w, float)), weights=judge.share[side]
                )
            )
            for side, w in ((mask, one), (~mask, other))
        ]
        jump = (left[0] - left[1]) / scale
        room = 0.6 * judge.tolerance / scale
        step = simplest_between(jump - room, jump + room)
        for sign, c, d in ((1, step, 0.0), (1, 0.0, -step), (-1, -step, 0.0), (-1, 0.0, step)):
            A = weighted_sum(
                [(sign * n, x) for n, x in zip(one, judge.variables, strict=True)], Const(c).value
            )
            B = weighted_sum(
                [(sign * n, x) for n, x in zip(other, judge.variables, strict=True)], Const(d).value
            )
            yield branch(test, A, B)
            yield op("where", test, A, B)


def small_choices(judge: Judge, screen: Screen, tests: Sequence[Quantity]) -> Iterator[Expr]:
    """`A if test else B` of operands and small numbers, whatever gauge stands between them and v."""
    rows = screen.rows
    bits = [
        (x, column) for x, column in zip(judge.variables, judge.X.T, strict=True) if set(column) <= {0, 1}
    ]
    conditions = [*bits, *tests]
    for x, column, domain in zip(judge.variables, judge.X.T, judge.domains, strict=True):
        if domain.kind == "integers":
            ends = np.unique(column)[1:]
            ends = ends if len(ends) <= _THRESHOLDS else ends[:: len(ends) // _THRESHOLDS]
            conditions += [(x >= int(end), (column >= end).astype(float)) for end in ends]
    sides: list[Quantity] = list(zip(judge.variables, judge.X.T, strict=True))
    sides += [(-x, -column) for x, column in sides]
    sides += [(Const(n), np.full(len(judge.X), float(n))) for n in (0, 1)]
    if not conditions or judge.effort.spent():
        return
    T = np.stack([values[rows] for _, values in conditions]) > 0.5
    S = np.stack([values[rows] for _, values in sides])
    E = np.where(T[:, None, None], S[None, :, None], S[None, None]).reshape(-1, len(rows))
    judge.effort.spend(COSTS["trees"] * 4 * E.size)
    hits, lines = screen.pairs(E)
    judge.effort.spend(COSTS["sorted cells"] * 3 * len(hits) * len(rows))
    lines = lines[screen.lines(E[lines]) <= judge.tolerance]
    hits = np.union1d(hits[screen.levels(E[hits])], lines)
    exprs = []
    for hit in hits[:200]:
        t, i, j = np.unravel_index(hit, (len(T), len(S), len(S)))
        if i != j:
            exprs.append(branch(conditions[t][0], sides[i][0], sides[j][0]))
    yield from sorted(exprs, key=preference)[:_OFFERED]
