"""What a head can remember of everything so far: the values that windows lack, as columns of the data.

An equality head, or an aggregate, reads columns at the present, columns some steps back (through a location
head), or a simple function of two of them (through a sub-MLP). What it gives is known before any training, so
the data can be asked whether it is what the output needs (`repeats.py`, `neighbours.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.graph import shifted
from weights2code.heads import COUNTS, HEADS, HeadKind, count_of
from weights2code.language import BITS, OPERATORS
from weights2code.language.operators import order_of

#: Functions of two values that a head may go over.
FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "difference": lambda a, b: a - b,
    "sum": lambda a, b: a + b,
    "distance": lambda a, b: np.abs(a - b),
    "larger": lambda a, b: np.maximum(a, b),
    "smaller": lambda a, b: np.minimum(a, b),
    "greater": lambda a, b: (a > b).astype(float),
    "equal": lambda a, b: (a == b).astype(float),
    "different": lambda a, b: (a != b).astype(float),
    "product": lambda a, b: a * b,
}
#: A value that is looked up and counted on: where nothing is found it is 0, which then says so.
ONE_MORE = "one more"
#: What a lookup asks for whose key is a condition.
ONE = "one"
#: How many positions there are so far, and the sum of a column.
POSITION, TOTAL = "position", "total"
#: What a new value leaves of a column beyond its so many largest (max) or smallest (min): `beyond max 1` is
#: the lesser of the value and the largest before it, of which the largest so far is the second largest value.
BEYOND = "beyond "
#: Values of a column that a condition may ask for, at most.
MOST_ASKED = 10
#: How far before an equal key what stood there is looked at.
FARTHEST_FOLLOWED = 4
#: Values of a column that are counted together, at most.
MOST_TALLIED = 8
#: Those in which the order of both matters.
ORDERED = frozenset({"difference", "greater"})
#: Those that say nothing of reals, which are hardly ever equal.
OF_WHOLE = frozenset({"equal", "different"})
#: Those that are true or not.
CONDITIONS = frozenset({"greater", "equal", "different"})

#: A column, counted over inputs and outputs, and how many steps back: outputs one step at least.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a head reads: one place, a function of two, or of whole numbers in a few places the level that
    each has. `before` is what lies before the start."""

    places: tuple[Place, ...]
    function: str | None = None
    levels: tuple[tuple[tuple[float, ...], float], ...] = ()
    before: float = 0.0

    def values(self, sequences: Sequences) -> np.ndarray:
        """At every position (n, T)."""
        if self.beyond is not None:
            return self._beyond(*self.beyond, sequences)
        if self.function == TOTAL:
            return np.cumsum(replace(self, function=None).values(sequences), axis=1)
        found = [_at(sequences, place, self.before) for place in self.places]
        if self.function in (ONE, POSITION):
            ones = np.ones_like(found[0])
            return ones if self.function == ONE else np.cumsum(ones, axis=1)
        if self.function == ONE_MORE:
            return found[0] + 1.0
        if self.levels:
            points = np.array([point for point, _ in self.levels])
            return _looked_up(np.stack(found, axis=-1), points, np.array([level for _, level in self.levels]))
        if self.function is None:
            return found[0]
        if order_of(self.function) is not None:
            return OPERATORS[self.function].numpy(*found)
        return reduce(FUNCTIONS[self.function], found)

    @property
    def beyond(self) -> tuple[str, int] | None:
        """Beyond what extremum, and how many of them."""
        if self.function is None or not self.function.startswith(BEYOND):
            return None
        kind, count = self.function.removeprefix(BEYOND).split()
        return kind, int(count)

    def _beyond(self, kind: str, count: int, sequences: Sequences) -> np.ndarray:
        value = _at(sequences, self.places[0], self.before)
        best, other = (np.maximum, np.minimum) if kind == "max" else (np.minimum, np.maximum)
        for _ in range(count):
            value = other(shifted(best.accumulate(value, axis=1), 1, self.before), value)
        return value

    @property
    def computed(self) -> bool:
        """Whether it takes a sub-MLP."""
        return self.function is not None or bool(self.levels)

    @property
    def cost(self) -> float:
        """How much there is to it."""
        return sum(1.0 + 0.5 * lag for _, lag in self.places) + self.computed


