"""What a program leaves over on own data, and whether that is noise (design: "Trust").

An error that the recent past can predict is not noise: a rule was missed. So the errors on the sequences that
were learned from are compared with simple functions of inputs and targets at the last positions: each value,
its square, steps and bends of it, products of two. If none of them tells anything about the errors, they are
taken for noise, and their size is what the certificate makes room for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Sequences
from weights2code.language import Recurrence

#: Deviation, relative to the spread of the targets, that is no deviation.
EXACT = 1e-6
#: Targets written with few digits are exact to this many units of the last one: they are read back too.
UNITS = 1.5
#: The last digit counts as rounding only if it is smaller than this share of the spread.
FINE = 0.01
#: How strongly an error may follow anything: so many standard errors, plus what does not matter.
STANDARD_ERRORS = 4.5
HARMLESS = 0.02
#: Positions back that are looked at, and sequences that are used.
LAGS = 6
MOST_SEQUENCES = 1500
MOST_COLUMNS = 24


@dataclass(frozen=True, slots=True)
class Residuals:
    """Errors of one output: their root mean square, the spread of the target, what they follow if anything."""

    rmse: float
    spread: float
    exact: bool
    structure: str

    @property
    def noise(self) -> bool:
        """Whether nothing is left to explain."""
        return self.exact or not self.structure


def residuals(program: Recurrence, sequences: Sequences, *, one_step: bool) -> tuple[Residuals, ...]:
    """One entry an output; the program runs free, or one step ahead."""
    part = sequences.take(slice(0, MOST_SEQUENCES))
    until = part.lengths if one_step else part.given
    with np.errstate(all="ignore"):
        answers = program.run(part.x, part.y, until)
    found = []
    for row in range(part.y.shape[2]):
        errors = np.where(part.scored, part.y[..., row] - answers[..., row], 0.0)
        target = part.y[..., row][part.scored]
        spread = float(np.std(target))
        if not np.isfinite(errors).all():
            found.append(Residuals(float("inf"), spread, False, "it has no finite value somewhere"))
            continue
        rmse = float(np.sqrt(np.mean(errors[part.scored] ** 2)))
        limit = max(EXACT * spread, UNITS * rounding(target, spread))
        exact = float(np.max(np.abs(errors))) <= limit
        found.append(Residuals(rmse, spread, exact, "" if exact else structure(errors, part)))
    return tuple(found)


def rounding(values: np.ndarray, spread: float) -> float:
    """The unit of the last digit that the values are written with; 0 if they have all digits."""
    for digits in range(10):
        unit = 10.0**-digits
        if unit <= FINE * spread and np.all(np.abs(values / unit - np.round(values / unit)) < 1e-5):
            return unit
    return 0.0


def structure(errors: np.ndarray, sequences: Sequences) -> str:
    """What the errors (n, T) follow, in words; empty if nothing."""
    names, columns, mask = _recent(sequences)
    error = errors[mask]
    n = len(error)
    if n < 30 or not error.any():
        return ""
    limit = STANDARD_ERRORS / np.sqrt(n) + HARMLESS
    error = (error - error.mean()) / max(float(error.std()), 1e-300)
    worst, what = 0.0, ""
    for name, values in _probes(names, [column[mask] for column in columns]):
        values = values - values.mean()
        size = float(np.sqrt(np.mean(values**2)))
        if size > 1e-12:
            strength = abs(float(np.mean(values * error))) / size
            if strength > worst:
                worst, what = strength, name
    return what if worst > limit else ""


def _recent(sequences: Sequences) -> tuple[list[str], list[np.ndarray], np.ndarray]:
    """Inputs and targets at the last positions, each (n, T), and where all of them are inside."""
    length = sequences.x.shape[1]
    lags = min(LAGS, max(length - 1, 0))
    mask = sequences.scored & (np.arange(length) >= lags)[None, :]
    if mask.sum() < sequences.scored.sum() / 2:
        lags = min(1, max(length - 1, 0))
        mask = sequences.scored & (np.arange(length) >= lags)[None, :]
    names, columns = [], []
    for lag in range(lags + 1):
        for what, table in (("input", sequences.x), ("target", sequences.y)):
            if what == "target" and lag == 0:
                continue
            for i in range(table.shape[2]):
                names.append(f"{what} {i + 1} at t{f'-{lag}' if lag else ''}")
                columns.append(np.roll(table[..., i], lag, axis=1))
    return names[:MOST_COLUMNS], columns[:MOST_COLUMNS], mask


def _probes(names: list[str], columns: list[np.ndarray]):
    """Named functions of the columns: each itself, squared, bent, stepped; products of two near ones."""
    for name, column in zip(names, columns, strict=True):
        spread = float(np.std(column))
        if spread == 0:
            continue
        z = (column - column.mean()) / spread
        yield name, z
        yield f"{name}, squared", z**2
        for cut in (-0.7, 0.0, 0.7):
            yield f"{name}, bent", np.abs(z - cut)
            yield f"{name}, stepped", (z > cut).astype(float)
    near = [(n, (c - c.mean()) / c.std()) for n, c in zip(names, columns, strict=True) if np.std(c) > 0][:8]
    for i, (first, u) in enumerate(near):
        for second, v in near[i + 1 :]:
            yield f"{first} times {second}", u * v
            yield f"the larger of {first} and {second}", np.maximum(u, v)
