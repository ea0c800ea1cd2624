"""Pieces of Markdown that the pages of results are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MADE = "<!-- made by docs/make_results.py: do not edit -->"


def page(title: str, *parts: str) -> str:
    return "\n\n".join((MADE, f"# {title}", *(part for part in parts if part))) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def code(text: str | None) -> str:
    """Formulas in a table cell, one line each."""
    return "<br>".join(f"`{line}`" for line in (text or "").splitlines()) or "-"


def unmeasured(command: str) -> str:
    return f"Not measured yet. The command is:\n\n```\n{command}\n```"


def yes(condition: bool) -> str:
    return "yes" if condition else "no"
