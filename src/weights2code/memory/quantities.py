"""What a hidden state may go on by: simple functions of the inputs, now and one step before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from weights2code.data import Problem
from weights2code.graph import shifted
from weights2code.language import Domain, Expr, Var, compile_numpy, maximum, minimum, op

#: Divisors of remainders and quotients, and factors.
DIVISORS, FACTORS = range(2, 8), (2, 3)
#: Values of a column that constants are taken from, at most.
MOST_CONSTANTS = 20
#: Quantities, at most.
MOST_QUANTITIES = 500


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A function of the inputs, and what it gives at every position, shape (sequences, positions); and a
    condition of the inputs, if the state goes on by two of them."""

    formula: Expr
    values: np.ndarray
    when: Expr | None = None
    held: np.ndarray | None = None

    @staticmethod
    def of(formula: Expr, when: Expr | None, inputs: tuple[str, ...], x: np.ndarray) -> Quantity:
        """On inputs of shape (sequences, positions, inputs)."""
        held = None if when is None else values_of(when, inputs, x)
        return Quantity(formula, values_of(formula, inputs, x), when, held)

    def elsewhere(self, inputs: tuple[str, ...], x: np.ndarray) -> Quantity:
        """The same of other sequences."""
        return Quantity.of(self.formula, self.when, inputs, x)

    @property
    def read(self) -> set[str]:
        """The names of the inputs in it."""
        parts = (self.formula,) if self.when is None else (self.formula, self.when)
        return {variable.name for part in parts for variable in part.variables()}


def quantities(problem: Problem, x: np.ndarray) -> list[Quantity]:
    """Those that differ on some inputs, of shape (sequences, positions, inputs), simple ones first."""
    columns = [(Var(name), domain) for name, domain in zip(problem.inputs, problem.domains, strict=True)]
    found: dict[bytes, Quantity] = {}
    for formula in _all(columns):
        values = values_of(formula, problem.inputs, x)
        if np.ptp(values):
            found.setdefault(values.tobytes(), Quantity(formula, values))
        if len(found) == MOST_QUANTITIES:
            break
    return list(found.values())


def conditional(problem: Problem, x: np.ndarray) -> list[Quantity]:
    """Columns that a state goes on by if some condition holds."""
    columns = [(Var(name), domain) for name, domain in zip(problem.inputs, problem.domains, strict=True)]
    made = [Quantity.of(when, None, problem.inputs, x) for when in _conditions(columns)]
    held = {one.values.tobytes(): one for one in made if np.ptp(one.values)}
    return [
        Quantity(a, x[..., place], one.formula, one.values)
        for one in held.values()
        for place, (a, _) in enumerate(columns)
        if one.formula != a
    ]


def values_of(formula: Expr, inputs: tuple[str, ...], x: np.ndarray) -> np.ndarray:
    """A function of inputs at every position; 0 stands before the start."""
    variables = formula.variables()
    read = [shifted(x[..., inputs.index(v.name)], v.lag, 0.0) for v in variables]
    values = np.asarray(compile_numpy(formula, variables)(*read), float)
    return np.ascontiguousarray(np.broadcast_to(values, x.shape[:2])) + 0.0  # one zero, not two


_Columns = list[tuple[Var, Domain]]


def _all(columns: _Columns) -> Iterator[Expr]:
    for part in (_simple, _single, _near, _several, _cut):
        yield from part(columns)


def _simple(columns: _Columns) -> Iterator[Expr]:
    """Columns as they are, their sums, differences and squares."""
    yield from (a for a, _ in columns)
    for (a, _), (b, _) in combinations(columns, 2):
        yield from (a + b, a - b, b - a, a * b, abs(a - b), maximum(a, b), minimum(a, b))
        yield from (op("gt", a, b), op("gt", b, a), op("eq", a, b))
    for a, domain in columns:
        last = Var(a.name, 1)
        yield from (a * a, abs(a)) if domain.size > 2 else (2 * a - 1,)
        yield from (a + last, a - last, maximum(a, last), minimum(a, last), op("gt", a, last))
        yield op("eq", a, last)


def _single(columns: _Columns) -> Iterator[Expr]:
    """Functions of one column."""
    for a, domain in columns:
        if domain.size > 2:
            yield from (abs(a - c) if c >= 0 else abs(a + -c) for c in _constants(domain)[1:-1] if c)
            yield from (a % m for m in DIVISORS if m < domain.size or domain.low < 0)
            yield from (a // m for m in DIVISORS if m < domain.size)
            yield from (op("gt", a, c) for c in _constants(domain)[:-1])


def _near(columns: _Columns) -> Iterator[Expr]:
    """A column and what it was one step before, or another one then."""
    for a, domain in columns:
        last = Var(a.name, 1)
        yield from (a + last + Var(a.name, 2), 2 * a - last, 2 * a + last, abs(a - last))
        if domain.size > 2:
            yield from ((a + last) % m for m in DIVISORS)
    for (a, _), (b, _) in permutations(columns, 2):
        yield from (a + Var(b.name, 1), a - Var(b.name, 1), op("gt", a, Var(b.name, 1)))


def _several(columns: _Columns) -> Iterator[Expr]:
    """Columns together."""
    for (a, _), (b, _) in combinations(columns, 2):
        yield from (op("ge", a, b), op("ge", b, a), op("relu", a - b), op("relu", b - a))
    for (a, _), (b, _) in permutations(columns, 2):
        yield from (factor * a - b for factor in FACTORS)
        yield from (a + factor * b for factor in FACTORS)
    for (a, _), (b, _), (c, _) in permutations(columns, 3):
        yield from (a + b + c, a + b - c, a * b + c, a - b * c)
    for (a, _), (b, _) in combinations(columns, 2):
        yield from ((a + b) % m for m in DIVISORS)
        yield from ((a * b) % m for m in DIVISORS)


def _cut(columns: _Columns) -> Iterator[Expr]:
    """A column between ends."""
    for a, domain in columns:
        constants = _constants(domain)[1:-1] if domain.size > 2 else []
        for c in constants:
            yield from (op("relu", a - c), minimum(a, c), maximum(a, c))
        yield from (op("eq", a, c) for c in constants)
    for a, domain in columns:
        constants = _constants(domain)[1:-1] if domain.size > 2 else []
        yield from (op("clip", a, low, high) for low, high in combinations(constants, 2))


def _conditions(columns: _Columns) -> Iterator[Expr]:
    """What is true or not."""
    for a, domain in columns:
        if domain.size == 2:
            yield from (a, op("not", a))
        yield op("eq", a, Var(a.name, 1))
    for (a, _), (b, _) in permutations(columns, 2):
        yield from (op("gt", a, b), op("ge", a, b))
    for (a, _), (b, _) in combinations(columns, 2):
        yield op("eq", a, b)
    for a, domain in columns:
        constants = _constants(domain) if domain.size > 2 else []
        yield from (op("ge", a, c) for c in constants[:0:-1])
        yield from (op("lt", a, c) for c in constants[1:])
        yield from (op("eq", a, c) for c in constants)


def _constants(domain: Domain) -> list[int]:
    return [int(value) for value in domain.values()] if domain.size <= MOST_CONSTANTS else []
