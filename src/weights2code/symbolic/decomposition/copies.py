"""One function at several lags: y = F(s(A), s(A one step back), ..., rest).

Rules often compare what was computed with what was computed a step earlier. Each half alone may show nothing,
and rows of many variables hardly repeat; but a right s, put in for its variables at every lag at once, leaves
no two rows that agree in all its values and differ in y. That is asked of a few thousand short formulas, on
pairs of rows that differ in y: the first few hundred pairs rule out nearly all of them. If none is left, one
of the variables may be read beside it as well: y = max(s(a, b), s(a, b one step back)) * b.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from weights2code.language import Const, Expr, Var, op
from weights2code.symbolic.decomposition.splits import examples, numbered
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import weight_vectors

#: Variables of a formula; formulas whose variables are written alike at other lags are tried once.
_MOST_INNER = 3
_MOST_PATTERNS = 150
#: Formulas beside which a variable stays are looked for among so many variables, and as often.
_FEW_VARIABLES, _MOST_BESIDE = 6, 24
#: Pairs of rows that are asked: at first, and of what passed; and the fewest that say anything.
_PAIRS, _FEWEST = (20, 100, 1000, 4000), 60
#: Rows that pairs are taken from, at most; values that could be may outnumber rows so many times.
_MOST_ROWS, _RARE = 10_000, 2
#: Rows must repeat: at most this share of them is left.
_LEFT = 0.5
#: Rows that say how many values a formula has.
_GLANCED = 200
#: Formulas of one set of variables that are held against all rows, those with few values first; formulas
#: that are given back.
_CLOSER, _MOST = 60, 3
#: As many rows each of them is held against before all are.
_SOME_ROWS = (2500, 10_000)
#: The share of the effort that patterns of which one variable stays may take.
_BESIDE_SHARE = 0.08
_LARGEST_MODULUS = 12
_WEIGHTS = {1: (1,), 2: (1, 2, 3, 4, 5), 3: (1, 2, 3)}


@dataclass(frozen=True, slots=True)
class Copied:
    """A formula at several lags: the new values in place of the variables `gone`."""

    exprs: tuple[Expr, ...]
    lags: tuple[int, ...]
    gone: frozenset[Var]
    left: int

    @property
    def cost(self) -> float:
        """Few rows are left, and the formula is short: the least is best."""
        return float(np.log2(max(self.left, 2))) + 0.3 * self.exprs[0].size()


def copied(problem: Problem) -> list[Copied]:
    """Formulas that may take the place of their variables at several lags, the best first."""
    if not any(variable.lag for variable in problem.variables):
        return []
    found: list[Copied] = []
    codes = np.unique(problem.y, return_inverse=True)[1].reshape(-1)
    patterns = list(itertools.islice(_patterns(problem.variables), _MOST_PATTERNS))
    most = _MOST_BESIDE if len(problem.variables) <= _FEW_VARIABLES else 0
    for ways in ([(*pattern, None) for pattern in patterns], itertools.islice(_beside(patterns), most)):
        least = (1 - _BESIDE_SHARE) * problem.effort.left
        for pattern, shifts, beside in ways:
            if problem.expired() or (beside is not None and problem.effort.left < least):
                break
            found += _of(problem, codes, pattern, shifts, beside)
        if found:
            break
    found.sort(key=lambda copies: (copies.cost, str(copies.exprs[0])))
    return found[:_MOST]


def _patterns(variables: Sequence[Var]) -> Iterator[tuple[tuple[Var, ...], tuple[int, ...]]]:
    """Sets of variables that occur at two lags or more, and by how much they are shifted there.

    Those that take the place of most variables come first.
    """
    known = set(variables)
    ways: list[tuple[int, int, tuple[Var, ...], tuple[int, ...]]] = []
    reach = max(variable.lag for variable in variables)
    for size in range(1, _MOST_INNER + 1):
        for chosen in itertools.combinations(variables, size):
            shifts = tuple(
                d
                for d in range(-min(v.lag for v in chosen), reach + 1)
                if all(Var(v.name, v.lag + d) in known for v in chosen)
            )
            if len(shifts) > 1 and shifts[0] == 0:
                covered = len({Var(v.name, v.lag + d) for v in chosen for d in shifts})
                ways.append((-covered, size, chosen, shifts))
    ways.sort(key=lambda way: way[:2])
    return ((chosen, shifts) for _, _, chosen, shifts in ways)


def _beside(
    patterns: Sequence[tuple[tuple[Var, ...], tuple[int, ...]]],
) -> Iterator[tuple[tuple[Var, ...], tuple[int, ...], Var]]:
    """Patterns of several variables, and one of these that stays, the latest first."""
    for pattern, shifts in patterns:
        if len(pattern) > 1:
            gone = {Var(v.name, v.lag + d) for v in pattern for d in shifts}
            for variable in sorted(gone, key=lambda v: (v.lag, v.name)):
                yield pattern, shifts, variable


def _of(
    problem: Problem,
    codes: np.ndarray,
    pattern: tuple[Var, ...],
    shifts: tuple[int, ...],
    beside: Var | None = None,
) -> Iterator[Copied]:
    """The formulas of one pattern; `beside` is a variable of it that y reads as well."""
    place = {variable: j for j, variable in enumerate(problem.variables)}
    moved = [[place[Var(v.name, v.lag + d)] for v in pattern] for d in shifts]
    gone = sorted({j for columns in moved for j in columns if problem.variables[j] != beside})
    rest = [j for j in range(len(problem.variables)) if j not in gone]
    levels = np.prod([len(np.unique(problem.Xs[:, j])) for j in rest], dtype=float)
    if levels > len(codes):
        return  # no two rows agree in the rest
    one, other = _pairs(problem, codes, rest)
    if len(one) < _FEWEST:
        return
    templates = _templates(len(pattern))
    glanced = np.random.default_rng(6).permutation(problem.rows)[:_GLANCED]
    some = problem.X[glanced][:, moved[0]].T
    problem.spend("trees", 2 * len(templates.write) * some.shape[1])
    values = np.sort(templates.values(some, np.arange(len(templates.write))), axis=1)
    few = 1.0 + np.count_nonzero(np.diff(values, axis=1), axis=1)
    # with more values than this no two rows would agree
    order = np.argsort(few, kind="stable")
    alive = order[few[order] ** len(shifts) * levels <= _RARE * len(codes)]
    for count in _PAIRS:
        if not len(alive):
            return
        rows, place_of = np.unique(np.concatenate([one[:count], other[:count]]), return_inverse=True)
        left, right = place_of.reshape(2, -1)
        problem.spend("trees", 2 * len(alive) * len(rows) * len(shifts))
        differ = np.zeros((len(alive), len(left)), dtype=bool)
        for columns in moved:
            values = templates.values(problem.X[rows][:, columns].T, alive)
            differ |= values[:, left] != values[:, right]
        alive = alive[differ.all(axis=1)]
    for index in alive[:_CLOSER]:
        formula = np.array([index])
        left = 0
        for rows in (*(slice(0, None, 1 + len(codes) // some) for some in _SOME_ROWS), slice(None)):
            parts = [templates.values(problem.X[rows][:, columns].T, formula)[0] for columns in moved]
            left = _left(problem, np.stack([*parts, *problem.X[rows][:, rest].T], axis=1), codes[rows])
            if left == 0:
                break
        if 0 < left <= _LEFT * len(codes):
            exprs = tuple(templates.write[index]([Var(v.name, v.lag + d) for v in pattern]) for d in shifts)
            if all(map(problem.permits, exprs)):
                yield Copied(exprs, shifts, frozenset(problem.variables[j] for j in gone), left)


def _left(problem: Problem, columns: np.ndarray, codes: np.ndarray) -> int:
    """How many different rows the columns have; 0 if they do not determine y."""
    problem.spend("sorted cells", columns.size)
    code = numbered(columns)
    last = examples(code)
    return len(last) if np.array_equal(codes[last[code]], codes) else 0


def _pairs(problem: Problem, codes: np.ndarray, rest: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that differ in y and agree in the rest, in an order of chance."""
    rng = np.random.default_rng(5)
    order = rng.permutation(len(codes))[:_MOST_ROWS]
    beside = np.zeros(len(codes), dtype=np.int64)
    if rest:
        problem.spend("sorted cells", 2 * len(order) * len(rest))
        beside[order] = numbered(problem.X[order][:, rest])
        order = order[np.argsort(beside[order], kind="stable")]
    one, other = [], []
    for step in range(1, 9):
        a, b = order[:-step], order[step:]
        apart = (codes[a] != codes[b]) & (beside[a] == beside[b])
        one.append(a[apart])
        other.append(b[apart])
    a, b = np.concatenate(one), np.concatenate(other)
    chosen = rng.permutation(len(a))[: _PAIRS[-1]]
    return a[chosen], b[chosen]


