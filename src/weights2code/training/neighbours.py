"""Which memory the output needs where rows of reals do not repeat: asked of rows that lie near each other.

If the output is a function of some values, rows that are near in them are mostly near in the output too, and
the nearer the more rows there are. What a row differs from its nearest neighbour in, as a share of how much
outputs differ at all, says how much some values leave open. A memory (`memories.py`) with which they leave
far less is worth a rung.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from weights2code.data import Problem
from weights2code.effort import Effort
from weights2code.training.memories import Memory, Place, computed, conditional, counts, plain
from weights2code.training.remembered import Remembered, placed

#: Rows among which neighbours are looked for, and rows that ask, at first and to be sure.
AMONG, ASKED = (4_000, 24_000), (500, 1_500)
#: How far apart different whole numbers lie, in standard deviations of reals.
APART = 20.0
#: The share of what is left open without a memory that may be left open with it.
LESS = 0.3
#: Where so little is left open without one, none is looked for.
LITTLE = 0.02
#: A value that is left out may raise what is left open by this factor.
SPARED = 1.05
#: What is asked beside a memory: its steps back, up to how many those of the inputs (-1 is none), and whether
#: the last outputs.
CONTEXTS = (
    ((0,), -1, False),
    ((0,), 0, False),
    ((0,), 0, True),
    ((0, 1), 0, False),
    ((0,), 1, False),
    ((0, 1), 0, True),
)
#: What is left open by an input from further back that is asked beside a memory too, at most; how far back
#: it lies, and how many of them there are.
TELLING, FARTHEST, MOST_TELLING = 0.7, 5, 2
#: Memories that are asked in every context, and those of which two are asked together.
MOST_PROMISING, PAIRED = 8, 4
#: What is spent, in seconds of a usual machine, and what a row costs.
EFFORT, A_ROW = 3.0, 2e-7

Leaf = tuple[Memory | int, int]


class Neighbours:
    """Rows of a problem at two sizes: `open` is the share of the output that some values leave open."""

    def __init__(self, problem: Problem, size: int, effort: Effort) -> None:
        self.problem, self.effort = problem, effort
        sequences = problem.training
        length = sequences.x.shape[1]
        needed = -(-(AMONG[size] + ASKED[size]) // max(length - 1, 1))
        self.sequences = sequences.take(slice(0, needed))
        self.chosen = self.sequences.scored & (np.arange(length) >= 1)
        self.target = self.sequences.y[self.chosen]
        self.asked = min(ASKED[size], len(self.target) // 4)
        self._columns: dict[Leaf, np.ndarray] = {}

    def column(self, leaf: Leaf) -> np.ndarray:
        if leaf not in self._columns:
            of, lag = leaf
            inputs = self.sequences.x.shape[2]
            if isinstance(of, Memory):
                values = of.values(self.sequences)
            else:
                values = self.sequences.x[..., of] if of < inputs else self.sequences.y[..., of - inputs]
            values = np.pad(values, ((0, 0), (lag, 0)))[:, : values.shape[1]][self.chosen]
            values = np.where(np.isfinite(values), values, 0.0)
            spread = float(values.std())
            few = len(np.unique(values[:200])) <= 12 and np.all(values == np.round(values))
            self._columns[leaf] = values * (APART if few else 1.0 / spread if spread > 0 else 1.0)
        return self._columns[leaf]

    def open(self, leaves: Iterable[Leaf]) -> float:
        from scipy.spatial import KDTree

        columns, target = [self.column(leaf) for leaf in leaves], self.target
        if not columns or len(target) < 100:
            return 1.0
        rows = np.column_stack(columns)
        self.effort.spend(A_ROW * len(rows) * len(columns))
        near = KDTree(rows[self.asked :]).query(rows[: self.asked])[1]
        apart = target[: self.asked] - target[self.asked :][near]
        variance = np.maximum(target.var(axis=0), 1e-300)
        return float(np.mean(np.mean(apart**2, axis=0) / (2 * variance)))


def near_rows(problem: Problem) -> Iterator[Remembered]:
    """Memories with which far less is left open than without, those that leave least first."""
    if problem.whole or problem.training.given.any():
        return
    screen = _Screen(problem)
    if screen.without < LITTLE:
        return
    simple = screen.ranked(plain(problem))
    functions = screen.ranked(counts(problem))
    functions += screen.ranked(computed(problem))
    functions += screen.ranked(conditional(problem))
    both = sorted([*simple, *functions], key=lambda scored: scored[:2])
    sets: list[tuple[Memory, ...]] = [(memory,) for *_, memory in both[:MOST_PROMISING]]
    sets += [*combinations([memory for *_, memory in both[:PAIRED]], 2)]
    yield from screen.sets(sets)


class _Screen:
    def __init__(self, problem: Problem) -> None:
        self.inputs, self.outputs = len(problem.inputs), len(problem.outputs)
        self.effort = Effort(EFFORT)
        self.few, self.many = (Neighbours(problem, size, self.effort) for size in range(2))
        self.telling = self._telling()
        windows = [self.columns(back, past) for back in (0, 1) for past in (False, True)]
        windows += [(*self.telling, *self.columns(back, False)) for back in (-1, 0) if self.telling]
        self.without = min(self.many.open(columns) for columns in windows)
        self.roughly = min(self.few.open(columns) for columns in windows)

    def _telling(self) -> tuple[Place, ...]:
        """Inputs some steps back that leave less open, each by itself; the most telling first."""
        far = [(column, lag) for lag in range(2, FARTHEST + 1) for column in range(self.inputs)]
        found = sorted((self.few.open([place]), place) for place in far)
        return tuple(place for left, place in found if left < TELLING)[:MOST_TELLING]

    def columns(self, back: int, past: bool) -> tuple[Place, ...]:
        near = [(column, lag) for lag in range(back + 1) for column in range(self.inputs)]
        outputs = range(self.inputs, self.inputs + self.outputs)
        return (*near, *((column, 1) for column in outputs if past))

    def ranked(self, memories: Iterable[Memory]) -> list[tuple[float, float, Memory]]:
        """Those that leave less open than no memory does, with how much, and what they cost."""
        found = []
        for memory in memories:
            if self.effort.spent():
                break
            contexts = [self.columns(back, past) for back, past in ((-1, False), (0, False), (0, True))]
            contexts += [self.telling] if self.telling else []
            left = min(self.few.open([(memory, 0), *columns]) for columns in contexts)
            if left < self.roughly:
                found.append((round(left, 3), memory.cost, memory))
        return sorted(found, key=lambda scored: scored[:2])

    def sets(self, sets: Iterable[tuple[Memory, ...]]) -> Iterator[Remembered]:
        """What each set of memories leaves open where it leaves little, the least first."""
        found = [best for memories in sets if (best := self.best(memories)) is not None]
        for _, remembered in sorted(found, key=lambda pair: pair[0]):
            yield remembered

    def best(self, memories: tuple[Memory, ...]) -> tuple[float, Remembered] | None:
        """The context in which some memories leave least open, without what can be spared."""
        if self.effort.spent():
            return None
        contexts = [
            [*((memory, lag) for memory in memories for lag in lags), *self.columns(back, past)]
            for lags, back, past in CONTEXTS
        ]
        for back in (-1, 0) if self.telling else ():
            contexts.append(
                [*((memory, 0) for memory in memories), *self.telling, *self.columns(back, False)]
            )
        left, leaves = min(
            ((self.many.open(context), context) for context in contexts), key=lambda pair: pair[0]
        )
        if left > LESS * self.without:
            return None
        kept: Sequence[Leaf] = leaves
        for leaf in sorted(leaves, key=lambda leaf: leaf[1], reverse=True):
            fewer = [other for other in kept if other != leaf]
            rest = self.many.open(fewer)
            if rest <= SPARED * left:
                kept, left = fewer, min(rest, left)
        found = placed(memories, kept, self.inputs, left)
        return (left, found) if len(found.memories) == len(memories) else None
