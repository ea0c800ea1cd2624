"""The verdict: cheapest evidence first, strongest claim last (design: "Trust").

Tests come first, because a wrong program shows itself within milliseconds and its counterexample is the
answer. A program that passes them exactly is then given to the proofs, each of which may succeed, find a
counterexample, or say that it cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weights2code.effort import Effort, time_is_up
from weights2code.language import Domain, Recurrence, uniform
from weights2code.verify.certificate import Certificate, Sequence, Verdict, versions
from weights2code.verify.evaluation import is_defined
from weights2code.verify.exhaustive import first_wrong, inputs_a_position, longest_length
from weights2code.verify.exploration import explore, looks_finite
from weights2code.verify.identity import same_up_to_algebra, same_up_to_names
from weights2code.verify.induction import prove_by_induction
from weights2code.verify.precision import decisions_are_exact, values_are_exact
from weights2code.verify.product import Product, product
from weights2code.verify.testing import Runner, Sampler, Trial, compare, run_tests, wrong_positions

_ENUMERATION_BUDGET = 1 << 18
_EVERY_LENGTH = "every length"
_TESTED_LENGTHS = "the tested lengths"
_CUT_SHORT = "the time limit was reached; a proof may have been cut short"


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one way of checking found: a verdict with its method, or a counterexample."""

    verdict: Verdict
    method: str
    covers: str
    counterexample: Sequence | None = None
    notes: tuple[str, ...] = ()
    invariant: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Request:
    whole: bool
    effort: Effort
    seed: int
    tolerance: float

    def effort_left(self) -> float:
        return 0.0 if time_is_up() else max(0.0, self.effort.left)


