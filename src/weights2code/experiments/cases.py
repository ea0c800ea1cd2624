"""A case: a problem, how it is searched and judged; and the one row that says what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weights2code.data import Regime
from weights2code.experiments.jobs import Row
from weights2code.experiments.judging import Judgement, Run, solves
from weights2code.program.program import Origin

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.results import Outcome
    from weights2code.settings import Settings

#: Where a rule may come from, by the families of views, and by what the agenda calls them.
WAYS = {
    "visible values": ("linear", "visible", "near", "contradictions"),
    "running quantities": ("running", "mean", "lookup", "window"),
    "registers": ("register",),
    "merged states": ("machine",),
}
ANNEALED = "annealed reads"

#: What a row says of a run that ended in an error.
NOTHING: Row = {
    "solved": False, "verdict": "error", "exit": None, "formula": None, "origin": None,
    "network": "none", "taught": "none", "attempts": [],
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One problem of a benchmark.

    Attributes
    ----------
    name : of the case, unique in its benchmark.
    problem : made from the settings; that may take its time, which is not counted.
    judge : of a program, run as `judging` says.
    settings : of the search.
    labels : what tables know it by; they go into its row.
    """

    name: str
    problem: Callable[[Settings], Problem]
    judge: Callable[[Run | None], Judgement]
    settings: Settings
    labels: Row = field(default_factory=dict)

    @staticmethod
    def of_task(name: str, settings: Settings, **labels: Any) -> Case:
        """A built-in task, with a seed."""
        from weights2code import tasks
        from weights2code.source import problem_of

        task = tasks.get(name)
        return Case(
            f"{task.name}-seed{settings.seed}",
            lambda settings: problem_of(task.name, settings),
            lambda run: solves(run, task, settings.seed),
            settings,
            {"task": task.name, "seed": settings.seed, **labels},
        )


def solve(case: Case, more: Callable[[Outcome], Row] = lambda outcome: {}) -> Row:
    """One search, in this process, and what came of it; `more` reads what else is asked off its outcome."""
    from weights2code import pipeline

    problem = case.problem(case.settings)
    began = time.perf_counter()
    outcome = pipeline.search(problem, case.settings)
    seconds = round(time.perf_counter() - began, 2)
    program = outcome.program
    solved = outcome.exit_code == 0 and case.judge(program and program.run).solved
    return {**case.labels, "seconds": seconds, **facts(outcome), **more(outcome), "solved": solved}


def facts(outcome: Outcome) -> Row:
    """What tables say of a run, apart from whether it is solved.

    `network` is the verdict on the trained one, `taught` that on one that was made for the rule.
    """
    row: Row = {
        **NOTHING,
        "verdict": "not extracted",
        "exit": outcome.exit_code,
        "attempts": [attempt.to_dict() for attempt in outcome.attempts],
    }
    if outcome.extraction is None:
        return row
    program, certificate = outcome.extraction.program, outcome.extraction.certificate
    return row | {
        "verdict": certificate.verdict,
        "method": certificate.method,
        "explanation": certificate.explain(),
        "notes": list(certificate.notes),
        "invariant": list(certificate.invariant),
        "model_fits": certificate.model_fits,
        "formula": program.formula(),
        "source": program.source(),
        "origin": program.how,
        "way": way_of(program.origin, row["attempts"]),
        "lines": program.lines,
        "body": program.body,
        "operations": program.operations,
        "rmse": certificate.rmse,
        "accuracy": certificate.accuracy,
        "max_abs_error": certificate.max_abs_error,
        "network": certificate.network.verdict if certificate.network else "none",
        "taught": certificate.taught.verdict if certificate.taught else "none",
    }


def way_of(origin: str, attempts: Sequence[Row]) -> str:
    """Whether a network's annealed reads showed what the rule reads, or the rows, and then which family."""
    if origin not in (Origin.ROWS, Origin.MAJORITIES):
        return ANNEALED
    last = next(a for a in reversed(attempts) if a["verdict"] and a["origin"].startswith(origin))
    family = last["rung"].partition(":")[0].removesuffix(" together").removesuffix(" near").split()[-1]
    if family == "window" and last["regime"] in (Regime.NOISY, Regime.MISTAKES):
        return "visible values"  # where rows contradict each other, windows of what is visible are asked
    return next((way for way, families in WAYS.items() if family in families), family)
