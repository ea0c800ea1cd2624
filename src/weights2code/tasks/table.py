"""The built-in tasks as a table: plain rows, and how a terminal or a file shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from weights2code.tasks.task import Task

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = ("name", "also called", "inputs", "T", "category", "class", "suites", "description")


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What the table says about one task, in the order of `HEADINGS`."""

    name: str
    alias: str
    inputs: str
    length: int
    category: str
    window_class: str
    suites: str
    description: str


def rows(tasks: Iterable[Task]) -> list[TaskRow]:
    """One row a task."""
    return [
        TaskRow(
            task.name,
            ", ".join(task.aliases),
            _inputs(task),
            task.length,
            task.category,
            task.window_class,
            ", ".join(task.suites),
            task.description,
        )
        for task in tasks
    ]


def plain_text(tasks: Iterable[Task]) -> str:
    """Aligned columns, one line a task, for files and pipes."""
    lines = [HEADINGS, *(tuple(str(cell) for cell in astuple(row)) for row in rows(tasks))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


def render(tasks: Iterable[Task], console: Console | None = None) -> None:
    """Write the table: drawn on a terminal, as `plain_text` elsewhere."""
    from rich.console import Console
    from rich.table import Table

    target = console or Console()
    if not target.is_terminal:
        target.file.write(plain_text(tasks))
        return
    table = Table(*HEADINGS, row_styles=("", "dim"))
    for row in rows(tasks):
        table.add_row(*(str(cell) for cell in astuple(row)))
    target.print(table)


def _inputs(task: Task) -> str:
    """`a, b: bits`: neighbouring columns of the same domain share it."""
    pairs = zip(task.columns, task.domains, strict=True)
    return "; ".join(
        f"{', '.join(column for column, _ in group)}: {domain}"
        for domain, group in groupby(pairs, key=lambda pair: pair[1])
    )
