"""Words for formal languages: random symbols alone would hardly ever give a word of most of them.

The machine of the language is explored once, so that it is known which symbols lead towards its words, which
away from them, and which make the answer certain for ever. Some sequences are uniform. The others each take a
certain care to come to words of the language and do nothing that could not be made good; some of them only up
to a time, and go the other way from then on. So both answers are common at every length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf

import numpy as np

from weights2code.language import Domain, Recurrence
from weights2code.language.walking import walked

#: Sequences are uniform, take care until some time and then do the opposite, or take care to their end: the
#: shares before the second and before the third kind.
TURNING, STAYING = 0.2, 0.5


@dataclass(frozen=True, slots=True)
class LanguageWords:
    """A sampler of one column, steered by a machine with finitely many states and an output of 0 and 1.

    The machine may know less than that of the task: a counter that stops somewhere steers as well.
    """

    machine: Recurrence
    domain: Domain

    def __call__(self, rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        symbols = tuple(self.domain.values())
        table = explored(self.machine, symbols)
        state = np.zeros(n, dtype=int)
        words = np.empty((n, length, 1))
        kind = rng.random(n)
        care = np.where(kind < TURNING, 0.0, np.sqrt(rng.random(n)))
        until = np.where(kind < STAYING, rng.random(n) * length / 2, length)
        for t in range(length):
            following = table.following[state]
            careful = ((t < until) & (care > 0))[:, None]
            allowed = table.open[following] | ~careful
            allowed |= ~allowed.any(axis=1, keepdims=True)
            distance = np.where(careful, table.to_word[following], table.to_other[following])
            distance = np.where(allowed, distance, np.inf)
            nearest = distance == distance.min(axis=1, keepdims=True)
            allowed &= nearest | (rng.random(n) >= care)[:, None]
            chosen = np.argmax(np.where(allowed, rng.random(allowed.shape), -1.0), axis=1)
            words[:, t, 0] = np.array(symbols)[chosen]
            state = following[np.arange(n), chosen]
        return words


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What each symbol makes of each state, in the order in which they are met; the first is the start.

    `to_word` and `to_other` are the numbers of symbols to the next prefix that is in the language and that is
    not; `open` says that there are both.
    """

    following: np.ndarray
    to_word: np.ndarray
    to_other: np.ndarray

    @property
    def open(self) -> np.ndarray:
        return np.isfinite(self.to_word) & np.isfinite(self.to_other)


@cache
def explored(machine: Recurrence, symbols: tuple[float, ...]) -> Table:
    """All states of a finite machine of one column, each with what it said last."""
    from weights2code.kernel.closing import Written  # only what is sampled is explored
    from weights2code.language.machine_text import machine_text

    alone = Written(machine_text(machine, floats=True))

    def step(state: tuple[tuple, float], symbol: float) -> tuple[tuple[tuple, float], None]:
        (answer, *_), after = alone.step(state[0], (symbol,))
        return (after, float(answer)), None

    found = walked((alone.start(symbols[:1]), -1.0), step, symbols, inf)
    assert found is not None
    table, label = np.array(found.moves), np.array([said for _, said in found.states])
    return Table(table, _distances(table, label == 1), _distances(table, label == 0))


def _distances(following: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Steps from each state to the nearest wanted one, itself included; infinite if there is none."""
    distance = np.where(wanted, 0.0, np.inf)
    for _ in range(len(following)):
        distance = np.where(wanted, 0.0, 1 + distance[following].min(axis=1))
    return distance
