"""How far a network may be from its program, one step ahead, over all values that both may read.

By induction network and program have read the same past so far. Rounded to whole numbers they go on being
equal while the difference one step ahead, and what float64 may be off when it computes the network, stay
below one half together: weights that are a little off hold as long as the values that they multiply stay
small. For reals the largest difference is all that can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf

import numpy as np

from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph
from weights2code.language import Domain, Expr, Recurrence, Var
from weights2code.language.interval import ANYTHING, Interval, is_infinite
from weights2code.language.kinds import whole_names
from weights2code.network.bounds.box import Box, box_around
from weights2code.network.bounds.difference import Difference, difference_of
from weights2code.network.bounds.leaves import leaves_of, rounding_at
from weights2code.network.bounds.many_boxes import Unbounded, upper_bound
from weights2code.network.bounds.pieces import largest_of
from weights2code.network.bounds.unrolled import at_age, unrolled
from weights2code.network.contexts.view import View
from weights2code.verify.product import inlined
from weights2code.verify.ranges import bounds_of

#: Float64 holds every whole number up to this power of two.
_MOST = 53
#: Powers of two between two that are tried where bounds take their time.
_STEP = 10


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """Network and program at one place of a sequence: near its start, with `age` positions before, or away
    from it. `difference` is that of their outputs as a function of the leaves."""

    age: int | None
    graph: DiscreteGraph
    leaves: tuple[Var, ...]
    outputs: tuple[Expr, ...]

    def difference(self, whole: np.ndarray) -> Difference | None:
        return difference_of(self.graph, self.outputs, self.leaves, whole)


def situations(graph: DiscreteGraph, program: Recurrence) -> list[Situation] | None:
    """Away from the start first, then from it on; None if one is no function of finitely many leaves."""
    machine = program.live()
    if machine.retrieves():
        return None
    formulas = inlined(machine)
    outputs = tuple(formulas[name] for name in machine.outputs)
    away = _situation(graph, outputs, None)
    if away is None:
        return None
    # a head may look past the start at something that reads no leaf
    depth = max([View.of(graph).depth, *(leaf.lag for leaf in away.leaves)])
    found = [away]
    for age in range(depth):
        early = _situation(graph, tuple(at_age(formula, machine, age) for formula in outputs), age)
        assert early is not None
        found.append(early)
    return found


def _situation(graph: DiscreteGraph, outputs: tuple[Expr, ...], age: int | None) -> Situation | None:
    flat = unrolled(graph, age)
    network = None if flat is None else leaves_of(flat)
    if flat is None or network is None:
        return None
    leaves = tuple(dict.fromkeys([*network, *(v for formula in outputs for v in formula.variables())]))
    return Situation(age, flat, leaves, outputs)


@dataclass(frozen=True, slots=True)
class Limit:
    """Network and program are equal while no past value is larger than `value`; infinity is no limit.

    `error` is the largest difference up to there, what float64 may be off included.
    """

    value: float
    error: float


def limit_of_values(
    graph: DiscreteGraph,
    program: Recurrence,
    domains: tuple[Domain, ...],
    effort: Effort,
    margin: float = 0.0,
    least: float = 1.0,
) -> Limit | None:
    """The largest power of two such that both are equal, with a margin, while no past value is larger.

    None: not even at small values, as far as could be shown, or one of them is no function of finitely many
    leaves that can be bounded.

    Parameters
    ----------
    margin
        How far from the next rounding border outputs have to stay.
    least
        A limit that is smaller is of no use.
    """
    places = situations(graph, program) if all(domain.discrete for domain in domains) else None
    if places is None:
        return None
    names = {leaf.name for place in places for leaf in place.leaves} | set(program.outputs)
    if not names <= whole_names(program, domains, infinities=True):
        return None  # what both are told apart by is rounding
    written = [place.difference(np.ones(len(place.leaves), bool)) for place in places]
    bounds = bounds_of(program, domains)
    if any(item is None for item in written):
        return None

    def error(power: int) -> float:
        """The largest difference while no value without a bound is larger than this power of two."""
        largest = 0.0
        for place, difference in zip(places, written, strict=True):
            assert difference is not None
            box = _box(place.leaves, bounds, 2.0**power)
            rounding = float(rounding_at(place.graph, box.size).max())
            below = 0.5 - margin - rounding
            if below <= 0:
                return inf
            share = Effort(effort.left / 2)
            given = share.left
            found = largest_of(difference, box, share, below=below)
            effort.spend(given - share.left)
            largest = max(largest, *(item.upper + rounding for item in found))
            if largest >= 0.5 - margin:
                return inf
        return largest

    read = {leaf.name for place in places for leaf in place.leaves}
    if all(bounds.get(name, ANYTHING).finite for name in read):
        found = error(_MOST)
        return None if found == inf else Limit(inf, found)
    smallest = max(int(np.ceil(np.log2(max(least, 1.0)))), 0)
    if any(difference is not None and difference.layers for difference in written):
        return _first_below(error, range(_MOST - 3, smallest - 1, -_STEP), effort)
    power, too_large, known = smallest - 1, _MOST + 1, {}
    while too_large - power > 1:
        middle = smallest if power < smallest else (power + too_large) // 2
        known[middle] = error(middle)
        power, too_large = (middle, too_large) if known[middle] < inf else (power, middle)
        if too_large == smallest:
            return None
    return Limit(2.0**power, known[power])


def _first_below(error: Callable[[int], float], powers: range, effort: Effort) -> Limit | None:
    """The first of some powers of two that holds: where each takes its time, few are tried."""
    for power in (*powers, powers.stop + 1):
        found = error(power)
        if found < inf:
            return Limit(2.0**power, found)
        if effort.spent():
            break
    return None


@dataclass(frozen=True, slots=True)
class Bound:
    """One step ahead network and program differ by at most `error`, what float64 may be off included.

    `past` says between which numbers the values of the past lie that this is about. `finished`: the largest
    difference is about as large as that.
    """

    error: float
    past: tuple[str, ...]
    finished: bool


def largest_error(
    graph: DiscreteGraph, program: Recurrence, domains: tuple[Domain, ...], x: np.ndarray, effort: Effort
) -> Bound | None:
    """How far both are apart at most, for every input of the domain and every past between the smallest and
    the largest values that the sequences `x` (n, T, columns) bring about, and steps between them likewise;
    None if one of them is no function of finitely many leaves that can be bounded."""
    places = situations(graph, program)
    if places is None:
        return None
    with np.errstate(all="ignore"):
        trace = program.trace(x)
    depth = max((leaf.lag for leaf in places[0].leaves), default=0)
    known = dict(zip(program.inputs, domains, strict=True))
    whole = {name for name, domain in known.items() if domain.discrete}
    error, finished, past = 0.0, True, ()
    for place in places:
        first, last = (depth, x.shape[1]) if place.age is None else (place.age, place.age + 1)
        if first >= x.shape[1]:
            return None
        seen = {
            leaf: trace[leaf.name][:, first - leaf.lag : last - leaf.lag].reshape(-1) for leaf in place.leaves
        }
        if not all(np.isfinite(values).all() for values in seen.values()):
            return None
        box = box_around(seen, known, np.array([leaf.name in whole for leaf in place.leaves], bool))
        difference = place.difference(box.whole)
        if difference is None:
            return None
        share = Effort(effort.left * (0.7 if place.age is None else 0.3))
        given = share.left
        largest, near = _over(difference, box, share)
        effort.spend(given - share.left)
        error = max(error, largest + float(rounding_at(place.graph, box.size).max()))
        finished &= near
        past = past or _words(box, known)
    return Bound(error, past, finished) if error < inf else None


#: The search for the largest difference of reals ends this near to it.
GAP = 0.1
#: Dimensions up to which a box is cut into many small ones.
FEW = 4


def _over(difference: Difference, box: Box, effort: Effort) -> tuple[float, bool]:
    """The largest difference over a box, and whether it is about as large as that."""
    if difference.layers and len(box.leaves) <= FEW and not box.whole.any():
        with suppress(Unbounded):
            outputs = range(len(difference.outputs.constant))
            found = [upper_bound(difference, box, output, effort, GAP) for output in outputs]
            return max(upper for upper, _, _ in found), all(near for _, _, near in found)
    several = largest_of(difference, box, effort, gap=GAP)
    return max(item.upper for item in several), all(item.finished for item in several)


def _words(box: Box, known: Mapping[str, Domain]) -> tuple[str, ...]:
    """Between which numbers values of the past lie, the wider of several lags."""
    ends: dict[str, tuple[float, float]] = {}
    for leaf, low, high in zip(box.leaves, box.low.tolist(), box.high.tolist(), strict=True):
        if leaf.name not in known:
            before = ends.get(leaf.name, (low, high))
            ends[leaf.name] = (min(low, before[0]), max(high, before[1]))
    return tuple(f"{name} between {low:.3g} and {high:.3g}" for name, (low, high) in ends.items())


def _box(leaves: tuple[Var, ...], bounds: dict[str, Interval], limit: float) -> Box:
    ranges = [bounds.get(leaf.name, ANYTHING) for leaf in leaves]
    low = np.array([-limit if is_infinite(item.low) else float(item.low) for item in ranges])
    high = np.array([limit if is_infinite(item.high) else float(item.high) for item in ranges])
    return Box(leaves, low, np.maximum(low, high), np.ones(len(leaves), bool))
