"""Recover random programs from their sequences, and say how many by family, size and memory.

    OMP_NUM_THREADS=1 python benchmarks/random_programs/run.py --count 100 --seed 0 --jobs 2 --time-limit 60
    OMP_NUM_THREADS=1 python benchmarks/random_programs/run.py --count 40 --seed 0 --sizes 4,5
    OMP_NUM_THREADS=1 python benchmarks/random_programs/run.py --count 15 --seed 0 --memory hidden
    OMP_NUM_THREADS=1 python benchmarks/random_programs/run.py --count 40 --seed 0 --generator steps

The search sees sequences and domains; the program itself is run to make them, and is otherwise the
specification that a certificate is made against. A program counts as recovered if the run ends with exit code
0 and the judge of all benchmarks finds the answer equal to the specification. A row also says what is known
of the network, at which cut the rule was found and from which nodes, and whether some network was right on
validation, read or not. Every run has a process of its own, so one that fails or hangs costs no other.
`--out` (JSON) is written at the end, with a table beside it; a sweep that was stopped goes on where it was.
Programs are trees of operations (`generate`) or step functions in Python (`step_functions`). With `--memory`
the first `--count` programs of the seed are taken that keep just that. `--only` shows single programs and
records nothing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, get_args

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import step_functions
from checks import Memory, told
from generate import SIZES, Random, programs, sizes_of
from step_functions import StepProgram

from weights2code.data import Problem, from_arrays
from weights2code.experiments.provenance import provenance
from weights2code.experiments.tables import markdown
from weights2code.run_folder import write_atomically

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from reading_tables import counts_by, cuts_by, networks_by, not_read_by, right_not_read, without_hidden
from records import Rows, of_network, of_rule, right_network

RESULTS, RUNS = Path(__file__).parent / "results", Path(__file__).parent / "runs"
Program = Random | StepProgram
#: Training and validation sequences, as many as a built-in task gets.
TRAINING, VALIDATION = 8192, 512
#: Imported once for all runs, so that the times are those of the searches.
PRELOADED = ["weights2code.pipeline", "weights2code.training.train", "scipy.optimize", "sympy", "z3"]
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


def recover(program: Program, seed: int, time_limit: float) -> dict[str, Any]:
    """One search, in this process."""
    from weights2code import pipeline
    from weights2code.settings import Settings

    began, busy = time.perf_counter(), time.process_time()
    problem = problem_of(program, seed)
    outcome = pipeline.search(problem, Settings(seed=seed, time_limit=time_limit))
    row: dict[str, Any] = {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - busy, 2),
        "exit": outcome.exit_code,
        "attempts": [attempt.to_dict() for attempt in outcome.attempts],
        "right_network": right_network(outcome, problem.integer_outputs),
        **of_network(outcome.certificate),
        **of_rule(outcome),
    }
    found, certificate = outcome.program, outcome.certificate
    if found is None or certificate is None:
        return row | {"verdict": "not extracted", "solved": False}
    return row | {
        "verdict": certificate.verdict,
        "method": certificate.method,
        "formula": found.formula(),
        "body": found.body,
        "operations": found.operations,
        "rmse": certificate.rmse,
        "accuracy": certificate.accuracy,
        "solved": outcome.exit_code == 0 and program.judge(found.run, seed).solved,
    }


def work(program: Program, seed: int, time_limit: float, answer: Connection) -> None:
    """The body of a run's own process: it answers with a row, whatever happens."""
    try:
        row = recover(program, seed, time_limit)
    except Exception as error:
        row = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    answer.send(row)
    answer.close()


def failed(why: str, began: float) -> dict[str, Any]:
    seconds = round(time.perf_counter() - began, 2)
    known = {"network": "none", "taught": "none", "cut": None, "nodes": None, "right_network": False}
    return {"error": why, "verdict": "-", "exit": None, "solved": False, "seconds": seconds} | known