@dataclass(frozen=True, slots=True)
class Templates:
    """Short formulas of some variables: how each is written, and how all are computed at once."""

    write: tuple[Callable[[Sequence[Var]], Expr], ...]
    bases: tuple[Callable[[np.ndarray], np.ndarray], ...]
    base: np.ndarray
    modulus: np.ndarray

    def values(self, columns: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """The chosen formulas (m, rows) of variables (k, rows)."""
        used, place = np.unique(self.base[chosen], return_inverse=True)
        table = np.stack([self.bases[i](columns) for i in used]).astype(float)[place.reshape(-1)]
        modulus = self.modulus[chosen]
        some = modulus > 0
        divisor = modulus[some, None]
        table[some] -= divisor * np.floor(table[some] / divisor)  # faster than a remainder of floats
        return table


@lru_cache
def _templates(count: int) -> Templates:
    """Sums, products, extrema, tests and choices of so many variables, and remainders of the first two."""
    write: list[Callable[[Sequence[Var]], Expr]] = []
    bases: list[Callable[[np.ndarray], np.ndarray]] = []
    base: list[int] = []
    modulus: list[int] = []

    def add(
        expr: Callable[[Sequence[Var]], Expr], values: Callable[[np.ndarray], np.ndarray], remainders: bool
    ) -> None:
        bases.append(values)
        for m in (0, *range(2, _LARGEST_MODULUS + 1)) if remainders else (0,):
            write.append(expr if not m else lambda names, m=m: op("mod", expr(names), m))
            base.append(len(bases) - 1)
            modulus.append(m)

    for w in weight_vectors(count, _WEIGHTS[count]):
        if np.count_nonzero(w) == count:
            vector = np.array(w, dtype=float)
            add(
                lambda names, w=w: weighted_sum(list(zip(w, names, strict=True))),
                lambda columns, vector=vector: vector @ columns,
                True,
            )
    for i, j in itertools.combinations(range(count), 2):
        others = [k for k in range(count) if k not in (i, j)]
        for sign in (1, -1) if others else (1,):
            add(
                lambda names, i=i, j=j, others=others, sign=sign: weighted_sum(
                    [(1, names[i] * names[j]), *((sign, names[k]) for k in others)]
                ),
                lambda columns, i=i, j=j, others=others, sign=sign: (
                    columns[i] * columns[j] + sign * columns[others].sum(axis=0)
                ),
                True,
            )
    if count == 1:
        add(lambda names: op("abs", names[0]), lambda columns: np.abs(columns[0]), False)
        add(lambda names: names[0] * names[0], lambda columns: columns[0] ** 2, True)
        for c in range(-5, 6):
            add(lambda names, c=c: op("gt", names[0], Const(c)), lambda columns, c=c: columns[0] > c, False)
    else:
        for name, extreme in (("max", np.max), ("min", np.min)):
            add(
                lambda names, name=name: reduce(lambda a, b: op(name, a, b), names),
                lambda columns, extreme=extreme: extreme(columns, axis=0),
                False,
            )
    if count == 2:
        add(
            lambda names: op("abs", names[0] - names[1]),
            lambda columns: np.abs(columns[0] - columns[1]),
            True,
        )
        for name, test in (("gt", np.greater), ("ge", np.greater_equal), ("eq", np.equal)):
            add(
                lambda names, name=name: op(name, *names),
                lambda columns, test=test: test(columns[0], columns[1]),
                False,
            )
        for i, c, k in itertools.product((0, 1), range(-5, 6), range(-2, 3)):
            add(
                lambda names, i=i, c=c, k=k: op(
                    "where", op("gt", names[i], Const(c)), names[1 - i], Const(k)
                ),
                lambda columns, i=i, c=c, k=k: np.where(columns[i] > c, columns[1 - i], float(k)),
                False,
            )
    return Templates(tuple(write), tuple(bases), np.array(base), np.array(modulus, dtype=float))
