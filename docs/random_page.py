"""The page of programs drawn at random: how many are recovered, from which networks, at which cut."""

from __future__ import annotations

from collections import Counter

from figures import head_of, taken
from page_text import RENEW, SOLVED, code, page, table, unmeasured
from reading_tables import (
    Row,
    counts_by,
    cuts_by,
    has_networks,
    networks_by,
    not_read_by,
    right_not_read,
    without_hidden,
)
from weights2code.experiments.limits import failure

INTRODUCTION = (
    "Small programs drawn at random in the package's language, so that nothing is tuned to the suites. "
    f"*Recovered*: {SOLVED}, the program equals the drawn one."
)
MEMORY = (
    "What programs keep: a `window` of the inputs, their own last `output`, a sum, mean, extremum or lookup "
    "over the `prefix`, or a `hidden` state that no output shows."
)


def random_programs(
    developed: Row | None,
    fresh: Row | None = None,
    deeper: Row | None = None,
    earlier: Row | None = None,
    hidden: Row | None = None,
    kept: Row | None = None,
) -> str:
    """The seeds that nobody looked at come first, if they were measured; then deeper ones, and hidden memory.

    An earlier seed that was not looked at before it was measured has a line.
    """
    title = "Random programs"
    first = fresh or developed
    if not first:
        return page(title, unmeasured(RENEW.format("random_programs")))
    parts = _step_functions(kept) if kept else []
    parts += [*_tables(first, "##"), *_missed(first, "##"), taken(first["summary"])]
    if deeper:
        words = "Drawn in the same way, but every operation is also a step of its own."
        parts += [f"## {_sizes(deeper)}", words, *_tables(deeper, "###"), taken(deeper["summary"])]
    if hidden:
        words = (
            f"The first {len(hidden['rows'])} programs of seed {_seed(hidden)} that keep a state which no "
            "output is. Inputs and outputs a few steps back may tell it all the same, as they tell the carry "
            "of a sum: *told* says how far back they must be known, up to three steps."
        )
        parts += [
            "## Hidden memory",
            words,
            "### By what tells the output",
            counts_by(hidden["rows"], "told"),
        ]
        parts += [*_tables(hidden, "###"), *_missed(hidden, "###")]
        parts.append(taken(hidden["summary"]))
    if earlier:
        words = f"Seed {_seed(earlier)} was measured in the same way earlier: {random_line(earlier)}."
        parts += ["## An earlier measurement", words, taken(earlier["summary"])]
    if fresh and developed:
        words = f"The programs of seed {_seed(developed)}, which were there while the package was made."
        parts += ["## Programs of development", words, *_tables(developed, "###", brief=True)]
        parts.append(taken(developed["summary"]))
    seen = f" Seed {_seed(fresh)} is for measuring only: nothing was developed on it." if fresh else ""
    return page(title, INTRODUCTION + seen, *parts)


def _step_functions(kept: Row) -> list[str]:
    words = (
        "Step functions in Python as people write them, with registers, timers, modes, tables and nested "
        "conditions (`benchmarks/random_programs/step_functions.py`), drawn by a generator that was written "
        "without knowledge of the search. Their seeds are kept: nobody sees more of them than these counts. "
        "The size counts assignments and conditions: up to 4, 6, 9 and 13."
    )
    cells = [tuple(row.values()) for row in kept["rows"]]
    return ["## Step functions", words, table(tuple(kept["rows"][0]), cells), taken(kept), "## Trees"]


def kept_line(kept: Row) -> str:
    """What the summary says of the seeds that are kept."""
    *sizes, whole = kept["rows"]
    shares = ", ".join(f"size {row['size']} {row['solved']} of {row['programs']}" for row in sizes)
    return f"{whole['solved']} of {whole['programs']} solved, {whole['proved']} proved; {shares}"


def random_line(record: Row) -> str:
    """What the summary says of a record."""
    counts, rows = record["summary"], record["rows"]
    text = f"{counts['solved']} of {counts['runs']} recovered, {counts['proved']} proved"
    shown = without_hidden(rows)
    if shown and len(shown) < len(rows):
        shares = (
            f"size {size} {sum(row['solved'] for row in found)} of {len(found)}"
            for size in sorted({row["size"] for row in shown})
            if (found := [row for row in shown if row["size"] == size])
        )
        text += f"; without hidden memory {', '.join(shares)}"
    return text


def _tables(record: Row, level: str, brief: bool = False) -> list[str]:
    rows = record["rows"]
    shown = without_hidden(rows)
    parts = []
    if shown:
        parts += [f"{level} By size, without hidden memory", MEMORY, counts_by(shown, "size")]
    for key in ("size", "memory") if brief else ("size", "family", "memory"):
        if key == "memory" and not shown:
            continue
        parts += [f"{level} By {key}", counts_by(rows, key)]
    if has_networks(rows):
        parts += [f"{level} Networks", _network_words(), networks_by(rows, "size")]
        parts += [f"{level} Cuts", CUTS, cuts_by(rows, "size")]
        parts += [f"{level} Right but not read", _unread_words(rows), not_read_by(rows, "size")]
    return parts


CUTS = (
    "A rule is found at a cut of its network: at cut 0 it is regressed from the leaves, at cut n from what n "
    "operators above them have been made crisp. *Nodes*: those of the network that are in the rule."
)


def _network_words() -> str:
    return "What is known of the networks of recovered programs ([what the words mean](network.md))."


def _unread_words(rows: list[Row]) -> str:
    return (
        f"Networks that were right on validation although no right program was read from them: "
        f"{len(right_not_read(rows))} of {sum(not row['solved'] for row in rows)} missed programs."
    )


def _missed(record: Row, level: str) -> list[str]:
    failed = [(row, found) for row in record["rows"] if not row["solved"] and (found := failure(row))]
    limits = Counter(found.limit for _, found in failed).most_common()
    cells = [
        (row["name"], row["family"], row["size"], code(row["rule"]), found.limit, found.evidence)
        for row, found in failed
    ]
    words = ", ".join(f"{limit} {number}" for limit, number in limits) or "nothing"
    return [
        f"{level} Missed",
        f"What limits them, [read off the nearest attempt](failures.md): {words}.",
        table(("", "family", "size", "rule", "limit", "evidence"), cells) if cells else "There are none.",
    ]


def _seed(record: Row) -> int:
    return head_of(record).get("seed", record["rows"][0]["seed"])


def _sizes(record: Row) -> str:
    sizes = sorted({row["size"] for row in record["rows"]})
    return f"Sizes {' and '.join(map(str, sizes))}" if len(sizes) > 1 else f"Size {sizes[0]}"
