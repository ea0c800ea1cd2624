"""Unmatched heads (appendix): which pointer heads match no hypothesis, and whether anything depends on them.

The paper finds that they are noise: too small to matter, or read by nobody. The analysis is made on models
of its own architecture with pointer heads. Each head has a hypothesis or a reason (`head_analysis`), and each
task a finding: whether the paper's holds for the models that compute it. Models that are there already, of
another experiment or of the same recipe, are taken with `--models`: nothing is trained or extracted then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import Standing, average, share
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.head_reasons import (
    FITS_LOSS,
    FITS_RIGHT,
    HARMLESS,
    MORE_WRONG,
    MOST_MOVED,
    NEEDED,
    NEGLIGIBLE,
    REASONS,
)
from weights2code.experiments.jobs import DONE, Job, Row
from weights2code.experiments.members import train_and_extract
from weights2code.experiments.study import study, study_jobs
from weights2code.experiments.tables import TASK, Column, Table, common, part, tabulate
from weights2code.experiments.trained_models import holds, models_of
from weights2code.experiments.work import RUN

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.training.storage import Trained

#: The paper's second example has no sub-MLPs.
NO_SUBMLPS = "minimum_prev2"
#: Sequences drawn to look at a model that is there; it was trained on others.
LOOKED_AT = 4096
#: Heads that a line of the table names.
MOST_NAMED = 2

HOLDS = "holds"
EXPLAINED = "refuted as stated; further hypotheses explain"
REFUTED = "refuted"
OPEN = "open: no model fits"
NO_FIT = ", but no model fits"


def jobs(task: str, options: Options) -> list[Job]:
    sizes = paper_numbers.sizes(paper_numbers.by_task("architectures")[task])
    made = _jobs_of(task, sizes, options, {})
    without = {**sizes, "submlps": 0}
    if task == NO_SUBMLPS and (not options.models or holds(Path(options.models), task, without)):
        made += _jobs_of(task, without, options, without)
    return made


def _jobs_of(task: str, sizes: dict[str, int], options: Options, other: dict[str, int]) -> list[Job]:
    """The runs of one architecture; `other` holds its sizes if they are not the paper's."""
    architecture = "L{layers}H{heads}M{submlps}".format(**sizes)
    key = f"{task}-{architecture}"
    if options.models:
        label = {"task": task, "recipe": options.recipe, "architecture": architecture}
        what = {"task": task, "sizes": sizes, "models": options.models, "label": label}
        return [Job(key, f"{__name__}:analysed_models", what)]
    # `heads` would be location heads, which match by their nature
    fast = {"layers": sizes["layers"], "pointer": sizes["heads"], "submlps": sizes["submlps"]}
    made = study_jobs(key, task, options, fast, other, architecture=architecture)
    work = "analysed_members" if options.recipe == "paper" else "analysed"
    return [replace(job, work=f"{__name__}:{work}") for job in made]


# -- what jobs do -------------------------------------------------------------------------------------------


def analysed(arguments: dict[str, Any], folder: Path) -> Row:
    """A run, and the unmatched heads of its model before and after pruning."""
    from weights2code.extraction.members import MEMBERS_TRIED

    row = study(arguments, folder)
    looked = list(islice(_members(folder / RUN), MEMBERS_TRIED))
    # as the extraction does: the best member whose live heads all match; else the best
    passed = next((i for i, found in enumerate(looked) if not _lives(found)), None)
    over = len(looked) if passed is None else passed
    return row | looked[passed or 0] | {"members_passed_over": over}


def analysed_members(arguments: dict[str, Any], folder: Path) -> Row:
    """The paper's recipe: the unmatched heads of every seed."""
    row = train_and_extract(arguments, folder)
    looked = _members(folder / RUN)
    members = [member | found for member, found in zip(row["members"], looked, strict=True)]
    return row | {"members": members, "members_passed_over": 0}


