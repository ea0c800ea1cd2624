"""Shortest equivalents on a finite domain, found by trying every small expression.

Where the check set is the whole domain, a formula is its table of values. All expressions of at most three
operators over the same variables and constants are laid out as tables, and whatever equals the target is a
candidate: `a + b - 2*a*b` on bits becomes `[a != b]`. Only a library of small expressions is stored; the
outermost operator is tried on all pairs at once, on a few rows first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Op, Var
from weights2code.program.cost import cost
from weights2code.program.equality import CheckSet

MOST_VARIABLES = 4
MOST_LIBRARY = 400
_PROBE_ROWS = 48

_BINARY = ("add", "sub", "mul", "max", "min", "eq", "ne", "ge", "gt", "and", "or", "mod")
_UNARY = ("abs", "relu")


def finite_candidates(expr: Expr, check: CheckSet) -> Iterator[Expr]:
    """Expressions that agree with `expr` on probe rows of a complete check set, cheapest first."""
    variables = expr.variables()
    if not check.complete or not 1 <= len(variables) <= MOST_VARIABLES or expr.size() <= 3:
        return
    target = check.values(expr)
    if not np.all(np.isfinite(target)):
        return
    rows = _probe(check, variables, target)
    library = _library(expr, variables, {v: check.columns[v][rows] for v in variables})
    target = target[rows]
    found: list[Expr] = [e for e, table in library if np.array_equal(table, target)]
    tables = np.array([table for _, table in library])
    expressions = [e for e, _ in library]
    remainders = [c for c in _constants(expr) if c.value > 1]
    with np.errstate(all="ignore"):
        for name in _BINARY:
            every = _broadcast(name, tables, tables)
            found += _hits(name, expressions, every == target)
            if name in ("add", "sub"):
                for outer in _UNARY:
                    wrapped = OPERATORS[outer].numpy(every) == target
                    found += [Op(outer, (e,)) for e in _hits(name, expressions, wrapped)]
                for modulus in remainders:
                    wrapped = np.mod(every, float(modulus.value)) == target
                    found += [Op("mod", (e, modulus)) for e in _hits(name, expressions, wrapped)]
    yield from sorted(dict.fromkeys(found), key=lambda e: (cost(e), str(e)))


def _hits(name: str, expressions: list[Expr], equal: np.ndarray) -> list[Expr]:
    pairs = np.argwhere(equal.all(axis=2))
    return [Op(name, (expressions[i], expressions[j])) for i, j in pairs[:200]]


def _broadcast(name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if name == "mod":  # a remainder by something that varies is nobody's simplest form
        constant = (right == right[:, :1]).all(axis=1) & (right[:, 0] > 1)
        result = np.full((len(left), len(right), left.shape[1]), np.nan)
        result[:, constant] = np.mod(left[:, None], right[None, constant])
        return result
    return OPERATORS[name].numpy(left[:, None], right[None, :])


def _probe(check: CheckSet, variables: tuple[Var, ...], target: np.ndarray) -> np.ndarray:
    """A few rows that show every value of the target and differ in the variables that matter."""
    columns = np.stack([check.columns[v] for v in variables], axis=1)
    _, distinct = np.unique(columns, axis=0, return_index=True)
    if len(distinct) <= _PROBE_ROWS:
        return np.sort(distinct)
    _, shown = np.unique(target, return_index=True)
    rest = np.random.default_rng(0).permutation(distinct)
    return np.unique(np.concatenate([shown[: _PROBE_ROWS // 3], rest])[:_PROBE_ROWS])


def _constants(expr: Expr) -> list[Const]:
    inside = [node.value for node in expr.walk() if isinstance(node, Const)]
    values = dict.fromkeys([0, 1, 2, *inside])
    return [Const(value) for value in values if abs(value) < 2**53]


def _library(
    expr: Expr, variables: tuple[Var, ...], columns: dict[Var, np.ndarray]
) -> list[tuple[Expr, np.ndarray]]:
    """Distinct tables of variables, constants, and one operator on them, cheapest expression each."""
    rows = len(next(iter(columns.values())))
    known: dict[bytes, tuple[Expr, np.ndarray]] = {}

    def put(candidate: Expr, table: np.ndarray) -> None:
        table = np.ascontiguousarray(np.broadcast_to(table, rows), dtype=float) + 0.0
        if np.all(np.isfinite(table)):
            known.setdefault(table.tobytes(), (candidate, table))

    for variable in variables:
        put(variable, columns[variable])
    for constant in _constants(expr):
        put(constant, np.full(rows, float(constant.value)))
    leaves = list(known.values())
    with np.errstate(all="ignore"):
        for name in _BINARY:
            for a, u in leaves:
                for b, v in leaves:
                    modulus = name == "mod" and not (isinstance(b, Const) and b.value > 1)
                    if not modulus and not (isinstance(a, Const) and isinstance(b, Const)):
                        put(Op(name, (a, b)), OPERATORS[name].numpy(u, v))
        for name in _UNARY:
            for a, u in list(known.values()):
                put(Op(name, (a,)), OPERATORS[name].numpy(u))
    return list(known.values())[:MOST_LIBRARY]