def _looked_up(values: np.ndarray, points: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The level of the point that each row of values is; one that is none has the last level of all, and one
    more."""
    codes, size = np.zeros(values.shape[:-1], np.int64), 1
    own = np.zeros(len(points), np.int64)
    known = np.ones(values.shape[:-1], bool)
    for slot in range(points.shape[1]):
        marks = np.unique(points[:, slot])
        place = np.minimum(np.searchsorted(marks, values[..., slot]), len(marks) - 1)
        known &= marks[place] == values[..., slot]
        codes, own = codes + size * place, own + size * np.searchsorted(marks, points[:, slot])
        size *= len(marks)
    table = np.full(size, levels.max() + 1.0)
    table[own] = levels
    return np.where(known, table[codes], levels.max() + 1.0)


def _at(sequences: Sequences, place: Place, before: float) -> np.ndarray:
    column, lag = place
    inputs = sequences.x.shape[2]
    values = sequences.x[..., column] if column < inputs else sequences.y[..., column - inputs]
    return shifted(values, lag, before)


@dataclass(frozen=True, slots=True)
class Memory:
    """A head over everything so far, by what it reads; an equality head looks `gap` steps back at least, and
    one that counts compares keys so far with the value."""

    kind: HeadKind
    value: Quantity
    key: Quantity | None = None
    query: Quantity | None = None
    gap: int = 1

    def values(self, sequences: Sequences) -> np.ndarray:
        """What the head gives at every position (n, T)."""
        value = self.value.values(sequences)
        aggregate = HEADS[self.kind].aggregate
        if aggregate is not None:
            return aggregate(value)
        if self.kind == "location":
            return value
        assert self.key is not None
        relation = HEADS[self.kind].relation
        if relation is not None:
            return count_of(relation, self.key.values(sequences), value)
        assert self.query is not None
        return last_equal(self.query.values(sequences), self.key.values(sequences), value, self.gap)

    @property
    def read(self) -> list[Quantity]:
        """All that the head reads."""
        return [self.value, *(part for part in (self.key, self.query) if part is not None)]

    def of_inputs(self, inputs: int) -> bool:
        """Whether it reads inputs alone, which are so many columns."""
        return all(column < inputs for part in self.read for column, _ in part.places)

    @property
    def cost(self) -> float:
        """Simple ones first."""
        always = self.query is not None and self.query.function == ONE
        later = 0.1 if always else -0.1  # a condition is asked of the present too, a key of the past
        return (
            sum(part.cost for part in self.read)
            + 0.5 * (self.kind in ("mean", "equality"))
            + later * self.gap
        )


def last_equal(query: np.ndarray, key: np.ndarray, value: np.ndarray, gap: int) -> np.ndarray:
    """The value (n, T) at the last position, `gap` or more steps back, whose key equals the query; else 0."""
    found = np.zeros(value.shape)
    rows = np.arange(len(value))
    for t in range(gap, value.shape[1]):
        same = key[:, : t - gap + 1] == query[:, t, None]
        newest = t - gap - np.argmax(same[:, ::-1], axis=1)
        found[:, t] = np.where(same.any(1), value[rows, newest], 0.0)
    return found


def plain(problem: Problem) -> Iterator[Memory]:
    """How many positions there are, and heads over columns as they are, now or one step back: aggregates and
    lookups."""
    yield Memory("sum", Quantity(((0, 0),), ONE))
    inputs = range(len(problem.inputs))
    outputs = range(len(inputs), len(inputs) + len(problem.outputs))
    for column in inputs:
        if problem.domains[column].categories:  # texts have no sum: how often each of them came up so far
            yield from (Memory("sum", test) for test in _values_of(column, problem))
            continue
        for kind in ("sum", "max", "min", "mean"):
            yield Memory(kind, Quantity(((column, 0),)))
    if not any(domain.discrete for domain in problem.domains):
        return  # reals are hardly ever equal
    keys = [column for column in inputs if problem.domains[column].discrete]
    for query, key, value in product(keys, keys, inputs):
        if query == key == value:
            continue
        for gap in (1, 0) if query != key else (1,):
            stored, compared, asked = (Quantity(((column, 0),)) for column in (value, key, query))
            yield Memory("equality", stored, compared, asked, gap)
    for query, key in product(keys, keys):
        # what came one step after the last equal key, and what the output was there
        before = Quantity(
            ((key, 1),), before=problem.domains[query].low - 1.0
        )  # nothing equals what is before
        asked = Quantity(((query, 0),))
        for value, gap in product(inputs, (1, 0)):
            yield Memory("equality", Quantity(((value, 0),)), before, asked, gap)
        for value in outputs:
            texts = bool(problem.output_domains[value - len(inputs)].categories)
            for function in (None,) if texts else (None, ONE_MORE):
                yield Memory("equality", Quantity(((value, 1),), function), before, asked, 0)


def counts(problem: Problem) -> Iterator[Memory]:
    """How many values of a column so far compare with the present one, or with that of another column."""
    columns = range(len(problem.inputs))
    for key, value in sorted(product(columns, columns), key=lambda pair: pair[0] != pair[1]):
        kinds = {problem.domains[column].categories for column in (key, value)}
        if len(kinds) > 1 or problem.domains[key] == BITS:  # of bits, sums say as much
            continue
        kept: tuple[HeadKind, ...] = COUNTS if kinds == {()} else ("same",)
        if not (problem.domains[key].discrete and problem.domains[value].discrete):
            kept = ("less", "more") if key != value else ("less", "at_most", "at_least", "more")
        for kind in kept:
            yield Memory(kind, Quantity(((value, 0),)), Quantity(((key, 0),)))


def ranks(problem: Problem) -> Iterator[tuple[Memory, Memory]]:
    """How many positions there are, and how many values of a column so far compare with the present one: both
    together say what share of them does."""
    count = Memory("sum", Quantity(((0, 0),), ONE))
    yield from ((count, memory) for memory in counts(problem) if memory.key == memory.value)


def computed(problem: Problem) -> Iterator[Memory]:
    """Heads over simple functions of two columns, or of a column and its last value."""
    quantities = [*_functions(problem)]
    for quantity in quantities:
        for kind in ("sum", "max", "min", "mean"):
            if kind in ("sum", "mean") or quantity.function not in CONDITIONS:
                yield Memory(kind, quantity)
    whole = [domain.discrete for domain in problem.domains]
    for quantity in quantities:
        discrete = quantity.function in CONDITIONS or all(whole[place[0]] for place in quantity.places)
        if discrete and quantity.function != "product":
            for column in range(len(problem.inputs)):
                yield Memory("equality", Quantity(((column, 0),)), quantity, quantity, 1)


def conditional(problem: Problem) -> Iterator[Memory]:
    """The last value of a column where some condition held."""
    for condition, column, gap in product(_conditions(problem), range(len(problem.inputs)), (0, 1)):
        yield Memory("equality", Quantity(((column, 0),)), condition, Quantity(((0, 0),), ONE), gap)


def ages(problem: Problem) -> Iterator[tuple[Memory, Memory]]:
    """How many positions there are, and how many there were at the last equal key, or where some condition
    held: both together say how long ago that is."""
    count, position = Memory("sum", Quantity(((0, 0),), ONE)), Quantity(((0, 0),), POSITION)
    for column, domain in enumerate(problem.domains):
        if domain.discrete:
            key = Quantity(((column, 0),))
            yield count, Memory("equality", position, key, key, 1)
    for condition, gap in product(_conditions(problem), (0, 1)):
        yield count, Memory("equality", position, condition, Quantity(((0, 0),), ONE), gap)


def followed(problem: Problem) -> Iterator[tuple[Memory, ...]]:
    """What stood at the last equal key and some steps before it, the farthest first: what is looked up may be
    any function of that."""
    inputs = range(len(problem.inputs))
    keys = [column for column in inputs if problem.domains[column].discrete]
    for back, query, key in product(range(1, FARTHEST_FOLLOWED + 1), keys, keys):
        asked, compared = Quantity(((query, 0),)), Quantity(((key, 0),))
        places = [(column, lag) for lag in range(back, -1, -1) for column in inputs]
        yield tuple(Memory("equality", Quantity((place,)), compared, asked, 1) for place in places)


def tallies(problem: Problem) -> Iterator[tuple[Memory, ...]]:
    """How often each value of a column came up: all of them together say what is the most frequent, and
    every sum of a function of the column."""
    for column, domain in enumerate(problem.domains):
        if domain.discrete and 2 < domain.size <= MOST_TALLIED:
            values = domain.values().astype(float).tolist()
            yield tuple(
                Memory("sum", Quantity(((column, 0),), levels=tuple(((o,), float(o == v)) for o in values)))
                for v in values
            )


def walks(problem: Problem) -> Iterator[tuple[Memory, Memory]]:
    """A sum that goes up and down, and the least or the most that it was: of bits, 0 is a step down."""
    for column, domain in enumerate(problem.domains):
        step = Quantity(((column, 0),))
        if domain == BITS:
            step = replace(step, levels=(((0.0,), -1.0), ((1.0,), 1.0)))
        elif domain.low >= 0:
            continue
        for kind in ("min", "max"):
            yield Memory("sum", step), Memory(kind, replace(step, function=TOTAL))


def _conditions(problem: Problem) -> list[Quantity]:
    """Comparisons of two values, and whether a column has one of its values."""
    found = [quantity for quantity in _functions(problem) if quantity.function in CONDITIONS]
    for column in range(len(problem.domains)):
        found += _values_of(column, problem)
    return found


def _values_of(column: int, problem: Problem) -> list[Quantity]:
    """Whether a column has one of its values, if they are few."""
    domain = problem.domains[column]
    if not domain.discrete or domain.size > MOST_ASKED:
        return []
    values = domain.values().astype(float).tolist()
    return [
        Quantity(((column, 0),), levels=tuple(((other,), float(other == value)) for other in values))
        for value in values
    ]


def _functions(problem: Problem) -> Iterator[Quantity]:
    inputs = range(len(problem.inputs))
    pairs = [((one, 0), (other, 0)) for one, other in combinations(inputs, 2)]
    pairs += [((column, 0), (column, 1)) for column in inputs]
    for places in pairs:
        whole = all(problem.domains[column].discrete for column, _ in places)
        kinds = {problem.domains[column].categories for column, _ in places}
        for function in FUNCTIONS:
            if function in OF_WHOLE and not whole:
                continue
            if kinds != {()} and (function not in OF_WHOLE or len(kinds) > 1):
                continue  # texts are the same or not, and no more
            if function in ("difference", "sum") and places[0][0] == places[1][0]:
                continue  # a sum over differences in time is the last value
            yield Quantity(places, function)
            if function in ORDERED and places[0][0] != places[1][0]:
                yield Quantity(places[::-1], function)
