"""The driver, from a problem to a certified program; it reads as the table of contents.

    task or file -> sequences -> rules that rows show, then networks -> program -> its network -> certificate

Whatever proposes a rule, the first that is verified ends the search. What was tried, and why it was not
enough, is kept and said.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from weights2code.data import Problem
from weights2code.effort import within, work
from weights2code.errors import InputError
from weights2code.extraction.alternatives import alternatives
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.from_networks import last_resort, of_rung, with_explanation, with_listing
from weights2code.extraction.from_rows import from_rows
from weights2code.extraction.judge import as_asked
from weights2code.extraction.links import with_made_network, with_network
from weights2code.extraction.members import fit_of
from weights2code.extraction.values import Extraction, Log
from weights2code.progress import Progress, at, telling
from weights2code.recheck import (
    certified_again,
    check_written,
    judged_otherwise,
    text_problems,
)
from weights2code.results import Outcome, certificate_dict, leave_files, read_run
from weights2code.run_folder import CERTIFICATE, LATEX, METRICS, MODEL, PROGRAM, RunFolder
from weights2code.settings import Settings
from weights2code.source import Source, problem_of
from weights2code.views.by_key import telling_apart
from weights2code.views.guessing import Guess
from weights2code.views.hidden import States, as_far_back, problem_in, remembered

if TYPE_CHECKING:
    from weights2code.training.storage import Trained

#: Rows of which it is worth saying that there could be more.
FEW_ROWS = 5000
#: What is said of proposers as they go.
STAGES = {"rows": "looking for rules in the rows", "the last resort": "the last resort"}
#: What comes after the search ends at so many times the time limit.
OVERTIME = 1.1


def run(
    source: Source, settings: Settings, folder: RunFolder | None = None, progress: Progress | None = None
) -> Outcome:
    """All stages for a built-in task or a file; with a folder, everything is left there."""
    began = time.perf_counter()
    return search(problem_of(source, settings), settings, folder, progress, began)


def search(
    problem: Problem,
    settings: Settings,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
    began: float | None = None,
) -> Outcome:
    """Ask every proposer until a program is verified, or the time is up, which began then by the clock."""
    if folder and folder.trained:
        if folder.has(CERTIFICATE):
            return finished(folder, remembered(problem, folder))
        outcome = extract(folder)  # the folder holds a trained model: it may be all that is needed
        if outcome.exit_code == 0:
            return outcome
    began, limit = time.perf_counter() if began is None else began, settings.cut_after()
    found, since = _Found(problem, settings, Log(settings.seed, settings.lowest_cut)), work()
    with telling(progress, lambda: (work() - since) / settings.time_limit, found.formula):
        with within(limit) as time_limit:
            for extraction, trained in found.proposed(folder, progress):
                if found.verified_by(extraction, trained):
                    break
        with within(OVERTIME * limit, since=since):
            if found.hopeless:
                found.best = None
                found.log.attempts.append(Attempt.guessed(found.log.guesses))
            elif time_limit.cut and not found.verified:
                found.log.attempts.append(Attempt.cut_short(time_limit))
            found.finish(folder, progress)
    outcome = found.outcome(began)
    if settings.alternatives and outcome.extraction is not None:
        rules = alternatives(outcome.extraction, found.log.rules, problem, settings.alternatives)
        outcome = replace(outcome, alternatives=rules)
    if outcome.exit_code:
        hopeless = none_better(problem.asked, found.log.guesses) if found.hopeless else ()
        codes = () if found.hopeless else category_hints(found.log.codes)
        outcome = replace(outcome, hints=(*key_hints(problem.asked), *hopeless, *codes))
    if folder:
        if found.states is not None:
            found.states.leave(folder)
        if outcome.trained is not None:
            outcome.trained.save(folder.file(MODEL))  # as it was trained, from here on
        if not folder.has(METRICS):
            folder.write(METRICS, "")  # nothing was trained
        leave(outcome, found.problem, folder)
        if outcome.exit_code == 0 or (found.whole and not time_limit.cut):
            folder.drop_checkpoint()  # else the time was up, and a larger limit climbs on
    return outcome


@dataclass(slots=True, eq=False)
class _Found:
    """What a search has so far: the best program, where it came from, and all networks that were trained."""

    problem: Problem
    settings: Settings
    log: Log
    best: Extraction | None = None
    #: The rung that the best program was read from, or a network that was made for it.
    source: Trained | None = None
    climbed: list[Trained] = field(default_factory=list)
    #: Whether there was nothing more to train.
    whole: bool = False
    taught: Trained | None = None
    #: What the program remembers, which its network has as outputs.
    states: States | None = None

    @property
    def verified(self) -> bool:
        return self.best is not None and self.best.certificate.verified

    @property
    def hopeless(self) -> bool:
        """Whether the rows show nothing that is better than guessing."""
        return not self.verified and bool(self.log.guesses)

    def formula(self) -> str:
        """The best so far in words."""
        return "; ".join(self.best.program.formula().splitlines()) if self.best else ""

    def verified_by(self, extraction: Extraction, trained: Trained | None) -> bool:
        """Take a program that is better than what there is; whether the search is at its end."""
        if extraction.better_than(self.best):
            self.best, self.source = extraction, trained
        return self.verified

    def proposed(
        self, folder: RunFolder | None, progress: Progress | None
    ) -> Iterator[tuple[Extraction, Trained | None]]:
        """Programs of rules that the rows show, then of networks, and the network that each came of."""
        if self.settings.rows_too():
            for extraction in self.of("rows", from_rows, self.problem):
                yield extraction, None
        if self.hopeless:
            return
        for trained in self.trained(folder, progress):
            yield from self.read(trained)
        yield from self.of("the last resort", last_resort, self.climbed, self.problem)

    def read(self, trained: Trained) -> Iterator[tuple[Extraction, Trained | None]]:
        """Programs that are read from a network."""
        for extraction in self.of(trained.rung, of_rung, trained, self.problem):
            yield extraction, trained

    def of(self, what: str, propose: Callable[..., Iterator[Any]], *about: Any) -> Iterator[Any]:
        """What a proposer gives; an error that nobody foresaw, or the end of the time, ends it alone."""
        at(STAGES.get(what, f"reading network {what}"))
        try:
            yield from propose(*about, self.log)
        except Exception as error:
            self.log.note(what, error)

    def trained(self, folder: RunFolder | None, progress: Progress | None) -> Iterator[Trained]:
        """Networks, the smallest first; they are remembered."""
        from weights2code.training.train import rungs_of

        for trained in rungs_of(
            self.problem, self.settings, folder, progress, after_rows=self.settings.rows_too()
        ):
            self.climbed.append(trained)
            yield trained
        self.whole = True

    def finish(self, folder: RunFolder | None = None, progress: Progress | None = None) -> None:
        """The network of the program, and what is said of both; every live node is explained."""
        if self.best is None:
            return
        at("making its network")
        computes, problem, found = self.settings.submlps != 0, self.problem, self.best
        if self.source is None:
            problem = as_far_back(problem, found.program.recurrence)
            found, self.source, problem, self.states = with_made_network(
                found, problem, self.log, computes=computes
            )
            self.problem = problem
            if self.source is None:  # no network is written for what it looks up: one is trained
                self.source = next((t for t in self.trained(folder, progress) if t.fitted), None)
                self.source = self.source or self.chosen()
        if found.certificate.network is None and self.source is not None:
            found, _ = with_network(found, self.source, problem, self.log, computes=computes)
        if found.network is not None:
            found = with_listing(with_explanation(found, problem, self.log), problem, self.log)
        if found.certificate.taught and self.source is not None:
            fit, whole = fit_of(found.graph, problem), found.program.integer_outputs
            self.taught = self.source.taught(found.graph, *fit, integer_outputs=whole)
        self.best = as_asked(found, problem)

    def chosen(self) -> Trained | None:
        """The network that is left where none gave the program."""
        if not self.climbed:
            return None
        from weights2code.training.train import best

        return best(self.climbed)

    def outcome(self, began: float, *, training: bool = True) -> Outcome:
        spent = sum(trained.seconds for trained in self.climbed) if training else None
        source = self.source or self.chosen()
        return Outcome(
            self.best, source, tuple(self.log.attempts), time.perf_counter() - began, spent, self.taught
        )


def key_hints(problem: Problem) -> tuple[str, ...]:
    """Columns of own data that may tell sequences apart."""
    found = telling_apart(problem) if problem.reference is None else []
    return tuple(
        f"rows with the same {name} seem to go on from each other, wherever they stand; try --sequence {name}"
        for name in found
    )


def category_hints(names: tuple[str, ...]) -> tuple[str, ...]:
    """Columns of own data whose few whole numbers seem only to stand for something."""
    listed = ",".join(names)
    sentence = f"each value of {listed.replace(',', ', ')} says something else, near or not; "
    return (f"{sentence}if they only stand for something, try --categories {listed}",) if names else ()


def none_better(problem: Problem, guesses: Sequence[Guess]) -> tuple[str, ...]:
    """What may be done where no rule is better than guessing."""
    rows = max(guess.rows for guess in guesses)
    names = ", ".join(guess.output for guess in guesses)
    advice = [f"if something decides {names} that is no column here, add its column to --inputs"]
    if rows < FEW_ROWS:
        advice.append("so many rows show strong rules alone; with more of them a weak one would stand out")
    if problem.training.x.shape[1] > 1:
        advice.append("if rows belong to several sequences, or in another order, give --sequence or --order")
    return tuple(advice)


def extract(folder: RunFolder) -> Outcome:
    """Extract and certify the model of a run folder, which stays as it was trained.

    A folder that holds a program keeps it if the model gives none.
    """
    from weights2code.training.storage import Trained

    began, settings = time.perf_counter(), folder.settings
    if not folder.has(MODEL):
        raise InputError(f"{folder.path} holds no trained model; train it with `w2c train {folder.source}`.")
    problem = problem_in(folder)
    trained = Trained.load(folder.file(MODEL), problem)
    found = _Found(problem, settings, Log(settings.seed, settings.lowest_cut), climbed=[trained])
    resort = found.of("the last resort", last_resort, [trained], problem)
    for extraction, _ in chain(found.read(trained), resort):
        if found.verified_by(extraction, trained):
            break
    found.finish()
    outcome = found.outcome(began, training=False)
    if outcome.extraction is not None or not folder.has(CERTIFICATE):
        leave(outcome, problem, folder)
    return outcome


def verify(folder: RunFolder) -> Outcome:
    """Certify again the program of a run folder, and leave what came of it there.

    The text must be the program: the same syntax tree as the text that the stored recurrence gives, which in
    turn is run against the recurrence. A text that is another is judged and left as it is.
    """
    from weights2code.report import leave_report

    began = time.perf_counter()
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
    outcome = Outcome(extraction, None, (), time.perf_counter() - began, broken=broken)
    leave_report(folder, problem, outcome)  # it must not say what is no longer known
    return outcome


def finished(folder: RunFolder, problem: Problem) -> Outcome:
    """The outcome of a run that is complete already; what its folder claims is checked, and put right."""
    began = time.perf_counter()
    found = read_run(folder)
    check_written(folder, found.program)
    extraction, broken = certified_again(found, problem, folder)
    written = folder.read_json(CERTIFICATE) == json.loads(json.dumps(found.to_dict()))
    if not written or found.checkable().to_dict() != certificate_dict(extraction):
        return verify(folder)
    taken = time.perf_counter() - began
    return Outcome(extraction, None, (), taken, broken=broken, alternatives=found.alternatives)


def leave(outcome: Outcome, problem: Problem, folder: RunFolder) -> None:
    """Write the files of the later stages; the certificate stands for all, and the page comes after it."""
    from weights2code.report import leave_report

    leave_files(outcome, problem, folder)
    leave_report(folder, problem, outcome)
