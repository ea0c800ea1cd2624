"""What a network is trained on with that differs from its program: the program's outputs, where they matter.

Sequences on which it is not right yet come first, then drawn ones. Bounds for reals ask for more than
sequences show: every past between those that come about. Such a past stands at the beginning of a short
sequence, given and not judged.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Recurrence
from weights2code.network.trial import drawn, outputs_of
from weights2code.verify.links import Sequence

#: Sequences that are drawn, and pasts of reals.
DRAWN, PASTS = 384, 4000


def to_learn_from(
    worst: list[Sequence],
    program: Recurrence,
    problem: Problem,
    seed: int,
    *,
    region: int = 0,
    window: int | None = None,
    first: int = 0,
) -> Sequences:
    """Sequences with the program's outputs.

    Parameters
    ----------
    worst : what the network is least right on, at the end of each.
    region : the seed by which the certificate draws its own sequences.
    window : how many positions the network looks back; of longer sequences only the end is kept, with its
        past given. None if it looks back to the start.
    first : how many positions at the start of a sequence are never judged.
    """
    sequences = [*(np.array(sequence, dtype=float) for sequence in worst), *drawn(problem, seed)[:DRAWN]]
    lengths, given = np.array([len(sequence) for sequence in sequences]), np.zeros(len(sequences), int)
    x = np.stack([np.pad(own, ((0, lengths.max() - len(own)), (0, 0))) for own in sequences])
    y = outputs_of(program, x)
    kept = max(problem.length, (window or 0) + 1)
    if window is not None and x.shape[1] > kept:  # of longer ones the end, of which only the last is judged
        begin = np.maximum(lengths - kept, 0)
        index = (begin[:, None] + np.arange(kept))[..., None]
        x, y = np.take_along_axis(x, index, axis=1), np.take_along_axis(y, index, axis=1)
        lengths, given = np.minimum(lengths, kept), np.where(begin > 0, kept - 1, 0)
    seen = outputs_of(program, drawn(problem, region))
    pasts = _pasts(program, problem, seen, np.random.default_rng(seed), first)
    if pasts is not None:
        depth = pasts[0].shape[1]
        pad = ((0, 0), (0, x.shape[1] - depth), (0, 0))
        x, y = (np.concatenate([own, np.pad(more, pad)]) for own, more in zip((x, y), pasts, strict=True))
        lengths = np.append(lengths, np.full(PASTS, depth))
        given = np.append(given, np.full(PASTS, depth - 1))
    y = np.round(y) if problem.integer_outputs else y
    sound = np.isfinite(y).all(axis=(1, 2))
    return Sequences(x[sound], y[sound], lengths[sound], given[sound])


def _pasts(
    program: Recurrence, problem: Problem, y: np.ndarray, rng: np.random.Generator, first: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Short sequences with their outputs, the last of which comes after a past that was drawn; None for whole
    numbers, of which all that can be reached are gone through."""
    depth = max([first, *program.depths().values()]) + 1
    y = y[np.isfinite(y).all(axis=(1, 2))]
    if problem.integer_outputs or depth > y.shape[1] or not len(y):
        return None

    def within(low: np.ndarray, high: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Anywhere, and often at an end."""
        where = rng.uniform(-0.15, 1.15, shape).clip(0.0, 1.0)
        return low + where * (high - low)

    ends = np.array([[domain.low, domain.high] for domain in problem.domains], float)
    x = within(ends[:, 0], ends[:, 1], (PASTS, depth, len(ends)))
    x = np.where([domain.discrete for domain in problem.domains], np.round(x), x)
    low, high = y.min(axis=(0, 1)), y.max(axis=(0, 1))
    past = within(low, high, (PASTS, depth, y.shape[2]))
    steps = np.diff(y, axis=1)  # from one position to the next they stay between those that come about, too
    least, most = (pick(steps, axis=(0, 1)) if steps.size else 0.0 * low for pick in (np.min, np.max))
    for t in range(1, depth):
        past[:, t] = np.clip(past[:, t - 1] + within(least, most, past[:, t].shape), low, high)
    with np.errstate(all="ignore"):
        past[:, -1] = program.run(x, past, depth - 1)[:, -1]
    return x, past
