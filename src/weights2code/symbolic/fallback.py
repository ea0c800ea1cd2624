"""Always faithful, never pretty: a lookup table on a small finite domain, and the exact ReLU read-off.

Both are labelled as what they are. The table is merged into a decision list: rows that share a value are
described by one test where one suffices, and the commonest value is the default.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, op
from weights2code.symbolic.forms import weighted_sum
from weights2code.symbolic.problem import Collector, Problem
from weights2code.symbolic.snapping import simplest

MOST_ROWS = 64


def table_stage(problem: Problem, collector: Collector) -> None:
    """Offer the table of a finite domain with few distinct rows; combinations never seen get a
    neighbour's value, which is why the label matters.
    """
    if problem.discrete and len(problem.X) <= MOST_ROWS:
        collector.offer(table(problem.variables, problem.X, problem.y, problem.accuracy), kind="table")


def table(variables: tuple[Var, ...], X: np.ndarray, y: np.ndarray, tolerance: float) -> Expr:
    """A formula that repeats the rows: nested choices on one variable after another."""
    values = [simplest(float(v), tolerance) for v in y]
    return _choose(variables, X, values)


def _choose(variables: tuple[Var, ...], X: np.ndarray, values: list[Number]) -> Expr:
    """The smallest decision tree whose first question is the best of all single questions."""
    if len(set(values)) == 1:
        return Const(values[0])
    best: tuple[float, int, float, str] | None = None
    for j in range(X.shape[1]):
        levels = np.unique(X[:, j])
        for level in levels:
            for name in ("eq", "ge"):
                holds = X[:, j] == level if name == "eq" else X[:, j] >= level
                if holds.all() or not holds.any():
                    continue
                score = _disorder(values, holds)
                key = (score, j, float(level), name)
                if best is None or key < best:
                    best = key
    if best is None:  # rows that no question tells apart: the collector will see the error that is left
        return Const(values[0])
    _, j, level, name = best
    holds = X[:, j] == level if name == "eq" else X[:, j] >= level
    yes = _choose(variables, X[holds], [v for v, h in zip(values, holds, strict=True) if h])
    no = _choose(variables, X[~holds], [v for v, h in zip(values, holds, strict=True) if not h])
    test = op(name, variables[j], Const(level).value)
    if yes == Const(1) and no == Const(0):
        return test
    if no == Const(0) and yes != Const(0):
        return op("mul", test, yes)
    if yes == Const(1) and _is_bit(no):
        return op("or", test, no)
    return op("where", test, yes, no)


def _is_bit(expr: Expr) -> bool:
    if isinstance(expr, Op) and expr.name == "mul":
        return all(_is_bit(argument) for argument in expr.args)
    return isinstance(expr, Op) and OPERATORS[expr.name].boolean


def _disorder(values: list[Number], holds: np.ndarray) -> float:
    """How many more distinct answers than one the two sides still hold, weighted by their runs."""
    total = 0.0
    for side in (True, False):
        inside = [v for v, h in zip(values, holds, strict=True) if h == side]
        counts: dict[Number, int] = {}
        for v in inside:
            counts[v] = counts.get(v, 0) + 1
        total += sum(-c * np.log(c / len(inside)) for c in counts.values())
    return round(float(total), 9)


def piecewise_readoff(
    W1: np.ndarray,
    b1: np.ndarray,
    W2: np.ndarray,
    b2: float,
    box: np.ndarray,
    variables: tuple[Var, ...] | None = None,
) -> Expr:
    """The exact formula of a network with one hidden ReLU layer, on a box of inputs.

    Parameters
    ----------
    W1, b1
        Hidden weights (hidden, k) and biases (hidden,).
    W2, b2
        Output weights (hidden,) and bias.
    box
        Lowest and highest value of each input, shape (k, 2). A unit that is never positive on the box is
        dropped, one that is never negative is linear there; the sample is not asked.
    variables
        Names of the inputs, `x0`, `x1`, ... by default.

    Returns
    -------
    Expr
        An affine function plus one hinge for every unit that changes sign on the box.
    """
    W1, b1 = np.atleast_2d(np.asarray(W1, dtype=float)), np.asarray(b1, dtype=float).reshape(-1)
    W2, box = np.asarray(W2, dtype=float).reshape(-1), np.asarray(box, dtype=float)
    hidden, k = W1.shape
    if b1.shape != (hidden,) or W2.shape != (hidden,) or box.shape != (k, 2):
        raise ValueError(
            f"shapes do not go together: W1 {W1.shape}, b1 {b1.shape}, W2 {W2.shape}, box {box.shape}"
        )
    names = variables or tuple(Var(f"x{j}") for j in range(k))
    high = b1 + np.maximum(W1 * box[:, 0], W1 * box[:, 1]).sum(axis=1)
    low = b1 + np.minimum(W1 * box[:, 0], W1 * box[:, 1]).sum(axis=1)
    slope, offset = np.zeros(k), float(np.asarray(b2).reshape(-1)[0])
    terms: list[tuple[Number, Expr]] = []
    for i in range(hidden):
        if high[i] <= 0 or W2[i] == 0:
            continue
        if low[i] >= 0:
            slope = slope + W2[i] * W1[i]
            offset += float(W2[i] * b1[i])
            continue
        inner = weighted_sum(
            [(_number(w), v) for w, v in zip(W1[i], names, strict=True)], _number(float(b1[i]))
        )
        terms.append((_number(float(W2[i])), op("relu", inner)))
    affine: list[tuple[Number, Expr]] = [(_number(w), v) for w, v in zip(slope, names, strict=True)]
    return weighted_sum([*affine, *terms], _number(offset))


def _number(value: float) -> Number:
    return Const(float(value)).value
