"""The work of experiments: real runs, as small as they can be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weights2code.errors import InputError
from weights2code.experiments import learned
from weights2code.experiments.experiment import Options, study_job, study_jobs
from weights2code.experiments.jobs import perform, training_of
from weights2code.experiments.learned import learned_jobs
from weights2code.experiments.measures import unbroken_lines
from weights2code.experiments.registry import get
from weights2code.experiments.stores import Folders
from weights2code.experiments.work import run_task
from weights2code.training.storage import Trained

SMALL = {"layers": 1, "heads": 2, "submlps": 1}


@pytest.fixture(autouse=True)
def little_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listings need not be good ones."""
    monkeypatch.setattr(learned, "REGRESSION_EFFORT", 0.05)


@pytest.mark.slow
def test_a_study_measures_program_model_and_listing(tmp_path: Path) -> None:
    row = perform(study_job("one", "sum_last2", {"seed": 1}, note="here"), tmp_path)
    assert (row["task"], row["note"], row["seed"], row["solved"]) == ("sum_last2", "here", 1, True)
    assert (row["program_rmse"], row["program_accuracy"], row["model_accuracy"]) == (0.0, 1.0, 1.0)
    assert row["trained_mse"] < 1e-6
    assert row["listing_rmse"] < 1e-6
    text = (tmp_path / "run" / "program_raw.py").read_text()
    assert row["listing_lines"] == text.count("\n")
    assert set(row["heads_found"].values()) == {"Fixed offset 1"}


@pytest.mark.slow
def test_a_study_of_what_is_remembered(tmp_path: Path) -> None:
    """The program is judged by the outputs that were asked for, its network by the state too."""
    row = perform(study_job("one", "div_3", {"seed": 0}), tmp_path)
    assert (tmp_path / "run" / "memory.json").exists()
    assert (row["solved"], row["program_accuracy"], row["model_accuracy"]) == (True, 1.0, 1.0)
    assert row["listing_rmse"] < 1e-6


@pytest.mark.slow
def test_a_network_that_may_not_compute_stays_so(tmp_path: Path) -> None:
    numbers = {"epochs": 1, "members": 1, "samples": 256}
    (job,) = get("interventions").jobs(Options(seeds=(0,), tasks=("maximum_prev2",), numbers=numbers))
    row = perform(job, tmp_path)
    assert row["submlps"] == 0
    json.dumps(row)


@pytest.mark.slow
def test_a_model_that_cannot_fit_is_measured_too(tmp_path: Path) -> None:
    """Without heads in `tagging` nothing sees the past: the paper has 0/3 there."""
    settings = {"layout": "tagging", "layers": 1, "heads": 0, "submlps": 1, "members": 1, "epochs": 4}
    row = perform(study_job("none", "parity_last2", settings), tmp_path)
    assert not row["solved"]
    assert row["model_rmse"] == pytest.approx(0.5, abs=0.02)
    assert row["model_accuracy"] < 0.7
    assert "program_rmse" not in row
    assert row["listing_rmse"] is not None


@pytest.mark.slow
def test_the_paper_s_recipe_extracts_every_member(tmp_path: Path) -> None:
    numbers = {"epochs": 2, "samples": 2048}
    options = Options(recipe="paper", seeds=(0, 1), numbers=numbers)
    (job,) = study_jobs("two", "bitwise_not", options)
    row = perform(job, tmp_path)
    assert (row["layers"], row["heads"], row["submlps"]) == (1, 2, 2)
    assert [member["member"] for member in row["members"]] == [0, 1]
    for index, member in enumerate(row["members"]):
        assert (tmp_path / f"member{index}" / "program.py").exists() == ("formula" in member)
        assert member["solved"] <= (member.get("verdict") == "proved")
        assert member["trained_mse"] >= 0
        assert member["attempts"]
    assert row["soft_mse"] > 0
    again = perform(job, tmp_path)
    assert again["training_seconds"] == row["training_seconds"]  # the stored model was taken
    (line,) = get("table1").table([{**row, "key": "two", "status": "done", "error": None}]).lines
    assert line.cells["programs"].endswith("/2")


@pytest.mark.slow
def test_learned_heads_have_curves_and_three_listings(tmp_path: Path) -> None:
    options = Options(seeds=(0,), numbers={"epochs": 6, "members": 3})
    (job,) = learned_jobs("sum", "sum_last2", options, SMALL)
    row = perform(job, tmp_path)
    assert {len(values) for values in row["curves"].values()} == {6}
    assert row["curves"]["agreement"][-1] == 1.0
    gap = np.subtract(row["curves"]["hard_loss"], row["curves"]["soft_loss"])
    np.testing.assert_allclose(row["curves"]["discrepancy"], gap, atol=1e-6)
    assert len(row["members"]) == 3
    member = row["members"][0]
    assert member["by_effect_lines"] <= member["unpruned_lines"]
    assert member["pruned_lines"] <= member["unpruned_lines"]
    assert (tmp_path / "run/model.safetensors").exists()
    done = {**row, "key": "sum", "status": "done", "error": None}
    assert len(get("pruning").table([done]).lines) == 3
    drawing = get("dynamics").figure
    assert drawing is not None
    assert drawing([done]) is not None


