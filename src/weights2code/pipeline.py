"""The driver, from a problem to a certified program; it reads as the table of contents.

    task or file -> sequences -> model -> discrete graph -> explained graph -> program -> certificate

For each rung of the ladder: extract; stop? What was tried, and why it was not enough, is kept and said.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from weights2code.data import Problem
from weights2code.data.by_key import telling_apart
from weights2code.effort import now, within
from weights2code.errors import InputError
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.beginnings import climb_uncut, extract_uncut
from weights2code.extraction.climb import Climb
from weights2code.extraction.extract import with_explanation, with_listing
from weights2code.extraction.hidden import HiddenClimb, extract_hidden
from weights2code.extraction.judge import as_asked
from weights2code.extraction.links import with_network
from weights2code.extraction.members import fit_of
from weights2code.extraction.seasons import climb_seasonal
from weights2code.extraction.values import Log
from weights2code.memory.stored import leave_memory, memory_in, problem_in, remembered
from weights2code.recheck import (
    certified_again,
    check_written,
    judged_otherwise,
    text_problems,
)
from weights2code.results import Outcome, certificate_dict, leave_files, read_run
from weights2code.run_folder import CERTIFICATE, LATEX, MODEL, PROGRAM, RunFolder
from weights2code.settings import Settings
from weights2code.source import Source, problem_of

if TYPE_CHECKING:
    from weights2code.training.ruled_out import Skipped
    from weights2code.training.search import Progress

#: Values of a column that may be categories.
FEWEST_CODES, MOST_CODES = 3, 20
#: The last resort ends at so many times the time limit.
OVERTIME = 1.1


def run(
    source: Source, settings: Settings, folder: RunFolder | None = None, progress: Progress | None = None
) -> Outcome:
    """All stages for a built-in task or a file; with a folder, everything is left there."""
    began = now()  # reading a large file takes its time too
    return search(problem_of(source, settings), settings, folder, progress, began)


def search(
    problem: Problem,
    settings: Settings,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
    began: float | None = None,
) -> Outcome:
    """Climb the ladder until a program is verified, or the time is up, counted from `began` on."""
    from weights2code.training.train import ladder_of, rungs_of, write_metrics

    if folder and folder.trained:
        if folder.has(CERTIFICATE):
            return finished(folder, remembered(problem, folder))
        outcome = extract(folder)  # the folder holds a trained model: it may be all that is needed
        if outcome.exit_code == 0:
            return outcome
    began, limit = now() if began is None else began, settings.cut_after()
    climb = Climb(problem, Log(settings.seed, settings.lowest_cut))
    skipped: list[Skipped] = []
    with within(limit, since=began) as time_limit:
        since_the_start = climb_uncut(climb, settings)
        if since_the_start and folder:
            write_metrics(folder, list(since_the_start.history))
        seasonal = None if since_the_start else climb_seasonal(problem, settings)
        if seasonal and folder:
            write_metrics(folder, [epoch for trained in seasonal.climbed for epoch in trained.history])
        hidden = HiddenClimb(climb, settings, folder, progress)
        if not since_the_start and not seasonal and not hidden.at_once():
            for trained in rungs_of(problem, settings, folder, progress, skipped, hidden.before):
                if climb.rung(trained):
                    break
            else:
                hidden.at_last()
    if hidden.found or seasonal:
        climb = hidden.found or seasonal or climb
        problem = climb.problem
    climb.log.attempts += [Attempt.not_trained(item.rung, item.reason) for item in skipped]
    with within(OVERTIME * limit, since=began):
        climb.settle()
        if time_limit.cut and not climb.verified:
            climb.log.attempts.append(Attempt.cut_short(limit))
        outcome = outcome_of(climb, settings, began)
    if outcome.exit_code:
        outcome = replace(outcome, hints=(*key_hints(problem.asked), *category_hints(problem.asked)))
    if folder:
        assert outcome.trained is not None
        if climb.memory is not None:
            leave_memory(climb.memory, folder)
        outcome.trained.save(folder.file(MODEL))  # as it was trained, from here on
        leave(outcome, problem, folder)
        seen = {*(trained.rung for trained in climb.climbed), *(item.rung for item in skipped)}
        whole = len(seen) == len(ladder_of(problem, settings))
        if outcome.exit_code == 0 or (whole and not time_limit.cut):
            folder.drop_checkpoint()  # else the time was up, and a larger limit climbs on
    return outcome


def key_hints(problem: Problem) -> tuple[str, ...]:
    """Columns of own data that may tell sequences apart."""
    found = telling_apart(problem) if problem.reference is None else []
    return tuple(
        f"rows with the same {name} seem to go on from each other, wherever they stand; try --sequence {name}"
        for name in found
    )


def category_hints(problem: Problem) -> tuple[str, ...]:
    """Columns of own data whose few whole numbers may only stand for something."""
    if problem.reference is not None:
        return ()
    columns = zip(
        (*problem.inputs, *problem.outputs), (*problem.domains, *problem.output_domains), strict=True
    )
    values = np.concatenate([problem.training.x, problem.training.y], 2)[problem.training.valid]
    found = [
        name
        for (name, domain), column in zip(columns, values.T, strict=True)
        if domain.kind == "integers" and FEWEST_CODES <= len(np.unique(column)) <= MOST_CODES
    ]
    if not found:
        return ()
    each = "takes" if len(found) == 1 else "take"
    return (
        f"{', '.join(found)} {each} few whole numbers; where these only stand for something, as ids do, try "
        f"--categories {','.join(found)}",
    )


def extract(folder: RunFolder) -> Outcome:
    """Extract and certify the model of a run folder, which stays as it was trained.

    A folder that holds a program keeps it if the model gives none.
    """
    from weights2code.training.search import Trained

    began = now()
    if not folder.has(MODEL):
        raise InputError(f"{folder.path} holds no trained model; train it with `w2c train {folder.source}`.")
    problem = problem_in(folder)
    memory = memory_in(folder, problem.asked)
    climb = Climb(problem, Log(folder.settings.seed, folder.settings.lowest_cut), memory)
    trained = Trained.load(folder.file(MODEL), problem)
    if memory is None:
        climb.rung(trained)
    else:
        extract_hidden(climb, trained)
    if not climb.verified:
        extract_uncut(climb, trained)  # it may have been trained on uncut sequences
    climb.settle()
    outcome = outcome_of(climb, folder.settings, began, training=False)
    if outcome.extraction is not None or not folder.has(CERTIFICATE):
        leave(outcome, problem, folder)
    return outcome


def outcome_of(climb: Climb, settings: Settings, began: float, *, training: bool = True) -> Outcome:
    """What a climb ends with; every live node of its program's graph is explained, for listing and report."""
    from weights2code.training.train import best as best_rung

    best, chosen, taught = climb.best, climb.source or best_rung(climb.climbed), None
    if best:
        computes = settings.submlps != 0
        best = with_network(best, chosen, climb.problem, climb.log, computes=computes)
        best = with_listing(with_explanation(best, climb.problem, climb.log), climb.problem, climb.log)
        if best.certificate.taught:
            fit, whole = fit_of(best.graph, climb.problem), best.program.integer_outputs
            taught = chosen.taught(best.graph, *fit, integer_outputs=whole)
        best = as_asked(best, climb.problem)
    spent = sum(trained.seconds for trained in climb.climbed) if training else None
    return Outcome(best, chosen, tuple(climb.log.attempts), now() - began, spent, taught)


