"""Routing hypotheses: what does an attention head do? (paper, section 4.1 and appendix "Attention Patterns")

A head is tested against a list of hypotheses on validation sequences. Since values are copied unchanged, a
hypothesis is right where it predicts the head's value; ties between positions that hold the same value
therefore do not count against it. The hypothesis with the highest agreement wins, the simpler one where
they are equal (a fixed offset and an extremum coincide on monotone data). New hypotheses are one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Protocol

import numpy as np

from weights2code.graph import RouterNode, route, selection

#: Share of positions that a hypothesis must predict.
LEAST_AGREEMENT = 0.99
#: An offset that a head selects at fewer positions than this share is left out; of the others, so many are
#: tried in pairs.
RARE = 0.01
MOST_PAIRED = 5
#: The same for all positions together: where few have the full window, those that lack it count too.
LEAST_ANYWHERE = 0.25


@dataclass(frozen=True, slots=True)
class Evidence:
    """How well a hypothesis predicts a head.

    Parameters
    ----------
    agreement : share of positions predicted, where the hypothesis has its full window.
    at_start : the same for the positions before that.
    worst : lowest agreement of any single position t.
    positions : how many were looked at.
    anywhere : share of all of them that is predicted.
    """

    agreement: float
    at_start: float
    worst: float
    positions: int
    anywhere: float


class Hypothesis(Protocol):
    """One way a head may route."""

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        """The head's output (n, T) if the hypothesis holds, given the stream (n, T, nodes)."""
        ...

    def reach(self) -> int:
        """Positions before this one lack the full window."""
        ...

    def describe(self) -> str:
        """A few words, as in the paper's listings."""
        ...


@dataclass(frozen=True, slots=True)
class Nothing:
    """The null slot everywhere: the head gives its start value."""

    start: float = 0.0

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        return np.full(values.shape[:2], self.start)

    def reach(self) -> int:
        return 0

    def describe(self) -> str:
        return "Nothing (null slot)"


@dataclass(frozen=True, slots=True)
class FixedOffset:
    """The value `offset` steps back; `start` before the start."""

    offset: int
    start: float = 0.0

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        value = values[..., node.reads["value"]]
        out = np.full(value.shape, self.start)
        if self.offset < value.shape[1]:
            out[:, self.offset :] = value[:, : value.shape[1] - self.offset]
        return out

    def reach(self) -> int:
        return self.offset

    def describe(self) -> str:
        return f"Fixed offset {self.offset}"


def _extremum(value: np.ndarray, offsets: Sequence[int], largest: bool) -> np.ndarray:
    """The largest (or smallest) of the values at some offsets, of those that lie inside the sequence."""
    length, pick = value.shape[1], np.maximum if largest else np.minimum
    out = np.full_like(value, -np.inf if largest else np.inf)
    for offset in offsets:
        if offset < length:
            out[:, offset:] = pick(out[:, offset:], value[:, : length - offset])
    return out


@dataclass(frozen=True, slots=True)
class WindowedExtremum:
    """The largest (or smallest) of the last `window` values; None is all so far.

    The window is shorter at the start; with `zero_before` there are zeros before the start, as where the
    null slot takes part.
    """

    window: int | None
    largest: bool
    zero_before: bool = False

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        value = values[..., node.reads["value"]]
        pick = np.maximum if self.largest else np.minimum
        if self.window is None:
            return pick.accumulate(value, axis=1)
        out = _extremum(value, range(self.window), self.largest)
        if self.zero_before:
            out[:, : self.window - 1] = pick(out[:, : self.window - 1], 0.0)
        return out

    @property
    def offsets(self) -> tuple[int, ...] | None:
        """What it compares; None if that grows with the sequence."""
        return None if self.window is None else tuple(range(self.window))

    def reach(self) -> int:
        return 0 if self.window is None else self.window - 1

    def describe(self) -> str:
        name = "maximum" if self.largest else "minimum"
        before = ", 0 before the start" if self.zero_before else ""
        return f"Prefix {name}" if self.window is None else f"Windowed {name} {self.window}{before}"


@dataclass(frozen=True, slots=True)
class OffsetExtremum:
    """The larger (or smaller) of the values at two offsets; what lies before the start does not count.

    Where inputs and outputs are one sequence, x[t] and y[t-1] are neighbours only in time: the larger of
    the two less the smaller is how such models compute a parity.
    """

    offsets: tuple[int, ...]
    largest: bool

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        return _extremum(values[..., node.reads["value"]], self.offsets, self.largest)

    def reach(self) -> int:
        return max(self.offsets)

    def describe(self) -> str:
        name = "Maximum" if self.largest else "Minimum"
        return f"{name} of offsets {' and '.join(map(str, self.offsets))}"


