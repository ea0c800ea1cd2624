"""What the jobs of experiments do: run a task as `w2c run` does, and measure what the paper's tables hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weights2code.experiments.experiment import Options
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.members import MEMBERS
from weights2code.experiments.trained_models import refuse_fast, sizes_of, with_models
from weights2code.experiments.work import RUN, run_task

#: The words of a job that names one of the functions below.
STUDY = f"{__name__}:study"


def study(arguments: dict[str, Any], folder: Path) -> Row:
    """One run, then the scores of the program, of the discrete model behind it and of the paper's listing.

    Parameters
    ----------
    arguments : `task` and `settings` as for `run_task`; `label` goes into the row.
    """
    row = run_task(arguments, folder)
    return {**arguments.get("label", {}), **row, **measured(folder / RUN)}


def study_job(key: str, task: str, settings: Row, work: str = STUDY, **label: Any) -> Job:
    """The job of one run, which `study` or `work` does; its label names it in tables."""
    return Job(key, work, {"task": task, "settings": settings, "label": {"task": task, **label}})


def study_jobs(
    key: str,
    task: str,
    options: Options,
    settings: Mapping[str, Any] | None = None,
    paper: Mapping[str, Any] | None = None,
    works: tuple[str, str] = (STUDY, MEMBERS),
    **label: Any,
) -> list[Job]:
    """A job for each seed; with the paper's recipe one for all, as members of one batched program.

    Models that are there already take the place of a training.

    Parameters
    ----------
    settings : what the experiment gives to a run.
    paper : what it gives instead with the paper's recipe; None is the same.
    works : what the jobs do, of one seed and of all.
    """
    given = dict(settings or {})
    if options.recipe == "paper":
        own = given if paper is None else dict(paper)
        settings = options.settings(seed=options.seeds[0], members=len(options.seeds), **own)
        return [with_models(study_job(key, task, settings, works[1], **label), options.models)]
    refuse_fast(options.models)
    return [
        study_job(f"{key}-seed{seed}", task, options.settings(seed=seed, **given), works[0], **label)
        for seed in options.seeds
    ]


def measured(folder: Path) -> Row:
    """The numbers of a run folder; the model's alone where there is no program.

    The model is judged as it was trained, and listed as the paper does: pruned.
    """
    from weights2code.experiments.measures import model_score, program_row, uncertified
    from weights2code.extraction.from_networks import LISTING_EFFORT
    from weights2code.extraction.members import member, whole_graph
    from weights2code.recheck import place_in
    from weights2code.results import read_run
    from weights2code.run_folder import CERTIFICATE, MODEL, open_existing
    from weights2code.training.storage import Trained
    from weights2code.views.hidden import problem_in

    with open_existing(folder) as run:
        problem, seed = problem_in(run), run.settings.seed
        trained = Trained.load(run.file(MODEL), problem)
        best = whole_graph(trained, 0, problem)
        found = model_score(best, problem)
        row = sizes_of(trained) | {"fitted": trained.fitted, "trained_mse": found.mse}
        if not run.has(CERTIFICATE):
            return row | found.row("model") | uncertified(best, problem, seed)
        stored = read_run(run)
        own = place_in(trained, stored.certificate.network, run) or 0
        row |= model_score(whole_graph(trained, own, problem), problem).row("model")
        matched = member(trained, own, problem).matched
        explained = matched.explain(problem, LISTING_EFFORT) if matched.finite else None
        return row | program_row(stored.program, explained, problem, seed)
