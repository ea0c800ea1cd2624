"""What was measured, as pages need it: records by their names, cells of tables, counts in words."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from statistics import median
from typing import Any

import figures
from weights2code.experiments.records import Record
from weights2code.experiments.tables import Cell, grouped

sys.path.insert(0, str(figures.ROOT / "benchmarks"))
import renew

Row = dict[str, Any]
Rows = Sequence[Row]
Columns = dict[str, str | Cell]
FIGURES = renew.figures()


class NotMeasured(Exception):
    """There is no such record yet."""


@cache
def record(name: str) -> Record:
    found = Record.read(figures.ROOT / FIGURES[name].record)
    if found is None:
        raise NotMeasured(name)
    return found


def known(*names: str) -> dict[str, Record]:
    """Those of these records that are there."""
    return {name: record(name) for name in names if (figures.ROOT / FIGURES[name].record).exists()}


def rows(name: str, **having: Any) -> list[Row]:
    """Of a record, those that have these values."""
    return [row for row in record(name).rows if all(row.get(key) == v for key, v in having.items())]


# -- cells --------------------------------------------------------------------------------------------------


def proved(row: Row) -> bool:
    return bool(row.get("solved")) and row.get("verdict") == "proved"


def shown(found: Rows) -> Row:
    """The row that stands for a group: the first that is proved, else solved."""
    good = [row for row in found if row.get("solved")]
    return min(good, key=lambda row: (not proved(row), row.get("seed", 0)), default={})


def program(found: Rows) -> str | None:
    """A right program; of a single run whatever came out."""
    text = (shown(found) or (found[0] if len(found) == 1 else {})).get("formula")
    return "\n".join(text) if isinstance(text, list) else text


def networks(found: Rows) -> str:
    """Verdicts on networks as they were trained, then on those that were taught, with their numbers."""
    counts = Counter(row.get("network") or "none" for row in found)
    counts.update(f"taught {row['taught']}" for row in found if row.get("taught", "none") != "none")
    if len(found) == 1:
        return ", ".join(counts)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())


# -- counts in words ----------------------------------------------------------------------------------------


def counted(found: Rows) -> str:
    """How many are solved and proved, by every seed if there are several."""
    groups = list(grouped(found, "task" if "task" in found[0] else "name").values())
    seeds = len({row["seed"] for row in found}) if "seed" in found[0] else 1
    good, sure = (sum(all(map(has, g)) for g in groups) for has in (lambda row: row.get("solved"), proved))
    each = f" by each of {seeds} seeds" if seeds > 1 else ""
    words = f"{good} of {len(groups)} solved{each}" + (f", {sure} proved" if sure else "")
    return f"{words}; median {median(row['seconds'] for row in found):.0f} s"
