"""Rules over everything so far, such as an average since the start, in long sequences of own data.

Windows cannot show them: what lies before a window is cut off. So the rungs that need no annealing are first
tried on the uncut beginnings, which costs a moment.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from weights2code.data import Problem, Regime
from weights2code.extraction.climb import Climb
from weights2code.extraction.extract import extract
from weights2code.settings import Settings

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: Rungs that are tried, and the loss that will do.
FIRST_RUNGS = 2
NEARLY_FITS = 1e-3


def climb_uncut(climb: Climb, settings: Settings) -> Trained | None:
    """The first rung, trained on the beginnings, whose program is verified and needs them; None if none."""
    from weights2code.training.train import rungs_of

    problem = climb.problem
    if problem.beginnings is None or settings.asked_for():
        return None
    rungs = rungs_of(_uncut(problem), settings, before=lambda rung, _: rung.kind == "annealed")
    for trained in islice(rungs, FIRST_RUNGS):
        linear = trained.kind == "linear"
        if linear and trained.fitted:
            return None  # no need of everything so far: windows will do
        if not linear and trained.losses[0] <= NEARLY_FITS and extract_uncut(climb, trained):
            return trained
    return None


def extract_uncut(climb: Climb, trained: Trained) -> bool:
    """Extract a rung that was trained on the beginnings; whether its program is verified, and taken."""
    if climb.problem.beginnings is None:
        return False
    found = extract(trained, _uncut(climb.problem), Regime.EXACT, climb.log)
    if found is None or not found.certificate.verified:
        return False
    climb.take(found, trained)
    return True


def _uncut(problem: Problem) -> Problem:
    """The beginnings in place of windows."""
    assert problem.beginnings is not None
    return replace(problem, training=problem.beginnings, validation=problem.beginnings)
