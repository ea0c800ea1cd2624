"""What a network does with something else in the place of some heads, judged on fresh sequences.

With past outputs given, and free-running where the network itself computes the task so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.experiments.head_reasons import FITS_LOSS, FITS_RIGHT, MORE_WRONG, MOST_MOVED
from weights2code.experiments.jobs import Row
from weights2code.experiments.measures import fresh
from weights2code.graph import DiscreteGraph
from weights2code.graph.machine import rounded
from weights2code.graph.pruning import FACTOR, HARMLESS, NOTICEABLE

#: Sequences that everything is judged on, and those of them that are run free.
JUDGED, RUN_FREE = 512, 128
#: What diverges is held here, so that it stays a number.
LARGEST = 1e30

Instead = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Score:
    """Loss relative to the variance, and the share of outputs that round right, where they are whole."""

    loss: float
    right: float | None

    @property
    def fits(self) -> bool:
        """Whether that is the task."""
        return self.loss <= FITS_LOSS if self.right is None else self.right >= FITS_RIGHT

    def as_right(self, other: Score) -> bool:
        """Whether another network is as right as this one.

        On reals that is the bound of pruning: the loss may double, but not rise by a noticeable part of the
        variance.
        """
        if self.right is not None and other.right is not None:
            return other.right >= self.right - MORE_WRONG
        return other.loss <= max(min(FACTOR * self.loss, self.loss + NOTICEABLE), HARMLESS)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A graph with something else in the place of some heads."""

    graph: DiscreteGraph
    instead: Mapping[int, Instead] = field(default_factory=dict)

    def with_instead(self, index: int, give: Instead) -> Network:
        return replace(self, instead={**self.instead, index: give})

    def stream(self, sequences: Sequences) -> np.ndarray:
        """The stream, past outputs given."""
        with np.errstate(all="ignore"):
            return self.graph.stream(self.graph.encode(sequences)[0], self.instead)

    def answers(self, values: np.ndarray, length: int) -> np.ndarray:
        """The outputs (n, length, outputs), in the user's units, of a stream."""
        head = self.graph.head
        with np.errstate(all="ignore"):
            out = values[:, -length:] @ head[:, :-1].T + head[:, -1]
            return out * np.array(self.graph.layout.output_scales)

    def free(self, x: np.ndarray, past: np.ndarray, *, whole: bool) -> np.ndarray:
        """The outputs where the past ones are the network's own, rounded if they are whole.

        Those of the first positions, where nothing is scored, it never learned: they are given, in `past`.
        """
        length, past = x.shape[1], past.copy()
        for t in range(self.graph.layout.first_scored, length):
            channels = self.graph.encode(_sequences(x, past))[0]
            with np.errstate(all="ignore"):
                values = self.graph.stream(channels[:, : channels.shape[1] - length + t + 1], self.instead)
                answer = self.answers(values, 1)[:, 0]
                past[:, t] = np.nan_to_num(np.clip(rounded(answer) if whole else answer, -LARGEST, LARGEST))
        return past


def judged_on(problem: Problem, seed: int) -> Sequences:
    """Sequences of a task that nothing was learned from."""
    x, y = fresh(problem, JUDGED, seed)
    return _sequences(np.asarray(x, float), np.asarray(y, float))


def _sequences(x: np.ndarray, y: np.ndarray) -> Sequences:
    return Sequences(x, y, np.full(len(x), x.shape[1]))


@dataclass(frozen=True, eq=False)
class Judge:
    """Fresh sequences, whether their outputs are whole numbers, and a network that others are compared
    with."""

    network: Network
    sequences: Sequences
    whole: bool

    def given(self, network: Network) -> np.ndarray:
        """Outputs with the past ones given, where they are scored."""
        values = network.stream(self.sequences)
        return self.scored(network.answers(values, self.sequences.x.shape[1]))

    def free(self, network: Network) -> np.ndarray:
        """The same free-running; where nothing is fed back, that is the same."""
        if network.graph.layout.name == "tagging":
            return self.given(network)[:RUN_FREE]
        some = self.sequences.take(slice(0, RUN_FREE))
        return self.scored(network.free(some.x, some.y, whole=self.whole))

    def scored(self, outputs: np.ndarray) -> np.ndarray:
        return outputs[:, self.network.graph.layout.first_scored :]

    @cached_property
    def wanted(self) -> np.ndarray:
        return self.scored(self.sequences.y)

    @cached_property
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """What the network itself gives, with the past given and free-running."""
        return self.given(self.network), self.free(self.network)

    @cached_property
    def own_scores(self) -> tuple[Score, Score]:
        given, free = self.own
        return self.score(given), self.score(free)

    def score(self, outputs: np.ndarray) -> Score:
        wanted = self.wanted[: len(outputs)]
        loss = self.distance(outputs, wanted)
        with np.errstate(all="ignore"):
            right = float(np.mean(np.abs(outputs - wanted) < 0.5)) if self.whole else None
        return Score(loss, right)

    def distance(self, one: np.ndarray, other: np.ndarray) -> float:
        """The mean squared difference relative to the variance of the right outputs."""
        variance = np.maximum(np.var(self.wanted, axis=(0, 1)), 1e-300)
        with np.errstate(all="ignore"):
            found = float(np.mean((one - other) ** 2 / variance))
        return found if np.isfinite(found) else 1e300

    @property
    def fits(self) -> bool:
        """Whether the network computes the task, with past outputs given."""
        return self.own_scores[0].fits

    def as_right(self, network: Network) -> bool:
        """Whether another network is as right as this one, both ways.

        What the network does free-running counts only if it computes the task so. Where it does not compute
        the task at all, being as right says little: its outputs must stay where they are.
        """
        given, free = self.own_scores
        outputs = self.given(network)
        if not given.fits:
            return self.distance(outputs, self.own[0]) <= MOST_MOVED
        if not given.as_right(self.score(outputs)):
            return False
        alike = network.graph.layout.name == "tagging" or not free.fits
        return alike or free.as_right(self.score(self.free(network)))

    def scores(self, network: Network) -> Row:
        """The numbers of a network for the record."""
        given, free = self.score(self.given(network)), self.score(self.free(network))
        return {"loss": given.loss, "right": given.right, "free_loss": free.loss, "free_right": free.right}

    def effect(self, network: Network) -> Row:
        """What a network does otherwise than this one, past outputs given: the change of the loss, and the
        share of whole outputs that round otherwise."""
        outputs, own = self.given(network), self.own[0]
        with np.errstate(all="ignore"):
            changed = float(np.mean(rounded(outputs) != rounded(own))) if self.whole else None
        return {"loss": self.score(outputs).loss - self.own_scores[0].loss, "changed": changed}