def sweep(chosen: Sequence[Program], seed: int, jobs: int, time_limit: float) -> Iterator[dict[str, Any]]:
    """The rows of all runs as they come in, `jobs` processes at a time."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    waiting = list(chosen)
    running: dict[Connection, tuple[Any, Program, float]] = {}
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


def described(program: Program, seed: int) -> dict[str, Any]:
    more: dict[str, Any] = {}
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


def report(rows: list[dict[str, Any]], summary: dict[str, Any]) -> str:
    """The tables in Markdown."""
    machine = ", ".join(f"{name} {value}" for name, value in summary["machine"].items())
    cells = [
        (row["name"], row["family"], row["size"], row["memory"], "yes" if row["solved"] else "no",
         row["verdict"], row["network"], "-" if row["cut"] is None else row["cut"], row["seconds"],
         f"`{_short(row['rule'])}`",
         f"`{_short(row.get('formula') or row.get('error') or '-')}`")
        for row in sorted(rows, key=lambda row: row["name"])
    ]  # fmt: skip
    head = ("", "family", "size", "memory", "recovered", "verdict", "network", "cut", "seconds", "rule",
            "program")  # fmt: skip
    parts = [
        "# Random programs",
        f"`{summary['command']}`",
        f"{len(rows)} runs of {summary['run_seconds']:.0f} s in all ({machine}). Recovered: exit code 0, and "
        "equal to the specification as all programs are judged. Memory, of trees: `window` reads inputs "
        "only, `output` also its own last outputs, `prefix` a sum, mean or extremum of everything so far, or "
        "the last place of a key, `hidden` a state that no output shows.",
        *(
            f"## By size, without hidden memory\n\n{counts_by(shown, 'size')}"
            for shown in [without_hidden(rows)]
            if shown and summary["generator"] == "trees"
        ),
        *(f"## By {key}\n\n{counts_by(rows, key)}" for key in ("size", "family", "memory")),
        f"## Networks of recovered programs\n\n{networks_by(rows, 'size')}",
        f"## Cuts\n\n{cuts_by(rows, 'size')}",
        f"## Right but not read\n\n{not_read_by(rows, 'size')}",
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
    parser.add_argument("--generator", choices=("trees", "steps"), default="trees", help="of the programs")
    parser.add_argument("--sizes", type=sizes_of, help="such as 4,5; by default 1,2,3, of steps 1,2,3,4")
    parser.add_argument("--memory", choices=get_args(Memory), help="only programs that keep just that")
    parser.add_argument("--only", nargs="*", help="names such as p007")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path, help="the JSON file; by default in results/, named by the seed")
    options = parser.parse_args()
    steps = options.generator == "steps"
    usual = tuple(step_functions.SIZES) if steps else SIZES
    sizes = options.sizes or usual
    if steps and (options.memory or not set(sizes) <= set(usual)):
        parser.error("step functions are of sizes 1 to 4, and what they keep is not known")
    depths = "" if sizes == usual else f"_sizes{''.join(map(str, sizes))}"
    kind = f"_{options.memory}" if options.memory else ""
    stem = "step_functions" if steps else "random_programs"
    out = options.out or RESULTS / f"{stem}_{options.seed}{depths}{kind}.json"
    drawn: Sequence[Program]
    if steps:
        drawn = step_functions.draw(options.count, options.seed, sizes)
    else:
        drawn = programs(options.count, options.seed, sizes, options.memory)
    if options.only:
        chosen = [program for program in drawn if program.name in options.only]
        for row in sweep(chosen, options.seed, options.jobs, options.time_limit):
            show(row)
        return
    asked = [options.count, options.seed, options.time_limit, sizes, options.memory, options.generator]
    kept = Rows(RUNS / f"{out.stem}.jsonl", asked)
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
        "seed": options.seed,
        "sizes": sizes,
        "generator": options.generator,
        "memory": options.memory,
        "time_limit": options.time_limit,
        "runs": len(rows),
        "solved": sum(row["solved"] for row in rows),
        "proved": sum(row["solved"] and row["verdict"] == "proved" for row in rows),
        "right_not_read": len(right_not_read(rows)),
    }
    write_atomically(out.with_suffix(".md"), report(rows, summary))
    write_atomically(out, json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")
    kept.file.unlink()
    print(counts_by(without_hidden(rows) or rows, "size"))


def show(row: dict[str, Any]) -> None:
    tried = [attempt["text"] for attempt in row.get("attempts", ())[-2:]]
    text = row.get("formula") or row.get("error") or "; ".join(tried)
    line = f"{'ok  ' if row['solved'] else 'MISS'} {row['name']} {row['family']:10s} {row['size']}"
    text = f"{row['rule']}  ->  {text}".replace("\n", "; ")
    print(line, f"{row['seconds']:6.1f} s {row['verdict']:13s}", text[:220], flush=True)


if __name__ == "__main__":
    main()
