"""Whole numbers that are wrong now and then: labels set by hand, bits lost on a line.

A rule that is right nearly everywhere is either the whole rule on data with mistakes, or a rule that misses
something. Mistakes do not repeat: where the recent past is the same, a mistake at one row says nothing about
another. What a missing rule gets wrong it gets wrong again. So each wrong row is compared with another of
the same recent past, and wrongness with simple functions of that past.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Sequences
from weights2code.language import Recurrence
from weights2code.verify.residuals import FEWEST, MOST_SEQUENCES, STANDARD_ERRORS, answers, follows

#: A rule that is wrong more often than this explains too little.
MOST = 0.2
#: Positions back that make up the recent past.
DEEPEST = 8
#: Rows that are looked at, at least.
ENOUGH = 200


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
    return Flips(share, max(rows, 1), _structure(wrong, share, rows, part) if wrong.any() else "")


def _structure(wrong: np.ndarray, share: float, rows: int, sequences: Sequences) -> str:
    if rows < ENOUGH:
        return f"{rows} rows are too few to tell wrong labels from a rule that was missed"
    if share > MOST:
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
