"""Rules that the rows show, judged: exact ones first, then what noise, rounding or mistakes leave of one.

Nothing is trained here. A rule that a fresh sequence refutes is looked for again, with that sequence among
the rows; of own data, with the rows that it was not made from.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

import numpy as np

from weights2code.data import Problem, Regime, Sequences
from weights2code.effort import time_is_up
from weights2code.errors import NotExtracted
from weights2code.extraction.by_rows import Search
from weights2code.extraction.judge import judged, right_borders
from weights2code.extraction.refuting import counterexamples
from weights2code.extraction.values import Extraction, Log
from weights2code.language import Recurrence
from weights2code.program import Origin
from weights2code.rules.inexact import inexact_recurrences
from weights2code.simplify.kept import kept_capped, kept_modulo
from weights2code.verify.residuals import always_right, residuals
from weights2code.views.agenda import inexact_views
from weights2code.views.features import View
from weights2code.views.guessing import explained, guess_of, standing_for_something
from weights2code.views.hidden import as_far_back

#: Rules that are refuted before the rows are given up.
REFUTED = 8
#: Effort for a rule that is not exact, and for exact ones before any such, in seconds of a usual machine; the
#: share of contradictions that may be mistakes.
EFFORT, FIRST, FEW = 4.0, 6.0, 0.2
#: Wider views that are asked for a better rule than one that is verified.
WIDER = 1
#: A rule does better than another if it leaves less of the variance than this share of what that leaves.
BETTER = 0.8


def from_rows(problem: Problem, log: Log) -> Iterator[Extraction]:
    """Programs of rules that rows show, the best of their kind last."""
    search, regime = Search(whole(problem), log), problem.inexact()
    if regime is None:
        yield from exact_programs(search, problem, log)
        return
    later = search.effort - FIRST
    search.effort = FIRST
    yield from exact_programs(search, problem, log)
    if time_is_up():
        return
    # whole numbers may follow exactly from what is not seen; what is measured hardly does
    soon = regime is not Regime.MISTAKES or mistaken(search)
    least = np.inf
    if soon:
        least = yield from inexact_programs(search, problem.under(regime), log)
    search.effort = later
    yield from exact_programs(search, problem, log)
    if not soon:
        least = yield from inexact_programs(search, problem.under(regime), log)
    known = [output.agenda.rows for output in search.outputs]
    if regime is not Regime.MISTAKES:
        log.guesses = tuple(guess for rows in known if (guess := explained(rows, least)))
    else:
        log.guesses = tuple(guess for guess in map(guess_of, known) if not guess.better)
        codes = [set(standing_for_something(rows)) for rows in known]
        log.codes = tuple(name for name in problem.inputs if any(name in of for of in codes))


def mistaken(search: Search) -> bool:
    """Whether visible values leave only so few contradictions that these may be mistakes in the data."""
    known = [output.agenda.rows.partial for output in search.outputs]
    visible = [[s.left for s in some if not any(f.steps for f in s.features)] for some in known]
    return all(left and min(left) <= FEW for left in visible)


def whole(problem: Problem) -> Problem:
    """The problem in sequences that show what lies a season back, or all since the start."""
    if problem.seasonal or problem.uncut or problem.beginnings is None:
        return problem.seasonal or problem.uncut or problem
    return replace(problem, training=problem.beginnings, validation=problem.beginnings)


def exact_programs(search: Search, problem: Problem, log: Log) -> Iterator[Extraction]:
    """Rules that are right on all rows; a shorter one that is verified takes the place of a longer one."""
    refuted = 0
    best: Extraction | None = None
    for words, recurrence in search.rules():
        extraction = judged_rule(recurrence, Origin.ROWS, problem, log, words)
        if extraction is not None and extraction.certificate.verified:
            best = extraction
            continue
        if best is not None:
            break  # what is shorter is wrong
        if extraction is not None:
            yield extraction  # for what it is worth
        refuted += 1
        if refuted > REFUTED:
            break
        more = None if extraction is None else more_rows(problem, extraction, refuted)
        search.refuted(problem.training.take(slice(0, 0)) if more is None else more)
    if best is not None:
        yield best


def more_rows(problem: Problem, extraction: Extraction, count: int) -> Sequences | None:
    """Rows that a wrong rule must have been without."""
    if problem.reference is not None:
        return counterexamples(problem, extraction.certificate)
    return problem.validation if count == 1 else None


def inexact_programs(search: Search, problem: Problem, log: Log) -> Generator[Extraction, None, float]:
    """The rules that errors of the data allow, of narrow views first, as long as they get better; and the
    share of the variance that the best leaves."""
    origin = Origin.MAJORITIES if problem.regime is Regime.MISTAKES else Origin.ROWS
    best: Extraction | None = None
    least, waited = np.inf, 0
    for words, reads in inexact_views(problem, [output.agenda.rows for output in search.outputs]):
        waited += best is not None and best.certificate.verified
        if time_is_up() or waited > WIDER:
            break
        view = View.of(problem, reads)
        try:
            for recurrence in inexact_recurrences(view, problem, EFFORT):
                left = left_over(recurrence, problem)
                if left >= BETTER * least:
                    continue
                # whole numbers that are right everywhere were not rounded
                exact = problem.integer_outputs and always_right(recurrence, problem.training)
                asked = problem.under(Regime.EXACT) if exact else problem
                found = judged_rule(recurrence, origin, asked, log, words)
                if found is not None:
                    best, least, waited = found, left, 0
                    if exact and found.certificate.verified:
                        yield found
                        return left
        except NotExtracted as error:
            log.note(words, error, problem.regime)
    if best is not None:
        yield best
    return least


def left_over(recurrence: Recurrence, problem: Problem) -> float:
    """The share of the variance that a rule leaves, running free or one step ahead."""
    part = problem.validation
    spread = np.maximum(np.var(part.y[part.scored], axis=0), 1e-300)
    return min(
        float(np.mean([item.rmse**2 for item in residuals(recurrence, part, one_step=one)] / spread))
        for one in (False, True)
    )


def judged_rule(
    recurrence: Recurrence, origin: Origin, problem: Problem, log: Log, words: str
) -> Extraction | None:
    """The program of a rule with its certificate, noted; None if it is no program."""
    problem = as_far_back(problem, recurrence)
    recurrence = kept_modulo(recurrence, problem.domains)
    if problem.asked.reference is not None:  # with few states there is a proof; rows alone give none
        recurrence = kept_capped(recurrence, problem.domains)
    try:
        found = right_borders(judged(recurrence, origin, problem, log.seed), problem, log.seed)
    except NotExtracted as error:
        log.note(words, error, problem.regime)
        return None
    log.note(words, found, problem.regime)
    return found
