"""Shortest equivalents on a finite domain, found by trying every small expression.

Where the check set is the whole domain, a formula is its table of values. All expressions of at most three
operators over the same variables and constants are laid out as tables, and whatever equals the target is a
candidate: `a + b - 2*a*b` on bits becomes `[a != b]`. So is a choice between two of them by a third. Only a
library of small expressions is stored; the outermost operator is tried on all pairs at once, on a few rows
first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Op, Var, is_boolean
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


def equivalents(expr: Expr, check: CheckSet) -> Iterator[Expr]:
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
    wrapped = [*((name, ()) for name in _UNARY), *(("mod", (c,)) for c in _constants(expr) if c.value > 1)]
    with np.errstate(all="ignore"):
        for name in _BINARY:
            few = _apply(name, tables[:, None, :_FEW_ROWS], tables[None, :, :_FEW_ROWS])
            for outer in (None, *(wrapped if name in ("add", "sub") else ())):
                found += _hits(name, outer, expressions, tables, few, target)
    found += _choices(expressions, tables, target)
    yield from sorted(dict.fromkeys(found), key=lambda e: (cost(e), str(e)))


def _apply(name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    result = OPERATORS[name].numpy(left, right)
    if name == "mod":  # a remainder by something that varies is nobody's simplest form
        fixed = (right == right[..., :1]).all(axis=-1) & (right[..., 0] > 1)
        result = np.where(fixed[..., None], result, np.nan)
    return result


def _hits(
    name: str,
    outer: tuple[str, tuple[Const, ...]] | None,
    expressions: list[Expr],
    tables: np.ndarray,
    few: np.ndarray,
    target: np.ndarray,
) -> list[Expr]:
    """The pairs that give the target, inside `outer`, on a few rows and then on all."""

    def wrapped(values: np.ndarray) -> np.ndarray:
        if outer is None:
            return values
        return OPERATORS[outer[0]].numpy(values, *(float(constant.value) for constant in outer[1]))

    pairs = np.argwhere((wrapped(few) == target[: few.shape[2]]).all(axis=2))[:_MOST_PAIRS]
    left, right = pairs[:, 0], pairs[:, 1]
    equal = (wrapped(_apply(name, tables[left], tables[right])) == target).all(axis=1)
    inner = [Op(name, (expressions[i], expressions[j])) for i, j in pairs[equal][:_MOST_HITS]]
    return [*inner] if outer is None else [Op(outer[0], (expr, *outer[1])) for expr in inner]


def _choices(expressions: list[Expr], tables: np.ndarray, target: np.ndarray) -> list[Expr]:
    """Choices by a test of the library between two of it: each is right where it is taken."""
    wrong = (tables != target).astype(float)
    tests = [i for i, expr in enumerate(expressions) if isinstance(expr, Var) or is_boolean(expr)]
    met = (tables[tests] != 0).astype(float)

    def simplest(fits: np.ndarray) -> Expr:
        fitting = (expressions[i] for i in np.flatnonzero(fits))
        return min(fitting, key=lambda expr: (cost(expr), not isinstance(expr, Const)))

    found: list[Expr] = []
    for number, (yes, no) in enumerate(zip(met @ wrong.T == 0, (1 - met) @ wrong.T == 0, strict=True)):
        if yes.any() and no.any():
            found.append(Op("where", (expressions[tests[number]], simplest(yes), simplest(no))))
    return found[:_MOST_HITS]


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
