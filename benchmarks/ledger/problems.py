"""The problems that the ledger's runs are about: how to make each, never its data.

A group is a suite of the repository or a seed of random programs, whose records hold the programs. `KEPT`
groups are for counting only: what is in them is not shown, so that nobody can develop on them.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from weights2code.experiments.cases import Case
from weights2code.language import Domain, Recurrence
from weights2code.settings import Settings

Record = dict[str, Any]
for folder in ("", "random_programs", "own_data", "tables", "reliability"):
    sys.path.append(str(Path(__file__).parents[1] / folder))
KEPT = frozenset({"steps 23", "steps 24"})
#: Processor seconds that a search may take, and that of a random program.
SECONDS, RANDOM_SECONDS = 120.0, 25.0


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
    drawn = importlib.import_module("recover")
    if "machine" in text:
        domains = [Domain.from_dict(domain) for domain in text["domains"]]
        machine = Recurrence.from_dict(text["machine"])
        return drawn.case_of(text["name"], machine, domains, text["length"], settings, {})
    names = ("name", "family", "size", "source", "length")
    inputs = tuple((name, tuple(bounds)) for name, bounds in text["inputs"])
    program = drawn.programs.StepProgram(**{name: text[name] for name in names}, inputs=inputs)
    return drawn.of_program(program, settings)


def fitted(name: str) -> tuple[Record, Any]:
    """A table by the front door, and the program that came out."""
    table = next(each for each in importlib.import_module("fields").TABLES if each.name == name)
    return importlib.import_module("table").fitted(table, SECONDS)
