"""What `w2c bench` found over a suite, by task: seeds, verdicts, times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import Any

from weights2code import tasks


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

    @staticmethod
    def of_experiment(name: str, record: dict[str, Any] | None) -> Suite:
        """The same from the record of an experiment that ran the suite."""
        if record is None:
            return Suite(name, {}, ())
        summary = {key: value for key, value in record.items() if key not in ("rows", "table")}
        rows = [row for row in record["rows"] if row["status"] == "done"]
        return Suite.read(name, {"summary": summary, "rows": rows})

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
        """Solved runs whose certificate says that the discrete model itself does not fit."""
        runs = [run for task in self.tasks for run in task.runs if run["solved"]]
        return sum(not run.get("model_fits", True) for run in runs)
