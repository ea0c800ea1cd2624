"""Why the drops stay short of the paper's losses: no member reads the height before the last one.

    python benchmarks/training/unread.py --models DIR

The height is a polynomial of the last two heights and the present coefficient. The last height and several
coefficients tell it nearly as well: how nearly, polynomials say that are fitted to them. Beside them the
losses of the members that the protocol left in DIR, relative to the variance, and how many of these read
which value: a live head that matches a fixed offset reads one. Inputs and outputs stand in one sequence,
all inputs first, so that the height before the last one is one position back.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import combinations_with_replacement
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import write_record
from weights2code.data import Problem, Sequences, from_task
from weights2code.experiments.trained_models import models_of
from weights2code.extraction.members import member
from weights2code.tasks import get
from weights2code.training.search import Trained

TASKS = ("linear_drop", "quadratic_drop")
#: Coefficients that are known, the present one first; whether the height before the last one is.
KNOWN = ((1, False), (2, False), (3, False), (4, False), (1, True))
#: Terms of a polynomial, which is of the highest degree that has no more.
MOST_TERMS = 130
#: Positions that have all of them.
FIRST = 3
RESULTS = Path(__file__).parent / "results" / "unread.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, help="the folder of a protocol")
    arguments = parser.parse_args()
    rows = []
    for task in TASKS:
        problem = from_task(get(task), 8000, 0, validation=2000)
        floors = [
            {"coefficients": lags, "both_heights": both, "loss": residual(problem, lags, both)}
            for lags, both in KNOWN
        ]
        members = [
            read
            for trained in models_of(arguments.models, task).values()
            for read in members_of(trained, problem)
        ]
        rows.append({"task": task, "floors": floors, "members": members})
        reading = Counter(offset for found in members for offset in found["offsets"])
        print(task, *(f"{floor['loss']:.1e}" for floor in floors), dict(reading), len(members), flush=True)
    command = f"python benchmarks/training/unread.py --models {arguments.models.as_posix()}"
    write_record(RESULTS, command, rows=rows)


def residual(problem: Problem, lags: int, both: bool) -> float:
    """The loss of the best polynomial, on sequences that it was not fitted to."""
    (known, wanted), (fresh, right) = (
        values(sequences, lags, both) for sequences in (problem.training, problem.validation)
    )
    centre, spread = known.mean(0), known.std(0)
    count = known.shape[1]
    degree = max(one for one in range(1, 6) if comb(count + one, one) <= MOST_TERMS)

    def terms(of: np.ndarray) -> np.ndarray:
        of = (of - centre) / spread
        chosen = (c for size in range(degree + 1) for c in combinations_with_replacement(range(count), size))
        return np.stack([of[:, list(columns)].prod(1) for columns in chosen], 1)

    weights = np.linalg.lstsq(terms(known), wanted, rcond=None)[0]
    return float(np.mean((terms(fresh) @ weights - right) ** 2) / np.var(right))


def values(sequences: Sequences, lags: int, both: bool) -> tuple[np.ndarray, np.ndarray]:
    """What is known at each position, and the height."""
    x, y = sequences.x[..., 0], sequences.y[..., 0]
    end = x.shape[1]
    columns = [y[:, FIRST - 1 : end - 1], *(x[:, FIRST - lag : end - lag] for lag in range(lags))]
    columns += [y[:, FIRST - 2 : end - 2]] * both
    return np.stack([column.ravel() for column in columns], 1), y[:, FIRST:].ravel()


def members_of(trained: Trained, problem: Problem) -> list[dict[str, Any]]:
    """The loss of each member, and the fixed offsets at which its live heads read the sequence itself."""
    found = []
    for index, loss in enumerate(trained.losses):
        one = member(trained, index, problem)
        heads = {head: match.hypothesis for head, match in one.matched.routers.items()}
        read = {
            words.removeprefix("Fixed offset ")
            for head, hypothesis in heads.items()
            if one.graph.nodes[head].reads["value"] == 0 and hypothesis  # type: ignore[union-attr]
            for words in [hypothesis.describe()]
            if words.startswith("Fixed offset ")
        }
        offsets = sorted(int(offset) for offset in read)
        found.append({"architecture": trained.rung, "loss": loss, "offsets": offsets})
    return found


if __name__ == "__main__":
    main()
