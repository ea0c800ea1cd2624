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
from dataclasses import dataclass, fields

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


#: Of each piece, a row of numbers: its sequence, its rows [first, last), and how many of them are not scored.
SEQUENCE, FIRST, LAST, GIVEN = range(4)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Which pieces to learn from, to judge structures by, and to certify with.

    Where sequences were cut, `beginnings` holds some of them from their true start, for rules over everything
    so far, which windows cannot show.
    """

    training: np.ndarray
    validation: np.ndarray
    held_out: np.ndarray
    beginnings: np.ndarray | None = None

    def named(self, prefix: str = "") -> dict[str, np.ndarray]:
        """The parts that there are, by their names."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {f"{prefix}{name}": pieces for name, pieces in found.items() if pieces is not None}


def whole(lengths: np.ndarray, given: np.ndarray | int = 0) -> np.ndarray:
    """A piece for each sequence, all of it."""
    return np.stack([np.arange(len(lengths)), 0 * lengths, lengths, given + 0 * lengths], 1)


def divide(lengths: np.ndarray, seed: int, true_starts: Sequence[bool] | None = None) -> Parts:
    """Split sequences of these lengths into the parts, the same way for the same seed."""
    rng = np.random.default_rng(seed)
    unknown = np.zeros(len(lengths), int) if true_starts is None else _unknown(lengths, true_starts)
    learned, kept = _split(lengths, unknown, rng)
    cut = _windows(learned)
    training, validation = _shared_out(cut, rng)
    beginnings = _beginnings(learned) if len(cut) > len(learned) or unknown.any() else None
    return Parts(training, validation, _thin(stretched(kept), MOST_ROWS), beginnings)


