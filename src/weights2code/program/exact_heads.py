"""What a head that seeks by content is, exactly: an offset, an extremum or a lookup if that is certain.

Scores depend on finitely many pairs of values, or lie between those of the corners of the encoding, and on
finitely many offsets. So a rule is certain if its worst score beats every other's best, at every length.
Where none is, the head is listed as what it is: scores of pairs, or of corners with what lies in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weights2code.explain.possible_values import Possible
from weights2code.graph import RouterNode
from weights2code.graph.graph import encode
from weights2code.graph.raw_nodes import RawNode, Scores
from weights2code.heads import RECENCY
from weights2code.language import Const, Var

#: More scores than this are not written down pair by pair.
MOST_PAIRS = 150
#: A score that is larger by so much of the largest is larger, whatever rounding does.
CERTAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Read:
    """What a head reads in a role: its name in the listing, its unit, and what it may hold."""

    name: str
    source: int
    unit: float
    possible: Possible

    @property
    def scaled(self) -> np.ndarray | None:
        """All values as the head sees them."""
        return None if self.possible.values is None else np.array(self.possible.values) / self.unit


def exact_head(node: RouterNode, reads: Mapping[str, Read], comment: str = "") -> tuple[RawNode, ...]:
    """The lines of a pointer or equality head; the last has its name. `comment` is for scores as they are."""
    find = _equality if node.kind == "equality" else _pointer
    certain = find(node, reads)
    if certain:
        return certain
    names = tuple(reads[role].name for role in ("key", "value", "query"))
    return (RawNode(node.name, "seek", names, scores=_scores(node, reads), comment=comment),)


def _scores(node: RouterNode, reads: Mapping[str, Read]) -> Scores:
    assert node.relative_bias is not None
    query, key = reads["query"], reads["key"]
    bias = tuple(node.relative_bias.tolist())
    if node.kind == "equality":
        return Scores(bias, node.null_score, sharpness=node.sharpness, units=(query.unit, key.unit))
    table = _pair_scores(node, query, key)
    if table is not None and table.size <= MOST_PAIRS:
        asked, held = query.possible.values or (), key.possible.values or ()
        pairs = ((q, k, float(table[i, j])) for i, q in enumerate(asked) for j, k in enumerate(held))
        return Scores(bias, node.null_score, pairs=tuple(pairs))
    corners = tuple(map(tuple, _corner_scores(node).tolist()))
    low, high = node.value_range
    spans = (low * query.unit, high * query.unit), (low * key.unit, high * key.unit)
    return Scores(bias, node.null_score, corners=corners, spans=spans)


def _pair_scores(node: RouterNode, query: Read, key: Read) -> np.ndarray | None:
    """The content score of each query and key that can occur, (queries, keys)."""
    if query.scaled is None or key.scaled is None:
        return None
    assert node.query_table is not None
    assert node.key_table is not None
    one = encode(query.scaled, node.query_table, node.value_range)
    many = encode(key.scaled, node.key_table, node.value_range)
    return _products(one, many)


def _corner_scores(node: RouterNode) -> np.ndarray:
    """The same at the corners of the encoding; in between, scores are linear in the query and in the key."""
    assert node.query_table is not None
    assert node.key_table is not None
    return _products(node.query_table, node.key_table)


def _products(one: np.ndarray, many: np.ndarray) -> np.ndarray:
    """Every row with every other, added up in order, so that every machine gives the same digits."""
    return np.cumsum(one[:, None, :] * many[None, :, :], axis=-1)[..., -1] / np.sqrt(one.shape[1])


# -- pointer heads -------------------------------------------------------------------------------------------


def _pointer(node: RouterNode, reads: Mapping[str, Read]) -> tuple[RawNode, ...]:
    """An offset or a windowed extremum, if that is what the head selects for certain."""
    assert node.relative_bias is not None
    bias, null, value = node.relative_bias, node.null_score, reads["value"].name
    scores = pairs = _pair_scores(node, reads["query"], reads["key"])
    if scores is None:  # the extremes lie at the corners
        scores = _corner_scores(node)
    margin = CERTAIN * float(max(np.abs(scores).max(), np.abs(bias).max(), abs(null), 1.0))
    worst, best = scores.min(1), scores.max(1)
    if best.max() + bias.max() < null - margin:
        return (RawNode(node.name, "formula", formula=Const(0), comment="nothing (null slot)"),)
    for offset in range(len(bias) - 1):  # the last bias is that of many offsets
        other = np.delete(bias, offset).max()
        nothing_before = offset == 0 or best.max() + bias[:offset].max() < null - margin
        taken = worst.min() + bias[offset] >= null + margin
        if nothing_before and taken and (worst + bias[offset] > best + other + margin).all():
            return (RawNode(node.name, "offset", (value,), offset=offset),)
    if pairs is None or reads["key"].source != reads["value"].source:
        return ()
    found = _extremum(np.diff(pairs, axis=1), worst, best, bias, null, margin)
    if found is None:
        return ()
    window, largest = found
    return (RawNode(node.name, "extremum", (value,), window=window, largest=largest),)


def _extremum(
    rises: np.ndarray, worst: np.ndarray, best: np.ndarray, bias: np.ndarray, null: float, margin: float
) -> tuple[int | None, bool] | None:
    """The window and the direction of a head whose score rises, or falls, with what it would read.

    `rises` are the differences of scores from each key to the next larger one.
    """
    if worst.min() + bias[0] < null + margin:
        return None
    for window in range(2, len(bias) + 1):
        near, far = bias[:window], bias[window:]
        if far.size and not (worst + bias[0] > best + far.max() + margin).all():
            continue
        least = np.ptp(near) + margin
        for largest in (True, False):
            if ((rises if largest else -rises) > least).all():
                return (window if far.size else None), largest
    return None


# -- equality heads ------------------------------------------------------------------------------------------


def _equality(node: RouterNode, reads: Mapping[str, Read]) -> tuple[RawNode, ...]:
    """A lookup: the newest equal key, from some offset on and back to the last that beats nothing at all."""
    query, key = reads["query"], reads["key"]
    if query.scaled is None or key.scaled is None or node.relative_bias is None:
        return ()
    bias, null = node.relative_bias, node.null_score
    distance = np.abs(query.scaled[:, None] - key.scaled[None, :])
    apart = float(np.min(distance, initial=np.inf, where=distance > 0))
    margin = CERTAIN * max(float(np.abs(bias).max()), abs(null), 1.0)
    if -node.sharpness * apart**2 + bias.max() >= null - margin:
        return ()  # keys that are near would do as well
    last = len(bias) - 1

    def score(offset: int) -> float:
        return -0.0 - RECENCY * offset + bias[min(offset, last)]

    equal = np.array([score(offset) for offset in range(len(bias))])
    gap = next((offset for offset in range(len(bias)) if equal[offset] >= null), None)
    if gap is None or (np.diff(equal[gap:]) >= 0).any():
        return ()
    oldest = max(offset for offset in range(len(bias)) if equal[offset] >= null)
    if oldest == last:
        oldest = max(last, int((bias[last] - null) / RECENCY) + 1)
        while score(oldest) < null:
            oldest -= 1
    scaled: tuple[RawNode, ...] = ()
    name, factor = query.name, key.unit / query.unit
    if factor != 1:
        name = f"{node.name}_query"
        scaled = (RawNode(name, "formula", formula=Var(query.name) * factor),)
    names = (key.name, reads["value"].name, name)
    return (*scaled, RawNode(node.name, "retrieval", names, offset=gap, window=oldest))
