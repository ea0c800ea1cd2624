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
    for expr, values in tests:
        written.append(expr)
        masks.append(values > 0.5)
    for expr, values in quantities:
        ends = np.unique(values)
        if len(ends) < 2:
            continue
        whole = bool(np.all(ends == np.round(ends)))
        places = np.arange(1, len(ends))
        if len(places) > _THRESHOLDS:
            places = np.unique(np.linspace(0, len(ends) - 1, _THRESHOLDS + 2).astype(int)[1:-1])
        for place in places:
            written.append(simplest_test(expr, float(ends[place - 1]), float(ends[place]), whole=whole))
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
    order = order[total[order] <= len(rows) * (1.5 * judge.tolerance) ** 2][:_OFFERED]
    for t in order:
        yield from _choice(judge, written[t], masks[t], weights[0][t], weights[1][t])


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
