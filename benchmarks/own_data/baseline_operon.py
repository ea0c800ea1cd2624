"""What people would do without us: Operon on lagged variables, no network, in the same time.

    python benchmarks/own_data/baseline_operon.py [--only NAME ...] [--seconds S]

Every target is regressed on inputs and targets at lags 0 (inputs only), 1, ..., L, for L = 3 and L = 8, with
the positions before the start filled with 0. The result, rounded at each step where the targets are whole
numbers, is judged as our programs are, but that reals may be off by 0.1 % of the spread. The time is what our
fit of the same file took (at least 8 s), or what is asked for. A run that was stopped goes on where it was;
`--only` shows single cases and records nothing.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, Case
from make import write
from run import GROUPS, RESULTS, RUNS, group_of

from weights2code.experiments.lagged import lagged, operon, run_free
from weights2code.experiments.limits import formula
from weights2code.experiments.tables import markdown

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows, read_rows

LAGS = (3, 8)
LEAST_SECONDS = 8.0
#: What reals may be off by, as a share of the spread: constants of a random search are never exact.
NEAR = 1e-3


def table(case: Case, path: Path, lags: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of lagged values, and targets."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(row["sequence"], []).append(row)
    features, targets = [], []
    for group in groups.values():
        x = np.array([[float(row[name]) for name in case.inputs] for row in group])
        y = np.array([[float(row[name]) for name in case.targets] for row in group])
        features.append(lagged(x[None], y[None], lags)[0])
        targets.append(y)
    return np.concatenate(features), np.concatenate(targets)


def judge(case: Case, seconds: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": case.name,
        "hard": case.hard,
        "group": case.kind,
        "seconds": round(seconds, 1),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = write(case, Path(folder))
        for lags in LAGS:
            X, Y = table(case, path, lags)
            whole = np.all(np.round(Y) == Y, axis=0)
            share = seconds / Y.shape[1]
            models = [operon(X, Y[:, i], share) for i in range(Y.shape[1])]
            run = partial(run_free, models, lags=lags, whole=whole)
            row[f"lags_{lags}"] = case.judge(run, NEAR * Y.std(axis=0)).solved
            row[f"formula_{lags}"] = [model.text for model in models]
    return row


def report(rows: list[dict[str, Any]]) -> str:
    cells = [
        (row["name"], *("yes" if row[f"lags_{lags}"] else "no" for lags in LAGS), row["seconds"],
         f"`{formula({'formula': row['formula_3'][0]}, 90)}`")
        for row in rows
    ]  # fmt: skip
    parts = [
        "# Operon on lagged variables, beside us",
        "Judged as our programs are, but that real targets may be off by 0.1 % of the spread.",
        markdown(("file", "lags to 3", "lags to 8", "seconds each", "its formula (lags to 3)"), cells),
    ]
    for title in GROUPS:
        part = [row for row in rows if group_of(row) == title]
        counts = ", ".join(f"lags to {lags}: {sum(r[f'lags_{lags}'] for r in part)}" for lags in LAGS)
        parts.append(f"{title}, right of {len(part)}: {counts}.")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--group", choices=GROUPS, default=None)
    parser.add_argument("--seconds", type=float, default=None)
    options = parser.parse_args()
    took = {row["name"]: row["cpu_seconds"] for row in read_rows(RESULTS / "own_data.json")}
    seconds = {case.name: options.seconds or max(LEAST_SECONDS, took.get(case.name, 0.0)) for case in CASES}
    chosen = [case for case in CASES if options.group in (None, case.kind)]
    if options.only:
        for case in chosen:
            if case.name in options.only:
                show(judge(case, seconds[case.name]))
        return
    rows = Rows(RUNS / "operon.jsonl", [options.group, seconds])
    done = {row["name"] for row in rows.rows}
    for case in chosen:
        if case.name not in done:
            rows.add(judge(case, seconds[case.name]))
            show(rows.rows[-1])
    (RESULTS / "operon.md").write_text(report(rows.rows), encoding="utf-8")
    command = " ".join(["python benchmarks/own_data/baseline_operon.py", *sys.argv[1:]])
    # each file is fitted once for each reach of the lags
    spent = round(len(LAGS) * sum(row["seconds"] for row in rows.rows), 1)
    rows.finish(RESULTS / "operon.json", command, seconds=spent)


def show(row: dict[str, Any]) -> None:
    print({name: value for name, value in row.items() if "formula" not in name}, flush=True)


if __name__ == "__main__":
    main()
