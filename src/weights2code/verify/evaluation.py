"""Formulas on arrays, together with where they are defined.

NumPy answers a division by zero with infinity and goes on, the program's text stops with an error. A proof
must not pass over the difference, so each value comes with a mask of the rows on which every division,
logarithm and root that matters had an answer; branches that `where` does not take do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Var, expression_of

#: True, or a mask of the rows on which the value is defined.
Defined = Any


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
        condition = OPERATORS[node.name].defined
        if condition is not None:
            fine = np.asarray(visit(condition(*node.args))[0]) != 0
            defined = _both(defined, True if fine.all() else fine)
        return result, defined

    return visit(expr)


def is_defined(machine: Recurrence, x: np.ndarray) -> bool:
    """Whether every step has an answer everywhere along the given inputs, shape (n, T, columns)."""
    with np.errstate(all="ignore"):
        trace = machine.trace(x)
        for t in range(x.shape[1]):
            for step in machine.steps:
                expr = expression_of(step.definition)
                known = {v: machine.read(trace, v, t) for v in expr.variables()}
                if not np.all(evaluate_defined(expr, known)[1]):
                    return False
    return True


def _both(a: Defined, b: Defined) -> Defined:
    if a is True:
        return b
    return a if b is True else np.logical_and(a, b)
