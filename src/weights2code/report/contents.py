"""What a report says, gathered from a run folder alone: nothing here trains.

The verdicts are checked again, unless the run has just ended; that of the network, made from its weights, is
what needs torch.
Data are not stored in a run folder. They are drawn or read again from the source; where that is impossible
(a file that has moved), the report is made without the parts that need them, and says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weights2code import tasks
from weights2code.data import FileSource, Problem, Sequences, from_arrays
from weights2code.errors import InputError
from weights2code.explain.explanation import ExplainedGraph, match_heads
from weights2code.extraction.alternatives import Alternative
from weights2code.extraction.attempt import Attempt
from weights2code.json_fields import from_fields
from weights2code.language.categories import in_words
from weights2code.program import Program
from weights2code.recheck import certified_again
from weights2code.results import Outcome, StoredRun, read_run
from weights2code.run_folder import CERTIFICATE, GRAPH, LARGEST_FILE, METRICS, PROGRAM_RAW, RunFolder
from weights2code.simplify.thresholds import Gap, gaps_in
from weights2code.source import Source
from weights2code.tasks.task_file import TaskFile
from weights2code.verify import Certificate
from weights2code.verify.all_rows import over_all
from weights2code.views.hidden import problem_in

#: Seconds for formulas that the run did not leave.
EXPLANATION_EFFORT = 1.5
#: Sequences that patterns are averaged over, and fresh ones that predictions are compared on.
SEQUENCES = 512
FRESH = 64
#: Inputs to start from, and how long they are at most.
EXAMPLES, LONGEST = 5, 12
#: Columns of a file that a sentence names.
MOST_NAMED = 12
#: Rows that the program misses that are shown.
MOST_MISSED = 20


@dataclass(frozen=True, slots=True)
class Missed:
    """How many rows of own data a program misses, of those that can be judged; the first of them, with the
    inputs that it reads, the targets, and what it says."""

    inputs: tuple[str, ...]
    count: int
    of: int
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Epoch:
    """A line of `metrics.jsonl`: the rung, and what is drawn of each member; None is what is no number."""

    stage: str
    temperature: float
    soft_loss: tuple[float | None, ...]
    hard_loss: tuple[float | None, ...]
    discrepancy: tuple[float | None, ...]
    agreement: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """Everything that the page shows; None and empty values are left out of it.

    Parameters
    ----------
    source : the name of what was learned from; about : the same in words.
    config : the settings as pairs, only those that are not the defaults.
    explained : the graph; without data its heads are unmatched, and its formulas those that were stored.
    values : the stream on validation sequences (n, T, nodes), scaled, where there are data.
    fresh : sequences that training did not see.
    gaps : of own data, the nearest values on both sides of each threshold.
    checked : whether the verdict was made or checked just now.
    """

    source: str
    about: str
    config: tuple[tuple[str, str], ...]
    message: str
    attempts: tuple[Attempt, ...]
    epochs: tuple[Epoch, ...]
    program: Program | None = None
    certificate: Certificate | None = None
    listing: str = ""
    explained: ExplainedGraph | None = None
    values: np.ndarray | None = None
    valid: np.ndarray | None = None
    fresh: Sequences | None = None
    examples: tuple[np.ndarray, ...] = ()
    notes: tuple[str, ...] = ()
    checked: bool = True
    missed: Missed | None = None
    gaps: tuple[Gap, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


def gather(folder: RunFolder, problem: Problem | None = None, outcome: Outcome | None = None) -> Contents:
    """Read a run folder; a problem that is at hand saves drawing it again.

    An outcome without a program counts more than what an earlier run left in the folder.
    """
    notes: list[str] = []
    if problem is None:
        try:
            problem = problem_in(folder)
        except InputError as error:
            notes.append(
                f"Figures that need the data are left out, and the verdict is not checked again: {error}"
            )
    common = {
        "source": str(folder.source),
        "about": about(folder.source),
        "config": _config(folder),
        "epochs": read_metrics(folder),
        "examples": _examples(problem),
    }
    if outcome is not None and outcome.extraction is None:
        notes += [f"{hint[0].upper()}{hint[1:]}." for hint in outcome.hints]
        return Contents(message=outcome.message, attempts=outcome.attempts, notes=tuple(notes), **common)
    if not (folder.has(CERTIFICATE) and folder.has(GRAPH)):
        message = "This run folder holds no program."
        return Contents(message=message, attempts=(), notes=tuple(notes), **common)
    stored = read_run(folder) if outcome else read_run(folder).checkable()
    program, certificate = stored.program, stored.certificate
    broken = outcome.broken if outcome else ""
    if problem is not None and outcome is None:  # of a run that just ended, the verdict is fresh
        again, broken = certified_again(stored, problem, folder)
        program, certificate = again.program, again.certificate
    notes += [f"A link of the chain is broken: {broken}."] if broken else []
    of_data = {} if problem is None else _of_data(folder, stored, problem, program)
    return Contents(
        message=certificate.explain(),
        attempts=stored.attempts,
        alternatives=stored.alternatives,
        notes=tuple(notes),
        program=program,
        certificate=certificate,
        listing=folder.read_text(PROGRAM_RAW) if folder.has(PROGRAM_RAW) else "",
        checked=problem is not None or outcome is not None,
        **{"explained": ExplainedGraph(stored.graph, {}, stored.formulas or {}), **of_data, **common},
    )


def _of_data(folder: RunFolder, stored: StoredRun, problem: Problem, program: Program) -> dict[str, Any]:
    """What needs the data: heads matched, formulas that are not stored, predictions, what is missed."""
    graph, asked = stored.graph, problem.asked
    matched = match_heads(graph, problem.validation.take(slice(0, SEQUENCES)))
    if not matched.finite:
        raise InputError(
            f"{folder.file(GRAPH)} computes what are no numbers; make it again with "
            f"`w2c extract {folder.path}`."
        )
    concat = graph.layout.name == "concat"
    operators = stored.formulas or matched.explain(problem, EXPLANATION_EFFORT).operators
    return {
        "explained": ExplainedGraph(graph, matched.routers, operators),
        "values": matched.values,
        "valid": np.ones(matched.values.shape[:2], bool) if concat else matched.sequences.valid,
        "fresh": _fresh(asked),
        "missed": _missed(program, asked),
        "gaps": tuple(gaps_in(asked, program.recurrence)),
    }


def about(source: Source) -> str:
    """What a run is about, in a sentence."""
    if isinstance(source, FileSource):
        inputs = source.roles.inputs or ()
        read = ", ".join(inputs[:MOST_NAMED]) + ", ..." * (len(inputs) > MOST_NAMED)
        columns = f"{', '.join(source.roles.targets)} computed from {read}"
        return f"Learned from {Path(source.path).name}: {columns}."
    if isinstance(source, TaskFile):
        return f"Task: {source.name} of {Path(source.path).name}."
    try:
        task = tasks.get(source)
    except InputError:
        return ""
    columns = "; ".join(f"{name}: {domain}" for name, domain in zip(task.columns, task.domains, strict=True))
    return f"Task: {task.description}. Inputs {columns}."


def read_metrics(folder: RunFolder) -> tuple[Epoch, ...]:
    """The lines of `metrics.jsonl`; what is not a record of an epoch is refused."""
    if not folder.has(METRICS):
        return ()
    try:
        lines = folder.read_text(METRICS, LARGEST_FILE).splitlines()
        return tuple(from_fields(Epoch, json.loads(line), "an epoch") for line in lines if line.strip())
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        file = folder.file(METRICS)
        raise InputError(
            f"{file} is corrupt (a line is not a record of an epoch); it was left untouched."
        ) from None


def _config(folder: RunFolder) -> tuple[tuple[str, str], ...]:
    pairs = [("seed", str(folder.settings.seed)), ("recipe", folder.settings.recipe)]
    if isinstance(folder.source, (FileSource, TaskFile)):
        pairs.insert(0, ("file", Path(folder.source.path).name))
    other = folder.settings.changed()
    return (*pairs, *((k, str(v)) for k, v in other.items() if k not in ("seed", "recipe")))


def _fresh(problem: Problem) -> Sequences:
    """Sequences four times as long as in training where they can be had, else those that were kept back."""
    if problem.sampler is not None and problem.reference is not None:
        x = problem.sampler(np.random.default_rng(1), FRESH, 4 * problem.length)
        return from_arrays(x, problem.reference.run(x))
    kept = problem.held_out or problem.validation
    return kept.take(np.argsort(-kept.lengths, kind="stable")[:FRESH])


def _missed(program: Program, problem: Problem) -> Missed | None:
    """What a program misses of own data, where its outputs are right or wrong."""
    rows, rule = problem.rows, program.recurrence
    if rows is None or not program.integer_outputs or not set(rule.inputs) <= set(problem.inputs):
        return None
    x = rows.x[:, [problem.inputs.index(name) for name in rule.inputs]]
    told = over_all(rule, replace(rows, x=x), program.domains, near=0.5)
    wrong = told.judged & (np.abs(told.answers - rows.y) >= 0.5).any(1)
    read = program.reading().recurrence.inputs
    shown = np.flatnonzero(wrong)[:MOST_MISSED]
    inputs = in_words(x[shown], rule.inputs, program.categories, program.truths)[
        :, [rule.inputs.index(n) for n in read]
    ]
    both = [program.decode(values[shown]) for values in (rows.y, told.answers)]
    listed = tuple(
        (*map(_plain, a), *map(_plain, b), *map(_plain, c)) for a, b, c in zip(inputs, *both, strict=True)
    )
    return Missed(read, int(wrong.sum()), int(told.judged.sum()), listed)


def _plain(value: Any) -> Any:
    return str(bool(value)) if isinstance(value, (bool, np.bool_)) else value


def _examples(problem: Problem | None) -> tuple[np.ndarray, ...]:
    """A few short inputs (T, columns) for the reader to start from."""
    if problem is None:
        return ()
    kept = problem.validation
    from_start = np.argsort(kept.given, kind="stable")[:EXAMPLES]
    return tuple(kept.x[i, : min(int(kept.lengths[i]), LONGEST)] for i in from_start)
