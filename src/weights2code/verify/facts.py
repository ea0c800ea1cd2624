"""Facts that hold along runs of the joint machine: the guesses from which induction builds an invariant.

Nothing here is trusted. Affine relations come from exact linear algebra on exact runs; bounds, orders,
remainders and conditional facts from looking at the same runs. Induction then keeps what it can prove.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from weights2code.language import Const, Domain, Expr, Op, Var, exact_number, op
from weights2code.language.exact import exact_trace
from weights2code.verify.product import Product, depth

_SEQUENCES, _LENGTH = 24, 14
_MOST_VARIABLES = 40
#: Runs end where exact numbers get longer than this: polynomials of the past double in length each step.
_MOST_BITS = 600
_MOST_PAIRED = 14
_SMALL_SET = 4
_MOST_GUARDS = 24


@dataclass(frozen=True, slots=True)
class Relation:
    """`variable == value`, where `value` is affine in variables that no relation defines."""

    variable: Var
    value: Expr

    def as_fact(self) -> Expr:
        return self.variable.equals(self.value)


@dataclass(frozen=True, slots=True)
class Runs:
    """Exact states along runs, one row a state, from the position on where start values are forgotten."""

    variables: tuple[Var, ...]
    rows: list[list[Any]]

    def columns(self) -> Iterator[tuple[Var, np.ndarray]]:
        """The values of each variable that is no input and never infinite."""
        for i, variable in enumerate(self.variables):
            values = [row[i] for row in self.rows]
            if variable.name[0] != "x" and not any(isinstance(value, float) for value in values):
                yield variable, np.array([float(value) for value in values])


def observe(joint: Product, seed: int) -> Runs:
    """Run the joint machine exactly on random and extreme inputs."""
    machine = joint.machine
    rng = random.Random(seed)
    warm = max(1, depth(machine))
    # Relations are found fastest when the present reads of inputs come first and the reference last.
    order = {"x": 0, "p": 1, "r": 2}
    variables = tuple(sorted(machine.state(), key=lambda v: (order[v.name[0]], v.lag, v.name)))
    rows = []
    for index in range(_SEQUENCES):
        length = warm + _LENGTH
        sequence = [[_draw(rng, domain, index) for domain in joint.domains] for _ in range(length)]
        trace = exact_trace(machine, sequence, most_bits=_MOST_BITS)
        done = min(len(values) for values in trace.values())
        for t in range(warm, done + 1):
            rows.append([trace[v.name][t - v.lag] for v in variables])
    return Runs(variables, rows)


def _draw(rng: random.Random, domain: Domain, index: int) -> Any:
    """Mostly uniform; some runs stay near the ends of the domain."""
    if domain.discrete:
        low, high = int(domain.low), int(domain.high)
        return rng.choice((low, high)) if index % 4 == 3 else rng.randint(low, high)
    low, high = (Fraction(exact_number(end)) for end in (domain.low, domain.high))
    return low + (high - low) * Fraction(rng.randint(0, 8), 8)


def affine_relations(runs: Runs, rows: list[list[Any]] | None = None) -> list[Relation]:
    """Every affine relation that holds in the given rows (default: all), in solved form."""
    rows = runs.rows if rows is None else rows
    usable = [i for i, v in enumerate(runs.variables) if all(not isinstance(row[i], float) for row in rows)]
    if not rows or not usable or len(usable) > _MOST_VARIABLES:
        return []
    spread = rows[:: max(1, len(rows) // (3 * len(usable) + 20))]
    sample = [[Fraction(1)] + [Fraction(row[i]) for i in usable] for row in spread]
    reduced, pivots = _reduced(sample)
    found = []
    for column in range(1, len(usable) + 1):
        if column in pivots:
            continue
        coefficients = {p: reduced[r][column] for r, p in enumerate(pivots) if reduced[r][column] != 0}
        holds = all(
            row[usable[column - 1]]
            == sum(c * (row[usable[p - 1]] if p else 1) for p, c in coefficients.items())
            for row in rows
        )
        if holds:
            terms = {None if p == 0 else runs.variables[usable[p - 1]]: c for p, c in coefficients.items()}
            found.append(Relation(runs.variables[usable[column - 1]], _affine(terms)))
    return found


def _reduced(matrix: list[list[Fraction]]) -> tuple[list[list[Fraction]], list[int]]:
    """Reduced row echelon form and its pivot columns."""
    rows, pivots = [list(row) for row in matrix], []
    for column in range(len(rows[0])):
        place = len(pivots)
        best = next((r for r in range(place, len(rows)) if rows[r][column] != 0), None)
        if best is None:
            continue
        rows[place], rows[best] = rows[best], rows[place]
        scale = rows[place][column]
        rows[place] = [value / scale for value in rows[place]]
        for r, row in enumerate(rows):
            if r != place and row[column] != 0:
                factor = row[column]
                rows[r] = [a - factor * b if b else a for a, b in zip(row, rows[place], strict=True)]
        pivots.append(column)
    return rows, pivots


def _affine(terms: dict[Var | None, Fraction]) -> Expr:
    total: Expr | None = None
    for variable, coefficient in terms.items():
        if variable is None:
            term: Expr = Const(coefficient)
        else:
            term = variable if coefficient == 1 else Const(coefficient) * variable
        total = term if total is None else total + term
    return Const(0) if total is None else total


def guesses(joint: Product, runs: Runs, relations: list[Relation]) -> Iterator[Expr]:
    """Other facts that hold in all runs, about the variables that no relation defines, simplest first."""
    defined = {relation.variable for relation in relations}
    table = {variable: values for variable, values in runs.columns() if variable not in defined}
    for variable, values in table.items():
        yield from _bounds(variable, values)
    paired = list(table)[:_MOST_PAIRED]
    moduli = _moduli(joint)
    for variable in paired:
        for modulus in moduli:
            yield from _remainder(variable, table[variable], modulus)
    for a, b in combinations(paired, 2):
        gap = table[a] - table[b]
        for offset in dict.fromkeys((gap.min(), gap.max(), 0.0)):
            if abs(offset) <= 2 and (gap >= offset).all():
                yield a - b >= exact_number(offset)
            if abs(offset) <= 2 and (gap <= offset).all():
                yield a - b <= exact_number(offset)
        for modulus in moduli:
            yield from _remainder(a - b, gap, modulus)
            yield from _remainder(a + b, table[a] + table[b], modulus)


def _bounds(variable: Var, values: np.ndarray) -> Iterator[Expr]:
    distinct = np.unique(values)
    if len(distinct) <= _SMALL_SET:
        choices = [variable.equals(exact_number(value)) for value in distinct.tolist()]
        yield reduce(lambda one, other: op("or", one, other), choices)
    for bound in dict.fromkeys((0.0, values.min())):
        if values.min() >= bound:
            yield variable >= exact_number(bound)
    for bound in dict.fromkeys((0.0, values.max())):
        if values.max() <= bound:
            yield variable <= exact_number(bound)


def _remainder(expr: Expr, values: np.ndarray, modulus: int) -> Iterator[Expr]:
    remainders = np.unique(np.mod(values, modulus))
    if len(remainders) == 1 and float(remainders[0]).is_integer():
        yield (expr % modulus).equals(int(remainders[0]))


def _moduli(joint: Product) -> list[int]:
    """The whole numbers that the machines themselves divide by."""
    found: dict[int, None] = {}
    for step in joint.machine.steps:
        assert isinstance(step.definition, Expr)
        for node in step.definition.walk():
            if isinstance(node, Op) and node.name in ("mod", "div") and isinstance(node.args[1], Const):
                value = node.args[1].value
                if isinstance(value, int) and 2 <= abs(value) <= 1000:
                    found[abs(value)] = None
    return list(found)


def conditional_guesses(runs: Runs, relations: list[Relation]) -> Iterator[Expr]:
    """Facts that hold in all runs under a condition: `condition -> relation`, `condition -> condition`."""
    known = {relation.as_fact() for relation in relations}
    guards = list(_conditions(runs))[:_MOST_GUARDS]
    for guard, mask in guards:
        rows = [row for row, chosen in zip(runs.rows, mask, strict=True) if chosen]
        for relation in affine_relations(runs, rows):
            if relation.as_fact() not in known and relation.variable not in guard.variables():
                yield op("or", op("not", guard), relation.as_fact())
    for (guard, mask), (other, holds) in ((a, b) for a in guards for b in guards if a[0] != b[0]):
        if guard.variables() != other.variables() and holds[mask].all():
            yield op("or", op("not", guard), other)


def _conditions(runs: Runs) -> Iterator[tuple[Expr, np.ndarray]]:
    """Conditions on one variable that are true of some states and false of others."""
    for variable, values in runs.columns():
        distinct = np.unique(values)
        if len(distinct) <= _SMALL_SET:
            candidates: Iterable[tuple[Expr, np.ndarray]] = (
                (variable.equals(exact_number(value)), values == value) for value in distinct.tolist()
            )
        else:
            candidates = (
                (variable >= 0, values >= 0),
                (variable < 0, values < 0),
                (variable <= 0, values <= 0),
                (variable > 0, values > 0),
            )
        for condition, mask in candidates:
            if mask.sum() >= 8 and (~mask).sum() >= 8:
                yield condition, mask
