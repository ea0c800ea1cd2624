"""Affine functions of the operands, with the numbers that a noisy fit leaves open: the plainest ones.

The weights of an affine gauge are known up to a common factor, and only so well. The largest weight is
called 1, 2, 3, ... in turn, and the first that makes the others whole numbers, or short decimals, wins.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.language import Number
from weights2code.symbolic.notation import simplest_between

#: What the largest weight may be.
_LARGEST = (1, 2, 3, 4, 5, 10)


def plain_weights(weights: np.ndarray, slack: np.ndarray) -> Iterator[tuple[float, list[Number]]]:
    """Plain numbers in the proportion of the weights, each within its slack, and their scale.

    Whole numbers first, then short decimals beside a largest weight of one.
    """
    live = np.abs(weights) > slack
    if not live.any():
        return
    pivot = int(np.argmax(np.where(live, np.abs(weights), 0.0)))
    for largest in _LARGEST:
        scale = abs(weights[pivot]) / largest
        whole = np.round(weights / scale)
        if np.all(np.abs(weights - whole * scale) <= slack + 0.01 * scale):
            yield scale, [int(n) for n in whole]
            break
    for unit in np.flatnonzero(live):
        scale = abs(weights[unit])
        numbers: list[Number] = []
        for weight, room in zip(weights / scale, slack / scale, strict=True):
            short = simplest_between(weight - room, weight + room)
            numbers.append(int(short) if short == int(short) else short)
        yield scale, numbers
