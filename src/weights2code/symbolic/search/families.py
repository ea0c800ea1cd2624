"""Functions with one inner constant: exp(c*u), u^p, 1/(u+c), hinges, waves.

Variable projection: for each inner constant on a grid, the outer scale and offset are a least-squares
problem solved in closed form. The best few are then refined jointly and snapped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.bank import CELL
from weights2code.symbolic.search.readings import FIT, Reader, orthonormal
from weights2code.symbolic.snapping import snap

#: Inner constants, columns and sums of two that are asked, members that are refined; what these may leave.
GRID, INNER, REFINED, LEFT = 48, 13, 6, 0.05


@dataclass(frozen=True, slots=True)
class Family:
    """Members by their constant: how one is written, the constants, and values (members, terms, rows)."""

    build: Callable[[float], list[Expr]]
    constants: np.ndarray
    values: np.ndarray


def families(reader: Reader) -> Iterator[Expr]:
    """The refined best members of all families, alone and beside a linear function."""
    problem, X, y = reader.problem, reader.X, reader.goal.middle
    spread = float(np.sum((y - y.mean()) ** 2))
    if spread == 0 or len(y) < 6:
        return
    wide = [False, True] if X.shape[1] > 1 else [False]
    ranked: list[tuple[float, bool, list[Expr], np.ndarray]] = []
    for beside, family in itertools.product(wide, _families(reader)):
        if problem.expired():
            return
        problem.effort.spend(2 * CELL * family.values.size)
        for left, i in _best(reader.columns if beside else reader.columns[:, :1], family.values, y):
            exprs = family.build(float(family.constants[i]))
            ranked.append((left / spread, beside, exprs, family.values[i]))
    ranked.sort(key=lambda item: item[0])
    near = Reader(problem, reader.table, reader.goal, beside=False, near=True)
    values = dict(zip(reader.table.variables, X.T, strict=True))
    for left, beside, exprs, terms in ranked[:REFINED]:
        if left > LEFT or problem.expired():
            return
        more = list(reader.table.variables) if beside else []
        fitted = near.fit([*exprs, *more], np.concatenate([terms, X.T[: len(more)]]).T)
        if fitted is not None:
            problem.effort.spend(fitted.size() * (FIT + CELL * len(y)))
            yield snap(_loosen(fitted), values, y, problem.accuracy, noise=problem.noise)


def _loosen(expr: Expr) -> Expr:
    """Whole-number constants other than the neutral ones as floats, so that a refit may move them."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, Const) and not isinstance(node.value, float) and node.value not in (0, 1, -1):
            # Const keeps whole floats as ints; the last binary digit makes it a free constant.
            return Const(float(np.nextafter(float(node.value), np.inf)))
        return node

    return expr.transform(rule)


def _best(base: np.ndarray, values: np.ndarray, y: np.ndarray) -> Iterator[tuple[float, int]]:
    """The two least residuals of `base` plus the terms of each member, and whose."""
    Q = orthonormal(base)
    rest = y - Q @ (Q.T @ y)
    with np.errstate(all="ignore"):
        valid = np.all(np.isfinite(values), axis=(1, 2))
        safe = np.where(valid[:, None, None], values, 0.0)
        part = safe - (safe @ Q) @ Q.T
        norm = np.linalg.norm(part, axis=2)
        valid &= np.all(norm > 1e-9 * np.linalg.norm(safe, axis=2), axis=1)
        part = part / np.where(norm > 0, norm, 1.0)[:, :, None]
        top = part @ rest
        gain = top[:, 0] ** 2
        if part.shape[1] == 2:
            overlap = np.einsum("ij,ij->i", part[:, 0], part[:, 1])
            gain = (gain + top[:, 1] ** 2 - 2 * top[:, 0] * top[:, 1] * overlap) / (1 - overlap**2)
            valid &= np.abs(overlap) < 1 - 1e-9
        left = np.where(valid, float(rest @ rest) - gain, np.inf)
    for i in np.argsort(left, kind="stable")[:2]:
        if np.isfinite(left[i]):
            yield float(left[i]), int(i)


def _families(reader: Reader) -> Iterator[Family]:
    """Of columns, of sums and of differences of two."""
    columns = list(zip(reader.table.variables, reader.X.T, strict=True))
    pairs = itertools.combinations(columns, 2)
    both = ((weighted_sum([(1, u), (s, v)]), a + s * b) for (u, a), (v, b) in pairs for s in (1, -1))
    for expr, v in itertools.islice(itertools.chain(columns, both), INNER):
        if len(np.unique(v)) >= 5:
            yield from _of_quantity(reader, expr, v)


def _of_quantity(reader: Reader, expr: Expr, v: np.ndarray) -> Iterator[Family]:
    allows, low, high = reader.problem.allows, float(v.min()), float(v.max())
    spread, largest = high - low, max(abs(low), abs(high), 1e-9)

    def family(function: Callable, write: Callable[[float], Expr], constants: np.ndarray) -> Family:
        with np.errstate(all="ignore"):
            return Family(lambda c: [write(c)], constants, function(v[None], constants[:, None])[:, None])

    def shifted(c: float) -> Expr:
        return weighted_sum([(1, expr)], c)

    inside = low + spread * (np.arange(1, GRID) / GRID)
    yield family(lambda u, c: np.maximum(u - c, 0), lambda c: op("relu", shifted(-c)), inside)
    if reader.problem.whole and np.all(v == np.round(v)):
        return
    if allows("exp"):
        half = np.geomspace(0.1, 20, GRID // 2) / largest
        yield family(lambda u, c: np.exp(c * u), lambda c: op("exp", c * expr), np.r_[-half[::-1], half])
    if allows("div"):
        away = spread * np.geomspace(0.02, 5, GRID // 2)
        yield family(
            lambda u, c: 1 / (u + c), lambda c: op("div", 1, shifted(c)), np.r_[away - low, -high - away]
        )
    for name, function in (("log", np.log), ("sqrt", np.sqrt)):
        if allows(name):
            above = spread * np.geomspace(0.01, 5, GRID // 2) - low
            yield family(
                lambda u, c, function=function: function(u + c),
                lambda c, name=name: op(name, shifted(c)),
                above,
            )
    if low > 0 and allows("pow"):
        powers = np.r_[np.linspace(-3, -0.25, 12), np.linspace(0.25, 4, 16)]
        yield family(np.power, lambda p: op("pow", expr, p), powers)
    if allows("sin", "cos"):
        waves = np.linspace(0.5, 40, 80) / max(spread, 1e-9)
        both = np.stack([np.sin(waves[:, None] * v), np.cos(waves[:, None] * v)], axis=1)
        yield Family(lambda c: [op("sin", c * expr), op("cos", c * expr)], waves, both)
