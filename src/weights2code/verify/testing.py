"""Free-running tests at several lengths: what Table 1 of the paper measures, and more.

The program sees the inputs and its own earlier outputs, nothing else. Sequences come from the task's
sampler and, because a program may be right on those alone, also uniformly from the whole domain, with
constant and switching sequences at its ends. The lengths are the training length, 4 and 10 times that.

What passes: whole-number outputs must be right after rounding, everywhere. Real outputs must be right to
within `tolerance` times the largest absolute value that the target takes at that length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.language import Domain, Recurrence, uniform
from weights2code.language.exact import run_exact
from weights2code.verify.certificate import Agreement, Sequence

#: (random generator, number of sequences, length) -> inputs of shape (n, T, columns)
Sampler = Callable[[np.random.Generator, int, int], np.ndarray]

#: Inputs (n, T, columns) -> outputs (n, T, outputs).
Runner = Callable[[np.ndarray], np.ndarray]

_EXACT = 2.0**53
_EXACT_SEQUENCES = 16
#: An error of this share of the largest value so far is more than rounding can do.
_PLAINLY = 1e-3


@dataclass(frozen=True, slots=True)
class Trial:
    """The numbers, whether they pass, whether they are exact, and the shortest wrong prefix found."""

    agreement: Agreement
    lengths: tuple[int, ...]
    by_length: tuple[Agreement, ...]
    passed: bool
    exact: bool
    counterexample: Sequence | None = None
    notes: tuple[str, ...] = ()


def probes(
    rng: np.random.Generator, domains: tuple[Domain, ...], count: int, length: int, sampler: Sampler | None
) -> np.ndarray:
    """Sequences that cover the domain: half from the sampler, half from the domain as a whole."""
    drawn = [uniform(rng, domains, count - count // 2, length)]
    if sampler is not None:
        drawn.append(np.asarray(sampler(rng, count // 2, length), dtype=float))
    else:
        drawn.append(uniform(rng, domains, count // 2, length))
    ends = np.array([[domain.low for domain in domains], [domain.high for domain in domains]], dtype=float)
    drawn.append(np.repeat(ends[:, None, :], length, axis=1))
    if all(domain.discrete for domain in domains):
        # Long stretches at one end, then at the other, reach states that independent draws do not.
        runs = rng.random((8, length, len(domains))) < 0.15
        side = np.cumsum(runs, axis=1) % 2
        drawn.append(np.where(side == 1, ends[1], ends[0]))
    return np.concatenate(drawn)


def run_tests(
    program: Recurrence,
    reference: Recurrence,
    domains: tuple[Domain, ...],
    *,
    length: int,
    whole: bool,
    sampler: Sampler | None = None,
    seed: int = 0,
    count: int = 256,
    tolerance: float = 1e-3,
) -> Trial:
    """Run program and reference side by side on `count` sequences (and a few extreme ones) a length."""
    rng = np.random.default_rng(seed)
    tally = Tally(whole)
    by_length = []
    passed, exact, notes = True, True, []
    example: Sequence | None = None
    lengths = (length, 4 * length, 10 * length)
    for steps in lengths:
        drawn = probes(rng, domains, count, steps, sampler)
        right, answer, x = _side_by_side(reference, program, drawn, whole)
        if len(x) < len(drawn):
            notes.append(
                f"at length {steps} values pass 2**53: {len(x)} sequences were run on exact integers"
            )
        defined = np.isfinite(right)
        if not defined.all():
            notes.append(f"at length {steps} positions without a finite target were left out")
        scale = float(np.max(np.abs(right[defined]), initial=0.0))
        wrong = wrong_positions(answer, right, whole=whole, tolerance=tolerance, scale=scale) & defined
        tally.add(answer, right, defined)
        by_length.append(compare(answer, right, whole=whole))
        exact &= not (differences(answer, right) > 1e-6 * (1.0 if whole else max(1.0, scale)))[defined].any()
        if wrong.any():
            passed = False
            example = example or shortest_wrong_prefix(x, wrong)
    return Trial(
        tally.agreement(), lengths, tuple(by_length), passed, passed and exact, example, tuple(notes)
    )


def _side_by_side(
    reference: Recurrence, program: Recurrence, x: np.ndarray, whole: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(right, answer, inputs): on exact integers, for fewer sequences, where float64 would run out.

    A program that is plainly wrong before any value is that large needs no exact numbers to be refuted.
    """
    with np.errstate(all="ignore"):
        traces = [machine.trace(x) for machine in (reference, program)]
    right, answer = (
        np.stack([trace[name] for name in machine.outputs], axis=-1)
        for machine, trace in zip((reference, program), traces, strict=True)
    )
    sizes = [np.abs(np.where(np.isfinite(v), v, 0.0)) for trace in traces for v in trace.values()]
    largest = np.maximum.accumulate(np.max(sizes, axis=0), axis=1)[..., None]  # so far
    if not whole or largest.max() < _EXACT or reference.retrieves() or program.retrieves():
        return right, answer, x
    wrong = wrong_positions(answer, right, whole=True, tolerance=0.0, scale=1.0) & np.isfinite(right)
    if (wrong & (differences(answer, right) > _PLAINLY * largest) & (largest < _EXACT)).any():
        return right, answer, x
    few = x[:: max(1, len(x) // _EXACT_SEQUENCES)][:_EXACT_SEQUENCES]
    try:
        return run_exact(reference, few), run_exact(program, few), few
    except ArithmeticError:
        return right, answer, x  # what has no exact value is judged as it runs


def differences(answer: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Absolute errors; an answer that is not a number is infinitely wrong."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.abs(answer - right), nan=np.inf, posinf=np.inf)


def wrong_positions(
    answer: np.ndarray, right: np.ndarray, *, whole: bool, tolerance: float, scale: float
) -> np.ndarray:
    """Where the answer is wrong by the rule at the top of this module."""
    if whole:
        return ~(np.round(answer) == np.round(right))
    return differences(answer, right) > tolerance * scale + 1e-12


def shortest_wrong_prefix(x: np.ndarray, wrong: np.ndarray) -> Sequence:
    """The inputs up to the earliest wrong position, of the sequence that fails first."""
    times = np.asarray(wrong.any(axis=2))
    first = np.where(times.any(axis=1), np.argmax(times, axis=1), x.shape[1])
    row = int(np.argmin(first))
    return tuple(tuple(position) for position in x[row, : int(first[row]) + 1].tolist())


class Tally:
    """Collects errors over batches of different lengths into one `Agreement`."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.sequences, self.positions, self.right = 0, 0, 0
        self.squares, self.largest = 0.0, 0.0

    def add(self, answer: np.ndarray, right: np.ndarray, mask: np.ndarray) -> None:
        """Count sequences of shape (n, T, outputs), at the positions that `mask` marks."""
        errors = differences(answer, right)[mask]
        self.sequences += len(answer)
        self.positions += errors.size
        self.largest = max(self.largest, float(np.max(errors, initial=0.0)))
        with np.errstate(over="ignore"):
            self.squares += float(np.sum(errors**2))
        if self.whole:
            self.right += int(np.sum((np.round(answer) == np.round(right))[mask]))

    def agreement(self) -> Agreement:
        positions = max(1, self.positions)
        accuracy = self.right / positions if self.whole and self.positions else None
        return Agreement(self.sequences, self.largest, float(np.sqrt(self.squares / positions)), accuracy)


def compare(answer: Any, right: Any, *, whole: bool) -> Agreement:
    """The agreement of answers with targets, both of shape (n, T, outputs), where targets are finite."""
    answer, right = np.asarray(answer, dtype=float), np.asarray(right, dtype=float)
    tally = Tally(whole)
    tally.add(answer, right, np.isfinite(right))
    return tally.agreement()
