"""Formulas as people write them, read: the text that a recurrence prints is the text that makes it.

`y[t] = (x[t] + y[t-1]) % 5`, a line a step. Python's grammar and the operators of the language, nothing
executed: `[c]` is 1 where `c` holds and 0 elsewhere, `a if c else b` chooses, `a // b` is the floor of a
quotient.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from weights2code.language.expression import Const, Expr, Var
from weights2code.language.operators import OPERATORS, is_boolean, op, order_name
from weights2code.language.recurrence import Definition, Recurrence, Start, Step

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Mod: "mod"}
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.GtE: "ge", ast.Gt: "gt", ast.LtE: "le", ast.Lt: "lt"}
#: Operators that a formula has signs for.
_SIGNS = frozenset((*_BINARY.values(), *_COMPARE.values(), "neg", "and", "or", "not", "where"))


def read_formula(text: str) -> Expr:
    """The expression that a text such as `x[t] + y[t-1]` says.

    Raises
    ------
    ValueError
        If the text holds anything but numbers, variables at t or before, and known operators.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _read(tree)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{text.strip()[:80]!r} is not a formula") from None


def read_recurrence(
    inputs: Sequence[str],
    formulas: str | Mapping[str, str | Definition],
    outputs: Sequence[str] | None = None,
    start: Mapping[str, Start] | None = None,
) -> Recurrence:
    """A recurrence of formulas: lines `name[t] = formula`, or each by its name, as text or as an expression.

    All steps are outputs unless `outputs` names some of them. What lies before the start is 0 unless `start`
    says otherwise.
    """
    if isinstance(formulas, str):
        formulas = dict(_named(line) for line in formulas.splitlines() if line.strip())
    steps = tuple(
        Step(name, read_formula(definition) if isinstance(definition, str) else definition)
        for name, definition in formulas.items()
    )
    named = tuple(step.name for step in steps) if outputs is None else tuple(outputs)
    return Recurrence(tuple(inputs), steps, named, dict(start or {}))


def _named(line: str) -> tuple[str, str]:
    name, equals, text = line.partition("=")
    name = name.strip().removesuffix("[t]")
    if not equals or text.startswith("=") or not name.isidentifier():
        raise ValueError(f"{line.strip()[:80]!r} is not a line `name[t] = formula`")
    return name, text


def read_arithmetic(
    node: ast.AST, number: Callable[[ast.expr], Expr], truth: Callable[[ast.expr], Expr]
) -> Expr | None:
    """What numbers, signs and choices mean to every reader, whose own way it is to read the parts of them as
    numbers and as conditions; None for anything else."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Const(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return Const(-inner.value) if isinstance(inner, Const) else op("neg", inner)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return op("floor", op("div", number(node.left), number(node.right)))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return op(_BINARY[type(node.op)], number(node.left), number(node.right))
    if isinstance(node, ast.IfExp):
        return op("where", truth(node.test), number(node.body), number(node.orelse))
    return None


def read_logic(
    node: ast.AST, number: Callable[[ast.expr], Expr], truth: Callable[[ast.expr], Expr]
) -> Expr | None:
    """The same of comparisons, `and` and `or`."""
    if isinstance(node, ast.Compare) and all(type(sign) in _COMPARE for sign in node.ops):
        sides = [number(side) for side in (node.left, *node.comparators)]
        signs = [_COMPARE[type(sign)] for sign in node.ops]
        return joined("and", list(map(op, signs, sides, sides[1:])))
    if isinstance(node, ast.BoolOp):
        return joined("and" if isinstance(node.op, ast.And) else "or", [truth(v) for v in node.values])
    return None


def joined(name: str, parts: Sequence[Expr]) -> Expr:
    """An operator of two applied to several, from the left."""
    return reduce(lambda one, other: op(name, one, other), parts)


def _read(node: ast.AST) -> Expr:
    found = read_arithmetic(node, _read, _read) or read_logic(node, _read, _read)
    if found is not None:
        return found
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return Const(int(node.value))
    if isinstance(node, ast.Name) and node.id == "inf":
        return Const(float("inf"))
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return Var(node.value.id, _lag(node.slice))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.UAdd):
        inner = _read(node.operand)
        return op("not", inner) if isinstance(node.op, ast.Not) else inner
    if isinstance(node, ast.List) and len(node.elts) == 1:
        inner = _read(node.elts[0])
        return inner if is_boolean(inner) else op("ne", inner, 0)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, [_read(argument) for argument in node.args])
    if isinstance(node, ast.Name):
        raise ValueError(f"{node.id} is read at no time; write {node.id}[t] or {node.id}[t-1]")
    raise ValueError(f"{ast.unparse(node)[:80]!r} is not part of a formula")  # type: ignore[arg-type]


def _lag(node: ast.AST) -> int:
    """How far back `t`, `t-1`, ... are."""
    found = re.fullmatch(r"t(?: - (\d+))?", ast.unparse(node))  # type: ignore[arg-type]
    if found is None:
        raise ValueError(f"[{ast.unparse(node)[:40]}] is no time; write [t], [t-1], [t-2]")  # type: ignore[arg-type]
    return int(found[1] or 0)


def _call(name: str, arguments: list[Expr]) -> Expr:
    name = _order(name, len(arguments))
    if name not in OPERATORS or name in _SIGNS:
        raise ValueError(f"formulas have no function {name}")
    if OPERATORS[name].associative and len(arguments) > 2:
        return joined(name, arguments)
    return op(name, *arguments)


def _order(name: str, count: int) -> str:
    """The order statistic that a median, `smallest_2` or `largest_2` of so many values is."""
    if name == "median" and count % 2:
        return order_name(count // 2 + 1, count)
    found = re.fullmatch(r"(smallest|largest)_(\d+)", name)
    if found is None:
        return name
    place = int(found[2]) if found[1] == "smallest" else count + 1 - int(found[2])
    return order_name(place, count)
