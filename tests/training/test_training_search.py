"""Training: the loop learns, the closed head is exact, polishing finds structures, masks are honoured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from weights2code.data import fit_layout, from_task
from weights2code.errors import InputError
from weights2code.graph.from_model import graph_of
from weights2code.model import HARD
from weights2code.run_folder import begin
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.tasks import get
from weights2code.training import search
from weights2code.training.build import build, hide
from weights2code.training.ladder import FAST_LADDER, Rung, Variant, ladder_of
from weights2code.training.recipes import Recipe
from weights2code.training.search import pick_device, train_rung
from weights2code.training.storage import Trained
from weights2code.training.train import rungs_of, train, write_metrics

CPU = torch.device("cpu")
LINEAR = FAST_LADDER[0]


def problem(name: str, samples: int = 512, seed: int = 0, length: int | None = None):
    return from_task(get(name), samples, seed, validation=256, length=length)


@pytest.mark.slow
def test_the_loss_falls_with_a_learned_head():
    recipe = Recipe(epochs=4, steps_per_epoch=40, head="learned", polish=False, tune_steps=0, noise=0.1)
    rung = Rung("test", {"layers": 1, "location": 1, "submlps": 0}, recipe, (Variant(2),))
    trained = train_rung(rung, problem("sum_last2"), Settings(), CPU)
    soft = [min(epoch.soft_loss) for epoch in trained.history]
    assert len(soft) == 4
    assert soft[-1] < 0.5 * soft[0]
    assert trained.losses[0] < 0.5


@pytest.mark.slow
def test_the_best_epoch_of_each_member_is_kept():
    recipe = Recipe(epochs=5, steps_per_epoch=5, head="learned", polish=False, tune_steps=0, keep_best=True)
    rung = Rung("test", {"layers": 1, "location": 1, "submlps": 1}, recipe, (Variant(2),))
    trained = train_rung(rung, problem("sum_last2"), Settings(), CPU)
    lowest = np.min([epoch.hard_loss for epoch in trained.history], axis=0)
    ratio = np.sort(trained.losses) / np.sort(lowest)  # relative to another variance, the same for all
    assert np.allclose(ratio, ratio[0], rtol=1e-4)
    assert np.allclose(ratio, 1.0, rtol=0.1)


@pytest.mark.parametrize("name", ["freebody", "magnetic"])
def test_polishing_from_an_empty_start_solves_stiff_dynamics(name: str):
    trained = train_rung(LINEAR, problem(name), Settings(), CPU)
    assert trained.fitted
    assert trained.losses[0] < 1e-10


def test_a_rung_without_annealing_has_one_record():
    trained = train_rung(LINEAR, problem("sum"), Settings(), CPU)
    (only,) = trained.history
    assert only.epoch == 0
    assert only.hard_loss == only.soft_loss == trained.losses
    assert set(only.agreement) == {1.0}


# -- the ladder ----------------------------------------------------------------------------------------------


def of_members(rung: Rung) -> list[Variant]:
    """The variant of each member."""
    return [variant for variant in rung.variants for _ in range(variant.members)]


@pytest.mark.parametrize("name", [rung.name for rung in FAST_LADDER if not rung.wired])
def test_members_without_past_never_depend_on_past_outputs(name: str):
    data = problem("bit_addition", samples=8)
    rung = next(rung for rung in ladder_of(data, Settings()) if rung.name == name)
    layout = fit_layout("autoregressive", data.training)
    model = build(rung, data, layout.channels, (-1.0, 1.0), seed=0)
    channels = torch.from_numpy(layout.encode(data.training).channels)
    changed = channels.clone()
    changed[len(data.inputs) :] += 1.0
    same = (model(channels, HARD) == model(changed, HARD)).flatten(1).all(1)
    blind = torch.tensor([not variant.past for variant in of_members(rung)])
    assert same[blind].all()
    assert not same[~blind].any()


def test_members_with_fewer_heads_do_not_use_the_others():
    rung = next(rung for rung in FAST_LADDER if any(variant.heads == 1 for variant in rung.variants))
    data = problem("bitwise_xor", samples=8)
    model = build(rung, data, 3, (-1.0, 1.0), seed=0)
    first = model.architecture.channels
    for member, variant in enumerate(of_members(rung)):
        heads = variant.heads
        visible = model.variable_mask[member, first : first + model.architecture.heads]
        assert visible.sum() == (model.architecture.heads if heads is None else heads)


# -- masks ---------------------------------------------------------------------------------------------------


def test_hidden_past_outputs_lead_to_the_other_recurrence():
    """The paper's intervention: spring without y[t-1] and y[t-2] is y[t] = -y[t-3] + x[t] + x[t-1]."""
    settings = Settings(hide=("y[t-1]", "y[t-2]"))
    data = problem("spring")
    trained = next(rungs_of(data, settings))
    assert trained.rung == "linear"
    assert trained.fitted
    graph = graph_of(trained.weights, 0, trained.layout, data)
    x = get("spring").sample(4, length=12, seed=9)[0]
    y = get("spring").reference(x)
    expected = x[:, 3:, 0] + x[:, 2:-1, 0] - y[:, :-3]
    assert np.allclose(expected, y[:, 3:])
    from weights2code.data import from_arrays

    forged = y.copy()[:, :, None]
    forged[:, 5] += 1.0  # of the outputs, only the one three steps later may notice
    change = graph.run(from_arrays(x, forged)) - graph.run(from_arrays(x, y[:, :, None]))
    assert np.allclose(change[:, 8], -1.0, atol=1e-5)
    assert np.allclose(np.delete(change, 8, axis=1), 0.0, atol=1e-5)


