"""Rules with a state that no output shows: the climb of a problem to which its state was added.

It is begun where the rows show that visible values are not enough, before anything else is trained. A window
of one position is all that the rule of a state reads, so nothing larger is trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weights2code.extraction.climb import Climb
from weights2code.memory.find import memory_of
from weights2code.memory.hidden import with_memory
from weights2code.run_folder import RunFolder
from weights2code.settings import Settings

if TYPE_CHECKING:
    from weights2code.training.search import Progress

#: The place of its checkpoints.
PART = "hidden"


def climb_hidden(
    climb: Climb, settings: Settings, folder: RunFolder | None = None, progress: Progress | None = None
) -> Climb | None:
    """The climb of the problem with its state, if that ends with a program that is verified."""
    from weights2code.training.train import rungs_of

    if settings.asked_for() or settings.hide or settings.layout not in ("auto", "autoregressive"):
        return None
    memory = memory_of(climb.problem)
    if memory is None:
        return None
    hidden = Climb(with_memory(climb.problem, memory), climb.log, memory=memory)
    for trained in rungs_of(hidden.problem, settings, folder, progress, part=PART):
        if hidden.rung(trained) or trained.kind == "window":
            break
    return hidden if hidden.verified else None
