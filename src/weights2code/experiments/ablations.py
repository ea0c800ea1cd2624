"""The ablations of the appendix: arity, pruning by epsilon, an l1 penalty on the head, slower annealing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import average, lower, reason
from weights2code.experiments.experiment import Experiment, Options, study_jobs
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.learned import EPSILON, learned_jobs, short_training
from weights2code.experiments.tables import (
    TASK,
    Column,
    Table,
    among,
    common,
    mean,
    mean_error,
    members_of,
    model_fits,
    part,
    solved_formula,
    tabulate,
    theirs,
)

#: The architecture of the penalty and of annealing.
LARGE = {"layers": 4, "heads": 4, "submlps": 4}


def tasks_of(ablation: str) -> tuple[str, ...]:
    """The tasks that the paper has it for."""
    return tuple(dict.fromkeys(task for task, _ in paper_numbers.ablation(ablation)))


def paper_row(ablation: str, setting: str) -> Callable[[Row], Mapping[str, str]]:
    """The paper's row for a row of ours; its setting is written with our columns."""
    rows = paper_numbers.ablation(ablation)
    return lambda row: rows.get((row["task"], setting.format(**row)), {})


# -- arity: 1 to 4 operands a sub-MLP in models of 2 layers, 2 heads, 2 sub-MLPs ----------------------------


def arity_jobs(task: str, options: Options) -> list[Job]:
    sizes = {"layers": 2, "heads": 2, "submlps": 2}
    return [
        job
        for arity in (1, 2, 3, 4)
        for job in study_jobs(
            f"{task}-k{arity}", task, options, {**sizes, "arity": arity}, same=True, arity=arity
        )
    ]


arity_table = partial(
    tabulate,
    by=("task", "arity"),
    columns=(
        TASK,
        Column("arity", "k", common("arity")),
        Column("rmse", "RMSE", mean_error),
        Column("paper_rmse", "paper", theirs("rmse")),
        Column("model_rmse", "RMSE of the discrete model", mean("model_rmse")),
        Column("fits", "models that fit", part(model_fits)),
        Column("solved", "solved", part("solved")),
        Column("listing_rmse", "RMSE of the listing", mean("listing_rmse")),
        Column("lines", "lines", mean("body")),
        Column("formula", "program", solved_formula),
    ),
    paper=paper_row("arity", "L2H2M2 k={arity}"),
    standing=lower("rmse"),
    why=reason,
    notes=(
        "Means over the seeds. RMSE is the program's, or the discrete model's where there is none. A program "
        "can be right although its model does not fit: the rule is then regressed from the values that the "
        "model reads, and the arity of its sub-MLPs does not limit it.",
    ),
)


# -- pruning: lines and RMSE of the listing with and without epsilon ----------------------------------------

WAYS = {"unpruned": "none", "pruned": f"epsilon {EPSILON}", "by_effect": "by effect"}


def pruning_jobs(task: str, options: Options) -> list[Job]:
    return learned_jobs(task, task, options, {"layers": 1, "heads": 2, "submlps": 2})


def pruning_table(rows: Sequence[Row]) -> Table:
    """A line for each way of pruning the same models; the one that the paper has too is compared."""
    compared = lower("lines", "rmse")
    by_way = [
        {**row, "way": way, "lines": row.get(f"{way}_lines"), "rmse": row.get(f"{way}_rmse")}
        for row in members_of(rows)
        for way in WAYS
    ]
    return tabulate(
        by_way,
        by=("task", "way"),
        columns=(
            TASK,
            Column("pruning", "pruning of the head", lambda rows: WAYS[rows[0]["way"]]),
            Column("lines", "lines of the listing", among("fits", mean("lines"))),
            Column("paper_lines", "paper", theirs("lines")),
            Column("rmse", "RMSE of the listing", among("fits", mean("rmse"))),
            Column("paper_rmse", "paper", theirs("rmse")),
            Column("fits", "models that fit", part("fits")),
            Column("mse", "their MSE", among("fits", mean("mse"))),
        ),
        paper=paper_row("pruning", "{way}"),
        standing=lambda cells, rows: compared(cells, rows) if rows[0]["way"] == "pruned" else None,
        why=short_training,
        notes=(
            "Means over the models that fit, all seeds and restarts; their head is learned. The paper does "
            "not give its epsilon; ours removes what its listings would print as 0.00. *By effect* is what "
            "the package does instead: drop a variable, solve the head again, keep the drop if the loss does "
            "not rise.",
        ),
    )


