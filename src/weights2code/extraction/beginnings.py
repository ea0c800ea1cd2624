"""Rules over everything so far, such as an average since the start, in long sequences of own data.

Windows cannot show them: what lies before a window is cut off. So the rungs that need no annealing are first
tried on the uncut beginnings, which costs a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from weights2code.data import Problem
from weights2code.results import Extraction
from weights2code.run_folder import RunFolder
from weights2code.settings import Settings

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: Rungs that are tried, and the loss that will do.
FIRST_RUNGS = 2
NEARLY_FITS = 1e-3

#: A trained rung, the problem and the settings -> what its members give.
Extractions = Callable[["Trained", Problem, Settings], Iterator[Extraction]]


def since_the_start(
    problem: Problem, settings: Settings, folder: RunFolder | None, extractions: Extractions
) -> tuple[Extraction, Trained] | None:
    """The program of the first rungs that is verified, if it needs everything so far; else None."""
    from weights2code.training.train import rungs_of, write_metrics

    assert problem.beginnings is not None
    whole = replace(problem, training=problem.beginnings, validation=problem.beginnings)
    for trained in islice(rungs_of(whole, settings), FIRST_RUNGS):
        if trained.rung == "linear" and trained.fitted:
            return None  # no need of everything so far: windows will do
        if trained.rung == "linear" or trained.losses[0] > NEARLY_FITS:
            continue
        for extraction in extractions(trained, whole, settings):
            if extraction.certificate.verified:
                if folder:
                    write_metrics(folder, list(trained.history))
                return extraction, trained
    return None
