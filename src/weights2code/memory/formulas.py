"""Formulas of a machine whose states have numbers: for the next state, and for the outputs.

An output is a function of the last state and of what is read; often one of the state that it leads to alone,
which is shorter.
"""

from __future__ import annotations

import numpy as np

from weights2code.data.sufficiency import determines
from weights2code.language import OPERATORS, Expr, Var, infer
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.simplify.cost import cost
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.search.tables import table

#: Effort for one formula, in seconds of a usual machine.
EFFORT = 0.3
#: Whole numbers are made of whole numbers.
_WHOLE = frozenset(name for name, entry in OPERATORS.items() if not entry.irrational)
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
    """A short formula that is right on every row; None if none was found."""
    domains = tuple(infer(column) for column in columns.T)
    front = NativeEngine().search(
        columns,
        target,
        variables=variables,
        domains=domains,
        tolerance=1e-6,
        effort=effort,
        operators=_WHOLE,
    )
    return next((one.expr for one in front if one.exact and one.kind != "table"), None)


def table_of(columns: np.ndarray, target: np.ndarray, variables: tuple[Var, ...]) -> Expr | None:
    """The rows as nested choices, if they are few."""
    return table(variables, columns, target, 1e-6) if len(target) <= MOST_ROWS else None


def answers_of(
    machine: Machine,
    numbers: np.ndarray,
    names: tuple[str, ...],
    reads: tuple[Var, ...],
    effort: float = EFFORT,
) -> tuple[Expr, ...] | None:
    """A formula for each output, of the state that is come to if that will do; None if there is none."""
    before, read, after, outputs = transitions(machine, numbers)
    now, last = (tuple(Var(name, lag) for name in names) for lag in (0, 1))
    found = []
    for target in outputs.T:
        ways = [
            (now, after),
            ((*now, *reads), np.hstack([after, read])),
            ((*last, *reads), np.hstack([before, read])),
        ]
        formulas = []
        for variables, columns in ways:
            if not determines(columns, target)[0]:
                continue
            formula = formula_of(columns, target, variables, effort)
            if formula is not None:
                formulas.append(formula)
            if formula is not None and variables == now:
                break  # no shorter one is to be had
        if not formulas:
            formula = table_of(ways[-1][1], target, ways[-1][0])
            if formula is None:
                return None
            formulas.append(formula)
        found.append(min(formulas, key=cost))
    return tuple(found)
