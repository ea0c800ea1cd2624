"""Whether two texts are the same program: their syntax trees, without docstrings, comments and layout."""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import Any


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
        if isinstance(one, ast.AST) and type(one) is type(two):
            waiting += reversed([(_part(one, name), _part(two, name), line) for name in one._fields])
        elif isinstance(one, list) and isinstance(two, list):
            waiting += reversed([(a, b, line) for a, b in zip_longest(one, two)])
        elif type(one) is not type(two) or repr(one) != repr(two):  # 0.0 equals -0.0, and is another
            return line
    return None


def _part(node: ast.AST, name: str) -> Any:
    """A field of a node; a body without its docstring."""
    value: Any = getattr(node, name, None)
    if name == "body" and isinstance(node, (ast.Module, ast.FunctionDef)):
        return value[ast.get_docstring(node, clean=False) is not None :]
    return value
