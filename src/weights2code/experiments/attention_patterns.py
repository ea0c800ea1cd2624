"""Attention patterns beyond routing (appendix): retrieval by key and the prefix mean, beside their ideals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import lower, reason
from weights2code.experiments.experiment import Experiment, Options, study_job
from weights2code.experiments.jobs import DONE, Job, Row
from weights2code.experiments.tables import (
    TASK,
    Column,
    grouped,
    mean,
    part,
    solved_formula,
    tabulate,
    theirs,
)
from weights2code.experiments.work import RUN, study

if TYPE_CHECKING:
    from weights2code.report.svg import Drawing

#: The head class that the paper adds for each task, with its recipe; the ladder finds its own.
HEADS = {"retrieve_value_by_key": {"equality": 1}, "prefix_mean": {"mean": 1}}


def jobs(task: str, options: Options) -> list[Job]:
    own = {"layers": 1, "heads": 0, "submlps": 2, **HEADS[task]} if options.recipe == "paper" else {}
    work = f"{__name__}:patterned"
    return [
        study_job(f"{task}-seed{seed}", task, options.settings(seed=seed, **own), work)
        for seed in options.seeds
    ]


def patterned(arguments: dict[str, Any], folder: Path) -> Row:
    """A run, and where the live heads of its trained network look: mean weights (T, T), and those that the
    hypothesis implies."""
    from weights2code.extraction.members import member
    from weights2code.graph import RouterNode
    from weights2code.recheck import place_in
    from weights2code.report.attention import pattern
    from weights2code.results import read_run
    from weights2code.run_folder import CERTIFICATE, MODEL, open_existing
    from weights2code.source import problem_of
    from weights2code.training.storage import Trained

    row = study(arguments, folder)
    patterns: list[Row] = []
    with open_existing(folder / RUN) as run:
        if run.has(CERTIFICATE):
            problem = problem_of(run.source, run.settings)
            trained = Trained.load(run.file(MODEL), problem)
            own = place_in(trained, read_run(run).certificate.network, run) or 0
            matched = member(trained, own, problem).matched
            for index, found in matched.routers.items():
                node, hypothesis = matched.graph.nodes[index], found.hypothesis
                assert isinstance(node, RouterNode)
                ideal = hypothesis.pattern(node, matched.values) if hypothesis else None
                patterns.append(
                    {
                        "head": node.name,
                        "hypothesis": hypothesis.describe() if hypothesis else None,
                        "weights": pattern(node, matched.values, problem.validation.valid)[:, :-1].round(4),
                        "ideal": None if ideal is None else ideal.round(4),
                    }
                )
    return row | {"patterns": patterns}


def distance(found: Row) -> float | None:
    """The largest difference between a pattern and its ideal."""
    import numpy as np

    if found["ideal"] is None:
        return None
    return float(np.abs(np.array(found["weights"]) - np.array(found["ideal"])).max())


def _heads(rows: Sequence[Row]) -> list[Row]:
    return [head for row in rows for head in row.get("patterns", ())]


def _gap(rows: Sequence[Row]) -> float | None:
    return max((gap for head in _heads(rows) if (gap := distance(head)) is not None), default=None)


table = partial(
    tabulate,
    columns=(
        TASK,
        Column("rmse", "RMSE", mean("program_rmse")),
        Column("paper_rmse", "paper", theirs("rmse")),
        Column("solved", "solved", part("solved")),
        Column(
            "heads",
            "live heads",
            lambda rows: ", ".join(dict.fromkeys(str(h["hypothesis"]) for h in _heads(rows))),
        ),
        Column("gap", "largest distance from the ideal pattern", _gap),
        Column("listing_rmse", "RMSE of the listing", mean("listing_rmse")),
        Column("formula", "program", solved_formula),
    ),
    paper=lambda row: next(
        found for (task, _), found in paper_numbers.ablation("attention").items() if task == row["task"]
    ),
    standing=lower("rmse"),
    why=reason,
)


def figure(rows: Sequence[Row]) -> Drawing | None:
    import numpy as np

    from weights2code.report.attention import heat_maps

    maps = []
    for (task,), found in grouped([row for row in rows if row["status"] == DONE], "task").items():
        heads = next((row["patterns"] for row in found if row["patterns"]), [])
        for head in heads:
            maps.append((task, str(head["hypothesis"]), np.array(head["weights"])))
            if head["ideal"] is not None:
                maps.append(("ideal", str(head["hypothesis"]), np.array(head["ideal"])))
    return heat_maps("attention_patterns", "Attention patterns beside their ideals", maps) if maps else None


ATTENTION_PATTERNS = Experiment(
    "attention_patterns",
    "Attention patterns: retrieval by key, prefix mean",
    tuple(HEADS),
    jobs,
    table,
    figure,
)