def analysed_models(arguments: dict[str, Any], folder: Path) -> Row:
    """The members of a run folder that is there: their heads and nothing else, seconds a member."""
    import time

    began = time.perf_counter()
    rows, models = [], Path(arguments["models"])
    for place, trained in models_of(models, arguments["task"], arguments["sizes"]).items():
        run = place.relative_to(models).as_posix()
        for member, (loss, found) in enumerate(zip(trained.losses, _members(place), strict=True)):
            rows.append({"run": run, "member": member, "loss": loss, "fitted": found["fits"], **found})
    return {
        **arguments["label"],
        **arguments["sizes"],
        "seconds": round(time.perf_counter() - began, 3),
        "members": rows,
        "members_passed_over": 0,
    }


def _members(folder: Path) -> Iterator[Row]:
    """The heads of each member of a run's model, best first."""
    from weights2code.run_folder import MODEL, open_existing
    from weights2code.source import problem_of
    from weights2code.training.storage import Trained
    from weights2code.views.hidden import remembered

    with open_existing(folder, alone=False) as run:
        problem = remembered(problem_of(run.source, replace(run.settings, samples=LOOKED_AT)), run)
        trained = Trained.load(run.file(MODEL))
        yield from heads_of(trained, problem, run.settings.seed)


def heads_of(trained: Trained, problem: Problem, seed: int) -> Iterator[Row]:
    """The heads of each trained member, best first."""
    from weights2code.experiments.head_analysis import analyse_heads
    from weights2code.experiments.head_effects import judged_on
    from weights2code.graph.from_model import graph_of

    sequences = judged_on(problem, seed)
    for member in range(len(trained.losses)):
        graph = graph_of(trained.weights, member, trained.layout, problem)
        yield analyse_heads(graph, problem, sequences)


# -- the table ----------------------------------------------------------------------------------------------


def _done(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == DONE]


def _unmatched(rows: Sequence[Row]) -> list[Row]:
    return [head for row in _done(rows) for head in row["unmatched"]]


def _further(rows: Sequence[Row]) -> list[Row]:
    heads = (head for row in _done(rows) for head in row["matched"] + row["unmatched"])
    return [head for head in heads if needs_further(head)]


def _solved(rows: Sequence[Row]) -> str | None:
    return share(rows, "solved") if any("solved" in row for row in _done(rows)) else None


def _because(name: str) -> Column:
    return Column(name, name, lambda rows: sum(head["reason"] == name for head in _unmatched(rows)))


def _why_worse(rows: Sequence[Row]) -> str:
    finding, standing = judged(_done(rows))
    return f"{finding}: {_why(_done(rows))}" if standing == "worse" else ""


def table(rows: Sequence[Row]) -> Table:
    columns = (
        TASK,
        Column("architecture", "architecture", common("architecture")),
        Column("heads", "heads", lambda rows: sum(row["heads_in_all"] for row in _done(rows))),
        Column("matched", "matched", lambda rows: sum(len(row["matched"]) for row in _done(rows))),
        Column("further", "only by further hypotheses", lambda rows: len(_further(rows))),
        *map(_because, REASONS),
        Column(
            "over", "members passed over", lambda rows: sum(r["members_passed_over"] for r in _done(rows))
        ),
        Column("fits", "models that fit", part("fits")),
        Column("right", "the network: right or loss, free", lambda rows: _scores(_done(rows), "network")),
        Column("replaced", "unmatched heads replaced", lambda rows: _scores(_done(rows), "replaced")),
        Column("listed", "the others by their hypotheses too", lambda rows: _scores(_done(rows), "listed")),
        Column("solved", "solved", _solved),
        Column("finding", "the paper's finding", lambda rows: judged(_done(rows))[0]),
        Column(
            "nearest",
            "examples: reason, effect",
            lambda rows: "; ".join(_named(_unmatched(rows), _further(rows))),
        ),
    )
    by = ("task", "architecture")
    return tabulate(
        rows, columns, by, standing=lambda cells, rows: judged(_done(rows))[1], why=_why_worse, notes=NOTES
    )


