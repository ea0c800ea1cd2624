"""The problems that the ledger's runs are about: how to make each, never its data.

A group is a suite of the repository or a seed of random programs, whose records hold the programs. `KEPT`
groups are for counting only: what is in them is not shown, so that nobody can develop on them.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

from weights2code import tasks
from weights2code.data import Problem, from_arrays
from weights2code.experiments.cases import Case
from weights2code.experiments.judging import Judgement, Run, solved
from weights2code.language import Domain, Recurrence, uniform
from weights2code.settings import Settings

for folder in ("", "random_programs", "own_data", "tables", "reliability"):
    sys.path.append(str(Path(__file__).parents[1] / folder))
Record = dict[str, Any]
KEPT = frozenset({"steps 23", "steps 24"})
#: Training and validation sequences of a random program, as many as a built-in task gets.
TRAINING, VALIDATION = 8192, 512
#: Processor seconds that a search may take, and that of a random program.
SECONDS, RANDOM_SECONDS = 120.0, 25.0


def named() -> list[Record]:
    """Every problem that is known by its name: built-in tasks, files and tables of our own."""
    groups: dict[str, list[str]] = {}
    for suite in ("mips", "paper", "languages"):
        known = {name for names in groups.values() for name in names}
        groups[suite] = [task.name for task in tasks.all_tasks(suite) if task.name not in known]
    groups["own data"] = [case.name for case in importlib.import_module("cases").CASES]
    groups["tables"] = [table.name for table in importlib.import_module("fields").TABLES]
    return [
        {"key": f"{group}/{name}", "group": group, "name": name}
        for group, names in groups.items()
        for name in names
    ]


def case_of(record: Record) -> Case:
    """The problem, the settings, and whether a program is right, by the one judge."""
    group, name = record["group"], record["name"]
    if "text" in record:
        return random_case(record["text"], Settings(seed=int(group.split()[1]), time_limit=RANDOM_SECONDS))
    if group == "own data":
        data = next(each for each in importlib.import_module("cases").CASES if each.name == name)
        return Case(name, data.problem, data.judge, Settings(time_limit=SECONDS))
    return Case.of_task(name, Settings(time_limit=SECONDS))


def random_case(text: Record, settings: Settings) -> Case:
    """A random program by its text: a step function, or a machine of the package's own language."""
    if "machine" in text:
        domains = tuple(Domain.from_dict(domain) for domain in text["domains"])
        return specified(
            text["name"], Recurrence.from_dict(text["machine"]), domains, text["length"], settings
        )
    names = ("name", "family", "size", "source", "length")
    inputs = tuple((name, tuple(bounds)) for name, bounds in text["inputs"])
    made = importlib.import_module("programs").StepProgram
    task = made(**{name: text[name] for name in names}, inputs=inputs).task
    return specified(text["name"], task.specification, task.domains, text["length"], settings)


def specified(name: str, machine: Any, domains: tuple[Domain, ...], length: int, settings: Settings) -> Case:
    """A specification as a problem, under a name that says nothing: the search sees sequences and domains."""

    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return uniform(rng, domains, n, length)

    def problem(settings: Settings) -> Problem:
        x = draw(np.random.default_rng([settings.seed, 1]), TRAINING + VALIDATION, length)
        data = from_arrays(x, machine.run(x))
        parts = data.take(slice(VALIDATION, None)), data.take(slice(0, VALIDATION))
        names = ("program", machine.inputs, machine.outputs)
        return Problem(*names, domains, data.domains()[1], *parts, length, machine, draw)

    def judge(found: Run | None) -> Judgement:
        return solved(found, machine.run, draw, length, seed=settings.seed)

    return Case(name, problem, judge, settings)


def fitted(name: str) -> tuple[Record, Any]:
    """A table by the front door, and the program that came out."""
    table = next(each for each in importlib.import_module("fields").TABLES if each.name == name)
    return importlib.import_module("table").fitted(table, SECONDS)
