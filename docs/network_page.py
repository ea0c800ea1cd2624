"""The page of the networks behind the programs: how many are proved equal, how far apart the others are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

from figures import taken
from page_text import RENEW, page, table, unmeasured
from weights2code.experiments import paper_numbers

Row = dict[str, Any]

#: Verdicts in order; a run whose program has no network has none.
ORDER = ("proved", "exhaustive", "bounded", "tested", "differs", "none")
#: The groups of the page: title, and which rows belong there.
GROUPS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("the paper's tasks of whole numbers", lambda row: "paper" in row["suites"] and row["whole"]),
    ("the paper's continuous tasks", lambda row: "paper" in row["suites"] and not row["whole"]),
    ("the tasks of MIPS", lambda row: "mips" in row["suites"]),
)


def network(record: Row | None) -> str:
    """Counts a verdict and group, then every task."""
    title = "Networks and their programs"
    if not record:
        return page(title, unmeasured(RENEW.format("links")))
    rows = record["rows"]
    seeds = sorted({row["seed"] for row in rows})
    counted = [group_counts(name, [row for row in rows if wanted(row)]) for name, wanted in GROUPS]
    head = ("group", "runs", *ORDER, "tasks equal in every seed", "median seconds", "of them for the link")
    named = dict.fromkeys(row["task"] for row in rows)
    cells = [_task([row for row in rows if row["task"] == name]) for name in named]
    return page(
        title,
        "Is the network that a program was read from equal to it? *Proved*: after rounding it gives the same "
        "outputs at every length, for all inputs of the domain. *Exhaustive*: the same up to a stated "
        "length. *Bounded*: one step ahead it differs by at most the stated error. *Tested*: it was run on "
        "sequences and no more is known. *Differs*: a sequence shows it. [What that means](../trust.md).",
        f"All stages, seeds {', '.join(map(str, seeds))}; seconds are processor time.",
        table(head, [cell for cell in counted if cell]),
        listing_words(rows),
        "## Tasks",
        "*Margin*: how far the network's outputs stay from the nearest rounding border at least, over the "
        "seeds; *error*: by how much network and program differ at most, one step ahead; *trained on*: in "
        "how many runs the network was trained on after its program was found.",
        table(("task", "network", "covers", "margin", "error", "trained on", "seconds", "link"), cells),
        paper_errors(rows),
        taken(record),
    )


def group_counts(name: str, rows: list[Row]) -> tuple[Any, ...]:
    if not rows:
        return ()
    verdicts = Counter(row["network"] for row in rows)
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row)
    equal = sum(all(row["network"] in ("proved", "bounded") for row in found) for found in by_task.values())
    link = sum(row["link_seconds"] for row in rows) / max(sum(row["cpu_seconds"] for row in rows), 1e-9)
    return (
        name,
        len(rows),
        *(verdicts.get(verdict, 0) for verdict in ORDER),
        f"{equal} of {len(by_task)}",
        f"{median(row['cpu_seconds'] for row in rows):.1f}",
        f"{link:.0%}",
    )


def network_counts(rows: list[Row]) -> str:
    """How many networks have which verdict, in words."""
    verdicts = Counter(row["network"] for row in rows)
    counts = (f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts.get(verdict))
    return f"of {len(rows)} runs {', '.join(counts)}"


def listing_words(rows: list[Row]) -> str:
    """How far listings are from their networks, of the scale of the outputs."""
    shares = [
        row["listing_error"] / max(row["listing_scale"] or 1.0, 1e-300)
        for row in rows
        if row["listing_error"] is not None
    ]
    if not shares:
        return ""
    return (
        f"Listings (`program_raw.py`) of {len(shares)} runs were compared with their networks: the largest "
        f"difference is {max(shares):.1g} of the scale of the outputs."
    )


def _task(rows: list[Row]) -> tuple[Any, ...]:
    verdicts = Counter(row["network"] for row in rows)
    words = [
        verdict if count == len(rows) else f"{verdict} {count}"
        for verdict in ORDER
        if (count := verdicts.get(verdict))
    ]
    worst = max(rows, key=lambda row: ORDER.index(row["network"]))
    margins = [row["margin"] for row in rows if row["margin"] is not None]
    errors = [row["network_error"] for row in rows if row["network_error"] is not None]
    return (
        f"`{rows[0]['task']}`",
        ", ".join(words),
        worst["covers"].replace("**", "^"),
        f"{min(margins):.2g}" if margins else "-",
        f"{max(errors):.2g}" if errors else "-",
        sum(row["trained_on"] > 0 for row in rows),
        f"{median(row['cpu_seconds'] for row in rows):.1f}",
        f"{median(row['link_seconds'] for row in rows):.1f}",
    )


def paper_errors(rows: list[Row]) -> str:
    """The bounds of the continuous tasks beside the paper's root mean square errors."""
    theirs = paper_numbers.by_task("table1")
    cells = []
    for name in dict.fromkeys(row["task"] for row in rows):
        found = [row for row in rows if row["task"] == name]
        if found[0]["whole"] or name not in theirs:
            continue
        errors = [row["network_error"] for row in found if row["network"] == "bounded"]
        largest = f"{max(errors):.2g}" if len(errors) == len(found) else "not bounded in every seed"
        cells.append((f"`{name}`", largest, theirs[name]["rmse"]))
    if not cells:
        return ""
    words = (
        "The largest difference over the whole domain, one step ahead, beside the root mean square error "
        "that the paper reports for its models:"
    )
    return "\n\n".join(("## Continuous tasks", words, table(("task", "bound", "paper: RMSE"), cells)))
