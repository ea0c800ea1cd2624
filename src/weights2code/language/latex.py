"""Rules as LaTeX, in the notation of the tasks: subscripts for time, Iverson brackets for tests.

`program.tex` can be compiled alone (class `standalone`) and, with the `standalone` package, be read into a
paper by `\\input`: aligned equations with names made safe, retrieval as a case distinction, and start values
that are not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from weights2code.language.categories import Categories, categories_of
from weights2code.language.domain import Category, Domain
from weights2code.language.expression import Expr, Var
from weights2code.language.recurrence import Recurrence
from weights2code.language.typeset import Notation

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def latex_name(name: str) -> str:
    """Letters as they are; longer names are set upright."""
    return name if len(name) == 1 and name.isalpha() else rf"\mathrm{{{escape(name)}}}"


def escape(text: str) -> str:
    """Plain text, safe in LaTeX."""
    return "".join(_SPECIAL.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def _text(text: Category | None) -> str:
    told = "nothing" if text is None else f"``{escape(text)}''" if isinstance(text, str) else ""
    return rf"\text{{{told}}}" if told else str(text)


LATEX = Notation(
    column="latex",
    brackets=(r"\left(", r"\right)"),
    test=(r"\left[", r"\right]"),
    name=latex_name,
    words=lambda words: f"{' ' * words.startswith(' ')}\\text{{{words}}}{' ' * words.endswith(' ')}",
    text=_text,
    at="{}_{{{}}}",
    letter="{}",
    digits="{}",
    minus="-",
    fraction=r"\frac{{{}}}{{{}}}",
    power=r"{} \cdot 10^{{{}}}",
    infinity=r"\infty",
    relations={"lt": " < ", "le": r" \le ", "eq": " = ", "ge": r" \ge ", "gt": " > "},
    times=r"{:product} \cdot {:product}",
    square="{:atom}^{{2}}",
    case="{} & {}",
    next_case=r" \\ ",
    cases=r"\begin{{cases}} {} \end{{cases}}",
    counted=r"\left|\left\{{ s \le t : {} \right\}}\right|",
)


def latex(expr: Expr, variable: Callable[[Var], str] | None = None) -> str:
    r"""LaTeX text such as `x_{t} + y_{t-1} - 2 \, x_{t} \, y_{t-1}`; `variable` writes one variable."""
    return replace(LATEX, read=variable).value(expr).text


def latex_lines(recurrence: Recurrence, categories: Categories | None = None) -> list[str]:
    """One equation a step, with `&` before the equals sign, then the start values that are not zero."""
    return [
        f"{left} &= {right}" + r" \quad (s < 0)" * before
        for left, right, before in LATEX.equations(recurrence, categories or {})
    ]


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
    equations = " \\\\\n".join(f"  {line}" for line in latex_lines(recurrence, known))
    return rf"""% {comment}
\documentclass[preview,border=4pt]{{standalone}}
\usepackage{{amsmath}}
\begin{{document}}
\texttt{{{escape(name)}}} ({inputs})
\begin{{align*}}
{equations}
\end{{align*}}
\end{{document}}
"""
