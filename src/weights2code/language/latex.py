"""Rules as LaTeX, in the notation of the tasks: subscripts for time, Iverson brackets for tests.

`program.tex` can be compiled alone (class `standalone`) and, with the `standalone` package, be read into a
paper by `\\input`: aligned equations with names made safe, retrieval as a case distinction, and start values
that are not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from weights2code.language.categories import Categories, Label, categories_of, label, spoken
from weights2code.language.domain import Domain
from weights2code.language.expression import Const, Expr, Op, Var
from weights2code.language.operators import OPERATORS, Binding, Written
from weights2code.language.recurrence import Count, Recurrence, Retrieval, expression_of

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_BRACKETS = (r"\left(", r"\right)")


def latex_variable(variable: Var) -> str:
    """`x_{t-1}`."""
    return f"{latex_name(variable.name)}_{{t{f'-{variable.lag}' if variable.lag else ''}}}"


def latex_name(name: str) -> str:
    """Letters as they are; longer names are set upright."""
    return name if len(name) == 1 and name.isalpha() else rf"\mathrm{{{escape(name)}}}"


def escape(text: str) -> str:
    """Plain text, safe in LaTeX."""
    return "".join(_SPECIAL.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def latex(expr: Expr, variable: Callable[[Var], str] = latex_variable) -> str:
    r"""LaTeX text such as `x_{t} + y_{t-1} - 2 x_{t} y_{t-1}`; `variable` writes one variable."""
    return _write(expr, variable).text


def _write(expr: Expr, write: Callable[[Var], str]) -> Written:
    if isinstance(expr, Label):
        if isinstance(expr.text, int):
            return Written(str(expr.text))
        text = "nothing" if expr.text is None else f"``{escape(expr.text)}''"
        return Written(rf"\text{{{text}}}")
    if isinstance(expr, Const):
        return _number(expr)
    if isinstance(expr, Var):
        return Written(write(expr))
    assert isinstance(expr, Op)
    entry = OPERATORS[expr.name]
    template, binding = entry.latex
    if expr.name == "mul" and isinstance(expr.args[1], Const):  # two numbers side by side would read as one
        template = template.replace(r" \, ", r" \cdot ")
    parts = [_write(argument, write) for argument in expr.args]
    conditions = [_bare(part.text) for part in parts[: entry.truths]]
    return Written(template.format(*conditions, *parts[entry.truths :]), binding, _BRACKETS)


def _bare(test: str) -> str:
    """A test inside a case or a connective needs no brackets of its own when it is one bracket."""
    left, right = r"\left[", r"\right]"
    inner = test[len(left) : -len(right)]
    if test.startswith(left) and test.endswith(right) and left not in inner and right not in inner:
        return inner
    return test


def _number(expr: Const) -> Written:
    value = expr.value
    if isinstance(value, Fraction):
        sign = "-" if value < 0 else ""
        text = rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
        return Written(text, Binding.UNARY if sign else Binding.ATOM, _BRACKETS)
    text = repr(value).replace("inf", r"\infty")
    if "e" in text:
        mantissa, exponent = text.split("e")
        return Written(rf"{mantissa} \cdot 10^{{{int(exponent)}}}", Binding.PRODUCT, _BRACKETS)
    return Written(text, Binding.SUM if text.startswith("-") else Binding.ATOM, _BRACKETS)


def latex_lines(recurrence: Recurrence, categories: Categories | None = None) -> list[str]:
    """One equation a step, with `&` before the equals sign, then the start values that are not zero."""
    recurrence, types = spoken(recurrence, categories or {})

    def value(number: float, name: str) -> str:
        return latex(label(number, types[name]) if name in types else Const(float(number)))

    lines = []
    for step in recurrence.steps:
        made = step.definition
        if isinstance(made, Retrieval):
            right = _retrieval(made, value(made.default, made.value))
        else:
            right = _count(made) if isinstance(made, Count) else latex(expression_of(made))
        lines.append(f"{latex_variable(Var(step.name))} &= {right}")
    for name in recurrence.depths():
        start, left = recurrence.start_of(name), latex_name(name)
        if start != 0:
            before = f"{left}_{{0}}" if isinstance(start, str) else value(start, name)
            lines.append(f"{left}_{{s}} &= {before} \\quad (s < 0)")
    return lines


def latex_source(
    recurrence: Recurrence,
    domains: Sequence[Domain],
    name: str,
    *,
    verdict: str = "not verified",
    categories: Categories | None = None,
) -> str:
    """The text of `program.tex`; `categories` are the texts of outputs that hold texts."""
    known = categories_of(recurrence.inputs, domains) | dict(categories or {})
    inputs = "; ".join(
        f"${latex_name(column)}$: {escape(str(domain))}"
        for column, domain in zip(recurrence.inputs, domains, strict=True)
    )
    # a comment ends with its line, so nothing in the verdict can leave it
    comment = " ".join(f"{name}: {verdict}".split())
    return "\n".join(
        [
            f"% {comment}",
            r"\documentclass[preview,border=4pt]{standalone}",
            r"\usepackage{amsmath}",
            r"\begin{document}",
            rf"\texttt{{{escape(name)}}} ({inputs})",
            r"\begin{align*}",
            " \\\\\n".join(f"  {line}" for line in latex_lines(recurrence, known)),
            r"\end{align*}",
            r"\end{document}",
            "",
        ]
    )


def _count(definition: Count) -> str:
    sign = {"le": r"\le", "ge": r"\ge", "eq": "="}.get(definition.relation, definition.sign)
    condition = f"{latex_name(definition.key)}_{{s}} {sign} {latex(definition.query)}"
    return rf"\left|\left\{{ s \le t : {condition} \right\}}\right|"


def _retrieval(definition: Retrieval, default: str) -> str:
    value, key = f"{latex_name(definition.value)}_{{s}}", f"{latex_name(definition.key)}_{{s}}"
    query = latex(definition.query)
    last = f"t-{definition.gap}" if definition.gap else "t"
    latest = rf"\text{{for the last }} s \le {last} \text{{ with }} {key} = {query}"
    return rf"\begin{{cases}} {value} & {latest} \\ {default} & \text{{if there is none}} \end{{cases}}"
