"""What a head that points by content gives a key, and how far rounding can move that.

Which position is selected must not depend on rounding, in float32 no more than in float64: one is clearly the
best if it stays so when every score moves by as much as it can in float32.
"""

from __future__ import annotations

import numpy as np

from weights2code.graph import RouterNode
from weights2code.graph.graph import encode
from weights2code.heads import RECENCY

#: Unit of rounding in float32.
SINGLE = 2.0**-24
#: A value of each context, and its sensitivity to rounding.
Rounded = tuple[np.ndarray, np.ndarray]


def scores(node: RouterNode, query: np.ndarray, key: np.ndarray, back: int) -> np.ndarray:
    """What a head that points by content gives a key so many positions back."""
    assert node.relative_bias is not None
    bias = node.relative_bias[min(back, len(node.relative_bias) - 1)]
    if node.kind == "equality":
        return bias - node.sharpness * (query - key) ** 2 - RECENCY * back
    assert node.query_table is not None
    assert node.key_table is not None
    encoded = encode(query, node.query_table, node.value_range) * encode(
        key, node.key_table, node.value_range
    )
    return bias + encoded.sum(-1) / np.sqrt(node.query_table.shape[1])


def uncertainty(node: RouterNode, query: Rounded, key: Rounded, back: int) -> np.ndarray:
    """By how much rounding in float32 can move such a score, at most."""
    assert node.relative_bias is not None
    bias = abs(float(node.relative_bias[min(back, len(node.relative_bias) - 1)]))
    if node.kind == "equality":
        distance = np.abs(query[0] - key[0])
        off = SINGLE * (query[1] + key[1] + np.abs(query[0]) + np.abs(key[0]) + distance)
        off = np.where((query[0] == key[0]) & (query[1] + key[1] == 0), 0.0, off)  # equal is equal
        moved = node.sharpness * (2 * distance * off + off**2)
        return moved + 8 * SINGLE * (bias + node.sharpness * (distance + off) ** 2 + RECENCY * back)
    assert node.query_table is not None
    assert node.key_table is not None
    one, one_off = _encoded(query, node.query_table, node.value_range)
    other, other_off = _encoded(key, node.key_table, node.value_range)
    width = node.query_table.shape[1]
    size = (np.abs(one) * np.abs(other)).sum(-1)
    moved = (np.abs(one) * other_off + one_off * np.abs(other) + one_off * other_off).sum(-1)
    return (moved + SINGLE * (width + 6) * (size + moved)) / np.sqrt(width) + 4 * SINGLE * bias


def _encoded(
    value: Rounded, table: np.ndarray, value_range: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """What a table gives, and by how much rounding moves it: the table is as steep as its steepest piece."""
    low, high = value_range
    a_unit = (len(table) - 1) / (high - low)
    place = SINGLE * a_unit * (value[1] + 8 * (np.abs(value[0]) + abs(low) + abs(high)))
    steepest = np.abs(np.diff(table, axis=0)).max(0)
    largest = np.abs(table).max(0)
    return encode(value[0], table, value_range), place[..., None] * steepest + 6 * SINGLE * largest
