"""The parts that a problem of own data needs: to learn from, to judge by, to certify with.

Models learn from short sequences. A long one is cut into windows that overlap: each begins with `CONTEXT`
positions that are fed but not scored, because the past of the window's first positions lies before the cut.
So every position is scored once, with its true past in view, and only the windows that begin where a
sequence truly begins say anything about the start.

What the certificate is tested on is set aside before anything is learned: whole sequences, the longest among
them, or the end of a single one; those stay long, so that a program must run on by itself for many steps.
After that it is judged by all rows, as they stand (`all_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from weights2code.data.sequences import Rows, Sequences

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
#: Rows that a program is judged by at most, those that it was learned from among them.
MOST_JUDGED = 100_000
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
#: With fewer sequences than this the end of each is kept back, else whole ones.
FEW_SEQUENCES = 5


#: The place of the context in a row that stands for a piece.
CONTEXT_COLUMN = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows [first, last) of a sequence; the first `context` of them are not scored."""

    sequence: int
    first: int
    last: int
    context: int


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Which rows to learn from, to judge structures by, and to certify with.

    Where sequences were cut, `beginnings` holds some of them from their true start, for rules over everything
    so far, which windows cannot show.
    """

    training: list[Piece]
    validation: list[Piece]
    held_out: list[Piece]
    beginnings: list[Piece] | None = None

    def lists(self) -> list[list[Piece]]:
        """The parts that there are, in this order."""
        found = [self.training, self.validation, self.held_out]
        return found if self.beginnings is None else [*found, self.beginnings]


def divide(lengths: np.ndarray, seed: int, true_starts: Sequence[bool] | None = None) -> Parts:
    """Split sequences of these lengths into the parts, the same way for the same seed."""
    rng = np.random.default_rng(seed)
    unknown = np.zeros(len(lengths), int) if true_starts is None else _unknown(lengths, true_starts)
    learned, kept = _split(lengths, unknown, rng)
    windows = np.concatenate([_windows(piece) for piece in learned])
    training, validation = _shared_out(windows, rng)
    stretches = np.concatenate([_stretches(piece) for piece in kept])
    return Parts(
        training,
        validation,
        _pieces(_thin(stretches, MOST_ROWS)),
        _beginnings(learned) if len(windows) > len(learned) or unknown.any() else None,
    )


def _unknown(lengths: np.ndarray, true_starts: Sequence[bool]) -> np.ndarray:
    """How many rows are given of each sequence: one that does not begin where it truly began has a past that
    nobody knows. Of short ones that may be all; where most are, it is half of what they have."""
    typical = int(np.median(np.repeat(lengths, lengths)))
    return np.where(true_starts, 0, np.minimum(lengths, max(1, min(UNKNOWN_PAST, typical // 2))))


def all_rows(lengths: np.ndarray) -> list[Piece]:
    """All sequences from their first row on; of very many rows an even choice of sequences."""
    lengths = np.minimum(lengths, MOST_JUDGED)
    whole = np.stack([np.arange(len(lengths)), 0 * lengths, lengths, 0 * lengths], 1)
    return _pieces(_thin(whole, MOST_JUDGED) if lengths.sum() > MOST_JUDGED else whole)


def batches(rows: Rows, pieces: Sequence[Piece]) -> Iterator[tuple[np.ndarray, Sequences]]:
    """Pieces of the rows as sequences, those of like length together, and the places of their rows."""

    def size(piece: Piece) -> int:
        return (piece.last - piece.first).bit_length()

    starts = np.cumsum(rows.lengths) - rows.lengths
    for _, alike in groupby(sorted(pieces, key=size), size):
        group = list(alike)
        places = places_of(group, starts)
        yield places, as_sequences(group, list(rows.x[places].T), list(rows.y[places].T))


def divide_by_season(lengths: np.ndarray, seed: int, season: int) -> Parts | None:
    """The same parts in windows that see more than a season; None if there is too little for them.

    What lies a season before the first rows nobody knows, so those are given everywhere and never scored.
    """
    rng = np.random.default_rng(seed)
    learned, kept = _split(lengths, np.zeros(len(lengths), int), rng)
    before = season + SEASON_MARGIN
    windows = [_slices(piece, piece.first + before, SCORED, before) for piece in learned]
    stretches = []
    for piece in kept:
        first = piece.first + max(piece.context, before)
        if piece.context < before < piece.last - piece.first and piece.first:
            first = piece.first + piece.context
            piece = Piece(piece.sequence, max(0, first - before), piece.last, min(first, before))
        stretches.append(_slices(piece, first, STRETCH, before))
    windows, stretches = np.concatenate(windows), np.concatenate(stretches)
    if len(windows) < LEAST_VALIDATION or not len(stretches):
        return None
    order = rng.permutation(len(windows))[: max(LEAST_SEASONAL, MOST_SEASONAL // (before + SCORED))]
    validation = _validation(order, [])
    training = order[~np.isin(order, validation)]
    return Parts(
        _pieces(windows[training]), _pieces(windows[validation]), _pieces(_thin(stretches, MOST_ROWS))
    )


def divide_uncut(lengths: np.ndarray, seed: int, true_starts: Sequence[bool] | None = None) -> Parts | None:
    """Sequences as they are, each from its true start up to so many rows; None if there are none.

    They are what a state that no output shows is found from; both to learn from and to judge by where there
    are few.
    """
    known = np.arange(len(lengths)) if true_starts is None else np.flatnonzero(true_starts)
    if not len(known):
        return None
    most = KNOWN_PAST + round(HELD_OUT / (1 - HELD_OUT) * KNOWN_PAST)
    rng = np.random.default_rng(seed)
    both = _split(np.minimum(lengths[known], most), 0 * known, rng)
    if not all(both):
        return None
    learned, kept = (_rows(*pieces) for pieces in both)
    learned[:, 0], kept[:, 0] = known[learned[:, 0]], known[kept[:, 0]]
    order = rng.permutation(len(learned))
    chosen = np.zeros(len(learned), bool)
    if len(learned) > LEAST_VALIDATION:
        chosen[_validation(order, [])] = True
    training = _pieces(_thin(learned[~chosen], MOST_ROWS))
    validation = _pieces(_thin(learned[chosen], MOST_ROWS)) if chosen.any() else training
    return Parts(training, validation, _pieces(_thin(kept, MOST_ROWS)))


def windows(sequences: Sequences, seed: int) -> tuple[Sequences, Sequences]:
    """Windows of sequences that begin at their true start: to learn from, and to judge by."""
    pieces = np.concatenate([_windows(Piece(i, 0, int(end), 0)) for i, end in enumerate(sequences.lengths)])
    training, validation = _shared_out(pieces, np.random.default_rng(seed))
    return _gather(sequences, training), _gather(sequences, validation)


def _shared_out(windows: np.ndarray, rng: np.random.Generator) -> tuple[list[Piece], list[Piece]]:
    """Windows to learn from, and to judge by."""
    order = rng.permutation(len(windows))
    starts = order[windows[order, CONTEXT_COLUMN] == 0].tolist()
    validation = _validation(order, starts)
    chosen = set(validation) - (set(starts) if len(starts) < FEW_STARTS else set())
    training = order[~np.isin(order, list(chosen))][:MOST_TRAINING].tolist()
    return _pieces(windows[training or validation]), _pieces(windows[validation])


def _beginnings(pieces: list[Piece]) -> list[Piece] | None:
    """The longest pieces, each from its true start and not longer than is cheap to learn from."""
    known = [piece for piece in pieces if not piece.context]
    ordered = sorted(known, key=lambda piece: piece.first - piece.last)[:BEGINNINGS]
    return [Piece(p.sequence, p.first, min(p.last, p.first + BEGINNING), 0) for p in ordered] or None


def _windows(piece: Piece) -> np.ndarray:
    """Windows of a piece, a row each; each of its scored positions is scored in exactly one of them."""
    if piece.last - piece.first <= LONGEST:
        return _rows(piece)
    if piece.context:
        return _slices(piece, piece.first + piece.context, SCORED)
    middle = piece.first + LONGEST
    first = Piece(piece.sequence, piece.first, middle, 0)
    return np.concatenate([_rows(first), _slices(piece, middle, SCORED)])


def _slices(piece: Piece, start: int, scored: int, context: int = CONTEXT) -> np.ndarray:
    """The piece from row `start` on, so many scored rows at a time, each with the context before them."""
    first = np.arange(start, max(piece.last, start), scored)
    before = np.minimum(context, first - piece.first)
    last = np.minimum(first + scored, piece.last)
    return np.stack([np.full(len(first), piece.sequence), first - before, last, before], 1)


def _rows(*pieces: Piece) -> np.ndarray:
    """Pieces as rows of numbers."""
    return np.array([(piece.sequence, piece.first, piece.last, piece.context) for piece in pieces])


def _pieces(rows: np.ndarray) -> list[Piece]:
    """Inverse of `_rows`."""
    return [Piece(*row) for row in rows.tolist()]


def _split(
    lengths: np.ndarray, unknown: np.ndarray, rng: np.random.Generator
) -> tuple[list[Piece], list[Piece]]:
    """What may be learned from, and what is kept back, of the sequences that are not all unknown past."""
    if len(lengths) < FEW_SEQUENCES:
        both = _by_time(lengths, unknown)
    else:
        both = _by_sequence(lengths, unknown, rng)
    learned, kept = ([p for p in part if p.context < p.last - p.first] or part for part in both)
    return learned, kept


def _by_sequence(
    lengths: np.ndarray, unknown: np.ndarray, rng: np.random.Generator
) -> tuple[list[Piece], list[Piece]]:
    """Whole sequences are kept back: the longest, if they are longer than others, and some of any length; not
    those that begin at a true start, where there are few."""
    count = max(1, round(HELD_OUT * len(lengths)))
    order = rng.permutation(len(lengths))
    free = order if (unknown == 0).sum() >= FEW_STARTS else order[unknown[order] > 0]
    if lengths.max() > 1.5 * np.median(lengths):
        longest = free[np.argsort(-lengths[free], kind="stable")][: max(1, count // 2)].tolist()
    else:
        longest = []
    kept = list(dict.fromkeys([*longest, *free.tolist()]))[:count]

    def whole(i: int) -> Piece:
        return Piece(i, 0, int(lengths[i]), int(unknown[i]))

    back = set(kept)
    return [whole(i) for i in order.tolist() if i not in back], [whole(i) for i in kept]


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
    beginnings = set(starts)
    if sum(i in beginnings for i in chosen) < wanted:
        chosen = starts[:wanted] + chosen[: max(0, count - wanted)]
    return list(dict.fromkeys(chosen))


def stretched(piece: Piece, context: int) -> list[Piece]:
    """A piece in stretches, each with the context before it."""
    return _pieces(_stretches(piece, context))


def _stretches(piece: Piece, context: int = CONTEXT) -> np.ndarray:
    """A kept piece in stretches that can be run in reasonable time."""
    if piece.last - piece.first - piece.context <= 2 * STRETCH:
        return _rows(piece)
    return _slices(piece, piece.first + piece.context, STRETCH, context)


def _thin(rows: np.ndarray, most: int) -> np.ndarray:
    """Pieces of about `most` rows in all: the longest, and an even choice of the others."""
    lengths = rows[:, 2] - rows[:, 1]
    order = np.argsort(-lengths, kind="stable")
    count = max(1, min(len(rows), len(rows) * most // max(int(lengths.sum()), 1)))
    return rows[order[np.linspace(0, len(rows) - 1, count).astype(int)]]


def places_of(pieces: Sequence[Piece], starts: np.ndarray) -> np.ndarray:
    """The rows of all pieces, one piece after the other, where sequence i begins at row `starts[i]`."""
    first = np.array([piece.first for piece in pieces]) + starts[[piece.sequence for piece in pieces]]
    lengths = np.array([piece.last - piece.first for piece in pieces])
    return np.arange(lengths.sum()) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)


def padded(pieces: Sequence[Piece], columns: Sequence[np.ndarray]) -> np.ndarray:
    """Pieces as one array (n, T, columns), from the rows of each column one piece after the other."""
    lengths = np.array([piece.last - piece.first for piece in pieces])
    valid = np.arange(lengths.max())[None, :] < lengths[:, None]
    table, places = np.zeros((len(columns), valid.size)), np.flatnonzero(valid)
    for row, column in zip(table, columns, strict=True):
        row[places] = column
    return np.ascontiguousarray(table.T).reshape(*valid.shape, len(columns))


def as_sequences(pieces: Sequence[Piece], x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> Sequences:
    """Pieces as sequences, from the rows of the columns of inputs and outputs."""
    context = np.array([piece.context for piece in pieces])
    lengths = np.array([piece.last - piece.first for piece in pieces])
    return Sequences(padded(pieces, x), padded(pieces, y), lengths, context if context.any() else None)


def _gather(sequences: Sequences, pieces: Sequence[Piece]) -> Sequences:
    """Pieces of sequences."""
    n, length, _ = sequences.x.shape
    places = places_of(pieces, length * np.arange(n))
    x, y = (table.reshape(n * length, -1)[places].T for table in (sequences.x, sequences.y))
    return as_sequences(pieces, list(x), list(y))