@pytest.mark.slow
def test_models_that_are_there_take_the_place_of_a_training(tmp_path: Path) -> None:
    """Those of the architecture with the lowest mean loss, as the grid chooses."""
    from weights2code.experiments.models import train_models

    numbers = {"recipe": "paper", "samples": 512, "epochs": 1, "members": 2}
    for heads in (1, 2):
        settings = {**numbers, "layers": 1, "heads": heads, "submlps": 1}
        train_models({"task": "sum_last2", "settings": settings}, tmp_path / "there" / str(heads))
    there = [Trained.load(tmp_path / "there" / str(heads) / "run" / "model.safetensors") for heads in (1, 2)]
    best = min(there, key=lambda trained: sum(trained.losses))
    options = Options(recipe="paper", models=str(tmp_path / "there"), numbers={"samples": 512})
    (job,) = get("table1").jobs(replace(options, tasks=("sum_last2",)))
    train_models(job.arguments, tmp_path / "taken")
    taken = Trained.load(tmp_path / "taken" / "run" / "model.safetensors")
    assert taken.losses == best.losses
    assert taken.model.architecture == best.model.architecture
    (job,) = get("table1").jobs(replace(options, tasks=("spring",)))
    with pytest.raises(InputError, match="holds no trained models of spring"):
        train_models(job.arguments, tmp_path / "none")


def test_models_are_those_of_the_papers_recipe() -> None:
    with pytest.raises(InputError, match="--recipe paper"):
        study_jobs("one", "sum", Options(models="there"))
    with pytest.raises(InputError, match="--recipe paper"):
        get("pruning").jobs(Options(models="there"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pruning", "dynamics"])
def test_listings_and_curves_of_models_that_are_there(name: str, tmp_path: Path) -> None:
    """What a training of the experiment's own would give, without one."""
    from weights2code.experiments.models import train_models

    numbers = {"samples": 1024, "epochs": 2}
    settings = {"recipe": "paper", "members": 2, "layers": 1, "heads": 2, "submlps": 2, **numbers}
    train_models({"task": "sum_last2", "settings": settings}, tmp_path / "there")
    asked = Options(recipe="paper", seeds=(0, 1), tasks=("sum_last2",), numbers=numbers)
    (own,) = get(name).jobs(asked)
    (job,) = get(name).jobs(replace(asked, models=str(tmp_path / "there")))
    row = perform(job, tmp_path / "taken")
    times = ("seconds", "training_seconds", "extraction_seconds")
    expected = perform(own, tmp_path / "trained")
    assert {k: v for k, v in row.items() if k not in times} == {
        k: v for k, v in expected.items() if k not in times
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "task", "folder"),
    [("protocol", "bitwise_not", "L1H2M2"), ("arity", "parity_last3", "run"), ("l1", "sum_last2", "run")],
)
def test_an_experiment_finds_its_own_models(name: str, task: str, folder: str, tmp_path: Path) -> None:
    """Each run takes those of the same run; without them nothing else is taken instead."""
    asked = Options(recipe="paper", seeds=(0,), tasks=(task,), numbers={"samples": 512, "epochs": 1})
    jobs = get(name).jobs(asked)
    first = jobs[-1]
    training = training_of(first)
    assert training is not None
    out = tmp_path / "there"
    place = Folders(out).begin(first)
    training(first.arguments, place)
    model = place / folder / "model.safetensors"
    content = model.read_bytes()
    there = replace(asked, models=str(out))
    taken = get(name).jobs(there)[-1]
    row = perform(taken, tmp_path / "taken")
    assert row["members"][0]["loss"] == Trained.load(model).losses[0]
    assert model.read_bytes() == content
    elsewhere = replace(asked, models=str(tmp_path / "nothing"))
    with pytest.raises(InputError, match=r"model.safetensors"):
        perform(get(name).jobs(elsewhere)[-1], tmp_path / "none")


def test_a_formula_over_several_lines_counts_once() -> None:
    source = "a = 1\nb = (\n    a\n    + 2\n)\n# words\n\n\ndef f(x):\n    return (\n        x\n    )\n"
    assert unbroken_lines(source) == 7


@pytest.mark.slow
def test_a_run_leaves_its_folder_and_a_row(tmp_path: Path) -> None:
    arguments = {"task": "Sum_Last2", "settings": {"seed": 3}}
    row = run_task(arguments, tmp_path)
    assert (row["task"], row["seed"], row["exit"], row["solved"]) == ("sum_last2", 3, 0, True)
    assert row["verdict"] == "proved"
    assert row["source"] == (tmp_path / "run/program.py").read_text()
    assert row["lines"] == len(row["source"].splitlines())
    assert row["raw_lines"] == len((tmp_path / "run/program_raw.py").read_text().splitlines())
    assert row["training_seconds"] <= row["seconds"]
    assert not row["resumed"]
    again = run_task(
        arguments, tmp_path
    )  # of a complete run: the times of the first are gone, and that is said
    assert again["resumed"]
    assert again["training_seconds"] is None
    for name in ("formula", "verdict", "rung", "loss", "solved", "raw_lines"):
        assert again[name] == row[name]
