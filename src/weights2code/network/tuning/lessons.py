"""What a network is trained on with that differs from its program: the program's outputs, where they matter.

Sequences on which it is not right yet come first, then drawn ones. Proofs over all values ask for more than
sequences show: every past between those that come about, or, of outputs that grow, between the bounds that
are known of them. Such a past stands at the beginning of a short sequence, given and not judged.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Recurrence
from weights2code.language.interval import is_infinite
from weights2code.network.trial import drawn, outputs_of
from weights2code.verify.links import Sequence
from weights2code.verify.ranges import bounds_of

#: Sequences that are drawn, and pasts: of reals, and of whole numbers.
DRAWN, PASTS_OF_REALS, PASTS_OF_WHOLE = 384, 4000, 600


def to_learn_from(
    worst: list[Sequence],
    program: Recurrence,
    problem: Problem,
    seed: int,
    *,
    region: int = 0,
    window: int | None = None,
) -> Sequences:
    """Sequences with the program's outputs.

    Parameters
    ----------
    worst : what the network is least right on, at the end of each.
    region : the seed by which the certificate draws its own sequences.
    window : how many positions the network looks back; of longer sequences only the end is kept, with its
        past given. None if it looks back to the start.
    """
    rng = np.random.default_rng(seed)
    inputs = drawn(problem, seed)[:DRAWN]
    sequences = [np.array(sequence, dtype=float) for sequence in worst] + list(inputs)
    longest = max(len(sequence) for sequence in sequences)
    x = np.zeros((len(sequences), longest, inputs.shape[2]))
    for place, sequence in enumerate(sequences):
        x[place, : len(sequence)] = sequence
    y, lengths = outputs_of(program, x), np.array([len(sequence) for sequence in sequences])
    given = np.zeros(len(x), int)
    kept = max(problem.length, (window or 0) + 1)
    if window is not None and longest > kept:
        x, y, lengths, given = _ends(x, y, lengths, kept)
        longest = kept
    pasts = _pasts(program, problem, outputs_of(program, drawn(problem, region)), rng)
    if pasts is not None:
        more_x, more_y = pasts
        depth = more_x.shape[1]
        pad = ((0, 0), (0, longest - depth), (0, 0))
        x, y = np.concatenate([x, np.pad(more_x, pad)]), np.concatenate([y, np.pad(more_y, pad)])
        lengths = np.concatenate([lengths, np.full(len(more_x), depth)])
        given = np.concatenate([given, np.full(len(more_x), depth - 1)])
    y = np.round(y) if problem.integer_outputs else y
    sound = np.isfinite(y).all(axis=(1, 2))
    return Sequences(x[sound], y[sound], lengths[sound], given[sound])


def _ends(
    x: np.ndarray, y: np.ndarray, lengths: np.ndarray, kept: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The last `kept` positions of longer sequences, of which only the last is judged."""
    first = np.maximum(lengths - kept, 0)
    index = first[:, None] + np.arange(kept)
    x, y = (np.take_along_axis(part, index[..., None], axis=1) for part in (x, y))
    return x, y, np.minimum(lengths, kept), np.where(first > 0, kept - 1, 0)


def _pasts(
    program: Recurrence, problem: Problem, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """Short sequences with their outputs, the last of which comes after a past that was drawn; None where
    every past that matters comes about."""
    whole, depth = problem.integer_outputs, max(program.depths().values(), default=0) + 1
    y = y[np.isfinite(y).all(axis=(1, 2))]
    if depth > y.shape[1] or not len(y):
        return None
    low, high = y.min(axis=(0, 1)), y.max(axis=(0, 1))
    if whole:
        bounds = [bounds_of(program, problem.domains).get(name) for name in program.outputs]
        if all(bound is None or bound.finite for bound in bounds):
            return None  # they are few, and all that can be reached are gone through
        room = high - low
        ends = [
            (float(b.low) if b and not is_infinite(b.low) else -np.inf,
             float(b.high) if b and not is_infinite(b.high) else np.inf)
            for b in bounds
        ]  # fmt: skip
        low = np.maximum(low - room, [end[0] for end in ends])
        high = np.minimum(high + room, [end[1] for end in ends])
    count = PASTS_OF_WHOLE if whole else PASTS_OF_REALS

    def within(low: np.ndarray, high: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Anywhere, and often at an end."""
        where = rng.uniform(-0.15, 1.15, shape).clip(0.0, 1.0)
        return low + where * (high - low)

    ends_of = [np.array([getattr(domain, end) for domain in problem.domains]) for end in ("low", "high")]
    x = within(ends_of[0], ends_of[1], (count, depth, len(problem.domains)))
    for column, domain in enumerate(problem.domains):
        x[..., column] = np.round(x[..., column]) if domain.discrete else x[..., column]
    past = within(low, high, (count, depth, y.shape[2]))
    if not whole:  # steps from one position to the next stay between those that come about, too
        steps = np.diff(y, axis=1)
        least, most = (pick(steps, axis=(0, 1)) if steps.size else 0.0 * low for pick in (np.min, np.max))
        for t in range(1, depth):
            past[:, t] = np.clip(past[:, t - 1] + within(least, most, past[:, t].shape), low, high)
    past = np.round(past) if whole else past
    with np.errstate(all="ignore"):
        past[:, -1] = program.run(x, past, depth - 1)[:, -1]
    return x, past
