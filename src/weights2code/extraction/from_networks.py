"""From a trained rung to a certified program (paper, section 4), under one of four regimes.

    members that are promising -> pruned graph -> heads matched -> rule -> program -> certificate

What is tried differs with how far the targets are trusted; everything else is the same. A rule that must be
exact is looked for cut by cut, from the values that the network reads to the network's own nodes;
measured targets get the rule that their noise allows, and mistakes the rule that most rows follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from weights2code.data import Problem, Regime
from weights2code.effort import TimeUp, check_time, time_is_up
from weights2code.errors import NotExtracted, Reason
from weights2code.explain.explanation import ExplainedGraph
from weights2code.extraction.judge import judged, right_borders, unmatched_words, with_caveat, with_note
from weights2code.extraction.members import fits, member, members
from weights2code.extraction.refuting import lighter, with_counterexample
from weights2code.extraction.values import Extraction, Log, Member
from weights2code.json_values import MOST_NODES
from weights2code.program import Origin
from weights2code.program.listing import listing_source
from weights2code.program.listing_check import check_listing
from weights2code.rules.assembly import Assembly
from weights2code.rules.cuts import Cut, cuts
from weights2code.rules.from_leaves import direct_recurrences
from weights2code.rules.inexact import inexact_recurrences
from weights2code.verify.residuals import always_right

if TYPE_CHECKING:
    from weights2code.training.storage import Trained

#: Effort for the regressions of one member, in seconds of a usual machine: at its only cut, at one of many,
#: and if it is far from right; and for the explanation of its nodes.
REGRESSION_EFFORT = 4.0
CUT_EFFORT = 2.0
UNFIT_EFFORT = 1.5
EXPLANATION_EFFORT = 1.5
#: The same for what is said of each node after the program is found.
LISTING_EFFORT = 0.4
#: Searches for one rule: the first, and one more for each that a counterexample refutes.
ROUNDS = 2


def of_rung(trained: Trained, problem: Problem, log: Log) -> Iterator[Extraction]:
    """What the members of a rung give: exact rules first, then what the errors of own data allow."""
    inexact = problem.inexact()
    for regime in (Regime.EXACT, *([inexact] if inexact else [])):
        found = extract(trained, problem, regime, log)
        if found is not None:
            yield found
            if found.certificate.verified:
                return


def last_resort(
    climbed: Sequence[Trained], problem: Problem, log: Log
) -> Iterator[tuple[Extraction, Trained]]:
    """Where nothing was found of a machine: the leaves of each rung however badly it fits, the smallest
    first; and a network that fits and gave no rule, put together from the formulas of its nodes."""
    if problem.reference is None:
        return
    for trained in climbed:
        found = extract(trained, problem, Regime.EXACT, log, resort=True)
        if found is not None:
            yield found, trained
    for trained in climbed:
        if fits(trained, 0, problem) and not time_is_up():
            found = attempt(member(trained, 0, problem), problem, log, composed_program)
            if found is not None:
                yield found, trained
                return


def extract(
    trained: Trained, problem: Problem, regime: Regime, log: Log, *, resort: bool = False
) -> Extraction | None:
    """The best program that the members of a rung give; the first that is verified ends the search.

    What was tried is noted. `resort` tries the values of the best members however badly they fit.
    """
    problem = problem.under(regime)
    best: Extraction | None = None
    try:
        check_time()
        for member in members(trained, problem, log, resort=resort):
            found = attempt(member, problem, log)
            if found is not None and found.better_than(best):
                best = found
            if best is not None and best.certificate.verified:
                break
            check_time()
    except TimeUp as up:
        log.note(trained.rung, up)
    return best


#: What makes programs of a member.
Route = Callable[[Member, Problem, Log], Iterator[Extraction]]


def attempt(member: Member, problem: Problem, log: Log, route: Route | None = None) -> Extraction | None:
    """The best program of one member, by the usual route of its regime unless told; None if there is none.
    Either is noted.

    An error that nobody foresaw costs the attempt, not the run: it is noted as the defect that it is.
    """
    best: Extraction | None = None
    try:
        usual = exact_programs if problem.regime is Regime.EXACT else inexact_programs
        for found in (route or usual)(member, problem, log):
            if found.better_than(best):
                best = found
            if found.certificate.verified:
                break
    except Exception as error:
        if best is None:
            log.note(member, error, problem.regime)
    if best is not None:
        best = replace(best, member=member.index)
        if not member.fits and problem.regime is Regime.EXACT:
            best = replace(best, certificate=with_caveat(best.certificate))
        log.note(member, best, problem.regime)
    return best


# -- exact rules ---------------------------------------------------------------------------------------------


def exact_programs(member: Member, problem: Problem, log: Log) -> Iterator[Extraction]:
    """From the leaves upwards, cut by cut: rules of the values that the network reads, then of the variables
    that its operators are.

    A model that does not fit yet may still have found the right values; it is asked for a program that is
    exact on them, and for nothing less.
    """
    some = False
    missed: NotExtracted | None = None
    matched, lowest = member.matched, log.lowest_cut
    for cut in cuts(matched, problem, lowest, leaves_only=not member.fits):
        if cut.number < lowest:
            continue
        try:
            for found in at_cut(cut, member, problem, log):
                some = True
                yield found
        except NotExtracted as error:
            if error.reason is Reason.UNDETERMINED:
                raise  # what the leaves do not determine no function of them does
            missed = missed or error
        check_time()
    if unexplained := member.matched.unmatched():
        raise NotExtracted(f"{unexplained}.", Reason.UNMATCHED)
    if not some:
        raise missed or NotExtracted("no exact rule was found at any cut.")


def at_cut(cut: Cut, member: Member, problem: Problem, log: Log) -> Iterator[Extraction]:
    """Programs whose rule is regressed from the variables of a cut; a refuted one is looked for once more."""
    known = lighter(problem)
    effort = UNFIT_EFFORT if not member.nearly else REGRESSION_EFFORT if cut.only else CUT_EFFORT
    unexplained = member.matched.unmatched()
    for _ in range(ROUNDS):
        refuted = False
        for recurrence in direct_recurrences(cut.assembly, known, effort):
            rule = cut.rule(recurrence)
            if rule.cut < log.lowest_cut:
                continue
            origin = Origin.CUTS if rule.nodes else Origin.LEAVES
            found = judged(recurrence, origin, problem, log.seed, member.matched)
            found = right_borders(found, problem, log.seed)
            certificate = replace(found.certificate, rule=rule)
            if unexplained:
                certificate = with_note(certificate, unmatched_words(unexplained))
            yield replace(found, certificate=certificate)
            if certificate.counterexample:
                known, refuted = with_counterexample(known, certificate), True
        if not refuted:
            return


def composed_program(member: Member, problem: Problem, log: Log) -> Iterator[Extraction]:
    """The last cut, and the last resort: the program that puts together the formulas of the live nodes."""
    member.matched.require()
    explained = member.matched.explain(problem, REGRESSION_EFFORT)
    recurrence = Assembly(member.graph, explained.routers, explained.operators).compose()
    found = judged(recurrence, Origin.NODES, problem, log.seed, member.matched)
    yield replace(found, explained=explained)


# -- rules that most of the data follow ----------------------------------------------------------------------


def inexact_programs(member: Member, problem: Problem, log: Log) -> Iterator[Extraction]:
    """The rules of the best member's leaves that noise allows, or that most rows follow."""
    member.matched.require()
    assembly = Assembly.of(member.matched, problem, EXPLANATION_EFFORT)
    origin = Origin.MAJORITIES if problem.regime is Regime.MISTAKES else Origin.LEAVES
    for recurrence in inexact_recurrences(assembly, problem, REGRESSION_EFFORT):
        if problem.integer_outputs and always_right(recurrence, problem.training):
            exact = problem.under(Regime.EXACT)  # it was not rounded, and there is no mistake
            yield judged(recurrence, origin, exact, log.seed, member.matched)
        yield judged(recurrence, origin, problem, log.seed, member.matched)


