"""The driver, from a problem to a certified program; it reads as the table of contents.

    task or file -> sequences -> model -> discrete graph -> explained graph -> program -> certificate

The ladder is climbed until a program is verified. Members that fit are tried best first; what was tried,
and why it was not enough, is kept and said.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from weights2code.data import Problem
from weights2code.errors import InputError
from weights2code.extraction.beginnings import since_the_start
from weights2code.extraction.extract import (
    REGRESSION_SECONDS,
    better,
    certificate_of,
    certified,
    extractions,
    with_explanation,
)
from weights2code.extraction.noise import Noisy, as_judged, best_so_far, only_noise, under_noise
from weights2code.results import (
    Extraction,
    Outcome,
    certificate_dict,
    leave,
    read_extraction,
    stored,
    text_problems,
)
from weights2code.run_folder import CERTIFICATE, MODEL, PROGRAM, RunFolder
from weights2code.settings import Settings
from weights2code.source import Source, problem_of

if TYPE_CHECKING:
    from weights2code.training.search import Progress, Trained

#: The last resort ends at so many times the time limit.
OVERTIME = 1.2


def run(
    source: Source, settings: Settings, folder: RunFolder | None = None, progress: Progress | None = None
) -> Outcome:
    """All stages for a built-in task or a file; with a folder, everything is left there."""
    problem = problem_of(source, settings)
    return search(problem, settings, folder, progress)


def search(
    problem: Problem, settings: Settings, folder: RunFolder | None = None, progress: Progress | None = None
) -> Outcome:
    """Climb the ladder until a program is verified, or the time is up."""
    from weights2code.training.train import best as best_rung
    from weights2code.training.train import ladder_of, rungs_of

    if folder and folder.trained:
        if folder.has(CERTIFICATE):
            return stored(folder, problem)
        outcome = extract(folder)  # the folder holds a trained model: it may be all that is needed
        if outcome.exit_code == 0:
            return outcome
    began = time.monotonic()
    attempts: list[str] = []
    best: tuple[Extraction, Trained] | None = None
    climbed: list[Trained] = []
    noisy: Noisy | None = None
    judge = partial(certified, seed=settings.seed)
    if problem.beginnings is not None and settings.recipe == "fast" and not settings.fixed_architecture():
        best = since_the_start(problem, settings, folder, partial(extractions, attempts=attempts))
    for trained in () if best else rungs_of(problem, settings, folder, progress):
        climbed.append(trained)
        if noisy and noisy.confirmed_by(trained, problem):
            break
        exact = False
        hopeless = problem.reference is None and only_noise(trained, problem)
        for extraction in () if hopeless else extractions(trained, problem, settings, attempts):
            exact = extraction.certificate.verified
            if exact or best is None or better(extraction.certificate, best[0].certificate):
                best = extraction, trained
        if exact:
            break
        if problem.reference is None:
            noisy = under_noise(trained, problem, attempts, noisy, REGRESSION_SECONDS, judge)
            if noisy and (best is None or better(noisy.extraction.certificate, best[0].certificate)):
                best = noisy.extraction, noisy.trained
            if noisy and noisy.exact:
                break
    if best is None and problem.reference is not None:
        best = last_resort(climbed, problem, settings, attempts, began + OVERTIME * settings.time_limit)
    elif best is None:
        best = best_so_far(climbed, problem, attempts, REGRESSION_SECONDS, judge)
    extraction, chosen = best if best else (None, best_rung(climbed))
    if extraction:
        extraction = with_explanation(extraction, problem)
    spent = sum(trained.seconds for trained in climbed)
    outcome = Outcome(extraction, chosen, tuple(attempts), time.monotonic() - began, spent)
    if folder:
        chosen.save(folder.file(MODEL))
        leave(outcome, problem, folder)
        if outcome.exit_code == 0 or len(climbed) == len(ladder_of(problem, settings)):
            folder.drop_checkpoint()  # else the time was up, and a larger limit climbs on
    return outcome


def extract(folder: RunFolder, progress: Progress | None = None) -> Outcome:
    """Extract and certify the model of a run folder."""
    from weights2code.training.search import Trained

    began = time.monotonic()
    if not folder.has(MODEL):
        raise InputError(f"{folder.path} holds no trained model; train it with `w2c train {folder.source}`.")
    problem = problem_of(folder.source, folder.settings)
    trained = Trained.load(folder.file(MODEL))
    attempts: list[str] = []
    best: Extraction | None = None
    for extraction in extractions(trained, problem, folder.settings, attempts, resort=True):
        if best is None or better(extraction.certificate, best.certificate):
            best = extraction
    if best:
        best = with_explanation(best, problem)
    outcome = Outcome(best, trained, tuple(attempts), time.monotonic() - began)
    leave(outcome, problem, folder)
    return outcome


def verify(folder: RunFolder) -> Outcome:
    """Certify again the program of a run folder: the text itself is run, against its own formula too."""
    began = time.monotonic()
    problem = problem_of(folder.source, folder.settings)
    extraction = read_extraction(folder, problem)
    program, graph = extraction.program, extraction.graph
    problem = as_judged(problem, program)
    certificate = certificate_of(program.recurrence, graph, problem, folder.settings.seed)
    problems = text_problems(folder.file(PROGRAM), program, problem)
    if problems:
        certificate = replace(
            certificate, verdict="failed", method=f"{PROGRAM} is not the program: {problems}"
        )
    program = program.with_verdict(certificate.explain())
    extraction = replace(extraction, program=program, certificate=certificate)
    attempts = tuple(folder.read_json(CERTIFICATE).get("attempts", ()))
    folder.write_json(CERTIFICATE, certificate_dict(extraction, attempts))
    if not problems:
        folder.write(PROGRAM, program.source())
    return Outcome(extraction, None, (), time.monotonic() - began)


def last_resort(
    climbed: list[Trained], problem: Problem, settings: Settings, attempts: list[str], until: float
) -> tuple[Extraction, Trained] | None:
    """No rung fits: try the leaves of each once more, smallest rung first, as long as there is time."""
    for trained in climbed:
        if time.monotonic() > until:
            attempts.append("the time is up")
            return None
        for extraction in extractions(trained, problem, settings, attempts, resort=True):
            if extraction.certificate.verified:
                return extraction, trained
    return None
