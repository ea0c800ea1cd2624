"""A head that decides: which of a few offsets it reads hangs on what its query, or a key there, holds, or on
which of the two is larger.

On finitely many values a pointer head is a list of priorities: for each query the pairs of an offset and a
key in the order of their scores. Where few of them matter it is a decision or two, such as "the present value
where query and key are 1, else nothing", which is an AND. Where a head goes by content alone, it nearly
always finds the same value, wherever that lies. Such trees are many, so they are searched for, once nothing
simpler matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from weights2code.explain.hypotheses import Hypothesis, Operand
from weights2code.graph import RouterNode, shifted
from weights2code.language import Const, Expr, Var, where

#: Of the offsets that a head selects often, so many are read or asked for.
MOST_OFFSETS = 4
#: Values of a query or a key are told apart at no more places than this.
MOST_THRESHOLDS = 8
#: Of the values that a head gives, so many of the most frequent may be found anywhere; of heads that give no
#: more than so many.
MOST_HELD, MOST_VALUES = 3, 8
#: Sequences that the search looks at.
SEARCHED_ON = 200
#: One decision more must add so much agreement.
WORTH = 1e-3


@dataclass(frozen=True, slots=True)
class Held:
    """A value that is found somewhere, in the units of the stream."""

    value: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What is taken where something is at most `threshold`, and where it is more.

    What is asked for is the `role` "query", the "key" `offset` back, or their "difference", that key less the
    query. A branch is a decision, an offset, a value, or None for nothing. Thresholds are in the units of
    the stream.
    """

    role: str
    offset: int
    threshold: float
    low: Branch
    high: Branch


Leaf = int | Held | None
Branch = Decision | Leaf


@dataclass(frozen=True, slots=True)
class ByValue(Hypothesis):
    """The value at one of a few offsets, one from anywhere, or nothing, by a decision or two."""

    tree: Decision

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        """None: they are searched for, by `decided`."""
        yield from ()

    def describe(self) -> str:
        return self.in_units(dict.fromkeys(("query", "key", "value"), 1.0))

    def in_units(self, units: Mapping[str, float]) -> str:
        """The choice as a formula of what is read in each role; numbers are in the user's units."""
        return str(self.combined([Var(role, back) for role, back in self.operands()], units))

    def offsets(self) -> tuple[int, ...]:
        return tuple(sorted({offset for _, offset in self.operands()}))

    def operands(self) -> tuple[Operand, ...]:
        return tuple(dict.fromkeys(_operands(self.tree)))

    def combined(self, values: Sequence[Expr], units: Mapping[str, float]) -> Expr:
        read = dict(zip(self.operands(), values, strict=True))

        def taken(branch: Branch) -> Expr:
            if isinstance(branch, int):
                return read["value", branch]
            if not isinstance(branch, Decision):
                return Const(branch.value * units["value"] if branch else 0)
            if branch.role == "difference":
                unit, key = units["query"], read["key", branch.offset]
                asked = (key if units["key"] == unit else key * (unit / units["key"])) - read["query", 0]
            else:
                unit, asked = units[branch.role], read[branch.role, branch.offset]
            return where(asked <= Const(branch.threshold * unit), taken(branch.low), taken(branch.high))

        return taken(self.tree)

    def caption(self, reads: Mapping[str, str]) -> str:
        return f"{self.describe()}, of {reads['value']}; query {reads['query']}, key {reads['key']}"


def _operands(branch: Branch) -> Iterator[Operand]:
    if isinstance(branch, Decision):
        if branch.role != "query":
            yield "key", branch.offset
        if branch.role != "key":
            yield "query", 0
        yield from _operands(branch.low)
        yield from _operands(branch.high)
    elif isinstance(branch, int):
        yield "value", branch


