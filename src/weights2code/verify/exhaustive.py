"""Every input sequence up to a length: the strongest statement about machines that no proof reaches.

Outputs depend on the past alone, so running all sequences of one length checks all shorter ones too.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from weights2code.language import Domain, Recurrence
from weights2code.tasks.step_function import Reference
from weights2code.verify.certificate import Sequence
from weights2code.verify.testing import asked, holds, shortest_wrong_prefix, wrong_positions

_ROWS = 1 << 15
_ROUNDING = 1e-9


def inputs_a_position(domains: tuple[Domain, ...]) -> int:
    """How many different inputs there are at one position, of whole numbers."""
    return prod(int(domain.high - domain.low) + 1 for domain in domains)


def all_inputs(domains: tuple[Domain, ...]) -> np.ndarray:
    """Every input of one position, shape (inputs, columns)."""
    grid = np.meshgrid(*(domain.values() for domain in domains), indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1)


def longest_length(domains: tuple[Domain, ...], budget: int) -> int:
    """The longest length at which there are at most `budget` different sequences; 0 for reals."""
    if not all(domain.discrete for domain in domains):
        return 0
    fan, length = inputs_a_position(domains), 0
    while fan ** (length + 1) <= budget and length < 64:
        length += 1
    return length


def all_sequences(domains: tuple[Domain, ...], length: int) -> Iterator[np.ndarray]:
    """Every sequence of one length, in batches of shape (n, length, columns)."""
    inputs = all_inputs(domains)
    fan = len(inputs)
    total = fan**length
    for begin in range(0, total, _ROWS):
        number = np.arange(begin, min(total, begin + _ROWS))
        digits = np.stack([number // fan**t % fan for t in range(length)], axis=1)
        yield inputs[digits]


def first_wrong(
    program: Recurrence,
    reference: Reference,
    domains: tuple[Domain, ...],
    *,
    whole: bool,
    length: int,
) -> Sequence | None:
    """Run every sequence of `length`: the inputs up to a wrong output, or None if all agree.

    Raises
    ------
    ArithmeticError
        If float64 does not hold what the reference computes.
    """
    for x in all_sequences(domains, length):
        with np.errstate(all="ignore"):
            (right, trace), answer = asked(reference, x), program.run(x)
        if whole and isinstance(reference, Recurrence) and not holds(reference, domains, trace):
            raise ArithmeticError("the reference outgrows float64")
        scale = max(1.0, float(np.max(np.abs(right), initial=0.0)))
        wrong = wrong_positions(answer, right, whole=whole, tolerance=_ROUNDING, scale=scale)
        if wrong.any():
            return shortest_wrong_prefix(x, wrong)
    return None
