"""The verdict: cheapest evidence first, strongest claim last (design: "Trust").

Tests come first, because a wrong program shows itself within milliseconds and its counterexample is the
answer. A program that passes them exactly is then given to the proofs, each of which may succeed, find a
counterexample, or say that it cannot tell.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from weights2code.language import Domain, Recurrence
from weights2code.verify.certificate import Agreement, Certificate, Sequence, Verdict, versions
from weights2code.verify.exhaustive import enumerate_all, longest_length
from weights2code.verify.exploration import explore
from weights2code.verify.product import Product, product
from weights2code.verify.testing import (
    Runner,
    Sampler,
    Tally,
    Trial,
    compare,
    probes,
    run_tests,
    shortest_wrong_prefix,
    wrong_positions,
)

_ENUMERATION_BUDGET = 1 << 18
_EVERY_LENGTH = "every length"
_TESTED_LENGTHS = "the tested lengths"


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one way of checking found: a verdict with its method, or a counterexample."""

    verdict: Verdict
    method: str
    covers: str
    counterexample: Sequence | None = None
    notes: tuple[str, ...] = ()


def certify(
    program: Recurrence,
    *,
    reference: Recurrence,
    domains: tuple[Domain, ...],
    length: int,
    integer_outputs: bool,
    sampler: Sampler | None = None,
    seed: int = 0,
    time_limit: float = 5.0,
    discrete_model: Runner | None = None,
    tolerance: float = 1e-3,
    count: int = 256,
) -> Certificate:
    """Compare a program with the machine that specifies it.

    Parameters
    ----------
    program, reference
        Two recurrences over the same input columns.
    domains
        What each column may hold; a proof speaks about all of it.
    length
        The length of the training sequences; tests run at 1, 4 and 10 times that.
    integer_outputs
        Outputs are whole numbers: judged by rounding in tests, to the last digit in proofs.
    sampler
        (rng, n, T) -> inputs of shape (n, T, columns); uniform on the domains by default.
    time_limit
        Seconds for all proofs together.
    discrete_model
        Inputs (n, T, columns) -> outputs (n, T, outputs) of the discrete model, for its agreement numbers.
    tolerance
        For real outputs: the error that passes a test, relative to the largest target.
    count
        Test sequences a length.
    """
    deadline = time.monotonic() + time_limit
    trial = run_tests(
        program,
        reference,
        domains,
        length=length,
        whole=integer_outputs,
        sampler=sampler,
        seed=seed,
        count=count,
        tolerance=tolerance,
    )
    finding = _tested(trial, integer_outputs, tolerance)
    if trial.passed and trial.exact:
        joint = product(reference, program, domains)
        stronger = _prove(joint, integer_outputs, deadline, seed) or _enumerate(
            program, reference, domains, integer_outputs, length
        )
        finding = stronger or finding
    certificate = Certificate(
        verdict=finding.verdict,
        method=finding.method,
        domain=tuple(str(domain) for domain in domains),
        covers=finding.covers,
        lengths=trial.lengths,
        target=trial.agreement,
        versions=versions(),
        seed=seed,
        counterexample=finding.counterexample,
        notes=(*trial.notes, *finding.notes),
    )
    if discrete_model is None:
        return certificate
    x = probes(np.random.default_rng(seed), domains, count, length, sampler)
    return replace(certificate, model=_against_model(program, discrete_model, [x], integer_outputs))


def _tested(trial: Trial, whole: bool, tolerance: float) -> _Finding:
    lengths = ", ".join(map(str, trial.lengths))
    ran = f"free-running on {trial.agreement.sequences} sequences of length {lengths}"
    rule = "right after rounding" if whole else f"within {tolerance:g} of the largest target"
    if not trial.passed:
        found = trial.counterexample or ()
        method = f"{ran}, outputs must be {rule}; a wrong output was found after {len(found)} inputs"
        return _Finding("failed", method, _TESTED_LENGTHS, trial.counterexample)
    notes = () if trial.exact else ("not exact, so no proof was tried",)
    return _Finding("tested", f"{ran}, every output {rule}", _TESTED_LENGTHS, notes=notes)


def _prove(joint: Product, whole: bool, deadline: float, seed: int) -> _Finding | None:
    result = explore(joint, whole=whole, time_limit=max(0.0, deadline - time.monotonic()))
    if result.outcome == "different":
        return _counterexample(result.counterexample, "complete exploration")
    if result.outcome == "equal":
        method = (
            f"complete exploration of the {result.states} states that reference and program reach together "
            f"({result.transitions} transitions), in the program's own float64 arithmetic"
        )
        return _Finding("proved", method, _EVERY_LENGTH)
    return None


