"""What each stage of the native engine is worth: left out in turn, what is lost and what time is won.

    python ablation.py record --processes 16 --calls DIR             keeps what benchmarks ask of the engine
    python ablation.py ablate --processes 16 --calls DIR --out DIR
    python ablation.py table --out DIR                               writes ablation.json and ablation.md
    python ablation.py without --calls DIR --out DIR --drop A B      leaves out several at once

The engine is asked for the laws (written functions, clean and noisy, and random trees), and for the rows that
the extraction asked for in real runs: random programs (seed 3), the built-in suites and the own-data
benchmark. A full search says which stages ran, what each cost, and which took part: changed the best exact
formula, or the rows searched on, or (where no tolerance was given) the nearest formula. Leaving out a stage
that took no part changes nothing but the time; the others are left out and the search is done again. `ablate`
writes a line for every call as it is done, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from recorded_calls import GROUPS, Call, load, record
from run import NOISE, ROWS, judge
from targets import Target, random_tree, written_targets

from records import write_record
from weights2code.symbolic.engine import Candidate, pick
from weights2code.symbolic.engines.native import NativeEngine, Search, Stage, stages_for
from weights2code.symbolic.search.rows import Problem

HERE = Path(__file__).parent
COMMAND = "python benchmarks/symbolic_regression/ablation.py record, then ablate"
#: First seed of the random trees (held out from development), as in run.py.
FIRST_TREE = 1000
#: From this heading on, the page is written by hand and kept.
FOLLOWED = "## What followed"
#: Exact formulas are worse if longer; others are worse if their error grows by this factor.
WORSE = 1.5


@dataclass(frozen=True, slots=True)
class Law:
    """A search for a known function; right means right on fresh rows."""

    target: Target
    group: str

    @property
    def key(self) -> str:
        return f"{self.group}: {self.target.name}"

    @property
    def noise(self) -> float:
        if not self.group.endswith("noisy"):
            return 0.0
        return NOISE * float(np.std(self.target.values(self.target.sample(ROWS, 1))) or 1.0)

    def call(self) -> Call:
        X = self.target.sample(ROWS, 1)
        y = self.target.values(X)
        y = y + self.noise * np.random.default_rng(2).normal(size=len(y))
        said = (self.target.variables, self.target.domains, None, None, 5.0)
        return Call(self.group, self.target.name, "laws", X, y, *said)


def laws(trees: int) -> list[Law]:
    written = [Law(target, f"laws, {kind}") for target in written_targets() for kind in ("clean", "noisy")]
    return written + [Law(random_tree(FIRST_TREE + i), "random trees") for i in range(trees)]


class Watch:
    """The stages with a clock and a witness at each; a stage may search again with the others inside."""

    def __init__(self, *left_out: str, nearest_counts: bool = False) -> None:
        self.left_out, self.nearest_counts = left_out, nearest_counts
        self.seconds: dict[str, float] = {}
        self.took_part: set[str] = set()
        self.inside: list[tuple[str, float, set[str]]] = []

    def __call__(self, problem: Problem) -> Sequence[Stage]:
        return [self.watched(stage) for stage in stages_for(problem) if stage.name not in self.left_out]

    def watched(self, stage: Stage) -> Stage:
        def run(search: Search) -> None:
            collector = search.collector

            def state() -> tuple[Any, ...]:
                nearest = collector.nearest() if self.nearest_counts else None
                return collector.exact, len(collector.counterexamples), nearest

            before, began = state(), time.thread_time()
            self.inside.append((stage.name, 0.0, set()))
            try:
                stage.run(search)
            finally:
                name, within, helpers = self.inside.pop()
                took = time.thread_time() - began
                self.seconds[name] = self.seconds.get(name, 0.0) + took - within
                helpful = {name, *helpers} if state() != before else set()
                if self.inside:
                    outer, spent, others = self.inside[-1]
                    self.inside[-1] = outer, spent + took, others | helpful
                else:
                    self.took_part |= helpful

        return replace(stage, run=run)


def searched(case: Law | Call, limit: float, watch: Watch) -> dict[str, Any]:
    """One search and what came of it."""
    call = case.call() if isinstance(case, Law) else case
    began = time.thread_time()
    front = NativeEngine(watch).search(
        call.X,
        call.y,
        variables=call.variables,
        domains=call.domains,
        tolerance=call.tolerance,
        effort=min(limit, call.effort),
        operators=call.operators,
    )
    seconds = time.thread_time() - began
    chosen: Candidate | None = pick(front) if front else None
    if chosen is None:
        return {"solved": False, "nodes": 0, "rmse": None, "formula": "", "seconds": round(seconds, 4)}
    solved = chosen.exact if isinstance(case, Call) else judge(case.target, chosen, case.noise, factor=1.0)
    return {
        "solved": bool(solved),
        "nodes": chosen.complexity,
        "rmse": chosen.rmse,
        "formula": str(chosen.expr)[:200],
        "seconds": round(seconds, 4),
    }


def ablated(case: Law | Path, limit: float) -> dict[str, Any]:
    """A full search, and one without each stage that took part in it."""
    asked = load(case) if isinstance(case, Path) else case
    open_ended = isinstance(asked, Law) or asked.tolerance is None
    watch = Watch(nearest_counts=open_ended)
    whole = searched(asked, limit, watch)
    without = {name: searched(asked, limit, Watch(name)) for name in sorted(watch.took_part)}
    return {
        "key": case.stem if isinstance(case, Path) else asked.key,
        "group": asked.group,
        "source": asked.source if isinstance(asked, Call) else asked.target.name,
        "caller": asked.caller if isinstance(asked, Call) else "laws",
        "variables": len(asked.variables) if isinstance(asked, Call) else len(asked.target.variables),
        "full": whole,
        "stages": {name: round(seconds, 5) for name, seconds in watch.seconds.items()},
        "without": without,
    }


def _ablated(work: tuple[Law | Path, float]) -> dict[str, Any]:
    return ablated(*work)


def ablate(cases: list[Law | Path], out: Path, processes: int, limit: float) -> None:
    """Every case that has no line yet, in an order that mixes the groups."""
    out.mkdir(parents=True, exist_ok=True)
    lines = out / "ablation.jsonl"
    known = {row["key"] for row in read(lines)}
    left = [c for c in cases if (c.stem if isinstance(c, Path) else c.key) not in known]
    np.random.default_rng(0).shuffle(left)  # type: ignore[arg-type]
    began = time.monotonic()
    with open(lines, "a") as file, get_context("fork").Pool(processes) as pool:
        for count, row in enumerate(pool.imap_unordered(_ablated, [(c, limit) for c in left]), 1):
            file.write(json.dumps(row) + "\n")
            file.flush()
            if count % 20 == 0 or count == len(left):
                print(f"{time.monotonic() - began:6.1f} s  {count} of {len(left)} calls", flush=True)


def leave_out(cases: list[Law | Path], out: Path, dropped: list[str], processes: int, limit: float) -> None:
    """Search again, without several stages at once, for what any of them took part in; say what changes."""
    known = {row["key"]: row for row in read(out / "ablation.jsonl")}
    work = []
    for case in cases:
        row = known.get(case.stem if isinstance(case, Path) else case.key)
        if row is not None and any(name in row["without"] for name in dropped):
            work.append((case, limit, dropped))
    counts = {"searched again": len(work), "lost": 0, "gained": 0, "longer": 0, "shorter": 0}
    with get_context("fork").Pool(processes) as pool:
        for key, part in pool.imap_unordered(_without, work):
            row, full = known[key], known[key]["full"]
            changes = {
                "lost": full["solved"] and not part["solved"],
                "gained": part["solved"] and not full["solved"],
                "longer": full["solved"] and part["solved"] and part["nodes"] > full["nodes"],
                "shorter": full["solved"] and part["solved"] and part["nodes"] < full["nodes"],
            }
            for name, happened in changes.items():
                counts[name] += happened
                if happened:
                    print(f"{name}: {row['group']}/{row['source']} {full['formula']} -> {part['formula']}")
    print(counts)


def _without(work: tuple[Law | Path, float, list[str]]) -> tuple[str, dict[str, Any]]:
    case, limit, dropped = work
    asked = load(case) if isinstance(case, Path) else case
    return case.stem if isinstance(case, Path) else case.key, searched(asked, limit, Watch(*dropped))


def read(lines: Path) -> list[dict[str, Any]]:
    """The lines so far; a last one that was cut off is left out."""
    rows = []
    for line in lines.read_text().splitlines() if lines.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def worth(name: str, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What leaving out one stage does to the calls in which it ran."""
    ran = [row for row in rows if name in row["stages"]]
    again = [(row, row["without"][name]) for row in ran if name in row["without"]]
    lost = [(row, part) for row, part in again if row["full"]["solved"] and not part["solved"]]
    both = [(row["full"], part) for row, part in again if row["full"]["solved"] and part["solved"]]
    by_group: dict[str, int] = {}
    for row, _ in lost:
        by_group[row["group"]] = by_group.get(row["group"], 0) + 1
    open_rows = [(row["full"], part) for row, part in again if not row["full"]["solved"]]
    won = sum(row["stages"][name] for row in ran if name not in row["without"])
    won += sum(row["full"]["seconds"] - part["seconds"] for row, part in again)
    return {
        "stage": name,
        "ran": len(ran),
        "took part": len(again),
        "lost": len(lost),
        "lost by group": by_group,
        "gained": sum(part["solved"] for _, part in open_rows),
        "longer": sum(part["nodes"] > full["nodes"] for full, part in both),
        "nodes added": sum(part["nodes"] - full["nodes"] for full, part in both),
        "shorter": sum(part["nodes"] < full["nodes"] for full, part in both),
        "worse fit": sum(part["rmse"] > WORSE * full["rmse"] for full, part in open_rows if part["rmse"]),
        "seconds in it": round(sum(row["stages"][name] for row in ran), 2),
        "seconds won": round(won, 2),
        "lost calls": [f"{row['group']}/{row['source']}: {row['full']['formula']}" for row, _ in lost[:12]],
        "longer calls": [
            f"{row['group']}/{row['source']}: {row['full']['formula']} -> {part['formula']}"
            for row, part in again
            if row["full"]["solved"] and part["solved"] and part["nodes"] > row["full"]["nodes"]
        ][:6],
    }


