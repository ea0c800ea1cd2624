"""Free-running tests at several lengths: what Table 1 of the paper measures, and more.

The program sees the inputs and its own earlier outputs, nothing else. Sequences come from the task's
sampler and, because a program may be right on those alone, also uniformly from the whole domain, with
constant and switching sequences at its ends. The lengths are the training length, 4 and 10 times that.

What passes: whole-number outputs must be off by less than a half, everywhere. Real outputs must be right to
within `tolerance` times the largest absolute value that the target takes at that length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.kernel.closing import Stopped, Text, Unsuited
from weights2code.language import Domain, Recurrence, exact_number, uniform
from weights2code.language.arithmetic import arithmetic
from weights2code.language.exact import run_exact
from weights2code.language.interval import Interval
from weights2code.tasks.step_function import Reference
from weights2code.verify.certificate import Agreement, Sequence

#: (random generator, number of sequences, length) -> inputs of shape (n, T, columns)
Sampler = Callable[[np.random.Generator, int, int], np.ndarray]

#: Long sequences that the text of a program is run on, where its formula is run on all.
SOME = 16
#: Targets this near to a whole number are meant to be one.
WHOLE = 1e-3
_EXACT = 2**53
_EXACT_SEQUENCES = 16
#: Room for values is looked for in steps of this.
_FEWER = 8
#: An error of this share of the largest value so far is more than rounding can do.
_PLAINLY = 1e-3


@dataclass(frozen=True, slots=True)
class Trial:
    """The numbers, whether they are exact, and the shortest wrong prefix found.

    `scale` is the largest target, `largest` the largest value that the program computed, `outgrown` whether
    positions were left out because some value had passed 2**53.
    """

    agreement: Agreement
    lengths: tuple[int, ...]
    by_length: tuple[Agreement, ...]
    exact: bool
    scale: float
    largest: float
    outgrown: bool
    counterexample: Sequence | None = None
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.counterexample is None


def probes(
    rng: np.random.Generator, domains: tuple[Domain, ...], count: int, length: int, sampler: Sampler | None
) -> np.ndarray:
    """Sequences that cover the domain: half from the sampler, half from the domain as a whole."""
    drawn = [uniform(rng, domains, count - count // 2, length)]
    sampler = sampler or (lambda rng, n, length: uniform(rng, domains, n, length))
    drawn.append(np.asarray(sampler(rng, count // 2, length), dtype=float))
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
    text: Text | None = None,
    some: int = SOME,
    sampler: Sampler | None = None,
    seed: int = 0,
    count: int = 256,
    tolerance: float = 1e-3,
) -> Trial:
    """Run program and reference side by side on `count` sequences (and a few extreme ones) a length; all of
    the first length, and `some` of the others, by the `text` itself."""
    rng = np.random.default_rng(seed)
    parts, notes, exact, outgrown = [], [], True, False
    example: Sequence | None = None
    largest, largest_target = 0.0, 0.0
    lengths = (length, 4 * length, 10 * length)
    for steps in lengths:
        drawn = probes(rng, domains, count, steps, sampler)
        x, right, answer, judged, size = _side_by_side(
            reference, program, domains, drawn, whole, length, text, some
        )
        known = np.isfinite(right)
        if len(x) < len(drawn):
            notes.append(
                f"at length {steps} the specification may pass 2**53: {len(x)} sequences were run, against "
                f"exact integers"
            )
        if not known.all():
            notes.append(f"at length {steps} positions without a finite target were left out")
        if not judged[known].all():
            notes.append(f"at length {steps} positions after a value passed 2**53 were left out")
            outgrown = True
        scale = float(np.max(np.abs(right[judged]), initial=0.0))
        wrong = wrong_positions(answer, right, whole=whole, tolerance=tolerance, scale=scale) & judged
        if wrong.any() and text is not None and example is None:  # NumPy's arrays may round otherwise
            answer = executed(text, x, answer, np.asarray(wrong.any(axis=(1, 2))))
            wrong = wrong_positions(answer, right, whole=whole, tolerance=tolerance, scale=scale) & judged
        if wrong.any():
            example = example or shortest_wrong_prefix(x, wrong)
        exact &= not (differences(answer, right) > 1e-6 * (1.0 if whole else max(1.0, scale)))[judged].any()
        largest, largest_target = max(largest, size), max(largest_target, scale)
        parts.append((answer, right, judged))
    by_length = tuple(agreement([part], whole) for part in parts)
    return Trial(
        agreement(parts, whole),
        lengths,
        by_length,
        exact and example is None,
        largest_target,
        largest,
        outgrown,
        example,
        tuple(notes),
    )


def _side_by_side(
    reference: Reference,
    program: Recurrence,
    domains: tuple[Domain, ...],
    x: np.ndarray,
    whole: bool,
    length: int,
    text: Text | None,
    some: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Run both: the inputs, what is right, what the program gives, where it is judged, its largest value.

    The program computes in float64, as its text does; the reference must be right. Where float64 may not hold
    what a reference of whole numbers computes, it runs on exact numbers, for fewer sequences; what is no
    recurrence has Python's own numbers. Positions after a value has outgrown float64 do not count: a value of
    the reference, or beyond the first `length` positions one of the program.
    """
    with np.errstate(all="ignore"):
        right, known = asked(reference, x)
        answer, found = asked(program, x)
        if text is not None:
            chosen = np.arange(len(x)) < (len(x) if x.shape[1] <= length else some)
            answer = executed(text, x, answer, chosen)
    finite = (np.max(np.abs(v), where=np.isfinite(v), initial=0.0) for v in found.values())
    largest, judged = float(max(finite)), np.isfinite(right)
    if not whole or not isinstance(reference, Recurrence):
        return x, right, answer, judged, largest
    exactly = arithmetic(reference, domains, _seen(reference, known, None))
    if exactly.decided and exactly.bounded:  # float64 has lost no digit
        return x, right, answer, judged, largest
    fits = _below(found, _room(program, domains, found))[..., None]
    fits[:, :length] = True
    judged &= _below(known, _EXACT)[..., None] & fits
    errors = differences(answer, right) / (1 + np.abs(np.nan_to_num(right)))
    plainly = exactly.decided and (judged & (errors > _PLAINLY)).any()
    few = slice(0, None, max(1, len(x) // _EXACT_SEQUENCES))
    if not plainly and not reference.retrieves():
        x_few, answer_few, fits_few = (table[few][:_EXACT_SEQUENCES] for table in (x, answer, fits))
        with suppress(ArithmeticError):  # what has no exact value is judged as it runs
            exact, small = run_exact(reference, x_few, _EXACT)
            return x_few, exact, answer_few, small[..., None] & np.isfinite(exact) & fits_few, largest
    return x, right, answer, judged, largest


def asked(machine: Reference, x: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """All outputs, and every variable by its name; of what is no recurrence nobody knows any."""
    if not isinstance(machine, Recurrence):
        return machine.run(x), {}
    trace = machine.trace(x)
    return np.stack([trace[name] for name in machine.outputs], axis=-1), trace


def executed(text: Text, x: np.ndarray, otherwise: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The outputs with those of the text of a program for the `chosen` sequences, no numbers from where it
    stops; or as they are if it cannot be run here."""
    found = otherwise.copy()
    found[chosen] = np.nan
    try:
        for number in np.flatnonzero(chosen):
            rows, answers = x[number].tolist(), found[number]
            with suppress(Stopped):
                state = text.start(rows[0]) if rows else ()
                for t, row in enumerate(rows):
                    answers[t], state = text.step(state, row)
    except Unsuited:
        return otherwise
    return found


def _below(trace: Mapping[str, np.ndarray], limit: int) -> np.ndarray:
    """Where no value so far has reached the limit, shape (n, T)."""
    sizes = np.max([np.abs(np.nan_to_num(values)) for values in trace.values()], axis=0)
    return np.maximum.accumulate(sizes, axis=1) < limit


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


def differences(answer: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Absolute errors; an answer that is not a number is infinitely wrong."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.abs(answer - right), nan=np.inf, posinf=np.inf)


def wrong_positions(
    answer: np.ndarray, right: np.ndarray, *, whole: bool, tolerance: float, scale: float
) -> np.ndarray:
    """Where the answer is wrong by the rule at the top of this module."""
    if whole:  # what is no whole number is not met by rounding
        off = differences(right, np.round(right))
        return differences(answer, right) >= np.where(off <= WHOLE, 0.5, WHOLE)
    return differences(answer, right) > tolerance * scale + 1e-12


def shortest_wrong_prefix(x: np.ndarray, wrong: np.ndarray, *, cut: bool = True) -> Sequence:
    """The inputs up to the earliest wrong position, of the sequence that fails first; all of them if later
    ones matter too, and it is not to be `cut`."""
    times = np.asarray(wrong.any(axis=2))
    first = np.where(times.any(axis=1), np.argmax(times, axis=1), x.shape[1])
    row = int(np.argmin(first))
    return tuple(map(tuple, x[row, : int(first[row]) + 1 if cut else None].tolist()))


def agreement(parts: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]], whole: bool) -> Agreement:
    """How answers agree with targets, both of shape (n, T, outputs), where the third of each part says."""
    parts = list(parts)
    errors = [differences(answer, right)[mask] for answer, right, mask in parts]
    same = sum(int(np.sum(error < 0.5)) for error in errors)
    positions = max(1, sum(error.size for error in errors))
    with np.errstate(over="ignore"):
        rmse = np.sqrt(sum(float(np.sum(error**2)) for error in errors) / positions)
    largest = max(float(np.max(error, initial=0.0)) for error in errors)
    accuracy = same / positions if whole and any(error.size for error in errors) else None
    return Agreement(sum(len(answer) for answer, _, _ in parts), largest, float(rmse), accuracy)


def compare(answer: Any, right: Any, *, whole: bool) -> Agreement:
    """The agreement of answers with targets where these are finite."""
    answer, right = np.asarray(answer, dtype=float), np.asarray(right, dtype=float)
    return agreement([(answer, right, np.isfinite(right))], whole)