@dataclass(frozen=True, slots=True)
class EqualityRetrieval:
    """The value at the last position, `gap` or more steps back, whose key equals the query; else 0."""

    gap: int

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        query, key, value = (values[..., node.reads[role]] for role in ("query", "key", "value"))
        length = value.shape[1]
        out = np.zeros(value.shape)
        # Scale-free equality: the stream holds exact multiples, or values of one formula.
        span = max(float(np.ptp(key)), 1e-12)
        for t in range(length):
            for s in range(t - self.gap + 1):
                same = np.abs(key[:, s] - query[:, t]) < 1e-6 * span
                out[:, t] = np.where(same, value[:, s], out[:, t])
        return out

    def reach(self) -> int:
        return 0

    def describe(self) -> str:
        return "Equality retrieval" + (f" at least {self.gap} back" if self.gap else "")


@dataclass(frozen=True, slots=True)
class PrefixAggregate:
    """The mean or the sum of everything so far."""

    mean: bool

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        total = np.cumsum(values[..., node.reads["value"]], 1)
        return total / np.arange(1, total.shape[1] + 1) if self.mean else total

    def reach(self) -> int:
        return 0

    def describe(self) -> str:
        return "Prefix mean" if self.mean else "Prefix sum"


def hypotheses(node: RouterNode, length: int) -> Iterator[Hypothesis]:
    """Every hypothesis worth testing on a head, simplest first."""
    if node.kind == "location":
        yield Nothing(node.start) if node.offset is None else FixedOffset(node.offset, node.start)
        return
    if node.kind in ("mean", "sum"):
        yield PrefixAggregate(node.kind == "mean")
        return
    if node.kind in ("max", "min"):
        yield WindowedExtremum(None, node.kind == "max")
        return
    yield Nothing()
    yield from (FixedOffset(offset) for offset in range(length))
    for window in (*range(2, length), None):
        yield from (WindowedExtremum(window, largest) for largest in (True, False))
        if window is not None:
            yield from (WindowedExtremum(window, largest, zero_before=True) for largest in (True, False))
    yield from (EqualityRetrieval(gap) for gap in (0, 1))
    yield from (PrefixAggregate(mean) for mean in (True, False))


def _pairs(node: RouterNode, values: np.ndarray, first: int) -> Iterator[Hypothesis]:
    """Extrema of the present and what a content-seeking head often selects, two at a time."""
    if node.kind != "pointer":
        return
    offsets = sorted({0, *attended(node, values, first)[:MOST_PAIRED]})
    for pair in combinations(offsets, 2):
        if pair != (0, 1):  # that is a window
            yield from (OffsetExtremum(pair, largest) for largest in (True, False))


def evidence(hypothesis: Hypothesis, node: RouterNode, values: np.ndarray, first: int = 0) -> Evidence:
    """Compare a hypothesis with the head, on the stream of validation sequences, from position `first` on."""
    actual = route(node, values)
    span = max(float(np.ptp(actual)), 1e-12)
    right = (np.abs(hypothesis.predict(node, values) - actual) < 1e-6 * span)[:, first:]
    reach = min(max(hypothesis.reach() - first, 0), right.shape[1])
    full, early = right[:, reach:], right[:, :reach]
    return Evidence(
        float(full.mean()) if full.size else 0.0,
        float(early.mean()) if early.size else 1.0,
        float(full.mean(0).min()) if full.size else 0.0,
        int(right.size),
        float(right.mean()),
    )


def compare_hypotheses(
    node: RouterNode, values: np.ndarray, first: int = 0
) -> tuple[tuple[Hypothesis, Evidence], ...]:
    """All hypotheses with their evidence, best first; among equals the simpler one, as listed.

    Positions before `first` do not count: what a head does there has no effect.
    """
    length = values.shape[1]
    found = [
        (hypothesis, evidence(hypothesis, node, values, first))
        for hypothesis in chain(hypotheses(node, length), _pairs(node, values, first))
    ]

    def rank(pair: tuple[Hypothesis, Evidence]) -> tuple[bool, float, float]:
        hardly_seen = pair[1].anywhere < LEAST_ANYWHERE
        return hardly_seen, -round(pair[1].agreement, 4), -round(pair[1].at_start, 4)

    return tuple(sorted(found, key=rank))


def match(node: RouterNode, values: np.ndarray, first: int = 0) -> tuple[Hypothesis, Evidence] | None:
    """The winning hypothesis, or None for an unmatched head."""
    best = compare_hypotheses(node, values, first)[0]
    seen = best[1].anywhere >= LEAST_ANYWHERE
    return best if seen and best[1].agreement >= LEAST_AGREEMENT else None


def attended(node: RouterNode, values: np.ndarray, first: int = 0) -> tuple[int, ...]:
    """The offsets that a pointer or equality head selects often, most frequent first; null has none."""
    place = selection(node, values)[:, first:]
    position = np.arange(first, first + place.shape[1])
    offsets, counts = np.unique((position - place)[place >= 0], return_counts=True)
    often = [
        (count, offset) for count, offset in zip(counts, offsets, strict=True) if count >= RARE * place.size
    ]
    return tuple(int(offset) for _, offset in sorted(often, key=lambda pair: (-pair[0], pair[1])))
