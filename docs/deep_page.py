"""The page of deep rules: files whose rules take three or four steps."""

from __future__ import annotations

from statistics import median

from figures import taken
from network_page import network_counts
from page_text import RENEW, SOLVED, code, networks_of, page, table, unmeasured, yes
from reading_tables import Row, cuts_by, right_not_read

PARTS = {
    "kept": "kept back at first",
    "develop": "there while the package was made to read them",
}


def deep_rules(files: Row | None, before: Row | None) -> str:
    """Files, and how it was before deep networks were read."""
    return page(
        "Deep rules",
        "Rules that take several steps, each a line that reads the ones before.",
        "## Files with rules of three and four steps",
        *(_files(files, before) if files else [unmeasured(RENEW.format("deep"))]),
        *(_before(before) if before else []),
    )


def solved_of(rows: list[Row]) -> str:
    return f"{sum(row['solved'] for row in rows)} of {len(rows)}"


def _files(record: Row, before: Row | None) -> list[str]:
    rows = record["rows"]
    then = {row["name"]: yes(row["solved"]) for row in before["rows"]} if before else {}
    words = [
        f"{solved_of(rows)} solved, median {median(row['seconds'] for row in rows):.1f} s.",
        *(
            f"Of those {words} {solved_of(found)}."
            for part, words in PARTS.items()
            if (found := [row for row in rows if row["part"] == part])
        ),
        f"Networks: {network_counts(rows)}.",
        f"Networks right on validation but not read: {len(right_not_read(rows))}.",
    ]
    cells = [
        (row["name"], row["field"], row["part"], row["steps"], yes(row["solved"]),
         *([then.get(row["name"], "-")] if then else []), row["verdict"], networks_of(row), _cut(row),
         f"{row['seconds']:.1f}", code(row["rule"]), code(row["formula"]))
        for row in rows
    ]  # fmt: skip
    head = ["file", "field", "part", "steps", "solved", *["before"] * bool(then), "verdict", "network", "cut"]
    return [
        "CSV files of 400 sequences with lengths from 12 to 20, from different fields. A file is "
        f"{SOLVED} if the program equals the rule behind it. A third of the files was kept back until a "
        "first measurement, which solved 3 of those 7 (within 60 s, at d54a8d2d02); since then they are no "
        "longer unseen.",
        " ".join(words),
        table([*head, "seconds", "rule", "program"], cells),
        cuts_by(rows, "steps"),
        taken(record),
    ]


def _before(record: Row) -> list[str]:
    good = ", ".join(row["name"] for row in record["rows"] if row["solved"])
    return [
        f"Before networks were read cut by cut, {solved_of(record['rows'])} files of development were solved "
        f"({good or 'none'}).",
        taken(record, what="That was taken"),
    ]


def _cut(row: Row) -> str:
    return "-" if row["cut"] is None else str(row["cut"])
