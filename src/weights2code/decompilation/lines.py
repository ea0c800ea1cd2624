"""Linear rules of numbers: the fewest past values that an output is a sum of, within what it may be off.

Coefficients are fitted to what the model gives before anything is rounded, and have the fewest digits with
which the rule, run free, stays near enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from weights2code.decompilation.model import Model
from weights2code.decompilation.rule import ORIGIN, Rule
from weights2code.language import Recurrence, Step, Var
from weights2code.program import Program
from weights2code.symbolic.notation import weighted_sum

#: Past inputs and past outputs that a rule may read.
MOST_INPUTS, MOST_OUTPUTS = 8, 4
#: Digits after the point that are tried.
DIGITS = range(7)
#: How near numbers that are to be rounded must be to a sum, for any two values lie around some sum, and the
#: share that may be further off; what counts is whether they are right once they are rounded.
FITS, OFF = 0.2, 0.1
#: Sequences that are fitted; how often, and what share is kept out the next time; the share that may be
#: wrong.
FITTED, TRIMMED, KEPT_OUT, RARELY = 300, 3, 0.05, 0.02


def linear_rule(model: Model, x: np.ndarray, output: str, name: str) -> Rule | None:
    """The shortest linear rule on sequences x (n, T, columns), of nearly all of them; None if there is none,
    or nothing is added."""
    reading = model.reading
    if reading.kind not in ("round", "real") or any(d.categories for d in model.domains):
        return None
    x = x[:FITTED]
    raw = model.raw(x)
    if raw.shape[2] != 1:
        return None
    right = reading.read(raw)[0]
    for inputs, outputs in _orders(x.shape[1]):
        reads = [Var(c, lag) for lag in range(inputs) for c in model.columns]
        reads += [Var(output, lag) for lag in range(1, outputs + 1)]
        design = np.stack([_column(x, raw, read, model) for read in reads], -1)
        flat = np.concatenate([design.reshape(-1, len(reads)), np.ones((raw.size, 1))], 1)
        fitted, fits = np.zeros(len(reads) + 1), np.ones(raw.size, bool)
        for _ in range(TRIMMED):  # what is furthest off may be a mistake
            some, target = flat[fits], raw.reshape(-1)[fits]
            fitted = np.linalg.lstsq(some.T @ some, some.T @ target, rcond=None)[0]
            off = np.abs(flat @ fitted - raw.reshape(-1))
            fits = off <= np.quantile(off, 1 - KEPT_OUT)
        if np.mean(off > (FITS if reading.whole else reading.near)) > (OFF if reading.whole else RARELY):
            continue
        for digits in DIGITS:
            rounded = np.round(fitted, digits).tolist()
            *weights, constant = [int(value) if value.is_integer() else value for value in rounded]
            total = weighted_sum(list(zip(weights, reads, strict=True)), constant)
            machine = Recurrence(tuple(model.columns), (Step(output, total),), (output,))
            with np.errstate(all="ignore"):
                answers = machine.run(x)
            if np.mean(np.abs(answers - right) > reading.near) <= RARELY:
                return Rule(Program(name, machine, model.domains, reading.whole, ORIGIN))
    return None


def _orders(length: int) -> Iterator[tuple[int, int]]:
    """How many inputs and past outputs are read, the fewest first."""
    ways = product(range(1, min(MOST_INPUTS, length - 1) + 1), range(min(MOST_OUTPUTS, length - 1) + 1))
    return iter(sorted(ways, key=lambda way: (sum(way), way[1])))


def _column(x: np.ndarray, raw: np.ndarray, read: Var, model: Model) -> np.ndarray:
    """A value so many steps back (n, T), 0 before the start."""
    columns = list(model.columns)
    values = x[..., columns.index(read.name)] if read.name in columns else raw[..., 0]
    return np.pad(values, ((0, 0), (read.lag, 0)))[:, : values.shape[1]]
