"""When can half of a rung's members be given up? Train without halving, and look back.

    python benchmarks/training/halving.py --out benchmarks/training/results/halving.json

For every rung, task and seed: of the members that fit best in the end, how many were in the better half at
a quarter, a third, a half and two thirds of the training. A rung that stops early before a share has no
entry for it: there was nothing left to give up.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.ladder import ladder_of
from weights2code.training.loop import EPOCHS_JUDGED
from weights2code.training.search import train_rung

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import write_record

CASES = {
    "pairs": ("add_mod_3", "unique_prev2", "abs_of_diff", "minimum_prev2"),
}
SHARES = (0.25, 0.35, 0.5, 0.65)
#: A member fits if its last hard loss is below this, or within three times the best one.
FITS = 1e-3


def look_back(name: str, task: str, seed: int) -> dict[str, object]:
    """Train one rung to its end and rank its members at each share."""
    settings = Settings(seed=seed)
    problem = problem_of(task, settings)
    rung = next(rung for rung in ladder_of(problem, settings) if rung.name == name)
    rung = replace(rung, recipe=replace(rung.recipe, halvings=()))
    began = time.perf_counter()
    trained = train_rung(rung, problem, settings, torch.device("cpu"))
    losses = np.array([epoch.hard_loss for epoch in trained.history])
    good = np.flatnonzero(losses[-1] < max(FITS, 3 * losses[-1].min()))
    kept: dict[str, int] = {}
    for share in SHARES:
        epoch = round(share * rung.recipe.epochs)
        if epoch <= len(losses):
            rank = losses[max(epoch - EPOCHS_JUDGED, 0) : epoch].min(0).argsort().argsort()
            kept[str(share)] = int((rank[good] < losses.shape[1] / 2).sum())
    row = {"rung": name, "task": task, "seed": seed, "members": losses.shape[1], "good": len(good)}
    return row | {"kept": kept, "loss": losses[-1].min(), "seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name, names in CASES.items():
        for task in names:
            for seed in map(int, options.seeds.split(",")):
                rows.append(look_back(name, task, seed))
                print(rows[-1], flush=True)
    total = {
        str(share): [
            sum(row["kept"][str(share)] for row in rows if str(share) in row["kept"]),
            sum(row["good"] for row in rows if str(share) in row["kept"]),
        ]
        for share in SHARES
    }
    print("kept, of those that fit in the end:", total)
    if options.out:
        command = " ".join(["python benchmarks/training/halving.py", *sys.argv[1:]])
        write_record(options.out, command, kept=total, rows=rows)


if __name__ == "__main__":
    main()