def test_several_values_can_be_hidden():
    data = problem("sum")
    layout = fit_layout("autoregressive", data.training)
    model = build(LINEAR, data, layout.channels, (-1.0, 1.0), seed=0)
    hide(model, ("x[t-1]", "y[t-1]"), data, "autoregressive")
    channels = torch.zeros(2, 8, 1)
    for channel, forbidden in ((0, 1), (1, 0)):
        probe = channels.clone()
        probe[channel, 3] = 1.0
        moved = (model.stream(probe, HARD) - model.stream(channels, HARD))[:, 2:, :, 0]
        assert not moved[:, :, 3 + forbidden].any()


@pytest.mark.parametrize("mask", ["z[t-1]", "y", "y[t]", "y[t+1]", "x[1]"])
def test_masks_that_mean_nothing_are_refused(mask: str):
    with pytest.raises(InputError, match="mask"):
        next(rungs_of(problem("sum"), Settings(hide=(mask,))))


# -- the stage -----------------------------------------------------------------------------------------------


def test_metrics_have_every_field(tmp_path: Path):
    settings = Settings(recipe="paper", samples=1024, epochs=2)
    with begin(tmp_path, "bitwise_xor", settings) as folder:
        trained = train(problem_of("bitwise_xor", settings), settings, folder)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    members = len(trained.history[0].hard_loss)
    for line in lines:
        assert line["stage"] == trained.rung
        assert line["seconds"] > 0
        for name in ("soft_loss", "hard_loss", "discrepancy", "agreement"):
            assert len(line[name]) == members
        gap = np.subtract(line["hard_loss"], line["soft_loss"])
        assert np.allclose(line["discrepancy"], gap, atol=1e-3 * max(1.0, *line["hard_loss"]))
    assert lines[0]["temperature"] > lines[1]["temperature"] == 0.1
    assert set(lines[-1]["agreement"]) == {1.0}
    assert all(0.0 <= share <= 1.0 for share in lines[0]["agreement"])


def test_losses_that_are_not_numbers_are_null_in_metrics(tmp_path: Path):
    trained = train_rung(LINEAR, problem("sum", samples=64), Settings(), CPU)
    diverged = replace(trained.history[0], hard_loss=(float("inf"), 1.0))
    with begin(tmp_path, "sum", Settings()) as folder:
        write_metrics(folder, [diverged])
    assert json.loads((tmp_path / "metrics.jsonl").read_text())["hard_loss"] == [None, 1.0]


def test_a_model_is_the_same_after_saving(tmp_path: Path):
    trained = train_rung(LINEAR, problem("spring", samples=128), Settings(), CPU)
    trained.save(tmp_path / "model.safetensors")
    loaded = Trained.load(tmp_path / "model.safetensors")
    assert loaded.header() == trained.header()
    for name, value in trained.weights.tensors().items():
        assert np.array_equal(loaded.weights.tensors()[name], value)


@pytest.mark.slow
def test_a_run_that_stopped_at_its_time_limit_can_go_on(tmp_path: Path):
    settings = Settings(recipe="paper", samples=512, epochs=1, length=5, time_limit=1e-9)
    data = problem_of("Div_5", settings)
    with begin(tmp_path, "Div_5", settings) as folder:
        assert train(data, settings, folder).unfinished  # the first rung was cut short: it is all there is
        assert list(folder.checkpoint.iterdir()) == []
        assert not folder.trained
        longer = replace(settings, time_limit=1000.0)
        train(data, longer, folder)
        assert folder.trained
    stages = [json.loads(line)["stage"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert len(stages) == len(set(stages)) == 8


@pytest.mark.slow
def test_a_rung_under_way_is_cut_short_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = Settings(layers=1, heads=1, members=1, samples=128, epochs=3, length=5)
    data = problem_of("Parity_Last4", settings)
    monkeypatch.setattr(search, "CHECKPOINT_INTERVAL", 0.0)
    with begin(tmp_path / "whole", "Parity_Last4", settings) as folder:
        whole = train(data, replace(settings, time_limit=1e6), folder)
    short = replace(settings, time_limit=0.15 * whole.work)
    with begin(tmp_path / "cut", "Parity_Last4", settings) as folder:
        cut = train(data, short, folder)
        assert cut.unfinished
        assert 0 < len(cut.history) < len(whole.history)
        assert not folder.trained
        trained = train(data, replace(settings, time_limit=1e6), folder)
        assert folder.trained
    assert not trained.unfinished
    assert trained.losses == whole.losses
    assert [e.hard_loss for e in trained.history] == [e.hard_loss for e in whole.history]


def test_a_complete_run_is_not_trained_again(tmp_path: Path):
    settings = Settings(samples=256)
    data = problem_of("sum", settings)
    with begin(tmp_path, "sum", settings) as folder:
        train(data, settings, folder)
        before = folder.file("model.safetensors").stat().st_mtime_ns
        assert train(data, settings, folder).fitted
        assert folder.file("model.safetensors").stat().st_mtime_ns == before


def test_devices():
    assert pick_device("cpu") == CPU
    if not torch.cuda.is_available():
        assert pick_device("auto") == CPU
        with pytest.raises(InputError, match="no CUDA device"):
            pick_device("cuda")
