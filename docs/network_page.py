"""The page of the networks behind the programs: how many are proved equal, how far apart the others are."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from figures import taken
from page_text import RENEW, page, table, taught, unmeasured, verdicts
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
    words = [f"taught {verdict}" for verdict in ORDER if any(taught(row) == verdict for row in rows)]
    seeds = sorted({row["seed"] for row in rows})
    counted = [group_counts(name, [row for row in rows if wanted(row)], words) for name, wanted in GROUPS]
    head = ("group", "runs", *ORDER, *words, "tasks equal in every seed", "median seconds", "for the link")
    named = dict.fromkeys(row["task"] for row in rows)
    cells = [_task([row for row in rows if row["task"] == name]) for name in named]
    return page(
        title,
        "Is the network that a program was read from equal to it? *Proved*: after rounding it gives the same "
        "outputs at every length, for all inputs of the domain. *Exhaustive*: the same up to a stated "
        "length. *Bounded*: one step ahead it differs by at most the stated error. *Tested*: it was run on "
        "sequences and no more is known. *Differs*: a sequence shows it. [What that means](../trust.md).",
        which(rows),
        f"All stages, seeds {', '.join(map(str, seeds))}; seconds are processor time.",
        table(head, [cell for cell in counted if cell]),
        listing_words(rows),
        "## Tasks",
        "*Margin*: how far the network's outputs stay from the nearest rounding border at least, over the "
        "seeds; *error*: by how much network and program differ at most, one step ahead; *trained on*: in "
        "how many runs the network was trained on after its program was found. Where one was taught, they "
        "are about that one.",
        table(("task", "network", "covers", "margin", "error", "trained on", "seconds", "link"), cells),
        paper_errors(rows),
        taken(record),
    )


def which(rows: list[Row]) -> str:
    """Which networks the verdicts are about; records from before a second one was kept have one a run."""
    if any("taught" in row for row in rows):
        return (
            "The first verdicts are those of networks as they were trained. Where that is not known to "
            "equal the program, another is *taught*: pruned, trained on, wired or written for the rule; it "
            "has a verdict of its own."
        )
    return (
        "These figures are from before trained networks had a verdict of their own: they are about the "
        "network that was left, pruned, and trained on, wired or written for the rule where that was needed."
    )


def group_counts(name: str, rows: list[Row], words: list[str]) -> tuple[Any, ...]:
    if not rows:
        return ()
    found = dict(verdicts(rows, ORDER))
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row)
    equal = sum(all(meant(row) in ("proved", "bounded") for row in runs) for runs in by_task.values())
    link = sum(row["link_seconds"] for row in rows) / max(sum(row["cpu_seconds"] for row in rows), 1e-9)
    return (
        name,
        len(rows),
        *(found.get(word, 0) for word in (*ORDER, *words)),
        f"{equal} of {len(by_task)}",
        f"{median(row['cpu_seconds'] for row in rows):.1f}",
        f"{link:.0%}",
    )


def meant(row: Row) -> str:
    """The verdict on the network that equals the program, as far as one does."""
    return taught(row) or row["network"]


def network_counts(rows: list[Row]) -> str:
    """How many networks have which verdict, in words."""
    counts = ", ".join(f"{count} {word}" for word, count in verdicts(rows, ORDER))
    left = "" if any("taught" in row for row in rows) else " (of the network that was left)"
    return f"of {len(rows)} runs {counts}{left}"


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
    words = [word if count == len(rows) else f"{word} {count}" for word, count in verdicts(rows, ORDER)]
    worst = max(rows, key=lambda row: ORDER.index(meant(row)))
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
        errors = [row["network_error"] for row in found if meant(row) == "bounded"]
        largest = f"{max(errors):.2g}" if len(errors) == len(found) else "not bounded in every seed"
        cells.append((f"`{name}`", largest, theirs[name]["rmse"]))
    if not cells:
        return ""
    words = (
        "The largest difference over the whole domain, one step ahead, beside the root mean square error "
        "that the paper reports for its models:"
    )
    return "\n\n".join(("## Continuous tasks", words, table(("task", "bound", "paper: RMSE"), cells)))
