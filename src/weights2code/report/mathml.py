"""Expressions as MathML, which browsers typeset by themselves; the notation is that of `language.latex`."""

from __future__ import annotations

from fractions import Fraction
from html import escape

from weights2code.language import OPERATORS, Const, Expr, Number, Op, Recurrence, Retrieval, Var
from weights2code.language.text import positive_part

_OR, _AND, _COMPARE, _SUM, _PRODUCT, _POWER, _ATOM = range(7)
_RELATIONS = {"eq": "=", "ne": "≠", "ge": "≥", "gt": "&gt;", "le": "≤", "lt": "&lt;"}
_CONNECTIVES = {"or": (_OR, "∨"), "and": (_AND, "∧")}


def rule(recurrence: Recurrence) -> str:
    """All steps as one block of equations aligned at the equals sign, then what lies before the start."""
    rows = [_row(variable(step.name), _definition(step.definition)) for step in recurrence.steps]
    for name in recurrence.depths():
        start = recurrence.start_of(name)
        before = _text(" for s < 0")
        if start == "first":
            rows.append(_row(_at(name, _identifier("s")), _at(name, "<mn>0</mn>") + before))
        elif start != 0:
            rows.append(_row(_at(name, _identifier("s")), _number(start)[0] + before))
    return f'<math display="block" class="rule"><mtable>{"".join(rows)}</mtable></math>'


def equation(name: str, expr: Expr) -> str:
    """`name = expr` inside a line of text."""
    return f"<math><mrow>{_identifier(name)}<mo>=</mo>{_value(expr)[0]}</mrow></math>"


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


def _definition(definition: Expr | Retrieval) -> str:
    if isinstance(definition, Expr):
        return _value(definition)[0]
    last = f"<mo>−</mo><mn>{definition.gap}</mn>" if definition.gap else ""
    s = _identifier("s")
    found = (
        f"{_text('for the last ')}{s}<mo>≤</mo>{_identifier('t')}{last}{_text(' with ')}"
        f"{_at(definition.key, s)}<mo>=</mo>{_value(definition.query)[0]}"
    )
    return _cases(
        [
            (_at(definition.value, s), found),
            (_number(definition.default)[0], _text("if there is none")),
        ]
    )


def _cases(rows: list[tuple[str, str]]) -> str:
    body = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
    return f'<mrow><mo fence="true" stretchy="true">{{</mo><mtable class="cases">{body}</mtable></mrow>'


def _fenced(body: str, left: str, right: str) -> str:
    marks = 'fence="true" stretchy="true" lspace="0" rspace="0"'
    opening, closing = f'<mo form="prefix" {marks}>{left}</mo>', f'<mo form="postfix" {marks}>{right}</mo>'
    return f"<mrow>{opening}{body}{closing}</mrow>"


def _value(expr: Expr) -> tuple[str, int]:
    """The mark-up and how tightly it binds."""
    if isinstance(expr, Const):
        return _number(expr.value)
    if isinstance(expr, Var):
        return variable(expr.name, expr.lag), _ATOM
    assert isinstance(expr, Op)
    if OPERATORS[expr.name].boolean:
        return _fenced(_condition(expr)[0], "[", "]"), _ATOM
    match expr.name:
        case "add" | "sub":
            return _sum(expr), _SUM
        case "mul":
            return _product(expr)
        case "neg":
            return f"<mrow><mo>−</mo>{_child(expr.args[0], _PRODUCT)}</mrow>", _SUM
        case "div":
            opposite = positive_part(expr)
            if opposite is not None:
                return f"<mrow><mo>−</mo>{_child(opposite, _PRODUCT)}</mrow>", _SUM
            above, below = (_value(argument)[0] for argument in expr.args)
            return f"<mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac>", _ATOM
        case "mod":
            left, right = _child(expr.args[0], _PRODUCT), _child(expr.args[1], _ATOM)
            return f'<mrow>{left}<mo lspace="0.3em" rspace="0.3em">mod</mo>{right}</mrow>', _COMPARE
        case "pow":
            return f"<msup>{_child(expr.args[0], _ATOM)}<mrow>{_value(expr.args[1])[0]}</mrow></msup>", _POWER
        case "where":
            return _where(expr), _COMPARE
    return _function(expr), _ATOM


