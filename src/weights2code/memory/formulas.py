"""Formulas of a machine whose states have numbers, for the next state."""

from __future__ import annotations

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Var, compile_numpy, infer, op
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.simplify.cost import cost
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.over_texts import table_list
from weights2code.symbolic.search.table import Table

#: Effort for one formula, in seconds of a usual machine.
EFFORT = 0.3
#: Whole numbers are made of whole numbers.
_WHOLE = frozenset(name for name, entry in OPERATORS.items() if not entry.irrational)
#: Rows that formulas are looked for on before all are asked.
MOST_SEARCHED = 800
#: The cost of a formula that is short enough, and of one that is as good as a table.
SHORT, LONGEST = 9.0, 40.0
#: Factors and divisors of digits; larger factors where the target grows as fast.
LARGEST_FACTOR, LARGEST_DIVISOR = 30, 16
#: Values of an output that are looked at as a table if there is no formula.
MOST_ROWS = 400


def transitions(
    machine: Machine, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every transition that is known, a row each: the number before, what is read, the number after, the
    outputs."""
    before, symbol = np.nonzero(machine.moves != NOWHERE)
    after = machine.moves[before, symbol]
    return numbers[before], machine.symbols[symbol], numbers[after], machine.answers[before, symbol]


def formula_of(
    columns: np.ndarray, target: np.ndarray, variables: tuple[Var, ...], effort: float = EFFORT
) -> Expr | None:
    """A short formula that is right on every row; None if none was found.

    It is looked for on some rows, and once more with those on which it turned out wrong.
    """
    domains = tuple(infer(column) for column in columns.T)
    chosen = np.sort(np.random.default_rng(0).permutation(len(target))[:MOST_SEARCHED])
    for _ in range(2):
        front = NativeEngine().search(
            columns[chosen],
            target[chosen],
            variables=variables,
            domains=domains,
            tolerance=1e-6,
            effort=effort,
            operators=_WHOLE,
        )
        found = next(
            (one.expr for one in front if one.exact and cost(one.expr) <= LONGEST),
            None,
        )
        if found is None:
            return None
        wrong = np.flatnonzero(np.abs(compile_numpy(found, variables)(*columns.T) - target) > 1e-6)
        if not len(wrong):
            return found
        chosen = np.unique(np.concatenate([chosen, wrong[:MOST_SEARCHED]]))
    return None


def digits_of(columns: np.ndarray, target: np.ndarray, variables: tuple[Var, Var]) -> Expr | None:
    """A quotient or a remainder of a sum of two values, between two ends: what goes beyond a digit, or is
    left of it. None if the rows are not one."""
    low, high = float(target.min()), float(target.max())
    inside = (target > low) & (target < high)
    if not inside.any():
        inside = np.ones(len(target), bool)
    reference = int(np.flatnonzero(inside)[0])
    few = sorted(range(-LARGEST_FACTOR, LARGEST_FACTOR + 1), key=lambda c: (abs(c), c < 0))
    steep = np.linalg.lstsq(np.column_stack([columns, np.ones(len(target))]), target, rcond=None)[0][0]
    for divisor in range(2, LARGEST_DIVISOR + 1):
        near = round(steep * divisor)
        factors = few if near <= LARGEST_FACTOR else [*few, *range(near - divisor, near + divisor + 1)]
        for second in (1, -1):
            for more in range(divisor):
                totals = np.outer(factors, columns[:, 0]) + second * columns[:, 1] + more
                for name, results in (("quotient", totals // divisor), ("remainder", totals % divisor)):
                    offset = target[reference] - results[:, reference]
                    if name == "remainder":
                        offset[:] = 0.0
                    fits = (np.clip(results + offset[:, None], low, high) == target).all(1)
                    if fits.any():
                        place = int(fits.argmax())
                        total = _sum(factors[place], second, more, variables)
                        made = total // divisor if name == "quotient" else total % divisor
                        made = _moved(made, int(offset[place]))
                        spread = results[place] + offset[place]
                        if spread.min() < low and spread.max() > high:
                            return op("clip", made, int(low), int(high))
                        if spread.max() > high:
                            return op("min", made, int(high))
                        return op("max", made, int(low)) if spread.min() < low else made
    return None


def _sum(first: int, second: int, more: int, variables: tuple[Var, Var]) -> Expr:
    one, two = variables
    total = two if second == 1 else -two
    if first:
        term = one if abs(first) == 1 else Const(abs(first)) * one
        total = (term + two if second == 1 else term - two) if first > 0 else total - term
    return _moved(total, more)


def _moved(formula: Expr, by: int) -> Expr:
    return formula if not by else formula + by if by > 0 else formula - (-by)


def table_of(columns: np.ndarray, target: np.ndarray, variables: tuple[Var, ...]) -> Expr | None:
    """The rows as a list of rules, if they are few."""
    table = Table(variables, tuple(map(infer, columns.T)), columns)
    return table_list(table, target) if len(target) <= MOST_ROWS else None


def _once(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every different row once."""
    _, first = np.unique(columns, axis=0, return_index=True)
    return columns[first], target[first]
