"""A quantity in place of the columns that it is made of, asked of rows of reals that lie near each other.

Rows of reals do not agree in anything, but a function of few quantities is nearly linear among rows that are
near in them. So each row is foretold from its neighbours by a local linear fit. With a quantity that carries
all that its columns tell, neighbours are nearer, and what is foretold is better than from the columns
themselves. What is linear in the columns may stand beside: it is taken off what the fits leave over.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.language import Expr, Var
from weights2code.symbolic.search.bank import CELL, Bank
from weights2code.symbolic.search.columns import fresh, replaced
from weights2code.symbolic.search.readings import Reader
from weights2code.symbolic.search.table import Goal, Left

#: Rows that are foretold, the fewest that there must be; neighbours for each number of a local fit.
FORETOLD, FEWEST, NEIGHBOURS = 100, 60, 2
#: Quantities that are asked for, and that are followed.
ASKED, FOLLOWED = 100, 2
#: What a quantity may lose at most, as a share of what its columns lose where neighbours are as far, of what
#: they lose, of what is lost without it, and of all; how much more without what is linear beside it.
BETTER, LESS, NEEDED, MOST, ALONE = 1.5, 0.7, 0.7, 0.12, 1.2
#: What a node counts for beside a bit of what is lost; how much worse than the best one is followed too.
COST, WITHIN = 0.3, 0.5


def near(reader: Reader, bank: Bank, goal: Goal, cost: int) -> Iterator[Left]:
    """Quantities from which a row is foretold better than from their columns, the best first."""
    table, problem, small = reader.table, reader.problem, reader.goal
    known, k = small.known, len(table.variables)
    if table.discrete or small.whole or k < 2 or len(known) < max(FEWEST, 8 * k):
        return
    X, y = reader.X[known], small.middle[known]
    whole, spread = _lost(X, y, X[:, :0])[0], float(np.mean(np.abs(y - np.median(y))))
    found: list[tuple[float, bool, Expr, np.ndarray]] = []
    without: dict[int, float] = {}
    block, reads = bank.quantities(cost, ASKED)
    problem.effort.spend((2e-4 + 0.3 * CELL * FORETOLD * len(known)) * len(block))
    for i, mask in enumerate(reads.tolist()):
        inside = [j for j in range(k) if mask >> j & 1]
        others = X[:, [j for j in range(k) if not mask >> j & 1]]
        if mask not in without:
            without[mask] = _lost(others, y, X[:, inside])[1]
        alone, lost = _lost(np.column_stack([block.values[i, known], others]), y, X[:, inside])
        # neighbours among n rows are n**(-1/m) apart in m quantities
        nearer = len(known) ** (1 / k - 1 / (others.shape[1] + 1))
        if lost < min(min(BETTER * nearer, LESS) * whole, NEEDED * without[mask], MOST * spread):
            expr = block.write(i)
            worth = np.log2(lost + 1e-3 * small.slack) + COST * expr.size()
            found.append((worth, alone <= ALONE * lost + small.slack, expr, block.values[i, known]))
    found.sort(key=lambda item: item[0])
    followed: list[np.ndarray] = []
    for worth, alone, expr, v in found:
        if worth > found[0][0] + WITHIN or len(followed) == FOLLOWED:
            return
        if any(abs(np.corrcoef(v, other)[0, 1]) > 1 - 1e-9 for other in followed):
            continue
        followed.append(v)
        gone = sorted(expr.variables(), key=table.variables.index)[: None if alone else 1]
        parts: dict[Var, Expr] = {Var(fresh(table)): expr}
        made = replaced(table, goal, parts, [v for v in table.variables if v not in gone])
        if made is not None:
            yield Left("near", *made, lambda e, parts=parts: e.substitute(parts), float(expr.size() - 1))


def _lost(Z: np.ndarray, y: np.ndarray, beside: np.ndarray) -> tuple[float, float]:
    """What is left over of y on average where the fit to its neighbours in Z foretells a row.

    Alone, and beside a linear function of columns.
    """
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    asked = np.random.default_rng(1).permutation(len(Z))[:FORETOLD]
    distance = np.sum(Z * Z, axis=1)[None] - 2 * Z[asked] @ Z.T
    distance[np.arange(len(asked)), asked] = np.inf
    width = Z.shape[1] + 1
    around = np.argpartition(distance, NEIGHBOURS * width + 1, axis=1)[:, : NEIGHBOURS * width + 2]
    design = np.concatenate([np.ones((*around.shape, 1)), Z[around] - Z[asked][:, None]], axis=2)
    gram = design.transpose(0, 2, 1) @ design
    gram += 1e-6 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(width)
    weights = (design @ np.linalg.solve(gram, np.eye(width)[:, :1]))[:, :, 0]
    both = np.column_stack([y, beside])
    off = both[asked] - np.einsum("ab,abc->ac", weights, both[around])
    rest = off[:, 0] - off[:, 1:] @ np.linalg.lstsq(off[:, 1:], off[:, 0], rcond=None)[0]
    return float(np.mean(np.abs(off[:, 0]))), float(np.mean(np.abs(rest)))
