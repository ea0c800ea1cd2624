"""Expressions as SymPy: for simplification, identities and users who go on in computer algebra.

Comparisons are numbers in our language and truth values in SymPy, so `[a >= b]` becomes
`Piecewise((1, a >= b), (0, True))`, and comes back as a comparison. Decimals become rationals: a snapped
0.3 means three tenths, and an identity that holds only for its binary neighbour would be of no use.
SymPy is imported when the first conversion is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from weights2code.language.expression import Const, Expr, Op, Var, op


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

    table: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "pow": lambda a, b: a**b,
        "abs": sympy.Abs,
        "relu": lambda a: sympy.Max(a, 0),
        "max": sympy.Max,
        "min": sympy.Min,
        "clip": lambda a, low, high: sympy.Min(sympy.Max(a, low), high),
        "mod": sympy.Mod,
        "floor": sympy.floor,
        "sqrt": sympy.sqrt,
        "exp": sympy.exp,
        "log": sympy.log,
        "sin": sympy.sin,
        "cos": sympy.cos,
    }

    def number(node: Expr) -> Any:
        if isinstance(node, Const):
            value = node.value
            if isinstance(value, Fraction):
                return sympy.Rational(value.numerator, value.denominator)
            if isinstance(value, int):
                return sympy.Integer(value)
            return sympy.Rational(repr(value)) if abs(value) < float("inf") else sympy.Float(value)
        if isinstance(node, Var):
            return symbols[node] if symbols and node in symbols else symbol(node)
        assert isinstance(node, Op)
        if node.name == "where":
            yes, no = number(node.args[1]), number(node.args[2])
            return sympy.Piecewise((yes, truth(node.args[0])), (no, True))
        if node.name in table:
            return table[node.name](*(number(argument) for argument in node.args))
        return sympy.Piecewise((1, truth(node)), (0, True))

    def truth(node: Expr) -> Any:
        if isinstance(node, Op):
            if node.name in _RELATIONS:
                left, right = (number(argument) for argument in node.args)
                return getattr(sympy, _RELATIONS[node.name])(left, right)
            if node.name in ("and", "or", "not"):
                join = {"and": sympy.And, "or": sympy.Or, "not": sympy.Not}[node.name]
                return join(*(truth(argument) for argument in node.args))
        return sympy.Ne(number(node), 0)

    return number(expr)


_RELATIONS = {"eq": "Eq", "ne": "Ne", "ge": "Ge", "gt": "Gt", "le": "Le", "lt": "Lt"}


def from_sympy(expression: Any, symbols: Mapping[Any, Var]) -> Expr:
    """Back from SymPy; `symbols` maps each symbol to its variable.

    Raises
    ------
    ValueError
        If the expression holds something that our language cannot say.
    """
    import sympy

    relations = {getattr(sympy, name): ours for ours, name in _RELATIONS.items()}
    unary = {
        sympy.Abs: "abs",
        sympy.floor: "floor",
        sympy.exp: "exp",
        sympy.log: "log",
        sympy.sin: "sin",
        sympy.cos: "cos",
    }

    def back(node: Any) -> Expr:
        if node.is_Symbol:
            return symbols[node]
        if node.is_Rational:
            return Const(_plain(Fraction(int(node.p), int(node.q))))
        if node.is_Number or node.is_NumberSymbol:
            return Const(float(node))
        if node.is_Add:
            return _sum([back(argument) for argument in _ordered(node)])
        if node.is_Mul:
            return _product(node, back)
        if node.is_Pow:
            return _power(back(node.base), node.exp, back)
        if isinstance(node, (sympy.Max, sympy.Min)):
            name = "max" if isinstance(node, sympy.Max) else "min"
            return _fold(name, [back(argument) for argument in _ordered(node)])
        if isinstance(node, sympy.Mod):
            return op("mod", back(node.args[0]), back(node.args[1]))
        if isinstance(node, (sympy.And, sympy.Or)):
            name = "and" if isinstance(node, sympy.And) else "or"
            return _fold(name, [back(argument) for argument in _ordered(node)])
        if isinstance(node, sympy.Not):
            return op("not", back(node.args[0]))
        if node in (sympy.true, sympy.false):
            return Const(int(node == sympy.true))
        if isinstance(node, sympy.Piecewise):
            return _piecewise(node, back)
        if node.func in relations:
            return op(relations[node.func], back(node.args[0]), back(node.args[1]))
        if node.func in unary:
            return op(unary[node.func], back(node.args[0]))
        raise ValueError(f"the expression language has no word for {node.func.__name__}: {node}")

    return back(sympy.sympify(expression))


def _ordered(node: Any) -> list[Any]:
    return list(node.as_ordered_terms()) if node.is_Add else sorted(node.args, key=lambda a: a.sort_key())


def _plain(value: Fraction) -> int | float | Fraction:
    """Terminating decimals as decimals, other rationals exactly."""
    if value.denominator == 1:
        return int(value)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return float(value) if rest == 1 else value


def _fold(name: str, arguments: list[Expr]) -> Expr:
    result = arguments[0]
    for argument in arguments[1:]:
        result = op(name, result, argument)
    return result


def _negated(term: Expr) -> Expr | None:
    """The term without its sign, if it carries one."""
    if isinstance(term, Const) and term.value < 0:
        return Const(-term.value)
    if isinstance(term, Op) and term.name == "neg":
        return term.args[0]
    if isinstance(term, Op) and term.name in ("mul", "div"):
        first = _negated(term.args[0])
        if first is not None:
            if term.name == "mul" and first == Const(1):
                return term.args[1]
            return Op(term.name, (first, term.args[1]))
    return None


def _sum(terms: list[Expr]) -> Expr:
    positive = [term for term in terms if _negated(term) is None]
    negative = [inner for term in terms if (inner := _negated(term)) is not None]
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
        factors.insert(0, Const(_plain(value)))
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