def verify(folder: RunFolder) -> Outcome:
    """Certify again the program of a run folder, and leave what came of it there.

    The text must be the program: the same syntax tree as the text that the stored recurrence gives, which in
    turn is run against the recurrence. A text that is another is judged and left as it is.
    """
    from weights2code.report import leave_report

    began = now()
    problem = problem_in(folder)
    found = read_run(folder)
    extraction, broken = certified_again(found, problem, folder)
    foreign = text_problems(folder.read_text(PROGRAM), extraction.program)
    if foreign:
        method = f"{PROGRAM} is not the program: {foreign}"
        extraction = judged_otherwise(extraction, method)
    folder.write_json(CERTIFICATE, certificate_dict(extraction))
    if not foreign:
        folder.write(PROGRAM, extraction.program.source())
        folder.write(LATEX, extraction.program.latex())
    outcome = Outcome(extraction, None, (), now() - began, broken=broken)
    leave_report(folder, problem, outcome)  # it must not say what is no longer known
    return outcome


def finished(folder: RunFolder, problem: Problem) -> Outcome:
    """The outcome of a run that is complete already; what its folder claims is checked, and put right."""
    began = now()
    found = read_run(folder)
    check_written(folder, found.program)
    extraction, broken = certified_again(found, problem, folder)
    written = folder.read_json(CERTIFICATE) == json.loads(json.dumps(found.to_dict()))
    if not written or found.checkable().to_dict() != certificate_dict(extraction):
        return verify(folder)
    return Outcome(extraction, None, (), now() - began, broken=broken)


def leave(outcome: Outcome, problem: Problem, folder: RunFolder) -> None:
    """Write the files of the later stages; the certificate stands for all, and the page comes after it."""
    from weights2code.report import leave_report

    leave_files(outcome, problem, folder)
    leave_report(folder, problem, outcome)