def _unknown(lengths: np.ndarray, true_starts: Sequence[bool]) -> np.ndarray:
    """How many rows are given of each sequence: one that does not begin where it truly began has a past that
    nobody knows. Of short ones that may be all; where most are, it is half of what they have."""
    typical = int(np.median(np.repeat(lengths, lengths)))
    return np.where(true_starts, 0, np.minimum(lengths, max(1, min(UNKNOWN_PAST, typical // 2))))


def all_rows(lengths: np.ndarray) -> np.ndarray:
    """All sequences from their first row on; of very many rows an even choice of sequences."""
    lengths = np.minimum(lengths, MOST_JUDGED)
    return _thin(whole(lengths), MOST_JUDGED) if lengths.sum() > MOST_JUDGED else whole(lengths)


def batches(rows: Rows, pieces: np.ndarray) -> Iterator[tuple[np.ndarray, Sequences]]:
    """Pieces of the rows as sequences, those of like length together, and the places of their rows."""
    starts = np.cumsum(rows.lengths) - rows.lengths
    sizes = np.array([length.bit_length() for length in sizes_of(pieces).tolist()])
    for size in np.unique(sizes):
        group = pieces[sizes == size]
        places = places_of(group, starts)
        yield places, as_sequences(group, list(rows.x[places].T), list(rows.y[places].T))


def divide_by_season(lengths: np.ndarray, seed: int, season: int) -> Parts | None:
    """The same parts in windows that see more than a season; None if there is too little for them.

    What lies a season before the first rows nobody knows, so those are given everywhere and never scored.
    """
    rng = np.random.default_rng(seed)
    learned, kept = _split(lengths, np.zeros(len(lengths), int), rng)
    before, found, stretches = season + SEASON_MARGIN, [], []
    for sequence, first, last, _ in learned.tolist():
        found.append(_slices(sequence, first, last, first + before, SCORED, before))
    for sequence, first, last, given in kept.tolist():
        start = first + max(given, before)
        if given < before < last - first and first:
            start = first + given
            first = max(0, start - before)
        stretches.append(_slices(sequence, first, last, start, STRETCH, before))
    found, stretches = np.concatenate(found), np.concatenate(stretches)
    if len(found) < LEAST_VALIDATION or not len(stretches):
        return None
    order = rng.permutation(len(found))[: max(LEAST_SEASONAL, MOST_SEASONAL // (before + SCORED))]
    validation = _validation(order, [])
    training = order[~np.isin(order, validation)]
    return Parts(found[training], found[validation], _thin(stretches, MOST_ROWS))


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
    learned, kept = _split(np.minimum(lengths[known], most), 0 * known, rng)
    if not len(learned) or not len(kept):
        return None
    learned[:, SEQUENCE], kept[:, SEQUENCE] = known[learned[:, SEQUENCE]], known[kept[:, SEQUENCE]]
    order = rng.permutation(len(learned))
    chosen = np.zeros(len(learned), bool)
    if len(learned) > LEAST_VALIDATION:
        chosen[_validation(order, [])] = True
    training = _thin(learned[~chosen], MOST_ROWS)
    validation = _thin(learned[chosen], MOST_ROWS) if chosen.any() else training
    return Parts(training, validation, _thin(kept, MOST_ROWS))


def windows(sequences: Sequences, seed: int) -> tuple[Sequences, Sequences]:
    """Windows of sequences that begin at their true start: to learn from, and to judge by."""
    training, validation = _shared_out(_windows(whole(sequences.lengths)), np.random.default_rng(seed))
    return _gather(sequences, training), _gather(sequences, validation)


def _shared_out(windows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Windows to learn from, and to judge by."""
    order = rng.permutation(len(windows))
    starts = order[windows[order, GIVEN] == 0].tolist()
    validation = _validation(order, starts)
    chosen = set(validation) - (set(starts) if len(starts) < FEW_STARTS else set())
    training = order[~np.isin(order, list(chosen))][:MOST_TRAINING].tolist()
    return windows[training or validation], windows[validation]


def _beginnings(pieces: np.ndarray) -> np.ndarray | None:
    """The longest pieces, each from its true start and not longer than is cheap to learn from."""
    known = pieces[pieces[:, GIVEN] == 0]
    known = known[np.argsort(-sizes_of(known), kind="stable")][:BEGINNINGS]
    known[:, LAST] = np.minimum(known[:, LAST], known[:, FIRST] + BEGINNING)
    return known if len(known) else None


def _windows(pieces: np.ndarray) -> np.ndarray:
    """Windows of pieces; each of their scored positions is scored in exactly one of them."""
    found = []
    for sequence, first, last, given in pieces.tolist():
        begun = min(last, first + LONGEST) if not given or last - first <= LONGEST else first
        if begun > first:
            found.append(np.array([(sequence, first, begun, given)]))
        if begun < last:
            found.append(_slices(sequence, first, last, max(begun, first + given), SCORED))
    return np.concatenate(found)


def stretched(pieces: np.ndarray, context: int = CONTEXT) -> np.ndarray:
    """Pieces in stretches that can be run in reasonable time, each with the context before it."""
    found = []
    for sequence, first, last, given in pieces.tolist():
        if last - first - given <= 2 * STRETCH:
            found.append(np.array([(sequence, first, last, given)]))
        else:
            found.append(_slices(sequence, first, last, first + given, STRETCH, context))
    return np.concatenate(found)


def _slices(
    sequence: int, begun: int, end: int, start: int, scored: int, context: int = CONTEXT
) -> np.ndarray:
    """Rows from `start` to the end, so many scored ones at a time, each with the context before them."""
    first = np.arange(start, max(end, start), scored)
    before = np.minimum(context, first - begun)
    return np.stack(
        [np.full(len(first), sequence), first - before, np.minimum(first + scored, end), before], 1
    )


def _split(
    lengths: np.ndarray, unknown: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """What may be learned from, and what is kept back, of the sequences that are not all unknown past."""
    if len(lengths) < FEW_SEQUENCES:
        both = _by_time(lengths, unknown)
    else:
        both = _by_sequence(lengths, unknown, rng)
    known = [part[part[:, GIVEN] < sizes_of(part)] for part in both]
    learned, kept = (some if len(some) else part for some, part in zip(known, both, strict=True))
    return learned, kept


def _by_sequence(
    lengths: np.ndarray, unknown: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Whole sequences are kept back: the longest, if they are longer than others, and some of any length; not
    those that begin at a true start, where there are few."""
    count = max(1, round(HELD_OUT * len(lengths)))
    order = rng.permutation(len(lengths))
    free = order if (unknown == 0).sum() >= FEW_STARTS else order[unknown[order] > 0]
    longest: list[int] = []
    if lengths.max() > 1.5 * np.median(lengths):
        longest = free[np.argsort(-lengths[free], kind="stable")][: max(1, count // 2)].tolist()
    kept = list(dict.fromkeys([*longest, *free.tolist()]))[:count]
    every = whole(lengths, unknown)
    return every[order[~np.isin(order, kept)]], every[kept]


def _by_time(lengths: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The end of each of a few sequences is kept back."""
    learned, kept = whole(lengths, unknown), []
    for i, length in enumerate(lengths.tolist()):
        middle = length - max(1, round(HELD_OUT * length))
        if middle >= 1:
            learned[i, LAST] = middle
            context = middle if middle <= KNOWN_PAST else CONTEXT
            kept.append((i, middle - context, length, context))
    return learned, np.array(kept, int).reshape(-1, 4)


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


def _thin(rows: np.ndarray, most: int) -> np.ndarray:
    """Pieces of about `most` rows in all: the longest, and an even choice of the others."""
    lengths = sizes_of(rows)
    order = np.argsort(-lengths, kind="stable")
    count = max(1, min(len(rows), len(rows) * most // max(int(lengths.sum()), 1)))
    return rows[order[np.linspace(0, len(rows) - 1, count).astype(int)]]


def sizes_of(pieces: np.ndarray) -> np.ndarray:
    """How many rows each piece has."""
    return pieces[:, LAST] - pieces[:, FIRST]


def places_of(pieces: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The rows of all pieces, one piece after the other, where sequence i begins at row `starts[i]`."""
    first, lengths = pieces[:, FIRST] + starts[pieces[:, SEQUENCE]], sizes_of(pieces)
    return np.arange(lengths.sum()) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)


def padded(pieces: np.ndarray, columns: Sequence[np.ndarray]) -> np.ndarray:
    """Pieces as one array (n, T, columns), from the rows of each column one piece after the other."""
    lengths = sizes_of(pieces)
    valid = np.arange(lengths.max())[None, :] < lengths[:, None]
    table, places = np.zeros((len(columns), valid.size)), np.flatnonzero(valid)
    for row, column in zip(table, columns, strict=True):
        row[places] = column
    return np.ascontiguousarray(table.T).reshape(*valid.shape, len(columns))


def as_sequences(pieces: np.ndarray, x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> Sequences:
    """Pieces as sequences, from the rows of the columns of inputs and outputs."""
    given = pieces[:, GIVEN]
    return Sequences(padded(pieces, x), padded(pieces, y), sizes_of(pieces), given if given.any() else None)


def _gather(sequences: Sequences, pieces: np.ndarray) -> Sequences:
    """Pieces of sequences."""
    n, length, _ = sequences.x.shape
    places = places_of(pieces, length * np.arange(n))
    x, y = (table.reshape(n * length, -1)[places].T for table in (sequences.x, sequences.y))
    return as_sequences(pieces, list(x), list(y))
