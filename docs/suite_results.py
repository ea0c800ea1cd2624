"""What a sweep over a suite found, by task: seeds, verdicts, times, and what limited the failures."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import Any

from weights2code import tasks

#: What limits a failure, and what that means.
LIMITS = {
    "training": "no model found the values that the output depends on",
    "routing": "a live attention head matches no routing hypothesis",
    "regression": "the values are there, but no exact formula of them was found",
    "proof": "the program is right in every test, but was not proved",
    "test": "the program passed its check, perhaps only after rounding, but does not equal the rule",
    "defect": "the run ended in an error",
}

#: What an attempt says, in the order of the stages; the first text that occurs names the limit.
SIGNS = (
    ("do not determine", "training"),
    ("matches no routing hypothesis", "routing"),
    ("no formula of its values is exact", "regression"),
    ("no exact rule was found", "regression"),
    ("too many to regress", "regression"),
    ("failed", "regression"),
    ("does not fit", "training"),
)
_ATTEMPT = re.compile(
    r"(?P<rung>[^,]+), member \d+ \(hard loss (?P<loss>[^)]+)\)(?:, as noise)?: (?P<why>.*)"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What limits a task, and the attempt that shows it."""

    limit: str
    evidence: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """All runs of one task, in the order of their seeds."""

    name: str
    runs: tuple[dict[str, Any], ...]

    @property
    def solved(self) -> int:
        return sum(run["solved"] for run in self.runs)

    @property
    def proved(self) -> int:
        return sum(run["solved"] and run.get("verdict") == "proved" for run in self.runs)

    @property
    def always(self) -> bool:
        return self.solved == len(self.runs)

    @property
    def seconds(self) -> float:
        return median(run["seconds"] for run in self.runs)

    @property
    def shown(self) -> dict[str, Any] | None:
        """The run that stands for the task: the first that is proved, else solved."""
        solved = [run for run in self.runs if run["solved"]]
        return min(solved, key=lambda run: (run["verdict"] != "proved", run["seed"]), default=None)

    @property
    def verdict(self) -> str:
        found = Counter(run.get("verdict", "-") for run in self.runs if run["solved"])
        return ", ".join(found) or "-"


@dataclass(frozen=True, slots=True)
class Suite:
    """The results of one suite; without tasks it was not measured yet."""

    name: str
    summary: dict[str, Any]
    tasks: tuple[TaskResult, ...]

    @staticmethod
    def read(name: str, data: dict[str, Any] | None) -> Suite:
        if data is None:
            return Suite(name, {}, ())
        runs: dict[str, list[dict[str, Any]]] = {}
        for row in sorted(data["rows"], key=lambda row: row["seed"]):
            runs.setdefault(row["task"], []).append(row)
        order = [task.name for task in tasks.all_tasks(name) if task.name in runs]
        return Suite(name, data["summary"], tuple(TaskResult(task, tuple(runs[task])) for task in order))

    @property
    def measured(self) -> bool:
        return bool(self.tasks)

    @property
    def seeds(self) -> list[int]:
        return sorted({run["seed"] for task in self.tasks for run in task.runs})

    @property
    def seconds(self) -> float:
        """The median time to a program over all runs."""
        return median(run["seconds"] for task in self.tasks for run in task.runs)

    def count(self, what: str) -> tuple[int, int]:
        """Tasks that are `solved` or `proved` in every run, and in at least one."""
        numbers = [(getattr(task, what), len(task.runs)) for task in self.tasks]
        return sum(n == of for n, of in numbers), sum(n > 0 for n, _ in numbers)

    @property
    def caveats(self) -> int:
        """Solved runs whose certificate notes that the discrete model itself does not fit."""
        runs = [run for task in self.tasks for run in task.runs if run["solved"]]
        return sum(
            any("discrete model does not fit" in note for note in run.get("notes", ())) for run in runs
        )


def failure(run: dict[str, Any]) -> Failure | None:
    """What limited a run; None if it is solved and proved."""
    if "error" in run:
        return Failure("defect", run["error"])
    if run["solved"]:
        return None if run["verdict"] == "proved" else Failure("proof", run["method"])
    if run.get("exit") == 0:
        return Failure("test", f"verdict {run['verdict']}, not equal on fresh sequences: {formula(run)}")
    return nearest(run.get("attempts", ()))


def nearest(attempts: Any) -> Failure:
    """The limit of the attempt that came nearest: the one with the lowest hard loss."""
    found = [match for match in map(_ATTEMPT.fullmatch, attempts) if match]
    if not found:
        return Failure("training", "; ".join(attempts) or "nothing was tried within the time limit")
    best = min(found, key=lambda match: _loss(match["loss"]))
    limit = next((limit for sign, limit in SIGNS if sign in best["why"]), "regression")
    return Failure(limit, f"{best['rung']} (hard loss {best['loss']}): {best['why']}")


def _loss(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.inf


def formula(run: dict[str, Any], most: int = 160) -> str:
    """The formula of a run on one line, cut off where nobody would read on."""
    text = "; ".join((run.get("formula") or "-").splitlines())
    return text if len(text) <= most else text[: most - 3] + "..."
