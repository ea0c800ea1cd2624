"""An experiment: the jobs that it needs, the table made from their rows, perhaps a figure.

Each experiment of the paper is one small declaration in a module of its own (`table1`, `robustness`, ...).
Running, resuming, writing and comparing are the same for all of them and live in `reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from weights2code.experiments.jobs import DONE, Job, Row

if TYPE_CHECKING:
    from weights2code.report.svg import Drawing

#: How a row of ours stands beside the paper's; None where the paper has no number.
Standing = Literal["better", "equal", "worse", "mixed"] | None


@dataclass(frozen=True, slots=True)
class Options:
    """What the command asks of an experiment.

    Parameters
    ----------
    recipe : "fast" or "paper"; the paper's seeds are the members of one batched program.
    layout : "auto" leaves it to the experiment.
    device : where to train.
    seeds : one run each.
    tasks : restricts the experiment to these; empty means all of its own.
    suite : of tasks, for the experiments that go over a whole suite.
    numbers : fields of `Settings` that override the recipe's numbers (epochs, samples, members, ...).
    """

    recipe: Literal["fast", "paper"] = "fast"
    layout: str = "auto"
    device: str = "cpu"
    seeds: tuple[int, ...] = (0, 1, 2)
    tasks: tuple[str, ...] = ()
    suite: str = "paper"
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def chosen(self, own: Sequence[str]) -> list[str]:
        """The experiment's own tasks, or those of them that were asked for."""
        return [name for name in own if not self.tasks or name in self.tasks]

    def settings(self, **given: Any) -> dict[str, Any]:
        """Settings of one run: what the experiment gives, and what the command overrides."""
        layout = {} if self.layout == "auto" else {"layout": self.layout}
        device = {} if self.device == "cpu" else {"device": self.device}
        recipe = {} if self.recipe == "fast" else {"recipe": self.recipe}
        return {**given, **recipe, **layout, **device, **self.numbers}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table: its cells, how it stands beside the paper's, and why where it is worse."""

    cells: Row
    standing: Standing = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What an experiment found: columns with their titles, rows, and sentences that belong to them."""

    columns: Mapping[str, str]
    lines: Sequence[Line]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of the paper.

    Parameters
    ----------
    name : as `w2c experiment` knows it.
    reproduces : what it is in the paper.
    tasks : its own tasks; a function of the suite for those that go over one.
    jobs : the runs that the options ask for.
    table : the table made of their rows, the paper's numbers beside ours.
    figure : a drawing made of their rows, if there is one.
    keeps_programs : whether its record holds the text of the programs; the gallery shows those of Table 1.
    """

    name: str
    reproduces: str
    tasks: Callable[[str], tuple[str, ...]]
    jobs: Callable[[Options], list[Job]]
    table: Callable[[Sequence[Row]], Table]
    figure: Callable[[Sequence[Row]], Drawing | None] | None = None
    keeps_programs: bool = False


def members_of(rows: Sequence[Row]) -> list[Row]:
    """One row for each seed: a batched run of several seeds holds theirs under `members`."""
    found: list[Row] = []
    for row in rows:
        if row["status"] != DONE:
            found.append(row)
        elif "members" in row:
            shared = {name: value for name, value in row.items() if name != "members"}
            found += [{**shared, **member} for member in row["members"]]
        else:
            found.append(row)
    return found


def grouped(rows: Sequence[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some columns, in the order in which they first occur.

    A run that failed has only its arguments: they are looked up there.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return groups


def labelled(rows: Sequence[Row], jobs: Sequence[Job]) -> list[Row]:
    """Rows with the labels of their jobs, so that a failed run is still known by its task."""
    return [{**job.arguments.get("label", {}), **row} for row, job in zip(rows, jobs, strict=True)]
