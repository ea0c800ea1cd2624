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
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Case:
    """One problem of a group; a step function is its text, which takes long to draw."""

    group: str
    name: str
    text: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        return f"{self.group}/{self.name}"

    @property
    def seconds(self) -> float:
        return RANDOM_SECONDS if self.group in RANDOM else SECONDS

    def record(self) -> dict[str, Any]:
        """How to make it."""
        told = {"key": self.key, "group": self.group, "name": self.name}
        return told | ({"text": dict(self.text)} if self.text else {})


@dataclass(frozen=True, slots=True)
class Found:
    """What a search ended with: the outcome's program, verdicts and exit code, and whether it is right."""

    exit: int | None
    program: Any
    certificate: dict[str, Any]
    solved: bool


def cases(group: str) -> list[Case]:
    """All problems of a group."""
    if group in RANDOM:
        steps = RANDOM[group][0] == "steps"
        return [Case(group, p.name, asdict(p) if steps else None) for p in random_programs(group)]
    if group == "own data":
        names = [case.name for case in neighbour("own_data", "cases").CASES]
    elif group == "tables":
        names = [table.name for table in neighbour("tables", "fields").TABLES]
    else:
        from weights2code import tasks

        suites = {"mips": (), "paper": ("mips",), "languages": ("mips", "paper")}[group]
        names = [t.name for t in tasks.all_tasks(group) if not set(suites) & set(t.suites)]
    return [Case(group, name) for name in names]


@cache
def random_programs(group: str) -> list[Any]:
    generator, count, seed, memory = RANDOM[group]
    return drawn(generator, count, seed, memory)


def drawn(
    generator: str, count: int, seed: int, memory: str | None = None, sizes: tuple[int, ...] | None = None
) -> list[Any]:
    """Programs of a seed."""
    if generator == "trees":
        generate = neighbour("random_programs", "generate")
        return generate.programs(count, seed, sizes or generate.SIZES, memory=memory)
    return neighbour("random_programs", "step_functions").draw(count, seed)


def program_of(case: Case) -> Any:
    """The random program that a case is about."""
    if case.text is None:
        return next(program for program in random_programs(case.group) if program.name == case.name)
    inputs = tuple((name, tuple(bounds)) for name, bounds in case.text["inputs"])
    read = {**case.text, "inputs": inputs, "tags": tuple(case.text["tags"])}
    return neighbour("random_programs", "step_functions").StepProgram(**read)


def find(case: Case) -> Found:
    """Search for the rule of a problem, in this process."""
    if case.group == "tables":
        return _fitted(case)
    from weights2code import pipeline
    from weights2code.results import certificate_dict

    problem, settings, right = _prepared(case)
    outcome = pipeline.search(problem, settings)
    extraction = outcome.extraction
    certificate = certificate_dict(extraction) if extraction else {}
    solved = outcome.exit_code == 0 and outcome.program is not None and right(outcome.program)
    return Found(outcome.exit_code, outcome.program, certificate, solved)


def _prepared(case: Case) -> tuple[Any, Any, Callable[[Any], bool]]:
    """The problem, the settings, and whether a program is right, by the one judge."""
    from weights2code import tasks
    from weights2code.data import file_source
    from weights2code.experiments.judging import solves
    from weights2code.settings import Settings
    from weights2code.source import problem_of

    if case.group in RANDOM:
        seed, program = RANDOM[case.group][2], program_of(case)
        problem = neighbour("random_programs", "run").problem_of(program, seed)
        settings = Settings(seed=seed, time_limit=case.seconds)
        return problem, settings, lambda found: program.judge(found.run, seed).solved
    settings = Settings(time_limit=case.seconds)
    if case.group == "own data":
        data = next(each for each in neighbour("own_data", "cases").CASES if each.name == case.name)
        with tempfile.TemporaryDirectory() as folder:
            path = neighbour("own_data", "make").write(data, Path(folder))
            problem = problem_of(file_source(path, data.inputs, data.targets, "sequence", "step"), settings)
        return problem, settings, lambda found: data.judge(found.run).solved
    task = tasks.get(case.name)
    return problem_of(case.name, settings), settings, lambda found: solves(found.run, task).solved


def _fitted(case: Case) -> Found:
    """A table by the front door: `w2c fit`, and `w2c predict` on a fresh one."""
    from weights2code.cli import main
    from weights2code.results import read_program
    from weights2code.run_folder import open_existing

    tables = neighbour("tables", "run")
    table = next(each for each in tables.TABLES if each.name == case.name)
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / f"{table.name}.csv", Path(folder) / "run"
        tables.write(data, tables.with_holes(table, table.rows(0, table.sequences, table.length)))
        command = ["fit", str(data), "--targets", ",".join(table.targets), "--sequence", "sequence"]
        command += ["--order", "step", *table.options, "--out", str(run), "--json"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main([*command, "--time-limit", str(case.seconds)])
        if not (run / "certificate.json").exists():
            return Found(code, None, {}, False)
        program, _ = read_program(open_existing(run, alone=False))
        certificate = json.loads((run / "certificate.json").read_text())
        judgement = table.judge(lambda x: tables.predicted(table, run, x))
        return Found(code, program, certificate, code == 0 and judgement.solved)


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
