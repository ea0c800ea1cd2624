"""Keys that are computed: which recent values mean the same to a lookup, read off neighbouring rows.

If a lookup takes the last position whose key equals the query, and the position just before matches, then the
output is a function of what is there; if it does not match, the output hangs on something older. So each pair
of recent values, before and now, says whether they match. Values that match the same ones are one level of
the key, whatever it is computed by, and where a short formula has the same levels, its values number them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

import numpy as np

from weights2code.data import Problem
from weights2code.effort import Effort
from weights2code.training.memories import Memory, Place, Quantity

#: Different recent values at most, rows that are asked, and how far back values lie at most.
MOST_VALUES, ASKED, DEEPEST = 100, 80_000, 5
#: How far back matches are looked for; 0 is the query.
BACK = range(4)
#: Contradictions that there would be, at least, for two values to be said to match, and for a hint of it in
#: the rows that are asked first.
EXPECTED, HINTED = 4.0, 1.0
SAMPLE = 12_000
#: What a row costs, in seconds of a usual machine.
A_ROW = 2.5e-8
#: How far back keys may lie whose values tell by themselves whether positions match, how many at most, and
#: by how many standard deviations they must tell.
FARTHEST, MOST_TELLING, TELLING = 6, 3, 12.0
#: What is left of a real output when a linear share of reals is off has so many decimals.
DECIMALS = 9
#: Values of the last output at most, to be asked beside what is looked up.
MOST_LAST = 20
#: Pairs of values at which it is soon seen that a formula does not fit, and what a formula costs.
GLANCED, A_FORMULA = 20, 1e-5
#: Factors of the sums that a key may be a function of, and what they are divided by.
FACTORS = (1, -1, 2, -2, 3, -3, 4, -4)
DIVISORS = range(2, 10)
#: Sums with a range of at most this may be cut off at both ends.
NARROW = 12

Point = tuple[float, ...]
#: The level of each of some recent values.
Levels = dict[Point, float]


def learned_keys(problem: Problem, effort: Effort) -> Iterator[Memory]:
    """Lookups whose key, and query, are some function of a few recent values; what is looked up is a column,
    or some function of the same values. The last output may play a part in what is made of it."""
    rows = _Rows(problem, DEEPEST)
    waiting = [*_places(problem)]
    for past in (False, True) if rows.last is not None else (False,):
        for places in [*waiting]:
            if effort.spent():
                return
            for memory in _of_places(problem, rows, places, effort, past):
                waiting.remove(places)
                yield memory
    far = _Rows(problem, FARTHEST + max(BACK))
    for places in _telling(problem, far, effort):
        if effort.spent():
            return
        yield from _of_places(problem, far, places, effort, past=False)


def _of_places(
    problem: Problem, rows: _Rows, places: tuple[Place, ...], effort: Effort, past: bool
) -> Iterator[Memory]:
    """The lookup whose key is a function of some places, if there is one."""
    points, codes = rows.points(places)
    beside = rows.last if past and rows.last is not None else np.zeros(len(rows.target), np.int64)
    for value in (None, *range(len(problem.inputs))):  # what is the output itself first
        if effort.spent():
            return
        if past and value is None:
            continue
        effort.spend(A_ROW * min(SAMPLE, len(rows.target)) * (len(places) + 3 * len(BACK)))
        stored = [rows.column(value, back) if value is not None else codes[back] for back in BACK]
        some = slice(0, SAMPLE)
        sample = [code[some] for code in codes], [values[some] for values in stored]
        if _matches(*sample, beside[some], rows.target[some], len(points), HINTED) is None:
            continue
        effort.spend(A_ROW * len(rows.target) * (len(places) + 3 * len(BACK)))
        matches = _matches(codes, stored, beside, rows.target, len(points), EXPECTED)
        if matches is None:
            continue
        kept = matches[codes[1], codes[0]] == 1
        before, now, target = stored[1][kept], codes[0][kept], rows.target[kept]
        if not len(target):
            continue
        if value is None:
            read = _stored(places, points, before, target)
        else:
            both = _coded(now) * len(before) + _coded(before)
            apart = _pairs(_coded(both) * (int(beside.max()) + 1) + beside[kept], target)[1]
            read = None if apart.any() else Quantity(((value, 0),))
        compared = _compared(matches, places, points, effort) if read is not None else None
        if read is not None and compared is not None:
            yield Memory("equality", read, *compared, 1)
            return  # one for these values


class _Rows:
    """Values at positions that have everything inside the sequence, and the output there."""

    def __init__(self, problem: Problem, deepest: int) -> None:
        sequences = problem.training
        self.deepest, self.length = deepest, sequences.x.shape[1]
        self.sequences = sequences.take(slice(0, max(1, ASKED // max(self.length - deepest, 1))))
        self.chosen = self.sequences.scored[:, deepest:]
        self.target = self.sequences.y[:, deepest:, 0][self.chosen]
        self.last: np.ndarray | None = None
        if problem.whole and problem.output_domains[0].size <= MOST_LAST and len(self.target):
            self.last = _coded(self.sequences.y[:, deepest - 1 : -1, 0][self.chosen])
        if not problem.output_domains[0].discrete:
            self.target = self._without_reals(problem)

    def _without_reals(self, problem: Problem) -> np.ndarray:
        """The output less a sum of real inputs with short factors, if few values are left; else as it is."""
        real = [column for column, domain in enumerate(problem.domains) if not domain.discrete]
        places = [(column, lag) for column in real for lag in range(2)]
        if not places or len(self.target) < 100:
            return self.target
        columns = np.column_stack([self.column(column, lag) for column, lag in places])
        design = np.column_stack([columns, np.ones(len(columns))])
        factors = np.linalg.lstsq(design, self.target, rcond=None)[0][:-1]
        left = np.round(self.target - columns @ (np.round(2 * factors) / 2), DECIMALS)
        return left if len(np.unique(left)) <= MOST_VALUES else self.target

    def column(self, column: int, back: int) -> np.ndarray:
        return self.sequences.x[:, self.deepest - back : self.length - back, column][self.chosen]

    def points(self, places: tuple[Place, ...]) -> tuple[list[Point], list[np.ndarray]]:
        """What the values of some places together are, and which of that they are so many steps back."""
        marks = [np.unique(self.sequences.x[..., column]) for column, _ in places]
        codes = [np.zeros(len(self.target), np.int64) for _ in BACK]
        for (column, lag), own in zip(places, marks, strict=True):
            for back in BACK:
                place = np.searchsorted(own, self.column(column, lag + back))
                codes[back] = codes[back] * len(own) + place
        return list(product(*(own.tolist() for own in marks))), codes


def _coded(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _places(problem: Problem) -> Iterator[tuple[Place, ...]]:
    """Sets of recent values that keys are functions of, few first; no more than can be told apart."""
    columns = [place for place, domain in enumerate(problem.domains) if domain.discrete]
    sets: list[tuple[Place, ...]] = [((column, 0),) for column in columns]
    sets += [((column, 0), (column, lag)) for column in columns for lag in (1, 2)]
    sets += [((one, 0), (other, 0)) for one, other in combinations(columns, 2)]
    sets += [((column, 0), (column, 1), (column, 2)) for column in columns]
    sets += [((one, 0), (two, 0), (three, 0)) for one, two, three in combinations(columns, 3)]
    sets += [((one, 0), (other, 0), (other, 1)) for one, other in permutations(columns, 2)]
    for places in sets:
        if np.prod([float(problem.domains[column].size) for column, _ in places]) <= MOST_VALUES:
            yield places


def _telling(problem: Problem, rows: _Rows, effort: Effort) -> Iterator[tuple[Place, ...]]:
    """Recent values, near or far, that tell whether the output is what stood in a column one step before."""
    if len(rows.target) < 1000:
        return
    columns = [place for place, domain in enumerate(problem.domains) if domain.discrete]
    known = {*_places(problem)}
    for value in range(len(problem.inputs)):
        stored = rows.column(value, 1)
        hit = rows.target == stored
        if not hit.any() or hit.all():
            continue
        alike = _coded(stored) if len(np.unique(stored)) <= MOST_VALUES else np.zeros(len(hit), np.int64)
        share = (np.bincount(alike, hit) / np.bincount(alike))[alike]
        found: list[tuple[float, Place]] = []
        for column, lag in product(columns, range(FARTHEST + 1)):
            effort.spend(3 * A_ROW * len(hit))
            now, before = _coded(rows.column(column, lag)), _coded(rows.column(column, lag + 1))
            cells = now * (int(before.max()) + 1) + before
            spread = np.bincount(cells, share * (1 - share))
            off = np.bincount(cells, hit - share)[spread > 0] ** 2 / spread[spread > 0]
            told = float((off.sum() - len(off)) / np.sqrt(2 * max(len(off), 1)))
            if told > TELLING:
                found.append((told, (column, lag)))
        strongest = [place for _, place in sorted(found, reverse=True)]
        for count in range(1, min(len(strongest), MOST_TELLING) + 1):
            places = tuple(sorted(strongest[:count]))
            size = np.prod([float(problem.domains[column].size) for column, _ in places])
            if size <= MOST_VALUES and places not in known:
                yield places


def _matches(
    codes: list[np.ndarray],
    stored: list[np.ndarray],
    beside: np.ndarray,
    target: np.ndarray,
    count: int,
    enough: float,
) -> np.ndarray | None:
    """For each value before and each value now: 1 if they match, 0 if not, -1 if the rows do not tell; None
    if none match, or all. What lies further back is asked where nothing nearer matches."""
    if not len(target):
        return None  # nothing lies so far back
    found = np.full(count * count, -1)
    real = len(np.unique(target)) > MOST_VALUES  # reals are looked up as they are, or not at all
    answer = target if real else _coded(target)
    rows = np.arange(len(target))
    # what is left open where only the present is known: there may be values for which nothing is
    pairs, apart, places = _pairs(codes[0] * (int(beside.max()) + 1) + beside, answer)
    places //= int(beside.max()) + 1
    open_by = np.bincount(places, apart, count) / np.maximum(np.bincount(places, pairs, count), 1.0)
    for back in BACK[1:]:
        cells = codes[back][rows] * count + codes[0][rows]
        if real:
            apart = (target[rows] != stored[back][rows]).astype(float)
            expected = np.bincount(cells, minlength=count * count) * float(apart.mean())
            differ = np.bincount(cells, apart, count * count)
        else:
            own = _coded(_coded(stored[back][rows]) * (int(beside.max()) + 1) + beside[rows])
            pairs, apart, places = _pairs(cells * (int(own.max()) + 1) + own, answer[rows])
            places //= int(own.max()) + 1
            expected = np.bincount(places, pairs, count * count) * np.tile(open_by, count)
            differ = np.bincount(places, apart, count * count)
        said = np.where(differ > 0, 0, np.where(expected >= enough, 1, -1))
        found = np.where(found < 0, said, found)
        rows = rows[found[codes[back][rows] * count + codes[0][rows]] == 0]
        if not len(rows):
            break
    found = found.reshape(count, count)
    return found if (found == 1).any() and (found == 0).any() else None


def _pairs(groups: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each group the pairs of its rows, those that differ in their code, and the group."""
    codes = _coded(codes)
    keys = np.sort(groups * (int(codes.max()) + 1) + codes)
    ends = np.flatnonzero(np.diff(keys, append=keys[-1] + 1))
    counts = np.diff(ends, prepend=-1).astype(float)
    own = keys[ends] // (int(codes.max()) + 1)
    starts = np.flatnonzero(np.diff(own, prepend=own[0] - 1))
    totals, same = np.add.reduceat(counts, starts), np.add.reduceat(counts * (counts - 1) / 2, starts)
    pairs = totals * (totals - 1) / 2
    return pairs, pairs - same, own[starts]


