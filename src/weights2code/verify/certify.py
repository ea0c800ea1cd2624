"""The verdict: cheapest evidence first, strongest claim last (design: "Trust").

Tests come first, because a wrong program shows itself within milliseconds and its counterexample is the
answer. For one that passes them exactly certificates are proposed, which the kernel alone decides on: that
the states of text and specification end, that both are the same formulas, an invariant for induction; at
last, how far all sequences could be gone through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isfinite

from weights2code.effort import Effort, time_is_up
from weights2code.kernel import claims as kernel
from weights2code.kernel.closing import Unsuited
from weights2code.language import Domain, Recurrence, exact_number, renamed
from weights2code.language.arithmetic import CARRIED
from weights2code.language.categories import categories_of, with_locals
from weights2code.language.product import Product, must_fit
from weights2code.language.python_source import python_source
from weights2code.language.sums import Unwritten
from weights2code.tasks.step_function import Reference, StepFunction
from weights2code.verify.called import Called
from weights2code.verify.certificate import Certificate, Sequence, Verdict, versions
from weights2code.verify.hunt import counterexample
from weights2code.verify.induction import invariant_for
from weights2code.verify.links import checked
from weights2code.verify.testing import SOME, Sampler, Trial, run_tests

#: Transitions that are taken at first, and at last where nothing else helps; a plain function takes its time.
FIRST, MOST, MOST_CALLED = 60_000, 1_050_000, 100_000
#: Whole-number outputs are wrong if they are off by more than this.
NEAR = Fraction(1, 1000)
#: Others are near each other if they differ by less than this share of the largest.
REAL_NEAR = Fraction(1, 10**9)
#: Where no bound is known, rounding is bounded for values up to so many times those that tests met;
_ROOM = 4.0
#: it must be less than this share of the outputs.
_MOST_ROUNDING = 1e-9
_CUT_SHORT = "the time limit was reached; a proof may have been cut short"


@dataclass(frozen=True, slots=True)
class _Request:
    """What is claimed of a program that passed its tests, and what these say of it."""

    claim: kernel.Claim
    whole: bool
    effort: Effort
    length: int
    trial: Trial
    tested: Certificate
    tolerance: float


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
    stored: kernel.Certificate | None = None,
) -> Certificate:
    """Compare the text of a program with the machine that specifies it.

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
        Effort for finding an invariant, in seconds of a usual machine; it is counted in the solver's steps.
    tolerance
        For real outputs: the error that passes a test, relative to the largest target.
    count
        Test sequences a length.
    stored
        A certificate that was found before; it is checked before any other is looked for.
    """
    specification = _specified(program, reference, domains)
    types = with_locals(program, categories_of(program.inputs, domains))
    texts = (tuple(types.get(name) for name in names) for names in (program.inputs, program.outputs))
    text = kernel.ProgramText(python_source(program, domains, "program"), program.inputs, *texts)

    tests = partial(
        run_tests,
        program,
        reference,
        domains,
        length=length,
        whole=integer_outputs,
        text=text.closing(),
        sampler=sampler,
        seed=seed,
        count=count,
        tolerance=tolerance,
    )
    trial = tests()
    found = tested = _tested(trial, domains, seed, integer_outputs, tolerance)
    if trial.passed and specification is not None and (trial.exact or integer_outputs):
        near = NEAR if integer_outputs else REAL_NEAR * Fraction(max(1.0, trial.scale))
        claim = kernel.Claim(text, specification, domains, near, _ROOM * trial.largest)
        request = _Request(claim, integer_outputs, Effort(time_limit), length, trial, tested, tolerance)
        found = _prove(request, stored)
        if found.verdict in ("tested", "exhaustive") and time_is_up():
            found = replace(found, notes=(*found.notes, _CUT_SHORT))
    if found.verdict != "tested":
        return found
    if integer_outputs and not time_is_up():  # tests alone look where random inputs go
        hunted = counterexample(program, reference, domains, length, seed)
        if hunted is not None:
            method = f"a hunt for departures found a wrong output after {len(hunted)} inputs"
            return replace(found, verdict="failed", method=method, counterexample=hunted)
    again = tests(some=count + SOME)  # that is all there is: then by the text alone
    inexact = () if trial.exact else ("not exact, so no proof was tried",)
    notes = (*again.notes, *inexact, *found.notes[len(trial.notes) :])
    return replace(_tested(again, domains, seed, integer_outputs, tolerance), notes=notes)


def _specified(
    program: Recurrence, reference: Reference, domains: tuple[Domain, ...]
) -> kernel.Machine | None:
    """What a program is proved against: formulas mean exact numbers, a function what it answers."""
    if not isinstance(reference, (Recurrence, StepFunction)):
        return None
    must_fit(reference, program, domains)
    return kernel.Specification(reference) if isinstance(reference, Recurrence) else Called(reference)


def _tested(
    trial: Trial, domains: tuple[Domain, ...], seed: int, whole: bool, tolerance: float
) -> Certificate:
    lengths = ", ".join(map(str, trial.lengths))
    method = f"run by itself on {trial.agreement.sequences} sequences of length {lengths}, "
    rule = "right to the nearest whole number" if whole else f"within {tolerance:g} times the largest target"
    rule += " as long as no value reaches 2**53" if trial.outgrown else ""
    if trial.counterexample is None:
        method += f"every output {rule}"
    else:
        method += f"outputs must be {rule}; a wrong output was found after {len(trial.counterexample)} inputs"
    return Certificate(
        verdict="tested" if trial.passed else "failed",
        method=method,
        domain=tuple(str(domain) for domain in domains),
        covers="the tested lengths",
        lengths=trial.lengths,
        target=trial.agreement,
        by_length=dict(zip(trial.lengths, trial.by_length, strict=True)),
        versions=versions(),
        seed=seed,
        counterexample=trial.counterexample,
        notes=trial.notes,
    )


def _prove(request: _Request, stored: kernel.Certificate | None) -> Certificate:
    """The first proof of equality; else one that outputs are near, or of all sequences up to a length."""
    near, reasons = None, []
    answers: list[kernel.Answer] = []
    for proposal in _proposals(request, stored, answers):
        if isinstance(proposal, kernel.Refuted):
            answer: kernel.Answer = proposal
        else:
            closed = isinstance(proposal, kernel.Closure)  # where both are run, one sees how near they are
            claim = request.claim if closed else replace(request.claim, eps=Fraction(0))
            answer = checked(claim, proposal)
        answers.append(answer)
        if isinstance(answer, kernel.Refuted):
            if _is_wrong(request, answer.sequence):
                return _different(request, answer)
            reasons.append("outputs are right only after rounding")
        elif isinstance(answer, kernel.Rejected):
            reasons.append(answer.reason)
        elif found := _proved(answer, request):
            if found.verdict == "proved":
                return found
            longer = near is not None and near.verdict == found.verdict == "exhaustive"
            near = found if near is None or longer else near
    if near is not None:
        return near
    reason = [f"no proof: {reasons[0]}"] if reasons and isinstance(request.claim.right, Called) else []
    return replace(request.tested, notes=(*request.tested.notes, *reason))


def _proposals(
    request: _Request, stored: kernel.Certificate | None, answers: list[kernel.Answer]
) -> Iterator[kernel.Certificate | kernel.Refuted]:
    """Certificates that may show the claim, cheap ones first, given the answers to those before; a sequence
    that may show the opposite is as good."""
    claim, first = request.claim, None
    if stored is not None:
        yield stored
    if isinstance(claim.right, Called):
        yield kernel.Closure(MOST_CALLED)
        return
    if claim.discrete:
        yield kernel.Closure(FIRST)
        first = answers[-1]
    if request.trial.exact:
        with suppress(Unsuited, Unwritten, ArithmeticError, ValueError):
            yield _same(claim.beside())
            found = invariant_for(claim.joint(), request.effort, seed=request.tested.seed)
            if isinstance(found, kernel.Inductive | kernel.Refuted):
                yield found
    closed = first.certificate if isinstance(first, kernel.Proved) else None
    if isinstance(closed, kernel.Closure):
        yield kernel.Closure(4 * FIRST if closed.growing else MOST)


def _proved(answer: kernel.Proved, request: _Request) -> Certificate | None:
    """The certificate of a proof; None if that ends too early, or rounds too much, to be one."""
    proposal, error, right = answer.certificate, float(answer.error), request.claim.right
    called = isinstance(right, Called)
    closed = isinstance(proposal, kernel.Closure)
    verdict: Verdict = "bounded" if error and (closed or request.whole) else "proved"
    covers = "every length"
    if isinstance(proposal, kernel.Closure):
        who = "the step function and the" if called else "reference and"
        states = answer.words.replace(" (", f" that {who} program reach together (")
        method = f"complete exploration of the {states}, in the program's own float64 arithmetic"
        if answer.length is not None:
            verdict, covers = "exhaustive", f"lengths 1 to {answer.length}"
            method = f"all sequences up to length {answer.length} were run, {answer.words}"
        method += "" if called else "; the specification in exact arithmetic"
    elif isinstance(proposal, kernel.Same):
        method = f"the program is the reference machine up to the names of variables, {answer.words}"
    else:
        assert isinstance(proposal, kernel.Inductive)
        base = max(1, max(request.claim.joint().machine.depths().values(), default=0))
        method = f"induction over the positions with z3 (first {base} checked one by one, then step by step"
        method += f" from {proposal.steps} positions), " if proposal.steps > 1 else "), "
        method += answer.words
    outgrown = re.search(r"not in the first (\d+) positions", answer.words)
    ends = answer.length if outgrown is None else int(outgrown[1])
    if ends is not None and ends < request.length:
        return None
    if request.whole and CARRIED in answer.words:
        return None
    if verdict != "exhaustive":
        method += f"; it is assumed {right.function.assumes}" if isinstance(right, Called) else ""
        if not request.whole and error:
            if error > _MOST_ROUNDING * max(1.0, request.trial.scale):
                return None
            method += "; it stayed within 1e-6 (relative) in all tests"
    return replace(
        request.tested,
        verdict=verdict,
        method=method,
        covers=covers,
        error=error if verdict == "bounded" else None,
        invariant=tuple(map(str, getattr(proposal, "invariant", ()))),
        proof=answer,
    )


def _different(request: _Request, answer: kernel.Refuted) -> Certificate:
    count = len(answer.sequence)
    method = f"complete exploration found a sequence of {count} inputs after which an output is wrong"
    return replace(
        request.tested,
        verdict="failed",
        method=f"{method} ({answer.reason})",
        covers=f"length {count}",
        counterexample=answer.sequence,
    )


def _is_wrong(request: _Request, example: Sequence) -> bool:
    """Whether a counterexample is more than rounding would hide: the text stops there, or is plainly off."""
    left, right = request.claim.left.closing(), request.claim.right.closing()
    plainly = Fraction(1, 2) if request.whole else Fraction(request.tolerance * request.trial.scale + 1e-12)
    rows = [tuple(map(exact_number, row)) for row in example]
    state, other = left.start(rows[0]), right.start(rows[0])
    for row in rows:
        try:
            (one, state), (two, other) = left.step(state, row), right.step(other, row)
        except Exception:
            return True
        pairs = ((Fraction(a) if isfinite(a) else a, b) for a, b in zip(one, two, strict=True) if a != b)
        with suppress(OverflowError):  # where both outgrow float64 nothing is said
            if any(not abs(a - b) < plainly or (request.whole and round(a) != round(b)) for a, b in pairs):
                return True
    return False


def _same(joint: Product) -> kernel.Same:
    """Steps that start alike, split until each class has one formula."""
    definitions = {step.name: step.definition for step in joint.machine.steps}
    classes: dict[object, list[str]] = {}
    for name in definitions:
        classes.setdefault(joint.machine.start_of(name), []).append(name)
    while True:
        leader = {name: members[0] for members in classes.values() for name in members}
        split: dict[object, list[str]] = {}
        for name, first in leader.items():
            split.setdefault((first, renamed(definitions[name], leader)), []).append(name)
        if len(split) == len(classes):
            return kernel.Same(tuple(leader.items()))
        classes = split
