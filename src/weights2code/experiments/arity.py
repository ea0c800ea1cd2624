"""The arity ablation (appendix): 1 to 4 operands a sub-MLP in models of 2 layers, 2 heads, 2 sub-MLPs."""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import average, lower_is_better, reason, share
from weights2code.experiments.experiment import Experiment, Line, Options, Table, grouped, members_of
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.members import members_job
from weights2code.experiments.study import study_job

ARITIES = (1, 2, 3, 4)
SIZES = {"layers": 2, "heads": 2, "submlps": 2}


def tasks(suite: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for task, _ in paper_numbers.ablation("arity")))


def jobs(options: Options) -> list[Job]:
    made = []
    for name in options.chosen(tasks("paper")):
        for arity in ARITIES:
            key, sizes = f"{name}-k{arity}", {**SIZES, "arity": arity}
            if options.recipe == "paper":
                made.append(members_job(key, name, options, sizes, arity=arity))
                continue
            made += [
                study_job(f"{key}-seed{seed}", name, options.settings(seed=seed, **sizes), arity=arity)
                for seed in options.seeds
            ]
    return made


def table(rows: Sequence[Row]) -> Table:
    theirs = paper_numbers.ablation("arity")
    lines = []
    for (task, arity), found in grouped(members_of(rows), "task", "arity").items():
        paper = theirs.get((task, f"L2H2M2 k={arity}"), {})
        paper_rmse = paper_numbers.number(paper.get("rmse"))
        rmse = average(
            row.get("program_rmse") if row.get("program_rmse") is not None else row.get("model_rmse")
            for row in found
        )
        cells = {
            "task": task,
            "arity": arity,
            "rmse": rmse,
            "paper_rmse": paper_rmse,
            "model_rmse": average(row.get("model_rmse") for row in found),
            "fits": share([{"fits": row.get("model_accuracy") == 1.0} for row in found], "fits"),
            "solved": share(found, "solved"),
            "listing_rmse": average(row.get("listing_rmse") for row in found),
            "lines": average(row.get("body") for row in found),
            "formula": next((row["formula"] for row in found if row.get("solved")), None),
        }
        lines.append(Line(cells, lower_is_better(rmse, paper_rmse), reason(found)))
    columns = {
        "task": "task",
        "arity": "k",
        "rmse": "RMSE",
        "paper_rmse": "paper",
        "model_rmse": "RMSE of the discrete model",
        "fits": "models that fit",
        "solved": "solved",
        "listing_rmse": "RMSE of the listing",
        "lines": "lines",
        "formula": "program",
    }
    return Table(columns, lines, (
        "Means over the seeds. RMSE is the program's, or the discrete model's where there is none. A program "
        "can be right although its model does not fit: the rule is then regressed from the values that the "
        "model reads, and the arity of its sub-MLPs does not limit it.",
    ))  # fmt: skip


EXPERIMENT = Experiment("arity", "The arity ablation, k = 1 to 4", tasks, jobs, table)
