"""What a user would pick instead: symbolic regression on lagged variables without a network, beside us.

Operon and the package's own engine get all inputs and outputs up to 3 and up to 8 steps back and 8 seconds a
task. Programs are judged alike (`judging`), but that reals of theirs may be off by 0.1 % of the spread.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.study import study_job
from weights2code.experiments.tables import TASK, Column, Table, among, grouped, mean, part, tabulate

if TYPE_CHECKING:
    import numpy as np

LAGS = (3, 8)
SECONDS = 8.0
#: Sequences to regress on: more rows only slow a search down.
SEQUENCES = 400
#: Real targets count as right within this share of their spread: constants of a search are never exact.
NEAR = 1e-3
OURS = "weights2code"


def jobs(task: str, options: Options) -> list[Job]:
    from weights2code.experiments.lagged import ENGINES

    made = []
    for seed in options.seeds:
        made.append(study_job(f"{task}-{OURS}-seed{seed}", task, options.settings(seed=seed), way=OURS))
        for engine, lags in product(ENGINES, LAGS):
            label = {"task": task, "way": f"{engine}, lags to {lags}"}
            what = {"task": task, "engine": engine, "lags": lags, "seed": seed, "label": label}
            what["seconds"] = options.numbers.get("time_limit", SECONDS)
            key = f"{task}-{engine}-lags{lags}-seed{seed}"
            made.append(Job(key, f"{__name__}:regress_task", what))
    return made


def regress_task(arguments: dict[str, Any], folder: Path) -> Row:
    """Regress one task on its lagged values and judge what comes out."""
    from weights2code import tasks
    from weights2code.experiments import lagged
    from weights2code.experiments.judging import solves

    task = tasks.get(arguments["task"])
    lags, seed = arguments["lags"], arguments["seed"]
    x, y = task.sample(SEQUENCES, seed=seed)
    features = lagged.variables(task.columns, task.outputs, lags)
    rows = lagged.lagged(x, y, lags).reshape(-1, len(features))
    share_of_time = arguments["seconds"] / len(task.outputs)
    began = time.perf_counter()
    formulas: list[lagged.Formula] = []
    for output in range(len(task.outputs)):
        target = y[..., output].ravel()
        if arguments["engine"] == "operon":
            names = [str(feature).replace("[", "_").strip("]").replace("-", "") for feature in features]
            formulas.append(lagged.operon(rows, target, share_of_time, seed, names))
        else:
            formulas.append(lagged.native(rows, target, features, share_of_time))
    seconds = time.perf_counter() - began

    def run(x: np.ndarray) -> np.ndarray:
        return lagged.run_free(formulas, x, lags, task.integer_outputs)

    return {
        **arguments["label"],
        "seed": seed,
        "seconds": round(seconds, 3),
        "solved": solves(run, task, seed, noise=NEAR * y.std(axis=(0, 1))).solved,
        "operations": sum(formula.size for formula in formulas),
        "formula": "\n".join(f.text for f in formulas),
    }


def table(rows: Sequence[Row]) -> Table:
    ways = sorted(dict.fromkeys(row["way"] for row in rows), key=lambda way: (way != OURS, way))
    columns = [TASK]
    for way in ways:
        of = partial(among, lambda row, way=way: row["way"] == way)
        columns += [
            Column(f"{way}: solved", way, of(part("solved"))),
            Column(f"{way}: seconds", "seconds", of(mean("seconds"))),
            Column(f"{way}: size", "size", of(among("solved", mean("operations")))),
        ]
    note = (
        "*Size*: operations of our program, nodes of a baseline's expression; of the solved runs. Baselines "
        "are judged as our programs are, rounded on whole-number tasks; real targets may be off by 0.1 % of "
        "their spread."
    )
    return tabulate(rows, columns, notes=[*(_summary(way, rows) for way in ways), note])


def _summary(method: str, rows: Sequence[Row]) -> str:
    own = [row for row in rows if row["way"] == method]
    groups = grouped(own, "task").values()
    always = sum(all(row.get("solved") for row in found) for found in groups)
    ever = sum(any(row.get("solved") for row in found) for found in groups)
    proved = sum(row.get("verdict") == "proved" for row in own)
    text = f"{method}: {always} of {len(groups)} tasks solved by every seed, {ever} by at least one"
    text += f"; median {median(row['seconds'] for row in own):.1f} s"
    return text + (f"; {proved} of {len(own)} runs proved." if method == OURS else "; nothing is proved.")


BASELINES = Experiment(
    "baselines",
    "Symbolic regression on lagged variables without a network, beside us",
    None,
    jobs,
    table,
)
