"""Expressions as SymPy: for identities, and for users who go on in computer algebra.

Comparisons are numbers in our language and truth values in SymPy, so `[a >= b]` becomes
`Piecewise((1, a >= b), (0, True))`. Decimals become rationals: a snapped
0.3 means three tenths, and an identity that holds only for its binary neighbour would be of no use.
SymPy is imported when the first conversion is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weights2code.language.evaluation import exact_number
from weights2code.language.expression import Const, Expr, Op, Var
from weights2code.language.operators import OPERATORS, is_boolean


def symbol(variable: Var) -> Any:
    """The SymPy symbol of a variable, which is real: `x_t` for the present, `x_{t-1}` for one step back."""
    import sympy

    time = f"{{t-{variable.lag}}}" if variable.lag else "t"
    return sympy.Symbol(f"{variable.name}_{time}", real=True)


def to_sympy(expr: Expr, symbols: Mapping[Var, Any] | None = None) -> Any:
    """The SymPy form; `symbols` gives the symbol of a variable where `symbol` would not do.

    Examples
    --------
    >>> from weights2code.language import Var
    >>> to_sympy(abs(Var("x") - Var("x", 1)))
    Abs(x_t - x_{t-1})
    """
    import sympy

    def number(node: Expr) -> Any:
        if isinstance(node, Const):
            value = exact_number(node.value)
            return sympy.Float(value) if isinstance(value, float) else sympy.Rational(value)
        if isinstance(node, Var):
            return symbols[node] if symbols and node in symbols else symbol(node)
        assert isinstance(node, Op)
        if is_boolean(node):
            return sympy.Piecewise((1, applied(node)), (0, True))
        return applied(node)

    def applied(node: Op) -> Any:
        entry = OPERATORS[node.name]
        conditions = [truth(argument) for argument in node.args[: entry.truths]]
        values = [number(argument) for argument in node.args[entry.truths :]]
        if isinstance(entry.sympy, str):
            return getattr(sympy, entry.sympy)(*conditions, *values)
        return entry.sympy(sympy, *conditions, *values)

    def truth(node: Expr) -> Any:
        if is_boolean(node):
            return applied(node)
        return sympy.Ne(number(node), 0)

    return number(expr)
