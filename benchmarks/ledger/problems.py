"""The problems that the ledger's runs are about: how to make each, never its data.

A group is a suite of the repository or a seed of random programs. `KEPT` groups are for counting only: what
is in them is not shown, so that nobody can develop on them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from weights2code.experiments.cases import Case, way_of
from weights2code.settings import Settings

Record = dict[str, Any]
BENCHMARKS = Path(__file__).parents[1]
#: Random programs: the generator, how many, of which seed, and what they keep if only such are taken.
RANDOM: dict[str, tuple[str, int, int, str | None]] = {
    "trees 11": ("trees", 60, 11, None),
    "hidden 204": ("trees", 30, 204, "hidden"),
    "steps 21": ("steps", 24, 21, None),
    "steps 22": ("steps", 24, 22, None),
    "steps 23": ("steps", 24, 23, None),
    "steps 24": ("steps", 24, 24, None),
}
KEPT = frozenset({"steps 23", "steps 24"})
GROUPS = ("mips", "paper", "languages", "own data", "tables", *RANDOM)
#: Processor seconds that a search may take.
SECONDS, RANDOM_SECONDS = 120.0, 25.0


def seconds_of(group: str) -> float:
    return RANDOM_SECONDS if group in RANDOM else SECONDS


def records(group: str) -> list[Record]:
    """How to make every problem of a group; a step function is its text, which takes long to draw."""
    texts: dict[str, Any] = {}
    if group in RANDOM:
        texts = {p.name: asdict(p) if RANDOM[group][0] == "steps" else None for p in random_programs(group)}
    elif group == "own data":
        texts = dict.fromkeys(case.name for case in neighbour("own_data", "cases").CASES)
    elif group == "tables":
        texts = dict.fromkeys(table.name for table in neighbour("tables", "fields").TABLES)
    else:
        from weights2code import tasks

        before = {"mips": (), "paper": ("mips",), "languages": ("mips", "paper")}[group]
        texts = dict.fromkeys(t.name for t in tasks.all_tasks(group) if not set(before) & set(t.suites))
    return [
        {"key": f"{group}/{name}", "group": group, "name": name} | ({"text": text} if text else {})
        for name, text in texts.items()
    ]


@cache
def random_programs(group: str) -> list[Any]:
    return drawn(*RANDOM[group])


def drawn(
    generator: str, count: int, seed: int, memory: str | None = None, sizes: tuple[int, ...] | None = None
) -> list[Any]:
    """Programs of a seed."""
    if generator == "trees":
        generate = neighbour("random_programs", "generate")
        return generate.programs(count, seed, sizes or generate.SIZES, memory=memory)
    return neighbour("random_programs", "step_functions").draw(count, seed)


def program_of(record: Record) -> Any:
    """The random program that a record is about."""
    if "text" not in record:
        return next(p for p in random_programs(record["group"]) if p.name == record["name"])
    text = record["text"]
    inputs = tuple((name, tuple(bounds)) for name, bounds in text["inputs"])
    read = {**text, "inputs": inputs, "tags": tuple(text["tags"])}
    return neighbour("random_programs", "step_functions").StepProgram(**read)


def case_of(record: Record) -> Case:
    """The problem, the settings, and whether a program is right, by the one judge."""
    group, name = record["group"], record["name"]
    settings = Settings(time_limit=seconds_of(group))
    if group in RANDOM:
        seed, program = RANDOM[group][2], program_of(record)
        made = neighbour("random_programs", "run").problem_of
        settings = Settings(seed=seed, time_limit=seconds_of(group))
        return Case(name, lambda _: made(program, seed), lambda run: program.judge(run, seed), settings)
    if group == "own data":
        data = next(each for each in neighbour("own_data", "cases").CASES if each.name == name)
        return Case(name, data.problem, data.judge, settings)
    return Case.of_task(name, settings)


def fitted(name: str, more: Callable[[Any], Record]) -> Record:
    """A table by the front door: `w2c fit`, and `w2c predict` on a fresh one; a row as `solve` has it."""
    from weights2code.cli import main
    from weights2code.results import read_program
    from weights2code.run_folder import open_existing

    tables = neighbour("tables", "run")
    table = next(each for each in tables.TABLES if each.name == name)
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / f"{table.name}.csv", Path(folder) / "run"
        tables.write(data, tables.with_holes(table, table.rows(0, table.sequences, table.length)))
        command = ["fit", str(data), "--targets", ",".join(table.targets), "--sequence", "sequence"]
        command += ["--order", "step", *table.options, "--out", str(run), "--json"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main([*command, "--time-limit", str(SECONDS)])
        if not (run / "certificate.json").exists():
            return {"exit": code, "solved": False, "verdict": "not extracted", "formula": None}
        program, _ = read_program(open_existing(run, alone=False))
        certificate = json.loads((run / "certificate.json").read_text())
        solved = code == 0 and table.judge(lambda x: tables.predicted(table, run, x)).solved
    row = {"exit": code, "solved": solved, "verdict": certificate["verdict"], "origin": program.how}
    row |= {"formula": program.formula(), "source": program.source(), "operations": program.operations}
    row["way"] = way_of(program.origin, certificate["attempts"])
    row |= {name: (certificate.get(name) or {}).get("verdict", "none") for name in ("network", "taught")}
    return row | more(program)


def neighbour(folder: str, name: str) -> ModuleType:
    """A module of another benchmark; several of them are called `run`, all others by a name of their own."""
    for path in (str(BENCHMARKS), str(BENCHMARKS / folder)):
        if path not in sys.path:
            sys.path.append(path)
    if name != "run":
        return importlib.import_module(name)
    key = f"{folder}_run"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, BENCHMARKS / folder / "run.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[key] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[key])
    return sys.modules[key]
