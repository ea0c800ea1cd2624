"""Rows in place of sequences, where a position is all that a network sees: each different one once.

A rule of a state that is given reads the present and the last state. Of such rows there are a few dozen, and
sequences repeat them a thousandfold; learned from once each they cost little, and a state that is
rarely come to counts as much as any other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Encoded
from weights2code.heads import HEADS
from weights2code.training.ladder import Rung

#: Rows that are learned from at a time, at most.
MOST_ROWS = 1024


def sees_only_the_present(rung: Rung) -> bool:
    """Whether no head brings anything from another position."""
    return rung.sizes["layers"] == 1 and not any(rung.sizes.get(kind) for kind in HEADS)


def distinct_rows(*parts: Encoded) -> Encoded:
    """All different positions that are scored, as sequences of one position."""
    channels, targets = len(parts[0].channels), len(parts[0].targets)
    rows = [np.concatenate([part.channels[:, part.scored], part.targets[:, part.scored]]).T for part in parts]
    columns = np.unique(np.concatenate(rows), axis=0).T
    assert len(columns) == channels + targets
    found = columns[:, None]
    return Encoded(found[:channels], found[channels:], np.ones(found.shape[1:], bool))


def with_all_rows(rung: Rung, rows: Encoded) -> Rung:
    """The rung with batches that hold all rows, if they are not too many."""
    count = min(rows.channels.shape[2], MOST_ROWS)
    return replace(rung, recipe=replace(rung.recipe, batch=max(rung.recipe.batch, count)))
