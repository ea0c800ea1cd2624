"""Shortest equivalents on a finite domain, found by trying every small expression.

Where the check set is the whole domain, a formula is its table of values. All expressions of at most three
operators over the same variables and constants are laid out as tables, and whatever equals the target is a
candidate: `a + b - 2*a*b` on bits becomes `[a != b]`. Only a library of small expressions is stored; the
outermost operator is tried on all pairs at once, on a few rows first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Op, Var
from weights2code.simplify.cost import cost
from weights2code.simplify.equality import CheckSet

MOST_VARIABLES = 4
MOST_LIBRARY = 400
_PROBE_ROWS = 64
_FEW_ROWS = 10
_MOST_PAIRS = 5000
_MOST_HITS = 100

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
    moduli = [c for c in _constants(expr) if c.value > 1]
    with np.errstate(all="ignore"):
        for name in _BINARY:
            few = _outer(name, tables[:, :_FEW_ROWS])
            found += _hits(name, expressions, tables, few, target, lambda e: e, lambda values: values)
            if name in ("add", "sub"):
                for outer in _UNARY:
                    function = OPERATORS[outer].numpy
                    wrap = partial(_wrapped, outer, ())
                    found += _hits(name, expressions, tables, few, target, wrap, function)
                for modulus in moduli:
                    remainder = partial(_remainder, float(modulus.value))
                    wrap = partial(_wrapped, "mod", (modulus,))
                    found += _hits(name, expressions, tables, few, target, wrap, remainder)
    yield from sorted(dict.fromkeys(found), key=lambda e: (cost(e), str(e)))


def _wrapped(name: str, more: tuple[Expr, ...], expr: Expr) -> Expr:
    return Op(name, (expr, *more))


def _remainder(modulus: float, values: np.ndarray) -> np.ndarray:
    return np.mod(values, modulus)


def _outer(name: str, tables: np.ndarray) -> np.ndarray:
    """The operator on every pair of tables."""
    return _apply(name, tables[:, None], tables[None, :])


def _apply(name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    result = OPERATORS[name].numpy(left, right)
    if name == "mod":  # a remainder by something that varies is nobody's simplest form
        fixed = (right == right[..., :1]).all(axis=-1) & (right[..., 0] > 1)
        result = np.where(fixed[..., None], result, np.nan)
    return result


def _hits(
    name: str,
    expressions: list[Expr],
    tables: np.ndarray,
    few: np.ndarray,
    target: np.ndarray,
    wrap: Callable[[Expr], Expr],
    function: Callable[[np.ndarray], np.ndarray],
) -> list[Expr]:
    """The pairs that give the target on a few rows, and then on all."""
    pairs = np.argwhere((function(few) == target[: few.shape[2]]).all(axis=2))[:_MOST_PAIRS]
    left, right = pairs[:, 0], pairs[:, 1]
    equal = (function(_apply(name, tables[left], tables[right])) == target).all(axis=1)
    kept = pairs[equal][:_MOST_HITS]
    return [wrap(Op(name, (expressions[i], expressions[j]))) for i, j in kept]


def _probe(check: CheckSet, variables: tuple[Var, ...], target: np.ndarray) -> np.ndarray:
    """A few rows that show every value of the target and differ in the variables that matter."""
    columns = np.stack([check.columns[v] for v in variables], axis=1)
    _, distinct = np.unique(columns, axis=0, return_index=True)
    if len(distinct) <= _PROBE_ROWS:
        return np.random.default_rng(0).permutation(distinct)
    _, shown = np.unique(target, return_index=True)
    rest = np.random.default_rng(0).permutation(distinct)
    return np.concatenate([shown[: _FEW_ROWS // 2], rest])[:_PROBE_ROWS]


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
