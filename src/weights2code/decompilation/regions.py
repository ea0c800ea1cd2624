"""Where a model leaves its program, in a short test: of inputs, of the program's own variables, of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from weights2code.language import Recurrence

#: Values that a test may compare with, tests that are put in pairs, and regions that are told.
BORDERS, PAIRED, TOLD = 24, 40, 2
#: By how much a pair must tell more than one test.
WORTH = 0.02


@dataclass(frozen=True, slots=True)
class Region:
    """A test, the share of first departures that meet it, and the share of its positions that are some."""

    test: str
    covers: float
    precision: float

    def words(self) -> str:
        return f"{self.test} ({self.covers:.0%} of the departures, {self.precision:.1%} of its positions)"


def regions(program: Recurrence, x: np.ndarray, wrong: np.ndarray) -> list[Region]:
    """The tests that tell best where sequences (n, T, columns) first part, `wrong` being (n, T)."""
    first = wrong & (np.cumsum(wrong, 1) == 1)
    seen = first | (np.cumsum(wrong, 1) == 0)  # what comes after a first mistake says nothing
    y = first[seen]
    if not y.any() or y.all():
        return []
    with np.errstate(all="ignore"):
        named = _quantities(program, x)
        tests = [test for name, values in named for test in _tests(name, np.asarray(values)[seen], y)]
    tests.sort(key=lambda test: (-test[0], len(test[1])))
    pairs = [
        (_score(one[2] & two[2], y), f"{one[1]} and {two[1]}", one[2] & two[2])
        for one, two in combinations(tests[:PAIRED], 2)
    ]
    best = tests[:1]
    for pair in sorted(pairs, key=lambda test: (-test[0], len(test[1])))[:1]:
        best = [pair] if not best or pair[0] > best[0][0] + WORTH else best
    return [Region(text, float(y[hit].sum() / y.sum()), float(y[hit].mean())) for _, text, hit in best[:TOLD]]


def _quantities(program: Recurrence, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Everything that a test may be about, each (n, T)."""
    trace = dict(zip(program.inputs, np.moveaxis(x, 2, 0), strict=True))
    trace |= {name: values for name, values in program.trace(x).items() if name not in trace}
    for name, values in trace.items():
        yield f"{name}[t]", values
        yield f"{name}[t-1]", np.concatenate([np.zeros((len(values), 1)), values[:, :-1]], 1)
    yield "the position", np.broadcast_to(np.arange(1, x.shape[1] + 1), x.shape[:2])
    same = np.ones(x.shape[:2], int)
    for t in range(1, x.shape[1]):
        same[:, t] = np.where((x[:, t] == x[:, t - 1]).all(1), same[:, t - 1] + 1, 1)
    yield "the run of equal inputs", same


def _tests(name: str, values: np.ndarray, y: np.ndarray) -> Iterator[tuple[float, str, np.ndarray]]:
    borders = np.unique(values[y])
    if len(borders) > BORDERS:
        borders = np.unique(np.quantile(values[y], np.linspace(0, 1, BORDERS)))
    for border in borders:
        for sign, hit in ((">=", values >= border), ("<=", values <= border), ("==", values == border)):
            if not hit.all():
                yield _score(hit, y), f"{name} {sign} {border:g}", hit


def _score(hit: np.ndarray, y: np.ndarray) -> float:
    """How well a test tells departures: the harmonic mean of what it covers and of how often it is right."""
    return float(2 * (hit & y).sum() / max(1, hit.sum() + y.sum()))
