"""Records on disk: one JSON object a line under a head, compressed; the same records give the same bytes."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from weights2code.experiments.provenance import provenance
from weights2code.run_folder import write_atomically

Record = dict[str, Any]
RECORDS = Path(__file__).parent / "records"
#: Of the form of records.
VERSION = 1


def write(kind: str, records: Iterable[Record], command: str) -> Path:
    """All records of a kind, in the order of their keys."""
    head = {"version": VERSION, "kind": kind, **provenance(command)}
    lines = [json.dumps(record) for record in (head, *sorted(records, key=lambda record: record["key"]))]
    file = RECORDS / f"{kind}.jsonl.xz"
    file.parent.mkdir(exist_ok=True)
    packed = lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME)
    write_atomically(file, packed)
    return file


def read(kind: str) -> tuple[Record, list[Record]]:
    """The head and the records of a kind."""
    lines = lzma.decompress((RECORDS / f"{kind}.jsonl.xz").read_bytes()).decode().splitlines()
    head = json.loads(lines[0])
    if head["version"] != VERSION:
        raise SystemExit(f"records of version {head['version']}; this reads version {VERSION}")
    return head, [json.loads(line) for line in lines[1:]]
