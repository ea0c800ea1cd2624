"""Pieces of Markdown that the pages of results are made of."""

from __future__ import annotations

from weights2code.experiments.tables import code
from weights2code.experiments.tables import markdown as table

__all__ = ["MADE", "RENEW", "code", "page", "table", "unmeasured", "yes"]

#: How to take the figures of one record, by its name.
RENEW = "python benchmarks/renew.py {}"
MADE = "<!-- made by docs/make_results.py: do not edit -->"


def page(title: str, *parts: str) -> str:
    return "\n\n".join((MADE, f"# {title}", *(part for part in parts if part))) + "\n"


def unmeasured(command: str) -> str:
    return f"Not measured yet. The command is:\n\n```\n{command}\n```"


def yes(condition: bool) -> str:
    return "yes" if condition else "no"
