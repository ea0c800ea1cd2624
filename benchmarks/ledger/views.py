"""What the programs of runs read: whether a rule is still found by reading as little.

The records are those of runs that were solved, apart from kept ones.
"""

from __future__ import annotations

from typing import Any

from runs import LIMIT, prepare, replay, solved

Record = dict[str, Any]
WORDS = ("same", "lost", "longer", "shorter")
__all__ = ["LIMIT", "WORDS", "compare", "describe", "prepare", "replay", "solved"]


def compare(record: Record, answer: Record) -> tuple[str, ...]:
    """Whether the rule was found by reading as much, more or less."""
    if not answer.get("solved", False):
        return ("lost",)
    then, now = (sum(map(len, view.values())) for view in (record["answer"]["view"], answer["view"]))
    return ("same",) if then == now else ("longer",) if now > then else ("shorter",)


def describe(record: Record, answer: Record) -> str:
    return f"{record['key']} {record['answer']['view']}  ->  {answer.get('view')}"
