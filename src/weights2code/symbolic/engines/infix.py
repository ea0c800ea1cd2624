"""What other engines are asked with and what they answer: formulas, read from their text and judged by us.

The text is read by Python's grammar with our operators, nothing executed; variables are called v0, v1, ...
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import partial

from weights2code.errors import InputError
from weights2code.language import OPERATORS, Domain, Expr, Var, op
from weights2code.language.formula_reading import joined, read_arithmetic, read_logic
from weights2code.symbolic.engine import Candidate
from weights2code.symbolic.operator_names import ALIASES
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import snap

#: Operators that mean little on reals.
_OF_WHOLE = ("mod", "floor", "and")


def suiting(names: Iterable[str], domains: tuple[Domain, ...], operators: frozenset[str] | None) -> list[str]:
    """Those of some operators of the language that the user allows, or else that suit the domains."""
    discrete = all(domain.discrete for domain in domains)

    def suits(name: str) -> bool:
        if operators is not None:
            return name in operators
        return name != "pow" and not (OPERATORS[name].irrational if discrete else name in _OF_WHOLE)

    return [name for name in names if suits(name)]


def judged(problem: Problem, texts: Iterable[str], tolerance: float) -> tuple[Candidate, ...]:
    """The front of formulas as they are written, and with their constants snapped."""
    collector = Collector(problem)
    names = {f"v{j}": variable for j, variable in enumerate(problem.variables)}
    values = dict(zip(problem.variables, problem.Xs.T, strict=True))
    for text in texts:
        try:
            expr = parse_infix(text, names)
        except ValueError as cause:
            raise InputError(f"an engine answered with an equation that cannot be read: {cause}.") from cause
        collector.offer(expr)
        collector.offer(snap(expr, values, problem.ys, tolerance, noise=problem.noise))
    return collector.front()


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
    part = partial(_read, names=names)
    found = read_arithmetic(node, part, part) or read_logic(node, part, part)
    if found is not None:
        return found
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        return part(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, [part(argument) for argument in node.args])
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
    ours = ALIASES.get(name, (name,))[0]
    if ours not in OPERATORS:
        raise ValueError(f"the expression language has no word for {name}")
    if OPERATORS[ours].associative and len(arguments) > 2:
        return joined(ours, arguments)
    return op(ours, *arguments)
