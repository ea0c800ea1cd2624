"""The page of tables as people have them: outcomes by field and by part, beside those of others."""

from __future__ import annotations

from statistics import median

from figures import taken
from page_text import RENEW, SOLVED, code, networks_of, page, table, unmeasured
from reading_tables import Row

#: Outcomes, and whether a row is one.
OUTCOMES = ("solved", "tested, not solved", "failed")
#: What stands beside us, by the name in rows.
BESIDE = {"tree": "decision tree", "rpni": "RPNI", "operon": "Operon"}
PARTS = {"develop": "seen while the package was made", "kept": "kept for this measurement"}


def tables(record: Row | None) -> str:
    """The benchmark, field by field."""
    title = "Tables as people have them"
    if not record:
        return page(title, unmeasured(RENEW.format("tables")))
    rows = record["rows"]
    fields = list(dict.fromkeys(row["field"] for row in rows))
    head = ("tables", "number", *OUTCOMES, "median seconds", *BESIDE.values())
    groups = [
        *((f"{PARTS[part]}", [row for row in rows if row["part"] == part]) for part in PARTS),
        *((field, [row for row in rows if row["field"] == field]) for field in fields),
        ("all", rows),
    ]
    parts = []
    for field in fields:
        cells = [_cells(row) for row in rows if row["field"] == field]
        beside = ("table", "part", "outcome", "verdict", "network", "seconds", *BESIDE.values(), "program")
        parts += [f"## {field[0].upper()}{field[1:]}", table(beside, cells)]
    return page(
        title,
        "Tables of texts, truth values, dates, numbers and columns that do not matter, made by rules of "
        "different fields and fitted by `w2c fit` with the options that a user would give. They are "
        f"{SOLVED} by what `w2c predict` answers. *Tested, not solved*: the fit ended with exit code 0 all "
        f"the same. A fit has at most {record['time_limit']:g} s. A third of the tables was not looked at "
        "before this was measured.",
        "Beside it a decision tree of scikit-learn on the columns of this row and of the three before, texts "
        "one-hot; RPNI (AALpy) where rows of inputs are an alphabet; Operon on the same lags where every "
        "column is a number, for as long as our fit took. `-`: not asked.",
        table(head, [_counts(name, chosen) for name, chosen in groups if chosen]),
        *parts,
        taken(record),
    )


def table_counts(rows: list[Row]) -> tuple[str, str]:
    """What the summary says of the programs, and of what stands beside them."""
    solved = sum(row["solved"] for row in rows)
    words = f"{solved} of {len(rows)} solved; median {median(row['seconds'] for row in rows):.0f} s"
    kept = [row for row in rows if row["part"] == "kept"]
    if kept:
        words += f"; of those not seen before {sum(row['solved'] for row in kept)} of {len(kept)}"
    beside = [f"{name} {_found(rows, key)}" for key, name in BESIDE.items() if _asked(rows, key)]
    return words, ", ".join(beside)


def _counts(name: str, rows: list[Row]) -> tuple[object, ...]:
    return (
        name,
        len(rows),
        *(sum(_outcome(row) == outcome for row in rows) for outcome in OUTCOMES),
        f"{median(row['seconds'] for row in rows):.1f}",
        *(_found(rows, key) for key in BESIDE),
    )


def _asked(rows: list[Row], key: str) -> list[Row]:
    """The rows that something could be asked about, and was."""
    return [row for row in rows if row[key] in ("exact", "wrong")]


def _found(rows: list[Row], key: str) -> str:
    """How many of those asked it gets right."""
    asked = _asked(rows, key)
    return f"{sum(row[key] == 'exact' for row in asked)} of {len(asked)}" if asked else "-"


def _outcome(row: Row) -> str:
    return OUTCOMES[0] if row["solved"] else OUTCOMES[1] if row["exit"] == 0 else OUTCOMES[2]


def _cells(row: Row) -> tuple[object, ...]:
    formula = "\n".join(row["formula"] or ())
    return (
        f"`{row['name']}`",
        row["part"],
        _outcome(row),
        row["verdict"],
        networks_of(row),
        f"{row['seconds']:.1f}",
        *(row[key] for key in BESIDE),
        code(formula) if formula else "-",
    )
