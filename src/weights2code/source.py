"""Where a run's sequences come from: a source and the settings make the problem, every time the same.

Later stages build the problem again instead of reading it from the run folder, so nothing in a folder is
ever executed or trusted as data. A file of own data is bound to the run by its content.
"""

from __future__ import annotations

from weights2code import tasks
from weights2code.data import FileSource, Problem, from_file, from_task
from weights2code.errors import InputError
from weights2code.settings import Settings
from weights2code.tasks.task_file import TaskFile, is_task_file, load_task, task_file

#: The name of a built-in task, a task of one's own, or a file of own data.
Source = str | TaskFile | FileSource

#: Training sequences that each recipe draws.
SAMPLES = {"fast": 8192, "paper": 1_000_000}
#: Positions of all of them: more would take gigabytes, and a folder that asks for them may not be one's own.
MOST_POSITIONS = 50_000_000


def canonical(source: str) -> str:
    """The one name of a source that has several; raises InputError for an unknown one."""
    return tasks.get(source).name


def task_named(text: str) -> str | TaskFile:
    """The task that a command names: a built-in one, or `file.py:name`."""
    return task_file(text) if is_task_file(text) else canonical(text)


def problem_of(source: Source, settings: Settings) -> Problem:
    """The problem that a run is about."""
    if isinstance(source, FileSource):
        if settings.samples is not None or settings.length is not None:
            raise InputError("a file holds what it holds: leave out --samples and --length.")
        return from_file(source, settings.seed)
    task = load_task(source) if isinstance(source, TaskFile) else tasks.get(source)
    samples, length = settings.samples or SAMPLES[settings.recipe], settings.length or task.length
    if samples * length > MOST_POSITIONS:
        raise InputError(
            f"{samples} sequences of length {length} are more than {MOST_POSITIONS} positions; ask for fewer."
        )
    return from_task(task, samples, settings.seed, length=length)
