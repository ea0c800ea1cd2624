"""The bank: values of small formulas on the rows, built bottom-up by cost, one value vector one formula.

Every operator is applied to entries whose costs add up, thousands at a time. Who is looking for something
sees every new entry as it is made (`grow`); the likeliest are kept to build on. Entries that nothing is
built on come beside: sums of the columns with small whole weights, what is made of such a sum and a
number, ranked columns.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weights2code.language import Const, Expr, Op, op
from weights2code.language.operators import order_name
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.searched import SEARCHED, Searched
from weights2code.symbolic.search.table import Table

#: Cells of one block of values; entries kept of an operator and a cost.
BLOCK, KEPT = 600_000, 1000
#: Levels of all columns together that entries are compared with; sums of columns; of those, plain ones bent.
LEVELS, SUMS, BENT = 40, 1300, 40
#: The rank of ranked columns, however many there are.
RANKED = 2
#: Levels that bounds of both sides are taken from, and sums of two columns that are bounded.
CLIPPED, CLIPPED_SUMS = 18, 6
#: Seconds of a usual machine for a cell that is made or compared.
CELL = 1.1e-8


@dataclass(frozen=True, slots=True)
class Block:
    """New entries: their values (m, rows), how each is written, and the least cost among them."""

    values: np.ndarray
    write: Callable[[int], Expr]
    cost: int

    def __len__(self) -> int:
        return len(self.values)


Look = Callable[[Block], None]
#: Values, how each is written, what each costs, and which columns it reads.
Pending = Iterable[tuple[np.ndarray, Callable[[int], Expr], int | np.ndarray, int | np.ndarray]]


class Bank:
    """Entries lie by cost; `kinds` of operators follow the columns and what is wanted."""

    def __init__(self, table: Table, problem: Problem, levels: Sequence[float], whole: bool) -> None:
        self.table, self.problem, self.whole = table, problem, whole
        self.X = table.X[table.few]
        kinds = {"whole"} if table.discrete else {"real"}
        kinds |= {"bits"} if table.bits else set()
        kinds |= {"whole"} if any(domain.discrete for domain in table.domains) else set()
        kinds |= {"real"} if table.discrete and not whole and not table.bits else set()
        self.operators = [
            entry
            for entry in SEARCHED
            if kinds & {*entry.kinds.split()}
            and problem.allows(*entry.needed)
            and not (table.discrete and entry.name in ("exp", "log", "sin", "cos", "sqrt"))
        ]
        rows = len(self.X)
        self.values = np.empty((0, rows))
        self.cost = self.rank = np.empty(0, dtype=np.int64)
        self.number = np.empty(0, dtype=bool)
        #: Which columns an entry reads, as bits.
        self.reads = np.empty(0, dtype=np.int64)
        #: Of each entry the operator and its arguments; leaves and sums have -1 and their place in `written`.
        self.recipe = np.empty((0, 3), dtype=np.int64)
        self.written: list[tuple[Callable[[int], Expr], int]] = []
        self.layers: dict[int, tuple[int, int]] = {}
        self.grown = 0
        self.summed = False
        self.seen = np.empty(0, dtype=np.int64)
        self.hash = np.random.default_rng(7).uniform(0.5, 1.5, rows)
        leaves: list[tuple[Expr, np.ndarray]] = list(zip(table.variables, self.X.T, strict=True))
        leaves += [(Const(float(c)), np.full(rows, float(c))) for c in self._levels(levels)]
        own = np.array(
            [1 << j for j in range(len(table.variables))] + [0] * (len(leaves) - len(table.variables))
        )
        write = [e for e, _ in leaves].__getitem__
        self._see([(np.array([v for _, v in leaves]), write, 1, own)], lambda block: None)
        self.rank = self.cost + self.number
        self.layers[1] = 0, len(self)
        self.grown = 1

    def __len__(self) -> int:
        return len(self.cost)

    def _levels(self, more: Sequence[float]) -> list[float]:
        """Numbers to compare with and to bound by: small ones, ends of ranges, levels between."""
        found, room = {0.0, 1.0, *more}, LEVELS // max(self.X.shape[1], 1)
        for column, domain in zip(self.X.T, self.table.domains, strict=True):
            found |= {*levels_of(column, room, whole=domain.discrete)}
            if domain.discrete:
                found |= {2.0, float(column.max()), float(column.max()) + 1}
        return sorted(found, key=lambda v: (abs(v), v))

    def fresh(self, values: np.ndarray) -> np.ndarray:
        """Places of values that are usable and were not seen before, each once; from now on they were."""
        self.problem.effort.spend(CELL * values.size)
        with np.errstate(all="ignore"):
            sums = values @ self.hash
            good = np.isfinite(sums)
            good[good] = np.abs(values[good]).max(axis=1) < 1e7
        keys = np.round(np.where(good, sums, 0) * 1e6).astype(np.int64)
        _, first = np.unique(keys, return_index=True)
        first.sort()
        first = first[good[first]]
        first = first[~np.isin(keys[first], self.seen)]
        self.seen = np.concatenate([self.seen, keys[first]])
        return first

    def _append(
        self, values: np.ndarray, cost: np.ndarray, rank: np.ndarray, recipe: np.ndarray, reads: np.ndarray
    ) -> None:
        self.values = np.concatenate([self.values, values])
        self.cost = np.concatenate([self.cost, cost])
        self.rank = np.concatenate([self.rank, rank])
        self.number = np.concatenate([self.number, np.ptp(values, axis=1) < 1e-12])
        self.recipe = np.concatenate([self.recipe, recipe])
        self.reads = np.concatenate([self.reads, reads])

    def first(self, chosen: np.ndarray, most: int) -> np.ndarray:
        """The likeliest of some entries."""
        return chosen[np.argsort(self.rank[chosen], kind="stable")][:most]

    def varying(self, cost: int, most: int) -> np.ndarray:
        """The likeliest entries up to a cost that are no numbers, and sums of columns."""
        return self.first(
            np.flatnonzero(~self.number & ((self.cost <= cost) | (self.recipe[:, 0] < 0))), most
        )

    def quantities(self, cost: int, most: int) -> tuple[Block, np.ndarray]:
        """Entries of several columns without numbers, and short sums; which columns they read."""
        several = (self.rank == self.cost) & (np.bitwise_count(self.reads) > 1) & (self.cost <= cost)
        places = self.first(np.flatnonzero(several), most // 2)
        weights, costs = (part[: most // 2] for part in self._weights())
        weights = weights[costs > 3]  # shorter ones are entries
        masks = (weights != 0) @ (1 << np.arange(self.X.shape[1]))

        def write(i: int) -> Expr:
            sums = i - len(places)
            return self.expr(int(places[i])) if sums < 0 else _weighted(weights, self.table.variables, sums)

        values = np.concatenate([self.values[places], weights @ self.X.T])
        return Block(values, write, cost), np.r_[self.reads[places], masks]

    def kept(self, cost: int) -> Block:
        """The entries of a cost that are there."""
        places = np.flatnonzero(self.cost == cost)
        places = self.first(places, len(places))
        return Block(self.values[places], lambda i: self.expr(int(places[i])), cost)

    def grow(self, cost: int, look: Look) -> None:
        """All entries of a cost: `look` sees every one that is new, the first of each operator are kept."""
        parts: list[tuple[np.ndarray, ...]] = []
        room = dict.fromkeys(range(len(self.operators)), KEPT)
        for place, values, arguments in self._blocks(cost):
            if self.problem.expired():
                break
            chosen = self.fresh(values)
            if not len(chosen):
                continue
            left, right = arguments(chosen)
            look(
                Block(
                    values[chosen],
                    lambda i, p=place, one=left, other=right: self._made(p, one[i], other[i]),
                    cost,
                )
            )
            entry, most = self.operators[place], room[place]
            left, right, made = left[:most], right[:most], values[chosen[:most]]
            rare = np.full(len(left), entry.rare) + self.rank[left] - self.cost[left]
            reads = self.reads[left]
            if entry.arity == 2:
                rare, reads = rare + self.rank[right] - self.cost[right], reads | self.reads[right]
            recipe = np.column_stack([np.full(len(left), place), left, right])
            parts.append((made, np.full(len(left), cost), cost + rare, recipe, reads))
            room[place] -= len(made)
        start = len(self)
        if parts:
            self._append(*(np.concatenate([part[i] for part in parts]) for i in range(5)))
        self.layers[cost] = start, len(self)
        self.grown = cost

    def _blocks(self, cost: int) -> Iterator[tuple[int, np.ndarray, Callable[[np.ndarray], tuple]]]:
        """Values of every operator on entries whose costs add up, a block at a time, and their arguments."""
        for place, entry in enumerate(self.operators):
            if entry.arity == 1:
                start, stop = self.layers.get(cost - entry.cost, (0, 0))
                if stop > start:
                    yield place, entry.compute(self.values[start:stop]), lambda i, s=start: (s + i, 0 * i)
                continue
            for left in range(1, cost - entry.cost):
                right = cost - entry.cost - left
                if (entry.commutes and left < right) or left not in self.layers or right not in self.layers:
                    continue
                yield from self._pairs(place, entry, self.layers[left], self.layers[right])

    def _pairs(
        self, place: int, entry: Searched, left: tuple[int, int], right: tuple[int, int]
    ) -> Iterator[tuple[int, np.ndarray, Callable[[np.ndarray], tuple]]]:
        one, other = np.arange(*left), np.arange(*right)
        one = one[~self.number[one]]
        if entry.right == "varies":
            other = other[~self.number[other]]
        elif entry.right == "divisor":  # of whole numbers, by one
            one, other = (part[np.all(self.values[part] % 1 == 0, axis=1)] for part in (one, other))
            other = other[self.number[other] & (self.values[other, 0] >= 2)]
        if not len(other):
            return
        step = max(BLOCK // (len(other) * len(self.X)), 1)
        width = len(other)
        for start in range(0, len(one), step):
            part = one[start : start + step]
            values = entry.compute(self.values[part][:, None], self.values[other][None])
            yield (
                place,
                values.reshape(len(part) * width, -1),
                lambda i, part=part: (part[i // width], other[i % width]),
            )

    def add_sums(self, look: Look) -> None:
        """Columns between two bounds, ranked columns, sums of columns with small whole weights, also bent."""
        self.summed = True
        columns = [
            (v, c, 1, 1 << j) for j, (v, c) in enumerate(zip(self.table.variables, self.X.T, strict=True))
        ]
        self._see(self._clipped(columns), look)
        self._see(self._ranked(), look, rank=RANKED)
        k = self.X.shape[1]
        if k < 2:
            return
        weights, costs = self._weights()
        write = functools.partial(_weighted, weights, self.table.variables)
        values, masks = weights @ self.X.T, (weights != 0) @ (1 << np.arange(k))
        if self.table.discrete or self.whole:  # of reals lines say the same, but thresholds do not
            self._see([(values, write, costs, masks)], look)
        pairs = [(write(i), values[i], 3, int(masks[i])) for i in np.flatnonzero(costs == 3)[:CLIPPED_SUMS]]
        self._see(self._clipped(pairs), look)
        # sums of two columns and numbers are in the bank already
        plain = (np.abs(weights).max(axis=1) == 1) & (np.sum(weights != 0, axis=1) == 2)
        bent = np.flatnonzero(~plain & (costs <= 2 * k + 1))[:BENT]
        for start in range(0, len(bent), 12):
            if not self.problem.expired():
                some = bent[start : start + 12]
                self._see(
                    (p for i in some for p in self._bend(values[i], write(i), int(costs[i]), int(masks[i]))),
                    look,
                )

    def _clipped(self, quantities: Sequence[tuple[Expr, np.ndarray, int, int]]) -> Pending:
        for expr, v, cost, reads in quantities if self.problem.allows("clip") else ():
            levels = levels_of(v, CLIPPED, whole=self.table.discrete)[1:-1]
            ends = list(itertools.combinations(levels, 2))
            if ends:
                low, high = np.array(ends).T[:, :, None]
                yield (
                    np.clip(v[None], low, high),
                    lambda i, expr=expr, ends=ends: op("clip", expr, *(Const(end).value for end in ends[i])),
                    cost + 3,
                    reads,
                )

    def _ranked(self) -> Pending:
        """The smallest, second, ... of all columns or of three; one against the extremum of the others."""
        k, variables = self.X.shape[1], self.table.variables
        if not (3 <= k <= 15 and self.problem.allows("max", "min")):
            return
        for some in [tuple(range(k)), *(itertools.combinations(range(k), 3) if 3 < k <= 7 else ())]:
            # of bits, others say how many there are, which sums do
            ranks = [0, len(some) - 1] if self.table.bits else [*range(len(some))]
            names = [variables[j] for j in some]
            values = np.sort(self.X[:, some], axis=1).T[ranks]
            reads = sum(1 << j for j in some)
            yield values, lambda i, of=names, ranks=ranks: ranked(of, ranks[i] + 1), len(some) + 1, reads
        for j, variable in enumerate(variables):
            others = np.delete(self.X, j, axis=1)
            rest = [v for v in variables if v != variable]
            values = self.X[:, j] - np.stack([others.min(axis=1), others.max(axis=1)])
            yield (
                values,
                lambda i, v=variable, rest=rest: op("sub", v, ranked(rest, len(rest) if i else 1)),
                k + 2,
                (1 << k) - 1,
            )

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Small whole weights of the columns, the shortest sums first, and what these cost."""
        k = self.X.shape[1]
        most = next((w for w in (9, 6, 4, 3, 2, 1) if ((2 * w + 1) ** k - 1) // 2 <= SUMS), 0)
        if most:
            weights = np.stack(np.meshgrid(*[np.arange(-most, most + 1)] * k, indexing="ij"), -1).reshape(
                -1, k
            )
        else:  # runs of equal weights: windows
            runs = [(i, j) for i in range(k) for j in range(i + 2, k + 1)]
            weights = np.array([[int(i <= c < j) for c in range(k)] for i, j in runs])
        first = weights[np.arange(len(weights)), np.argmax(weights != 0, axis=1)]
        weights = weights[(first > 0) & (np.sum(weights != 0, axis=1) > 1)]
        weights = weights[np.gcd.reduce(weights, axis=1) == 1]
        costs = np.sum((weights != 0) * 2 + 2 * (np.abs(weights) > 1), axis=1) - 1
        order = np.argsort(costs * 100 + np.abs(weights).sum(axis=1), kind="stable")
        return weights[order], costs[order]

    def _bend(self, v: np.ndarray, expr: Expr, cost: int, reads: int) -> Pending:
        """A quantity with each operator that takes a number, at its levels."""
        levels = np.array(levels_of(v, 24, whole=self.table.discrete))
        for entry in self.operators:
            if entry.right == "varies" or entry.arity == 1:
                continue
            use = levels if entry.right == "any" else np.arange(2, min(np.ptp(v), 12) + 1)
            if len(use):
                yield (
                    entry.compute(v[None], use[:, None]),
                    lambda i, entry=entry, use=use: entry.write(expr, Const(float(use[i]))),
                    cost + entry.cost + 1,
                    reads,
                )

    def _see(self, pending: Pending, look: Look, rank: int | None = None) -> None:
        """Entries that no operator makes of others are looked at and kept together, maybe at a rank."""
        parts = [part for part in pending if len(part[0])]
        if not parts:
            return
        values = np.concatenate([part[0] for part in parts])
        cost = np.concatenate([np.broadcast_to(part[2], len(part[0])) for part in parts])
        reads = np.concatenate([np.broadcast_to(part[3], len(part[0])) for part in parts])
        places = self.fresh(values)
        if not len(places):
            return
        ends = np.cumsum([len(part[0]) for part in parts])
        which = np.searchsorted(ends, places, side="right")
        inside = places - np.r_[0, ends[:-1]][which]
        start = len(self.written)
        self.written += [(parts[w][1], i) for w, i in zip(which.tolist(), inside.tolist(), strict=True)]
        recipe = np.column_stack([np.full(len(places), -1), np.arange(start, len(self.written)), 0 * places])
        likely = cost[places] if rank is None else np.full(len(places), rank)
        self._append(values[places], cost[places], likely, recipe, reads[places])
        look(Block(values[places], lambda i: self._call(start + i), int(cost[places].min())))

    def _call(self, place: int) -> Expr:
        write, i = self.written[place]
        return write(i)

    def _made(self, place: int, left: int, right: int) -> Expr:
        entry = self.operators[place]
        return entry.write(*(self.expr(int(i)) for i in (left, right)[: entry.arity]))

    def expr(self, i: int) -> Expr:
        place, left, right = self.recipe[i]
        return self._call(left) if place < 0 else self._made(place, left, right)


def levels_of(values: np.ndarray, room: int, *, whole: bool) -> list[float]:
    """The different values of a quantity, thinned where there are many."""
    levels = np.unique(values)
    if len(levels) > room:
        levels = np.unique(np.round(np.quantile(levels, np.linspace(0, 1, max(room, 2))), 0 if whole else 1))
    return [float(v) for v in levels]


def ranked(variables: Sequence[Expr], place: int) -> Expr:
    """The `place`-th smallest of some variables."""
    if 1 < place < len(variables):
        return Op(order_name(place, len(variables)), tuple(variables))
    return functools.reduce(lambda a, b: op("max" if place > 1 else "min", a, b), variables)


def _weighted(weights: np.ndarray, variables: Sequence[Expr], i: int) -> Expr:
    return weighted_sum([(int(w), v) for w, v in zip(weights[i], variables, strict=True) if w])