def with_listing(extraction: Extraction, problem: Problem, log: Log) -> Extraction:
    """Run the listing beside the network, if there is one; what goes wrong costs that alone."""
    explained = extraction.explained or ExplainedGraph(extraction.graph, {}, {})
    try:
        text = listing_source(explained, problem)
        listing = check_listing(text, extraction.graph, problem, log.seed)
    except NotExtracted:
        return extraction  # in `concat`, what cannot be re-indexed has none
    except Exception as error:
        log.note("listing of the graph", error)
        return extraction
    return replace(extraction, certificate=replace(extraction.certificate, listing=listing))


def with_explanation(extraction: Extraction, problem: Problem, log: Log) -> Extraction:
    """Explain every live node of the graph, for the listing and the report, if that is not done yet.

    The program is found already: an error that nobody foresaw costs the explanation alone.
    """
    matched = extraction.matched
    if extraction.explained is not None or matched is None or not matched.finite:
        return extraction  # nothing is regressed on what are no numbers
    try:
        explained = matched.explain(problem, LISTING_EFFORT)
        small = {i: fit for i, fit in explained.operators.items() if fit.formula.size() <= MOST_NODES}
        return replace(extraction, explained=replace(explained, operators=small))
    except Exception as error:
        log.note("explanation of the graph", error)
        return extraction
