"""Every input sequence up to a length: the strongest statement about machines that no proof reaches.

Outputs depend on the past alone, so running all sequences of one length checks all shorter ones too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import Domain, Recurrence
from weights2code.verify.certificate import Sequence
from weights2code.verify.testing import shortest_wrong_prefix, wrong_positions

_ROWS = 1 << 15
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Enumeration:
    """All `sequences` sequences of `length` agree, unless there is a counterexample."""

    length: int
    sequences: int
    counterexample: Sequence | None = None


def longest_length(domains: tuple[Domain, ...], budget: int) -> int:
    """The longest length at which there are at most `budget` different sequences; 0 for reals."""
    if not all(domain.discrete for domain in domains):
        return 0
    fan = int(np.prod([domain.high - domain.low + 1 for domain in domains]))
    length = 0
    while fan ** (length + 1) <= budget and length < 64:
        length += 1
    return length


def all_sequences(domains: tuple[Domain, ...], length: int, rows: int = _ROWS) -> Iterator[np.ndarray]:
    """Every sequence of one length, in batches of shape (n, length, columns)."""
    grid = np.meshgrid(*(domain.values() for domain in domains), indexing="ij")
    inputs = np.stack([axis.ravel() for axis in grid], axis=1)
    fan = len(inputs)
    total = fan**length
    for begin in range(0, total, rows):
        number = np.arange(begin, min(total, begin + rows))
        digits = np.stack([number // fan**t % fan for t in range(length)], axis=1)
        yield inputs[digits]


def enumerate_all(
    program: Recurrence,
    reference: Recurrence,
    domains: tuple[Domain, ...],
    *,
    whole: bool,
    length: int,
) -> Enumeration:
    """Run every sequence of `length`."""
    count = 0
    for x in all_sequences(domains, length):
        with np.errstate(all="ignore"):
            right, answer = reference.run(x), program.run(x)
        scale = max(1.0, float(np.max(np.abs(right), initial=0.0)))
        wrong = wrong_positions(answer, right, whole=whole, tolerance=_ROUNDING, scale=scale)
        count += len(x)
        if wrong.any():
            return Enumeration(length, count, shortest_wrong_prefix(x, wrong))
    return Enumeration(length, count)
