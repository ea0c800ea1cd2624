"""Formulas of other engines, read from their text: Python's grammar, our operators, nothing executed."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from weights2code.language import OPERATORS, Const, Expr, Var, op
from weights2code.symbolic.operator_names import ALIASES

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Mod: "mod"}
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.GtE: "ge", ast.Gt: "gt", ast.LtE: "le", ast.Lt: "lt"}
#: Names beside those that users may choose operators by.
_CALLS = {"Abs": "abs", "fabs": "abs", "Max": "max", "Min": "min", "fmax": "max", "fmin": "min", "Mod": "mod"}


def parse_infix(text: str, names: Mapping[str, Var]) -> Expr:
    """The expression written in `text`; `names` maps each identifier to its variable.

    Raises
    ------
    ValueError
        If the text holds anything but numbers, known names and known operators.
    """
    try:
        tree = ast.parse(text.replace("^", "**").strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as problem:
        raise ValueError(f"not a formula: {text!r}") from problem
    return _read(tree, names)


def _read(node: ast.AST, names: Mapping[str, Var]) -> Expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return Const(node.value)
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _read(node.operand, names)
        if isinstance(node.op, ast.UAdd):
            return inner
        return Const(-inner.value) if isinstance(inner, Const) else op("neg", inner)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return op(_BINARY[type(node.op)], _read(node.left, names), _read(node.right, names))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        return op(_COMPARE[type(node.ops[0])], _read(node.left, names), _read(node.comparators[0], names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, [_read(argument, names) for argument in node.args])
    raise ValueError(f"not part of a formula: {ast.dump(node)[:80]}")


def _call(name: str, arguments: list[Expr]) -> Expr:
    if name in ("square", "cube") and len(arguments) == 1:
        squared = op("mul", arguments[0], arguments[0])
        return squared if name == "square" else op("mul", squared, arguments[0])
    if name == "inv" and len(arguments) == 1:
        return op("div", 1, arguments[0])
    if name == "aq" and len(arguments) == 2:
        # Operon's analytic quotient
        return op("div", arguments[0], op("sqrt", op("add", 1, op("mul", arguments[1], arguments[1]))))
    if name == "cond" and len(arguments) == 2:
        # PySR's cond(x, y) is y where x > 0, else 0
        return op("mul", op("gt", arguments[0], 0), arguments[1])
    ours = _CALLS.get(name) or ALIASES.get(name, (name,))[0]
    if ours not in OPERATORS:
        raise ValueError(f"the expression language has no word for {name}")
    if OPERATORS[ours].associative and len(arguments) > 2:
        return op(ours, arguments[0], _call(name, arguments[1:]))
    return op(ours, *arguments)
