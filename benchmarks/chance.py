"""Choices of a generator, as whatever draws cases and programs makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Random = np.random.Generator


class Chance:
    """Choices of a generator."""

    rng: Random

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def of(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, *options: T) -> T:
        return self.among(options)

    def among(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(len(options)))]
