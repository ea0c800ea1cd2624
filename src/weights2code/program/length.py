"""Program length: total lines, as in the paper's tables, and the lines that do the work."""

from __future__ import annotations

import ast


def total_lines(text: str) -> int:
    """Every line of the text, as the paper's tables count."""
    return len(text.splitlines())


def body_lines(text: str) -> int:
    """Lines of code inside the functions of a program, without docstrings, comments and blank lines."""
    lines: set[int] = set()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            documented = ast.get_docstring(function, clean=False) is not None
            body = function.body[1:] if documented else function.body
            for statement in body:
                lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    source = text.splitlines()
    return sum(
        1 for line in lines if source[line - 1].strip() and not source[line - 1].strip().startswith("#")
    )
