"""The kinds of attention heads: what stands here is said nowhere else, neither of the model nor of its graph.

Numerical attention (paper, section 3.2) adds a content score and a position score; a location head has the
second alone, and aggregates (appendix) have none. The table needs no torch, so that graphs do not either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The name of a kind: one of `BUILT_IN`, or one of the user's own (`explain.own_heads`).
HeadKind = str

#: How strongly an equality head's content score falls with the squared distance of query and key, at least,
#: and by how much it prefers newer positions among equal ones (less than any learned bias matters).
EQUALITY_SHARPNESS = 1e7
RECENCY = 1e-3
#: What the content score of the nearest two different keys falls by, at least, and the sharpest that a head
#: is, so that scores stay finite in single precision.
LEAST_FALL = 1e3
SHARPEST = 1e36
#: Subtracted from the bias of a forbidden offset: finite, since a matrix product spreads it over positions.
FORBIDDEN = 1e6


def sharpness_for(keys: np.ndarray) -> float:
    """How sharply equality heads compare where `keys` come up: sharp enough to tell all of them apart."""
    spacing = float(np.min(np.diff(np.unique(keys)), initial=np.inf))
    return max(EQUALITY_SHARPNESS, min(LEAST_FALL / spacing / spacing, SHARPEST))


def prefix_mean(values: np.ndarray) -> np.ndarray:
    """The mean (n, T) of everything so far."""
    return np.cumsum(values, 1) / np.arange(1, values.shape[1] + 1)


@dataclass(frozen=True, slots=True)
class HeadFacts:
    """One kind of head.

    Parameters
    ----------
    reads : the roles of what it reads.
    weights : what it has learned for itself, beside its choices; every head that seeks has a null score.
    aggregate : of values (n, T) so far, where that is what it gives.
    tensors : the same on values (member, head, pos, batch), of a kind of the user's own.
    own : whether it is one; no proof of a network knows such heads.
    """

    reads: tuple[str, ...] = ("value",)
    weights: tuple[str, ...] = ()
    aggregate: Callable[[np.ndarray], np.ndarray] | None = None
    tensors: Callable[[Any], Any] | None = None
    own: bool = False

    @property
    def seeks(self) -> bool:
        """Whether it selects positions by what they hold."""
        return "query" in self.reads


_SOUGHT = ("query", "key", "value")

#: In the order in which the heads of a layer enter the stream.
HEADS: dict[HeadKind, HeadFacts] = {
    "location": HeadFacts(),
    "pointer": HeadFacts(_SOUGHT, ("relative_bias", "query_table", "key_table")),
    "equality": HeadFacts(_SOUGHT, ("relative_bias",)),
    "mean": HeadFacts(aggregate=prefix_mean),
    "sum": HeadFacts(aggregate=lambda values: np.cumsum(values, 1)),
    "max": HeadFacts(aggregate=lambda values: np.maximum.accumulate(values, axis=1)),
    "min": HeadFacts(aggregate=lambda values: np.minimum.accumulate(values, axis=1)),
}
BUILT_IN: tuple[HeadKind, ...] = tuple(HEADS)
AGGREGATES: tuple[HeadKind, ...] = tuple(kind for kind, facts in HEADS.items() if facts.aggregate)
