"""Slower annealing (appendix): 25, 50 and 100 epochs for spring with 4 layers, 4 heads and 4 sub-MLPs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import average, lower_is_better, share
from weights2code.experiments.experiment import Experiment, Line, Options, Table, grouped, members_of
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.learned import learned_jobs, short_training

SIZES = {"layers": 4, "heads": 4, "submlps": 4}
LENGTHS = (25, 50, 100)


def tasks(suite: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for task, _ in paper_numbers.ablation("annealing")))


def jobs(options: Options) -> list[Job]:
    factor = options.numbers.get("epochs", 100) / 100  # a quick look keeps the ratios
    numbers = {name: value for name, value in options.numbers.items() if name != "epochs"}
    asked = Options(options.recipe, options.layout, options.device, options.seeds, numbers=numbers)
    made = []
    for name in options.chosen(tasks("paper")):
        for length in LENGTHS:
            epochs = max(1, round(length * factor))
            made += learned_jobs(
                f"{name}-{length}epochs", name, asked, SIZES, epochs, listings=False, annealed=length
            )
    return made


def table(rows: Sequence[Row]) -> Table:
    theirs = paper_numbers.ablation("annealing")
    lines = []
    for (task, epochs), found in grouped(members_of(rows), "task", "annealed").items():
        paper = paper_numbers.number(theirs[task, f"L4H4M4 {epochs} epochs"]["train_mse"])
        known = [row["mse"] for row in found if row.get("mse") is not None]
        mse = median(known) if known else None
        soft = average(row["curves"]["soft_loss"][-1] for row in found if "curves" in row)
        cells = {
            "task": task,
            "epochs": epochs,
            "mse": mse,
            "paper_mse": paper,
            "soft_loss": soft,
            "fits": share(found, "fits"),
            "seconds": average(row["seconds"] for row in found),
        }
        lines.append(Line(cells, lower_is_better(mse, paper), short_training(found)))
    columns = {
        "task": "task",
        "epochs": "epochs",
        "mse": "MSE of the discrete model",
        "paper_mse": "paper, training MSE",
        "soft_loss": "soft loss at the end, relative to the variance",
        "fits": "models that fit",
        "seconds": "seconds",
    }
    return Table(columns, lines, (
        "MSE: the median over seeds and restarts, in the user's units, on validation sequences; the soft "
        "loss is that of the best restart. With the fast numbers an epoch is 20 steps of batch 64, the "
        "paper's is 1953 of batch 512.",
    ))  # fmt: skip


EXPERIMENT = Experiment("annealing", "Annealing over 25, 50 and 100 epochs", tasks, jobs, table)
