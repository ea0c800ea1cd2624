"""Where a run's sequences come from: a name and the settings make the problem, every time the same.

Later stages build the problem again instead of reading it from the run folder, so nothing in a folder is
ever executed or trusted as data.
"""

from __future__ import annotations

from weights2code import tasks
from weights2code.data import Problem, from_task
from weights2code.settings import Settings

#: Training sequences that each recipe draws.
SAMPLES = {"fast": 8192, "paper": 1_000_000}


def canonical(source: str) -> str:
    """The one name of a source that has several; raises InputError for an unknown one."""
    return tasks.get(source).name


def problem_of(source: str, settings: Settings) -> Problem:
    """The problem that a run is about."""
    samples = settings.samples or SAMPLES[settings.recipe]
    return from_task(tasks.get(source), samples, settings.seed, length=settings.length)
