"""Which hypothesis is right? Heads are tested on validation sequences (paper, section 4.1).

Since values are copied unchanged, a hypothesis is right where it predicts the head's value; ties between
positions that hold the same value therefore do not count against it. The hypothesis with the highest
agreement wins, the simpler one where they are equal (a fixed offset and an extremum coincide on monotone
data).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.explain.by_value import decided
from weights2code.explain.hypotheses import HYPOTHESES, Hypothesis
from weights2code.graph import RouterNode

#: Share of positions that a hypothesis must predict.
LEAST_AGREEMENT = 0.99
#: The same for all positions together: where few have the full window, those that lack it count too.
LEAST_ANYWHERE = 0.25
#: An offset that a head selects at fewer positions than this share is left out.
RARE = 0.01


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

    @property
    def enough(self) -> bool:
        """Whether the hypothesis holds."""
        return self.anywhere >= LEAST_ANYWHERE and self.agreement >= LEAST_AGREEMENT


@dataclass(frozen=True, slots=True)
class RouterMatch:
    """A head and the hypothesis that it matched; None is an unmatched head.

    `runner_up` is the best of the hypotheses that were not taken. Of an unmatched head it is known at least
    which offsets it selects, `attended`.
    """

    hypothesis: Hypothesis | None
    evidence: Evidence | None = None
    runner_up: tuple[Hypothesis, Evidence] | None = None
    attended: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """What the head does, for people."""
        return self.hypothesis.describe() if self.hypothesis else "No hypothesis matches"

    @property
    def runner_up_words(self) -> str:
        """The best of the others with its agreement; empty if there is none."""
        return f"{self.runner_up[0].describe()} ({self.runner_up[1].agreement:.3f})" if self.runner_up else ""

    def or_nearest(self) -> RouterMatch:
        """The match, or the nearest hypothesis, for which there is no evidence."""
        return self if self.hypothesis or not self.runner_up else RouterMatch(self.runner_up[0])


def hypotheses(node: RouterNode, length: int, often: tuple[int, ...] = ()) -> Iterator[Hypothesis]:
    """Every hypothesis worth testing on a head, simplest first; most kinds of heads can be but one thing."""
    for kind in HYPOTHESES:
        yield from kind.candidates(node, length, often)


def evidence(
    hypothesis: Hypothesis, node: RouterNode, values: np.ndarray, actual: np.ndarray, first: int = 0
) -> Evidence:
    """Compare a hypothesis with what the head gives on a stream, `actual`, from position `first` on."""
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
    actual = node.compute(values)
    found = [
        (hypothesis, evidence(hypothesis, node, values, actual, first))
        for hypothesis in hypotheses(node, values.shape[1], attended(node, values, first))
    ]

    def rank(pair: tuple[Hypothesis, Evidence]) -> tuple[bool, float, float]:
        hardly_seen = pair[1].anywhere < LEAST_ANYWHERE
        return hardly_seen, -round(pair[1].agreement, 4), -round(pair[1].at_start, 4)

    return tuple(sorted(found, key=rank))


def match(node: RouterNode, values: np.ndarray, first: int = 0) -> RouterMatch:
    """What a head does on the stream (n, T, nodes), from position `first` on."""
    best, *others = compare_hypotheses(node, values, first)
    if best[1].enough:
        return RouterMatch(*best, others[0] if others else None)
    often = attended(node, values, first)
    tree = decided(node, values, often, first) if node.kind == "pointer" else None
    if tree is not None and (found := evidence(tree, node, values, node.compute(values), first)).enough:
        return RouterMatch(tree, found, best, often)
    return RouterMatch(None, None, best, often)


def attended(node: RouterNode, values: np.ndarray, first: int = 0) -> tuple[int, ...]:
    """The offsets that a pointer or equality head selects often, most frequent first; null has none."""
    if not node.facts.seeks:
        return ()
    place = node.selection(values)[:, first:]
    position = np.arange(first, first + place.shape[1])
    offsets, counts = np.unique((position - place)[place >= 0], return_counts=True)
    often = counts >= RARE * place.size
    return tuple(offsets[often][np.argsort(-counts[often], kind="stable")].tolist())
