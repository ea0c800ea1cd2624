"""Why the drops stay short of the paper's losses: no member reads the height before the last one.

    python benchmarks/training/unread.py --models DIR

The height is a polynomial of the last two heights and the present coefficient. The last height and several
coefficients tell it nearly as well: how nearly, polynomials say that are fitted to them. Beside them the
losses of the members that the protocol left in DIR, relative to the variance, and how many of these read
which value: a live head that matches a fixed offset reads one. Inputs and outputs stand in one sequence,
all inputs first, so that the height before the last one is one position back.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data import Problem, Sequences, from_task
from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row
from weights2code.experiments.trained_models import models_of
from weights2code.extraction.members import member
from weights2code.tasks import get
from weights2code.training.storage import Trained

TASKS = ("linear_drop", "quadratic_drop")
#: Coefficients that are known, the present one first; whether the height before the last one is.
KNOWN = ((1, False), (2, False), (3, False), (4, False), (1, True))
#: Terms of a polynomial, which is of the highest degree that has no more.
MOST_TERMS = 130
#: Positions that have all of them.
FIRST = 3


def cases(options: Options) -> dict[str, tuple[str, Path]]:
    return {task: (task, Path(options.models)) for task in TASKS}


def measure(case: tuple[str, Path]) -> Row:
    task, models = case
    problem = from_task(get(task), 8000, 0, validation=2000)
    floors = [
        {"coefficients": lags, "both_heights": both, "loss": residual(problem, lags, both)}
        for lags, both in KNOWN
    ]
    found = models_of(models, task).values()
    return {
        "task": task,
        "floors": floors,
        "members": [read for trained in found for read in members_of(trained, problem)],
    }


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
    run(__file__, __doc__, cases, measure, show=lambda row: row["key"], models="w2c-runs/protocol")
