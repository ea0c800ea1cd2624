"""Recover random step functions from their sequences, and say how many by family and size.

    python benchmarks/random_programs/recover.py --count 100 --seed 0 --processes 2 --time-limit 60
    python benchmarks/random_programs/recover.py --count 40 --seed 0 --sizes 3,4

The search sees sequences and domains; the program itself is run to make them, and is otherwise the
specification that a certificate is made against. `--only` names programs such as s007.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
import programs

from weights2code.data import Problem, from_arrays
from weights2code.experiments.benchmark import Case, Options, run
from weights2code.experiments.jobs import Row
from weights2code.experiments.judging import solved
from weights2code.language import Domain, uniform
from weights2code.settings import Settings

#: Training and validation sequences, as many as a built-in task gets.
TRAINING, VALIDATION = 8192, 512
#: A process is ended after this many time limits and this many seconds more, if it has not ended by itself.
PATIENCE, GRACE = 2.0, 60.0


def case_of(
    name: str, machine: Any, domains: Sequence[Domain], length: int, settings: Settings, labels: Row
) -> Case:
    """A specification with its domains as a problem, under a name that says nothing."""
    seed = settings.seed

    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return uniform(rng, domains, n, length)

    def problem(settings: Settings) -> Problem:
        x = draw(np.random.default_rng([seed, 1]), TRAINING + VALIDATION, length)
        data = from_arrays(x, machine.run(x))
        parts = data.take(slice(VALIDATION, None)), data.take(slice(0, VALIDATION))
        inputs, outputs = machine.inputs, machine.outputs
        return Problem(
            "program", inputs, outputs, tuple(domains), data.domains()[1], *parts, length, machine, draw
        )

    judge = lambda found: solved(found, machine.run, draw, length, seed=seed)  # noqa: E731
    return Case(name, problem, judge, settings, labels)


def of_program(program: programs.StepProgram, settings: Settings) -> Case:
    task = program.task
    labels = {name: getattr(program, name) for name in ("name", "family", "size", "length")}
    labels |= {"seed": settings.seed, "rule": program.source}
    labels["domains"] = [str(domain) for domain in task.domains]
    return case_of(program.name, task.specification, task.domains, program.length, settings, labels)


def cases(options: Options) -> dict[str, Case]:
    settings = Settings(seed=options.seed, time_limit=options.time_limit)
    drawn = programs.draw(options.count, options.seed, options.sizes)
    return {program.name: of_program(program, settings) for program in drawn}


if __name__ == "__main__":
    run(
        __file__,
        __doc__,
        cases,
        record=lambda options: f"random_programs_{options.seed}",
        limit=lambda options: PATIENCE * options.time_limit + GRACE,
        count=100,
        seed=0,
        sizes=tuple(programs.SIZES),
        time_limit=60.0,
    )
