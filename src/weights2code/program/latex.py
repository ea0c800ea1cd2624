"""`program.tex`: the recurrence as mathematics.

The file can be compiled alone (class `standalone`) and, with the `standalone` package, be read into a
paper by `\\input`. Expressions are written by `language.latex`; here they become aligned equations, with
names made safe, retrieval as a case distinction, and start values that are not zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.language import Const, Domain, Recurrence, Retrieval, Var
from weights2code.language.latex import escape, latex, latex_name, latex_variable


def latex_lines(recurrence: Recurrence) -> list[str]:
    """One equation a step, with `&` before the equals sign, then the start values that are not zero."""
    lines = []
    for step in recurrence.steps:
        definition = step.definition
        right = _retrieval(definition) if isinstance(definition, Retrieval) else latex(definition)
        lines.append(f"{latex_variable(Var(step.name))} &= {right}")
    for name in recurrence.depths():
        start = recurrence.start_of(name)
        if isinstance(start, str):
            lines.append(f"{latex_name(name)}_{{s}} &= {latex_name(name)}_{{0}} \\quad (s < 0)")
        elif start != 0:
            lines.append(f"{latex_name(name)}_{{s}} &= {latex(Const(start))} \\quad (s < 0)")
    return lines


def latex_source(
    recurrence: Recurrence, domains: Sequence[Domain], name: str, *, verdict: str = "not verified"
) -> str:
    """The text of `program.tex`."""
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
            " \\\\\n".join(f"  {line}" for line in latex_lines(recurrence)),
            r"\end{align*}",
            r"\end{document}",
            "",
        ]
    )


def _retrieval(definition: Retrieval) -> str:
    value, key = f"{latex_name(definition.value)}_{{s}}", f"{latex_name(definition.key)}_{{s}}"
    query, default = latex(definition.query), latex(Const(definition.default))
    last = f"t-{definition.gap}" if definition.gap else "t"
    latest = rf"\text{{for the last }} s \le {last} \text{{ with }} {key} = {query}"
    return rf"\begin{{cases}} {value} & {latest} \\ {default} & \text{{if there is none}} \end{{cases}}"
