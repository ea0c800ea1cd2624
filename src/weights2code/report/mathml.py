"""Rules as MathML, which browsers typeset by themselves."""

from __future__ import annotations

from html import escape

from weights2code.language import Expr, Recurrence
from weights2code.language.categories import Categories
from weights2code.language.domain import quoted
from weights2code.language.operators import fenced
from weights2code.language.typeset import Notation


def _fences(left: str, right: str) -> tuple[str, str]:
    before, _, after = fenced("\0", left, right).partition("\0")
    return before, after


def _words(words: str) -> str:
    return f"<mtext>{escape(words).replace(' ', '&#160;')}</mtext>"


def _name(name: str) -> str:
    return f"<mi>{escape(name)}</mi>"


MATHML = Notation(
    column="mathml",
    brackets=_fences("(", ")"),
    test=_fences("[", "]"),
    name=_name,
    words=_words,
    text=lambda text: _words("nothing" if text is None else quoted(text)),
    # without its depth a letter such as y would push its index lower than others
    at='<msub><mpadded depth="0">{}</mpadded><mrow>{}</mrow></msub>',
    letter="<mi>{}</mi>",
    digits="<mn>{}</mn>",
    minus="<mo>−</mo>",
    fraction="<mfrac>{}{}</mfrac>",
    power="<mrow>{}<mo>⋅</mo><msup><mn>10</mn><mrow>{}</mrow></msup></mrow>",
    infinity="<mi>∞</mi>",
    relations={"lt": "<mo>&lt;</mo>", "le": "<mo>≤</mo>", "eq": "<mo>=</mo>", "ge": "<mo>≥</mo>",
               "gt": "<mo>&gt;</mo>"},
    times='<mrow>{:product}<mo lspace="0.2em" rspace="0.2em">⋅</mo>{:product}</mrow>',
    square="<msup>{:atom}<mn>2</mn></msup>",
    case="<mtr><mtd>{}</mtd><mtd>{}</mtd></mtr>",
    next_case="",
    cases='<mrow><mo fence="true" stretchy="true">{{</mo><mtable class="cases">{}</mtable></mrow>',
    counted=f"<mrow>{_words('how many ')}<mi>s</mi><mo>≤</mo><mi>t</mi>{_words(' have ')}{{}}</mrow>",
)  # fmt: skip


def rule(recurrence: Recurrence, categories: Categories | None = None) -> str:
    """All steps as one block of equations aligned at the equals sign, then what lies before the start."""
    rows = (
        f"<mtr><mtd>{left}</mtd><mtd><mo>=</mo></mtd><mtd>{right}{_words(' for s < 0') * before}</mtd></mtr>"
        for left, right, before in MATHML.equations(recurrence, categories or {})
    )
    return f'<math display="block" class="rule"><mtable>{"".join(rows)}</mtable></math>'


def equation(name: str, expr: Expr) -> str:
    """`name = expr` inside a line of text."""
    return f"<math><mrow>{_name(name)}<mo>=</mo>{MATHML.value(expr).text}</mrow></math>"