# -- l1: a penalty of 0.001 on the head ---------------------------------------------------------------------


def l1_jobs(task: str, options: Options) -> list[Job]:
    return [
        job
        for penalty in (0.0, 0.001)
        for job in learned_jobs(f"{task}-l1={penalty:g}", task, options, LARGE, l1=penalty, penalty=penalty)
    ]


l1_table = partial(
    tabulate,
    by=("task", "penalty"),
    columns=(
        TASK,
        Column("l1", "l1", common("penalty")),
        Column("lines", "lines of the listing", among("fits", mean("pruned_lines"))),
        Column("paper_lines", "paper", theirs("lines")),
        Column("rmse", "RMSE of the listing", among("fits", mean("pruned_rmse"))),
        Column("paper_rmse", "paper", theirs("rmse")),
        Column("by_effect_lines", "lines, pruned by effect", among("fits", mean("by_effect_lines"))),
        Column("fits", "models that fit", part("fits")),
        Column("mse", "their MSE", among("fits", mean("mse"))),
    ),
    paper=paper_row("l1", "L4H4M4 l1={penalty:g}"),
    standing=lower("lines", "rmse"),
    why=short_training,
    notes=(
        "Means over the models that fit, all seeds and restarts. Losses inside are relative to the variance "
        "of the target, so the penalty weighs more than the paper's where outputs are large. Pruning by "
        "effect, which the package does by default, needs no penalty.",
    ),
)


# -- annealing: 25, 50 and 100 epochs -----------------------------------------------------------------------


def annealing_jobs(task: str, options: Options) -> list[Job]:
    numbers = dict(options.numbers)
    factor = numbers.pop("epochs", 100) / 100  # a quick look keeps the ratios
    asked, made = replace(options, numbers=numbers), []
    for length in (25, 50, 100):
        key, epochs = f"{task}-{length}epochs", max(1, round(length * factor))
        made += learned_jobs(key, task, asked, LARGE, epochs, listings=False, annealed=length)
    return made


def _median_mse(rows: Sequence[Row]) -> float | None:
    known = [row["mse"] for row in rows if row.get("mse") is not None]
    return median(known) if known else None


def _soft_loss(rows: Sequence[Row]) -> float | None:
    return average(row["curves"]["soft_loss"][-1] for row in rows if "curves" in row)


annealing_table = partial(
    tabulate,
    by=("task", "annealed"),
    columns=(
        TASK,
        Column("epochs", "epochs", common("annealed")),
        Column("mse", "MSE of the discrete model", _median_mse),
        Column("paper_mse", "paper, training MSE", theirs("train_mse")),
        Column("soft_loss", "soft loss at the end, relative to the variance", _soft_loss),
        Column("fits", "models that fit", part("fits")),
        Column("seconds", "seconds", mean("seconds")),
    ),
    paper=paper_row("annealing", "L4H4M4 {annealed} epochs"),
    standing=lower("mse"),
    why=short_training,
    notes=(
        "MSE: the median over seeds and restarts, in the user's units, on validation sequences; the soft "
        "loss is that of the best restart. With the fast numbers an epoch is 20 steps of batch 64, the "
        "paper's is 1953 of batch 512.",
    ),
)


ARITY = Experiment(
    "arity",
    "The arity ablation, k = 1 to 4",
    tasks_of("arity"),
    arity_jobs,
    arity_table,
    takes_models=True,
)
PRUNING = Experiment(
    "pruning",
    "Pruning by epsilon: lines and RMSE with and without",
    tasks_of("pruning"),
    pruning_jobs,
    pruning_table,
    takes_models=True,
)
L1 = Experiment(
    "l1",
    "l1 on the head: lines and RMSE with and without",
    tasks_of("l1"),
    l1_jobs,
    l1_table,
    takes_models=True,
)
ANNEALING = Experiment(
    "annealing",
    "Annealing over 25, 50 and 100 epochs",
    tasks_of("annealing"),
    annealing_jobs,
    annealing_table,
    takes_models=True,
)
