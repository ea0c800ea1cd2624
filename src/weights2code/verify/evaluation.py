"""Formulas on arrays, together with where they are defined.

NumPy answers a division by zero with infinity and goes on, and so does the program's text where it divides
elements of arrays; where it divides plain numbers it stops with an error. A proof must not pass over the
difference, so each value comes with a mask of the rows on which every division, logarithm and root that
matters had an answer. Branches that `where` does not take do not matter, nor what follows an `and` or `or`
that is settled by its first part, nor values that no output comes to depend on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weights2code.language import OPERATORS, Const, Count, Expr, Op, Recurrence, Retrieval, Var, expression_of

#: True, or a mask of the rows on which the value is defined.
Defined = Any


class Largest:
    """The largest absolute value that was met, of those that are defined and finite."""

    def __init__(self) -> None:
        self.value = 0.0

    def meet(self, values: Any, defined: Defined) -> None:
        size = np.abs(np.asarray(values, dtype=float))
        counts = np.isfinite(size) if defined is True else np.isfinite(size) & defined
        self.value = max(self.value, float(np.max(size, where=counts, initial=0.0)))


def evaluate_defined(
    expr: Expr,
    values: Mapping[Var, Any],
    known: Mapping[Var, Defined] | None = None,
    largest: Largest | None = None,
) -> tuple[Any, Defined]:
    """The value under NumPy semantics, and where it is defined; `known` says where variables are.

    With `largest` every value on the way is noted there.
    """
    cache: dict[Expr, tuple[Any, Defined]] = {}

    def visit(node: Expr) -> tuple[Any, Defined]:
        if isinstance(node, Const):
            return float(node.value), True
        if isinstance(node, Var):
            return values[node], True if known is None else known.get(node, True)
        if node not in cache:
            assert isinstance(node, Op)
            cache[node] = apply(node)
            if largest is not None:
                largest.meet(*cache[node])
        return cache[node]

    def apply(node: Op) -> tuple[Any, Defined]:
        parts = [visit(argument) for argument in node.args]
        result = OPERATORS[node.name].numpy(*(value for value, _ in parts))
        if node.name == "where":
            (condition, first), (_, yes), (_, no) = parts
            chosen = True if yes is True and no is True else np.where(np.asarray(condition) != 0, yes, no)
            return result, _both(first, chosen)
        if node.name in ("and", "or"):
            (left, first), (_, second) = parts
            settled = (np.asarray(left) != 0) == (node.name == "or")
            return result, _both(first, True if second is True else np.logical_or(settled, second))
        defined: Defined = True
        for _, part in parts:
            defined = _both(defined, part)
        condition = OPERATORS[node.name].defined
        if condition is not None:
            fine = np.asarray(visit(condition(*node.args))[0]) != 0
            defined = _both(defined, True if fine.all() else fine)
        return result, defined

    return visit(expr)


def stopping_steps(machine: Recurrence) -> frozenset[str]:
    """The steps at which the text stops with an error if they have no value: they divide plain numbers."""
    plain: set[str] = set()
    found: set[str] = set()
    for step in machine.steps:
        expr = expression_of(step.definition)
        formula = not isinstance(step.definition, Retrieval) and _is_plain(expr, plain)
        if formula or isinstance(step.definition, Count):
            plain.add(step.name)
        if any(_stops(node, plain) for node in expr.walk()):
            found.add(step.name)
    return frozenset(found)


def _stops(node: Expr, plain: set[str]) -> bool:
    if not isinstance(node, Op) or OPERATORS[node.name].defined is None:
        return False
    return all(_is_plain(argument, plain) for argument in node.args)


def _is_plain(expr: Expr, plain: set[str]) -> bool:
    """Whether the text may compute the value as a number of Python's own, not as an element of an array."""
    if isinstance(expr, Const):
        return True
    if isinstance(expr, Var):
        return expr.lag == 0 and expr.name in plain
    assert isinstance(expr, Op)
    if OPERATORS[expr.name].boolean:
        return True
    arguments = expr.args[OPERATORS[expr.name].truths :]
    some = expr.name == "where" or "digits" in OPERATORS[expr.name].keeps
    return (any if some else all)(_is_plain(argument, plain) for argument in arguments)


def is_defined(machine: Recurrence, x: np.ndarray) -> bool:
    """Whether the text gets through the given inputs, shape (n, T, columns), and every output has a value."""
    needed = stopping_steps(machine) | set(machine.outputs)
    known: dict[str, list[Defined]] = {step.name: [] for step in machine.steps}
    with np.errstate(all="ignore"):
        trace = machine.trace(x)
        for t in range(x.shape[1]):
            for step in machine.steps:
                expr = expression_of(step.definition)
                variables = expr.variables()
                read = {v: machine.read(trace, v, t) for v in variables}
                masks = {v: known[v.name][t - v.lag] for v in variables if v.name in known and t >= v.lag}
                known[step.name].append(evaluate_defined(expr, read, masks)[1])
                if step.name in needed and not np.all(known[step.name][t]):
                    return False
    return True


def _both(a: Defined, b: Defined) -> Defined:
    if a is True:
        return b
    return a if b is True else np.logical_and(a, b)
