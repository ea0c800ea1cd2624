"""The verdict: cheapest evidence first, strongest claim last (design: "Trust").

Tests come first, because a wrong program shows itself within milliseconds and its counterexample is the
answer. A program that passes them exactly is then given to the proofs, each of which may succeed, find a
counterexample, or say that it cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from weights2code.effort import Effort, time_is_up
from weights2code.language import Domain, Recurrence, exact_number
from weights2code.language.interval import Interval
from weights2code.tasks.step_function import Reference, StepFunction
from weights2code.verify.against_function import explore_with
from weights2code.verify.certificate import Certificate, Sequence, Verdict, versions
from weights2code.verify.evaluation import is_defined
from weights2code.verify.exhaustive import first_wrong, inputs_a_position, longest_length
from weights2code.verify.exploration import explore, looks_finite
from weights2code.verify.identity import same_up_to_names
from weights2code.verify.induction import prove_by_induction
from weights2code.verify.product import Product, product
from weights2code.verify.ranges import bounds_of, positions_below
from weights2code.verify.rounding import Arithmetic, arithmetic, rounding
from weights2code.verify.testing import Sampler, Trial, run_tests, wrong_positions

#: Sequences that are enumerated; a plain function takes its time.
_ENUMERATION_BUDGET = 1 << 18
_PLAIN_BUDGET = 1 << 14
#: Positions that are looked at one by one for values that outgrow float64.
_MOST_POSITIONS = 256
#: Where no bound is known, rounding is bounded for values up to so many times those that tests met;
_ROOM = 4.0
#: it must be less than this share of the outputs.
_MOST_ROUNDING = 1e-9
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
    error: float | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    whole: bool
    effort: Effort
    seed: int
    tolerance: float
    length: int
    #: Of outputs and of all values that tests met.
    scale: float
    largest: float

    def effort_left(self) -> float:
        return 0.0 if time_is_up() else max(0.0, self.effort.left)


#: A way to a proof: a finding, or None where it cannot tell. What is said about the text is worked out when
#: it is asked for.
_Way = Callable[[Product, _Request, Callable[[], "_Text | None"]], _Finding | None]


def certify(
    program: Recurrence,
    *,
    reference: Reference,
    domains: tuple[Domain, ...],
    length: int,
    integer_outputs: bool,
    sampler: Sampler | None = None,
    seed: int = 0,
    time_limit: float = 5.0,
    tolerance: float = 1e-3,
    count: int = 256,
) -> Certificate:
    """Compare a program with the machine that specifies it.

    Parameters
    ----------
    program, reference
        Two recurrences over the same input columns; the reference may be a plain function, or anything
        else that can be run: then a program is tested, and no proof is tried.
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
    tolerance
        For real outputs: the error that passes a test, relative to the largest target.
    count
        Test sequences a length.
    """
    machine = isinstance(reference, Recurrence)
    joint = product(reference, program, domains) if machine else None  # refuses what does not fit together
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
        effort = Effort(time_limit)
        request = _Request(integer_outputs, effort, seed, tolerance, length, trial.scale, trial.largest)
        stronger = None
        if trial.exact and isinstance(reference, StepFunction):
            stronger, reason = _by_walk(program, reference, domains, request)
            finding = replace(finding, notes=(*finding.notes, f"no proof: {reason}"))
        elif trial.exact and joint is not None and isinstance(reference, Recurrence):
            stronger = _prove(program, reference, joint, request)
        if stronger is None:
            stronger = _enumerate(program, reference, domains, integer_outputs, length)
        finding = stronger or finding
        if trial.exact and finding.verdict in ("tested", "exhaustive") and time_is_up():
            finding = replace(finding, notes=(*finding.notes, _CUT_SHORT))
    return Certificate(
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
        error=finding.error,
        counterexample=finding.counterexample,
        notes=(*trial.notes, *finding.notes),
    )


def _tested(trial: Trial, whole: bool, tolerance: float) -> _Finding:
    lengths = ", ".join(map(str, trial.lengths))
    ran = f"free-running on {trial.agreement.sequences} sequences of length {lengths}"
    rule = "right after rounding" if whole else f"within {tolerance:g} times the largest target"
    rule += " as long as no value reaches 2**53" if trial.outgrown else ""
    if not trial.passed:
        found = trial.counterexample or ()
        method = f"{ran}, outputs must be {rule}; a wrong output was found after {len(found)} inputs"
        return _Finding("failed", method, _TESTED_LENGTHS, trial.counterexample)
    notes = () if trial.exact else ("not exact, so no proof was tried",)
    return _Finding("tested", f"{ran}, every output {rule}", _TESTED_LENGTHS, notes=notes)


def _prove(program: Recurrence, reference: Recurrence, joint: Product, request: _Request) -> _Finding | None:
    """Every proof in turn; exploration comes last for machines that seem to have no end of states.

    A proof that outputs are near each other stands only if no other way shows that they are equal.
    """
    ways: list[_Way] = [_by_names, _by_induction]
    ways.insert(1 if looks_finite(joint, request.seed) else 2, _by_exploration)
    text = cache(lambda: _text(program, joint, request))
    near = None
    for way in ways:
        finding = way(joint, request, text)
        if finding is None:
            continue
        if finding.verdict == "bounded":
            near = finding
        elif finding.counterexample is None or _is_wrong(program, reference, finding.counterexample, request):
            return finding
    return near


def _by_walk(
    program: Recurrence, function: StepFunction, domains: tuple[Domain, ...], request: _Request
) -> tuple[_Finding | None, str]:
    """What walking through program and function together shows, or why nothing."""
    result = explore_with(program, function, domains, whole=request.whole, time_limit=request.effort_left())
    if result.outcome == "different":
        return _counterexample(result.counterexample, "complete exploration"), ""
    if result.outcome == "inconclusive":
        return None, result.reason
    method = (
        f"complete exploration of the {result.states} states that the step function and the program reach "
        f"together ({result.transitions} transitions), in the program's own float64 arithmetic"
    )
    if result.outcome == "near":
        return _Finding("bounded", method, _EVERY_LENGTH, error=result.error), ""
    return _Finding("proved", method, _EVERY_LENGTH), ""


def _by_names(joint: Product, request: _Request, text: Callable[[], _Text | None]) -> _Finding | None:
    if not same_up_to_names(joint):
        return None
    # the same operations on reals are the same in any arithmetic
    said = text() if joint.discrete else _Text("")
    return said and said.finding("the program is the reference machine up to the names of variables")


def _by_exploration(joint: Product, request: _Request, text: Callable[[], _Text | None]) -> _Finding | None:
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
    if result.outcome == "near":
        return _Finding("bounded", method, _EVERY_LENGTH, error=result.error)
    return _Finding("proved", method, _EVERY_LENGTH)


def _by_induction(joint: Product, request: _Request, text: Callable[[], _Text | None]) -> _Finding | None:
    said = text()
    if said is None:
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
    return said.finding(method, result.invariant)


@dataclass(frozen=True, slots=True)
class _Text:
    """What a proof about exact numbers says about the text, which computes in float64.

    `error` is by how much its outputs may differ, where that makes them others than whole numbers.
    """

    words: str
    error: float | None = None

    def finding(self, method: str, invariant: tuple[str, ...] = ()) -> _Finding:
        verdict: Verdict = "proved" if self.error is None else "bounded"
        return _Finding(verdict, method + self.words, _EVERY_LENGTH, invariant=invariant, error=self.error)


def _text(program: Recurrence, joint: Product, request: _Request) -> _Text | None:
    """What the text does with numbers, if anything can be said about that."""
    found = arithmetic(program, joint.domains)
    if joint.discrete:
        if not found.decided:
            return None
        if found.exact:
            words = _follows(program, joint, found, request)
            return None if words is None else _Text(words)
    bounds = bounds_of(program, joint.domains)
    grows = [name for name, interval in bounds.items() if not interval.finite]
    reach = _ROOM * request.largest
    bounds |= dict.fromkeys(grows, Interval(-exact_number(reach), exact_number(reach)))
    error, border = rounding(program, joint.domains, bounds)
    if not max(error, border) <= _MOST_ROUNDING * max(1.0, request.scale):
        return None
    said = []
    if error:
        while_small = f" while no value exceeds {reach:.3g}" if grows else ""
        said.append(f"rounds by at most {error:.1g} a position{while_small}")
    if border and not joint.discrete:
        said.append(f"decides otherwise only within {border:.1g} of a border")
    words = ", in exact arithmetic" + (
        f"; the text {' and '.join(said)}" if said else ", which the text follows"
    )
    if not request.whole:
        return _Text(f"{words}; it stayed within 1e-6 (relative) in all tests" if error else words)
    if found.exact:
        return _Text(words)
    # the same number to the last digit is what a proof is about
    return _Text(words, error) if joint.discrete and found.forgets and not grows else None


def _follows(program: Recurrence, joint: Product, found: Arithmetic, request: _Request) -> str | None:
    """The words for a program that float64 computes exactly, up to a limit if its values may grow."""
    words = ", in exact arithmetic, which the text follows"
    if found.bounded:
        return f"{words} (no value exceeds {float(found.largest):.17g})"
    positions = positions_below(program, joint.domains, found.limit, _MOST_POSITIONS)
    if positions < request.length:
        return None
    words += f" as long as no value reaches 2**{found.limit.bit_length() - 1}"
    return words if positions == _MOST_POSITIONS else f"{words} (not in the first {positions} positions)"


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
    scale = float(np.max(np.abs(right), initial=request.scale))
    wrong = wrong_positions(answer, right, whole=request.whole, tolerance=request.tolerance, scale=scale)
    return bool(wrong.any()) or not is_defined(program, x)


def _enumerate(
    program: Recurrence,
    reference: Reference,
    domains: tuple[Domain, ...],
    whole: bool,
    length: int,
) -> _Finding | None:
    machine = isinstance(reference, Recurrence)
    longest = longest_length(domains, _ENUMERATION_BUDGET if machine else _PLAIN_BUDGET)
    if longest < length:
        return None
    try:
        wrong = first_wrong(program, reference, domains, whole=whole, length=longest)
    except ArithmeticError:
        return None
    if wrong is not None:
        return _counterexample(wrong, "enumeration")
    rule = "right after rounding" if whole else "equal to within rounding errors"
    count = inputs_a_position(domains) ** longest
    method = f"all {count} sequences of length {longest}, and so all shorter ones, are {rule}"
    return _Finding("exhaustive", method, f"lengths 1 to {longest}")
