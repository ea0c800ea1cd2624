"""Write the data files: `python benchmarks/own_data/make.py FOLDER`. The same seed writes the same bytes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from cases import CASES, Case

#: Rows of a single long sequence.
ROWS = 2000


def write(case: Case, folder: Path, seed: int = 0) -> Path:
    """The CSV file of a case: `sequence`, `step`, inputs, targets."""
    rng = np.random.default_rng([seed, *case.name.encode()])
    count, shortest, longest = case.shape
    lengths = [ROWS] if case.long else rng.integers(shortest, longest + 1, count).tolist()
    path = folder / f"{case.name}.csv"
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(("sequence", "step", *case.inputs, *case.targets)) + "\n")
        for sequence, length in enumerate(lengths):
            x = case.draw(rng, length)
            y = case.machine(x)
            if case.noise:
                y = (y + rng.normal(size=y.shape) * case.noise).round(4)
            if case.flips:
                y = np.where(rng.random(y.shape) < case.flips, 1 - y, y)
            for step, row in enumerate(np.concatenate([x, y], 1).tolist()):
                cells = (repr(int(v)) if v.is_integer() else repr(v) for v in row)
                file.write(",".join((str(sequence), str(step), *cells)) + "\n")
    return path


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for each in CASES:
        print(write(each, target))
