"""An experiment: the jobs that it needs, the table made from their rows, perhaps a figure.

Each experiment of the paper is one small declaration; `registry` says in which module (`table1`, ...).
Running, resuming, writing and comparing are the same for all of them and live in `reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from weights2code.errors import InputError
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.tables import Table

if TYPE_CHECKING:
    from weights2code.report.svg import Drawing


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
    models : a folder whose run folders hold the trained models, for the experiments that only look at models.
    numbers : fields of `Settings` that override the recipe's numbers (epochs, samples, members, ...).
    """

    recipe: Literal["fast", "paper"] = "fast"
    layout: str = "auto"
    device: str = "cpu"
    seeds: tuple[int, ...] = (0, 1, 2)
    tasks: tuple[str, ...] = ()
    models: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def layout_of(self, task: str) -> str:
        """The layout that was asked for, else the paper's formulation of the task."""
        from weights2code import tasks

        own = "concat" if tasks.get(task).state_tracking else "tagging"
        return own if self.layout == "auto" else self.layout

    def settings(self, **given: Any) -> dict[str, Any]:
        """Settings of one run: what the experiment gives, and what the command overrides."""
        layout = {} if self.layout == "auto" else {"layout": self.layout}
        device = {} if self.device == "cpu" else {"device": self.device}
        recipe = {} if self.recipe == "fast" else {"recipe": self.recipe}
        return {**given, **recipe, **layout, **device, **self.numbers}


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of the paper.

    Parameters
    ----------
    name : as `w2c experiment` knows it.
    reproduces : what it is in the paper.
    tasks : its own tasks.
    jobs_of : the runs that the options ask for, of one task.
    table : the table made of all their rows, the paper's numbers beside ours.
    figure : a drawing made of their rows, if there is one.
    keeps_programs : whether its record holds the text of the programs; the gallery shows those of Table 1.
    takes_models : whether it can look at models that are there.
    """

    name: str
    reproduces: str
    tasks: tuple[str, ...]
    jobs_of: Callable[[str, Options], list[Job]]
    table: Callable[[Sequence[Row]], Table]
    figure: Callable[[Sequence[Row]], Drawing | None] | None = None
    keeps_programs: bool = False
    takes_models: bool = False

    def jobs(self, options: Options) -> list[Job]:
        """The runs that the options ask for, task by task; a task that is none of its own is refused."""
        if options.models and not self.takes_models:
            raise InputError(f"{self.name} trains its own models; leave out --models.")
        unknown = ", ".join(name for name in options.tasks if name not in self.tasks)
        if unknown:
            raise InputError(f"{self.name} is not about {unknown}; its tasks are {', '.join(self.tasks)}.")
        chosen = [name for name in self.tasks if not options.tasks or name in options.tasks]
        return [job for name in chosen for job in self.jobs_of(name, options)]
