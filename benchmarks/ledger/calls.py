"""What extraction asked of the engine: rows, domains, tolerance and effort, with the answer that it got.

Calls were heard while runs were recorded; laws and the true leaves of random trees stand beside them. A
record keeps some distinct rows of a call to search on, and others to check the answer with: a call is solved
if the formula is exact on the first and right on the second.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from runs import by_size as compare
from runs import solved

from weights2code.language import Domain, Var, evaluate
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.engine import pick

Record = dict[str, Any]
WORDS = ("same", "lost", "won", "longer", "shorter")
LIMIT = 300.0
__all__ = ["LIMIT", "WORDS", "compare", "describe", "prepare", "replay", "solved"]


def replay(record: Record) -> Record:
    """The answer of the engine as it is."""
    rows, checks = _rows(record["rows"]), _rows(record["checks"])
    variables = tuple(Var(name, lag) for name, lag in record["variables"])
    operators = record["operators"]
    began = time.process_time()
    front = NativeEngine().search(
        rows[:, :-1],
        rows[:, -1],
        variables=variables,
        domains=tuple(Domain(**domain) for domain in record["domains"]),
        tolerance=record["tolerance"],
        effort=record["effort"],
        operators=frozenset(operators) if operators is not None else None,
    )
    seconds = round(time.process_time() - began, 4)
    if not front:
        return {"solved": False, "size": 0, "formula": "", "seconds": seconds}
    chosen = pick(front)
    return {
        "solved": bool(chosen.exact) and (not len(checks) or _right(chosen, variables, checks)),
        "size": chosen.complexity,
        "formula": str(chosen.expr)[:200],
        "seconds": seconds,
    }


def prepare(records: list[Record]) -> None:
    """What every search needs is made once, by a first one, before processes are forked."""
    for record in records[:1]:
        replay(record)


def describe(record: Record, answer: Record) -> str:
    then, now = record["answer"]["formula"], answer.get("formula") or answer.get("error", "-")
    return f"{record['key']} {record['group']}/{record['from']} by {record['caller']}: {then}  ->  {now}"


def _right(chosen: Any, variables: tuple[Var, ...], checks: np.ndarray) -> bool:
    values = dict(zip(variables, checks.T, strict=False))
    with np.errstate(all="ignore"):
        found = np.broadcast_to(np.asarray(evaluate(chosen.expr, values), float), len(checks))
    near = max(chosen.tolerance, 1e-9) * 2
    return bool((np.abs(found - checks[:, -1]) <= near).all())


def _rows(columns: list[list[float]]) -> np.ndarray:
    return np.array(columns, dtype=float).T.reshape(-1, len(columns))
