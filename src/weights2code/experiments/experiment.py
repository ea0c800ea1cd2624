"""An experiment: the jobs that it needs, the table made from their rows, perhaps a figure.

Each experiment of the paper is one small declaration; `registry` says in which module (`table1`, ...).
Running, resuming, writing and comparing are the same for all of them and live in `reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from weights2code.errors import InputError
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.tables import Table

if TYPE_CHECKING:
    from weights2code.report.svg import Drawing

#: What jobs do, of one seed and of all that the paper's recipe trains as members of one program.
STUDY = "weights2code.experiments.work:study"
MEMBERS = "weights2code.experiments.members:train_and_extract"


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

    def with_models(self, job: Job, same: bool) -> Job:
        """The job with the folder that its models are taken from, if there is one."""
        taken = {"models": self.models, "key": job.key, "same": same} if self.models else {}
        return replace(job, arguments={**job.arguments, **taken})


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


def study_job(key: str, task: str, settings: Mapping[str, Any], work: str = STUDY, **label: Any) -> Job:
    """The job of one run, which `study` or `work` does; its label names it in tables."""
    return Job(key, work, {"task": task, "settings": settings, "label": {"task": task, **label}})


def study_jobs(
    key: str,
    task: str,
    options: Options,
    settings: Mapping[str, Any] | None = None,
    paper: Mapping[str, Any] | None = None,
    works: tuple[str, str] = (STUDY, MEMBERS),
    same: bool = False,
    **label: Any,
) -> list[Job]:
    """A job for each seed; with the paper's recipe one for all, as members of one batched program.

    Models that are there already take the place of a training.

    Parameters
    ----------
    settings : what the experiment gives to a run.
    paper : what it gives instead with the paper's recipe; None is the same.
    works : what the jobs do, of one seed and of all.
    same : whether models that are there must be those of the same run.
    """
    given = dict(settings or {})
    if options.recipe == "paper":
        own = given if paper is None else dict(paper)
        settings = options.settings(seed=options.seeds[0], members=len(options.seeds), **own)
        return [options.with_models(study_job(key, task, settings, works[1], **label), same)]
    if options.models:  # every run of the fast recipe has a training of its own
        raise InputError("--models are those of the paper's recipe; give --recipe paper.")
    return [
        study_job(f"{key}-seed{seed}", task, options.settings(seed=seed, **given), works[0], **label)
        for seed in options.seeds
    ]
