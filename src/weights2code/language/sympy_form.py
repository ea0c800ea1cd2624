"""Expressions as SymPy: for simplification, identities and users who go on in computer algebra.

Comparisons are numbers in our language and truth values in SymPy, so `[a >= b]` becomes
`Piecewise((1, a >= b), (0, True))`, and comes back as a comparison. Decimals become rationals: a snapped
0.3 means three tenths, and an identity that holds only for its binary neighbour would be of no use.
SymPy is imported when the first conversion is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

from weights2code.language.evaluation import exact_number, plain_number
from weights2code.language.expression import Const, Expr, Op, Var
from weights2code.language.operators import OPERATORS, op
from weights2code.language.text import positive_part


def symbol_name(variable: Var) -> str:
    """`x_t` for the present, `x_{t-1}` for one step back: it reads well in SymPy and in LaTeX."""
    return f"{variable.name}_{{t-{variable.lag}}}" if variable.lag else f"{variable.name}_t"


def symbol(variable: Var, **assumptions: bool) -> Any:
    """The SymPy symbol of a variable, real unless other assumptions are given."""
    import sympy

    return sympy.Symbol(symbol_name(variable), **(assumptions or {"real": True}))


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
        if OPERATORS[node.name].boolean:
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
        if isinstance(node, Op) and OPERATORS[node.name].boolean:
            return applied(node)
        return sympy.Ne(number(node), 0)

    return number(expr)


def from_sympy(expression: Any, symbols: Mapping[Any, Var]) -> Expr:
    """Back from SymPy; `symbols` maps each symbol to its variable.

    Raises
    ------
    ValueError
        If the expression holds something that our language cannot say.
    """
    import sympy

    ours = {
        getattr(sympy, entry.sympy): entry for entry in OPERATORS.values() if isinstance(entry.sympy, str)
    }

    def back(node: Any) -> Expr:
        if node.is_Symbol:
            return symbols[node]
        if node.is_Rational:
            return Const(plain_number(Fraction(int(node.p), int(node.q))))
        if node.is_Number or node.is_NumberSymbol:
            return Const(float(node))
        if node.is_Add:
            return _sum([back(argument) for argument in _ordered(node)])
        if node.is_Mul:
            return _product(node, back)
        if node.is_Pow:
            return _power(back(node.base), node.exp, back)
        if node in (sympy.true, sympy.false):
            return Const(int(node == sympy.true))
        if isinstance(node, sympy.Piecewise):
            return _piecewise(node, back)
        entry = ours.get(node.func)
        if entry is not None:
            arguments = _ordered(node) if entry.associative else node.args
            return _fold(entry.name, [back(argument) for argument in arguments])
        raise ValueError(f"the expression language has no word for {node.func.__name__}: {node}")

    return back(sympy.sympify(expression))


def _ordered(node: Any) -> list[Any]:
    return list(node.as_ordered_terms()) if node.is_Add else sorted(node.args, key=lambda a: a.sort_key())


def _fold(name: str, arguments: list[Expr]) -> Expr:
    """One operator on all arguments, from the left where it takes fewer."""
    if OPERATORS[name].associative:
        return reduce(lambda left, right: op(name, left, right), arguments)
    return op(name, *arguments)


def _sum(terms: list[Expr]) -> Expr:
    positive = [term for term in terms if positive_part(term) is None]
    negative = [inner for term in terms if (inner := positive_part(term)) is not None]
    if not positive:
        first, *negative = negative
        result: Expr = Op("neg", (first,))
    else:
        result = _fold("add", positive)
    for inner in negative:
        result = Op("sub", (result, inner))
    return result


def _product(node: Any, back: Callable[[Any], Expr]) -> Expr:
    coefficient, rest = node.as_coeff_Mul()
    above, below = rest.as_numer_denom()
    factors = [back(f) for f in (above.as_ordered_factors() if above.is_Mul else [above]) if f != 1]
    value = Fraction(int(coefficient.p), int(coefficient.q)) if coefficient.is_Rational else None
    if value is None:
        factors.insert(0, Const(float(coefficient)))
    elif value == -1 and factors:
        return Op("neg", (_over(_fold("mul", factors), below, back),))
    elif value != 1 or not factors:
        factors.insert(0, Const(plain_number(value)))
    return _over(_fold("mul", factors), below, back)


def _over(above: Expr, below: Any, back: Callable[[Any], Expr]) -> Expr:
    return above if below == 1 else op("div", above, back(below))


def _power(base: Expr, exponent: Any, back: Callable[[Any], Expr]) -> Expr:
    import sympy

    if exponent == sympy.Rational(1, 2):
        return op("sqrt", base)
    if exponent == 2:
        return op("mul", base, base)
    if exponent.is_negative:
        return op("div", 1, base if exponent == -1 else _power(base, -exponent, back))
    return op("pow", base, back(exponent))


def _piecewise(node: Any, back: Callable[[Any], Expr]) -> Expr:
    import sympy

    pairs = list(node.args)
    if pairs[-1].cond != sympy.true:
        raise ValueError(f"the cases do not cover everything: {node}")
    if len(pairs) == 2 and pairs[1].expr == 0 and pairs[0].expr == 1:
        return back(pairs[0].cond)
    result = back(pairs[-1].expr)
    for pair in reversed(pairs[:-1]):
        result = op("where", back(pair.cond), back(pair.expr), result)
    return result
