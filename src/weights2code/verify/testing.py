"""Free-running tests at several lengths: what Table 1 of the paper measures, and more.

The program sees the inputs and its own earlier outputs, nothing else. Sequences come from the task's
sampler and, because a program may be right on those alone, also uniformly from the whole domain, with
constant and switching sequences at its ends. The lengths are the training length, 4 and 10 times that.

What passes: whole-number outputs must be right after rounding, everywhere. Real outputs must be right to
within `tolerance` times the largest absolute value that the target takes at that length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.language import Domain, Recurrence, exact_number, uniform
from weights2code.language.exact import run_exact_below
from weights2code.language.interval import Interval
from weights2code.tasks.step_function import Reference
from weights2code.verify.certificate import Agreement, Sequence
from weights2code.verify.rounding import arithmetic

#: (random generator, number of sequences, length) -> inputs of shape (n, T, columns)
Sampler = Callable[[np.random.Generator, int, int], np.ndarray]

_EXACT = 2**53
_EXACT_SEQUENCES = 16
#: Room for values is looked for in steps of this.
_FEWER = 8
#: An error of this share of the largest value so far is more than rounding can do.
_PLAINLY = 1e-3


@dataclass(frozen=True, slots=True)
class Trial:
    """The numbers, whether they pass, whether they are exact, and the shortest wrong prefix found.

    `scale` is the largest target, `largest` the largest value that the program computed, `outgrown` whether
    positions were left out because some value had passed 2**53.
    """

    agreement: Agreement
    lengths: tuple[int, ...]
    by_length: tuple[Agreement, ...]
    passed: bool
    exact: bool
    scale: float
    largest: float
    outgrown: bool
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
    reference: Reference,
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
    largest, largest_target, outgrown = 0.0, 0.0, False
    lengths = (length, 4 * length, 10 * length)
    for steps in lengths:
        drawn = probes(rng, domains, count, steps, sampler)
        run = _side_by_side(reference, program, domains, drawn, whole, length)
        right, answer, x, defined = run.right, run.answer, run.x, run.judged
        largest = max(largest, run.largest)
        if len(x) < len(drawn):
            notes.append(
                f"at length {steps} the specification may pass 2**53: {len(x)} sequences were run, against "
                f"exact integers"
            )
        if not np.isfinite(right).all():
            notes.append(f"at length {steps} positions without a finite target were left out")
        if not defined[np.isfinite(right)].all():
            notes.append(f"at length {steps} positions after a value passed 2**53 were left out")
            outgrown = True
        scale = float(np.max(np.abs(right[defined]), initial=0.0))
        wrong = wrong_positions(answer, right, whole=whole, tolerance=tolerance, scale=scale) & defined
        tally.add(answer, right, defined)
        by_length.append(compare(answer, np.where(defined, right, np.nan), whole=whole))
        largest_target = max(largest_target, scale)
        exact &= not (differences(answer, right) > 1e-6 * (1.0 if whole else max(1.0, scale)))[defined].any()
        if wrong.any():
            passed = False
            example = example or shortest_wrong_prefix(x, wrong)
    return Trial(
        tally.agreement(),
        lengths,
        tuple(by_length),
        passed,
        passed and exact,
        largest_target,
        largest,
        outgrown,
        example,
        tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """Specification and program on the same inputs; only positions that are `judged` count."""

    x: np.ndarray
    right: np.ndarray
    answer: np.ndarray
    judged: np.ndarray
    #: Of all values of the program.
    largest: float


def _side_by_side(
    reference: Reference,
    program: Recurrence,
    domains: tuple[Domain, ...],
    x: np.ndarray,
    whole: bool,
    length: int,
) -> _Run:
    """Run both. The program computes in float64, as its text does; the reference must be right.

    Where float64 may not hold what a reference of whole numbers computes, it runs on exact numbers, for fewer
    sequences; what is no recurrence has Python's own numbers. Positions after a value has outgrown float64 do
    not count: a value of the reference, or beyond the first `length` positions one of the program.
    """
    with np.errstate(all="ignore"):
        right, known = asked(reference, x)
        answer, found = asked(program, x)
    largest = max(_largest(values) for values in found.values())
    judged = np.isfinite(right)
    if not whole or not isinstance(reference, Recurrence) or holds(reference, domains, known):
        return _Run(x, right, answer, judged, largest)
    judged &= _below(known, _EXACT)[..., None]
    fits = _below(found, _room(program, domains, found))[..., None]
    fits[:, :length] = True
    errors = differences(answer, right) / (1 + np.abs(np.nan_to_num(right)))
    if reference.retrieves() or (judged & fits & (errors > _PLAINLY)).any():
        return _Run(x, right, answer, judged & fits, largest)
    chosen = slice(None, None, max(1, len(x) // _EXACT_SEQUENCES))
    few = x[chosen][:_EXACT_SEQUENCES]
    try:
        exact, small = run_exact_below(reference, few, _EXACT)
    except ArithmeticError:
        return _Run(x, right, answer, judged & fits, largest)  # what has no exact value is judged as it runs
    counts = small[..., None] & np.isfinite(exact) & fits[chosen][:_EXACT_SEQUENCES]
    return _Run(few, exact, answer[chosen][:_EXACT_SEQUENCES], counts, largest)


def asked(machine: Reference, x: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """All outputs, and every variable by its name; of what is no recurrence nobody knows any."""
    if not isinstance(machine, Recurrence):
        return machine.run(x), {}
    trace = machine.trace(x)
    return np.stack([trace[name] for name in machine.outputs], axis=-1), trace


def _below(trace: Mapping[str, np.ndarray], limit: int) -> np.ndarray:
    """Where no value so far has reached the limit, shape (n, T)."""
    sizes = np.max([np.abs(np.nan_to_num(values)) for values in trace.values()], axis=0)
    return np.maximum.accumulate(sizes, axis=1) < limit


def holds(machine: Recurrence, domains: tuple[Domain, ...], trace: Mapping[str, np.ndarray]) -> bool:
    """Whether float64 has computed these values of a machine on whole numbers without losing a digit."""
    found = arithmetic(machine, domains, _seen(machine, trace, None))
    return found.decided and found.bounded


def _room(machine: Recurrence, domains: tuple[Domain, ...], trace: Mapping[str, np.ndarray]) -> int:
    """Up to which size of its values float64 loses no digit on the way from one to the next."""
    size = _EXACT
    while size > 1:
        found = arithmetic(machine, domains, _seen(machine, trace, size))
        if found.bounded or not (found.decided and found.exact):
            break  # what rounds anyway is judged as it runs
        size //= _FEWER
    return size


def _seen(machine: Recurrence, trace: Mapping[str, np.ndarray], most: int | None) -> dict[str, Interval]:
    """Between which values the names of a machine stayed along a run, those beyond `most` left out."""
    seen = {}
    for name, values in trace.items():
        finite = values[np.isfinite(values)]
        start = machine.start_of(name)
        ends = [0.0, *([finite.min(), finite.max()] if finite.size else [])]
        if not isinstance(start, str) and np.isfinite(start):
            ends.append(start)
        low, high = exact_number(min(ends)), exact_number(max(ends))
        seen[name] = Interval(low, high) if most is None else Interval(max(low, -most), min(high, most))
    return seen


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


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
