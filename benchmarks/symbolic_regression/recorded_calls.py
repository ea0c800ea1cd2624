"""What the extraction asks of the engine: calls with their rows, recorded from real runs, as NPZ files.

Every run has a process of its own and a limit; a call is written at once, so a run that is ended loses none.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import multiprocessing as mp
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from weights2code import tasks
from weights2code.language import Domain, Var
from weights2code.symbolic import NativeEngine

BENCHMARKS = Path(__file__).parents[1]
GROUPS = ("random programs", "suites", "own data")
#: Rows kept of a call, and calls kept of one run from one caller.
ROWS = 1500
MOST_CALLS = 10
#: A run is ended after this many time limits.
PATIENCE = 2.5


@dataclass(frozen=True, slots=True)
class Call:
    """One search: where it came from, its rows, and what else was said."""

    group: str
    source: str
    caller: str
    X: np.ndarray
    y: np.ndarray
    variables: tuple[Var, ...]
    domains: tuple[Domain, ...]
    tolerance: float | None
    operators: frozenset[str] | None
    effort: float

    @property
    def key(self) -> str:
        """The same for the same question."""
        digest = hashlib.sha256(f"{self.variables} {self.domains} {self.tolerance}".encode())
        digest.update(np.ascontiguousarray(self.X).tobytes() + self.y.tobytes())
        return digest.hexdigest()[:16]

    def save(self, folder: Path) -> None:
        path = folder / f"{self.key}.npz"
        if path.exists():
            return
        said = {
            "group": self.group,
            "source": self.source,
            "caller": self.caller,
            "variables": [(v.name, v.lag) for v in self.variables],
            "domains": [asdict(d) for d in self.domains],
            "tolerance": self.tolerance,
            "operators": sorted(self.operators) if self.operators is not None else None,
            "effort": self.effort,
        }
        part = folder / f"{self.key}.{os.getpid()}.part"
        with open(part, "wb") as file:
            np.savez_compressed(file, X=self.X, y=self.y, said=np.array(json.dumps(said)))
        part.replace(path)


def load(path: Path) -> Call:
    with np.load(path, allow_pickle=False) as data:
        said = json.loads(str(data["said"]))
        X, y = data["X"], data["y"]
    said["variables"] = tuple(Var(name, lag) for name, lag in said["variables"])
    said["domains"] = tuple(Domain(**domain) for domain in said["domains"])
    if said["operators"] is not None:
        said["operators"] = frozenset(said["operators"])
    return Call(X=X, y=y, **said)


def distinct_rows(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most `ROWS` different rows, chosen evenly."""
    rows = np.unique(np.column_stack([X, y]), axis=0)
    if len(rows) > ROWS:
        rows = rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:ROWS])]
    return rows[:, :-1], rows[:, -1]


def listen(group: str, source: str, folder: Path) -> None:
    """From now on every search of this process is written down."""
    search = NativeEngine.search
    counts: dict[str, int] = {}

    def recorded(self: NativeEngine, X: np.ndarray, y: np.ndarray, **said: Any) -> Any:
        caller = sys._getframe(1).f_globals["__name__"].removeprefix("weights2code.")
        counts[caller] = counts.get(caller, 0) + 1
        if counts[caller] <= MOST_CALLS and said.get("weights") is None:
            rows = distinct_rows(np.asarray(X, dtype=float), np.asarray(y, dtype=float))
            names = ("variables", "domains", "tolerance", "operators", "effort")
            known = {"tolerance": None, "operators": None, "effort": 5.0} | said
            Call(group, source, caller, *rows, **{name: known[name] for name in names}).save(folder)
        return search(self, X, y, **said)

    NativeEngine.search = recorded


def sources(group: str) -> list[str]:
    """The names of the runs of a group."""
    if group == "suites":
        return [task.name for task in tasks.all_tasks("all") if task.suites != ("languages",)]
    if group == "own data":
        return [case.name for case in _module("own_data", "cases").CASES]
    return [program.name for program in _module("random_programs", "generate").programs(100, 3)]


def one_run(group: str, source: str, time_limit: float, folder: Path) -> None:
    """The body of a run's own process: the whole pipeline, listened to."""
    from weights2code import pipeline
    from weights2code.data import file_source
    from weights2code.settings import Settings

    listen(group, source, folder)
    if group == "suites":
        pipeline.run(source, Settings(seed=0, time_limit=time_limit))
    elif group == "own data":
        case = next(case for case in _module("own_data", "cases").CASES if case.name == source)
        with tempfile.TemporaryDirectory() as files:
            path = _module("own_data", "make").write(case, Path(files))
            data = file_source(path, case.inputs, case.targets, "sequence", "step")
            pipeline.run(data, Settings(time_limit=time_limit))
    else:
        programs = _module("random_programs", "generate").programs(100, 3)
        program = next(program for program in programs if program.name == source)
        problem = _module("random_programs", "run").problem_of(program, 3)
        pipeline.search(problem, Settings(seed=3, time_limit=time_limit))


def _module(folder: str, name: str) -> Any:
    """A module of another benchmark; several of them are called `run`."""
    key = f"{folder}_{name}"
    if key not in sys.modules:
        sys.path.insert(0, str(BENCHMARKS / folder))
        spec = importlib.util.spec_from_file_location(key, BENCHMARKS / folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[key] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[key])
    return sys.modules[key]


def record(groups: list[str], folder: Path, processes: int, time_limit: float, most: int | None) -> None:
    """Run everything, `processes` at a time; what is done is noted and not run again."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done.txt"
    known = set(done.read_text().splitlines()) if done.exists() else set()
    waiting = [
        (group, source)
        for group in groups
        for source in sources(group)[:most]
        if f"{group}/{source}" not in known
    ]
    total, began = len(waiting), time.monotonic()
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["weights2code.pipeline", "weights2code.training.train", "sympy", "z3"])

    def start(job: tuple[str, str]) -> BaseProcess:
        process = context.Process(target=_quiet, args=(one_run, *job, time_limit, folder))
        process.start()
        return process

    for job, ended in _at_most(processes, waiting, start, PATIENCE * time_limit):
        with open(done, "a") as file:
            file.write(f"{job[0]}/{job[1]}\n")
        total -= 1
        calls = len(list(folder.glob("*.npz")))
        took = time.monotonic() - began
        print(f"{took:6.1f} s  {'/'.join(job):40s} {ended:6s} {total} runs left, {calls} calls", flush=True)


def _quiet(work: Callable[..., None], *arguments: Any) -> None:
    """Only calls matter: a run that fails has left its own."""
    try:
        work(*arguments)
    except Exception as error:
        print(f"{arguments[:2]}: {type(error).__name__}: {error}", flush=True)


def _at_most(
    count: int, jobs: list[Any], start: Callable[[Any], BaseProcess], limit: float
) -> Iterator[tuple[Any, str]]:
    """Start the jobs, `count` at a time, and name each as it ends or is ended."""
    waiting = list(reversed(jobs))
    running: list[tuple[Any, BaseProcess, float]] = []
    while waiting or running:
        while waiting and len(running) < count:
            job = waiting.pop()
            running.append((job, start(job), time.monotonic()))
        wait([process.sentinel for _, process, _ in running], timeout=1.0)
        for entry in list(running):
            job, process, began = entry
            late = time.monotonic() - began > limit
            if late:
                process.kill()
            if late or not process.is_alive():
                process.join()
                running.remove(entry)
                yield job, "ended" if late else "done"
