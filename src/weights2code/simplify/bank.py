"""Shortest equivalents on a finite domain, found by trying every small expression.

Where the check set is the whole domain, a formula is its table of values. All expressions of at most three
operators over the same variables and constants are laid out as tables, and whatever equals the target is a
candidate: `a + b - 2*a*b` on bits becomes `[a != b]`. So is a choice between two of them by a third. Only a
bank of small expressions is stored; the outermost operator is tried on all pairs at once, on few rows first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Op, Var, is_boolean
from weights2code.simplify.cost import cost
from weights2code.simplify.equality import CheckSet

MOST_VARIABLES = 4
MOST_STORED = 400
_PROBE_ROWS = 64
_FEW_ROWS = 10
_MOST_PAIRS = 5000
_MOST_HITS = 100

_BINARY = ("add", "sub", "mul", "max", "min", "eq", "ne", "ge", "gt", "and", "or", "mod")
_UNARY = ("abs", "relu")


def equivalents(expr: Expr, check: CheckSet) -> Iterator[Expr]:
    """Cheaper expressions that agree with `expr` on probe rows of a complete check set."""
    variables = expr.variables()
    if not check.complete or not 1 <= len(variables) <= MOST_VARIABLES or expr.size() <= 3:
        return
    values = check.values(expr)
    if not np.all(np.isfinite(values)):
        return
    rows = slice(_PROBE_ROWS)  # the points of a check set are in random order
    numbers = dict.fromkeys([0, 1, 2, *(node.value for node in expr.walk() if isinstance(node, Const))])
    constants = [Const(number) for number in numbers if abs(number) < 2**53]
    bank = _bank(constants, {v: check.columns[v][rows] for v in variables})
    expressions, tables, target = [e for e, _ in bank], np.array([t for _, t in bank]), values[rows]
    found = [e for e, table in bank if np.array_equal(table, target)]
    with np.errstate(all="ignore"):
        for name in _BINARY:
            found += _pairs(name, expressions, tables, target)
    found += _choices(expressions, tables, target)
    limit = cost(expr)
    yield from (candidate for candidate in found if cost(candidate) < limit)


def _bank(constants: list[Const], columns: dict[Var, np.ndarray]) -> list[tuple[Expr, np.ndarray]]:
    """Distinct tables of variables, constants, and one operator on them, cheapest expression each."""
    rows = len(next(iter(columns.values())))
    known: dict[bytes, tuple[Expr, np.ndarray]] = {}

    def put(candidate: Expr, table: np.ndarray | float) -> None:
        table = np.ascontiguousarray(np.broadcast_to(table, rows), dtype=float) + 0.0
        if np.all(np.isfinite(table)):
            known.setdefault(table.tobytes(), (candidate, table))

    for leaf in (*columns, *constants):
        put(leaf, float(leaf.value) if isinstance(leaf, Const) else columns[leaf])
    leaves = list(known.values())
    with np.errstate(all="ignore"):
        for name in _BINARY:
            for a, u in leaves:
                for b, v in leaves:
                    remainder = name != "mod" or (isinstance(b, Const) and b.value > 1)
                    if remainder and not (isinstance(a, Const) and isinstance(b, Const)):
                        put(Op(name, (a, b)), OPERATORS[name].numpy(u, v))
        for name in _UNARY:
            for a, u in list(known.values()):
                put(Op(name, (a,)), OPERATORS[name].numpy(u))
    return list(known.values())[:MOST_STORED]


def _apply(name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    result = OPERATORS[name].numpy(left, right)
    if name == "mod":  # a remainder by something that varies is nobody's simplest form
        fixed = (right == right[..., :1]).all(axis=-1) & (right[..., 0] > 1)
        result = np.where(fixed[..., None], result, np.nan)
    return result


def _pairs(name: str, expressions: list[Expr], tables: np.ndarray, target: np.ndarray) -> list[Expr]:
    """The pairs that give the target, on a few rows and then on all."""
    few = _apply(name, tables[:, None, :_FEW_ROWS], tables[None, :, :_FEW_ROWS])
    pairs = np.argwhere((few == target[:_FEW_ROWS]).all(axis=2))[:_MOST_PAIRS]
    equal = (_apply(name, tables[pairs[:, 0]], tables[pairs[:, 1]]) == target).all(axis=1)
    return [Op(name, (expressions[i], expressions[j])) for i, j in pairs[equal][:_MOST_HITS]]


def _choices(expressions: list[Expr], tables: np.ndarray, target: np.ndarray) -> list[Expr]:
    """Choices by a test of the bank between two of it: each is right where it is taken."""
    wrong = (tables != target).astype(float)
    tests = [i for i, expr in enumerate(expressions) if isinstance(expr, Var) or is_boolean(expr)]
    met = (tables[tests] != 0).astype(float)

    def simplest(fits: np.ndarray) -> Expr:
        fitting = (expressions[i] for i in np.flatnonzero(fits))
        return min(fitting, key=lambda expr: (cost(expr), not isinstance(expr, Const)))

    branches = zip(tests, met @ wrong.T == 0, (1 - met) @ wrong.T == 0, strict=True)
    fitting = [(expressions[test], yes, no) for test, yes, no in branches if yes.any() and no.any()]
    return [Op("where", (test, simplest(yes), simplest(no))) for test, yes, no in fitting[:_MOST_HITS]]
