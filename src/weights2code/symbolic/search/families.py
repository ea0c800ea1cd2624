"""Functions with one inner constant: exp(c*u), u**c, 1/(u + c), log(u + c), sqrt(u + c), hinges, waves.

For each constant of a grid the outer scale and offset are a least-squares problem solved in closed form. The
best few are then refined jointly and snapped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from weights2code.language import OPERATORS, Expr, Var, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.bank import CELL
from weights2code.symbolic.search.readings import FIT, Reader, left_over, left_over_two, orthonormal
from weights2code.symbolic.snapping import snap

#: Inner constants; members that are refined of a family and of all; what these may leave.
GRID, EACH, REFINED, LEFT = 48, 2, 6, 0.05
#: How a member with a constant is written, the constants, and values (members, terms, rows).
Family = tuple[Callable[[float], list[Expr]], np.ndarray, np.ndarray]
#: What a function is of, of a column and the constant: their sum, unless it stands here.
INNER: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "div": lambda u, c: (1, u + c),
    "exp": lambda u, c: (c * u,),
    "pow": lambda u, c: (u, c),
}


def families(reader: Reader, *_: Any) -> Iterator[Expr]:
    """The refined best members of all families, alone and beside a linear function."""
    problem, X, y, variables = reader.problem, reader.X, reader.goal.middle, reader.table.variables
    spread = float(np.sum((y - y.mean()) ** 2))
    if spread == 0 or len(y) < 6:
        return
    ranked: list[tuple[float, bool, list[Expr], np.ndarray]] = []
    for beside, (u, v) in itertools.product(
        (False, True)[: len(variables)], zip(variables, X.T, strict=True)
    ):
        Q = orthonormal(reader.columns if beside else reader.columns[:, :1])
        for write, constants, values in _families(reader, u, v):
            problem.effort.spend(2 * CELL * values.size)
            fine = np.all(np.isfinite(values), axis=(1, 2))
            constants, values = constants[fine], values[fine]
            left = left_over_two(values, Q, y) if values.shape[1] == 2 else left_over(values[:, 0], Q, y)
            for i in np.argsort(left, kind="stable")[:EACH]:
                ranked.append((left[i] / spread, beside, write(float(constants[i])), values[i]))
        if problem.expired():
            return
    for left, beside, exprs, terms in sorted(ranked, key=lambda item: item[0])[:REFINED]:
        if left > LEFT or problem.expired():
            return
        more = len(variables) if beside else 0
        design = np.column_stack([*terms, X[:, :more], np.ones(len(y))])
        *weights, constant = np.linalg.lstsq(design, y, rcond=None)[0].tolist()
        fitted = weighted_sum([*zip(weights, (*exprs, *variables[:more]), strict=True)], constant)
        problem.effort.spend(fitted.size() * (FIT + CELL * len(y)))
        known = dict(zip(variables, X.T, strict=True))
        yield snap(fitted, known, y, problem.accuracy, noise=problem.noise)


def _shifted(u: Any, c: Any) -> tuple[Any]:
    return (u + c,)


def _families(reader: Reader, u: Var, v: np.ndarray) -> Iterator[Family]:
    allows, low, high = reader.problem.allows, float(v.min()), float(v.max())
    spread, largest = high - low, max(abs(low), abs(high), 1e-9)
    if len(np.unique(v)) < 5:
        return
    whole = reader.problem.whole and bool(np.all(v == np.round(v)))
    near = spread * np.geomspace(0.01, 5, GRID // 2)
    rates = np.geomspace(0.1, 20, GRID // 2) / largest
    constants = {
        "relu": -low - spread * np.arange(1, GRID) / GRID,
        "log": near - low,
        "sqrt": near - low,
        "div": np.r_[near - low, -high - near],
        "exp": np.r_[-rates[::-1], rates],
        "pow": np.r_[np.linspace(-3, -0.25, 12), np.linspace(0.25, 4, 16)] if low > 0 else near[:0],
    }
    for name, some in constants.items():
        if len(some) and allows(name) and (name == "relu" or not whole):
            inner = INNER.get(name, _shifted)
            with np.errstate(all="ignore"):
                values = np.asarray(OPERATORS[name].numpy(*inner(v, some[:, None])), dtype=float)
            yield lambda c, name=name, inner=inner: [op(name, *inner(u, c))], some, values[:, None]
    if allows("sin", "cos") and not whole:
        waves = np.linspace(0.5, 40, 80) / max(spread, 1e-9)
        both = np.stack([np.sin(waves[:, None] * v), np.cos(waves[:, None] * v)], axis=1)
        yield lambda c: [op("sin", c * u), op("cos", c * u)], waves, both