def _child(expr: Expr, at_least: int) -> str:
    body, binding = _value(expr)
    return body if binding >= at_least else _fenced(body, "(", ")")


def _sum(expr: Op) -> str:
    left, right = expr.args
    minus = expr.name == "sub"
    opposite = positive_part(right)
    if opposite is not None:
        right, minus = opposite, not minus
    sign = "−" if minus else "+"
    return f"<mrow>{_child(left, _SUM)}<mo>{sign}</mo>{_child(right, _PRODUCT if minus else _SUM)}</mrow>"


def _product(expr: Op) -> tuple[str, int]:
    opposite = positive_part(expr)
    if opposite is not None:
        return f"<mrow><mo>−</mo>{_child(opposite, _PRODUCT)}</mrow>", _SUM
    left, right = expr.args
    if left == right and not isinstance(left, Const):
        return f"<msup>{_child(left, _ATOM)}<mn>2</mn></msup>", _POWER
    # two numbers side by side would read as one
    times = (
        '<mo lspace="0.2em" rspace="0.2em">⋅</mo>' if isinstance(right, Const) else '<mspace width="0.17em"/>'
    )
    return f"<mrow>{_child(left, _PRODUCT)}{times}{_child(right, _PRODUCT)}</mrow>", _PRODUCT


def _where(expr: Op) -> str:
    """Nested choices of the form "else if" as one list of cases."""
    rows: list[tuple[str, str]] = []
    rest: Expr = expr
    while isinstance(rest, Op) and rest.name == "where":
        rows.append((_value(rest.args[1])[0], f"{_text('if ')}{_condition(rest.args[0])[0]}"))
        rest = rest.args[2]
    return _cases([*rows, (_value(rest)[0], _text("otherwise"))])


def _function(expr: Op) -> str:
    plain = [_value(argument)[0] for argument in expr.args]
    match expr.name:
        case "abs":
            return _fenced(plain[0], "|", "|")
        case "floor":
            return _fenced(plain[0], "⌊", "⌋")
        case "sqrt":
            return f"<msqrt>{plain[0]}</msqrt>"
        case "relu":
            return _call("max", [plain[0], "<mn>0</mn>"])
        case "clip":
            return _call("min", [_call("max", plain[:2]), plain[2]])
    return _call(expr.name, plain)


def _call(name: str, arguments: list[str]) -> str:
    body = '<mo separator="true" rspace="0.3em">,</mo>'.join(arguments)
    return f"<mrow><mi>{name}</mi>{_fenced(body, '(', ')')}</mrow>"


def _condition(expr: Expr) -> tuple[str, int]:
    """A test where only being zero or not counts: no brackets of its own."""
    if isinstance(expr, Op) and expr.name in _RELATIONS:
        left, right = (_child(argument, _SUM) for argument in expr.args)
        return f"<mrow>{left}<mo>{_RELATIONS[expr.name]}</mo>{right}</mrow>", _COMPARE
    if isinstance(expr, Op) and expr.name in _CONNECTIVES:
        binding, sign = _CONNECTIVES[expr.name]
        sides = [_condition(argument) for argument in expr.args]
        left, right = (body if tight >= binding else _fenced(body, "(", ")") for body, tight in sides)
        return f"<mrow>{left}<mo>{sign}</mo>{right}</mrow>", binding
    if isinstance(expr, Op) and expr.name == "not":
        body, binding = _condition(expr.args[0])
        return f"<mrow><mo>¬</mo>{body if binding == _ATOM else _fenced(body, '(', ')')}</mrow>", _ATOM
    return _value(expr)


def _number(value: Number) -> tuple[str, int]:
    if value < 0:
        return f"<mrow><mo>−</mo>{_number(-value)[0]}</mrow>", _SUM
    if isinstance(value, Fraction):
        return f"<mfrac><mn>{value.numerator}</mn><mn>{value.denominator}</mn></mfrac>", _ATOM
    text = repr(Const(value).value)
    if text == "inf":
        return "<mi>∞</mi>", _ATOM
    if "e" in text:
        mantissa, exponent = text.split("e")
        power = f"<msup><mn>10</mn><mrow>{_number(int(exponent))[0]}</mrow></msup>"
        return f"<mrow><mn>{mantissa}</mn><mo>⋅</mo>{power}</mrow>", _PRODUCT
    return f"<mn>{text}</mn>", _ATOM
