"""Recover random programs from their sequences, and say how many by family, size and memory.

    OMP_NUM_THREADS=1 python benchmarks/random_programs/run.py --count 100 --seed 0 --jobs 2 --time-limit 60

The search sees sequences and domains; the program itself is only the specification that a certificate is made
against. A program counts as recovered if the run ends with exit code 0 and the answer, run free on fresh
sequences of four times the training length, equals the specification. Every run has a process of its own, so
one that fails or hangs costs no other. `--out` (JSON) is written at the end, with a table beside it; a sweep
that was stopped goes on where it was. `--only` shows single programs and records nothing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from generate import Random, programs

from weights2code.data import Problem, from_arrays
from weights2code.experiments.provenance import provenance
from weights2code.experiments.tables import markdown
from weights2code.language import uniform
from weights2code.run_folder import write_atomically

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows

RESULTS, RUNS = Path(__file__).parent / "results", Path(__file__).parent / "runs"
#: Training and validation sequences, as many as a built-in task gets.
TRAINING, VALIDATION = 8192, 512
#: Fresh sequences for the judgement, how many times longer they are, and the relative tolerance.
FRESH, LONGER, TOLERANCE = 200, 4, 1e-6
#: Imported once for all runs, so that the times are those of the searches.
PRELOADED = ["weights2code.pipeline", "weights2code.training.train", "scipy.optimize", "sympy", "z3"]
#: A process is ended after this many time limits and this many seconds more, if it has not ended by itself.
PATIENCE, GRACE = 2.0, 60.0


def problem_of(program: Random, seed: int) -> Problem:
    """Sequences of the program with uniform inputs, under names that say nothing."""
    machine, domains = program.recurrence, program.domains

    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return uniform(rng, domains, n, length)

    x = draw(np.random.default_rng([seed, 1]), TRAINING + VALIDATION, program.length)
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
        draw,
    )


def exact(program: Random, run: Callable[[np.ndarray], np.ndarray], seed: int) -> bool:
    """Whether `run` gives the program's outputs on fresh, longer sequences, free-running."""
    x = uniform(np.random.default_rng([seed, 2]), program.domains, FRESH, LONGER * program.length)
    y = program.recurrence.run(x)
    with np.errstate(all="ignore"):
        error = np.abs(run(x) - y)
    return bool((error <= TOLERANCE * np.maximum(1.0, np.abs(y))).all())


def recover(program: Random, seed: int, time_limit: float) -> dict[str, Any]:
    """One search, in this process."""
    from weights2code import pipeline
    from weights2code.settings import Settings

    began, busy = time.perf_counter(), time.process_time()
    outcome = pipeline.search(problem_of(program, seed), Settings(seed=seed, time_limit=time_limit))
    row: dict[str, Any] = {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - busy, 2),
        "exit": outcome.exit_code,
        "attempts": [attempt.to_dict() for attempt in outcome.attempts],
    }
    found, certificate = outcome.program, outcome.certificate
    if found is None or certificate is None:
        return row | {"verdict": "not extracted", "solved": False}
    return row | {
        "verdict": certificate.verdict,
        "method": certificate.method,
        "formula": found.formula(),
        "origin": found.how,
        "body": found.body,
        "operations": found.operations,
        "rmse": certificate.rmse,
        "accuracy": certificate.accuracy,
        "solved": outcome.exit_code == 0 and exact(program, found.run, seed),
    }


def work(program: Random, seed: int, time_limit: float, answer: Connection) -> None:
    """The body of a run's own process: it answers with a row, whatever happens."""
    try:
        row = recover(program, seed, time_limit)
    except Exception as error:
        row = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    answer.send(row)
    answer.close()


def failed(why: str, began: float) -> dict[str, Any]:
    seconds = round(time.perf_counter() - began, 2)
    return {"error": why, "verdict": "-", "exit": None, "solved": False, "seconds": seconds}


