"""What extraction asks of the engine: rows, domains, tolerance and effort, with the answer that it got.

Calls are heard while runs are recorded. A record keeps some distinct rows of a call to search on, and others
to check the answer with: a call is solved if the formula is exact on the first and right on the second.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from problems import KEPT

from weights2code.language import Domain, Var, evaluate
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.engine import pick

Record = dict[str, Any]
#: Where calls are left as they are heard.
HEARD = Path(__file__).parent / "runs" / "heard"
#: Calls heard of one run from one caller, and kept of one run in all.
MOST_CALLS, MOST_OF_A_RUN = 10, 12
#: Distinct rows to search on, of whole numbers and of reals, and rows to check with.
ROWS, REAL_ROWS, CHECKS = 800, 250, 100
#: Effort of a search, at most; what an unsolved call may take is kept small, or they take most of the time.
MOST_EFFORT, MOST_UNSOLVED = 5.0, 1.5
BATCH, LIMIT = 20, 300.0


def listen(group: str, name: str) -> None:
    """From now on every search of this process is written down."""
    search = NativeEngine.search
    counts: dict[str, int] = {}
    HEARD.mkdir(parents=True, exist_ok=True)

    def heard(self: NativeEngine, X: np.ndarray, y: np.ndarray, **said: Any) -> Any:
        caller = sys._getframe(1).f_globals["__name__"].removeprefix("weights2code.")
        counts[caller] = counts.get(caller, 0) + 1
        if counts[caller] <= MOST_CALLS and said.get("weights") is None:
            _write(record_of(group, name, caller, np.asarray(X, float), np.asarray(y, float), said))
        return search(self, X, y, **said)

    NativeEngine.search = heard


def record_of(
    group: str, name: str, caller: str, X: np.ndarray, y: np.ndarray, said: dict[str, Any]
) -> Record:
    """A call without its answer."""
    whole = bool(np.isfinite(X).all() and (np.round(X) == X).all() and (y == np.round(y)).all())
    rows = np.unique(np.column_stack([X, y]), axis=0)
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    given = ROWS if whole else REAL_ROWS
    operators = said.get("operators")
    record = {
        "group": "kept" if group in KEPT else group,
        "from": group if group in KEPT else name,
        "caller": caller,
        "variables": [(v.name, v.lag) for v in said["variables"]],
        "domains": [asdict(domain) for domain in said["domains"]],
        "tolerance": said.get("tolerance"),
        "operators": sorted(operators) if operators is not None else None,
        "effort": min(said.get("effort", MOST_EFFORT), MOST_EFFORT),
        "rows": _columns(rows[:given][np.lexsort(rows[:given].T[::-1])]),
        "checks": _columns(rows[given : given + CHECKS]),
    }
    record["key"] = hashlib.sha256(json.dumps(record).encode()).hexdigest()[:16]
    return record


def heard() -> list[Record]:
    """The distinct calls that were heard, at most `MOST_OF_A_RUN` of a run, whoever asked in turn."""
    runs: dict[tuple[str, str], list[Record]] = {}
    for file in sorted(HEARD.glob("*.json")):
        record = json.loads(file.read_text())
        runs.setdefault((record["group"], record["from"]), []).append(record)
    return [record for found in runs.values() for record in list(_in_turn(found))[:MOST_OF_A_RUN]]


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
    solved = bool(chosen.exact) and (not len(checks) or _right(chosen, variables, checks))
    return {
        "solved": solved,
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


def worth_keeping(record: Record) -> bool:
    """Whether a record with its answer earns the time that its replay takes."""
    return record["answer"]["solved"] or record["answer"]["seconds"] <= MOST_UNSOLVED


def _right(chosen: Any, variables: tuple[Var, ...], checks: np.ndarray) -> bool:
    values = dict(zip(variables, checks.T, strict=False))
    with np.errstate(all="ignore"):
        found = np.broadcast_to(np.asarray(evaluate(chosen.expr, values), float), len(checks))
    near = max(chosen.tolerance, 1e-9) * 2
    return bool((np.abs(found - checks[:, -1]) <= near).all())


def _in_turn(records: list[Record]) -> Iterator[Record]:
    """One of each caller, then the next of each."""
    by_caller: dict[str, list[Record]] = {}
    for record in records:
        by_caller.setdefault(record["caller"], []).append(record)
    while by_caller:
        for caller in list(by_caller):
            yield by_caller[caller].pop(0)
            if not by_caller[caller]:
                del by_caller[caller]


def _columns(rows: np.ndarray) -> list[list[float]]:
    """Columns compress better than rows, and whole numbers better than decimals."""
    return [[int(v) if float(v).is_integer() else v for v in column] for column in rows.T.tolist()]


def _rows(columns: list[list[float]]) -> np.ndarray:
    return np.array(columns, dtype=float).T.reshape(-1, len(columns))


def _write(record: Record) -> None:
    file = HEARD / f"{record['key']}.json"
    if not file.exists():
        part = file.with_suffix(".part")
        part.write_text(json.dumps(record))
        part.replace(file)
