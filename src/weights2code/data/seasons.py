"""Seasons: what lies a day, a week or a year of rows back, further than any window looks.

A season is declared (`--season 168`) or found: what simple linear terms of the last rows leave of a target is
compared with everything further back, and a single distance that stands out is taken for a season. That
costs a few milliseconds, and only where one stands out, or is declared, anything looks that far.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weights2code.errors import InputError

#: Windows look back this far anyway; the longest season.
SHORTEST, LONGEST = 13, 400
#: Rows that are looked at for one, and seasons that they must hold.
MOST_ROWS = 20_000
FEWEST_SEASONS = 3
#: A distance stands out if what is left correlates with it by so much, and by so many standard deviations.
CORRELATED, DEVIATIONS = 0.3, 10.0
#: Rows back that linear terms are taken of.
NEAR = 3
#: Less than this share of the variance is left where linear terms explain a target.
EXPLAINED = 1e-9


def checked_season(season: int, longest: int) -> int:
    """A season that was declared, if sequences are long enough to show it."""
    if not 2 <= season <= LONGEST:
        raise InputError(f"--season must be a number of rows from 2 to {LONGEST}, got {season}.")
    if longest < FEWEST_SEASONS * season:
        raise InputError(
            f"--season {season} needs a sequence of at least {FEWEST_SEASONS * season} rows, and the longest "
            f"has {longest}."
        )
    return season


def season_in(x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> int | None:
    """The season that the longest sequence shows, if one stands out."""
    place = int(np.argmax([len(item) for item in x]))
    inputs, targets = x[place][:MOST_ROWS], y[place][:MOST_ROWS]
    rows = len(inputs)
    if rows < FEWEST_SEASONS * SHORTEST + NEAR:
        return None
    values = np.concatenate([inputs, targets], 1)
    near = [np.ones((rows - NEAR, 1)), inputs[NEAR:]]
    near += [values[NEAR - lag : rows - lag] for lag in range(1, NEAR + 1)]
    terms = np.concatenate(near, 1)
    longest = min(LONGEST, rows // FEWEST_SEASONS)
    best: tuple[float, int] | None = None
    for target in targets[NEAR:].T:
        weights = np.linalg.lstsq(terms, target, rcond=None)[0]
        left = target - terms @ weights
        if left.std() ** 2 <= EXPLAINED * max(target.std() ** 2, 1e-300):
            continue
        for column in values.T:
            found = _stands_out(left, column[NEAR:], longest)
            if found is not None and (best is None or found > best):
                best = found
    return None if best is None else best[1]


def _stands_out(left: np.ndarray, column: np.ndarray, longest: int) -> tuple[float, int] | None:
    """How much of what is left goes with a column some rows before, and how many."""
    if not column.std() or not left.std():
        return None
    size = 1 << (2 * len(left) - 1).bit_length()
    a, b = ((v - v.mean()) / (v.std() * np.sqrt(len(v))) for v in (left, column))
    together = np.fft.irfft(np.fft.rfft(a, size) * np.conj(np.fft.rfft(b, size)), size)[: longest + 1]
    strength = np.abs(together[SHORTEST:])
    lag = int(np.argmax(strength)) + SHORTEST
    peak = float(strength.max())
    if peak < max(CORRELATED, DEVIATIONS / np.sqrt(len(left))):
        return None
    return peak, lag
