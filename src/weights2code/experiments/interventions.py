"""Controllability (section 6.2): forbidding the usual way makes the model find another program.

Without sub-MLPs the larger of two values cannot be computed, so an attention head must select it; with the
last two outputs hidden, the oscillation of spring is continued from farther back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from weights2code.experiments.comparison import reason
from weights2code.experiments.experiment import Experiment, Options, study_jobs
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.tables import TASK, Column, part, tabulate


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


def _shown(rows: Sequence[Row]) -> Row:
    """The first run that found what the paper found, else the first."""
    return next((row for row in rows if as_expected(row)), rows[0])


def _live_heads(rows: Sequence[Row]) -> str:
    return ", ".join(text for text in (_shown(rows).get("heads_found") or {}).values() if text)


table = partial(
    tabulate,
    columns=(
        TASK,
        Column("forbidden", "forbidden", lambda rows: FORBIDDEN[rows[0]["task"]].words),
        Column("paper", "paper finds", lambda rows: FORBIDDEN[rows[0]["task"]].expected),
        Column("as_expected", "found by seeds", part(as_expected)),
        Column("solved", "solved", part("solved")),
        Column("verdict", "verdict", lambda rows: _shown(rows).get("verdict")),
        Column("formula", "program", lambda rows: _shown(rows).get("formula")),
        Column("heads", "live heads", _live_heads),
    ),
    standing=lambda cells, rows: "equal" if all(map(as_expected, rows)) else "worse",
    why=reason,
)


INTERVENTIONS = Experiment(
    "interventions",
    "Interventions: other programs when the usual way is forbidden",
    tuple(FORBIDDEN),
    jobs,
    table,
)
