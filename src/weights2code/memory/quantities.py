"""What a hidden state may go on by: simple functions of the inputs, now and one step before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from weights2code.data import Problem
from weights2code.data.sufficiency import determines
from weights2code.effort import time_is_up
from weights2code.graph import shifted
from weights2code.language import Domain, Expr, Var, compile_numpy, maximum, minimum, op

#: Divisors of remainders and quotients, and factors.
DIVISORS, FACTORS = range(2, 8), (2, 3)
#: Values of a column that constants are taken from, at most.
MOST_CONSTANTS = 20
#: Quantities, at most, and those that are made of others.
MOST_QUANTITIES, MOST_COMPOSED = 500, 4000
#: Positions at which a quantity must tell everything about the inputs in it.
FIRST_POSITIONS = 5
#: Sequences that are asked first, and quantities that are left, at most.
FIRST_SEQUENCES, MOST_TOLD = 1_000, 60


_Columns = list[tuple[Var, Domain]]


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


def composed(problem: Problem, x: np.ndarray, y: np.ndarray) -> list[Quantity]:
    """Functions of simple quantities, those alone that tell of the inputs in them all that outputs show.

    Whatever a state does with a quantity, rows that agree in all its values so far, and in the other inputs,
    have the same outputs. The first few positions say so of most that it is not true.
    """
    columns = [(Var(name), domain) for name, domain in zip(problem.inputs, problem.domains, strict=True)]
    few = slice(0, FIRST_SEQUENCES)
    near, seen, found = x[:, :FIRST_POSITIONS], set[bytes](), list[Quantity]()
    for count, formula in enumerate(_composed(columns, problem.inputs, near[few])):
        if count == MOST_COMPOSED or time_is_up():
            break
        values = values_of(formula, problem.inputs, near[few])
        content = values.tobytes()
        if content in seen or not np.ptp(values):
            continue
        seen.add(content)
        read = {variable.name for variable in formula.variables()}
        whole = np.prod([float(domain.size) for a, domain in columns if a.name in read])
        lagged = any(variable.lag for variable in formula.variables())
        if not lagged and len(np.unique(values)) >= whole:
            continue  # it tells everything
        others = [place for place, name in enumerate(problem.inputs) if name not in read]
        if not _tells(values, near[few][..., others], y[few]):
            continue
        if _tells(values_of(formula, problem.inputs, near), near[..., others], y):
            found.append(Quantity(formula, values))
    return sorted(found, key=lambda one: one.formula.size())[:MOST_TOLD]


def _tells(values: np.ndarray, others: np.ndarray, y: np.ndarray) -> bool:
    """Whether rows that agree in all values so far, and in other inputs, agree in the outputs."""
    for t in range(values.shape[1]):
        rows = np.concatenate([values[:, : t + 1], others[:, : t + 1].reshape(len(others), -1)], 1)
        if not all(determines(rows, target)[0] for target in y[:, t].T):
            return False
    return True


def _composed(columns: _Columns, inputs: tuple[str, ...], x: np.ndarray) -> Iterator[Expr]:
    inner = [formula for formula in (*_simple(columns), *_single(columns)) if not isinstance(formula, Var)]
    for formula in inner:
        if any(variable.lag for variable in formula.variables()):
            continue
        values = np.unique(values_of(formula, inputs, x))
        if len(values) > 2:
            yield from (outer for outer in _functions(formula, values))
        (name, *more) = {variable.name for variable in formula.variables()}
        if not more:
            yield formula.equals(formula.substitute({Var(name): Var(name, 1)}))
    for formula in inner:
        for a, _ in columns:
            yield from (formula + a, formula - a, *((formula + a) % m for m in DIVISORS))


def _functions(inner: Expr, values: np.ndarray) -> Iterator[Expr]:
    """Of a quantity with such values."""
    constants = [int(value) for value in values[1:-1][:MOST_CONSTANTS]]
    yield inner * inner
    for c in constants:
        less = inner - c if c >= 0 else inner + -c
        yield from (op("relu", less), minimum(inner, c), maximum(inner, c), abs(less), op("gt", inner, c))
        yield inner.equals(c)
    yield from (inner % m for m in DIVISORS)
    yield from (inner // m for m in DIVISORS)
    yield from (op("clip", inner, low, high) for low, high in combinations(constants, 2))


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
        yield op("gt", last, maximum(a, Var(a.name, 2)))
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
