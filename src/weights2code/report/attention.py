"""Attention patterns: where each live head looks, averaged over sequences (paper, "Attention Patterns")."""

from __future__ import annotations

import numpy as np

from weights2code.explain.routing import hypotheses
from weights2code.graph import RouterNode
from weights2code.report.svg import Drawing, beside, heat, number, positions, text

#: Positions shown; a pattern that repeats needs no more.
SHOWN = 24
CELL, SMALL_CELL = 15.0, 11.0


def pattern(node: RouterNode, values: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Mean weight (T, T + 1) that position t gives to position s; the last column is the null slot."""
    length = values.shape[1]
    if node.facts.seeks:
        places = node.selection(values)
        places = np.where(places < 0, length, places)
    elif node.kind in ("max", "min"):
        places = _extremum(values[..., node.reads["value"]] * (1 if node.kind == "max" else -1))
    else:
        certain = next(hypotheses(node, length)).pattern(node, values)
        assert certain is not None
        return np.column_stack([certain, np.maximum(1 - certain.sum(1), 0)])
    matrix = np.zeros((length, length + 1))
    for t in range(length):
        seen = places[valid[:, t], t]
        matrix[t] = np.bincount(seen, minlength=length + 1) / max(len(seen), 1)
    return matrix


def _extremum(value: np.ndarray) -> np.ndarray:
    """The position (n, T) of the largest value so far, the newest among equals."""
    length = value.shape[1]
    newest = np.maximum.accumulate(value, 1) == value
    return np.maximum.accumulate(np.where(newest, np.arange(length), 0), 1)


def attention_drawing(node: RouterNode, matrix: np.ndarray, hypothesis: str) -> Drawing:
    """The pattern as a heat map: one row a query position, one column a key position, null at the right."""
    shown = min(len(matrix), SHOWN)
    cell = CELL if shown <= 12 else SMALL_CELL
    left, top = 40.0, 30.0
    width, gap = shown * cell, 6.0
    parts = [
        heat(matrix[:shown, :shown], left, top, (cell, cell), 0.0, 1.0),
        heat(matrix[:shown, -1:], left + width + gap, top, (cell, cell), 0.0, 1.0),
    ]
    parts.append(positions(left, top, shown, 1 if shown <= 10 else 4, cell))
    parts.append(text(left + width + gap + cell / 2, top - 6, "null", "tick middle"))
    parts.append(text(left + width / 2, 10, "read from position s", "tick middle"))
    parts.append(beside(10, top + width / 2, "at position t"))
    strongest = matrix[-1].argmax() if len(matrix) else 0
    where = "the null slot" if strongest == matrix.shape[1] - 1 else f"position {strongest}"
    return Drawing(
        f"attention_{node.name}",
        left + width + gap + cell + 14,
        top + width + 8,
        "".join(parts),
        f"Attention pattern of {node.name}",
        f"{hypothesis}. The last of {len(matrix)} positions reads mostly {where} "
        f"(weight {number(float(matrix[-1].max()), 3)}).",
    )
