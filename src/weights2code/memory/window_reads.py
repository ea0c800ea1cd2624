"""Which values of a window an output may be a function of, beside something that is hidden.

Whatever is hidden, values that are read change how often each output comes up. How much they do, beyond
chance, is Pearson's statistic of the values and the output. Two values that tell the most are the first; then
the one that tells most beside them, and so on. A sum may hide what a few of its values tell: then everything
of the last few steps is asked together. A reference can be asked for as many rows as that takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from weights2code.data import Problem
from weights2code.data.sufficiency import LEAST_REPEATS
from weights2code.effort import time_is_up
from weights2code.memory.machine import Read

#: How far back values are asked about.
FARTHEST = 8
#: Positions that are passed over, so that every lag lies inside; and where more can be had, so that what is
#: hidden has come to be anything.
SKIPPED, SETTLED = 10, 36
#: Sequences that are asked for at a time, and their length.
SEQUENCES, LENGTH = 2048, 100
#: Different combinations of values that are told apart, with and without the outputs.
MOST_CELLS, MOST_COMBINATIONS = 2_000_000, 40_000
#: Values that are read together, at most.
MOST_READ = 5
#: Values tell something if chance would hardly give as much: standard deviations above the mean.
BEYOND_CHANCE = 8.0
#: Rows that are asked for, at most.
MOST_ROWS = 6_000_000
#: The share of the combinations that must have come often.
OFTEN = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How often each output came with each combination of some values.

    Parameters
    ----------
    reads : the values.
    rows : their combinations, shape (combination, read).
    outputs : what the output may be.
    counts : shape (combination, output).
    """

    reads: tuple[Read, ...]
    rows: np.ndarray
    outputs: np.ndarray
    counts: np.ndarray

    def often(self, rows: int) -> Counts | None:
        """Without combinations that came fewer times; None if those are many."""
        kept = self.counts.sum(1) >= rows
        if kept.sum() <= OFTEN * len(kept):
            return None
        return replace(self, rows=self.rows[kept], counts=self.counts[kept])

    def visible(self) -> bool:
        """Whether the values determine the output, in many rows that repeat."""
        repeats = float(self.counts.sum() - len(self.counts)) / float(self.counts.sum())
        return self.several() == 1 and repeats >= LEAST_REPEATS

    def several(self) -> int:
        """How many outputs come with the same values, at most."""
        return int((self.counts > 0).sum(1).max())

    def share(self) -> float:
        """How much the values tell beyond chance, of each row."""
        statistic, freedom = self.told()
        return (statistic - freedom) / float(self.counts.sum())

    def told(self) -> tuple[float, float]:
        """Pearson's statistic and its degrees of freedom."""
        table = self.counts[:, self.counts.any(0)].astype(float)
        expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
        freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
        return float(((table - expected) ** 2 / expected).sum()), float(max(freedom, 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Numbers for the values of every column (sequence, position, column), and which positions count; the
    rows that are asked again and again are `kept`."""

    codes: np.ndarray
    scored: np.ndarray
    kept: dict[Read, np.ndarray] | None

    def __call__(self, column: int, lag: int) -> np.ndarray:
        """A value at every row."""
        if self.kept is not None and (column, lag) in self.kept:
            return self.kept[column, lag]
        moved = self.codes[:, SKIPPED - lag : self.codes.shape[1] - lag, column][self.scored]
        found = moved.astype(np.int64)
        if self.kept is not None:
            self.kept[column, lag] = found
        return found


@dataclass(slots=True, eq=False)
class Window:
    """Rows of what is visible in the last steps, with one output: more of them as they are wanted."""

    problem: Problem
    output: int = 0
    _parts: list[_Part] = field(default_factory=list)
    _values: dict[int, np.ndarray] = field(default_factory=dict)

    def reads(self) -> list[Read]:
        """The values that may be read: inputs. What outputs showed before tells about what is hidden."""
        return [(column, lag) for lag in range(FARTHEST + 1) for column in range(len(self.problem.inputs))]

    def settled(self) -> bool:
        """Whether there are rows, and an output comes up as often late as early in them: what has no end, as
        a sum, does not. Own data do not say."""
        part = self._part(0)
        if part is None or self.problem.reference is None:
            return part is not None
        late = np.broadcast_to(2 * np.arange(part.scored.shape[1]) >= part.scored.shape[1], part.scored.shape)
        given, answers = part(self._target, 0), len(self._values[self._target])
        table = np.bincount(late[part.scored] * answers + given, minlength=2 * answers).reshape(2, answers)
        statistic, freedom = Counts((), np.zeros((2, 0)), self._values[self._target], table).told()
        return statistic - freedom <= BEYOND_CHANCE * np.sqrt(2 * freedom)

    def combinations(self, reads: tuple[Read, ...]) -> int:
        """How many combinations of values there may be."""
        self._part(0)
        return int(np.prod([float(len(self._values[column])) for column, _ in reads]))

    def few_enough(self, reads: tuple[Read, ...]) -> bool:
        """Whether combinations of these values can be counted."""
        count = self.combinations(reads)
        return count <= MOST_COMBINATIONS and count * len(self._values[self._target]) <= MOST_CELLS

    def counts(self, reads: tuple[Read, ...], each: int = 0) -> Counts:
        """How often each output comes with each combination; `each` of them about so often, if that many rows
        can be had."""
        total, answers = self.combinations(reads), len(self._values[self._target])
        counts, asked, place = np.zeros(total * answers, np.int64), 0, 0
        while asked < min(max(total * each, 1), MOST_ROWS) and not time_is_up():
            part = self._part(place)
            if part is None:
                break
            code, size = part(self._target, 0), answers
            for column, lag in reversed(reads):
                code = code + part(column, lag) * size
                size *= len(self._values[column])
            counts += np.bincount(code, minlength=len(counts))
            asked, place = asked + len(code), place + 1
        counts = counts.reshape(total, answers)
        seen = np.flatnonzero(counts.any(1))
        places = np.unravel_index(seen, [len(self._values[column]) for column, _ in reads])
        rows = [self._values[column][place] for (column, _), place in zip(reads, places, strict=True)]
        return Counts(reads, np.column_stack(rows), self._values[self._target], counts[seen])

    @property
    def _target(self) -> int:
        return len(self.problem.inputs) + self.output

    def _part(self, place: int) -> _Part | None:
        """Some rows; None if there are no more."""
        while len(self._parts) <= place:
            drawn = self._drawn(len(self._parts))
            if drawn is None:
                return None
            values, scored = drawn
            codes = np.empty(values.shape, np.int16)
            for column in range(values.shape[2]):
                known = self._values.setdefault(column, np.unique(values[..., column]))
                if not np.isin(values[..., column], known).all():
                    return None  # nobody knows what else may come
                codes[..., column] = np.searchsorted(known, values[..., column])
            self._parts.append(_Part(codes, scored[:, SKIPPED:], {} if not self._parts else None))
        return self._parts[place]

    def _drawn(self, place: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Inputs and outputs of some sequences, and which positions count; own data are all that there is."""
        problem = self.problem
        if problem.reference is None or problem.sampler is None:
            training = problem.training
            values = np.concatenate([training.x, training.y], 2)
            return None if place or values.shape[1] <= SKIPPED else (values, training.scored)
        x = problem.sampler(np.random.default_rng([place, 11]), SEQUENCES, LENGTH)
        values = np.concatenate([x, problem.reference.run(x)], 2)[:, SETTLED - SKIPPED :]
        return values, np.ones(values.shape[:2], bool)


def sets_of_reads(window: Window) -> Iterator[tuple[Read, ...]]:
    """Sets of values that an output may be a function of, beside something hidden; the smallest first."""
    found: list[tuple[Read, ...]] = []
    for chosen in (_grown(window), *_blocks(window)):
        sets = [reads for size in range(1, len(chosen) + 1) for reads in combinations(sorted(chosen), size)]
        for reads in sets if len(chosen) <= MOST_READ else [tuple(sorted(chosen))]:
            if reads not in found:
                found.append(reads)
                yield reads


def _grown(window: Window) -> list[Read]:
    """Values one after another, each the one that tells most beside those before it."""
    reads = window.reads()
    chosen: list[Read] = []
    before = (0.0, 0.0)
    while len(chosen) < MOST_READ and not time_is_up():
        more = combinations(reads, 2) if not chosen else ((read,) for read in reads if read not in chosen)
        best: tuple[float, tuple[Read, ...], tuple[float, float]] | None = None
        for further in more:
            together = (*chosen, *further)
            if window.few_enough(together):
                told = window.counts(together).told()
                gain = (told[0] - told[1]) - (before[0] - before[1])
                if best is None or gain > best[0]:
                    best = gain, further, told
        if best is None or best[0] < BEYOND_CHANCE * np.sqrt(2 * max(best[2][1] - before[1], 1.0)):
            break
        chosen += best[1]
        before = best[2]
    return chosen


def _blocks(window: Window) -> Iterator[list[Read]]:
    """All inputs of the last few steps, if they tell something together."""
    inputs = len(window.problem.inputs)
    for lag in range(FARTHEST + 1):
        block = [(column, back) for back in range(lag + 1) for column in range(inputs)]
        if not window.few_enough(tuple(block)):
            return
        statistic, freedom = window.counts(tuple(block)).told()
        if statistic - freedom > BEYOND_CHANCE * np.sqrt(2 * freedom):
            yield block
