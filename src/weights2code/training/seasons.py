"""Rungs that look a season back, where the data have one or the user says so.

Nothing else looks that far. The values near the present and near a season ago are a dozen columns: which of
them a linear rule needs is a matter of least squares, and a network wired to just those is solved at once. If
a linear rule will not do, one layer of sub-MLPs reads the present, the last row, and the same a season ago.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import TimeUp, time_is_up
from weights2code.graph import RouterNode, prune_by_effect
from weights2code.graph.from_model import graph_of
from weights2code.settings import Settings
from weights2code.training.ladder import MOST_OPERANDS, Rung, Variant
from weights2code.training.recipes import Recipe
from weights2code.training.search import Progress, Trained, pick_device, train_rung

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
#: Sequences that say what a network needs.
PRUNED_ON = 64


def seasonal_of(problem: Problem, settings: Settings) -> Problem | None:
    """The problem in windows that see a season, if there is one and nothing else was asked for."""
    if settings.asked_for() or settings.hide or settings.layout == "concat":
        return None
    return problem.seasonal


def train_seasonal(
    problem: Problem, settings: Settings, progress: Progress | None = None
) -> Iterator[Trained]:
    """Train the rungs that look a season back, one after the other; the caller decides when to stop."""
    for rung in season_rungs(problem):
        if time_is_up():
            return
        try:
            yield train_rung(rung, problem, settings, pick_device(settings.device), None, progress, some=True)
        except TimeUp:
            return


def fitting_seasonal(
    problem: Problem, settings: Settings, progress: Progress | None = None
) -> Trained | None:
    """The first rung that fits and reads something of a season ago: else the ladder finds it."""
    seasonal = seasonal_of(problem, settings)
    if seasonal is None:
        return None
    trained = (found for found in train_seasonal(seasonal, settings, progress) if found.fitted)
    return next((found for found in trained if reads_a_season(found, seasonal)), None)


def reads_a_season(trained: Trained, problem: Problem) -> bool:
    """Whether the best member needs anything of a season ago."""
    assert problem.season is not None
    graph = graph_of(trained.model, 0, trained.layout, problem)
    graph = prune_by_effect(graph, *graph.encode(problem.validation.take(slice(0, PRUNED_ON))))
    heads = [node for node in (graph.nodes[i] for i in graph.live()) if isinstance(node, RouterNode)]
    return any(node.offset is not None and node.offset >= problem.season - NEAR for node in heads)


def season_rungs(problem: Problem) -> Iterator[Rung]:
    """A linear rung of the values that least squares choose, then one of functions of likely values."""
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
