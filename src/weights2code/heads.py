"""The kinds of attention heads: what stands here is said nowhere else, neither of the model nor of its graph.

Numerical attention (paper, section 3.2) adds a content score and a position score; a location head has the
second alone, aggregates (appendix) have none, and heads that count add up ones where the content compares so
with the present value. The table needs no torch, so that graphs do not either.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

#: How numbers compare, by the names of operators.
Relation = Literal["lt", "le", "eq", "ge", "gt"]
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
    relation : how keys so far compare with the present value, by the name of an operator, where it counts
        those that do.
    tensors : the same on values (member, head, pos, batch), of a kind of the user's own.
    own : whether it is one; no proof of a network knows such heads.
    step, start : what an aggregate gives now, as a formula of what it gave last and of the value now, where
        plain arithmetic says it, and what it gives before the first position.
    words : what it makes of everything so far, where that is no choice of positions.
    """

    reads: tuple[str, ...] = ("value",)
    weights: tuple[str, ...] = ()
    aggregate: Callable[[np.ndarray], np.ndarray] | None = None
    relation: Relation | None = None
    tensors: Callable[[Any], Any] | None = None
    own: bool = False
    step: Callable[[Any, Any], Any] | None = None
    start: float = 0.0
    words: str = ""

    @property
    def seeks(self) -> bool:
        """Whether it selects positions by what they hold."""
        return "query" in self.reads


def count_at(relation: Relation, keys: np.ndarray, value: np.ndarray) -> np.ndarray:
    """How many keys (n, T) compare so with one value (n,)."""
    return getattr(operator, relation)(keys, value[:, None]).sum(axis=1).astype(float)


def count_of(relation: Relation, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How many keys (n, T) so far compare so with the value (n, T) at each position."""
    found = [count_at(relation, keys[:, : t + 1], values[:, t]) for t in range(keys.shape[1])]
    return np.stack(found, axis=1) if found else np.zeros(values.shape)


_SOUGHT, _COUNTED = ("query", "key", "value"), ("key", "value")

#: In the order in which the heads of a layer enter the stream.
HEADS: dict[HeadKind, HeadFacts] = {
    "location": HeadFacts(),
    "pointer": HeadFacts(_SOUGHT, ("relative_bias", "query_table", "key_table")),
    "equality": HeadFacts(_SOUGHT, ("relative_bias",)),
    "mean": HeadFacts(aggregate=prefix_mean, words="Prefix mean"),
    "sum": HeadFacts(aggregate=lambda values: np.cumsum(values, 1), step=operator.add, words="Prefix sum"),
    "max": HeadFacts(aggregate=lambda values: np.maximum.accumulate(values, axis=1), start=-np.inf),
    "min": HeadFacts(aggregate=lambda values: np.minimum.accumulate(values, axis=1), start=np.inf),
    "less": HeadFacts(_COUNTED, relation="lt", words="Count of keys < the value"),
    "at_most": HeadFacts(_COUNTED, relation="le", words="Count of keys <= the value"),
    "same": HeadFacts(_COUNTED, relation="eq", words="Count of keys == the value"),
    "at_least": HeadFacts(_COUNTED, relation="ge", words="Count of keys >= the value"),
    "more": HeadFacts(_COUNTED, relation="gt", words="Count of keys > the value"),
}
BUILT_IN: tuple[HeadKind, ...] = tuple(HEADS)
#: Those that count keys.
COUNTS: tuple[HeadKind, ...] = tuple(kind for kind, facts in HEADS.items() if facts.relation)
