"""Formulas of a machine whose states have numbers, for the next state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.language import OPERATORS, Expr, Op, Var, compile_numpy, infer
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
#: What a value costs that is read again.
AGAIN = 1.0
#: Values of an output that are looked at as a table if there is no formula.
MOST_ROWS = 400


@dataclass(frozen=True, slots=True, eq=False)
class ShortRule:
    """The numbers of the states, and the formula that leads from one to the next."""

    numbers: np.ndarray
    rule: Expr

    @property
    def cost(self) -> float:
        """Of reading it; a value that is read again, a start that is not 0 and gaps cost something."""
        gaps = self.numbers.max() - self.numbers.min() >= len(np.unique(self.numbers))
        again = _leaves(self.rule) - len(self.rule.variables())
        return cost(self.rule) + AGAIN * again + float(self.numbers[0] != 0) + float(gaps)


def _leaves(formula: Expr) -> int:
    """How often a formula reads a value."""
    if isinstance(formula, Op):
        return sum(map(_leaves, formula.args))
    return int(isinstance(formula, Var))


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


def table_of(columns: np.ndarray, target: np.ndarray, variables: tuple[Var, ...]) -> Expr | None:
    """The rows as a list of rules, if they are few."""
    table = Table(variables, tuple(map(infer, columns.T)), columns)
    return table_list(table, target) if len(target) <= MOST_ROWS else None
