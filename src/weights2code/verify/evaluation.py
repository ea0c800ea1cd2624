"""Formulas on arrays, together with where they are defined.

NumPy answers a division by zero with infinity and goes on, the program's text stops with an error. A proof
must not pass over the difference, so each value comes with a mask of the rows on which every division,
logarithm and root that matters had an answer; branches that `where` does not take do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Retrieval, Var

#: True, or a mask of the rows on which the value is defined.
Defined = Any

_PARTIAL = {"div", "mod", "pow", "sqrt", "log"}


def evaluate_defined(expr: Expr, values: Mapping[Var, Any]) -> tuple[Any, Defined]:
    """The value under NumPy semantics, and where it is defined."""
    cache: dict[Expr, tuple[Any, Defined]] = {}

    def visit(node: Expr) -> tuple[Any, Defined]:
        if isinstance(node, Const):
            return float(node.value), True
        if isinstance(node, Var):
            return values[node], True
        if node not in cache:
            assert isinstance(node, Op)
            cache[node] = apply(node)
        return cache[node]

    def apply(node: Op) -> tuple[Any, Defined]:
        parts = [visit(argument) for argument in node.args]
        arguments = [value for value, _ in parts]
        result = OPERATORS[node.name].numpy(*arguments)
        if node.name == "where":
            (condition, known), (_, yes), (_, no) = parts
            chosen = True if yes is True and no is True else np.where(np.asarray(condition) != 0, yes, no)
            return result, _both(known, chosen)
        defined: Defined = True
        for _, part in parts:
            defined = _both(defined, part)
        if node.name in _PARTIAL:
            defined = _both(defined, _has_answer(node.name, arguments))
        return result, defined

    return visit(expr)


def is_defined(machine: Recurrence, x: np.ndarray) -> bool:
    """Whether every step has an answer everywhere along the given inputs, shape (n, T, columns)."""
    with np.errstate(all="ignore"):
        trace = machine.trace(x)
        for t in range(x.shape[1]):
            for step in machine.steps:
                expr = step.definition.query if isinstance(step.definition, Retrieval) else step.definition
                known = {v: _read(machine, trace, v, t) for v in expr.variables()}
                if not np.all(evaluate_defined(expr, known)[1]):
                    return False
    return True


def _read(machine: Recurrence, trace: Mapping[str, np.ndarray], variable: Var, t: int) -> Any:
    if t >= variable.lag:
        return trace[variable.name][:, t - variable.lag]
    start = machine.start_of(variable.name)
    return trace[variable.name][:, 0] if start == "first" else start


def _both(a: Defined, b: Defined) -> Defined:
    if a is True:
        return b
    return a if b is True else np.logical_and(a, b)


def _has_answer(name: str, arguments: list[Any]) -> Defined:
    first, last = np.asarray(arguments[0]), np.asarray(arguments[-1])
    if name in ("div", "mod"):
        fine = last != 0
    elif name == "pow":
        fine = (first > 0) | ((first == 0) & (last >= 0)) | (last == np.floor(last)) & (first != 0)
    else:
        fine = first >= 0 if name == "sqrt" else first > 0
    return True if fine.all() else fine
