"""The built-in tasks as a table: plain rows, and how a terminal or a file shows them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, get_args

from weights2code.tasks.task import Category, Task

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = ("name", "also called", "inputs", "T", "category", "class", "suites", "description")

_CLASSES = (
    "class a: a window of inputs; b: windows of inputs and outputs; "
    "c: a hidden state or an aggregate; d: the whole prefix"
)


def rows(tasks: Iterable[Task]) -> list[dict[str, str | int]]:
    """What the table says about each task, in the order of `HEADINGS`."""
    return [
        {
            "name": task.name,
            "alias": ", ".join(task.aliases),
            "inputs": _inputs(task),
            "length": task.length,
            "category": task.category,
            "window_class": task.window_class,
            "suites": ", ".join(task.suites),
            "description": task.description,
        }
        for task in tasks
    ]


def plain_text(tasks: Iterable[Task]) -> str:
    """Aligned columns, one line a task, for files and pipes."""
    lines = [HEADINGS, *(tuple(map(str, row.values())) for row in rows(tasks))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


def render(tasks: Iterable[Task], console: Console | None = None) -> None:
    """Write the table: drawn on a terminal, a section a category, as `plain_text` elsewhere."""
    from rich.console import Console
    from rich.table import Table

    target = console or Console()
    if not target.is_terminal:
        target.file.write(plain_text(tasks))
        return
    table = Table(box=None, pad_edge=False, header_style="bold", caption=_CLASSES, caption_justify="left")
    for heading in ("name", "inputs", "T", "class", "description"):
        table.add_column(heading, no_wrap=heading != "description", overflow="fold")
    ordered = sorted(tasks, key=lambda task: get_args(Category).index(task.category))
    for category, group in groupby(ordered, key=lambda task: task.category):
        table.add_row(f"[bold cyan]{category}[/]")
        for task in group:
            # names are found whatever their case, so only an alias in other words is worth the space
            other = ", ".join(task.aliases)
            also = f" [dim]({other})[/]" if other and other.casefold() != task.name.casefold() else ""
            inputs = _inputs(task).replace("; ", "\n")
            table.add_row(task.name, inputs, str(task.length), task.window_class, task.description + also)
    target.print(table)


def _inputs(task: Task) -> str:
    """`a, b: bits`: neighbouring columns of the same domain share it."""
    pairs = zip(task.columns, task.domains, strict=True)
    return "; ".join(
        f"{', '.join(column for column, _ in group)}: {str(domain).removeprefix('integers ')}"
        for domain, group in groupby(pairs, key=lambda pair: pair[1])
    )
