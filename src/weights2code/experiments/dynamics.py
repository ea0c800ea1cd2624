"""Training dynamics (section 6.1): soft loss, discrepancy and agreement over the epochs, five tasks.

The loss falls first; the discrepancy between the discrete and the soft model follows as the agreement of the
choices with the final ones approaches 1. The table says when each of them is nine tenths of the way down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import average
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import DONE, Job, Row
from weights2code.experiments.learned import learned_jobs
from weights2code.experiments.tables import TASK, Cell, Column, Table, grouped, tabulate

if TYPE_CHECKING:
    from weights2code.report.svg import Drawing

#: Agreement that counts as settled.
SETTLED = 0.95


def jobs(task: str, options: Options) -> list[Job]:
    sizes = paper_numbers.sizes(paper_numbers.by_task("architectures")[task])
    return learned_jobs(task, task, options, sizes, listings=False)


def falls(values: Sequence[float]) -> int | None:
    """The first epoch at which a loss is below a tenth of its largest."""
    return next((i for i, v in enumerate(values, 1) if v < 0.1 * max(values)), None)


def shrinks(values: Sequence[float]) -> int | None:
    """The epoch from which a discrepancy stays below a tenth of its largest."""
    largest = max(abs(v) for v in values)
    above = [i for i, v in enumerate(values, 1) if abs(v) > 0.1 * largest]
    return above[-1] + 1 if above and above[-1] < len(values) else None


def settles(values: Sequence[float]) -> int | None:
    """The epoch from which the agreement stays high."""
    below = [i for i, v in enumerate(values, 1) if v < SETTLED]
    return (below[-1] + 1 if below[-1] < len(values) else None) if below else 1


def _last(name: str) -> Cell:
    return _curve(name, lambda values: values[-1])


def _curve(name: str, what: Callable[[Sequence[float]], float | None]) -> Cell:
    """The mean over the seeds of what a curve says."""
    return lambda rows: average(what(row["curves"][name]) for row in rows)


def _best_mse(rows: Sequence[Row]) -> float | None:
    return average(min(member["mse"] for member in row["members"]) for row in rows)


COLUMNS = (
    TASK,
    Column("epochs", "epochs", lambda rows: len(rows[0]["curves"]["soft_loss"])),
    Column("soft_loss", "soft loss at the end", _last("soft_loss")),
    Column("hard_loss", "hard loss at the end", _last("hard_loss")),
    Column("loss_falls", "epoch: soft loss fell", _curve("soft_loss", falls)),
    Column("discrepancy_shrinks", "epoch: discrepancy gone", _curve("discrepancy", shrinks)),
    Column("agreement_settles", f"epoch: agreement above {SETTLED}", _curve("agreement", settles)),
    Column("mse", "MSE of the discrete model", _best_mse),
)
NOTES = (
    "Means over the seeds, of the restart that ends best. Losses are relative to the variance. *Fell*: first "
    "below a tenth of its largest; *gone*: below a tenth of its largest from there on. The paper shows a "
    "figure and no numbers: it says that the discrepancy drops slightly later than the loss, while the "
    "agreement approaches 1.",
)


def table(rows: Sequence[Row]) -> Table:
    done = [row for row in rows if row["status"] == DONE]
    return tabulate(done, COLUMNS, notes=NOTES, apart=False)


def figure(rows: Sequence[Row]) -> Drawing | None:
    from weights2code.experiments.charts import curves_chart

    known = grouped([row for row in rows if row["status"] == DONE], "task")
    if not known:
        return None

    def series(name: str) -> dict[str, list[float]]:
        return {
            task: [
                average(values) or 0.0 for values in zip(*(r["curves"][name] for r in found), strict=False)
            ]
            for (task,), found in known.items()
        }

    return curves_chart("dynamics", "Training dynamics", (
        ("Soft loss, relative to the variance", True, series("soft_loss")),
        ("Discrepancy: hard minus soft loss", False, series("discrepancy")),
        ("Agreement with the final choices", False, series("agreement")),
    ))  # fmt: skip


DYNAMICS = Experiment(
    "dynamics",
    "The figure of training dynamics: loss, discrepancy, agreement",
    ("spring", "sum_last2", "diff_last2", "parity_last2", "freebody"),
    jobs,
    table,
    figure,
    takes_models=True,
)
