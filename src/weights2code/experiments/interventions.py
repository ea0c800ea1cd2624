"""Controllability (section 6.2): forbidding the usual way makes the model find another program.

Without sub-MLPs the larger of two values cannot be computed, so an attention head must select it; with the
last two outputs hidden, the oscillation of spring is continued from farther back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from weights2code.experiments.comparison import reason, share
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.study import study_jobs
from weights2code.experiments.tables import Line, Table, grouped, members_of


@dataclass(frozen=True, slots=True)
class Intervention:
    """What is forbidden, and what the paper then finds: a head that does `head`, or a rule of `values`."""

    words: str
    expected: str
    fast: dict[str, Any]
    paper: dict[str, Any]
    head: str = ""
    values: frozenset[str] = field(default_factory=frozenset)


#: Two pointer heads a layer, as in the paper; nothing may compute.
_ATTENTION_ONLY = {"pointer": 2, "submlps": 0}
_HIDDEN = {"hide": ["y[t-1]", "y[t-2]"]}

FORBIDDEN = {
    "maximum_prev2": Intervention(
        "no sub-MLPs", "windowed max", _ATTENTION_ONLY, {"heads": 2, "submlps": 0}, head="Windowed maximum 2"
    ),
    "minimum_prev2": Intervention(
        "no sub-MLPs", "windowed min", _ATTENTION_ONLY, {"heads": 2, "submlps": 0}, head="Windowed minimum 2"
    ),
    "spring": Intervention(
        "y[t-1] and y[t-2] hidden",
        "y[t] = -y[t-3] + x[t] + x[t-1]",
        _HIDDEN,
        {"layers": 2, "heads": 2, "submlps": 2, **_HIDDEN},
        values=frozenset({"x[t]", "x[t-1]", "y[t-3]"}),
    ),
}


def jobs(task: str, options: Options) -> list[Job]:
    return study_jobs(task, task, options, FORBIDDEN[task].fast, FORBIDDEN[task].paper)


def as_expected(row: Row) -> bool:
    """Whether a run found what the paper found."""
    wanted = FORBIDDEN[row["task"]]
    if not row.get("solved"):
        return False
    if wanted.head:
        return wanted.head in (row.get("heads_found") or {}).values()
    return read_values(row["formula"]) == wanted.values


def read_values(formula: str) -> frozenset[str]:
    """The values on the right-hand side of a formula of one line, such as `x[t-1]`."""
    _, _, right = formula.partition(" = ")
    return frozenset(re.findall(r"\w+\[t(?:-\d+)?\]", right))


def table(rows: Sequence[Row]) -> Table:
    lines = []
    for (task,), found in grouped(members_of(rows), "task").items():
        marked = [{**row, "expected": as_expected(row)} for row in found]
        best = next((row for row in marked if row["expected"]), marked[0])
        heads = [text for text in (best.get("heads_found") or {}).values() if text]
        count = sum(row["expected"] for row in marked)
        cells = {
            "task": task,
            "forbidden": FORBIDDEN[task].words,
            "paper": FORBIDDEN[task].expected,
            "as_expected": share(marked, "expected"),
            "solved": share(found, "solved"),
            "verdict": best.get("verdict"),
            "formula": best.get("formula"),
            "heads": ", ".join(heads),
        }
        standing = "equal" if count == len(marked) else "worse"
        lines.append(Line(cells, standing, reason(found)))
    columns = {
        "task": "task",
        "forbidden": "forbidden",
        "paper": "paper finds",
        "as_expected": "found by seeds",
        "solved": "solved",
        "verdict": "verdict",
        "formula": "program",
        "heads": "live heads",
    }
    return Table(columns, lines)


INTERVENTIONS = Experiment(
    "interventions",
    "Interventions: other programs when the usual way is forbidden",
    tuple(FORBIDDEN),
    jobs,
    table,
)
