"""What must be remembered: memories, and the recent values with which they determine the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weights2code.training.memories import Memory, Place


@dataclass(frozen=True, slots=True)
class Remembered:
    """Memories that, with some values of the recent past, determine the output.

    `leaves` are those values; memories are columns too, which come between inputs and outputs. `evidence` is
    how many rows would contradict each other without the memories, or how much of the output of reals is left
    open with them.
    """

    memories: tuple[Memory, ...]
    leaves: tuple[Place, ...]
    evidence: float


def placed(
    memories: Sequence[Memory], leaves: Sequence[tuple[Memory | int, int]], inputs: int, evidence: float
) -> Remembered:
    """Leaves that name memories, as columns; memories that no leaf names are left out."""
    used = tuple(memory for memory in memories if any(of == memory for of, _ in leaves))
    columns = [
        (inputs + used.index(of) if isinstance(of, Memory) else of + len(used) * (of >= inputs), lag)
        for of, lag in leaves
    ]
    return Remembered(used, tuple(columns), evidence)
