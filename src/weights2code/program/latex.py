"""`program.tex`: the recurrence as mathematics.

The file can be compiled alone (class `standalone`) and, with the `standalone` package, be read into a
paper by `\\input`. Expressions are written by `language.latex`; here they become aligned equations, with
names made safe, retrieval as a case distinction, and start values that are not zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.language import Const, Count, Domain, Expr, Recurrence, Retrieval, Start, Var
from weights2code.language.categories import Categories, categories_of, label, spoken
from weights2code.language.latex import escape, latex, latex_name, latex_variable


def latex_lines(recurrence: Recurrence, categories: Categories | None = None) -> list[str]:
    """One equation a step, with `&` before the equals sign, then the start values that are not zero."""
    lines = []
    recurrence, types = spoken(recurrence, categories or {})

    def value(number: Start, name: str) -> Expr:
        return label(number, types[name]) if name in types else Const(float(number))

    for step in recurrence.steps:
        definition = step.definition
        if isinstance(definition, Retrieval):
            right = _retrieval(definition, latex(value(definition.default, definition.value)))
        elif isinstance(definition, Count):
            right = _count(definition)
        else:
            assert isinstance(definition, Expr), definition
            right = latex(definition)
        lines.append(f"{latex_variable(Var(step.name))} &= {right}")
    for name in recurrence.depths():
        start = recurrence.start_of(name)
        if isinstance(start, str):
            lines.append(f"{latex_name(name)}_{{s}} &= {latex_name(name)}_{{0}} \\quad (s < 0)")
        elif start != 0:
            lines.append(f"{latex_name(name)}_{{s}} &= {latex(value(start, name))} \\quad (s < 0)")
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
