"""One weighted sum whose thresholds separate rows: whether there is one, and the simplest there is.

A border asks that some rows lie below others. All borders share the weights; each has a threshold of its
own. Newton steps of a logistic regression on a sample say quickly where no weights will do. Where some may, a
linear program finds those with the widest gap, on the few rows nearest to the borders first, then with the
rows added that it got wrong. Rows of reals pin the weights down to a small region, and the simplest numbers
there are meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from weights2code.language import Const, Number
from weights2code.symbolic.engine import number_cost
from weights2code.symbolic.search.rows import Problem

#: Rows that a first look takes, and the share of them that it may get wrong.
_SAMPLE = 500
_FEW_WRONG = 0.04
_NEWTON_STEPS = 14
#: Rows of each side of a border that a linear program starts with, those added, and how often.
_NEAREST = 12
_ADDED = 12
_ROUNDS = 15
#: A column hardly enters whose share of the sum is this part of the largest.
_HARDLY = 0.1
#: Weights are first looked for as multiples of one of these parts of the unit.
_PARTS = (*range(1, 21), 24, 25, 30, 40, 50, 60, 75, 80, 90, 100, 200, 500, 1000)
#: Sums of reals differ by rounding.
_ROUNDING = 1e-9
#: Weights that are right up to rounding, to be judged.
_EQUAL = 2
#: Weights among which the simplest are chosen.
_ENOUGH = 4


@dataclass(frozen=True, slots=True)
class Border:
    """Rows that must lie below other rows."""

    low: np.ndarray
    high: np.ndarray


class Separation:
    """Rows, the columns that may enter the sum, and the borders that its thresholds must draw."""

    def __init__(
        self, problem: Problem, X: np.ndarray, free: Sequence[int], borders: Sequence[Border]
    ) -> None:
        self.problem, self.X, self.borders = problem, X, tuple(borders)
        spread = X.std(axis=0)
        self.columns = np.array([j for j in free if spread[j] > 0], dtype=int)
        self.middle, self.spread = X[:, self.columns].mean(axis=0), spread[self.columns]
        self.low = np.concatenate([border.low for border in borders])
        self.high = np.concatenate([border.high for border in borders])
        self.low_starts = np.cumsum([0, *(len(border.low) for border in borders)])[:-1]
        self.high_starts = np.cumsum([0, *(len(border.high) for border in borders)])[:-1]

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        return (self.X[np.ix_(rows, self.columns)] - self.middle) / self.spread

    def guess(self) -> np.ndarray | None:
        """Weights of the scaled columns that are right on nearly all rows of a sample."""
        if not len(self.columns):
            return None
        rng = np.random.default_rng(0)
        share = max(_SAMPLE // (2 * len(self.borders)), 25)
        parts, targets, places = [], [], []
        for i, border in enumerate(self.borders):
            for side, rows in ((0.0, border.low), (1.0, border.high)):
                chosen = rows if len(rows) <= share else rows[rng.permutation(len(rows))[:share]]
                parts.append(chosen)
                targets.append(np.full(len(chosen), side))
                places.append(np.full(len(chosen), i))
        place, target = np.concatenate(places), np.concatenate(targets)
        own = (place[:, None] == np.arange(len(self.borders))) * 1.0
        design = np.hstack([self._scaled(np.concatenate(parts)), own])
        self.problem.spend("separation cells", _NEWTON_STEPS * design.size * design.shape[1])
        solution = np.zeros(design.shape[1])
        ridge = 1e-6 * np.eye(design.shape[1])
        for _ in range(_NEWTON_STEPS):
            chance = 1 / (1 + np.exp(-np.clip(design @ solution, -30, 30)))
            curvature = (design * (chance * (1 - chance))[:, None]).T @ design
            try:
                solution = solution + np.linalg.solve(curvature + ridge, design.T @ (target - chance))
            except np.linalg.LinAlgError:
                return None
        wrong = np.mean((design @ solution > 0) != (target > 0))
        weights = solution[: len(self.columns)]
        return weights if wrong <= _FEW_WRONG and np.any(weights) else None

    def directions(self, guess: np.ndarray) -> Iterator[np.ndarray]:
        """The weights with the widest gap; then without the columns that hardly enter and can be spared."""
        weights = self.widest(guess)
        if weights is None:
            return
        yield weights
        small = np.abs(weights) < _HARDLY * np.max(np.abs(weights))
        fewer = None
        for j in sorted(np.flatnonzero(small & (weights != 0)), key=lambda j: abs(weights[j])):
            without = np.where(np.arange(len(weights)) == j, 0.0, weights if fewer is None else fewer)
            spared = self.widest(without, zero=without == 0)
            fewer = fewer if spared is None else spared
        if fewer is not None:
            yield fewer

    def widest(self, guess: np.ndarray, zero: np.ndarray | None = None) -> np.ndarray | None:
        """Weights of the scaled columns with the widest gap on all rows, or None where there is none.

        Those of the columns `zero` stay zero.
        """
        from scipy.optimize import linprog

        pivot = int(np.argmax(np.abs(guess)))
        weights = guess / abs(guess[pivot])
        count, borders = len(self.columns), len(self.borders)
        low, high = self._scaled(self.low), self._scaled(self.high)
        low_border = np.repeat(np.arange(borders), [len(border.low) for border in self.borders])
        high_border = np.repeat(np.arange(borders), [len(border.high) for border in self.borders])
        chosen_low, chosen_high = np.zeros(len(low), dtype=bool), np.zeros(len(high), dtype=bool)
        bounds: list[tuple[float | None, float | None]] = [(-8.0, 8.0)] * count
        for j in np.flatnonzero(zero) if zero is not None else ():
            bounds[j] = (0.0, 0.0)
        bounds[pivot] = (weights[pivot], weights[pivot])
        bounds += [(None, None)] * (borders + 1)
        cost = np.zeros(count + borders + 1)
        cost[-1] = -1.0
        take, levels, gap = _NEAREST, None, -np.inf
        for _ in range(_ROUNDS):
            below, above = low @ weights, high @ weights
            if levels is not None:
                below, above = below - levels[low_border] + gap, levels[high_border] - above + gap
            else:
                above = -above
            new = 0
            for i in range(borders):
                for excess, border, chosen in (
                    (below, low_border, chosen_low),
                    (above, high_border, chosen_high),
                ):
                    rows = np.flatnonzero(border == i)
                    worst = rows[np.argsort(-excess[rows])[:take]]
                    if levels is not None:
                        worst = worst[excess[worst] > _ROUNDING]
                    new += int(np.sum(~chosen[worst]))
                    chosen[worst] = True
            if not new:
                return weights
            ones = np.ones((int(chosen_low.sum() + chosen_high.sum()), 1))
            own_low = (low_border[chosen_low, None] == np.arange(borders)) * 1.0
            own_high = (high_border[chosen_high, None] == np.arange(borders)) * 1.0
            sides = np.vstack(
                [np.hstack([low[chosen_low], -own_low]), np.hstack([-high[chosen_high], own_high])]
            )
            self.problem.spend("linear programs", 1)
            found = linprog(
                cost, np.hstack([sides, ones]), np.zeros(len(ones)), bounds=bounds, method="highs"
            )
            if found.x is None or found.x[-1] < -1e-6:
                return None
            weights, levels, gap = found.x[:count], found.x[count:-1], float(found.x[-1])
            take = _ADDED
        return None

    def _holds(self, weights: tuple[int, ...], slack: float) -> bool:
        """Whether every border lies in a gap of the sum: with slack -1 clear of rounding, with 1 up to it."""
        self.problem.spend("sum cells", self.X.size)
        values = self.X @ np.array(weights, dtype=float)
        below = np.maximum.reduceat(values[self.low], self.low_starts)
        above = np.minimum.reduceat(values[self.high], self.high_starts)
        return bool(np.all(below < above + slack * _ROUNDING * (1 + np.max(np.abs(values)))))

    def simple(self, scaled: np.ndarray) -> list[tuple[int, ...]]:
        """Whole weights of all columns, up to a common factor, near the given ones: the simplest few."""
        weights = np.zeros(self.X.shape[1])
        weights[self.columns] = scaled / self.spread
        values = self.X @ weights
        # The rows nearest to the borders refuse nearly all that is wrong.
        near = [
            (b.low[np.argsort(-values[b.low])[:_NEAREST]], b.high[np.argsort(values[b.high])[:_NEAREST]])
            for b in self.borders
        ]
        few = Separation(self.problem, self.X, (), [Border(low, high) for low, high in near]).rows_only()
        exact: list[tuple[int, ...]] = []
        rounded: list[tuple[int, ...]] = []
        for candidate in dict.fromkeys(_rounded(weights, self.columns)):
            if not few._holds(candidate, slack=1):
                continue
            if self._holds(candidate, slack=-1):
                exact.append(candidate)
                if len(exact) == _ENOUGH:
                    break
            # Sums of decimals that are equal but for rounding may fall on either side.
            elif not exact and len(rounded) < _EQUAL and self._holds(candidate, slack=1):
                rounded.append(candidate)
        best = [self._simpler(min(exact, key=written_length))] if exact else []
        return [*rounded, *best]

    def rows_only(self) -> Separation:
        """The same borders on a table of just their rows."""
        rows, place = np.unique(np.concatenate([self.low, self.high]), return_inverse=True)
        lows = np.split(place[: len(self.low)], self.low_starts[1:])
        highs = np.split(place[len(self.low) :], self.high_starts[1:])
        borders = [Border(low, high) for low, high in zip(lows, highs, strict=True)]
        return Separation(self.problem, self.X[rows], self.columns.tolist(), borders)

    def _simpler(self, weights: tuple[int, ...]) -> tuple[int, ...]:
        """Smaller weights, one at a time, as far as the rows stay separated."""
        changed = True
        while changed:
            changed = False
            for j in sorted(range(len(weights)), key=lambda j: -abs(weights[j])):
                sign = 1 if weights[j] > 0 else -1
                for smaller in range(min(abs(weights[j]), 13)):
                    trial = (*weights[:j], sign * smaller, *weights[j + 1 :])
                    if any(trial) and self._holds(trial, slack=-1):
                        weights, changed = _coprime(trial), True
                        break
        return weights


def _rounded(weights: np.ndarray, columns: np.ndarray) -> Iterator[tuple[int, ...]]:
    """Whole weights in nearly the same proportions, the coarsest first."""
    largest = np.max(np.abs(weights))
    pivots = sorted((j for j in columns if abs(weights[j]) > 1e-3 * largest), key=lambda j: -abs(weights[j]))
    for parts in _PARTS:
        for pivot in pivots:
            whole = np.round(weights / abs(weights[pivot]) * parts)
            yield _coprime(tuple(int(w) for w in whole))
        if parts in (1, 10, 100):  # as many digits each, for columns of very different size
            digits = len(str(parts)) - 1
            for pivot in pivots:
                few = [float(f"{w:.{digits}e}") for w in weights / abs(weights[pivot])]
                smallest = min(abs(w) for w in few if w)
                unit = 10 ** max(0, digits - int(np.floor(np.log10(smallest))))
                if unit <= 10**6:
                    yield _coprime(tuple(round(w * unit) for w in few))


def _coprime(weights: tuple[int, ...]) -> tuple[int, ...]:
    common = int(np.gcd.reduce(np.array(weights)))
    return tuple(w // common for w in weights) if common > 1 else weights


def written(weights: tuple[int, ...], most: int = 2) -> list[tuple[Number, ...]]:
    """The same proportions as people write them: whole, or with a weight of one; the shortest first."""
    units = dict.fromkeys((1, 10, 100, *(abs(w) for w in weights if w)))
    forms = {tuple(_plain(Fraction(w, unit)) for w in weights): None for unit in units}
    return sorted(forms, key=_digits)[:most]


def written_length(weights: tuple[int, ...]) -> float:
    """How long the proportions are at least when they are written."""
    return sum(w != 0 for w in weights) + _digits(written(weights, 1)[0])


def _digits(form: tuple[Number, ...]) -> float:
    """Of the numbers of a sum: what is shared is bracketed, and one is not written."""
    return sum(number_cost(w) + 1 for w in {abs(w) for w in form} - {0, 1})


def _plain(value: Fraction) -> Number:
    """A short decimal as such, other fractions exact."""
    decimal = round(float(value), 4)
    return Const(decimal).value if Fraction(str(decimal)) == value else value
