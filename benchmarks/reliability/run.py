"""Attack everything that the system claims, and count what does not hold.

    python benchmarks/reliability/run.py                             all attacks, whole
    python benchmarks/reliability/run.py mutants files --count 200   some of them, a share
    python benchmarks/reliability/run.py mutants --only 17 23        single cases, with all that they say

An attack is a module of this folder with `attack(number, seed)`, which makes one case and says what happened;
`WHOLE` is how many cases it has, `SECONDS` and `MEMORY` what one may take; `prepare`, if there is one, makes
what all cases need. Rows go to `--out`, one a line, as they come; a sweep that was stopped goes on where it
was. The summary, with the commit that was attacked, goes to `results/NAME.json`, from which
`docs/results/reliability.md` is made.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
from case import GIBIBYTE, isolated

from weights2code.experiments.provenance import CHANGES, provenance, source
from weights2code.run_folder import write_atomically

HERE = Path(__file__).parent
#: In the order of the page.
ATTACKS = (
    "mutants",
    "machines",
    "steps",
    "awkward",
    "weights",
    "networks",
    "chain",
    "unsolvable",
    "folders",
    "provenance",
    "files",
    "kills",
    "interrupts",
    "repeats",
)
RESULTS = HERE / "results"
#: Failures that a summary spells out.
MOST_SHOWN = 20


def limits(name: str) -> tuple[int, float, int]:
    """How many cases an attack has, and what one may take: seconds, bytes."""
    module = import_module(name)
    return module.WHOLE, getattr(module, "SECONDS", 30.0), getattr(module, "MEMORY", 2 * GIBIBYTE)


def one(name: str, number: int, seed: int) -> dict[str, Any]:
    """One case as a row of the record."""
    _, seconds, memory = limits(name)
    result, spent = isolated(import_module(name).attack, number, seed, seconds=seconds, memory=memory)
    return {"number": number, **result.to_dict(), "seconds": round(spent, 3)}


def sweep(name: str, count: int, seed: int, processes: int, record: Path) -> list[dict[str, Any]]:
    """Every case that the record does not hold yet; the rows of all of them."""
    rows = read(record)
    missing = sorted(set(range(count)) - {row["number"] for row in rows})
    record.parent.mkdir(parents=True, exist_ok=True)
    with record.open("a") as file, ProcessPoolExecutor(processes, get_context("fork")) as pool:
        waiting = [pool.submit(one, name, number, seed) for number in missing]
        for done, future in enumerate(as_completed(waiting), 1):
            row = future.result()
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            if row["failure"]:
                print(f"{name} {row['number']}: {row['kind']}: {row['failure'].strip().splitlines()[-1]}")
            elif done % max(1, len(missing) // 20) == 0:
                print(f"{name}: {done} of {len(missing)}")
    return [row for row in rows if row["number"] < count]


def rows_file(out: Path, name: str, seed: int) -> Path:
    """Where the rows of this source go: a summary names one commit, so it must not count cases of another."""
    tree = source() or "unknown"
    file = out / f"{name}_{seed}_{tree[:10]}.jsonl"
    if tree.endswith(CHANGES):  # there is no telling whether rows that are there come from these changes
        file.unlink(missing_ok=True)
    return file


def read(record: Path) -> list[dict[str, Any]]:
    """The rows of a record; a last line that was cut short does not count."""
    rows = []
    for line in record.read_text().splitlines() if record.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def summary(name: str, rows: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """What the page shows: cases, outcomes and failures a kind, the slowest case."""
    kinds = sorted({row["kind"] for row in rows})
    failures = sorted((row for row in rows if row["failure"]), key=lambda row: row["number"])
    return {
        "attack": name,
        "seed": seed,
        "cases": len(rows),
        "failures": len(failures),
        "run_seconds": round(sum(row["seconds"] for row in rows), 1),
        "slowest": max((row["seconds"] for row in rows), default=0.0),
        "kinds": [
            {
                "kind": kind,
                "cases": sum(row["kind"] == kind for row in rows),
                "outcomes": dict(
                    sorted(Counter(row["outcome"] for row in rows if row["kind"] == kind).items())
                ),
                "failures": sum(row["kind"] == kind for row in failures),
            }
            for kind in kinds
        ],
        "failed": failures[:MOST_SHOWN],
        **provenance(f"python benchmarks/reliability/run.py {name} --count {len(rows)} --seed {seed}"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"of {', '.join(ATTACKS)}; default all")
    parser.add_argument("--count", type=int, help="cases an attack; default all")
    parser.add_argument("--only", type=int, nargs="+", help="single cases, shown whole and not recorded")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, default=HERE / "runs", help="where the rows go")
    options = parser.parse_args()
    unknown = set(options.attacks) - set(ATTACKS)
    if unknown:
        parser.error(f"there is no attack {', '.join(sorted(unknown))}; use some of {', '.join(ATTACKS)}")
    failed = 0
    for name in options.attacks or ATTACKS:
        getattr(import_module(name), "prepare", lambda: None)()
        if options.only:
            for number in options.only:
                print(json.dumps(one(name, number, options.seed), indent=2).replace("\\n", "\n"))
            continue
        count = options.count or limits(name)[0]
        rows = sweep(name, count, options.seed, options.processes, rows_file(options.out, name, options.seed))
        found = summary(name, rows, options.seed) | {"whole": limits(name)[0]}
        failed += found["failures"]
        write_atomically(RESULTS / f"{name}.json", json.dumps(found, indent=2) + "\n")
        print(
            f"{name}: {found['cases']} cases, {found['failures']} failures, slowest {found['slowest']:.1f} s"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
