"""Rules with a state that no output shows: the climb of a problem to which its state was added.

It is begun where the rows show that visible values are not enough, before anything else is trained; and once
more after the last rung, if what was visible has not led to a rule. All that such a rule reads is the
present and the last state, so little is trained. The machine that the states come from has rules of its own
by then, fitted to it up to the names of the states; they are taken if what is read from the network is
longer, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from weights2code.data import Problem
from weights2code.effort import time_is_up
from weights2code.extraction.climb import Climb
from weights2code.extraction.extract import right_borders
from weights2code.extraction.judge import judged, with_caveat
from weights2code.extraction.members import fits, member
from weights2code.extraction.values import Extraction
from weights2code.memory.find import FEW_SEQUENCES, Remembering
from weights2code.memory.hidden import Memory, with_memory
from weights2code.memory.through_addend import through_addend
from weights2code.program import Origin
from weights2code.run_folder import RunFolder
from weights2code.settings import Settings
from weights2code.simplify.cost import recurrence_cost

if TYPE_CHECKING:
    from weights2code.training.ladder import Rung
    from weights2code.training.search import Progress, Trained

#: More states than this may give way to a lookup.
MANY_STATES = 12
#: The cost of rules than which nothing shorter is read from a network.
LONG = 30.0
#: The place of its checkpoints.
PART = "hidden"


@dataclass(slots=True, eq=False)
class HiddenClimb:
    """The climb with a state, where there is one; `found` if it ended with a program that is verified."""

    climb: Climb
    settings: Settings
    folder: RunFolder | None = None
    progress: Progress | None = None
    found: Climb | None = None
    _tried: bool = False
    _early: bool = False
    _postponed: bool = False
    _remembering: Remembering = field(init=False)

    def __post_init__(self) -> None:
        self._remembering = Remembering(self._uncut)

    @property
    def _uncut(self) -> Problem:
        """Sequences from their true start."""
        return self.climb.problem.uncut or self.climb.problem

    def at_once(self) -> bool:
        """Before anything is trained: whether that is the end. A few long sequences take seconds to follow,
        so what only adds numbers is trained before."""
        if len(self._uncut.training) < FEW_SEQUENCES and not self._postponed:
            self._postponed = True
            return False
        self._postponed = False
        return self._allowed() and self._try(self._remembering.at_once(self._by_extremum, self._by_lookup))

    def before(self, rung: Rung, summed: bool) -> bool:
        """Before a rung is trained: whether that is the end. A sum has no end, which no network follows where
        remainders are taken of it, so a few states with a short rule come before one; and before functions of
        far more values than there are states."""
        if self._tried or not self._allowed():
            return False
        if self._postponed and rung.sizes.get("submlps") and self.at_once():
            return True
        if summed:
            return self.climb.problem.reference is not None and self._try(self._remembering.short())
        if self._early or not rung.sizes.get("submlps"):
            return False
        self._early = True
        return self._try(self._remembering.early() or through_addend(self._uncut))

    def at_last(self) -> None:
        """After the last rung: what is visible may be all that is needed, and has had its chance."""
        if not self._tried and self._allowed() and not time_is_up():
            self._try(self._remembering.later())

    def _by_extremum(self) -> bool:
        """Whether an extremum of everything so far remembers all that is needed."""
        from weights2code.training.repeats import extrema

        return next(extrema(self._uncut), None) is not None

    def _by_lookup(self, states: int) -> bool:
        """Whether a lookup may stand in the place of many states. A sum, which has no end, is no shorter."""
        from weights2code.training.repeats import repeated_rows

        found = next(repeated_rows(self._uncut), None) if states > MANY_STATES else None
        return found is not None and all(memory.kind not in ("sum", "mean") for memory in found.memories)

    def _allowed(self) -> bool:
        settings = self.settings
        return not (settings.asked_for() or settings.hide) and settings.layout in ("auto", "autoregressive")

    def _try(self, memory: Memory | None) -> bool:
        if memory is None:
            return False
        self._tried = True
        hidden = Climb(with_memory(self.climb.problem, memory), self.climb.log, memory=memory)
        _climb(hidden, self.settings, self.folder, self.progress)
        if hidden.verified:
            self.found = hidden
        return hidden.verified


def _climb(hidden: Climb, settings: Settings, folder: RunFolder | None, progress: Progress | None) -> None:
    """Train until a program is verified."""
    from weights2code.training.train import rungs_of

    for trained in rungs_of(hidden.problem, settings, folder, progress, part=PART):
        extract_hidden(hidden, trained)
        if hidden.verified or time_is_up():
            break


def extract_hidden(hidden: Climb, trained: Trained) -> None:
    """What is read from the network, or the machine's own rules if they are right and shorter.

    A network that does not fit is not read if those are right: it will be made for them. Nor is one of a
    table or of a long rule, which would be read as another table.
    """
    assert hidden.memory is not None
    own = _own_rules(hidden, trained)
    right = own is not None and own.certificate.verified
    long = hidden.memory.table or _cost(own) > LONG
    if not right or (fits(trained, 0, hidden.problem) and not long):
        hidden.rung(trained)
    else:
        hidden.climbed.append(trained)
    if right and (not hidden.verified or _cost(own) < _cost(hidden.best)):
        hidden.best, hidden.source = own, trained


def _own_rules(hidden: Climb, trained: Trained) -> Extraction | None:
    """The program of the machine's own rules, if there are any."""
    assert hidden.memory is not None
    rules = hidden.memory.recurrence(hidden.problem.asked)
    if rules is None:
        return None
    best = member(trained, 0, hidden.problem)
    origin = Origin.TABLE if hidden.memory.table else Origin.STATES
    found = judged(rules, origin, hidden.problem, hidden.log.seed, best.matched)
    found = replace(right_borders(found, hidden.problem, hidden.log), member=best.index)
    if not best.fits:
        found = replace(found, certificate=with_caveat(found.certificate))
    hidden.log.found(best, hidden.problem.regime, found)
    return found


def _cost(extraction: Extraction | None) -> float:
    return float("inf") if extraction is None else recurrence_cost(extraction.program.recurrence)
