"""What a run remembers, in its folder: the problem of a folder is that of its source and of this file."""

from __future__ import annotations

import json

from weights2code.data import Problem
from weights2code.errors import InputError
from weights2code.memory.hidden import Memory, with_memory
from weights2code.run_folder import GRAPH, MEMORY, MODEL, RunFolder
from weights2code.source import problem_of


def problem_in(folder: RunFolder) -> Problem:
    """The problem of a run folder, with its memory if it has one."""
    return remembered(problem_of(folder.source, folder.settings), folder)


def remembered(problem: Problem, folder: RunFolder) -> Problem:
    """The problem of the folder's source with what the folder remembers, and as far back as it looks."""
    seasonal = problem.seasonal
    if seasonal is not None and _sees(folder, seasonal):
        return seasonal
    memory = memory_in(folder, problem)
    return problem if memory is None else with_memory(problem, memory)


def _sees(folder: RunFolder, seasonal: Problem) -> bool:
    """Whether what the folder holds, a graph or else a model, looks a season back."""
    if folder.has(GRAPH):
        graph = folder.read_json(GRAPH)
        return isinstance(graph, dict) and graph.get("length") == seasonal.length
    if not folder.has(MODEL):
        return False
    from weights2code.training.search import Trained

    architecture = Trained.load(folder.file(MODEL), seasonal).model.architecture
    return seasonal.season is not None and architecture.window > seasonal.season


def memory_in(folder: RunFolder, problem: Problem) -> Memory | None:
    """What the folder remembers of the problem of its source; nothing in it is believed unchecked."""
    if not folder.has(MEMORY):
        return None
    try:
        return Memory.from_dict(folder.read_json(MEMORY), problem)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(
            f"{folder.file(MEMORY)} is damaged ({error}); make it again with another --out."
        ) from None


def leave_memory(memory: Memory, folder: RunFolder) -> None:
    """Write what a run remembers."""
    folder.write(MEMORY, json.dumps(memory.to_dict()) + "\n")
