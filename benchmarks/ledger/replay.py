"""Replay the ledger on the code as it is: what is the same, lost, won, longer, shorter, and how long it took.

    python benchmarks/ledger/replay.py calls|views|claims|runs [--share 0.1] [--processes N] [--groups G ...]
                                       [--without STEP ...]

Exits 1 if more than 1 in 100 of what was solved is lost, or if something is claimed that is not so. A replay
that was stopped goes on where it was, as long as `src/` is the same. `--without` leaves out steps of the
engine or rungs of the ladder, so that what one earns is one command. Of kept groups only counts are shown.
The ratio is of processor seconds, now to then; it says most on the recording machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import kinds
import store

from weights2code.experiments.engines.local import cores
from weights2code.experiments.tables import markdown

#: Share of what was solved that may be lost.
MOST_LOST = 0.01
#: In the order of the table; `false` is claimed and not so, `known false` was recorded as such.
OUTCOMES = ("same", "lost", "won", "longer", "shorter", "weaker", "false", "known false")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=tuple(kinds.KINDS))
    parser.add_argument("--share", type=float, default=1.0, help="of the records, the same ones each time")
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--groups", nargs="*", help="only these groups of records")
    parser.add_argument("--without", nargs="*", default=[], metavar="STEP", help="what to leave out")
    options = parser.parse_args()
    kind = kinds.KINDS[options.kind]
    _, records = store.read(kind.name)
    chosen = [r for r in shared(records, options.share) if not options.groups or r["group"] in options.groups]
    left_out = sorted(options.without)
    leave_out(left_out)
    answers = kinds.answers(kind, chosen, f"{kind.work}-replay", left_out, options.processes)
    return shown(kind, chosen, answers)


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


def shared(records: list[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """Every so manieth record of each group, so that no group is left out."""
    if share >= 1:
        return records
    step = max(round(1 / share), 1)
    counts: Counter[str] = Counter()
    chosen = []
    for record in records:
        if counts[record["group"]] % step == 0:
            chosen.append(record)
        counts[record["group"]] += 1
    return chosen


def shown(kind: kinds.Kind, records: list[dict[str, Any]], answers: dict[str, Any]) -> int:
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
            spent[1] += answer.get("seconds", kind.limit)
        hidden = kinds.kept(record["group"])
        named += [
            f"{word}: {kind.describe(record, answer)}" for word in words if word in kind.named and not hidden
        ]
    groups = [*sorted(table.keys() - {"all"}), "all"]
    outcomes = [word for word in OUTCOMES if word in kind.words]
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
