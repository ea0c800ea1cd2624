"""A record: what was measured, under a head that says where it comes from, beside what was asked.

`{"head": {"command", "commit", "src", "date", "machine", "versions", ...}, "asked": {...}, "rows": [...]}`.
It is written whole, when the last row is there; until then rows are kept by a store (`stores`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weights2code.experiments.jobs import Row, plain
from weights2code.experiments.provenance import provenance
from weights2code.run_folder import write_atomically


@dataclass(frozen=True, slots=True)
class Record:
    """Rows, their head, and what they were asked with."""

    head: Row
    rows: list[Row]
    asked: Row = field(default_factory=dict)

    @staticmethod
    def read(file: Path) -> Record | None:
        """The record of a file; None if it is not there."""
        return Record.of(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None

    @staticmethod
    def of(data: Mapping[str, Any]) -> Record:
        return Record(data["head"], data["rows"], data["asked"])

    def to_dict(self) -> Row:
        return plain({"head": self.head, "asked": self.asked, "rows": self.rows})

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")


def write_record(
    file: Path,
    command: str,
    rows: Sequence[Row],
    asked: Row | None = None,
    head: Row | None = None,
) -> Record:
    """What was measured now, by this source, on this machine; `head` is what else is said of all rows."""
    made = Record(provenance(command) | (head or {}), list(rows), asked or {})
    made.write(file)
    return made
