"""Rules over everything so far, such as an average since the start, in long sequences of own data.

Windows cannot show them: what lies before a window is cut off. So the rungs that need no annealing are first
tried on the uncut beginnings, which costs a moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from weights2code.data import Problem
from weights2code.settings import Settings

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: Rungs that are tried, and the loss that will do.
FIRST_RUNGS = 2
NEARLY_FITS = 1e-3


def uncut(problem: Problem) -> Problem:
    """The problem with the beginnings in place of windows; unchanged if nothing was cut."""
    if problem.beginnings is None:
        return problem
    return replace(problem, training=problem.beginnings, validation=problem.beginnings)


def uncut_rungs(problem: Problem, settings: Settings) -> Iterator[Trained]:
    """The first rungs, trained on the beginnings, as far as everything so far is needed and nearly fits."""
    from weights2code.training.train import rungs_of

    if problem.beginnings is None or settings.recipe != "fast" or settings.fixed_architecture():
        return
    for trained in islice(rungs_of(uncut(problem), settings), FIRST_RUNGS):
        linear = trained.rung == "linear"
        if linear and trained.fitted:
            return  # no need of everything so far: windows will do
        if not linear and trained.losses[0] <= NEARLY_FITS:
            yield trained
