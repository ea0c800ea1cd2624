"""What a program leaves over on own data, and whether that is chance (design: "Trust").

An error that the recent past can predict is not noise: a rule was missed. So the errors on the sequences that
were learned from are compared with simple functions of inputs and targets at the last positions: each value,
its square, steps and bends of it, products of two. If none of them tells anything about the errors, they are
taken for noise, and their size is what the certificate makes room for.

Whole numbers are wrong now and then: labels set by hand, bits lost on a line. Mistakes do not repeat: where
the recent past is the same, a mistake at one row says nothing about another. What a missing rule gets wrong
it gets wrong again. So each wrong row is compared with another of the same recent past too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from weights2code.data import Sequences
from weights2code.language import Recurrence

#: Deviation, relative to the spread of the targets, that is no deviation.
EXACT = 1e-6
#: Targets written with few digits are exact to this many units of the last one, at worst and typically:
#: they are read back too.
UNITS = 1.5
TYPICAL = 0.6
#: The last digit counts as rounding only if it is smaller than this share of the spread.
FINE = 0.01
#: How strongly an error may follow anything: so many standard errors, plus what does not matter.
STANDARD_ERRORS = 4.5
HARMLESS = 0.02
#: Positions back that are looked at, values in all, those that products are tried of, and fewest rows.
LAGS = 12
MOST_COLUMNS = 36
NEAR = 8
FEWEST = 30
ENOUGH, ENOUGH_WHOLE = 100, 200
#: A larger share of exact outputs than this, among others that are not, means a rule with exceptions.
MOSTLY_RIGHT = 0.3
#: Sequences that are used.
MOST_SEQUENCES = 1000
#: A rule that is wrong more often than this explains too little.
MOST_WRONG = 0.2
#: What a rule may leave of the rows that the commonest outputs get wrong.
LEAVES = 0.75
#: Positions back that make up the recent past.
DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Residuals:
    """Errors of one output: their root mean square, the spread of the target, and what they follow."""

    rmse: float
    spread: float
    exact: bool
    structure: str


def answers(program: Recurrence, sequences: Sequences, *, one_step: bool) -> np.ndarray:
    """The outputs of a program that reads the known past alone, or one step ahead, all of the past."""
    with np.errstate(all="ignore"):
        return program.run(sequences.x, sequences.y, sequences.lengths if one_step else sequences.given)


def residuals(program: Recurrence, sequences: Sequences, *, one_step: bool) -> tuple[Residuals, ...]:
    """One entry an output; the program runs free, or one step ahead."""
    part = sequences.take(slice(0, MOST_SEQUENCES))
    given = answers(program, part, one_step=one_step)
    found = []
    for row in range(part.y.shape[2]):
        errors = np.where(part.scored, part.y[..., row] - given[..., row], 0.0)
        target = part.y[..., row][part.scored]
        spread = float(np.std(target))
        if not np.isfinite(errors).all():
            found.append(Residuals(float("inf"), spread, False, "it has no finite value somewhere"))
            continue
        rmse = float(np.sqrt(np.mean(errors[part.scored] ** 2)))
        worst, unit = float(np.max(np.abs(errors))), rounding(target, spread)
        rounded = worst <= UNITS * unit and rmse <= TYPICAL * unit and not _with_exceptions(errors, part)
        exact = worst <= EXACT * spread or rounded
        found.append(Residuals(rmse, spread, exact, "" if exact else structure(errors, part)))
    return tuple(found)


def _with_exceptions(errors: np.ndarray, sequences: Sequences) -> bool:
    """Whether many outputs are exactly right and others are not: noise and rounding hit everything."""
    judged = np.abs(errors[sequences.scored])
    return bool(np.mean(judged <= EXACT * judged.max()) > MOSTLY_RIGHT)


def always_right(program: Recurrence, sequences: Sequences) -> bool:
    """Whether every output is the right whole number, free-running."""
    errors = np.abs(answers(program, sequences, one_step=False) - sequences.y)[sequences.scored]
    return bool(np.all(errors < EXACT))


def rounding(values: np.ndarray, spread: float) -> float:
    """The unit of the last digit that the values are written with; 0 if they have all digits."""
    for digits in range(10):
        unit = 10.0**-digits
        if unit <= FINE * spread and np.all(np.abs(values / unit - np.round(values / unit)) < 1e-5):
            return unit
    return 0.0


def structure(errors: np.ndarray, sequences: Sequences) -> str:
    """Why the errors (n, T) are not just noise, in words; empty if nothing speaks against it."""
    judged = np.abs(errors[sequences.scored])
    if len(judged) < ENOUGH:
        return f"{len(judged)} rows are too few to tell errors from noise"
    if _with_exceptions(errors, sequences):
        return "many outputs are exactly right and others are not, so a rule is missing"
    mean, size = float(np.mean(errors[sequences.scored])), float(np.sqrt(np.mean(judged**2)))
    if abs(mean) > size * (STANDARD_ERRORS / np.sqrt(len(judged)) + HARMLESS):
        return "the errors are no noise: they do not average out"
    what = follows(errors, sequences)
    return f"the errors are no noise: they follow {what}" if what else ""


def follows(errors: np.ndarray, sequences: Sequences) -> str:
    """What the errors (n, T) follow most among simple functions of the recent past; empty if nothing."""
    worst, what = 1.0, ""
    for name, values, mask in _probes(sequences):
        strength = _strength(values[mask], errors[mask])
        if strength > worst:
            worst, what = strength, name
    return what


def _strength(values: np.ndarray, errors: np.ndarray) -> float:
    """The correlation, as a multiple of what chance and carelessness may give."""
    if len(errors) < FEWEST:
        return 0.0
    u, v = values - values.mean(), errors - errors.mean()
    size = float(np.sqrt(np.mean(u**2) * np.mean(v**2)))
    if not size > 1e-12 * max(1.0, float(np.abs(values).max())) * float(np.abs(errors).max()):
        return 0.0
    return abs(float(np.mean(u * v))) / size / (STANDARD_ERRORS / np.sqrt(len(errors)) + HARMLESS)


#: A name, values (n, T), and where they are defined.
Probe = tuple[str, np.ndarray, np.ndarray]


def _probes(sequences: Sequences) -> Iterator[Probe]:
    """Functions of what came before: each value itself, squared, bent, stepped; products of two near ones."""
    position = np.arange(sequences.x.shape[1])[None, :]
    near: list[Probe] = []
    columns = sequences.x.shape[2] + sequences.y.shape[2]
    for lag in range(max(1, min(LAGS, MOST_COLUMNS // columns)) + 1):
        mask = sequences.scored & (position >= lag)
        for what, table in (("input", sequences.x), ("target", sequences.y)):
            for i in range(table.shape[2] if lag or what == "input" else 0):
                values = np.roll(table[..., i], lag, axis=1)
                spread = float(np.std(values[mask])) if mask.any() else 0.0
                if spread == 0:
                    continue
                name = f"{what} {i + 1} at t{f'-{lag}' if lag else ''}"
                z = (values - values[mask].mean()) / spread
                yield name, z, mask
                yield f"{name}, squared", z**2, mask
                for cut in (-0.7, 0.0, 0.7):
                    yield f"{name}, bent", np.abs(z - cut), mask
                    yield f"{name}, stepped", (z > cut).astype(float), mask
                if len(near) < NEAR:
                    near.append((name, z, mask))
    for (first, u, known), (second, v, also) in combinations(near, 2):
        yield f"{first} times {second}", u * v, known & also
        yield f"the larger of {first} and {second}", np.maximum(u, v), known & also


@dataclass(frozen=True, slots=True)
class Flips:
    """The share of rows with a wrong output, how many rows there were, and why they are no mistakes."""

    share: float
    rows: int
    structure: str

    def tolerance(self, rows: int) -> float:
        """The share that so many fresh rows may have wrong, by chance."""
        scatter = self.share * (1 - self.share) * (1 / self.rows + 1 / max(rows, 1))
        return self.share + STANDARD_ERRORS * float(np.sqrt(scatter))


def flips(program: Recurrence, sequences: Sequences, *, one_step: bool) -> Flips:
    """Where a program is wrong after rounding, and whether that is chance."""
    part = sequences.take(slice(0, MOST_SEQUENCES))
    right = np.all(np.abs(answers(program, part, one_step=one_step) - part.y) < 0.5, axis=2)
    wrong = ~right & part.scored
    rows = int(part.scored.sum())
    share = float(wrong.sum()) / max(rows, 1)
    if not wrong.any():
        return Flips(share, max(rows, 1), "")
    return Flips(share, rows, _pattern(wrong, share, rows, part) or _no_better(share, part))


def _no_better(share: float, sequences: Sequences) -> str:
    """That a rule is hardly right more often than always the same outputs, in words, if so."""
    _, counts = np.unique(sequences.y[sequences.scored], axis=0, return_counts=True)
    right = float(counts.max() / counts.sum())
    if share <= LEAVES * (1 - right):
        return ""
    return (
        f"it is hardly better than guessing: the commonest output alone is right in {right:.0%} of the rows"
    )


def _pattern(wrong: np.ndarray, share: float, rows: int, sequences: Sequences) -> str:
    if rows < ENOUGH_WHOLE:
        return f"{rows} rows are too few to tell wrong labels from a rule that was missed"
    if share > MOST_WRONG:
        return f"{share:.0%} of the outputs are wrong"
    for depth in range(DEEPEST + 1):
        again, compared = _repeated(wrong, sequences, depth)
        if again > compared * share + STANDARD_ERRORS * np.sqrt(compared * share) + 1:
            return "outputs are wrong again where the recent past is the same, so a rule is missing"
    what = follows(wrong.astype(float), sequences)
    return f"wrong outputs are no chance: they follow {what}" if what else ""


def _repeated(wrong: np.ndarray, sequences: Sequences, depth: int) -> tuple[int, int]:
    """Of the wrong rows that have a twin, with the same values back to `depth`, how many twins are wrong."""
    later = sequences.scored & (np.arange(sequences.x.shape[1])[None, :] >= depth)
    if later.sum() < FEWEST:
        return 0, 0
    columns = [np.roll(sequences.x, lag, axis=1)[later] for lag in range(depth + 1)]
    columns += [np.roll(sequences.y, lag, axis=1)[later] for lag in range(1, depth + 1)]
    _, keys = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
    order = np.argsort(keys.reshape(-1), kind="stable")
    keys, wrong = keys.reshape(-1)[order], wrong[later][order]
    twins = (keys[1:] == keys[:-1]) & wrong[:-1]
    return int((twins & wrong[1:]).sum()), int(twins.sum())
