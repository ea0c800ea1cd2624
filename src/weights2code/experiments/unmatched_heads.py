"""Unmatched heads (appendix): which pointer heads match no hypothesis, and whether anything depends on them.

The paper finds that they are noise: too small to matter, or read by nobody. The analysis is made on models
of its own architecture with pointer heads, before and after pruning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import share
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import DONE, Job, Row
from weights2code.experiments.members import train_and_extract
from weights2code.experiments.study import study, study_jobs
from weights2code.experiments.tables import Line, Table, grouped, members_of
from weights2code.experiments.work import RUN

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.explain.explanation import MatchedGraph
    from weights2code.graph import DiscreteGraph

#: The paper's second example has no sub-MLPs.
NO_SUBMLPS = "minimum_prev2"
#: An output this small, relative to the largest of the stream, is negligible.
NEGLIGIBLE = 1e-3


def jobs(task: str, options: Options) -> list[Job]:
    sizes = paper_numbers.sizes(paper_numbers.by_task("architectures")[task])
    made = _jobs_of(task, sizes, options, {})
    if task == NO_SUBMLPS:
        without = {**sizes, "submlps": 0}
        made += _jobs_of(task, without, options, without)
    return made


def _jobs_of(task: str, sizes: dict[str, int], options: Options, other: dict[str, int]) -> list[Job]:
    """The runs of one architecture; `other` holds its sizes if they are not the paper's."""
    architecture = "L{layers}H{heads}M{submlps}".format(**sizes)
    # `heads` would be location heads, which match by their nature
    fast = {"layers": sizes["layers"], "pointer": sizes["heads"], "submlps": sizes["submlps"]}
    made = study_jobs(f"{task}-{architecture}", task, options, fast, other, architecture=architecture)
    work = "analysed_members" if options.recipe == "paper" else "analysed"
    return [replace(job, work=f"{__name__}:{work}") for job in made]


def analysed(arguments: dict[str, Any], folder: Path) -> Row:
    """A run, and the unmatched heads of its model before and after pruning."""
    from weights2code.extraction.members import MEMBERS_TRIED

    row = study(arguments, folder)
    looked = list(islice(_members(folder), MEMBERS_TRIED))
    # as the extraction does: the best member whose live heads all match; else the best
    passed = next((i for i, found in enumerate(looked) if not _lives(found)), None)
    over = len(looked) if passed is None else passed
    return row | looked[passed or 0] | {"members_passed_over": over}


def analysed_members(arguments: dict[str, Any], folder: Path) -> Row:
    """The paper's recipe: the unmatched heads of every seed."""
    row = train_and_extract(arguments, folder)
    looked = _members(folder)
    members = [member | found for member, found in zip(row["members"], looked, strict=True)]
    return row | {"members": members, "members_passed_over": 0}


def _members(folder: Path) -> Iterator[Row]:
    """The heads of each member of a run's model, best first."""
    from weights2code.graph.from_model import graph_of
    from weights2code.run_folder import MODEL, open_existing
    from weights2code.source import problem_of
    from weights2code.training.search import Trained

    with open_existing(folder / RUN) as run:
        problem = problem_of(run.source, run.settings)
        trained = Trained.load(run.file(MODEL))
    for member in range(len(trained.losses)):
        yield _heads(graph_of(trained.model, member, trained.layout, problem), problem)


def _heads(graph: DiscreteGraph, problem: Problem) -> Row:
    """The number of heads of a graph, and those that match nothing.

    A head that is live after pruning is judged there, where fewer positions may matter.
    """
    from weights2code.explain.explanation import match_heads
    from weights2code.extraction.members import prune

    every = match_heads(graph, problem.validation, dead=True)
    kept = match_heads(prune(graph, problem), problem.validation).routers
    found = [
        unmatched_head(every, index, needed=index in kept)
        for index, head in every.routers.items()
        if head.hypothesis is None and kept.get(index, head).hypothesis is None
    ]
    return {"heads_in_all": len(every.routers), "unmatched": found}


def unmatched_head(every: MatchedGraph, index: int, *, needed: bool) -> Row:
    """What a head that matches nothing comes nearest to, how large its output is, and who reads it."""
    import numpy as np

    graph, nearest = every.graph, every.routers[index].runner_up
    assert nearest is not None
    magnitude, reached = float(np.abs(every.values[..., index]).mean()), index in graph.live()
    return {
        "head": graph.nodes[index].name,
        "nearest": nearest[0].describe(),
        "agreement": nearest[1].agreement,
        "magnitude": magnitude,
        "readers": [other.name for other in graph.nodes if index in other.sources()],
        "head_weight": float(np.abs(graph.head[:, index]).max()),
        "reached": reached,
        "live_after_pruning": needed,
        "fate": fate(magnitude, reached, needed),
    }


def fate(magnitude: float, reached: bool, kept: bool) -> str:
    """What becomes of an unmatched head."""
    if not reached:
        return "orphan: nobody reads it"
    if kept:
        return "live: the output needs it"
    return "negligible" if magnitude < NEGLIGIBLE else "redundant: dropped without loss"


def table(rows: Sequence[Row]) -> Table:
    lines = []
    for (task, architecture), found in grouped(members_of(rows), "task", "architecture").items():
        known = [row for row in found if row["status"] == DONE]
        heads = [head for row in known for head in row["unmatched"]]
        fates = Counter(head["fate"].partition(":")[0] for head in heads)
        cells = {
            "task": task,
            "architecture": architecture,
            "heads": sum(row["heads_in_all"] for row in known),
            "unmatched": len(heads),
            **{name: fates[name] for name in ("orphan", "negligible", "redundant", "live")},
            "over": sum(row["members_passed_over"] for row in known),
            "fits": share([{"fits": row.get("fitted")} for row in found], "fits"),
            "solved": share(found, "solved"),
            "nearest": ", ".join(
                f"{head['head']}: {head['nearest']} {head['agreement']:.2f}" for head in heads[:2]
            ),
        }
        why = "a live head matches no hypothesis" if any(_lives(row) for row in known) else ""
        lines.append(Line(cells, "worse" if why else "equal", why))
    columns = {
        "task": "task",
        "architecture": "architecture",
        "heads": "heads",
        "unmatched": "unmatched",
        "orphan": "orphan",
        "negligible": "negligible",
        "redundant": "redundant",
        "live": "live",
        "over": "members passed over",
        "fits": "models that fit",
        "solved": "solved",
        "nearest": "examples: nearest hypothesis, agreement",
    }
    return Table(columns, lines, (
        "With the fast recipe the best member of each run whose live heads all match, else the best; "
        "*members passed over* were better but have a live head that matches nothing. With the paper's every "
        "seed. Heads are summed over the seeds and judged where they have an effect. *Orphan*: "
        "nothing reads it; *negligible* and *redundant*: read before pruning, dropped without loss; *live*: "
        "still needed after pruning, which contradicts the paper's finding for that model.",
    ))  # fmt: skip


def _lives(row: Row) -> bool:
    return any(head["live_after_pruning"] for head in row["unmatched"])


UNMATCHED_HEADS = Experiment(
    "unmatched_heads",
    "Unmatched heads: which there are, and what depends on them",
    tuple(paper_numbers.by_task("architectures")),
    jobs,
    table,
)
