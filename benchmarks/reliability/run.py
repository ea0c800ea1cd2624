"""Attack everything that the system claims, and count what does not hold.

    python benchmarks/reliability/run.py                             all attacks, whole
    python benchmarks/reliability/run.py mutants files --count 200   some of them, a share
    python benchmarks/reliability/run.py mutants --only 17 23        single cases, with all that they say

An attack is a function `(number, seed) -> Result`, which makes one case and says what happened, in a process
of its own: what that does to memory, time or the interpreter is a result too. `prepare` of its module, if
there is one, makes what all cases need. Rows are kept in `--out` as they come; a sweep that was stopped goes
on where it was. The summary, with the commit that was attacked, goes to `results/NAME.json`, from which
`docs/results/reliability.md` is made.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parents[1]))
from case import Result

from weights2code.experiments.engines.local import Local, cores
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.records import write_record
from weights2code.experiments.stores import Lines
from weights2code.experiments.sweep import run_sweep

HERE = Path(__file__).parent
#: In the order of the page: module and function, cases, seconds and GiB (0 is any) that one may take.
ATTACKS = {
    "mutants": ("mutants.attack", 10_000, 120, 2),
    "machines": ("machines.attack", 300, 120, 2),
    "steps": ("steps.attack", 500, 60, 2),
    "awkward": ("awkward.attack", 500, 120, 2),
    "weights": ("weights.attack", 1400, 60, 2),
    "networks": ("networks.attack", 1200, 60, 2),
    "chain": ("chain.attack", 400, 60, 2),
    "unsolvable": ("unsolvable.attack", 300, 120, 4),
    "folders": ("folders.attack", 2000, 30, 2),
    "provenance": ("provenance.attack", 200, 120, 2),
    "files": ("files.attack", 10_000, 30, 2),
    "kills": ("commands.kills", 200, 600, 0),
    "interrupts": ("commands.interrupts", 100, 600, 0),
    "repeats": ("commands.repeats", 100, 900, 0),
}
RESULTS = HERE / "results"
#: Failures that a summary spells out.
MOST_SHOWN = 20


def attacked(name: str, numbers: Iterable[int], seed: int, processes: int, kept: Path) -> list[Row]:
    """The rows of some cases; those that are there already are not made again."""
    place, _, seconds, memory = ATTACKS[name]
    module, function = place.split(".")
    attack = getattr(import_module(module), function)
    getattr(import_module(module), "prepare", lambda: None)()

    def work(number: int, _: Path) -> Row:
        return one(attack, number, seed, memory)

    def told(row: Row) -> None:
        if row["error"] or row["failure"]:
            print(name, row["key"], row.get("kind"), row["error"] or row["failure"].strip().splitlines()[-1])

    store = Lines(kept / f"{name}_{seed}.jsonl", {"seed": seed})
    jobs = [Job(str(number), work, number) for number in numbers]
    rows = run_sweep(jobs, store, Local(processes, forked=True, limit=seconds), told, tries=1)
    shutil.rmtree(store.folder, ignore_errors=True)
    lost = {"kind": "", "outcome": "no answer", "detail": ""}  # it hung, or the process died
    return [
        {**lost, "failure": row["error"], **row, "number": int(row["key"])} if row["error"] else row
        for row in rows
    ]


def one(attack: Callable[[int, int], Result], number: int, seed: int, memory: int) -> Row:
    """One case, which may take so much memory of this process."""
    os.setpgid(0, 0)
    if memory:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = size + (memory << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    began = time.monotonic()
    try:
        result = attack(number, seed)
    except BaseException:
        result = Result("", "traceback", traceback.format_exc()[-2000:], f"number {number}")
    return {"number": number, **asdict(result), "seconds": round(time.monotonic() - began, 3)}


def summary(name: str, rows: list[Row], seed: int) -> Row:
    """What the page shows: cases, outcomes and failures a kind, the slowest case."""
    failures = sorted((row for row in rows if row["failure"]), key=lambda row: row["number"])
    kinds: dict[str, list[Row]] = {kind: [] for kind in sorted({row["kind"] for row in rows})}
    for row in rows:
        kinds[row["kind"]].append(row)
    return {
        "cases": len(rows),
        "failures": len(failures),
        "run_seconds": round(sum(row["seconds"] for row in rows), 1),
        "slowest": max((row["seconds"] for row in rows), default=0.0),
        "kinds": [
            {
                "kind": kind,
                "cases": len(some),
                "outcomes": dict(sorted(Counter(row["outcome"] for row in some).items())),
                "failures": sum(bool(row["failure"]) for row in some),
            }
            for kind, some in kinds.items()
        ],
        "failed": failures[:MOST_SHOWN],
        "whole": ATTACKS[name][1],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"of {', '.join(ATTACKS)}; default all")
    parser.add_argument("--count", type=int, help="cases an attack; default all")
    parser.add_argument("--only", type=int, nargs="+", help="single cases, shown whole and not recorded")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--out", type=Path, default=HERE / "runs", help="where the rows go")
    options = parser.parse_args()
    unknown = set(options.attacks) - set(ATTACKS)
    if unknown:
        parser.error(f"there is no attack {', '.join(sorted(unknown))}; use some of {', '.join(ATTACKS)}")
    failed, seed = 0, options.seed
    for name in options.attacks or ATTACKS:
        numbers = options.only or range(options.count or ATTACKS[name][1])
        with tempfile.TemporaryDirectory() as place:
            kept = Path(place) if options.only else options.out
            rows = attacked(name, numbers, seed, options.processes, kept)
        if options.only:
            print(json.dumps(rows, indent=2).replace("\\n", "\n"))
            continue
        found = summary(name, rows, seed)
        failed += found["failures"]
        command = f"python benchmarks/reliability/run.py {name} --count {len(rows)} --seed {seed}"
        asked = {"attack": name, "seed": seed}
        write_record(RESULTS / f"{name}.json", command, found.pop("kinds"), asked, found)
        said = f"{found['cases']} cases, {found['failures']} failures, slowest {found['slowest']:.1f} s"
        print(f"{name}: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
