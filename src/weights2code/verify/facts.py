"""Facts that hold along runs of the joint machine: the guesses from which induction builds an invariant.

Nothing here is trusted. Affine relations come from exact linear algebra on exact runs; bounds, orders,
remainders and conditional facts from looking at the same runs. Induction then keeps what it can prove.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import inf
from operator import add
from typing import Any

import numpy as np

from weights2code.kernel.induction import relation_of
from weights2code.language import Const, Domain, Expr, Op, Var, exact_number, op
from weights2code.language.exact import exact_trace
from weights2code.language.product import Product, depth

_SEQUENCES, _LENGTH = 24, 14
_MOST_VARIABLES = 40
#: Runs end where exact numbers get longer than this: polynomials of the past double in length each step.
_MOST_BITS = 600
_MOST_PAIRED = 14
#: Sets of values that are listed, and bounds of differences that are looked at.
_SMALL_SET, _SMALL = 4, 2.0
_MOST_GUARDS = 24


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


def affine_relations(runs: Runs, rows: list[list[Any]] | None = None) -> list[Expr]:
    """Every affine relation that holds in the given rows (default: all), in solved form: `variable == value`,
    where the value is affine in variables that no relation defines."""
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    rows = runs.rows if rows is None else rows
    usable = [i for i, v in enumerate(runs.variables) if all(not isinstance(row[i], float) for row in rows)]
    if not rows or not usable or len(usable) > _MOST_VARIABLES:
        return []
    spread = rows[:: max(1, len(rows) // (3 * len(usable) + 20))]
    exact = [[QQ(1), *(QQ(row[i].numerator, row[i].denominator) for i in usable)] for row in spread]
    reduced, pivots = DomainMatrix(exact, (len(exact), 1 + len(usable)), QQ).rref()
    table = [[Fraction(int(c.numerator), int(c.denominator)) for c in row] for row in reduced.to_list()]
    found = []
    for column, place in enumerate(usable, 1):
        if column in pivots:
            continue
        terms = {usable[p - 1] if p else None: table[r][column] for r, p in enumerate(pivots)}
        terms = {i: c for i, c in terms.items() if c}
        values = (sum(c * (1 if i is None else row[i]) for i, c in terms.items()) for row in rows)
        if all(row[place] == value for row, value in zip(rows, values, strict=True)):
            parts = [Const(c) if i is None else _times(c, runs.variables[i]) for i, c in terms.items()]
            found.append(runs.variables[place].equals(reduce(add, parts) if parts else Const(0)))
    return found


def _times(factor: Fraction, variable: Var) -> Expr:
    return variable if factor == 1 else Const(factor) * variable


def guesses(joint: Product, runs: Runs, relations: list[Expr]) -> Iterator[Expr]:
    """Other facts that hold in all runs, about the variables that no relation defines: bounds of each and,
    where they are small, of differences; remainders of each and of sums and differences."""
    defined = {relation[0] for claim in relations if (relation := relation_of(claim)) is not None}
    table = [(variable, values) for variable, values in runs.columns() if variable not in defined]
    quantities: list[tuple[Expr, np.ndarray, float]] = [(*item, inf) for item in table]
    for (a, one), (b, other) in combinations(table[:_MOST_PAIRED], 2):
        quantities += [(a - b, one - other, _SMALL), (a + b, one + other, -inf)]
    moduli = _moduli(joint)
    for expr, values, most in quantities:
        distinct = np.unique(values)
        if isinstance(expr, Var) and len(distinct) <= _SMALL_SET:
            choices = [expr.equals(exact_number(value)) for value in distinct.tolist()]
            yield reduce(lambda one, other: op("or", one, other), choices)
        for bound in dict.fromkeys((0.0, float(distinct[0]))):
            if bound <= distinct[0] and abs(bound) <= most:
                yield expr >= exact_number(bound)
        for bound in dict.fromkeys((0.0, float(distinct[-1]))):
            if bound >= distinct[-1] and abs(bound) <= most:
                yield expr <= exact_number(bound)
        for modulus in moduli:
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


def conditional_guesses(runs: Runs, known: list[Expr]) -> Iterator[Expr]:
    """Facts that hold in all runs under a condition: `condition -> relation`, `condition -> condition`."""
    guards = list(_conditions(runs))[:_MOST_GUARDS]
    for guard, mask in guards:
        rows = [row for row, chosen in zip(runs.rows, mask, strict=True) if chosen]
        for relation in affine_relations(runs, rows):
            if relation not in known and relation.variables()[0] not in guard.variables():
                yield op("or", op("not", guard), relation)
    for (guard, mask), (other, holds) in ((a, b) for a in guards for b in guards if a[0] != b[0]):
        if guard.variables() != other.variables() and holds[mask].all():
            yield op("or", op("not", guard), other)


def _conditions(runs: Runs) -> Iterator[tuple[Expr, np.ndarray]]:
    """Conditions on one variable that are true of some states and false of others."""
    for variable, values in runs.columns():
        distinct = np.unique(values).tolist()
        if len(distinct) <= _SMALL_SET:
            found = [(variable.equals(exact_number(value)), values == value) for value in distinct]
        else:
            found = [(variable >= 0, values >= 0), (variable < 0, values < 0)]
            found += [(variable <= 0, values <= 0), (variable > 0, values > 0)]
        yield from ((test, mask) for test, mask in found if 8 <= mask.sum() <= len(mask) - 8)
