"""The paper's own numbers, as it prints them: Table 1, the architectures, the robustness tables, ablations.

They stand beside ours in every table. Nothing but those tables reads them: no search knows them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib import resources

Numbers = list[dict[str, str]]


def read(name: str) -> Numbers:
    """The rows of one table: `table1`, `architectures`, `robustness` or `ablations`."""
    file = resources.files(__name__).joinpath(f"{name}.csv")
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def by_task(name: str) -> dict[str, dict[str, str]]:
    """The rows of a table that has one for each task."""
    return {row["task"]: row for row in read(name)}


def ablation(experiment: str) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of one ablation by (task, setting)."""
    rows = [row for row in read("ablations") if row["experiment"] == experiment]
    return {(row["task"], row["setting"]): row for row in rows}


def sizes(row: Mapping[str, str]) -> dict[str, int]:
    """The architecture of a row."""
    return {name: int(row[name]) for name in ("layers", "heads", "submlps")}


def number(text: str | None) -> float | None:
    """A printed number; None where the paper has none."""
    return None if text in (None, "", "n/a", "fails") else float(text)
