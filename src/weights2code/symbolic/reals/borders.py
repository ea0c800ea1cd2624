"""Borders between regions of reals in which a label stays the same.

Two rows that lie near each other and have different labels have a border between them. Along the right
direction (`directions`) one level lies between all pairs of its border; along a wrong one no level lies
between many. So for every direction the level is found that parts most of these pairs, and least of near
rows with equal labels. The pairs that it parts are settled, and what is left shows the next border. In the
end all rows are asked: the cells that the borders make must have one label each, and a level is the simplest
number in the gap that the rows leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weights2code.language import Expr
from weights2code.symbolic.notation import simplest_between, simplest_test
from weights2code.symbolic.reals.directions import Directions, Term, directions
from weights2code.symbolic.search.rows import Problem

#: Rows among which neighbours are looked for, and rows that ask for them, by the number of reals.
AMONG, ASKED = 24_000, {1: 24_000, 2: 12_000}
FEWER_ASKED = 5_000
#: Neighbours of each, and how far apart different discrete values are kept.
NEAREST, APART = 5, 50.0
#: Pairs that every direction is asked of, those that the best are asked of, and how many these are.
FEW_PAIRS, MOST_PAIRS, CLOSER = 150, 1200, 40
#: Real columns of which products are made, where there are more.
MOST_TELLING = 5
#: Directions that are asked at a time.
TOGETHER = 400
#: Borders, and rounds in which rows of mixed cells are asked for more.
MOST_BORDERS, ROUNDS = 7, 4
#: Pairs that a border parts, as a share of those that are left, beyond what it parts by chance.
LEAST_PARTED = 0.08
#: What a node of a direction costs, in shares of the pairs.
A_NODE = 0.002
#: Pairs that are left when borders are enough, and the fewest that say anything.
LEFT, FEWEST = 0.01, 5
#: Pairs that the first borders may leave: with more, there are too many borders of this kind.
MOST_LEFT = 0.01
#: How much more than its share of all pairs may be left after each of the most borders that there may be.
UNEVEN = 0.1
#: Pairs that may lie beyond a level by chance, as a share of those that it parts.
SLACK = 0.03
#: The share of rows in the wrong cell that levels may explain which are not quite right.
ALMOST = 0.03


@dataclass(frozen=True, slots=True, eq=False)
class Border:
    """A level of a direction, and the gap that it lies in."""

    expr: Expr
    values: np.ndarray
    level: float
    gap: tuple[float, float]

    def above(self) -> np.ndarray:
        return self.values > self.level

    def test(self) -> Expr:
        return simplest_test(self.expr, *self.gap)


def borders(
    problem: Problem, label: np.ndarray, more: Sequence[Mapping[Term, float]] = ()
) -> list[Border] | None:
    """Borders whose cells have one label each, given all discrete values; None where none are found.

    Sums of inputs are tried first, then sums of all reals, sums with discrete values in them, and products.
    `more` directions are weights of terms.
    """
    real = [not domain.discrete for domain in problem.domains]
    known = directions(real, _divisors(problem), more)
    present = {v.name for v in problem.variables if v.lag == 0}
    input_like = [v.name in present for v in problem.variables]
    used = known.used()
    flat = np.array([all(len(term) == 1 for term in terms) for terms in used])
    pure = flat & np.array([all(real[term[0]] for term in terms) for terms in used])
    plain = pure & np.array([all(input_like[term[0]] for term in terms) for terms in used])
    held = [j for j, domain in enumerate(problem.domains) if domain.discrete]
    place = numbers(problem.X[:, held])
    mixed = np.flatnonzero(_mixed(place, label))
    pairs, alike = _pairs(problem, mixed, place, label)
    if len(pairs) < FEWEST:
        return None
    tried = 0
    first: list[Border] = []
    for chosen in (plain, pure, flat, np.ones_like(flat)):
        if chosen.sum() == tried or problem.expired():
            continue
        if chosen.all() and not flat.all():
            fewer = _telling(problem, first)
            if not first:
                return None
            if len(fewer) < len(problem.variables):
                return _of_columns(problem, fewer, label, more)
        tried, some = int(chosen.sum()), known.some(chosen)
        first, left = _parting(problem, some, pairs, alike)
        found = _completed(problem, some, place, label, first) if left <= MOST_LEFT else None
        if found is not None:
            return found
    return None


def _telling(problem: Problem, found: list[Border]) -> list[int]:
    """The columns of the first borders, as many as products are made of, and all discrete ones."""
    place = {variable: j for j, variable in enumerate(problem.variables)}
    order = dict.fromkeys(
        place[v] for border in found for v in sorted(border.expr.variables(), key=lambda v: place[v])
    )
    real = [j for j in order if not problem.domains[j].discrete][:MOST_TELLING]
    return sorted({*real, *(j for j, domain in enumerate(problem.domains) if domain.discrete)})


def _of_columns(
    problem: Problem, columns: list[int], label: np.ndarray, more: Sequence[Mapping[Term, float]]
) -> list[Border] | None:
    """Borders in some columns alone: there near rows are nearer."""
    new = {j: i for i, j in enumerate(columns)}
    smaller = replace(
        problem,
        variables=tuple(problem.variables[j] for j in columns),
        domains=tuple(problem.domains[j] for j in columns),
        X=problem.X[:, columns],
    )
    inside = [form for form in more if all(j in new for term in form for j in term)]
    moved = [{tuple(new[j] for j in term): w for term, w in form.items()} for form in inside]
    return borders(smaller, label, moved)


def _completed(
    problem: Problem, known: Directions, place: np.ndarray, label: np.ndarray, found: list[Border]
) -> list[Border] | None:
    """The borders with their levels put right, and more of them where rows of mixed cells show more."""
    for _ in range(ROUNDS):
        problem.spend("sorted cells", 4 * len(label) * (2 + len(found)))
        mixed = _mixed(cells(place, found), label)
        if not mixed.any():
            return _needed(place, found, label)
        if found and _wrong(cells(place, found), label) < ALMOST:
            found = _moved(found, place, label)
            mixed = _mixed(cells(place, found), label)
            if not mixed.any():
                return _needed(place, found, label)
        pairs = _pairs(problem, np.flatnonzero(mixed), cells(place, found), label)
        new, _ = _parting(problem, known, *pairs)
        if not new or len(found) + len(new) > MOST_BORDERS or problem.expired():
            return None
        found = [*found, *new]
    found = _moved(found, place, label)
    return None if _mixed(cells(place, found), label).any() else _needed(place, found, label)


def _divisors(problem: Problem) -> list[int]:
    """Counts: discrete columns of several positive values."""
    return [
        j
        for j, domain in enumerate(problem.domains)
        if domain.discrete and problem.X[:, j].min() > 0 and np.ptp(problem.X[:, j]) > 1
    ]


def numbers(columns: np.ndarray) -> np.ndarray:
    """A number for every combination of values."""
    code = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        levels, own = np.unique(column, return_inverse=True)
        code = np.unique(code * len(levels) + own, return_inverse=True)[1].reshape(-1)
    return code


def cells(place: np.ndarray, found: list[Border]) -> np.ndarray:
    """The cell of each row: its discrete values and on which side of each border it lies."""
    code = place << len(found)
    for i, border in enumerate(found):
        code = code | (border.above().astype(np.int64) << i)
    return code


def _majority(cell: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells, the place of each row among them, and the label that most rows of each have."""
    names, place = np.unique(cell, return_inverse=True)
    place = place.reshape(-1)
    most = int(label.max()) + 1
    both, counts = np.unique(place * most + label, return_counts=True)
    order = np.argsort(counts, kind="stable")
    majority = np.zeros(len(names), dtype=np.int64)
    majority[both[order] // most] = both[order] % most
    return names, place, majority


def _wrong(cell: np.ndarray, label: np.ndarray) -> float:
    """The share of rows with another label than most of their cell."""
    _, place, majority = _majority(cell, label)
    return float(np.mean(majority[place] != label))


def _mixed(cell: np.ndarray, label: np.ndarray) -> np.ndarray:
    """The rows of cells with more than one label."""
    names, place, majority = _majority(cell, label)
    wrong = np.bincount(place[majority[place] != label], minlength=len(names)) > 0
    return wrong[place]


def _needed(place: np.ndarray, found: list[Border], label: np.ndarray) -> list[Border]:
    """Without the borders that the cells can do without, the longest first."""
    for border in sorted(found, key=lambda border: -border.expr.size()):
        fewer = [other for other in found if other is not border]
        if not _mixed(cells(place, fewer), label).any():
            found = fewer
    return found


def _moved(found: list[Border], place: np.ndarray, label: np.ndarray) -> list[Border]:
    """Levels put where the rows on both sides of each border want them."""
    found = list(found)
    for i, border in enumerate(found):
        others = cells(place, [*found[:i], *found[i + 1 :]])
        above = border.above()
        names, here, majority = _majority(others * 2 + above, label)
        most = dict(zip(names.tolist(), majority.tolist(), strict=True))
        if_below = np.array([most.get(n & ~1, -1) for n in names.tolist()])[here]
        if_above = np.array([most.get(n | 1, -1) for n in names.tolist()])[here]
        tells = (if_below != if_above) & (if_below >= 0) & (if_above >= 0)
        low, high = tells & (label == if_below), tells & (label == if_above)
        if low.any() and high.any():
            gap = (float(border.values[low].max()), float(border.values[high].min()))
            if gap[0] < gap[1]:
                found[i] = replace(border, level=_level(*gap), gap=gap)
    return found


def _level(below: float, above: float) -> float:
    level = simplest_between(below, above)
    return float(np.nextafter(level, -np.inf)) if level == above else level


def _parting(
    problem: Problem, known: Directions, pairs: np.ndarray, alike: np.ndarray
) -> tuple[list[Border], float]:
    """Borders one after another, each parting most of the pairs that those before it left, and the share of
    pairs that no border parts."""
    found: list[Border] = []
    everything = len(pairs)
    while len(pairs) >= max(FEWEST, LEFT * everything) and len(found) < MOST_BORDERS:
        chosen = _best(problem, known, pairs, alike)
        if chosen is None:
            break
        index, below, above = chosen
        values = known.values(problem.X, np.array([index]))[0]
        border = Border(known.expr(index, problem.variables), values, _level(below, above), (below, above))
        found.append(border)
        side = border.above()
        left = pairs[side[pairs[:, 0]] == side[pairs[:, 1]]]
        pairs = left
        if len(pairs) > everything * (1 - len(found) / MOST_BORDERS + UNEVEN):
            break
    return found, len(pairs) / everything if len(pairs) >= FEWEST else 0.0


def _pairs(
    problem: Problem, rows: np.ndarray, cell: np.ndarray, label: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Near rows of one cell with different labels, the nearest first, and with equal ones."""
    from scipy.spatial import KDTree

    rng = np.random.default_rng(31)
    rows = rng.permutation(rows)[:AMONG]
    discrete = np.array([domain.discrete for domain in problem.domains])
    X = problem.X[rows]
    spread = X.std(axis=0)
    Z = X / np.where(spread > 0, spread, 1.0)
    Z[:, discrete] *= APART
    reals = int(np.sum(~discrete))
    asked = np.arange(min(ASKED.get(reals, FEWER_ASKED), len(rows)))
    problem.spend("near rows", (len(rows) + NEAREST * len(asked)) * X.shape[1])
    count = min(NEAREST + 1, len(rows))
    far, near = (np.asarray(found) for found in KDTree(Z).query(Z[asked], k=count))
    one, other, far = np.repeat(asked, count - 1), near[:, 1:].ravel(), far[:, 1:].ravel()
    same, differ = cell[rows[one]] == cell[rows[other]], label[rows[one]] != label[rows[other]]
    alike = rng.permutation(np.flatnonzero(same & ~differ))[:MOST_PAIRS]
    both = rows[np.stack([one, other], axis=1)]
    alike, apart, far = both[alike], both[same & differ], far[same & differ]
    if len(apart) < FEWEST:
        # between labels may lie rows that have none
        apart, far = _across(Z, label[rows], asked)
        apart = rows[apart]
        within = cell[apart[:, 0]] == cell[apart[:, 1]]
        apart, far = apart[within], far[within]
    order = np.argsort(far, kind="stable")
    # of each row the nearest alone: others say the same
    order = order[np.sort(np.unique(apart[order, 0], return_index=True)[1])]
    return apart[order[:MOST_PAIRS]], alike[: len(order)]


def _across(Z: np.ndarray, label: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest row of another label for rows of each label, and how far it is."""
    from scipy.spatial import KDTree

    pairs, distances = [np.zeros((0, 2), dtype=int)], [np.zeros(0)]
    for one in np.unique(label):
        others = np.flatnonzero(label != one)
        mine = asked[label[asked] == one]
        if len(others) and len(mine):
            far, near = KDTree(Z[others]).query(Z[mine])
            pairs.append(np.stack([mine, others[near]], axis=1))
            distances.append(far)
    return np.concatenate(pairs), np.concatenate(distances)


def _best(
    problem: Problem, known: Directions, pairs: np.ndarray, alike: np.ndarray
) -> tuple[int, float, float] | None:
    """The direction, and between which numbers its level lies, that parts most pairs for its length."""
    rng = np.random.default_rng(32)
    few = rng.permutation(pairs)[:FEW_PAIRS], alike[:FEW_PAIRS]
    size = known.sizes
    score = np.concatenate(
        [
            _parted(problem, known, np.arange(start, min(start + TOGETHER, len(size))), *few)[0]
            for start in range(0, len(size), TOGETHER)
        ]
    )
    closer = np.argsort(A_NODE * size - score, kind="stable")[:CLOSER]
    score, below, above = _parted(problem, known, closer, pairs, alike)
    best = int(np.argmax(score - A_NODE * size[closer]))
    if score[best] < LEAST_PARTED:
        return None
    return int(closer[best]), float(below[best]), float(above[best])


def _parted(
    problem: Problem, known: Directions, chosen: np.ndarray, pairs: np.ndarray, alike: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each direction the largest share of pairs that one level parts, and where such levels lie.

    The level moves up, and each pair counts from its lower to its upper row; near rows with equal labels
    count against it.
    """
    everything = np.concatenate([pairs, alike])
    ends = known.values(problem.X[everything.ravel()], chosen).reshape(len(chosen), -1, 2)
    problem.spend("sorted cells", ends.size)
    ends = np.sort(ends, axis=2)
    weight = np.concatenate(
        [np.full(len(pairs), 1 / len(pairs)), np.full(len(alike), -1 / max(len(alike), 1))]
    )
    at = np.concatenate([ends[:, :, 0], ends[:, :, 1]], axis=1)
    order = np.argsort(at, axis=1)
    change = np.concatenate([weight, -weight])[order]
    share = np.cumsum(change, axis=1)
    best = np.argmax(share, axis=1)
    at = np.take_along_axis(at, order, axis=1)
    row = np.arange(len(chosen))
    score = share[row, best]
    enough = share >= (score * (1 - SLACK))[:, None]
    below, above = np.empty(len(chosen)), np.empty(len(chosen))
    for i in row:
        lacking = np.flatnonzero(~enough[i])
        first = lacking[lacking < best[i]]
        last = lacking[lacking > best[i]]
        below[i] = at[i, first[-1] + 1 if len(first) else 0]
        above[i] = at[i, last[0] if len(last) else -1]
    return score, below, above