#: A way to a proof: a finding, or None where it cannot tell.
_Way = Callable[[Recurrence, Product, _Request], _Finding | None]


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
        Effort for all proofs together, in seconds of a usual machine; it is counted in states and steps.
    discrete_model
        Inputs (n, T, columns) -> outputs (n, T, outputs) of the discrete model, for its agreement numbers.
    tolerance
        For real outputs: the error that passes a test, relative to the largest target.
    count
        Test sequences a length.
    """
    joint = product(reference, program, domains)  # refuses machines that do not fit together
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
    if trial.passed:
        request = _Request(integer_outputs, Effort(time_limit), seed, tolerance)
        stronger = _prove(program, reference, joint, request) if trial.exact else None
        if stronger is None:
            stronger = _enumerate(program, reference, domains, integer_outputs, length)
        finding = stronger or finding
        if trial.exact and finding.verdict in ("tested", "exhaustive") and time_is_up():
            finding = replace(finding, notes=(*finding.notes, _CUT_SHORT))
    certificate = Certificate(
        verdict=finding.verdict,
        method=finding.method,
        domain=tuple(str(domain) for domain in domains),
        covers=finding.covers,
        lengths=trial.lengths,
        target=trial.agreement,
        by_length=dict(zip(trial.lengths, trial.by_length, strict=True)),
        versions=versions(),
        seed=seed,
        invariant=finding.invariant,
        counterexample=finding.counterexample,
        notes=(*trial.notes, *finding.notes),
    )
    if discrete_model is None:
        return certificate
    rng = np.random.default_rng(seed)
    x = uniform(rng, domains, count, length) if sampler is None else sampler(rng, count, length)
    with np.errstate(all="ignore"):
        agreement = compare(program.run(x), discrete_model(x), whole=integer_outputs)
    return replace(certificate, model=agreement)


def _tested(trial: Trial, whole: bool, tolerance: float) -> _Finding:
    lengths = ", ".join(map(str, trial.lengths))
    ran = f"free-running on {trial.agreement.sequences} sequences of length {lengths}"
    rule = "right after rounding" if whole else f"within {tolerance:g} times the largest target"
    if not trial.passed:
        found = trial.counterexample or ()
        method = f"{ran}, outputs must be {rule}; a wrong output was found after {len(found)} inputs"
        return _Finding("failed", method, _TESTED_LENGTHS, trial.counterexample)
    notes = () if trial.exact else ("not exact, so no proof was tried",)
    return _Finding("tested", f"{ran}, every output {rule}", _TESTED_LENGTHS, notes=notes)


def _prove(program: Recurrence, reference: Recurrence, joint: Product, request: _Request) -> _Finding | None:
    """Every proof in turn; exploration comes last for machines that seem to have no end of states."""
    ways: list[_Way] = [_by_names, _by_induction, _by_algebra]
    ways.insert(1 if looks_finite(joint, request.seed) else 3, _by_exploration)
    for way in ways:
        finding = way(program, joint, request)
        if finding is None:
            continue
        if finding.counterexample is None or _is_wrong(program, reference, finding.counterexample, request):
            return finding
    return None


def _by_names(program: Recurrence, joint: Product, request: _Request) -> _Finding | None:
    if not same_up_to_names(joint):
        return None
    return _Finding(
        "proved", "the program is the reference machine up to the names of variables", _EVERY_LENGTH
    )


def _by_exploration(program: Recurrence, joint: Product, request: _Request) -> _Finding | None:
    # Half of the effort: a search that does not end must leave some for the others.
    result = explore(joint, whole=request.whole, time_limit=request.effort_left() / 2)
    request.effort.spend(result.effort)
    if result.outcome == "different":
        return _counterexample(result.counterexample, "complete exploration")
    if result.outcome == "inconclusive":
        return None
    method = (
        f"complete exploration of the {result.states} states that reference and program reach together "
        f"({result.transitions} transitions), in the program's own float64 arithmetic"
    )
    return _Finding("proved", method, _EVERY_LENGTH)


def _by_induction(program: Recurrence, joint: Product, request: _Request) -> _Finding | None:
    if joint.discrete and not decisions_are_exact(program):
        return None
    result = prove_by_induction(joint, time_limit=request.effort_left(), seed=request.seed)
    request.effort.spend(result.effort)
    if result.outcome == "different":
        return _counterexample(result.counterexample, "the base case of the induction")
    if result.outcome == "unknown":
        return None
    method = (
        f"induction over the positions with z3 (first {result.base} checked one by one, then step by step"
    )
    method += f" from {result.steps} positions)" if result.steps > 1 else ")"
    method += _arithmetic(program, joint)
    return _Finding("proved", method, _EVERY_LENGTH, invariant=result.invariant)


def _by_algebra(program: Recurrence, joint: Product, request: _Request) -> _Finding | None:
    if request.effort_left() == 0 or (joint.discrete and not decisions_are_exact(program)):
        return None
    if not same_up_to_algebra(joint):
        return None
    method = "the formulas of program and reference are identical by algebra (SymPy)"
    return _Finding("proved", method + _arithmetic(program, joint), _EVERY_LENGTH)


def _arithmetic(program: Recurrence, joint: Product) -> str:
    """What a proof about exact numbers says about the text, which computes in float64."""
    if joint.discrete and values_are_exact(program):
        return ", in exact arithmetic, which the text follows"
    return ", in exact arithmetic; the text rounds, and stayed within 1e-6 (relative) in all tests"


def _counterexample(example: Sequence | None, by: str) -> _Finding:
    found = example or ()
    method = f"{by} found a sequence of {len(found)} inputs after which an output is wrong"
    return _Finding("failed", method, f"length {len(found)}", example)


def _is_wrong(program: Recurrence, reference: Recurrence, example: Sequence, request: _Request) -> bool:
    """Whether a counterexample is one for the machines as they run, division by zero included."""
    x = np.array([example], dtype=float)
    with np.errstate(all="ignore"):
        right, answer = reference.run(x), program.run(x)
    if not np.isfinite(right).all():
        return False
    scale = float(np.max(np.abs(right), initial=0.0))
    wrong = wrong_positions(answer, right, whole=request.whole, tolerance=request.tolerance, scale=scale)
    return bool(wrong.any()) or not is_defined(program, x)


def _enumerate(
    program: Recurrence, reference: Recurrence, domains: tuple[Domain, ...], whole: bool, length: int
) -> _Finding | None:
    longest = longest_length(domains, _ENUMERATION_BUDGET)
    if longest < length:
        return None
    wrong = first_wrong(program, reference, domains, whole=whole, length=longest)
    if wrong is not None:
        return _counterexample(wrong, "enumeration")
    rule = "right after rounding" if whole else "equal to within rounding errors"
    count = inputs_a_position(domains) ** longest
    method = f"all {count} sequences of length {longest}, and so all shorter ones, are {rule}"
    return _Finding("exhaustive", method, f"lengths 1 to {longest}")
