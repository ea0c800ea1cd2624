"""What people would do without us: Operon on lagged variables, no network, in the same time.

    python benchmarks/own_data/baseline_operon.py [--group all|simple|hard|fresh] [--least S]

Every target is regressed on inputs and targets at lags 0 (inputs only), 1, ..., L, for L = 3 and L = 8, with
the positions before the start filled with 0. The result, rounded at each step where the targets are whole
numbers, is judged as our programs are, but that reals may be off by 0.1 % of the spread. The time is what our
fit of the same file took, at least 8 s if nothing else is asked.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
from case_kinds import Case
from cases import CASES

from weights2code.experiments.benchmark import Options, Record, run
from weights2code.experiments.jobs import Row
from weights2code.experiments.lagged import lagged, operon, run_free

OURS = Path(__file__).parent / "results" / "own_data.json"
LAGS = (3, 8)
#: What reals may be off by, as a share of the spread: constants of a random search are never exact.
NEAR = 1e-3


def cases(options: Options) -> Mapping[str, tuple[Case, float]]:
    """Files with the time that each gets."""
    ours = Record.read(OURS)
    took = {row["name"]: row["cpu_seconds"] for row in ours.rows} if ours else {}
    chosen = (case for case in CASES if options.group in ("all", case.group))
    return {case.name: (case, max(options.least, took.get(case.name, 0.0))) for case in chosen}


def table(case: Case, lags: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of lagged values, and targets."""
    with tempfile.TemporaryDirectory() as folder, open(case.write(Path(folder)), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    features, targets = [], []
    for _, group in groupby(rows, key=lambda row: row["sequence"]):
        sequence = list(group)
        x, y = (
            np.array([[float(row[name]) for name in names] for row in sequence])
            for names in (case.inputs, case.targets)
        )
        features.append(lagged(x[None], y[None], lags)[0])
        targets.append(y)
    return np.concatenate(features), np.concatenate(targets)


def measure(asked: tuple[Case, float]) -> Row:
    case, seconds = asked
    row = {**case.labels, "asked_seconds": round(seconds, 1), "seconds": round(len(LAGS) * seconds, 1)}
    for lags in LAGS:
        X, Y = table(case, lags)
        whole = np.all(np.round(Y) == Y, axis=0)
        models = [operon(X, column, seconds / Y.shape[1]) for column in Y.T]
        found = partial(run_free, models, lags=lags, whole=whole)
        row[f"lags_{lags}"] = case.judge(found, NEAR * Y.std(axis=0)).solved
        row[f"formula_{lags}"] = [model.text for model in models]
    return row


def show(row: Row) -> str:
    return " ".join([row["key"], *(f"lags to {n}: {row.get(f'lags_{n}', row['error'])}" for n in LAGS)])


if __name__ == "__main__":
    groups = ["all", "simple", "hard", "fresh"]
    run(__file__, __doc__, cases, measure, record="operon", show=show, group=groups, least=8.0)
