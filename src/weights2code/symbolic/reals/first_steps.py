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
from weights2code.symbolic.search.rows import Problem, prepare
from weights2code.symbolic.search.walk import Search

#: Values that a first step is looked for among, and rows that are enough to see one.
FEWEST_VARIABLES, MOST_VARIABLES = 2, 12
FEWEST_ROWS = 200
#: Rows asked and asked among at first, and the steps that are looked at again.
FEW, LOOKED_AT = (150, 1000), 12
#: Decimals that tell sums of reals apart: in another order they are the same number.
DIGITS = 9
#: What neighbours may differ by, as a share of what they do in all variables; and in itself.
CLOSER, CLOSE = 0.9, 0.35
#: Steps that are followed, and steps in a row.
FOLLOWED, DEEPEST = 3, 2
#: The share of the effort that is left for what follows from one step.
SHARE = 0.4
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
    for step in _steps(variables):
        operands = step.variables()
        first = min(v.lag for v in operands)
        lags = range(max(v.lag for v in variables) + 1)
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
    lags: dict[str, list[int]] = {}
    for v in variables:
        lags.setdefault(v.name, []).append(v.lag)
    for name, own in lags.items():
        yield from _of_window(name, sorted(own))
    pairs = [(a, b) for a, b in itertools.combinations(variables, 2) if a.name != b.name]
    shapes = dict.fromkeys(_aligned(a, b) for a, b in pairs)
    for a, b in shapes:
        yield from _of_two(a, b)
    same = [v for v in variables if v.lag == min(u.lag for u in variables)]
    for a, b, c in itertools.combinations(same, 3):
        yield from _of_three(a, b, c)


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
    """The whole search on what the best first steps leave."""
    problem = search.problem
    if search.depth >= DEEPEST:
        return
    for reduction in carrying(problem, f"step{search.depth}")[:FOLLOWED]:
        if problem.effort.left < LEAST or problem.expired():
            return
        if follow(search, reduction):
            return


def follow(search: Search, reduction: Reduction) -> bool:
    """Whether the search on what a step leaves found something exact."""
    problem, meaning = search.problem, reduction.meaning()
    columns = [problem.values(expr) for expr in meaning.values()]
    known = dict(zip(problem.variables, problem.domains, strict=True))
    columns = [c if v in known else np.round(c, DIGITS) for v, c in zip(meaning, columns, strict=True)]
    allowed = SHARE * problem.effort.left
    smaller = prepare(
        np.column_stack(columns),
        problem.y,
        variables=tuple(meaning),
        domains=tuple(known.get(v) or infer(c) for v, c in zip(meaning, columns, strict=True)),
        tolerance=problem.tolerance,
        effort=allowed,
        operators=problem.operators,
    )
    if smaller.contradictory:
        return False
    found = search.below(smaller)
    problem.effort.spend(allowed - max(smaller.effort.left, 0.0))
    if found.exact is None or found.exact.kind != "formula":
        return False
    candidate = search.collector.offer(flattened(found.exact.expr.substitute(meaning)))
    return candidate is not None and candidate.exact


def carrying(problem: Problem, name: str) -> list[Reduction]:
    """First steps that carry everything, those that bring neighbours closest first.

    All are asked of few rows, the best of them of more.
    """
    k = len(problem.variables)
    if not FEWEST_VARIABLES <= k <= MOST_VARIABLES or len(problem.y) < FEWEST_ROWS or problem.discrete:
        return []
    steps = list(reductions(problem.variables, name))
    rough = _closest(problem, steps, Neighbours(problem.y, problem.whole, *FEW))[:LOOKED_AT]
    fine = _closest(problem, [step for _, step in rough], Neighbours(problem.y, problem.whole))
    return [step for _, step in fine]


def _closest(
    problem: Problem, steps: list[Reduction], neighbours: Neighbours
) -> list[tuple[float, Reduction]]:
    X = problem.X[neighbours.among]
    columns: dict[Expr, np.ndarray] = dict(zip(problem.variables, X.T, strict=True))
    before = neighbours.apart(X)
    found: list[tuple[float, Reduction]] = []
    for step in steps:
        if problem.expired():
            break
        for part in step.parts.values():
            if part not in columns:
                columns[part] = problem.values(part, X)
        table = np.column_stack([columns[expr] for expr in step.meaning().values()])
        if not np.isfinite(table).all() or not table.std(axis=0).all():
            continue
        problem.spend("atom cells", len(neighbours.asked) * len(X))
        apart = neighbours.apart(table)
        if apart <= min(CLOSER * before, CLOSE):
            found.append((apart, step))
    return sorted(found, key=lambda item: (round(item[0], 2), len(item[1]), item[1].step.size()))