def sweep(chosen: list[Random], seed: int, jobs: int, time_limit: float) -> Iterator[dict[str, Any]]:
    """The rows of all runs as they come in, `jobs` processes at a time."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    waiting = list(chosen)
    running: dict[Connection, tuple[Any, Random, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            program = waiting.pop(0)
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(program, seed, time_limit, theirs))
            process.start()
            theirs.close()
            running[ours] = process, program, time.perf_counter()
        ready = wait(list(running), timeout=1.0)
        for ours, (process, program, began) in list(running.items()):
            if ours in ready:
                try:
                    row = failed("", began) | ours.recv()
                except EOFError:
                    process.join()
                    row = failed(f"the process ended with code {process.exitcode}", began)
            elif time.perf_counter() - began > PATIENCE * time_limit + GRACE:
                process.kill()
                row = failed("ended: far beyond the time limit", began)
            else:
                continue
            process.join()
            ours.close()
            del running[ours]
            if not row["error"]:
                del row["error"]
            yield described(program, seed) | row


def described(program: Random, seed: int) -> dict[str, Any]:
    return {
        "name": program.name,
        "family": program.family,
        "size": program.size,
        "memory": program.memory,
        "seed": seed,
        "length": program.length,
        "domains": [str(domain) for domain in program.domains],
        "rule": program.text(),
    }


def table(rows: list[dict[str, Any]], key: str) -> str:
    """Shares by family, size or memory."""
    values = sorted({row[key] for row in rows}, key=str)
    counts = [_counts(value, [row for row in rows if row[key] == value]) for value in values]
    head = (key, "programs", "recovered exactly", "proved", "median seconds")
    return markdown(head, [*counts, _counts("all", rows)])


def _counts(label: object, rows: list[dict[str, Any]]) -> tuple[object, ...]:
    good = [row for row in rows if row["solved"]]
    proved = sum(row["verdict"] == "proved" for row in good)
    return label, len(rows), len(good), proved, f"{median(row['seconds'] for row in rows):.1f}"


def report(rows: list[dict[str, Any]], summary: dict[str, Any]) -> str:
    """The tables in Markdown."""
    machine = ", ".join(f"{name} {value}" for name, value in summary["machine"].items())
    cells = [
        (row["name"], row["family"], row["size"], row["memory"], "yes" if row["solved"] else "no",
         row["verdict"], row["seconds"], f"`{_short(row['rule'])}`",
         f"`{_short(row.get('formula') or row.get('error') or '-')}`")
        for row in sorted(rows, key=lambda row: row["name"])
    ]  # fmt: skip
    head = ("", "family", "size", "memory", "recovered", "verdict", "seconds", "rule", "program")
    parts = [
        "# Random programs",
        f"`{summary['command']}`",
        f"{len(rows)} runs of {summary['run_seconds']:.0f} s in all ({machine}). Recovered exactly: exit "
        f"code 0, and equal to the specification on fresh sequences of {LONGER} times the training length, "
        "free-running. Memory: `window` reads inputs only, `output` also its own last outputs, `prefix` a "
        "sum, mean or extremum of everything so far, or the last place of a key, `hidden` a state that "
        "no output shows.",
        *(f"## By {key}\n\n{table(rows, key)}" for key in ("size", "family", "memory")),
        f"## All\n\n{markdown(head, cells)}",
    ]
    return "\n\n".join(parts) + "\n"


def _short(text: str) -> str:
    text = text.replace("\n", "; ")
    return text if len(text) <= 200 else text[:197] + "..."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the programs, their sequences and the search")
    parser.add_argument("--only", nargs="*", help="names such as p007")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path, help="the JSON file; by default in results/, named by the seed")
    options = parser.parse_args()
    out = options.out or RESULTS / f"random_programs_{options.seed}.json"
    drawn = programs(options.count, options.seed)
    if options.only:
        chosen = [program for program in drawn if program.name in options.only]
        for row in sweep(chosen, options.seed, options.jobs, options.time_limit):
            show(row)
        return
    kept = Rows(RUNS / f"{out.stem}.jsonl", [options.count, options.seed, options.time_limit])
    done = {row["name"] for row in kept.rows}
    left = [program for program in drawn if program.name not in done]
    for row in sweep(left, options.seed, options.jobs, options.time_limit):
        kept.add(row)
        show(row)
    rows = sorted(kept.rows, key=lambda row: row["name"])
    summary = {
        **provenance(" ".join(["python benchmarks/random_programs/run.py", *sys.argv[1:]])),
        "run_seconds": round(sum(row["seconds"] for row in rows), 1),
        "jobs": options.jobs,
        "runs": len(rows),
        "solved": sum(row["solved"] for row in rows),
        "proved": sum(row["solved"] and row["verdict"] == "proved" for row in rows),
    }
    write_atomically(out.with_suffix(".md"), report(rows, summary))
    write_atomically(out, json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")
    kept.file.unlink()
    print(table(rows, "size"))


def show(row: dict[str, Any]) -> None:
    tried = [attempt["text"] for attempt in row.get("attempts", ())[-2:]]
    text = row.get("formula") or row.get("error") or "; ".join(tried)
    line = f"{'ok  ' if row['solved'] else 'MISS'} {row['name']} {row['family']:10s} {row['size']}"
    text = f"{row['rule']}  ->  {text}".replace("\n", "; ")
    print(line, f"{row['seconds']:6.1f} s {row['verdict']:13s}", text[:220], flush=True)


if __name__ == "__main__":
    main()
