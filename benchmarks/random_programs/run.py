"""Recover random programs from their sequences, and say how many by family, size and memory.

    python benchmarks/random_programs/run.py --count 100 --seed 0 --processes 2 --time-limit 60
    python benchmarks/random_programs/run.py --count 40 --seed 0 --sizes 4,5
    python benchmarks/random_programs/run.py --count 15 --seed 0 --memory hidden
    python benchmarks/random_programs/run.py --count 40 --seed 0 --generator steps

The search sees sequences and domains; the program itself is run to make them, and is otherwise the
specification that a certificate is made against. Programs are trees of operations (`generate`) or step
functions in Python (`step_functions`), of sizes 1 to 3 and 1 to 4 if no others are asked for. With `--memory`
the first `--count` programs of the seed are taken that keep just that. `--only` names programs such as p007.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
import step_functions
from checks import told
from generate import SIZES, Random, programs
from step_functions import StepProgram

from weights2code.data import Problem, from_arrays
from weights2code.experiments.benchmark import Case, Options, run
from weights2code.experiments.jobs import Row
from weights2code.settings import Settings

Program = Random | StepProgram
#: Training and validation sequences, as many as a built-in task gets.
TRAINING, VALIDATION = 8192, 512
#: A process is ended after this many time limits and this many seconds more, if it has not ended by itself.
PATIENCE, GRACE = 2.0, 60.0


def problem_of(program: Program, seed: int) -> Problem:
    """Sequences of the program with uniform inputs, under a name that says nothing."""
    machine, domains = program.machine, program.domains
    x = program.draw(np.random.default_rng([seed, 1]), TRAINING + VALIDATION, program.length)
    everything = from_arrays(x, machine.run(x))
    return Problem(
        "program",
        machine.inputs,
        machine.outputs,
        domains,
        everything.domains()[1],
        everything.take(slice(VALIDATION, None)),
        everything.take(slice(0, VALIDATION)),
        program.length,
        machine,
        program.draw,
    )


def described(program: Program, seed: int) -> Row:
    more: Row = {}
    if isinstance(program, StepProgram):
        more["tags"] = program.tags
    elif program.memory == "hidden":
        more["told"] = told(program.recurrence, program.domains)
    return {
        "name": program.name,
        "family": program.family,
        "size": program.size,
        "memory": program.memory,
        "seed": seed,
        "length": program.length,
        "domains": [str(domain) for domain in program.domains],
        "rule": program.text(),
        **more,
    }


def cases(options: Options) -> dict[str, Case]:
    seed, steps = options.seed, options.generator == "steps"
    settings = Settings(seed=seed, time_limit=options.time_limit)
    if steps and (options.memory != "any" or not set(sizes_of(options)) <= set(step_functions.SIZES)):
        raise SystemExit("step functions are of sizes 1 to 4, and what they keep is not known")
    if steps:
        drawn = step_functions.draw(options.count, seed, sizes_of(options))
    else:
        memory = None if options.memory == "any" else options.memory
        drawn = programs(options.count, seed, sizes_of(options), memory)
    return {program.name: case_of(program, seed, settings) for program in drawn}


def sizes_of(options: Options) -> tuple[int, ...]:
    usual = tuple(step_functions.SIZES) if options.generator == "steps" else SIZES
    return usual if options.sizes == (0,) else options.sizes


def case_of(program: Program, seed: int, settings: Settings) -> Case:
    return Case(
        program.name,
        lambda _: problem_of(program, seed),
        lambda found: program.judge(found, seed),
        settings,
        described(program, seed),
    )


def record(options: Options) -> str:
    stem = "step_functions" if options.generator == "steps" else "random_programs"
    depths = "" if options.sizes == (0,) else f"_sizes{''.join(map(str, options.sizes))}"
    return f"{stem}_{options.seed}{depths}" + ("" if options.memory == "any" else f"_{options.memory}")


def counts(options: Options, rows: list[Row]) -> Row:
    """What the head says beside what was asked."""
    return {
        **{name: getattr(options, name) for name in ("seed", "generator", "time_limit")},
        "sizes": sizes_of(options),
        "memory": None if options.memory == "any" else options.memory,
        "jobs": options.processes,
        "runs": len(rows),
        "solved": sum(row["solved"] for row in rows),
        "proved": sum(row["solved"] and row["verdict"] == "proved" for row in rows),
        "right_not_read": sum(row["right_network"] and not row["solved"] for row in rows),
    }


if __name__ == "__main__":
    run(
        __file__,
        __doc__,
        cases,
        record=record,
        limit=lambda options: PATIENCE * options.time_limit + GRACE,
        more=counts,
        count=100,
        seed=0,
        generator=["trees", "steps"],
        sizes=(0,),
        memory=["any", "window", "output", "prefix", "hidden"],
        time_limit=60.0,
    )
