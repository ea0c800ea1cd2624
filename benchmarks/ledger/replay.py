"""Replay the ledger on the code as it is: what is the same, lost, won, longer, shorter, and how long it took.

    python benchmarks/ledger/replay.py calls|views|claims|runs [--share 0.1] [--processes N] [--groups G ...]
                                       [--without STEP ...]
    python benchmarks/ledger/replay.py calls|claims|runs --record

Exits 1 if more than 1 in 100 of what was solved is lost, or if something is claimed that is not so. A replay
that was stopped goes on where it was, as long as `src/` is the same. `--without` leaves out steps of the
engine or rungs of the ladder, so that what one earns is one command. Of kept groups only counts are shown.
The ratio is of processor seconds, now to then; it says most on the recording machine. `--record` writes the
answers of all records down as those that are compared with from now on, and runs of problems that are new.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import calls
import claims
import problems
import runs
import store

import views
from weights2code.experiments.engines.local import Local, cores
from weights2code.experiments.jobs import Job
from weights2code.experiments.stores import Lines
from weights2code.experiments.sweep import run_sweep
from weights2code.experiments.tables import markdown

Record = dict[str, Any]
#: A kind is a module: `replay` gives the present answer to a record, in a process of its own that may take
#: `LIMIT` seconds; `compare` says in which of `WORDS` what became of it.
KINDS = {"calls": calls, "claims": claims, "runs": runs, "views": views}
#: Where answers are while a replay is under way.
ANSWERS = Path(__file__).parent / "runs"
#: Share of what was solved that may be lost.
MOST_LOST = 0.01
#: In the order of the table; `false` is claimed and not so, `known false` was recorded as such.
OUTCOMES = ("same", "lost", "won", "longer", "shorter", "weaker", "false", "known false")
#: What is shown with its record.
NAMED = ("lost", "false", "known false")
#: Replays say how far they are after so many answers.
EVERY = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=tuple(KINDS))
    parser.add_argument("--share", type=float, default=1.0, help="of the records, the same ones each time")
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--groups", nargs="*", help="only these groups of records")
    parser.add_argument("--without", nargs="*", default=[], metavar="STEP", help="what to leave out")
    parser.add_argument("--record", action="store_true", help="write the answers down")
    options = parser.parse_args()
    kind, known = KINDS[options.kind], recorded(options.kind)
    chosen = [r for r in shared(known, options.share) if not options.groups or r["group"] in options.groups]
    left_out = sorted(options.without)
    if options.record and (options.kind == "views" or left_out or chosen != known):
        parser.error("--record takes all of calls, claims or runs, with nothing left out")
    leave_out(left_out)
    keys = {record["key"] for record in known}
    new = [r for r in problems.named() if r["key"] not in keys] if options.record and kind is runs else []
    answered = answers(kind, [*chosen, *new], kept_in(options.kind), left_out, options.processes)
    if options.record:
        command = f"python benchmarks/ledger/replay.py {options.kind} --record"
        store.write(options.kind, [r | {"answer": answered[r["key"]]} for r in (*known, *new)], command)
    return shown(kind, chosen, answered)


def recorded(kind: str) -> list[Record]:
    if kind == "views":
        return [r for r in recorded("runs") if r["answer"]["solved"] and "view" in r["answer"]]
    return store.read(kind)[1]


def kept_in(kind: str) -> Path:
    """The answers of a replay; those of views are those of runs."""
    return ANSWERS / f"{'runs' if kind == 'views' else kind}-replay.jsonl"


def leave_out(names: list[str]) -> None:
    """From now on the engine does without these steps, and the ladder without these rungs."""
    from weights2code.symbolic.search import agenda
    from weights2code.training import ladder

    known = {*agenda.STEPS, *agenda.REDUCTIONS, "layer", "around", "weighted", "reduce"}
    known |= {rung.name for rung in ladder.FAST_LADDER}
    if strange := [name for name in names if name not in known]:
        there = ", ".join(sorted(known))
        raise SystemExit(f"no stage or rung is called {', '.join(strange)}; there are: {there}")
    agenda.left_out = frozenset(names)
    ladder.FAST_LADDER = tuple(rung for rung in ladder.FAST_LADDER if rung.name not in names)


def shared(records: list[Record], share: float) -> list[Record]:
    """Every so manieth record of each group, so that no group is left out."""
    step = max(round(1 / share), 1)
    counts: Counter[str] = Counter()
    chosen = []
    for record in records:
        if counts[record["group"]] % step == 0:
            chosen.append(record)
        counts[record["group"]] += 1
    return chosen


def answers(
    kind: ModuleType, records: Sequence[Record], file: Path, asked: Any, processes: int
) -> dict[str, Record]:
    """The answers by key, or the error; those of this source that are there are not asked for again."""
    rows = Lines(file, asked)
    todo = [record for record in records if record["key"] not in rows.known]
    kind.prepare(todo)
    told = iter(range(1, len(todo) + 1))

    def on_row(row: Record) -> None:
        if (count := next(told)) % EVERY == 0 or count == len(todo):
            print(f"{count} of {len(todo)}", file=sys.stderr, flush=True)

    jobs = [
        Job(record["key"], lambda record, _: {"answer": kind.replay(record)}, record) for record in records
    ]
    found = run_sweep(jobs, rows, Local(processes, forked=True, limit=kind.LIMIT), on_row, tries=1)
    return {row["key"]: row.get("answer") or {"error": row["error"]} for row in found}


def shown(kind: ModuleType, records: list[Record], answers: dict[str, Any]) -> int:
    """The table and the names of what is lost; 1 if it is too much."""
    table: dict[str, Counter[str]] = {}
    seconds: dict[str, list[float]] = {}
    named: list[str] = []
    for record in records:
        answer = answers[record["key"]]
        words = kind.compare(record, answer)
        for group in (record["group"], "all"):
            table.setdefault(group, Counter()).update([*words, "records", *["solved"] * kind.solved(record)])
            spent = seconds.setdefault(group, [0.0, 0.0])
            spent[0] += record["answer"]["seconds"]
            spent[1] += answer.get("seconds", kind.LIMIT)
        if record["group"] not in ("kept", *problems.KEPT):
            named += [f"{word}: {kind.describe(record, answer)}" for word in words if word in NAMED]
    groups = [*sorted(table.keys() - {"all"}), "all"]
    outcomes = [word for word in OUTCOMES if word in kind.WORDS]
    cells = [
        (group, table[group]["records"], table[group]["solved"], *(table[group][word] for word in outcomes),
         f"{seconds[group][1]:.0f}", f"{seconds[group][1] / max(seconds[group][0], 1e-9):.2f}")
        for group in groups
    ]  # fmt: skip
    print(markdown(("group", "records", "solved then", *outcomes, "seconds", "ratio"), cells))
    for line in named:
        print(line)
    total = table["all"]
    lost = total["lost"] / max(total["solved"], 1)
    print(f"lost: {total['lost']} of {total['solved']} ({100 * lost:.1f} %)")
    return int(lost > MOST_LOST or total["false"] > 0)


if __name__ == "__main__":
    sys.exit(main())
