"""`program.tex`: the recurrence as mathematics.

The snippet can be compiled alone (class `standalone`) and, with the `standalone` package, be `\\input`
into a paper. Comparisons are Iverson brackets, `where` is a case distinction, and history is subscripts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from weights2code.language import OPERATORS, Const, Domain, Expr, Number, Op, Recurrence, Retrieval, Var
from weights2code.language.text import positive_part

_SUM, _PRODUCT, _ATOM = 1, 2, 3
_COMPARISONS = {"eq": "=", "ne": r"\ne", "ge": r"\ge", "gt": ">", "le": r"\le", "lt": "<"}
_CONNECTIVES = {"and": r"\land", "or": r"\lor"}
_FUNCTIONS = {"max": r"\max", "min": r"\min", "exp": r"\exp", "log": r"\log", "sin": r"\sin", "cos": r"\cos"}
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def latex(expr: Expr) -> str:
    """An expression as LaTeX mathematics."""
    return _value(expr)[0]


def latex_lines(recurrence: Recurrence) -> list[str]:
    """One equation a step, with `&` before the equals sign, then the start values that are not zero."""
    lines = []
    for step in recurrence.steps:
        definition = step.definition
        right = _retrieval(definition) if isinstance(definition, Retrieval) else latex(definition)
        lines.append(f"{_variable(Var(step.name))} &= {right}")
    for name in recurrence.depths():
        start = recurrence.start_of(name)
        if start != 0:
            value = f"{_name(name)}_{{0}}" if start == "first" else _number(start)[0]
            lines.append(f"{_name(name)}_{{s}} &= {value} \\quad (s < 0)")
    return lines


def latex_source(
    recurrence: Recurrence, domains: Sequence[Domain], name: str, *, verdict: str = "not verified"
) -> str:
    """The text of `program.tex`."""
    inputs = ", ".join(
        f"${_name(column)}$: {escape(str(domain))}"
        for column, domain in zip(recurrence.inputs, domains, strict=True)
    )
    # a comment ends with its line, so nothing in the verdict can leave it
    comment = " ".join(f"{name}: {verdict}".split())
    equations = " \\\\\n".join(f"  {line}" for line in latex_lines(recurrence))
    return "\n".join(
        [
            f"% {comment}",
            r"\documentclass[preview,border=4pt]{standalone}",
            r"\usepackage{amsmath,amssymb}",
            r"\begin{document}",
            rf"\texttt{{{escape(name)}}} ({inputs})",
            r"\begin{align*}",
            equations,
            r"\end{align*}",
            r"\end{document}",
            "",
        ]
    )


def escape(text: str) -> str:
    """Plain text, safe in LaTeX."""
    escaped = "".join(_SPECIAL.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
    return escaped.replace("..", r"\,..\,")


def _name(name: str) -> str:
    return name if len(name) == 1 and name.isalpha() else rf"\mathit{{{escape(name)}}}"


def _variable(variable: Var) -> str:
    return f"{_name(variable.name)}_{{t{f'-{variable.lag}' if variable.lag else ''}}}"


def _number(value: Number) -> tuple[str, int]:
    if isinstance(value, Fraction):
        sign = "-" if value < 0 else ""
        binding = _SUM if value < 0 else _ATOM
        return rf"{sign}\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}", binding
    text = repr(value).removesuffix(".0").replace("inf", r"\infty")
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        text = rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return text, _SUM if text.startswith("-") else _PRODUCT if "cdot" in text else _ATOM


def _bracket(text: str) -> str:
    return rf"\left({text}\right)"


def _child(expr: Expr, at_least: int) -> str:
    text, binding = _value(expr)
    return text if binding >= at_least else _bracket(text)


def _value(expr: Expr) -> tuple[str, int]:
    if isinstance(expr, Const):
        return _number(expr.value)
    if isinstance(expr, Var):
        return _variable(expr), _ATOM
    assert isinstance(expr, Op)
    if OPERATORS[expr.name].boolean:
        return f"[{_condition(expr)}]", _ATOM
    match expr.name:
        case "add" | "sub":
            return _sum(expr), _SUM
        case "mul":
            return _product(expr)
        case "div":
            minus = positive_part(expr.args[0])
            top = expr.args[0] if minus is None else minus
            text = rf"\frac{{{latex(top)}}}{{{latex(expr.args[1])}}}"
            return (text, _ATOM) if minus is None else (f"-{text}", _SUM)
        case "neg":
            return f"-{_child(expr.args[0], _PRODUCT)}", _SUM
        case "pow":
            base = _child(expr.args[0], _ATOM)
            return (
                f"{_bracket(base) if isinstance(expr.args[0], Op) else base}^{{{latex(expr.args[1])}}}",
                _ATOM,
            )
        case "mod":
            return rf"{_child(expr.args[0], _PRODUCT)} \bmod {_child(expr.args[1], _ATOM)}", _SUM
        case "where":
            condition, yes, no = _condition(expr.args[0]), latex(expr.args[1]), latex(expr.args[2])
            cases = rf"{yes} & \text{{if }} {condition} \\ {no} & \text{{otherwise}}"
            return rf"\begin{{cases}} {cases} \end{{cases}}", _PRODUCT
        case "abs":
            return rf"\left|{latex(expr.args[0])}\right|", _ATOM
        case "floor":
            return rf"\left\lfloor {latex(expr.args[0])} \right\rfloor", _ATOM
        case "sqrt":
            return rf"\sqrt{{{latex(expr.args[0])}}}", _ATOM
        case "relu":
            return rf"\max\left({latex(expr.args[0])}, 0\right)", _ATOM
        case "clip":
            value, low, high = (latex(argument) for argument in expr.args)
            return rf"\min\left(\max\left({value}, {low}\right), {high}\right)", _ATOM
    arguments = ", ".join(latex(argument) for argument in expr.args)
    return rf"{_FUNCTIONS[expr.name]}\left({arguments}\right)", _ATOM


def _sum(expr: Op) -> str:
    left, right = expr.args
    minus = expr.name == "sub"
    opposite = positive_part(right)
    if opposite is not None:
        right, minus = opposite, not minus
    remainder = isinstance(right, Op) and right.name == "mod"
    text = _child(right, _PRODUCT if minus or remainder else _SUM)
    if text.startswith("-"):
        text, minus = text[1:], True
    first = _child(left, _PRODUCT) if isinstance(left, Op) and left.name == "mod" else _child(left, _SUM)
    return f"{first} {'-' if minus else '+'} {text}"


def _product(expr: Op) -> tuple[str, int]:
    left, right = expr.args
    if left == Const(-1):
        return f"-{_child(right, _PRODUCT)}", _SUM
    minus = positive_part(left)
    first = _child(left if minus is None else minus, _PRODUCT)
    second = _child(right, _PRODUCT)
    dot = r" \cdot " if second[0].isdigit() else r" \, "
    text = f"{first}{dot}{second}"
    return (text, _PRODUCT) if minus is None else (f"-{text}", _SUM)


def _condition(expr: Expr, *, nested: bool = False) -> str:
    if not isinstance(expr, Op):
        return latex(expr)
    if expr.name in _COMPARISONS:
        left, right = (latex(argument) for argument in expr.args)
        return f"{left} {_COMPARISONS[expr.name]} {right}"
    if expr.name in _CONNECTIVES:
        text = f" {_CONNECTIVES[expr.name]} ".join(_condition(a, nested=True) for a in expr.args)
        return _bracket(text) if nested else text
    if expr.name == "not":
        return rf"\lnot {_bracket(_condition(expr.args[0]))}"
    return latex(expr)


def _retrieval(definition: Retrieval) -> str:
    value, key = f"{_name(definition.value)}_{{s}}", f"{_name(definition.key)}_{{s}}"
    latest = rf"s = \max\{{s \le t-{definition.gap} : {key} = {latex(definition.query)}\}}"
    default = _number(definition.default)[0]
    return rf"\begin{{cases}} {value} & {latest} \\ {default} & \text{{if there is none}} \end{{cases}}"
