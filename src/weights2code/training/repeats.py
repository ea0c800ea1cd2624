"""Which memory the output needs, asked of the data alone.

Rows that agree in some values and differ in the output show that something is missing. If, with a memory
(`memories.py`) among those values, rows still repeat and none contradicts another, the memory is what was
missing: so many pairs of rows would not agree by chance. Only whole numbers repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import Effort
from weights2code.training.memories import (
    Memory,
    Place,
    Quantity,
    ages,
    computed,
    conditional,
    counts,
    followed,
    plain,
    ranks,
    tallies,
    walks,
)
from weights2code.training.orders import medians, orders
from weights2code.training.remembered import Remembered, placed

#: Rows that are asked first, and in all.
FIRST_ASKED, ASKED = 8_000, 60_000
#: Contradictions that there would be without the memory, at least, for their absence to mean something: many,
#: since many memories are asked, and rows that agree in what sums up all of the past are more alike than
#: others. And those that there would be without what is near.
EXPECTED = 1000.0
EXPECTED_NEAR = 30.0
#: The farthest that a memory or a column is looked at, and what is looked at, the least first: steps back of
#: the memory, and up to how many of the columns (-1 is none).
DEEPEST = 3
MEMORY_LAGS = ((0,), (1,), (0, 1), (0, 2), (0, 3), (0, 1, 2), (0, 1, 2, 3))
COLUMN_LAGS = (-1, 0, 1, 2)
#: Means and what is made of them are the same if they are so to this many decimals.
DECIMALS = 9
#: What is spent on each kind of memory, in seconds of a usual machine, and what a value of a row costs.
EFFORT, A_VALUE = 1.0, 6e-9
#: The share of contradictions that a memory of something computed leaves at most, to be worth asking.
TELLING = 0.98
#: Memories whose every context is asked, and those of which two are asked together.
MOST_PROMISING, PAIRED = 16, 6


@dataclass(slots=True, eq=False)
class Rows:
    """Coded values at positions that have everything inside the sequence: equal codes are equal values."""

    sequences: Sequences
    inputs: int
    outputs: int
    chosen: np.ndarray
    effort: Effort
    target: tuple[np.ndarray, int] = field(init=False)
    _codes: dict[tuple[Memory | int, int], tuple[np.ndarray, int]] = field(default_factory=dict)
    _values: dict[Memory | int, np.ndarray] = field(default_factory=dict)
    _lacking: dict[tuple[Place, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys, size = np.zeros(int(self.chosen.sum()), np.int64), 1
        for row in range(self.outputs):
            codes, levels = _coded(self.sequences.y[..., row][self.chosen])
            keys, size = keys * levels + codes, size * levels
        self.target = _coded(keys)

    @staticmethod
    def of(problem: Problem, most: int, effort: Effort) -> Rows:
        sequences = problem.training
        length = sequences.x.shape[1]
        sequences = sequences.take(slice(0, max(1, most // max(length - DEEPEST, 1))))
        chosen = sequences.scored & (np.arange(length) >= DEEPEST)
        return Rows(sequences, len(problem.inputs), len(problem.outputs), chosen, effort)

    def codes(self, of: Memory | int, lag: int) -> tuple[np.ndarray, int]:
        """The values of a memory or a column, some steps back."""
        if (of, lag) not in self._codes:
            values = self._values.get(of)
            if values is None:
                values = of.values(self.sequences) if isinstance(of, Memory) else self._column(of)
                self._values[of] = values
                self.effort.spend(A_VALUE * values.size * (values.shape[1] if isinstance(of, Memory) else 1))
            back = np.pad(values, ((0, 0), (lag, 0)))[:, : values.shape[1]]
            self._codes[of, lag] = _coded(back[self.chosen])
        return self._codes[of, lag]

    def _column(self, column: int) -> np.ndarray:
        x, y = self.sequences.x, self.sequences.y
        return x[..., column] if column < self.inputs else y[..., column - self.inputs]

    def pairs(self, leaves: Iterable[tuple[Memory | int, int]]) -> tuple[float, float]:
        """Pairs of rows that agree in the leaves, and those of them that differ in the output."""
        keys, size = np.zeros(len(self.target[0]), np.int64), 1
        coded = [self.codes(*leaf) for leaf in leaves]
        self.effort.spend(A_VALUE * len(keys) * (len(coded) + 3))
        for codes, levels in coded:
            if size * levels >= 2**40:
                keys, size = _coded(keys)
            keys, size = keys * levels + codes, size * levels
        codes, levels = self.target
        keys = np.sort(keys * levels + codes)
        ends = np.flatnonzero(np.diff(keys, append=keys[-1:] + 1))
        counts = np.diff(ends, prepend=-1)
        groups = keys[ends] // levels
        totals = np.add.reduceat(counts, np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1)))
        same, all_of = _pairs(counts), _pairs(totals)
        return all_of, all_of - same

    def lacking(self, leaves: tuple[Place, ...]) -> float:
        """The share of pairs that contradict each other where only columns are known."""
        if leaves not in self._lacking:
            pairs, apart = self.pairs(leaves)
            self._lacking[leaves] = apart / pairs if pairs else 0.0
        return self._lacking[leaves]


def _pairs(counts: np.ndarray) -> float:
    return float((counts * (counts - 1.0)).sum() / 2)


def _coded(values: np.ndarray) -> tuple[np.ndarray, int]:
    found, codes = np.unique(np.round(values, DECIMALS), return_inverse=True)
    return codes.reshape(-1).astype(np.int64), max(len(found), 1)


def repeated_rows(problem: Problem) -> Iterator[Remembered]:
    """Memories that determine the output together with what is near, simple ones first; none where windows
    are not contradicted, or inputs do not repeat."""
    if not all(domain.discrete for domain in problem.domains) or problem.training.given.any():
        return
    screen = _Screen(problem)
    if not screen.contradicted():
        return
    simple = screen.ranked(plain(problem))
    yield from screen.alone(simple[:MOST_PROMISING])
    yield from screen.alone(screen.ranked(counts(problem), TELLING)[:MOST_PROMISING])
    yield from screen.alone(screen.ranked(medians(problem), TELLING)[:MOST_PROMISING])
    yield from screen.together(walks(problem))
    yield from screen.together(tallies(problem), ((0,),))
    yield from screen.alone(screen.ranked(computed(problem), TELLING)[:MOST_PROMISING])
    yield from screen.alone(screen.ranked(conditional(problem), TELLING)[:MOST_PROMISING])
    yield from screen.together(followed(problem), ((0,),))
    yield from screen.together(ages(problem))
    yield from screen.together(ranks(problem), ((0,),))
    yield from screen.together(combinations(simple[:PAIRED], 2))
    yield from screen.alone(simple[MOST_PROMISING:])


def windows_are_enough(problem: Problem) -> bool:
    """Whether many rows show that what is near determines the output: nothing need be remembered."""
    if not problem.whole or problem.training.given.any():
        return False
    return not _Screen(problem).contradicted()


def without_outputs(problem: Problem) -> Iterator[Remembered]:
    """Memories that determine the output together with inputs alone, where windows do so too, but only with
    past outputs: a rule may be shorter in what was gathered than in what it gave last."""
    if not problem.whole or problem.training.given.any():
        return
    screen = _Screen(problem, pasts=(False,))
    if screen.contradicted() or not screen.many.pairs(screen.columns(DEEPEST, False))[1]:
        return
    simple = screen.ranked(memory for memory in plain(problem) if memory.of_inputs(len(problem.inputs)))
    yield from screen.alone(simple[:MOST_PROMISING])
    yield from screen.together(_both_extrema(problem))
    yield from screen.alone(screen.ranked(computed(problem), TELLING)[:MOST_PROMISING])


def _both_extrema(problem: Problem) -> Iterator[tuple[Memory, Memory]]:
    for column in range(len(problem.inputs)):
        read = Quantity(((column, 0),))
        yield Memory("max", read), Memory("min", read)


def extrema(problem: Problem) -> Iterator[Remembered]:
    """The same for the largest and the smallest so far of each input alone, which is soon asked, and for what
    the output is in the order of values."""
    yield from orders(problem)
    if not problem.whole or problem.training.given.any():
        return
    screen = _Screen(problem)
    if screen.contradicted():
        yield from screen.alone([memory for memory in plain(problem) if memory.kind in ("max", "min")])


class _Screen:
    def __init__(self, problem: Problem, pasts: tuple[bool, ...] = (False, True)) -> None:
        self.effort, self.pasts = Effort(EFFORT), pasts
        self.few, self.many = (Rows.of(problem, most, self.effort) for most in (FIRST_ASKED, ASKED))
        self.inputs, self.outputs = len(problem.inputs), len(problem.outputs)
        self.more = (len(self.many.target[0]) / max(len(self.few.target[0]), 1)) ** 2

    def columns(self, back: int, past: bool) -> tuple[Place, ...]:
        """Inputs up to so many steps back, and the last outputs."""
        near = [(column, lag) for lag in range(back + 1) for column in range(self.inputs)]
        outputs = range(self.inputs, self.inputs + self.outputs)
        return (*near, *((column, 1) for column in outputs if past))

    def contradicted(self) -> bool:
        """Whether what is near does not determine the output: inputs and the last outputs, nor, where many
        rows would show it, with outputs from further back."""
        older = range(self.inputs, self.inputs + self.outputs)
        further = tuple((column, lag) for lag in range(2, DEEPEST + 1) for column in older)
        return self._contradicted((), EXPECTED_NEAR) and self._contradicted(further, EXPECTED)

    def _contradicted(self, beside: tuple[Place, ...], expected: float) -> bool:
        by_chance = self.many.lacking(())
        for back in range(DEEPEST, -1, -1):
            pairs, apart = self.many.pairs((*self.columns(back, True), *beside))
            if apart or pairs * by_chance >= expected:
                return apart > 0
        return True

    def ranked(self, memories: Iterable[Memory], most: float = np.inf) -> list[Memory]:
        """Those first that leave the fewest contradictions, and no more than a share of those that there are
        without them."""
        self.effort.left = EFFORT
        scores: list[tuple[float, float, Memory]] = []
        contexts = [self.columns(back, past) for back, past in ((-1, False), (0, False), (0, True))]
        for memory in memories:
            if self.effort.spent() or self.few.codes(memory, 0)[1] < 2:
                continue
            left = []
            for columns in contexts:
                pairs, apart = self.few.pairs([*columns, (memory, 0)])
                lacking = self.few.lacking(columns)
                left.append(apart / pairs / lacking if pairs and lacking else 1.0)
            if min(left) <= most:
                scores.append((round(min(left), 2), memory.cost, memory))
        return [memory for *_, memory in sorted(scores, key=lambda score: score[:2])]

    def alone(self, memories: Iterable[Memory]) -> Iterator[Remembered]:
        self.effort.left = EFFORT
        for memory in memories:
            if self.effort.spent():
                return
            found = self.context((memory,), MEMORY_LAGS)
            if found is not None:
                yield found

    def together(
        self,
        sets: Iterable[tuple[Memory, ...]],
        lags: Sequence[tuple[int, ...]] = ((0,), (0, 1)),
    ) -> Iterator[Remembered]:
        self.effort.left = EFFORT
        for memories in sets:
            if self.effort.spent():
                return
            found = self.context(memories, lags)
            if found is not None:
                yield found

    def context(self, memories: tuple[Memory, ...], lags: Sequence[tuple[int, ...]]) -> Remembered | None:
        """The least that is needed beside some memories, if anything is enough: inputs up to some steps back,
        or where the memories are looked at."""
        for back, past in product((*COLUMN_LAGS, None), self.pasts):
            for own in lags:
                columns = self.columns(-1 if back is None else back, past)
                if back is None:
                    columns += tuple((column, lag) for lag in own for column in range(self.inputs))
                leaves = [*((memory, lag) for memory in memories for lag in own), *columns]
                if self.enough(leaves, columns):
                    return self.needed(memories, leaves)
        return None

    def enough(self, leaves: Sequence[tuple[Memory | int, int]], columns: tuple[Place, ...]) -> float:
        """How many contradictions there would be without the memories, if there are none with them, and
        enough of them; else 0."""
        pairs, apart = self.few.pairs(leaves)
        likely = pairs * self.more * self.few.lacking(columns)
        if apart or likely < EXPECTED / 2:
            return 0.0
        pairs, apart = self.many.pairs(leaves)
        expected = pairs * self.many.lacking(columns)
        return 0.0 if apart or expected < EXPECTED else expected

    def needed(
        self, memories: tuple[Memory, ...], leaves: Sequence[tuple[Memory | int, int]]
    ) -> Remembered | None:
        """Without what can be spared, the farthest first."""
        kept = list(leaves)
        for leaf in sorted(leaves, key=lambda leaf: leaf[1], reverse=True):
            fewer = [other for other in kept if other != leaf]
            columns = tuple((of, lag) for of, lag in fewer if not isinstance(of, Memory))
            if len(fewer) < len(kept) and self.enough(fewer, columns):
                kept = fewer
        columns = tuple((of, lag) for of, lag in kept if not isinstance(of, Memory))
        found = placed(memories, kept, self.inputs, self.enough(kept, columns))
        return found if found.memories else None
