"""Every experiment can be planned and tabulated, whatever became of its runs."""

from __future__ import annotations

import pytest

from weights2code import tasks
from weights2code.errors import InputError
from weights2code.experiments import paper_numbers, registry
from weights2code.experiments.experiment import Options
from weights2code.experiments.jobs import resolve
from weights2code.experiments.reproduce import labelled
from weights2code.experiments.sweep import check_unique
from weights2code.experiments.tables import csv_text, markdown_table, members_of

RECIPES = ("fast", "paper")


def failed(key: str) -> dict[str, object]:
    return {"key": key, "status": "failed", "error": "no luck", "seconds": 1.0, "tries": 1}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", registry.NAMES)
def test_jobs_are_plain_and_unique(name: str, recipe: str) -> None:
    experiment = registry.get(name)
    jobs = experiment.jobs(Options(recipe=recipe))  # type: ignore[arg-type]
    assert jobs
    check_unique(jobs)
    own = experiment.tasks
    assert {job.arguments["task"] for job in jobs} <= set(own)
    assert all(tasks.get(task).name == task for task in own)
    for job in jobs:
        assert type(job).from_dict(job.to_dict()) == job
        assert callable(resolve(job.work))


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", registry.NAMES)
def test_a_table_of_failures_is_still_a_table(name: str, recipe: str) -> None:
    experiment = registry.get(name)
    jobs = experiment.jobs(Options(recipe=recipe, seeds=(0,)))  # type: ignore[arg-type]
    rows = labelled([failed(job.key) for job in jobs], jobs)
    table = experiment.table(rows)
    assert not any(line.standing == "better" for line in table.lines)
    assert csv_text(table).count("\n") == len(table.lines) + 1
    assert markdown_table(table).count("\n") == len(table.lines) + 1
    assert experiment.figure is None or experiment.figure(rows) is None


def test_tasks_restrict_an_experiment_to_some_of_its_own() -> None:
    experiment = registry.get("robustness")
    jobs = experiment.jobs(Options(tasks=("spring",), seeds=(4,)))
    assert len(jobs) == 43
    assert {job.arguments["settings"]["seed"] for job in jobs} == {4}
    assert {job.arguments["settings"]["layout"] for job in jobs} == {"concat"}
    with pytest.raises(InputError, match="not about div_3"):
        experiment.jobs(Options(tasks=("div_3",)))


def test_robustness_follows_the_paper_s_formulation_unless_told() -> None:
    jobs = registry.get("robustness").jobs(Options(tasks=("sum_last2",), seeds=(0,)))
    assert {job.arguments["settings"]["layout"] for job in jobs} == {"tagging"}
    jobs = registry.get("robustness").jobs(Options(tasks=("sum_last2",), seeds=(0,), layout="concat"))
    assert {job.arguments["settings"]["layout"] for job in jobs} == {"concat"}


def test_the_paper_recipe_is_one_job_a_task() -> None:
    jobs = registry.get("table1").jobs(Options(recipe="paper", seeds=(3, 4, 5)))
    assert len(jobs) == 29
    assert all(job.arguments["settings"]["members"] == 3 for job in jobs)
    assert all(job.arguments["settings"]["seed"] == 3 for job in jobs)


def test_numbers_of_the_command_reach_every_run() -> None:
    for name in ("table1", "l1", "dynamics"):
        for job in registry.get(name).jobs(Options(seeds=(0,), numbers={"epochs": 3})):
            assert {**job.arguments, **job.arguments.get("settings", {})}["epochs"] == 3


def test_an_unknown_experiment_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean robustness"):
        registry.get("robustnes")
    with pytest.raises(InputError, match="--list"):
        registry.get("xyz")


def test_the_paper_s_numbers_are_complete() -> None:
    assert len(paper_numbers.read("table1")) == len(paper_numbers.read("architectures")) == 29
    assert {row["task"] for row in paper_numbers.read("table1")} == {
        task.name for task in tasks.all_tasks("paper")
    }
    robustness = paper_numbers.read("robustness")
    assert len(robustness) == 3 * 43
    assert sum(row["success"] == "0/3" for row in robustness) == 11
    for row in paper_numbers.read("architectures"):
        paper = tasks.get(row["task"]).paper
        assert paper is not None
        sizes = tuple(int(row[name]) for name in ("layers", "heads", "submlps"))
        assert sizes == (paper.layers, paper.heads, paper.submlps)
    assert paper_numbers.number("n/a") is None
    assert paper_numbers.number("6.46e-2") == 0.0646


def test_members_become_rows_and_failed_runs_stay() -> None:
    shared = {"key": "a", "status": "done", "task": "t", "seconds": 9.0}
    rows = members_of([shared | {"members": [{"member": 0}, {"member": 1}]}, failed("b")])
    assert [(row.get("task"), row.get("member"), row["status"]) for row in rows] == [
        ("t", 0, "done"),
        ("t", 1, "done"),
        (None, None, "failed"),
    ]
