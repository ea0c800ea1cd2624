"""Tables of experiments: a line for each group of runs, declared column by column, the paper's beside ours.

A column says once what it is called, in files and for people, and how its cell follows from the rows of a
line. Where the paper has a row for a line, its cells are read by `theirs`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import Standing, average, share, shown
from weights2code.experiments.jobs import DONE, Row

#: What the rows of one line say in one cell.
Cell = Callable[[Sequence[Row]], Any]
#: Under this name rows carry the paper's row of their line.
PAPER = "paper's row"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in files, its title for people, its cell for the rows of a line."""

    name: str
    title: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table: its cells, how it stands beside the paper's, and why where it is worse."""

    cells: Row
    standing: Standing = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What an experiment found: columns with their titles, rows, and sentences that belong to them."""

    columns: Mapping[str, str]
    lines: Sequence[Line]
    notes: Sequence[str] = ()


def tabulate(
    rows: Sequence[Row],
    columns: Sequence[Column],
    by: Sequence[str] = ("task",),
    paper: Callable[[Row], Mapping[str, str]] = lambda row: {},
    standing: Callable[[Row, Sequence[Row]], Standing] = lambda cells, rows: None,
    why: Callable[[Sequence[Row]], str] = lambda rows: "",
    notes: Sequence[str] = (),
    apart: bool = True,
) -> Table:
    """A line for each group of rows.

    Parameters
    ----------
    rows : of the runs; those that hold several members count as so many rows if they are taken `apart`.
    by : the columns that the rows of a line have in common.
    paper : the paper's row that belongs to a row of ours.
    standing : how a line stands beside the paper's, from its cells and its rows.
    why : why it is worse, from its rows.
    """
    lines = []
    for found in grouped(members_of(rows) if apart else rows, *by).values():
        beside = [{**row, PAPER: paper(row)} for row in found]
        cells = {column.name: column.cell(beside) for column in columns}
        lines.append(Line(cells, standing(cells, found), why(found)))
    return Table({column.name: column.title for column in columns}, lines, notes)


def listed(
    rows: Sequence[Row], columns: Mapping[str, str | Cell], by: Sequence[str] = (), total: str = ""
) -> str:
    """A table in Markdown, a line a row, or for each group of rows that have `by` in common.

    Parameters
    ----------
    columns : by their titles what the rows of a line say; a name is what they have in common.
    total : what a last line for all rows is called, if there is one.
    """
    cells = [common(cell) if isinstance(cell, str) else cell for cell in columns.values()]
    groups = list(grouped(rows, *by).values()) if by else [[row] for row in rows]
    lines = [[_cell(cell(found)) for cell in cells] for found in groups]
    if total and rows:
        lines.append([total, *(_cell(cell(rows)) for cell in cells[1:])])
    return markdown(list(columns), lines)


def members_of(rows: Sequence[Row]) -> list[Row]:
    """One row for each seed: a batched run of several seeds holds theirs under `members`."""
    found: list[Row] = []
    for row in rows:
        if row.get("status", DONE) == DONE and "members" in row:
            shared = {name: value for name, value in row.items() if name != "members"}
            found += [{**shared, **member} for member in row["members"]]
        else:
            found.append(row)
    return found


def grouped(rows: Sequence[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some columns, in the order in which they first occur."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return groups


# -- cells --------------------------------------------------------------------------------------------------


def common(name: str) -> Cell:
    """What the rows of a line have in common."""
    return lambda rows: rows[0].get(name)


def theirs(name: str) -> Cell:
    """The paper's number."""
    return lambda rows: paper_numbers.number(rows[0][PAPER].get(name))


def mean(name: str) -> Cell:
    """The mean over the rows that know it."""
    return lambda rows: average(row.get(name) for row in rows)


def middle(name: str) -> Cell:
    """The median over the rows that know it."""
    return lambda rows: median([row[name] for row in rows if row.get(name) is not None] or [math.nan])


def part(has: str | Callable[[Row], object]) -> Cell:
    """How many of the rows have it, or pass the test."""
    return lambda rows: share(rows, has)


def among(test: str | Callable[[Row], object], cell: Cell) -> Cell:
    """A cell of those of the rows that have it, or pass the test."""
    has = (lambda row: row.get(test)) if isinstance(test, str) else test
    return lambda rows: cell([row for row in rows if has(row)])


def mean_error(rows: Sequence[Row]) -> float | None:
    """The program's RMSE, or the discrete model's where there is none."""
    errors = ((row.get("program_rmse"), row.get("model_rmse")) for row in rows)
    return average(model if program is None else program for program, model in errors)


def model_fits(row: Row) -> bool:
    """Whether the discrete model computes the task."""
    return row.get("model_accuracy") == 1.0


def solved_formula(rows: Sequence[Row]) -> str | None:
    """The first right program."""
    return next((row["formula"] for row in rows if row.get("solved")), None)


TASK = Column("task", "task", common("task"))
#: The architecture of a line: that of its models, or the paper's.
SIZES = tuple(
    Column(name, title, lambda rows, name=name: int(rows[0].get(name) or rows[0][PAPER][name]))
    for name, title in {"layers": "layers", "heads": "heads", "submlps": "sub-MLPs"}.items()
)


# -- texts --------------------------------------------------------------------------------------------------


def csv_text(table: Table) -> str:
    """Every column under its own name, every digit, and how each row stands."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    compared = any(line.standing for line in table.lines)
    writer.writerow([*table.columns, *(("compared_with_the_paper",) if compared else ())])
    for line in table.lines:
        cells = [line.cells.get(name) for name in table.columns] + ([line.standing] if compared else [])
        writer.writerow(["" if cell is None else cell for cell in cells])
    return buffer.getvalue()


def markdown_table(table: Table) -> str:
    """The table for people."""
    compared = any(line.standing for line in table.lines)
    head = [*table.columns.values(), *(("beside the paper",) if compared else ())]
    rows = []
    for line in table.lines:
        cells = [_cell(line.cells.get(name)) for name in table.columns]
        rows.append([*cells, *((line.standing or "-",) if compared else ())])
    return markdown(head, rows)


def markdown(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (" ".join(str(cell).replace("|", "\\|").split()) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def code(text: str | None) -> str:
    """Formulas in a cell, one line each."""
    return "<br>".join(f"`{line}`" for line in (text or "").splitlines()) or "-"


def _cell(value: Any) -> str:
    text = shown(value)
    return code(text) if "\n" in text or "[t" in text else text
