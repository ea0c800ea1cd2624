"""The parts that a problem of own data needs: to learn from, to judge by, to certify with.

Models learn from short sequences. A long one is cut into windows that overlap: each begins with `CONTEXT`
positions that are fed but not scored, because the past of the window's first positions lies before the cut.
So every position is scored once, with its true past in view, and only the windows that begin where a
sequence truly begins say anything about the start.

What the certificate is tested on is set aside before anything is learned: whole sequences, the longest among
them, or the end of a single one; those stay long, so that a program must run on by itself for many steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weights2code.data.sequences import Sequences, from_list

#: Positions of context in front of a window, and positions that it scores.
CONTEXT = 12
SCORED = 20
#: Positions that are given of a sequence whose true start was cut off.
UNKNOWN_PAST = 6
#: Sequences up to this length are not cut.
LONGEST = CONTEXT + SCORED
#: Length of the stretches that the certificate runs over, and how many rows it has at most.
STRETCH = 1000
MOST_ROWS = 40_000
#: The end of a sequence is run from its true start, the past given, if that is at most so many rows.
KNOWN_PAST = 5000
#: Sequences that are kept from their true start, and rows of each.
BEGINNINGS = 20
BEGINNING = 48
#: Windows that training and validation use at most.
MOST_TRAINING = 8192
MOST_VALIDATION = 512
LEAST_VALIDATION = 8
#: Rows that windows see beyond a season, and how many rows, and windows, they have in all.
SEASON_MARGIN = 2
MOST_SEASONAL, LEAST_SEASONAL = 300_000, 256
#: Shares of the data that are kept for the certificate and for judging structures.
HELD_OUT = 0.2
VALIDATION = 0.15
#: Fewer true starts than this are too precious for one side: training and validation both get them.
FEW_STARTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Rows [first, last) of a sequence; the first `context` of them are not scored."""

    sequence: int
    first: int
    last: int
    context: int


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Sequences to learn from, to judge structures by, and for the certificate.

    Where sequences were cut, `beginnings` holds some of them from their true start, for rules over everything
    so far, which windows cannot show.
    """

    training: Sequences
    validation: Sequences
    held_out: Sequences
    beginnings: Sequences | None = None


def divide(
    x: Sequence[np.ndarray], y: Sequence[np.ndarray], seed: int, true_starts: Sequence[bool] | None = None
) -> Parts:
    """Split sequences, of any lengths, into the three parts, the same way for the same seed."""
    lengths = np.array([len(item) for item in x])
    rng = np.random.default_rng(seed)
    # a sequence that does not begin where it truly began has a past that nobody knows
    unknown = np.zeros(len(x), int) if true_starts is None else np.where(true_starts, 0, UNKNOWN_PAST)
    unknown = np.minimum(unknown, lengths // 2)
    learned, kept = _by_sequence(lengths, unknown, rng) if len(x) >= 5 else _by_time(lengths, unknown)
    windows = [window for piece in learned for window in cut(piece)]
    order = rng.permutation(len(windows))
    starts = [int(i) for i in order if windows[i].context == 0]
    validation = _validation(order, starts)
    chosen = set(validation) - (set(starts) if len(starts) < FEW_STARTS else set())
    training = [i for i in order if i not in chosen][:MOST_TRAINING]
    stretches = [stretch for piece in kept for stretch in _stretches(piece)]
    return Parts(
        _gather(x, y, [windows[i] for i in training or validation]),
        _gather(x, y, [windows[i] for i in validation]),
        _gather(x, y, _thin(stretches, MOST_ROWS)),
        _gather(x, y, _beginnings(learned)) if len(windows) > len(learned) else None,
    )


def divide_by_season(
    x: Sequence[np.ndarray], y: Sequence[np.ndarray], seed: int, season: int
) -> Parts | None:
    """The same parts in windows that see more than a season; None if there is too little for them.

    What lies a season before the first rows nobody knows, so those are given everywhere and never scored.
    """
    lengths = np.array([len(item) for item in x])
    rng = np.random.default_rng(seed)
    none = np.zeros(len(x), int)
    learned, kept = _by_sequence(lengths, none, rng) if len(x) >= 5 else _by_time(lengths, none)
    before = season + SEASON_MARGIN
    windows = [w for piece in learned for w in _slices(piece, piece.first + before, SCORED, before)]
    stretches = []
    for piece in kept:
        first = piece.first + max(piece.context, before)
        if piece.context < before < piece.last - piece.first and piece.first:
            first = piece.first + piece.context
            piece = Piece(piece.sequence, max(0, first - before), piece.last, min(first, before))
        stretches += _slices(piece, first, STRETCH, before)
    if len(windows) < LEAST_VALIDATION or not stretches:
        return None
    order = rng.permutation(len(windows))[: max(LEAST_SEASONAL, MOST_SEASONAL // (before + SCORED))]
    validation = _validation(order, [])
    training = [i for i in order if i not in set(validation)]
    return Parts(
        _gather(x, y, [windows[i] for i in training]),
        _gather(x, y, [windows[i] for i in validation]),
        _gather(x, y, _thin(stretches, MOST_ROWS)),
    )


def divide_uncut(
    x: Sequence[np.ndarray], y: Sequence[np.ndarray], seed: int, true_starts: Sequence[bool] | None = None
) -> Parts | None:
    """Sequences as they are, each from its true start up to so many rows; None if none has a known start.

    They are what a state that no output shows is found from; both to learn from and to judge by where there
    are few.
    """
    known = [i for i in range(len(x)) if true_starts is None or true_starts[i]]
    if not known:
        return None
    most = KNOWN_PAST + round(HELD_OUT / (1 - HELD_OUT) * KNOWN_PAST)
    x, y = [x[i][:most] for i in known], [y[i][:most] for i in known]
    lengths, none = np.array([len(item) for item in x]), np.zeros(len(x), int)
    rng = np.random.default_rng(seed)
    learned, kept = _by_sequence(lengths, none, rng) if len(x) >= 5 else _by_time(lengths, none)
    order = rng.permutation(len(learned))
    chosen = set(_validation(order, [])) if len(learned) > LEAST_VALIDATION else set()
    training = _thin([piece for i, piece in enumerate(learned) if i not in chosen], MOST_ROWS)
    validation = [piece for i, piece in enumerate(learned) if i in chosen]
    learned_from = _gather(x, y, training)
    judged_by = _gather(x, y, validation) if validation else learned_from
    return Parts(learned_from, judged_by, _gather(x, y, _thin(kept, MOST_ROWS)))


def windows(sequences: Sequences, seed: int) -> tuple[Sequences, Sequences]:
    """Windows of sequences that begin at their true start: to learn from, and to judge by."""
    pieces = [piece for i, end in enumerate(sequences.lengths) for piece in cut(Piece(i, 0, int(end), 0))]
    order = np.random.default_rng(seed).permutation(len(pieces))
    starts = [int(i) for i in order if pieces[i].context == 0]
    validation = _validation(order, starts)
    chosen = set(validation) - (set(starts) if len(starts) < FEW_STARTS else set())
    training = [i for i in order if i not in chosen][:MOST_TRAINING] or validation
    x, y = list(sequences.x), list(sequences.y)
    return _gather(x, y, [pieces[i] for i in training]), _gather(x, y, [pieces[i] for i in validation])


def _beginnings(pieces: list[Piece]) -> list[Piece]:
    """The longest pieces, each from its true start and not longer than is cheap to learn from."""
    ordered = sorted(pieces, key=lambda piece: piece.first - piece.last)[:BEGINNINGS]
    return [Piece(p.sequence, p.first, min(p.last, p.first + BEGINNING), p.context) for p in ordered]


def cut(piece: Piece) -> list[Piece]:
    """Windows of a piece; each of its scored positions is scored in exactly one of them."""
    if piece.last - piece.first <= LONGEST:
        return [piece]
    if piece.context:
        return _slices(piece, piece.first + piece.context, SCORED)
    middle = piece.first + LONGEST
    return [Piece(piece.sequence, piece.first, middle, 0), *_slices(piece, middle, SCORED)]


def _slices(piece: Piece, start: int, scored: int, context: int = CONTEXT) -> list[Piece]:
    """The piece from row `start` on, so many scored rows at a time, each with the context before them."""
    found = []
    for first in range(start, piece.last, scored):
        before = min(context, first - piece.first)
        found.append(Piece(piece.sequence, first - before, min(first + scored, piece.last), before))
    return found


def _by_sequence(
    lengths: np.ndarray, unknown: np.ndarray, rng: np.random.Generator
) -> tuple[list[Piece], list[Piece]]:
    """Whole sequences are kept back: the longest, if they are longer than others, and some of any length."""
    count = max(1, round(HELD_OUT * len(lengths)))
    order = rng.permutation(len(lengths))
    if lengths.max() > 1.5 * np.median(lengths):
        longest = order[np.argsort(-lengths[order], kind="stable")][: max(1, count // 2)]
    else:
        longest = order[:0]
    rest = [int(i) for i in order if i not in set(longest.tolist())]
    kept = [int(i) for i in longest] + rest[: count - len(longest)]
    learned = rest[count - len(longest) :]

    def whole(i: int) -> Piece:
        return Piece(i, 0, int(lengths[i]), int(unknown[i]))

    return [whole(i) for i in learned], [whole(i) for i in kept]


def _by_time(lengths: np.ndarray, unknown: np.ndarray) -> tuple[list[Piece], list[Piece]]:
    """The end of each of a few sequences is kept back."""
    learned, kept = [], []
    for i, length in enumerate(lengths.tolist()):
        middle = length - max(1, round(HELD_OUT * length))
        if middle < 1:
            learned.append(Piece(i, 0, length, int(unknown[i])))
            continue
        learned.append(Piece(i, 0, middle, int(unknown[i])))
        context = middle if middle <= KNOWN_PAST else CONTEXT
        kept.append(Piece(i, middle - context, length, context))
    return learned, kept


def _validation(order: np.ndarray, starts: list[int]) -> list[int]:
    """Windows to judge by; true starts are shared out, and serve both sides where there are few."""
    count = max(round(VALIDATION * len(order)), min(LEAST_VALIDATION, len(order) // 3), 1)
    count = min(MOST_VALIDATION, count)
    chosen = [int(i) for i in order[:count]]
    wanted = max(1, round(VALIDATION * len(starts))) if starts else 0
    if sum(i in set(starts) for i in chosen) < wanted:
        chosen = starts[:wanted] + chosen[: max(0, count - wanted)]
    return list(dict.fromkeys(chosen))


def _stretches(piece: Piece) -> list[Piece]:
    """A kept piece in stretches that can be run in reasonable time."""
    if piece.last - piece.first - piece.context <= 2 * STRETCH:
        return [piece]
    return _slices(piece, piece.first + piece.context, STRETCH)


def _thin(pieces: list[Piece], most: int) -> list[Piece]:
    """Pieces of about `most` rows in all: the longest, and an even choice of the others."""
    ordered = sorted(pieces, key=lambda piece: piece.first - piece.last)
    rows = sum(piece.last - piece.first for piece in ordered)
    count = max(1, min(len(ordered), len(ordered) * most // max(rows, 1)))
    return [ordered[int(i)] for i in np.linspace(0, len(ordered) - 1, count)]


def _gather(x: Sequence[np.ndarray], y: Sequence[np.ndarray], pieces: list[Piece]) -> Sequences:
    whole = from_list(
        [x[p.sequence][p.first : p.last] for p in pieces], [y[p.sequence][p.first : p.last] for p in pieces]
    )
    context = np.array([piece.context for piece in pieces])
    return Sequences(whole.x, whole.y, whole.lengths, context if context.any() else None)
