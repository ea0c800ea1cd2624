"""Thin heads: a finished member keeps only what its output needs.

The linear head that is solved in closed form gives some weight to every variable of the stream, needed or
not, and whatever has weight must be read and explained afterwards. Its least-squares problem is small, so
variables are dropped one by one, the deepest first, where the loss stays about what it was without them.
They are masked for the head, so that tuning goes on without them.
"""

from __future__ import annotations

import numpy as np
import torch

from weights2code.model import HARD, DiscreteTransformer
from weights2code.training.step import Batch, target_variance

#: The loss may grow by this factor, or to this, relative to the variance.
MAY_GROW = 1.2
NEGLIGIBLE = 1e-5
#: Relative to each variable's own mean square.
RIDGE = 1e-9


def thin_heads(model: DiscreteTransformer, data: Batch, negligible: float = NEGLIGIBLE) -> None:
    """Mask for each member's head the variables that it can do without."""
    channels, targets, scored = data
    with torch.no_grad():
        columns = model.stream(channels, HARD).flatten(2)[:, :, scored.flatten()].double()
        columns = torch.cat([columns, torch.ones_like(columns[:, :1])], 1)
        wanted = targets[:, scored].double() / target_variance(targets, scored).sqrt()[:, None]
        count, outputs = wanted.shape[1], wanted.shape[0]
        gram = (columns @ columns.transpose(1, 2) / count).cpu().numpy()
        right = (columns @ wanted.T / (count * outputs)).cpu().numpy()
    total = float(wanted.square().mean())
    for member in range(model.members):
        free = model.variable_mask[member].cpu().numpy()
        if not np.isfinite(gram[member]).all():
            continue
        kept = _needed(gram[member], right[member], outputs, total, np.flatnonzero(free), negligible)
        mask = torch.zeros_like(model.variable_mask[member])
        mask[kept] = True
        model.variable_mask[member] = mask


def _needed(
    gram: np.ndarray, right: np.ndarray, outputs: int, total: float, kept: np.ndarray, negligible: float
) -> list[int]:
    """The variables that are left; the intercept, the last column, always stays."""
    size = np.sqrt(np.maximum(gram.diagonal(), 1e-300))
    gram, right = gram / np.outer(size, size), right / size[:, None]

    def loss(variables: list[int]) -> float:
        chosen = [*variables, len(gram) - 1]
        part = gram[np.ix_(chosen, chosen)] + RIDGE * np.eye(len(chosen))
        return total - outputs * float((np.linalg.solve(part, right[chosen]) * right[chosen]).sum())

    left = [int(variable) for variable in kept]
    allowed = max(MAY_GROW * loss(left), negligible)
    for variable in reversed(kept.tolist()):
        fewer = [other for other in left if other != variable]
        if loss(fewer) <= allowed:
            left = fewer
    return left
