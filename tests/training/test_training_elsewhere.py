"""Weights that were trained elsewhere: saved as they are, judged, and refused where they do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from weights2code import save_network, tasks
from weights2code.data import fit_layout, from_task
from weights2code.errors import InputError
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.training.storage import Trained


def made(channels: int = 1) -> DiscreteTransformer:
    sizes = Architecture(channels=channels, outputs=1, layers=1, location=1, submlps=1, arity=2, window=4)
    return DiscreteTransformer(sizes, members=3, seed=0)


def test_weights_are_saved_as_they_are(tmp_path: Path):
    problem = from_task(tasks.get("parity_last2"), samples=100, seed=0)
    layout, model = fit_layout("tagging", problem.training), made()
    folder = save_network(model, layout, tmp_path / "run", "Parity_Last2", seed=3)
    config = json.loads((folder / "config.json").read_text())
    assert config["source"] == "parity_last2"
    assert config["settings"]["seed"] == 3
    found = Trained.load(folder / "model.safetensors", problem)
    assert list(found.losses) == sorted(found.losses)
    assert not found.fitted
    heads = {tuple(head.flatten().tolist()) for head in model.head.double()}
    assert {tuple(head.flatten().tolist()) for head in found.model.head} == heads
    assert torch.equal(model.head, made().head)
    with pytest.raises(InputError, match="holds a model already"):
        save_network(model, layout, tmp_path / "run", "parity_last2", seed=3)


def test_a_model_of_other_columns_is_refused(tmp_path: Path):
    layout = fit_layout("tagging", from_task(tasks.get("parity_last2"), samples=100, seed=0).training)
    with pytest.raises(InputError, match="the model does not fit parity_last2"):
        save_network(made(channels=2), layout, tmp_path / "run", "parity_last2")
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="there is no task called"):
        save_network(made(), layout, tmp_path / "run", "nothing")
