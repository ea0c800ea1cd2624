"""Attention patterns: where each live head looks, averaged over sequences (paper, "Attention Patterns")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weights2code.explain.routing import hypotheses
from weights2code.graph import RouterNode
from weights2code.report.svg import Drawing, heat, number, positions, text

#: Positions shown; a pattern that repeats needs no more.
SHOWN = 24
CELL = 14.0


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
    """The pattern of one head, as far as it is shown."""
    shown = min(len(matrix), SHOWN)
    strongest = matrix[-1].argmax() if len(matrix) else 0
    where = "the null slot" if strongest == matrix.shape[1] - 1 else f"position {strongest}"
    told = (
        f"{hypothesis}. The last of {len(matrix)} positions reads mostly {where} "
        f"(weight {number(float(matrix[-1].max()), 3)})."
    )
    part = np.column_stack([matrix[:shown, :shown], matrix[:shown, -1]])
    title = f"Attention pattern of {node.name}"
    return replace(heat_maps(f"attention_{node.name}", title, [("", hypothesis, part)]), description=told)


def heat_maps(name: str, title: str, maps: Sequence[tuple[str, str, np.ndarray]]) -> Drawing:
    """Matrices of weights: a row a query position t, a column a key position s, one more at the right the
    null slot; two side by side.

    Parameters
    ----------
    maps : (heading, words below it, weights); the darkest cell of each map is its largest weight.
    """
    gap, left, top, columns = 84.0, 34.0, 64.0, 2
    side = max((len(matrix) for *_, matrix in maps), default=1) * CELL
    parts = []
    for index, (heading, words, matrix) in enumerate(maps):
        x, y = left + (index % columns) * (side + gap), top + (index // columns) * (side + gap)
        parts += [
            text(x, y - 40, heading, "panel-title"),
            text(x, y - 24, words, "tick"),
            heat(matrix, x, y, (CELL, CELL), 0.0, max(float(matrix.max()), 1e-9)),
            positions(x, y, len(matrix), 3, CELL),
        ]
        if matrix.shape[1] > len(matrix):
            parts.append(text(x + (len(matrix) + 0.5) * CELL, y - 6, "null", "tick"))
    rows, across = -(-len(maps) // columns), min(columns, max(len(maps), 1))
    spoken = "; ".join(f"{heading}: {words}" for heading, words, _ in maps)
    width, height = left + across * (side + gap) - gap + 60, top + rows * (side + gap) - gap + 24
    parts.append(text(left, height - 6, "rows: at position t; columns: read from position s", "tick"))
    return Drawing(name, max(width, 360.0), height, "".join(parts), title, spoken)
