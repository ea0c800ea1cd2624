"""Finite values of reals: borders make cells, and the output is a function of the cell.

`(2*y1 + [b > clip(a, 2, 7.4)]) % 7` has one value for each y1 and each side of the borders `b > a`, `b > 2`
and `b > 7.4` (`borders`). What is left is a problem of bits and other discrete values, for the whole search.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import Expr, Var
from weights2code.symbolic.reals.borders import Border, borders, cells, numbers
from weights2code.symbolic.search.idle_operators import without_idle
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search

MOST_VARIABLES = 9
FEWEST_ROWS = 1000
#: Values of the output.
MOST_VALUES = 100
#: The share of the effort for the search on cells.
SHARE = 0.6
#: The share of the effort that is left for shorter ways to say what was found.
LEFT = 0.3
#: With less effort nothing is begun.
LEAST = 0.1


def cell_stage(search: Search) -> None:
    """Offer the output as a function of the sides of some borders, and of the discrete values."""
    problem = search.problem
    if not suits(problem) or not problem.whole:
        return
    values, label = np.unique(problem.y, return_inverse=True)
    if not 2 <= len(values) <= MOST_VALUES:
        return
    found = borders(problem, label)
    if found and of_cells(search, found):
        seldom_shorter(problem)


def seldom_shorter(problem: Problem) -> None:
    """What is exact on so many rows of reals is what is meant: little is left for shorter ways to say it."""
    problem.effort.spend((1 - LEFT) * max(problem.effort.left, 0.0))


def suits(problem: Problem) -> bool:
    """Whether there are reals among the variables, and rows enough to see borders."""
    few = len(problem.variables) <= MOST_VARIABLES and len(problem.y) >= FEWEST_ROWS
    return few and not problem.discrete and problem.effort.left >= LEAST


def of_cells(search: Search, found: list[Border]) -> bool:
    """Whether the search on the cells of some borders found something exact."""
    problem = search.problem
    sides: dict[Var, Expr] = {Var(f"side{i}"): border.test() for i, border in enumerate(found)}
    held = _needed(problem, found)
    columns = np.column_stack([*(b.above() * 1.0 for b in found), problem.X[:, held]])
    _, first = np.unique(numbers(columns), return_index=True)
    variables = (*sides, *(problem.variables[j] for j in held))
    smaller = derived(problem, columns[first], problem.y[first], variables, SHARE * problem.effort.left)
    best = search.below(smaller).exact
    if best is None:
        return False
    candidate = search.collector.offer(best.expr.substitute(sides), best.kind)
    if candidate is None or not candidate.exact:
        return False
    search.collector.offer(without_idle(problem, candidate.expr), best.kind)
    return True


def _needed(problem: Problem, found: list[Border]) -> list[int]:
    """The discrete columns without which cells do not have one value each; real ones are in the borders."""
    held = [j for j, domain in enumerate(problem.domains) if domain.discrete]
    for j in reversed(held):
        fewer = [i for i in held if i != j]
        if _settled(problem, found, fewer):
            held = fewer
    return held


def _settled(problem: Problem, found: list[Border], held: list[int]) -> bool:
    cell = cells(numbers(problem.X[:, held]), found)
    _, first, place = np.unique(cell, return_index=True, return_inverse=True)
    return bool(np.all(problem.y[first][place.reshape(-1)] == problem.y))