def _counterexample(example: Sequence | None, by: str) -> _Finding:
    found = example or ()
    method = f"{by} found a sequence of {len(found)} inputs after which an output is wrong"
    return _Finding("failed", method, f"length {len(found)}", example)


def _enumerate(
    program: Recurrence, reference: Recurrence, domains: tuple[Domain, ...], whole: bool, length: int
) -> _Finding | None:
    longest = longest_length(domains, _ENUMERATION_BUDGET)
    if longest < length:
        return None
    result = enumerate_all(program, reference, domains, whole=whole, length=longest)
    if result.counterexample is not None:
        return _counterexample(result.counterexample, "enumeration")
    method = f"all {result.sequences} input sequences of length {longest}, and so all shorter ones, were run"
    return _Finding("exhaustive", method, f"lengths 1 to {longest}")


def _against_model(
    program: Recurrence, model: Runner, batches: Iterable[np.ndarray], whole: bool
) -> Agreement:
    with np.errstate(all="ignore"):
        return compare(((program.run(x), model(x)) for x in batches), whole=whole)


def certify_on_data(
    program: Recurrence,
    sequences: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    integer_outputs: bool,
    tolerance: float | None = None,
    noise: float = 0.0,
    seed: int = 0,
    discrete_model: Runner | None = None,
) -> Certificate:
    """Compare a program, free-running, with held-out sequences of any lengths: `tested` or `failed`.

    Parameters
    ----------
    sequences
        Pairs of inputs, shape (T, columns), and targets, shape (T, outputs).
    integer_outputs
        Whole-number targets: at most the share `tolerance` (default 0) of the outputs may be wrong after
        rounding. Otherwise the root mean squared error may be `tolerance` (default 0.01) times the
        standard deviation of the targets, on top of the noise.
    noise
        The standard deviation of the noise in real targets, if known; no program can come closer.
    """
    by_length: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    for x, y in sequences:
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
            raise ValueError(
                f"a sequence needs inputs (T, columns) and targets (T, outputs): {x.shape}, {y.shape}"
            )
        by_length.setdefault(len(x), []).append((x, y))
    if not by_length:
        raise ValueError("no sequences to test on")
    batches = [
        (np.stack([x for x, _ in group]), np.stack([y for _, y in group])) for group in by_length.values()
    ]
    tally = Tally(integer_outputs)
    answers = []
    for x, y in batches:
        with np.errstate(all="ignore"):
            answers.append(program.run(x))
        tally.add(answers[-1], y)
    agreement = tally.agreement()
    spread = float(np.std(np.concatenate([y.ravel() for _, y in batches])))
    tolerance = (0.0 if integer_outputs else 0.01) if tolerance is None else tolerance
    if integer_outputs:
        passed = (agreement.accuracy or 0.0) >= 1.0 - tolerance
        rule = f"at least {1 - tolerance:.6g} of the outputs right after rounding"
    else:
        # The mean square of n noise terms scatters by sqrt(2 / n) of itself; three times that is allowed.
        scatter = 1 + 3 * np.sqrt(2 / max(1, tally.positions))
        allowed = float(np.sqrt((tolerance * spread) ** 2 + noise**2 * scatter)) + 1e-12
        passed = agreement.rmse <= allowed
        rule = f"root mean squared error at most {allowed:.3g}"
    example = None
    if not passed:
        for (x, y), answer in zip(batches, answers, strict=True):
            scale = 1.0 if integer_outputs else max(spread, noise)
            limit = max(tolerance, 3 * noise / max(spread, 1e-300))
            wrong = wrong_positions(answer, y, whole=integer_outputs, tolerance=limit, scale=scale)
            if wrong.any():
                candidate = shortest_wrong_prefix(x, wrong)
                example = candidate if example is None or len(candidate) < len(example) else example
    model = None
    if discrete_model is not None:
        model = _against_model(program, discrete_model, (x for x, _ in batches), integer_outputs)
    return Certificate(
        verdict="tested" if passed else "failed",
        method=f"free-running on {agreement.sequences} held-out sequences; the rule: {rule}",
        domain=(),
        covers=_TESTED_LENGTHS,
        lengths=tuple(sorted(by_length)),
        target=agreement,
        model=model,
        versions=versions(),
        seed=seed,
        counterexample=example,
    )
