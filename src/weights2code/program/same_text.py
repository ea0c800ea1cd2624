"""Whether two texts are the same program: their syntax trees, without docstrings, comments and layout."""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import Any

#: Where a node stands says nothing about what it does.
_PLACES = frozenset({"lineno", "col_offset", "end_lineno", "end_col_offset", "type_comment"})


def first_difference(text: str, other: str) -> int | None:
    """The line of `text` at which two programs begin to differ; None if they are the same.

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError
        If one of them is not Python.
    """
    waiting: list[tuple[Any, Any, int]] = [(ast.parse(text), ast.parse(other), 1)]
    while waiting:  # a stack and not a recursion: sums of many terms are deep
        one, two, line = waiting.pop()
        line = getattr(one, "lineno", line)
        if type(one) is not type(two):
            return line
        if isinstance(one, ast.AST):
            names = [name for name in one._fields if name not in _PLACES]
            parts = [(_part(one, name), _part(two, name), line) for name in names]
        elif isinstance(one, list):
            parts = [(a, b, line) for a, b in zip_longest(one, two)]
        elif repr(one) != repr(two):  # 0.0 and -0.0 are equal, and not the same
            return line
        else:
            continue
        waiting += reversed(parts)
    return None


def _part(node: ast.AST, name: str) -> Any:
    """A field of a node; a body without its docstring."""
    value: Any = getattr(node, name, None)
    if name != "body" or not isinstance(node, (ast.Module, ast.FunctionDef)) or not value:
        return value
    first = value[0].value if isinstance(value[0], ast.Expr) else None
    documented = isinstance(first, ast.Constant) and isinstance(first.value, str)
    return value[1:] if documented else value
