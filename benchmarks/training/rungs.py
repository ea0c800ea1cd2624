"""What is each rung of the ladder worth? Leave it out, and see what is lost.

    python benchmarks/training/rungs.py record --processes 16
    python benchmarks/training/rungs.py ablate --processes 16
    python benchmarks/training/rungs.py table

`record` runs every task once (MIPS and the paper's with seed 0, own data, random programs of seed 3) and
keeps which rung gave the program and what each rung cost. `ablate` runs every solved task again without the
rung that solved it. `table` writes `results/rungs.json` and `results/rungs.md`. Every run is a process of one
thread, its row is appended as it ends, and rows that are there are not run again: a sweep that is stopped
goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from weights2code import pipeline, tasks
from weights2code.data import Problem, file_source
from weights2code.experiments.judging import Run, solves
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training import ladder, train

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import write_record

BENCHMARKS = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
RECORD, ABLATION = "rungs_record.jsonl", "rungs_ablation.jsonl"
SUITES = ("mips", "paper", "own", "random")
#: Random programs: how many, their seed, and the seconds that a search of one gets.
PROGRAMS, PROGRAM_SEED, PROGRAM_SECONDS = 100, 3, 25.0
SECONDS = 120.0
#: A run is given up after this many time limits and this many seconds more: the limit only stops new rungs.
PATIENCE, GRACE = 2.0, 60
#: Imported once for all runs, so that the times are those of the searches.
PRELOADED = ["weights2code.pipeline", "weights2code.training.train", "scipy.optimize", "sympy", "z3"]


def load(folder: str) -> ModuleType:
    """The `run.py` of another benchmark, whose neighbours can be imported from then on."""
    sys.path.insert(0, str(BENCHMARKS / folder))
    spec = spec_from_file_location(f"{folder}_run", BENCHMARKS / folder / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


own_data, random_programs = load("own_data"), load("random_programs")


@dataclass(frozen=True, slots=True)
class Job:
    """One search: a task, and the rung that the ladder does without."""

    suite: str
    name: str
    without: str | None = None


def all_jobs(suites: Iterable[str]) -> Iterator[Job]:
    """Every task once: those of the paper that are in MIPS too are run as MIPS's."""
    for suite in suites:
        if suite == "own":
            names = [case.name for case in own_data.CASES]
        elif suite == "random":
            names = [program.name for program in random_programs.programs(PROGRAMS, PROGRAM_SEED)]
        else:
            found = tasks.all_tasks(suite)
            names = [task.name for task in found if suite == "mips" or "mips" not in task.suites]
        yield from (Job(suite, name) for name in names)


def search(job: Job) -> dict[str, Any]:
    """One search in this process; what each rung took is measured as processor time."""
    spent: dict[str, dict[str, float]] = {}
    climb = train.climb

    def timed(*arguments: Any) -> Iterator[Any]:
        climbing = climb(*arguments)
        while True:
            began = time.process_time()
            trained = next(climbing, None)
            if trained is None:
                return
            row = spent.setdefault(trained.rung, {"training": 0.0, "extraction": 0.0})
            middle = time.process_time()
            row["training"] += middle - began
            try:
                yield trained
            finally:
                row["extraction"] += time.process_time() - middle

    whole = ladder.FAST_LADDER
    train.climb = timed
    ladder.FAST_LADDER = tuple(rung for rung in whole if rung.name != job.without)
    problem, settings, judge = prepared(job)
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(int(PATIENCE * settings.time_limit + GRACE))
    began, busy = time.perf_counter(), time.process_time()
    outcome, error = None, None
    try:
        outcome = pipeline.search(problem, settings)
    except (Exception, OutOfTime):
        error = traceback.format_exc()
    finally:
        signal.alarm(0)
        train.climb, ladder.FAST_LADDER = climb, whole
    row = {
        "suite": job.suite,
        "name": job.name,
        "without": job.without,
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - busy, 2),
        "rungs": {rung: {part: round(s, 3) for part, s in row.items()} for rung, row in spent.items()},
    }
    if outcome is None:
        return row | {"solved": False, "proved": False, "rung": None, "error": error}
    found = outcome.program
    return row | {
        "solved": found is not None and outcome.exit_code == 0 and judge(found.run),
        "proved": outcome.certificate is not None and outcome.certificate.verdict == "proved",
        "rung": outcome.trained.rung if outcome.trained else None,
        "formula": found.formula() if found else None,
        "operations": found.operations if found else None,
    }


class OutOfTime(BaseException):
    """No `Exception`: extraction takes those for defects of one attempt, and goes on."""


def _out_of_time(*_: Any) -> None:
    raise OutOfTime("far beyond the time limit")


