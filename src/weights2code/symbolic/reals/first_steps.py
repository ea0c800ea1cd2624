"""The first step of a rule of reals: sums, differences, extrema, products of a few values, at every lag.

`s = max(x, x[t-1], x[t-2]); y = sign(s - clip(s, 7, 8.4))` reads three values, but only through their
maximum. Steps that people make of columns and of windows are tried by whether what they leave still carries
the target (`neighbours`). The same step stands at every lag at which its operands do, so that seven values
may become three. What is left is a smaller problem for the whole search, further steps among it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from weights2code.language import Expr, Var, infer, op
from weights2code.symbolic.notation import flattened
from weights2code.symbolic.reals.neighbours import Neighbours
from weights2code.symbolic.search.idle_operators import without_idle
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search

#: Values that a first step is looked for among, and rows that are enough to see one.
FEWEST_VARIABLES, MOST_VARIABLES = 2, 16
FEWEST_ROWS = 200
#: Rows asked and asked among at first, and how many are looked at again of what is left out and of steps.
FEW = (150, 1600)
FEW_MOVES, MORE_MOVES = 4, 8
#: What may be lost of the target, about, and what makes no difference there.
LOST, TIE = 0.15, 0.002
#: While more than this is lost, any step is taken that loses less.
UNCLEAR = 0.03
#: A step must lose less than leaving out a variable does, which is plainer.
PLAINER = 0.9
#: A formula of at most so many nodes ends the search; after a longer one the state before is asked too.
PLAIN = 18
#: Steps that are followed, and steps in a row.
FOLLOWED, DEEPEST = 3, 2
#: The share of the effort that is left for what follows from one step.
SHARE = 0.4
#: The share of it for the descent itself.
DESCENT = 0.4
#: With less effort nothing is begun.
LEAST = 0.05


@dataclass(frozen=True, slots=True)
class Reduction:
    """New variables in place of old ones, what they stand for, and the variables that stay."""

    step: Expr
    parts: dict[Var, Expr]
    kept: tuple[Var, ...]

    def __len__(self) -> int:
        return len(self.parts) + len(self.kept)

    def meaning(self) -> dict[Var, Expr]:
        return {**{v: v for v in self.kept}, **self.parts}


def reductions(variables: tuple[Var, ...], name: str) -> Iterator[Reduction]:
    """Every first step, at all lags, with fewer variables than before: the shortest steps first."""
    seen: set[tuple[frozenset[Expr], tuple[Var, ...]]] = set()
    known = set(variables)
    own = _lags(variables)
    for step in _steps(variables):
        operands = step.variables()
        first = min(v.lag for v in operands)
        lags = range(max(v.lag for v in variables) + 1)
        if len({tuple(lag - min(own[v.name]) for lag in own[v.name]) for v in operands}) > 1:
            # columns that are not read alike, such as an input and the output so far, meet but once
            lags = [next((lag for lag in lags if _at(step, lag) <= known), 0)]
        places = {lag: {v: Var(v.name, v.lag - first + lag) for v in operands} for lag in lags}
        places = {lag: moved for lag, moved in places.items() if known.issuperset(moved.values())}
        parts: dict[Var, Expr] = {Var(name, lag): step.substitute(moved) for lag, moved in places.items()}
        read = {v for moved in places.values() for v in moved.values()}
        rest = tuple(v for v in variables if v not in read)
        for stays in ((), *((v,) for v in variables if v in read and v.lag == 0)):
            found = Reduction(step, parts, (*rest, *stays))
            mark = (frozenset(parts.values()), found.kept)
            if len(found) < len(variables) and mark not in seen:
                seen.add(mark)
                yield found


def _steps(variables: tuple[Var, ...]) -> Iterator[Expr]:
    """What may be made of two, three or four values, written with the smallest lag that they occur with."""
    lags = _lags(variables)
    for name, own in lags.items():
        yield from _of_window(name, own)
    newest = {Var(name, own[0]) for name, own in lags.items()}
    pairs = [(a, b) for a, b in itertools.combinations(variables, 2) if a.name != b.name and {a, b} & newest]
    shapes = dict.fromkeys(_aligned(a, b) for a, b in pairs)
    for a, b in shapes:
        yield from _of_two(a, b)
    same = [v for v in variables if v.lag == min(u.lag for u in variables)]
    for a, b, c in itertools.combinations(same, 3):
        yield from _of_three(a, b, c)


def _without_past(variables: tuple[Var, ...]) -> Iterator[tuple[Var, ...]]:
    """Without what is never read at the present, past outputs mostly; and with the newest of each alone."""
    newest = {name: lags[0] for name, lags in _lags(variables).items()}
    for most in (0, 1):
        kept = tuple(v for v in variables if newest[v.name] == 0 or (most and v.lag == newest[v.name]))
        if 0 < len(kept) < len(variables) - 1:
            yield kept


def _lags(variables: tuple[Var, ...]) -> dict[str, list[int]]:
    """The lags of each column, the smallest first."""
    found: dict[str, list[int]] = {}
    for v in sorted(variables, key=lambda v: v.lag):
        found.setdefault(v.name, []).append(v.lag)
    return found


def _at(step: Expr, lag: int) -> set[Var]:
    """The operands of a step whose newest operand is so far back."""
    operands = step.variables()
    first = min(v.lag for v in operands)
    return {Var(v.name, v.lag - first + lag) for v in operands}


def _aligned(a: Var, b: Var) -> tuple[Var, Var]:
    first = min(a.lag, b.lag)
    return Var(a.name, a.lag - first), Var(b.name, b.lag - first)


def _of_window(name: str, lags: list[int]) -> Iterator[Expr]:
    gaps = sorted({b - a for a, b in itertools.combinations(lags, 2)})
    now = Var(name)
    for gap in gaps:
        then = Var(name, gap)
        yield from (now - then, now + then, op("max", now, then), op("min", now, then), abs(now - then))
        yield from (2 * now - then, 3 * now - then, now * then)
    for width in range(3, len(lags) + 1):
        values: list[Expr] = [Var(name, lag) for lag in range(width)]
        yield reduce(lambda a, b: a + b, values)
        yield reduce(lambda a, b: op("max", a, b), values)
        yield reduce(lambda a, b: op("min", a, b), values)
        if width == 3:
            yield now - 2 * Var(name, 1) + Var(name, 2)
            yield op("gt", Var(name, 1), op("max", now, Var(name, 2)))
        if width <= 4:
            largest = reduce(lambda a, b: op("max", a, b), values)
            yield largest - reduce(lambda a, b: op("min", a, b), values)


def _of_two(a: Var, b: Var) -> Iterator[Expr]:
    yield from (a - b, a + b, op("max", a, b), op("min", a, b), a * b, abs(a - b), op("gt", a, b))
    for factor in (2, 3, 4):
        yield from (factor * a - b, factor * b - a, factor * a + b, a + factor * b)


def _of_three(a: Var, b: Var, c: Var) -> Iterator[Expr]:
    yield from (a + b + c, op("max", op("max", a, b), c), op("min", op("min", a, b), c))
    for one, two, three in ((a, b, c), (a, c, b), (b, c, a)):
        yield from (one + two - three, one * two + three, three - one * two)
        yield op("gt", one + two, three)


def first_step_stage(search: Search) -> None:
    """The whole search on what the steps leave that carry the target."""
    problem = search.problem
    k = len(problem.variables)
    if search.depth >= DEEPEST or problem.discrete or len(problem.y) < FEWEST_ROWS:
        return
    if not FEWEST_VARIABLES <= k <= MOST_VARIABLES:
        return
    for state in reversed(descent(problem)[-FOLLOWED:]):
        if problem.effort.left < LEAST or problem.expired():
            return
        if follow(search, state.meaning) and search.collector.limit() <= PLAIN:
            return


def follow(search: Search, meaning: dict[Var, Expr]) -> bool:
    """Whether the search on what the steps leave found something exact."""
    problem = search.problem
    columns = [problem.values(expr) for expr in meaning.values()]
    known = dict(zip(problem.variables, problem.domains, strict=True))
    domains = tuple(known.get(v) or infer(c) for v, c in zip(meaning, columns, strict=True))
    effort = SHARE * problem.effort.left
    smaller = derived(problem, np.column_stack(columns), problem.y, tuple(meaning), effort, domains)
    if smaller.contradictory:
        return False
    found = search.below(smaller, depth=search.depth + 1)
    if found.exact is None or found.exact.kind != "formula":
        return False
    candidate = search.collector.offer(found.exact.expr.substitute(meaning))
    if candidate is None or not candidate.exact:
        return False
    search.collector.offer(flattened(without_idle(problem, candidate.expr)))
    return True


@dataclass(frozen=True, slots=True)
class State:
    """Quantities in place of the variables, what they stand for, and what they lose of the target."""

    meaning: dict[Var, Expr]
    lost: float

    def after(self, move: dict[Var, Expr]) -> State:
        return State({v: expr.substitute(self.meaning) for v, expr in move.items()}, 1.0)

    def size(self) -> int:
        return sum(expr.size() for expr in self.meaning.values())


def descent(problem: Problem) -> list[State]:
    """States of fewer and fewer quantities: what does not matter is left out, and steps are made.

    All moves are asked of few rows, the best of them of more.
    """
    rough = Neighbours(problem.y, problem.whole, *FEW)
    fine = Neighbours(problem.y, problem.whole)
    X = problem.X[fine.among]
    meaning: dict[Var, Expr] = {v: v for v in problem.variables}
    values: dict[Expr, np.ndarray] = dict(zip(problem.variables, X.T, strict=True))
    least = (1 - DESCENT) * problem.effort.left

    def table(state: dict[Var, Expr], rows: int) -> np.ndarray | None:
        for expr in state.values():
            if expr not in values:
                values[expr] = problem.values(expr, X)
        found = np.column_stack([values[expr][:rows] for expr in state.values()])
        problem.spend("neighbours", rows * (rough if rows == len(rough.among) else fine).asked)
        return found if np.isfinite(found).all() else None

    def closest(moves: Iterator[dict[Var, Expr]], most: int) -> State | None:
        """The move that loses least."""
        judged: list[tuple[float, int, State]] = []
        for place, move in enumerate(moves):
            if problem.effort.left <= least or problem.expired():
                break
            new = state.after(move)
            columns = table(new.meaning, len(rough.among))
            if columns is not None:
                judged.append((rough.lost(columns, 1), place, new))
        found: list[State] = []
        for _, _, new in sorted(judged, key=lambda item: item[:2])[:most]:
            columns = table(new.meaning, len(fine.among))
            if columns is not None:
                found.append(State(new.meaning, fine.lost(columns)))
        return min(found, key=lambda s: (round(s.lost, 3), len(s.meaning), s.size()), default=None)

    state = State(meaning, fine.lost(X))
    found: list[State] = []
    for kept in _without_past(problem.variables):
        new = state.after({v: v for v in kept})
        columns = table(new.meaning, len(fine.among))
        lost = 1.0 if columns is None else fine.lost(columns)
        if lost <= PLAINER * state.lost:
            state = State(new.meaning, lost)
            found.append(state)
            break
    while len(state.meaning) > 1 and problem.effort.left > least and not problem.expired():
        variables = tuple(state.meaning)
        left_out = closest(({v: v for v in variables if v != one} for one in variables), FEW_MOVES)
        step = closest((r.meaning() for r in reductions(variables, f"step{len(found)}")), MORE_MOVES)
        if left_out is not None and left_out.lost > state.lost + TIE:
            left_out = None
        nearer = PLAINER * (left_out or state).lost - TIE
        best = step if step is not None and step.lost < nearer else left_out
        if best is None and step is not None and state.lost > UNCLEAR and step.lost < state.lost:
            best = step
        if best is None:
            break
        state = best
        found.append(state)
    return [state for state in found if state.lost <= LOST]