def _levels(matches: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The level of each value as a key and as a query, equal where they match; None if no levels say it."""
    count = len(matches)
    key, query = np.full(count, -1), np.full(count, -1)
    for row in range(count):
        if key[row] >= 0:
            continue
        level = int(max(key.max(), query.max())) + 1
        alike = [other for other in range(count) if key[other] < 0 and _agree(matches[row], matches[other])]
        key[alike] = level
        own = np.any(matches[alike] == 1, axis=0)
        if np.any(own & (query >= 0)):
            return None
        query[own] = level
    query[query < 0] = int(max(key.max(), query.max())) + 1
    said = key[:, None] == query[None, :]
    if np.any(said & (matches == 0)) or np.any(~said & (matches == 1)) or len(set(key)) < 2:
        return None
    return key, query


def _few_levels(matches: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The same where key and query are one function, with as few levels as the rows allow: values that match,
    also by way of others, have one level, and so have values that nothing tells apart."""
    count = len(matches)
    linked = ((matches == 1) | (matches == 1).T | np.eye(count, dtype=bool)).astype(int)
    while np.count_nonzero(further := np.minimum(linked @ linked, 1)) > np.count_nonzero(linked):
        linked = further
    group = np.unique(linked, axis=0, return_inverse=True)[1].reshape(-1)
    apart = np.zeros((int(group.max()) + 1,) * 2, bool)
    one, other = np.nonzero(matches == 0)
    apart[group[one], group[other]] = apart[group[other], group[one]] = True
    if np.any(np.diag(apart)):
        return None
    level = np.full(len(apart), -1)
    for place in np.argsort(-np.bincount(group), kind="stable"):
        taken = {int(level[near]) for near in np.flatnonzero(apart[place])}
        level[place] = next(number for number in range(len(apart)) if number not in taken)
    found = level[group]
    return (found, found) if len(set(found.tolist())) > 1 else None


def _agree(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two values match the same ones, as far as the rows tell, and some that both are known for."""
    known = (one >= 0) & (other >= 0)
    shared = np.any((one == 1) & (other == 1)) or not np.any((one == 1) | (other == 1))
    return bool(shared and np.array_equal(one[known], other[known]))


def _stored(
    places: tuple[Place, ...], points: Sequence[Point], before: np.ndarray, target: np.ndarray
) -> Quantity | None:
    """What is looked up, if it is the output itself where the position before matches."""
    low, high = np.full(len(points), np.inf), np.full(len(points), -np.inf)
    np.minimum.at(low, before, target)
    np.maximum.at(high, before, target)
    seen = np.flatnonzero(low <= high)
    if np.any(low < high):
        return None
    given = _formula_of([points[place] for place in seen.tolist()], _wider(places, points), low[seen])
    if given is None and len(seen) < len(points):
        return None  # of what was never looked up only a formula says what it is
    return _as_it_is(places, dict(zip(points, low.tolist(), strict=True)) if given is None else given)


def _compared(
    matches: np.ndarray, places: tuple[Place, ...], points: Sequence[Point], effort: Effort
) -> tuple[Quantity, Quantity] | None:
    """Key and query that match where the rows say so: the same short formula of the values, a formula that is
    compared with one of the values, or levels that no formula is known for."""
    wider = _wider(places, points)
    place = {point: index for index, point in enumerate(wider)}
    known = [place[point] for point in points]
    alike, apart = (np.array(known)[np.argwhere(matches == said)].T for said in (1, 0))
    few, fewer = (pairs[:, :: max(1, pairs.shape[1] // GLANCED)] for pairs in (alike, apart))

    def fits(key: np.ndarray, query: np.ndarray) -> bool:
        return all(
            not (key[one[0]] != query[one[1]]).any() and not (key[two[0]] == query[two[1]]).any()
            for one, two in ((few, fewer), (alike, apart))
        )

    def made(*both: np.ndarray) -> tuple[Quantity, Quantity]:
        key, query = (_as_it_is(places, dict(zip(wider, own.tolist(), strict=True))) for own in both)
        return key, query

    formulas = [*_formulas(np.array(wider))]
    effort.spend(A_FORMULA * len(formulas))
    for values in formulas:
        if fits(values, values):
            return made(values, values)
    for column in np.array(wider).T:
        for values in formulas:
            if fits(values, column):
                return made(values, column)
    levels = _levels(matches) or _few_levels(matches)
    if levels is None:
        return None
    both = [np.full(len(wider), float(len(wider) + own)) for own in range(2)]  # what was never seen: no match
    for values, own in zip(both, levels, strict=True):
        values[known] = own
    return made(*both)


def _wider(places: tuple[Place, ...], points: Sequence[Point]) -> list[Point]:
    """The values and those that lie at the start, with zeros before it."""
    columns = [
        sorted({point[slot] for point in points} | ({0.0} if lag else set()))
        for slot, (_, lag) in enumerate(places)
    ]
    return list(product(*columns))


def _as_it_is(places: tuple[Place, ...], levels: Levels) -> Quantity:
    """The quantity of some levels, without places on which they do not depend."""
    for slot in range(len(places)) if len(places) > 1 else ():
        fewer = {(*point[:slot], *point[slot + 1 :]): level for point, level in levels.items()}
        if all(fewer[(*point[:slot], *point[slot + 1 :])] == level for point, level in levels.items()):
            return _as_it_is((*places[:slot], *places[slot + 1 :]), fewer)
    for slot, place in enumerate(places):
        if all(point[slot] == level for point, level in levels.items()):
            return Quantity((place,))
    return Quantity(places, levels=tuple(sorted(levels.items())))


def _formula_of(points: Sequence[Point], wider: list[Point], wanted: np.ndarray) -> Levels | None:
    place = {point: index for index, point in enumerate(wider)}
    known = [place[point] for point in points]
    for values in _formulas(np.array(wider)):
        if np.array_equal(values[known], wanted):
            return dict(zip(wider, values.tolist(), strict=True))
    return None


def _formulas(points: np.ndarray) -> Iterator[np.ndarray]:
    """Values of short formulas, the shortest first."""
    columns = list(points.T)
    yield from columns
    two = list(combinations(columns, 2))
    for one, other in two:
        yield from (np.minimum(one, other), np.maximum(one, other), one * other)
        yield from ((one > other) * 1.0, (other > one) * 1.0, (one == other) * 1.0, np.abs(one - other))
    for total in _sums(columns):
        yield from (total, np.abs(total))
        low, high = float(total.min()), float(total.max())
        borders = np.arange(low + 1, high + 1)
        for border in borders:
            yield from ((total >= border) * 1.0, (total == border) * 1.0)
            yield from (np.maximum(total, border), np.minimum(total, border))
        for divisor in DIVISORS:
            yield from (total % divisor, total // divisor)
        for least, most in combinations(borders, 2) if high - low <= NARROW else ():
            yield from (((total >= least) & (total < most)) * 1.0, np.clip(total, least, most))


def _sums(columns: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Sums of a few columns with small factors, and with a product in them."""
    yield from columns
    for count in range(2, len(columns) + 1):
        for factors in product(FACTORS, repeat=count - 1):
            yield np.sum([f * column for f, column in zip((1, *factors), columns, strict=False)], axis=0)
            if count == 2:
                yield factors[0] * columns[0] + columns[1]
    yield columns[0] * columns[0]
    for one, other in combinations(range(len(columns)), 2):
        yield columns[one] * columns[other]
        for third in range(len(columns)):
            if third not in (one, other):
                yield columns[one] * columns[other] + columns[third]
