"""Rules that look a season back (`training.seasons`): read, certified, and taken if they do."""

from __future__ import annotations

from weights2code.data import Problem
from weights2code.extraction.climb import Climb
from weights2code.extraction.values import Log
from weights2code.settings import Settings


def climb_seasonal(problem: Problem, settings: Settings) -> Climb | None:
    """The climb that found a rule with a season in it; None if there is no season, or no such rule."""
    from weights2code.training.seasons import seasonal_of, train_seasonal
    from weights2code.training.train import THREADS, torch

    seasonal = seasonal_of(problem, settings)
    if seasonal is None:
        return None
    torch.set_num_threads(THREADS)
    climb = Climb(seasonal, Log(settings.seed, settings.lowest_cut))
    for trained in train_seasonal(seasonal, settings):
        if climb.rung(trained) and climb.verified:
            break
    return climb if climb.verified and _looks_back(climb, seasonal) else None


def _looks_back(climb: Climb, problem: Problem) -> bool:
    """Whether the rule reads anything of a season ago: else the ladder finds it, and has more to say."""
    from weights2code.training.seasons import NEAR

    assert climb.best is not None
    assert problem.season is not None
    return max(climb.best.program.recurrence.depths().values(), default=0) >= problem.season - NEAR
