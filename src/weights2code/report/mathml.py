"""Expressions as MathML, which browsers typeset by themselves; the notation is that of `language.latex`."""

from __future__ import annotations

from fractions import Fraction
from html import escape

from weights2code.language import (
    OPERATORS,
    Const,
    Count,
    Definition,
    Expr,
    Number,
    Op,
    Recurrence,
    Retrieval,
    Start,
    Var,
)
from weights2code.language.categories import Categories, Label, label, spoken
from weights2code.language.domain import Category, quoted
from weights2code.language.operators import Binding, Written, fenced
from weights2code.language.text import positive_part

_OPENING, _, _CLOSING = fenced("\0", "(", ")").partition("\0")


def rule(recurrence: Recurrence, categories: Categories | None = None) -> str:
    """All steps as one block of equations aligned at the equals sign, then what lies before the start."""
    recurrence, types = spoken(recurrence, categories or {})
    rows = [_row(variable(step.name), _definition(step.definition, types)) for step in recurrence.steps]
    for name in recurrence.depths():
        start = recurrence.start_of(name)
        before = _text(" for s < 0")
        if start == "first":
            rows.append(_row(_at(name, _identifier("s")), _at(name, "<mn>0</mn>") + before))
        elif start != 0:
            rows.append(_row(_at(name, _identifier("s")), _constant(start, types.get(name)) + before))
    return f'<math display="block" class="rule"><mtable>{"".join(rows)}</mtable></math>'


def equation(name: str, expr: Expr) -> str:
    """`name = expr` inside a line of text."""
    return f"<math><mrow>{_identifier(name)}<mo>=</mo>{_value(expr)}</mrow></math>"


def variable(name: str, lag: int = 0) -> str:
    """`x` with the subscript `t-1`."""
    past = f"<mo>−</mo><mn>{lag}</mn>" if lag else ""
    return _at(name, f"<mrow>{_identifier('t')}{past}</mrow>")


def _row(left: str, right: str) -> str:
    return f"<mtr><mtd>{left}</mtd><mtd><mo>=</mo></mtd><mtd>{right}</mtd></mtr>"


def _at(name: str, index: str) -> str:
    # without its depth a letter such as y would push its index lower than others
    return f'<msub><mpadded depth="0">{_identifier(name)}</mpadded>{index}</msub>'


def _identifier(name: str) -> str:
    return f"<mi>{escape(name)}</mi>"


def _text(words: str) -> str:
    return f"<mtext>{escape(words).replace(' ', '&#160;')}</mtext>"


def _constant(value: Start, texts: tuple[Category, ...] | None) -> str:
    """A number, or the text that it stands for."""
    return _value(label(value, texts)).text if texts else _number(float(value)).text


def _definition(definition: Definition, types: Categories) -> str:
    if isinstance(definition, Expr):
        return _value(definition).text
    if isinstance(definition, Count):
        sign = {"lt": "&lt;", "le": "≤", "eq": "=", "ge": "≥", "gt": "&gt;"}[definition.relation]
        s, t = _identifier("s"), _identifier("t")
        condition = f"{_at(definition.key, s)}<mo>{sign}</mo>{_value(definition.query)}"
        return f"<mrow>{_text('how many ')}{s}<mo>≤</mo>{t}{_text(' have ')}{condition}</mrow>"
    assert isinstance(definition, Retrieval), definition
    last = f"<mo>−</mo><mn>{definition.gap}</mn>" if definition.gap else ""
    s = _identifier("s")
    found = (
        f"{_text('for the last ')}{s}<mo>≤</mo>{_identifier('t')}{last}{_text(' with ')}"
        f"{_at(definition.key, s)}<mo>=</mo>{_value(definition.query)}"
    )
    return _cases(
        [
            (_at(definition.value, s), found),
            (_constant(definition.default, types.get(definition.value)), _text("if there is none")),
        ]
    )


def _cases(rows: list[tuple[str, str]]) -> str:
    body = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
    return f'<mrow><mo fence="true" stretchy="true">{{</mo><mtable class="cases">{body}</mtable></mrow>'


def _written(text: str, binding: Binding = Binding.ATOM) -> Written:
    return Written(text, binding, (_OPENING, _CLOSING))


def _value(expr: Expr) -> Written:
    """The mark-up and how tightly it binds."""
    if isinstance(expr, Label):
        return _written(_text("nothing" if expr.text is None else quoted(expr.text)))
    if isinstance(expr, Const):
        return _number(expr.value)
    if isinstance(expr, Var):
        return _written(variable(expr.name, expr.lag))
    assert isinstance(expr, Op)
    if OPERATORS[expr.name].boolean:
        return _written(fenced(_condition(expr).text, "[", "]"))
    opposite = positive_part(expr)
    if opposite is not None:
        return _operator(Op("neg", (opposite,)))
    match expr.name:
        case "add" | "sub":
            right = positive_part(expr.args[1])
            if right is not None:
                return _operator(Op("add" if expr.name == "sub" else "sub", (expr.args[0], right)))
        case "mul":
            return _product(expr)
        case "where":
            return _where(expr)
    return _operator(expr)


def _operator(expr: Op) -> Written:
    """The template of the table, filled in."""
    entry = OPERATORS[expr.name]
    conditions = [_condition(argument) for argument in expr.args[: entry.truths]]
    values = [_value(argument) for argument in expr.args[entry.truths :]]
    return _written(entry.mathml.template.format(*conditions, *values), entry.mathml.binding)


def _product(expr: Op) -> Written:
    left, right = expr.args
    if left == right and not isinstance(left, Const):
        return _written(f"<msup>{_value(left):atom}<mn>2</mn></msup>", Binding.POWER)
    product = _operator(expr)
    if not isinstance(right, Const):
        return product
    # two numbers side by side would read as one
    times = '<mo lspace="0.2em" rspace="0.2em">⋅</mo>'
    return _written(f"<mrow>{_value(left):product}{times}{_value(right):product}</mrow>", product.binding)


def _where(expr: Op) -> Written:
    """Nested choices of the form "else if" as one list of cases."""
    rows: list[tuple[str, str]] = []
    rest: Expr = expr
    while isinstance(rest, Op) and rest.name == "where":
        rows.append((_value(rest.args[1]).text, f"{_text('if ')}{_condition(rest.args[0])}"))
        rest = rest.args[2]
    return _written(_cases([*rows, (_value(rest).text, _text("otherwise"))]), Binding.COMPARE)


def _condition(expr: Expr) -> Written:
    """A test where only being zero or not counts: no brackets of its own."""
    return _operator(expr) if isinstance(expr, Op) and OPERATORS[expr.name].boolean else _value(expr)


def _number(value: Number) -> Written:
    if value < 0:
        return _written(f"<mrow><mo>−</mo>{_number(-value)}</mrow>", Binding.SUM)
    if isinstance(value, Fraction):
        return _written(f"<mfrac><mn>{value.numerator}</mn><mn>{value.denominator}</mn></mfrac>")
    text = repr(Const(value).value)
    if text == "inf":
        return _written("<mi>∞</mi>")
    if "e" in text:
        mantissa, exponent = text.split("e")
        power = f"<msup><mn>10</mn><mrow>{_number(int(exponent))}</mrow></msup>"
        return _written(f"<mrow><mn>{mantissa}</mn><mo>⋅</mo>{power}</mrow>", Binding.PRODUCT)
    return _written(f"<mn>{text}</mn>")
