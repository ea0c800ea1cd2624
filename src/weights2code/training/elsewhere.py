"""Weights that were trained elsewhere, as a run folder: `w2c extract` reads a program from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from weights2code.data import Layout
from weights2code.errors import InputError
from weights2code.model import DiscreteTransformer
from weights2code.run_folder import MODEL, begin
from weights2code.settings import Settings
from weights2code.source import Source, problem_of, task_named
from weights2code.training.loop import to_batch
from weights2code.training.search import rank
from weights2code.training.storage import check_layout


def save_network(
    model: DiscreteTransformer, layout: Layout, folder: Path | str, source: Source, **settings: Any
) -> Path:
    """Leave a trained ensemble in a run folder, from where `w2c extract` reads a program.

    Parameters
    ----------
    model
        The ensemble; its members are sorted by the loss of what their argmax computes.
    layout
        How it was fed: what `fit_layout` gave, or a `Layout` with scales of one's own.
    folder
        A place that is empty, or a run folder of the same source and settings.
    source
        What it was trained on: a built-in task, `"file.py:name"`, or a `FileSource`.
    settings
        Those of `Settings` that differ from the defaults, such as `seed`.
    """
    named = task_named(source) if isinstance(source, str) else source
    chosen = Settings(**settings)
    problem, weights = problem_of(named, chosen), model.weights().double()
    try:
        check_layout(weights, layout, problem)
    except ValueError as error:
        raise InputError(f"the model does not fit {problem.name}: {error}.") from None
    validation = to_batch(layout.encode(problem.validation, np.float64), torch.device("cpu"))
    trained = rank("elsewhere", "annealed", "learned", layout, weights.module(), validation, problem)
    with begin(folder, named, chosen) as opened:
        if opened.has(MODEL):
            raise InputError(f"{opened.path} holds a model already; choose another folder.")
        trained.save(opened.file(MODEL))
        return opened.path
