"""What every benchmark leaves: its rows under a head that says where they come from.

A record is `{"command", "commit", "src", "date", "machine", "versions", ..., "rows"}`. It is written whole,
when the last row is there, so that it never holds figures of two versions. Until then rows are kept in
`runs/`, one a line, and a run that was stopped goes on from them unless `src/` or what was asked has changed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from weights2code.experiments.provenance import provenance
from weights2code.results import Outcome, certificate_dict
from weights2code.run_folder import write_atomically
from weights2code.verify import Certificate

Row = dict[str, Any]
SRC = Path(__file__).parents[1] / "src"


class Rows:
    """The rows of one run, each written as it comes.

    Rows that are there already count if they were made by the same source, committed or not, and asked for in
    the same way.
    """

    def __init__(self, file: Path, asked: Any) -> None:
        self.file = file
        self.rows: list[Row] = []
        head = {"src": digest(), "asked": json.loads(json.dumps(asked))}
        lines = _lines(file)
        if lines and lines[0] == head:
            self.rows = lines[1:]
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(head) + "\n", encoding="utf-8")

    def add(self, row: Row) -> None:
        self.rows.append(row)
        with self.file.open("a", encoding="utf-8") as file:
            file.write("\n" * self._cut_short() + json.dumps(row) + "\n")

    def _cut_short(self) -> bool:
        """Whether the last line lacks its end, as when the process was killed while it wrote."""
        return not self.file.read_bytes().endswith(b"\n")

    def finish(self, record: Path, command: str, device: str = "cpu", **more: Any) -> None:
        """The record in place of the rows that were kept until now."""
        write_record(record, command, device, **more, rows=self.rows)
        self.file.unlink()


def digest() -> str:
    """A name for the source as it lies there, committed or not."""
    found = hashlib.sha256()
    for file in sorted(SRC.rglob("*.py")):
        found.update(f"{file.relative_to(SRC)}\n".encode() + file.read_bytes())
    return found.hexdigest()[:16]


def write_record(file: Path, command: str, device: str = "cpu", **content: Any) -> None:
    """A head and what was measured."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps({**provenance(command, device), **content}, indent=1) + "\n")


def of_network(certificate: Certificate | None) -> dict[str, Any]:
    """What a certificate says of the networks and the listing, for a row.

    `network` is the verdict on the trained one, `taught` that on one that was made for the rule; all else is
    about the one that equals the program, which is the second if there is one. Rows from before `taught`
    speak of that one alone, by the name of `network`.
    """
    trained, taught = (certificate.network, certificate.taught) if certificate else (None, None)
    network, listing = taught or trained, certificate.listing if certificate else None
    told = {
        "network": trained.verdict if trained else "none",
        "taught": taught.verdict if taught else "none",
        "made": network.made if network else "",
        "margin": network.margin if network else None,
        "network_error": network.error if network else None,
        "free_running": network.free_running if network else None,
        "covers": network.covers if network else "",
        "network_method": network.method if network else "",
        "trained_on": network.trained_on if network else 0,
    }
    return told | {
        "listing_error": listing.max_abs_error if listing else None,
        "listing_scale": listing.scale if listing else None,
    }


def of_rule(outcome: Outcome) -> dict[str, Any]:
    """Where the rule comes from: its origin, the cut that it was found at (0: the leaves), and its nodes.

    Certificates from before cuts were read name neither cut nor nodes.
    """
    if outcome.extraction is None:
        return {"origin": None, "cut": None, "nodes": None}
    found = certificate_dict(outcome.extraction)
    rule = found.get("rule") or {}
    return {"origin": str(found["origin"]), "cut": rule.get("cut"), "nodes": rule.get("nodes")}


def right_network(outcome: Outcome, whole: bool) -> bool:
    """Whether a network was right on validation, as far as what is left of the search says.

    `whole` says that outputs are whole numbers, which are rounded: a larger loss is right then.
    """
    from weights2code.training.search import FITTED_INTEGER, FITTED_REAL

    least = FITTED_INTEGER if whole else FITTED_REAL
    tried = any(attempt.loss <= least for attempt in outcome.attempts)
    return tried or (outcome.trained is not None and outcome.trained.fitted)


def read_rows(file: Path) -> list[Row]:
    """The rows of a record; none if it is not there."""
    return json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []


def _lines(file: Path) -> list[Any]:
    """The lines of a file; one that was cut short does not count."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
