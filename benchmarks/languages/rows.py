"""How many rows a machine needs: fits of own data to finite languages, and merged states beside them.

    python benchmarks/languages/rows.py [--sequences 50,100,200,400] [--seeds 0,1,2] [--time-limit S]
                                        [--processes N] [--only TASK ...]

The fit sees so many sequences of length 12 and nothing else, as from a file. Its program is judged like every
other, at the lengths of the task; so are the states of RPNI (AALpy), which gets the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import merging

from weights2code import ProgramRegressor
from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row
from weights2code.experiments.judging import solves
from weights2code.tasks import get
from weights2code.tasks.languages import FINITE

#: The length of the sequences.
SHORT = 12


@dataclass(frozen=True, slots=True)
class Fit:
    """So many sequences of a language, drawn by a seed."""

    name: str
    sequences: int
    seed: int
    limit: float


def cases(options: Options) -> dict[str, Fit]:
    return {
        f"{task.name}-{count}-seed{seed}": Fit(task.name, count, seed, options.time_limit)
        for task in FINITE
        for count in options.sequences
        for seed in options.seeds
    }


def measure(fit: Fit) -> Row:
    task = get(fit.name)
    x, y = task.sample(fit.sequences, length=SHORT, seed=fit.seed)
    row: Row = {"task": task.name, "sequences": fit.sequences, "seed": fit.seed}
    row |= merging.measure(x, y, task, fit.seed, fit.limit)
    model = ProgramRegressor(random_state=fit.seed, time_limit=fit.limit).fit(x, y[:, :, 0])
    solved = solves(lambda x: model.predict(x)[:, :, None], task, fit.seed).solved
    formula = "\n".join(model.equations_)
    return row | {"solved": solved, "verdict": model.certificate_.verdict, "formula": formula}


if __name__ == "__main__":
    counts, seeds = (50, 100, 200, 400), (0, 1, 2)
    run(__file__, __doc__, cases, measure, sequences=counts, seeds=seeds, time_limit=20.0)