def _searches(rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Every search that was made, the whole ones and those without a stage."""
    return (search for row in rows for search in (row["full"], *row["without"].values()))


def write_table(out: Path) -> None:
    rows = read(out / "ablation.jsonl")
    order = list(dict.fromkeys(name for row in rows for name in row["stages"]))
    entries = [worth(name, rows) for name in order]
    groups = sorted({row["group"] for row in rows})
    summary = {
        group: {
            "calls": sum(row["group"] == group for row in rows),
            "solved": sum(row["group"] == group and row["full"]["solved"] for row in rows),
            "seconds": round(sum(row["full"]["seconds"] for row in rows if row["group"] == group), 1),
        }
        for group in groups
    }
    seconds = sum(s["seconds"] for s in _searches(rows))
    write_record(
        out / "ablation.json", COMMAND, run_seconds=round(seconds, 1), groups=summary, stages=entries
    )
    lines = ["# Stages of the native engine, each left out in turn", "", f"Command: `{COMMAND}`", ""]
    lines += ["| calls | number | solved | CPU seconds |", "|---|---|---|---|"]
    lines += [f"| {g} | {s['calls']} | {s['solved']} | {s['seconds']} |" for g, s in summary.items()]
    lines += [
        "",
        "`ran`: calls in which the stage ran; `took part`: in which what it offered changed the course of "
        "the search. Leaving it out: solved calls that are lost (and gained, where the time goes further), "
        "formulas that get longer (nodes added in all) or shorter, CPU seconds won in all calls.",
        "",
        "| stage | ran | took part | lost | gained | longer | nodes | shorter | worse fit | seconds won |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    columns = ("ran", "took part", "lost", "gained", "longer", "nodes added", "shorter", "worse fit")
    for entry in entries:
        cells = [entry["stage"], *(entry[column] for column in columns), entry["seconds won"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", "## Lost", ""]
    for entry in entries:
        if entry["lost"]:
            where = ", ".join(f"{group} {count}" for group, count in entry["lost by group"].items())
            lines.append(f"- {entry['stage']}: {where}")
    path = out / "ablation.md"
    said = path.read_text().partition(FOLLOWED)[1:] if path.exists() else ()
    path.write_text("\n".join([*lines, "", *("".join(said).splitlines())]).rstrip() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("record", "ablate", "table", "without"))
    parser.add_argument("--calls", type=Path, default=HERE / "runs" / "calls", help="recorded calls")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--groups", nargs="*", default=[*GROUPS], choices=GROUPS, help="runs to record")
    parser.add_argument("--time-limit", type=float, default=25.0, help="of a recorded run")
    parser.add_argument("--limit", type=float, default=5.0, help="of one search")
    parser.add_argument("--most", type=int, help="at most so many runs of a group, or recorded calls in all")
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--drop", nargs="*", default=[], help="stages to leave out together")
    options = parser.parse_args()
    if options.what == "record":
        record(options.groups, options.calls, options.processes, options.time_limit, options.most)
        return
    cases = [*laws(options.trees)[: options.most], *sorted(options.calls.glob("*.npz"))[: options.most]]
    if options.what == "without":
        leave_out(cases, options.out, options.drop, options.processes, options.limit)
        return
    if options.what == "ablate":
        ablate(cases, options.out, options.processes, options.limit)
    write_table(options.out)


if __name__ == "__main__":
    main()