NOTES = (
    "With the fast recipe the best member of each run whose live heads all match, else the best; "
    "*members passed over* were better but have a live head that matches nothing. With the paper's every "
    "seed. Heads are summed over the seeds and judged where they have an effect. *Only by further "
    "hypotheses*: of those that match or are substitutable, the ones in whose place neither of the paper's "
    "two patterns does, nor anything harmless.",
    "Reasons of heads that match nothing, the first that holds: "
    + "; ".join(f"*{name}*: {words}" for name, words in REASONS.items())
    + ".",
    f"*As right*: on whole numbers no more than {MORE_WRONG:.1%} of the rounded outputs are wrong in "
    "addition; on reals the loss relative to the variance at most doubles, rises by no more than 0.001, or "
    "stays below 1e-9; on fresh sequences, with past outputs given, and free-running if the network computes "
    f"the task so. Of a model that does not fit the outputs themselves stay, to {MOST_MOVED} of the "
    "variance. Heads are replaced one after the other, and what was put in the place of a harmless one stays "
    "there. A model *fits* if "
    f"{FITS_RIGHT:.0%} of its rounded outputs are right, or if its loss is below {FITS_LOSS}. The "
    "columns of scores are means over the seeds of the share of outputs that round right, or of the loss, "
    "with past outputs given and free-running.",
    f"The finding is judged on the models that fit, on all if none does. *{HOLDS}*: every unmatched head is "
    f"harmless. *{EXPLAINED}*: heads that follow neither of the paper's patterns are needed, and each "
    f"follows another. *{REFUTED}*: one is needed and nothing explains it. *{OPEN}*: a head is needed, but "
    "what such a model does says nothing about the task.",
)


def needs_further(head: Row) -> bool:
    """Whether a head is needed, and something explains it, but none of the paper's patterns."""
    return head.get("by_the_paper", "dead") not in HARMLESS


def judged(rows: Sequence[Row]) -> tuple[str, Standing]:
    """Whether the paper's finding holds for the models of a task, and how that stands beside the paper."""
    if not rows:
        return "-", None
    fit = [row for row in rows if row["fits"]]
    telling = fit or rows
    harmless = all(row["harmless"] for row in telling)
    further = any(needs_further(head) for row in telling for head in row["matched"] + row["unmatched"])
    if not fit:
        return (HOLDS + NO_FIT, "equal") if harmless and not further else (OPEN, None)
    if not harmless:
        return REFUTED, "worse"
    return (EXPLAINED if further else HOLDS), "equal"


def _why(rows: Sequence[Row]) -> str:
    needed = [head for row in rows for head in row["unmatched"] if head["reason"] == NEEDED]
    return ", ".join(_in_words(head) for head in needed[:MOST_NAMED])


def _scores(rows: Sequence[Row], name: str) -> str:
    """Shares of right outputs, or losses, with past outputs given and free-running."""
    whole = all(row[name]["right"] is not None for row in rows)
    ways = ("right", "free_right") if whole else ("loss", "free_loss")
    means = [average(row[name][way] for row in rows) for way in ways]
    return ", ".join("-" if mean is None else f"{mean:.4g}" if whole else f"{mean:.2g}" for mean in means)


def _named(heads: Sequence[Row], further: Sequence[Row]) -> list[str]:
    """A few heads with what is to be said of them, the worst first."""
    order = list(REASONS)
    worst = sorted(heads, key=lambda head: -order.index(head["reason"]))
    named = [f"{_in_words(head)}: {head['reason']}" for head in worst if "mean_instead" in head]
    matched = [f"{head['head']}: {head['hypothesis']}" for head in further if "hypothesis" in head]
    return named[:MOST_NAMED] + matched[:MOST_NAMED]


def _in_words(head: Row) -> str:
    """A head, what was put in its place, and what its mean there changes."""
    effect = head["mean_instead"]
    if effect["changed"] is not None:
        changed = f"its mean changes {effect['changed']:.2%} of the outputs"
    else:
        changed = f"its mean changes the loss by {effect['loss']:+.1e}"
    put = "" if head["reason"] == NEGLIGIBLE else f"{head['detail']}; "
    return f"{head['head']} ({put}{changed})"


def _lives(row: Row) -> bool:
    return any(head["live_after_pruning"] for head in row["unmatched"])


UNMATCHED_HEADS = Experiment(
    "unmatched_heads",
    "Unmatched heads: which there are, and what depends on them",
    tuple(paper_numbers.by_task("architectures")),
    jobs,
    table,
    takes_models=True,
)
