"""Tables of how rules were read: how many, at which cut, from which networks, and what was not read.

Rows are those of random programs and of deep rules: `solved`, `verdict`, `seconds`, and of newer records
`network`, `cut` (0: the leaves), `nodes`, `origin` and `right_network`. What a record does not know is left
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

from page_text import verdicts
from weights2code.experiments.tables import markdown

Row = dict[str, Any]

#: Verdicts on networks in order; a run whose program has no network has none.
VERDICTS = ("proved", "exhaustive", "bounded", "tested", "differs", "none")
#: Said of rows whose record does not name a cut.
NO_CUT = "not said"


def counts_by(rows: Sequence[Row], key: str) -> str:
    """Recovered and proved programs by size, family or memory."""
    values = sorted({row[key] for row in rows}, key=str)
    lines = [_counts(value, [row for row in rows if row[key] == value]) for value in values]
    head = (key, "programs", "recovered", "share", "proved", "median seconds")
    return markdown(head, [*lines, _counts("all", rows)])


def _counts(label: object, rows: Sequence[Row]) -> tuple[object, ...]:
    good = [row for row in rows if row["solved"]]
    proved = sum(row["verdict"] == "proved" for row in good)
    seconds = f"{median(row['seconds'] for row in rows):.1f}" if rows else "-"
    return label, len(rows), len(good), f"{len(good) / max(len(rows), 1):.0%}", proved, seconds


def without_hidden(rows: Sequence[Row]) -> list[Row]:
    """The programs whose outputs and inputs show all that they keep."""
    return [row for row in rows if row["memory"] != "hidden"]


def has_networks(rows: Sequence[Row]) -> bool:
    """Whether a record says anything of networks; old ones do not."""
    return any("network" in row for row in rows)


def networks_by(rows: Sequence[Row], key: str) -> str:
    """The verdicts on the networks of recovered programs."""
    good = [row for row in rows if row["solved"]]
    words = list(dict.fromkeys((*VERDICTS, *(word for word, _ in verdicts(good, VERDICTS)))))
    lines = []
    for value in sorted({row[key] for row in good}, key=str):
        chosen = [row for row in good if row[key] == value]
        found = dict(verdicts(chosen, VERDICTS))
        lines.append((value, len(chosen), *(found.get(word, 0) for word in words)))
    return markdown((key, "recovered", *words), lines)


def cuts_by(rows: Sequence[Row], key: str) -> str:
    """At which cut the rules of recovered programs were found, and how many nodes are in them."""
    good = [row for row in rows if row["solved"]]
    values = sorted({row[key] for row in good}, key=str)
    lines = []
    for cut in sorted({_cut(row) for row in good}, key=lambda cut: (cut == NO_CUT, cut)):
        chosen = [row for row in good if _cut(row) == cut]
        nodes = [len(row["nodes"]) for row in chosen if row.get("nodes") is not None]
        found = Counter(row[key] for row in chosen)
        named = f"{cut}, the leaves" if cut == 0 else cut
        middle = f"{median(nodes):g}" if nodes else "-"
        lines.append((named, len(chosen), *(found.get(value, 0) for value in values), middle))
    return markdown(("cut", "recovered", *(f"{key} {value}" for value in values), "median nodes"), lines)


def _cut(row: Row) -> Any:
    return NO_CUT if row.get("cut") is None else row["cut"]


def right_not_read(rows: Sequence[Row]) -> list[Row]:
    """Runs in which a network was right on validation, and yet no right program was read."""
    return [row for row in rows if row.get("right_network") and not row["solved"]]


def not_read_by(rows: Sequence[Row], key: str) -> str:
    """How many networks were right but not read."""
    lines = []
    for value in sorted({row[key] for row in rows}, key=str):
        chosen = [row for row in rows if row[key] == value]
        missed = [row for row in chosen if not row["solved"]]
        unread = right_not_read(chosen)
        names = ", ".join(row.get("name", row.get("task", "")) for row in unread)
        lines.append((value, len(chosen), len(missed), len(unread), names or "-"))
    return markdown((key, "runs", "missed", "right but not read", "which"), lines)
