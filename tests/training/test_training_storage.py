"""Weights and checkpoints that somebody damaged: refused before a model is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code.errors import InputError
from weights2code.run_folder import begin
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training import search, storage
from weights2code.training.storage import Trained
from weights2code.training.train import train

SETTINGS = Settings(samples=128, layers=1, heads=1, submlps=1, epochs=2, members=2)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    with begin(path / "run", "sum_last2", SETTINGS) as folder:
        train(problem_of("sum_last2", SETTINGS), SETTINGS, folder)
    return path / "run" / "model.safetensors"


def changed(model: Path, place: Path, header: dict[str, Any], **tensors: Any) -> Path:
    """A copy with other values in its header, and other tensors (None drops one)."""
    stored, told = storage.read_tensors(model)
    for name, make in tensors.items():
        old = stored.pop(f"model.{name}")
        if make is not None:
            stored[f"model.{name}"] = make(old)
    told["weights"] |= {name: value for name, value in header.items() if name in told["weights"]}
    storage.write_tensors(place / "changed.safetensors", stored, told | header)
    return place / "changed.safetensors"


@pytest.mark.parametrize(
    "header",
    [
        {"members": 10**9},
        {"members": "2"},
        {"architecture": {"channels": 10**9}},
        {"architecture": {"layers": 10**5, "location": 10**5}},
        {"architecture": []},
        {"layout": {"name": "sideways", "input_scales": [1], "output_scales": [1], "first_scored": 0}},
        {"layout": {"name": "tagging", "input_scales": [1] * 3, "output_scales": [1], "first_scored": 0}},
        {"value_range": [0]},
        {"losses": [0.0]},
        {"losses": ["small", "small"]},
        {"kind": "magic"},
        {"fitted": "yes"},
        {"history": [3]},
        {"seconds": None},
    ],
)
def test_a_header_that_does_not_fit_is_refused(model: Path, header: dict[str, Any], tmp_path: Path):
    with pytest.raises(InputError, match="does not hold a trained model"):
        Trained.load(changed(model, tmp_path, header))


@pytest.mark.parametrize(
    "make",
    [
        None,
        lambda old: old[:1],
        lambda old: old[:, :, :1],
        lambda old: old.astype(np.float16),
        lambda old: old.astype(np.int64),
        lambda old: np.full_like(old, np.nan),
    ],
)
def test_weights_that_do_not_fit_are_refused(model: Path, make: Any, tmp_path: Path):
    with pytest.raises(InputError, match="does not hold a trained model"):
        Trained.load(changed(model, tmp_path, {}, head=make))


def test_a_model_of_other_columns_is_refused(model: Path):
    with pytest.raises(InputError, match="other columns than those of"):
        Trained.load(model, problem_of("bit_addition", Settings(samples=64)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda tensors, header: tensors.update({"optimizer.0.exp_avg": np.zeros(1)}),
        lambda tensors, header: tensors.pop("optimizer.0.step"),
        lambda tensors, header: tensors.update({"choices.0": np.zeros((1, 1))}),
        lambda tensors, header: tensors.update({"model.head": np.zeros((0, 1, 1))}),
        lambda tensors, header: header.update(epoch=10**9),
        lambda tensors, header: header.update(epoch="1"),
        lambda tensors, header: header.update(history=[]),
    ],
)
def test_a_damaged_checkpoint_is_refused(damage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search, "CHECKPOINT_INTERVAL", 0.0)
    problem = problem_of("sum_last2", SETTINGS)

    def stop(rung: str, epoch: int, *_: object) -> None:
        raise KeyboardInterrupt

    with begin(tmp_path, "sum_last2", SETTINGS) as folder:
        with pytest.raises(KeyboardInterrupt):
            train(problem, SETTINGS, folder, stop)
        current = folder.checkpoint / "current.safetensors"
        tensors, header = storage.read_tensors(current)
        damage(tensors, header)
        storage.write_tensors(current, tensors, header)
        with pytest.raises(InputError, match="does not fit this run"):
            train(problem, SETTINGS, folder)


@pytest.mark.parametrize("value", [0, 1])
def test_choices_that_are_none_are_refused(model: Path, value: int, tmp_path: Path):
    """All options ruled out, or those allowed that only a later choice has."""
    tensors, header = storage.read_tensors(model)
    tensors["mask.choice_mask"] = np.full_like(tensors["mask.choice_mask"], value)
    storage.write_tensors(tmp_path / "changed.safetensors", tensors, header)
    with pytest.raises(InputError, match="has no option, or one that is not there"):
        Trained.load(tmp_path / "changed.safetensors")
