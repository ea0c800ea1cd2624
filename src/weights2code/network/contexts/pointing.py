"""How far back a head looks that points by content: its scores are tabulated.

The score of a key is its content score, which depends on the query and the key alone, and a bias by offset,
which is the same for all offsets beyond the window that was learned. On finitely many values both are tables.
If for every query the worst score of some near offset, or the null slot, beats the best score of every offset
beyond a window, then what is selected lies inside the window, at every length.
"""

from __future__ import annotations

import numpy as np

from weights2code.graph import DiscreteGraph, RouterNode
from weights2code.network.contexts.scoring import SINGLE, Rounded, scores, uncertainty


def window_of(node: RouterNode, queries: Rounded, keys: Rounded) -> int | None:
    """How far back the selected position can lie, for these queries and keys; None if anywhere."""
    assert node.relative_bias is not None
    beyond = len(node.relative_bias) - 1  # from here on the bias is always the same
    query = queries[0][:, None], queries[1][:, None]
    key = keys[0][None, :], keys[1][None, :]
    table = np.stack([scores(node, query[0], key[0], back) for back in range(beyond + 1)])
    off = np.stack([uncertainty(node, query, key, back) for back in range(beyond + 1)])
    worst, best = (table - off).min(2), (table + off).max(2)  # offset, query
    null = node.null_score - SINGLE * abs(node.null_score)
    for window in range(beyond):
        sure = np.maximum(worst[: window + 1].max(0), null)
        if np.all(sure > best[window + 1 :].max(0)):
            return window
    return None


def windows_on(graph: DiscreteGraph, values: np.ndarray) -> dict[int, int] | None:
    """The window of every live head that points by content, on the stream (n, T, nodes) of some sequences.

    A guess as long as other values may turn up: `hold_on` checks it on all that did. None if one has none.
    """
    found: dict[int, int] = {}
    for index, node in seekers(graph):
        window = window_of(node, *_distinct(node, values))
        if window is None:
            return None
        found[index] = window
    return found


def seekers(graph: DiscreteGraph) -> list[tuple[int, RouterNode]]:
    """The live heads that point by content."""
    live = [(index, graph.nodes[index]) for index in graph.live()]
    return [(i, node) for i, node in live if isinstance(node, RouterNode) and node.facts.seeks]


def _distinct(node: RouterNode, values: np.ndarray) -> tuple[Rounded, Rounded]:
    query, key = (np.unique(values[..., node.reads[role]]) for role in ("query", "key"))
    return (query, np.zeros_like(query)), (key, np.zeros_like(key))