def prepared(job: Job) -> tuple[Problem, Settings, Callable[[Run], bool]]:
    """The problem of a job, its settings, and whether a program solves it."""
    settings = Settings(time_limit=SECONDS)
    if job.suite == "own":
        case = next(case for case in own_data.CASES if case.name == job.name)
        with tempfile.TemporaryDirectory() as folder:
            path = own_data.write(case, Path(folder))
            source = file_source(path, case.inputs, case.targets, "sequence", "step")
            problem = problem_of(source, settings)
        return problem, settings, lambda run: case.judge(run).solved
    if job.suite == "random":
        programs = random_programs.programs(PROGRAMS, PROGRAM_SEED)
        program = next(program for program in programs if program.name == job.name)
        settings = Settings(seed=PROGRAM_SEED, time_limit=PROGRAM_SECONDS)
        problem = random_programs.problem_of(program, PROGRAM_SEED)
        return problem, settings, lambda run: program.judge(run, PROGRAM_SEED).solved
    return problem_of(job.name, settings), settings, lambda run: solves(run, tasks.get(job.name)).solved


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The rows so far; a last line that was cut off is no row."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def sweep(jobs: Iterable[Job], file: Path, processes: int) -> None:
    """Run what has no row yet."""
    done = {(row["suite"], row["name"], row["without"]) for row in rows_of(file)}
    waiting = [job for job in jobs if (job.suite, job.name, job.without) not in done]
    print(f"{len(done)} rows are there, {len(waiting)} to come", flush=True)
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    file.parent.mkdir(parents=True, exist_ok=True)
    with (
        open(file, "a", encoding="utf-8") as out,
        context.Pool(processes, maxtasksperchild=1) as pool,
    ):
        for count, row in enumerate(pool.imap_unordered(search, waiting), start=1):
            out.write(json.dumps(row) + "\n")
            out.flush()
            state = f"by {row['rung']}" if row["solved"] else "failed" if "error" in row else "not solved"
            left_out = f" without {row['without']}" if row["without"] else ""
            print(f"{count}/{len(waiting)} {row['suite']} {row['name']}{left_out}: {state}, "
                  f"{row['seconds']} s", flush=True)  # fmt: skip


def summary(record: list[dict[str, Any]], ablation: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row a rung: what it solved, what is lost or gets longer without it, what it cost in vain."""
    before = {(row["suite"], row["name"]): row for row in record}
    recorded = max((list(row["rungs"]) for row in record), key=len, default=[])  # with rungs that are gone
    names = list(dict.fromkeys([*(rung.name for rung in ladder.FAST_LADDER), *recorded]))
    rows = []
    for rung in names:
        solved = [row for row in record if row["solved"] and row["rung"] == rung]
        again = [row for row in ablation if row["without"] == rung]
        pairs = [(before[row["suite"], row["name"]], row) for row in again]
        vain = [row["rungs"][rung] for row in record if rung in row["rungs"] and row.get("rung") != rung]
        kept = [(old, new) for old, new in pairs if new["solved"]]
        rows.append({
            "rung": rung,
            "solved": len(solved),
            "ablated": len(again),
            "lost": [f"{row['suite']}/{row['name']}" for row in again if not row["solved"]],
            "proof_lost": [f"{n['suite']}/{n['name']}" for o, n in kept if o["proved"] and not n["proved"]],
            "instead": {r: n for r in names if (n := sum(row["rung"] == r for _, row in kept))},
            "longer": sum(new["operations"] > old["operations"] for old, new in kept),
            "shorter": sum(new["operations"] < old["operations"] for old, new in kept),
            "cpu_seconds_more": round(sum(new["cpu_seconds"] - old["cpu_seconds"] for old, new in pairs), 1),
            "climbed_in_vain": len(vain),
            "training_in_vain": round(sum(row["training"] for row in vain), 1),
            "extraction_in_vain": round(sum(row["extraction"] for row in vain), 1),
        })  # fmt: skip
    return rows


def report(rows: list[dict[str, Any]], record: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    solved, proved = (sum(bool(row.get(what)) for row in record) for what in ("solved", "proved"))
    total = sum(row["cpu_seconds"] for row in record)
    lines = [
        "# What each rung is worth",
        "",
        f"{len(record)} tasks (MIPS and the paper's, seed 0; own data; random programs of seed "
        f"{PROGRAM_SEED}, {PROGRAM_SECONDS:g} s each): {solved} solved, {proved} proved, {total:.0f} s of "
        "processor time. Tried: how many of its tasks were run again without the rung; lost: those that no "
        "other rung then solved. In vain: training and extraction, in seconds, where another rung solved the "
        "task or none did.",
        "",
        "| rung | solved | tried | lost without it | proof lost | longer | shorter | seconds more without it "
        "| in vain | training | extraction |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["rung"], row["solved"], row["ablated"], len(row["lost"]), len(row["proof_lost"]),
                 row["longer"], row["shorter"], row["cpu_seconds_more"], row["climbed_in_vain"],
                 row["training_in_vain"], row["extraction_in_vain"]]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", "Lost: " + "; ".join(f"{r['rung']}: {', '.join(r['lost'])}" for r in rows if r["lost"])]
    missed = [f"{row['suite']}/{row['name']}" for row in record if not row["solved"]]
    return "\n".join([*lines, "", "Not solved at all: " + ", ".join(missed), ""])


def _spent(*parts: list[dict[str, Any]]) -> float:
    return round(sum(row["seconds"] for rows in parts for row in rows), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("step", choices=("record", "ablate", "table"))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--suites", nargs="*", choices=SUITES, default=SUITES)
    parser.add_argument("--only", nargs="*", help="names of tasks")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    chosen = [job for job in all_jobs(options.suites) if not options.only or job.name in options.only]
    record = rows_of(options.out / RECORD)
    if options.step == "record":
        sweep(chosen, options.out / RECORD, options.processes)
    elif options.step == "ablate":
        solver = {(row["suite"], row["name"]): row["rung"] for row in record if row["solved"]}
        solved = [job for job in chosen if (job.suite, job.name) in solver]
        again = (Job(job.suite, job.name, solver[job.suite, job.name]) for job in solved)
        sweep(again, options.out / ABLATION, options.processes)
    else:
        ablation = rows_of(options.out / ABLATION)
        rows = summary(record, ablation)
        command = "python benchmarks/training/rungs.py record, then ablate, then table"
        write_record(options.out / "rungs.json", command, run_seconds=_spent(record, ablation), rows=rows)
        (options.out / "rungs.md").write_text(report(rows, record))
        print(report(rows, record))


if __name__ == "__main__":
    main()
