"""Order statistics as memories: medians of the last few values, the second largest so far.

An output that is one of the values of the recent past, or of all values so far, in their order, is soon
recognised: the values are sorted and compared with it, and most outputs are told apart by the first rows. The
network has a sub-MLP for the lesser and the greater of every two values that are compared on the way, so that
it is exact for any numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from weights2code.data import Problem, Sequences
from weights2code.heads import HeadKind
from weights2code.language import BITS, Domain
from weights2code.language.operators import order_name
from weights2code.training.memories import BEYOND, Memory, Quantity
from weights2code.training.remembered import Remembered, placed

#: The widest window that is sorted, and the last of the largest (or smallest) so far.
WIDEST, LAST = 9, 3
#: Rows that are asked first, and those at least that the output must be told by.
FIRST, FEWEST = 300, 50


def orders(problem: Problem) -> Iterator[Remembered]:
    """The order statistic that the only output is, wherever the whole window lies inside the sequence."""
    if len(problem.outputs) > 1 or problem.output_domains[0].categories or problem.training.given.any():
        return
    few = problem.training.take(slice(0, max(1, FIRST // max(problem.training.x.shape[1], 1))))
    for column, domain in enumerate(problem.domains):
        if domain.categories or domain == BITS or not _is_one_of(few, column):
            continue  # the median of bits is a majority, which is a sum
        for memory, reach in _orders(column, domain):
            if _is(few, memory, reach) and _is(problem.training, memory, reach):
                told = float(problem.training.scored[:, reach:].sum())
                if told >= FEWEST:
                    yield placed((memory,), [(memory, 0)], len(problem.inputs), told)
                    return


def medians(problem: Problem, widths: range = range(5, 8)) -> Iterator[Memory]:
    """Order statistics of windows that an output may be a function of; those of three values are seen without
    them."""
    for column, domain in enumerate(problem.domains):
        if not domain.categories and domain != BITS:
            yield from (
                window(column, place, width)
                for width in widths
                for place in (range(2, width) if domain.discrete else ((width + 1) // 2,))
            )


def window(column: int, place: int, width: int) -> Memory:
    """The `place`-th smallest of the last `width` values of a column."""
    places = tuple((column, lag) for lag in range(width))
    return Memory("location", Quantity(places, order_name(place, width)))


def _orders(column: int, domain: Domain) -> Iterator[tuple[Memory, int]]:
    """Order statistics, and how many positions at the start do not count."""
    for width in range(3, WIDEST + 1):
        yield from ((window(column, place, width), width - 1) for place in range(2, width))
    ends: tuple[tuple[HeadKind, float], ...] = (("max", domain.low), ("min", domain.high))
    for beyond in range(1, LAST):
        for kind, before in ends:
            left = Quantity(((column, 0),), f"{BEYOND}{kind} {beyond}", before=float(before))
            yield Memory(kind, left), beyond


def _is_one_of(sequences: Sequences, column: int) -> bool:
    """Whether outputs came up in the column before, where enough of it has been seen."""
    x, y = sequences.x[..., column], sequences.y[..., 0]
    for t in range(WIDEST, x.shape[1]):
        seen = (x[:, : t + 1] == y[:, t, None]).any(axis=1)
        if not seen[sequences.scored[:, t]].all():
            return False
    return x.shape[1] > LAST


def _is(sequences: Sequences, memory: Memory, reach: int) -> bool:
    same = memory.values(sequences) == sequences.y[..., 0]
    return bool(same[:, reach:][sequences.scored[:, reach:]].all())