def decided(
    node: RouterNode,
    values: np.ndarray,
    often: tuple[int, ...],
    first: int = 0,
    weight: np.ndarray | None = None,
) -> ByValue | None:
    """The best tree of at most two levels for a pointer head on a stream; None if there is nothing to ask.

    Parameters
    ----------
    often : the offsets that the head selects, most frequent first.
    first : positions before this one do not count.
    weight : how much each of the others counts (n, T - first); None is alike.
    """
    values = values[:SEARCHED_ON]
    actual, kept = node.compute(values)[:, first:], often[:MOST_OFFSETS]
    near = 1e-6 * max(float(np.ptp(actual)), 1e-12)

    def column(role: str, offset: int) -> np.ndarray:
        if role == "difference":
            return column("key", offset) - column("query", 0)
        return shifted(values[..., node.reads[role]], offset, 0.0)[:, first:].ravel()

    leaves: list[Leaf] = [*kept, None, *_held(actual)]
    given = [
        column("value", leaf) if isinstance(leaf, int) else np.full(actual.size, leaf.value if leaf else 0.0)
        for leaf in leaves
    ]
    right = np.stack([np.abs(found - actual.ravel()) < near for found in given], 1).astype(float)
    right *= 1.0 if weight is None else weight[:SEARCHED_ON].reshape(-1, 1)
    asked = [("query", 0), *((role, offset) for role in ("key", "difference") for offset in kept)]
    splits = [
        (Decision(role, offset, threshold, None, None), found <= threshold)
        for role, offset in asked
        for found in [column(role, offset)]
        for threshold in _thresholds(found, around_zero=role == "difference")
    ]
    if not splits:
        return None
    tree = _without_idle(_best_tree(splits, leaves, right))
    return ByValue(tree) if isinstance(tree, Decision) else None


def _held(actual: np.ndarray) -> list[Held]:
    """The values but 0 that a head gives most often, if it gives few."""
    values, counts = np.unique(actual, return_counts=True)
    if len(values) > MOST_VALUES:
        return []
    often = sorted(zip(counts.tolist(), values.tolist(), strict=True), reverse=True)
    return [Held(value) for _, value in often if value][:MOST_HELD]


def _thresholds(column: np.ndarray, *, around_zero: bool = False) -> list[float]:
    """Places between values, or between quantiles where there are many; with `around_zero` also those that
    tell zero from what is more and what is less."""
    every = held = np.unique(column)
    if len(held) > MOST_THRESHOLDS + 1:
        held = np.unique(np.quantile(column, np.linspace(0, 1, MOST_THRESHOLDS + 2)))
    found = ((held[1:] + held[:-1]) / 2).tolist()
    if around_zero and len(every) > len(held):
        found += [float(side[0]) / 2 for side in (every[every > 0], every[every < 0][::-1]) if len(side)]
    return found


def _best_tree(
    splits: Sequence[tuple[Decision, np.ndarray]], leaves: Sequence[Leaf], right: np.ndarray
) -> Decision:
    """The tree that is right most often, of those that are nearly as often the smallest.

    `right` (row, leaf) says what each leaf is worth in a row.
    """
    low = np.stack([side for _, side in splits]).astype(float)  # (split, row)

    def no_level(right: np.ndarray) -> tuple[float, Branch]:
        worth = right.sum(0)
        return float(worth.max()), leaves[int(worth.argmax())]

    def one_level(right: np.ndarray) -> tuple[float, Branch]:
        under = low @ right  # (split, leaf): what each leaf is worth where the split is low
        over = right.sum(0) - under
        worth = under.max(1) + over.max(1)
        best = int(worth.argmax())
        below, above = (leaves[int(side[best].argmax())] for side in (under, over))
        return float(worth[best]), replace(splits[best][0], low=below, high=above)

    found: list[tuple[float, Decision]] = []
    for (split, _), side in zip(splits, low, strict=True):
        parts = [right * rows[:, None] for rows in (side, 1 - side)]
        for below, above in product(*([no_level(part), one_level(part)] for part in parts)):
            found.append((below[0] + above[0], replace(split, low=below[1], high=above[1])))
    total = max(float(right.max(1).sum()), 1e-300)
    return max(found, key=lambda pair: pair[0] / total - WORTH * _size(pair[1]))[1]


def _without_idle(branch: Branch) -> Branch:
    """The same without decisions that decide nothing."""
    if not isinstance(branch, Decision):
        return branch
    low, high = _without_idle(branch.low), _without_idle(branch.high)
    return low if low == high else replace(branch, low=low, high=high)


def _size(branch: Branch) -> int:
    return 1 + _size(branch.low) + _size(branch.high) if isinstance(branch, Decision) else 0
