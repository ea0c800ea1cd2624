"""Rules that look a season back, where the data have one or the user says so.

Nothing else looks that far. The values near the present and near a season ago are a dozen columns: which of
them a linear rule needs is a matter of least squares, and a network wired to just those is solved at once. If
a linear rule will not do, one layer of sub-MLPs reads the present, the last row, and the same a season ago.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import time_is_up
from weights2code.extraction.climb import Climb
from weights2code.extraction.values import Log
from weights2code.settings import Settings

if TYPE_CHECKING:
    from weights2code.training.ladder import Rung

#: Rows back that are offered on either side of the present, and of a season ago.
NEAR = 2
#: Values of a linear rule, at most; one more must explain this share of what is left.
MOST_TERMS = 8
GAIN = 0.02
#: A linear rule that leaves less than this share of the variance is the rule.
EXACT = 1e-10
#: Scored rows that least squares look at.
MOST_ROWS = 20_000

#: A channel, counted over inputs and past outputs, and how many rows back: a past output is one row back.
Leaf = tuple[int, int]


def climb_seasonal(problem: Problem, settings: Settings) -> Climb | None:
    """The climb that found a rule with a season in it; None if there is no season, or no such rule."""
    seasonal = problem.seasonal
    if seasonal is None or settings.asked_for() or settings.hide or settings.layout == "concat":
        return None
    from weights2code.training.search import pick_device, train_rung
    from weights2code.training.train import THREADS, torch

    torch.set_num_threads(THREADS)
    climb = Climb(seasonal, Log(settings.seed, settings.lowest_cut))
    for rung in season_rungs(seasonal):
        if time_is_up():
            break
        trained = train_rung(rung, seasonal, settings, pick_device(settings.device), some=True)
        if climb.rung(trained) and climb.verified:
            break
    return climb if climb.verified and _looks_back(climb, seasonal) else None


def _looks_back(climb: Climb, problem: Problem) -> bool:
    """Whether the rule reads anything of a season ago: else the ladder finds it, and has more to say."""
    assert climb.best is not None
    assert problem.season is not None
    return max(climb.best.program.recurrence.depths().values(), default=0) >= problem.season - NEAR


def season_rungs(problem: Problem) -> Iterator[Rung]:
    """A linear rung of the values that least squares choose, then one of functions of likely values."""
    from weights2code.training.ladder import MOST_OPERANDS, Rung, Variant
    from weights2code.training.recipes import Recipe

    season, inputs, outputs = problem.season, len(problem.inputs), len(problem.outputs)
    assert season is not None
    window = {"layers": 1, "window": season + NEAR + 1, "learned_start": False}

    def rung(name: str, leaves: tuple[Leaf, ...], recipe: Recipe, members: int, **sizes: Any) -> Rung:
        further = sum(offset > 0 for _, offset in leaves)
        made = {**window, "location": further, "arity": max(1, len(leaves)), **sizes}
        return Rung(name, made, recipe, (Variant(members),), kind="window", leaves=leaves)

    chosen, left = linear_leaves(problem)
    if chosen:
        yield rung("season", chosen, Recipe(epochs=0, tune_steps=0), 1, submlps=0)
    if left <= EXACT:
        return
    near = [(channel, 0) for channel in range(inputs + outputs)]
    back = [(channel, season - (channel >= inputs)) for channel in range(inputs + outputs)]
    wide = Recipe(epochs=8, steps_per_epoch=50, head="projected", noise=0.0, batch=32)
    yield rung("season window", tuple(near + back)[:MOST_OPERANDS], wide, 3, submlps=outputs, hidden=64)


def linear_leaves(problem: Problem) -> tuple[tuple[Leaf, ...], float]:
    """The values that a linear rule needs, added one by one, and the share of the variance that it leaves."""
    season, inputs, outputs = problem.season, len(problem.inputs), len(problem.outputs)
    assert season is not None
    offered: list[Leaf] = []
    for channel in range(inputs + outputs):
        shift = int(channel >= inputs)
        offered += [(channel, offset) for offset in range(NEAR + 1)]
        around = range(season - shift - NEAR + 1, season - shift + NEAR)
        offered += [(channel, offset) for offset in around if offset > NEAR]
    columns, targets = leaf_columns(offered, problem.training, inputs)
    targets = targets - targets.mean(0)
    columns = columns - columns.mean(0)
    spread = (targets**2).sum(0)
    chosen: list[int] = []
    left = 1.0
    while len(chosen) < MOST_TERMS and left > EXACT:
        trials = [index for index in range(len(offered)) if index not in chosen]
        scores = [_left(columns[:, [*chosen, index]], targets, spread) for index in trials]
        if not scores or min(scores) > (1 - GAIN) * left:
            break
        left = min(scores)
        chosen.append(trials[int(np.argmin(scores))])
    return tuple(offered[index] for index in sorted(chosen)), left


def leaf_columns(leaves: list[Leaf], sequences: Sequences, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of leaves at scored rows, and the targets there."""
    past = np.concatenate([np.zeros_like(sequences.y[:, :1]), sequences.y[:, :-1]], 1)
    channels = np.concatenate([sequences.x, past], 2)
    where, at = np.nonzero(sequences.scored)
    step = 1 + len(at) // MOST_ROWS
    where, at = where[::step], at[::step]
    columns = [channels[where, at - offset, channel] for channel, offset in leaves]
    return np.stack(columns, 1), sequences.y[where, at]


def _left(columns: np.ndarray, targets: np.ndarray, spread: np.ndarray) -> float:
    """The largest share of a target's variance that these columns leave."""
    weights = np.linalg.lstsq(columns, targets, rcond=None)[0]
    return float(np.max(((targets - columns @ weights) ** 2).sum(0) / np.maximum(spread, 1e-300)))
