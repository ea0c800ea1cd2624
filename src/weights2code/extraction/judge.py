"""A recurrence is simplified, certified and given its verdict: the same for every route."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Problem, Regime, from_arrays
from weights2code.effort import time_is_up
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import MatchedGraph
from weights2code.extraction.values import Extraction
from weights2code.graph import DiscreteGraph
from weights2code.kernel.claims import Certificate as Proposal
from weights2code.language import Expr, Recurrence, expression_of
from weights2code.language.categories import speaks
from weights2code.program import Origin, Program
from weights2code.rules.borders import other_borders
from weights2code.rules.unordered import unordered
from weights2code.simplify import grouped_as_read, simplify_recurrence
from weights2code.simplify.thresholds import with_round_thresholds
from weights2code.verify import Certificate, certify
from weights2code.verify.certificate import REGRESSED, Agreement
from weights2code.verify.links import with_texts
from weights2code.verify.own_data import certify_measured
from weights2code.verify.testing import compare

#: Effort for the proof of one program, in seconds of a usual machine.
PROOF_EFFORT = 5.0
#: Whole-number outputs must be whole to this digit.
LAST_DIGIT = 1e-3
#: How what is said of a network begins that is not right itself.
UNFIT = "the discrete model does not fit"
#: Recurrences with more nodes than this are written as they are: nobody will read them anyway.
SIMPLIFIED = 120
#: Sequences that may refute on which side of its border a threshold is.
BORDERS = 6
#: Outputs of one rule in two orders of its operations differ by this much, in relation and in size.
ROUNDING = 1e-9
#: Levels of a formula that Python's own parser still reads.
DEEPEST = 150


def judged(
    recurrence: Recurrence, origin: Origin, problem: Problem, seed: int, matched: MatchedGraph | None = None
) -> Extraction:
    """The program of a recurrence, certified; `matched` is the network that it was read from, if it was."""
    recurrence = recurrence.live() if problem.categories else recurrence
    formulas = [step.definition for step in recurrence.steps if isinstance(step.definition, Expr)]
    if any(formula.depth() > DEEPEST for formula in formulas):
        raise NotExtracted(f"what was found is a formula of more than {DEEPEST} levels: a table, not a rule.")
    short = sum(formula.size() for formula in formulas) <= SIMPLIFIED
    if short and not time_is_up() and not problem.output_categories:
        simple = simplify_recurrence(recurrence, problem.domains)
        if speaks(simple, problem.categories) or not speaks(recurrence, problem.categories):
            recurrence = simple
    if problem.categories:
        recurrence = without_order(recurrence, problem)
        recurrence = simplify_recurrence(recurrence, problem.domains, formulas=False)
    recurrence = grouped_as_read(recurrence, problem.domains)
    if problem.reference is None and recurrence.inputs == problem.inputs:
        learned = (problem.training, *([problem.validation] if problem.held_out else []))
        recurrence = with_round_thresholds(recurrence, learned)
    graph = matched.graph if matched else None
    certificate = certificate_of(recurrence, graph, problem, seed)
    program = Program(
        problem.name,
        recurrence,
        problem.domains,
        problem.integer_outputs,
        origin,
        problem.asked.regime,
        output_categories=problem.output_categories,
        output_truths=problem.asked.output_truths,
    )
    program = program.with_verdict(certificate.words())
    return Extraction(graph, None, program, certificate, matched)


def right_borders(found: Extraction, problem: Problem, seed: int) -> Extraction:
    """The same program with its thresholds on the other side, if that is all that was wrong with it. What the
    user did not ask about may differ."""
    reference, matched = problem.asked.reference, found.matched
    if reference is None or all(domain.discrete for domain in problem.domains):
        return found
    program, refuting, origin = found.program.recurrence, [], Origin(found.program.origin)
    asked = [program.outputs.index(name) for name in problem.asked.outputs]
    judgement = found
    while (example := judgement.certificate.counterexample) and len(refuting) < BORDERS:
        refuting.append(np.array(example, dtype=float).reshape(1, -1, len(problem.inputs)))
        right = (
            candidate
            for candidate in other_borders(program)
            if all(
                np.allclose(candidate.run(x)[..., asked], reference.run(x), ROUNDING, ROUNDING)
                for x in refuting
            )
        )
        candidate = next(right, None)
        if candidate is None:
            return found
        judgement = judged(candidate, origin, problem, seed, matched)
    return judgement if judgement.certificate.verified else found


def without_order(recurrence: Recurrence, problem: Problem) -> Recurrence:
    """The recurrence without arithmetic on texts, of which only equality means anything."""
    nodes = sum(expression_of(step.definition).size() for step in recurrence.steps)
    said = nodes <= SIMPLIFIED or speaks(recurrence, problem.categories)
    found = unordered(recurrence, problem.domains, problem.categories) if said else None
    if found is None:
        raise NotExtracted("the rule that was found computes with texts as if they were numbers.")
    return found


def certificate_of(
    recurrence: Recurrence,
    graph: DiscreteGraph | None,
    problem: Problem,
    seed: int,
    stored: Proposal | None = None,
) -> Certificate:
    """The reference machine is the specification where there is one, else held-out sequences are.

    What the user did not ask about is not judged. Whole-number outputs that are right only after rounding are
    not enough.
    """
    certificate = _certificate(recurrence, graph, problem, seed, stored)
    certificate = replace(
        certificate,
        notes=(*certificate.notes, *problem.remarks),
        counterexample=with_texts(certificate.counterexample, problem.inputs, problem.categories),
    )
    whole = problem.integer_outputs and problem.asked.regime is not Regime.MISTAKES
    if not (whole and certificate.verified and certificate.max_abs_error > LAST_DIGIT):
        return certificate
    method = f"{certificate.method}, but only after rounding: outputs are off by up to "
    method += f"{certificate.max_abs_error:.2g}"
    return replace(certificate, verdict="failed", method=method)


def _certificate(
    recurrence: Recurrence, graph: DiscreteGraph | None, problem: Problem, seed: int, stored: Proposal | None
) -> Certificate:
    asked = problem.asked
    program = replace(recurrence, outputs=asked.outputs)
    if asked.reference is None:
        return certify_measured(program, asked, seed)
    found = certify(
        program,
        reference=asked.reference,
        domains=asked.domains,
        length=asked.length,
        integer_outputs=asked.integer_outputs,
        sampler=asked.sampler,
        seed=seed + 1,
        time_limit=PROOF_EFFORT,
        stored=stored,
    )
    return found if graph is None else replace(found, model=model_agreement(recurrence, graph, problem, seed))


def as_asked(extraction: Extraction, problem: Problem) -> Extraction:
    """The extraction with a program of the outputs that the user asked about; all others are steps of it."""
    program = extraction.program
    recurrence = replace(program.recurrence, outputs=problem.asked.outputs)
    return replace(extraction, program=replace(program, recurrence=recurrence))


def model_agreement(
    recurrence: Recurrence, graph: DiscreteGraph, problem: Problem, seed: int, count: int = 256
) -> Agreement:
    """The program against the network, on sequences of the training length with the right past given."""
    assert problem.reference is not None
    assert problem.sampler is not None
    x = problem.sampler(np.random.default_rng(seed + 1), count, problem.length)
    with np.errstate(all="ignore"):
        answers = graph.run(from_arrays(x, problem.reference.run(x)))
        return compare(recurrence.run(x), answers, whole=problem.integer_outputs)


def with_caveat(certificate: Certificate) -> Certificate:
    """Say it where the discrete model itself is not right: the program stands on its own check."""
    share = certificate.model.accuracy if certificate.model else None
    if share == 1.0:  # every output rounds to the right number: that is a fit, if a loose one
        return certificate
    found = "" if share is None else f" (it agrees with the program at {share:.1%} of the positions)"
    return replace(with_note(certificate, f"{UNFIT}{found}{REGRESSED} reads"), model_fits=False)


def with_note(certificate: Certificate, note: str) -> Certificate:
    """The certificate says one thing more."""
    return replace(certificate, notes=(*certificate.notes, note))


def unmatched_words(unmatched: str) -> str:
    """What is said of a program that was found beside a head that matches nothing."""
    return f"{unmatched}{REGRESSED} can select"
