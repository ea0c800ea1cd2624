"""The table of operators: everything that is known about one stands in its entry, and nowhere else.

What an operator computes (NumPy, exact numbers, SymPy, z3), where that is defined, what kind of values it
gives, how it is written (formula, Python, LaTeX, MathML, JavaScript, C, SQL, a spreadsheet, ONNX, the
listing) and what it costs a reader.
A new operator is one entry; a function of one name needs little more than that name. Order statistics, such
as the median of five values, are entries that are made when they are asked for, since there is one for every
number of values (`order_name`).

Templates write operators: `{0:sum} - {1:product}` puts the second argument in parentheses unless it binds at
least as tightly as a product. SymPy and z3 come in as arguments, so that the table imports neither.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import isinf
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from weights2code.language import interval as between
from weights2code.language.expression import Expr, Number, Op, as_expr
from weights2code.language.interval import ANYTHING, BIT, Interval

#: Values of which an order statistic is taken, at most.
MOST_ORDERED = 15
#: Powers beyond this are computed as floats: nobody waits for their digits.
_MOST_POWER = 64

# How tightly a text binds. Remainders bind looser than products here, although Python ranks them alike:
# nobody should have to know how `x % 3*2` is read.
Binding = IntEnum("Binding", "WHERE OR AND NOT COMPARE SUM REMAINDER PRODUCT UNARY POWER ATOM")
_LEVELS = {level.name.lower(): level for level in Binding}


class Form(NamedTuple):
    """A template with a place for each argument, and how tightly the text binds."""

    template: str
    binding: Binding = Binding.ATOM


class Written(NamedTuple):
    """A written argument; a template that asks for a tighter binding gets it in brackets."""

    text: str
    binding: Binding = Binding.ATOM
    brackets: tuple[str, str] = ("(", ")")

    def __format__(self, level: str) -> str:
        if level and self.binding < _LEVELS[level]:
            return self.text.join(self.brackets)
        return self.text


@dataclass(frozen=True, slots=True)
class Operator:
    """One entry of the table.

    Parameters
    ----------
    numpy, exact
        The meaning on arrays, and on Python integers and fractions.
    sympy
        The class of SymPy that it is, by name; or a function of the module and the arguments.
    z3
        What it is made of, to z3 (`z3_form`) and where values are bounded (`sums`): a function of the
        translator and the arguments; None is a function that neither knows.
    text, python
        The formula that people read, and Python where that is written otherwise.
    latex, mathml, javascript, c, sql, spreadsheet, listing
        The other texts; `listing` is the array arithmetic of `program_raw.py`. What other languages compute
        is what the Python text computes, bit for bit, also of infinities and of what is no number; a pair has
        a second, shorter text for where the last argument is a positive number.
    onnx
        The operator of ONNX, by name; or a function of the graph's maker and the arguments.
    truths
        How many of the first arguments only count as zero or not zero.
    boolean, whole
        The value is always 0 or 1; is always a whole number.
    keeps
        What the value is if all arguments are: "bits", "whole", "digits" (no rounding in float64).
    interval
        Between which numbers the value lies, from the intervals of the arguments.
    defined
        Where it has a value: an expression of the arguments that is not zero there.
    irrational
        Whether whole numbers may have a value that is no fraction.
    mirror, opposite
        The operator with the arguments swapped; the test that holds where this one does not.
    cost, rank
        What it costs a reader (`simplify.cost`); which formulas of one size a search prefers
        (`symbolic.engine`): arithmetic, then what is piecewise linear, tests, remainders, logic, branches.
    """

    name: str
    arity: int
    numpy: Callable[..., Any]
    exact: Callable[..., Any]
    sympy: str | Callable[..., Any]
    z3: Callable[..., Any] | None
    text: Form
    python: Form
    latex: Form
    mathml: Form
    javascript: str
    c: str
    sql: str | tuple[str, str]
    spreadsheet: str | tuple[str, str]
    onnx: str | Callable[..., Any]
    listing: Form
    cost: float = 1.5
    rank: int = 8
    truths: int = 0
    boolean: bool = False
    whole: bool = False
    keeps: frozenset[str] = frozenset()
    interval: Callable[..., Interval] = lambda *arguments: ANYTHING
    defined: Callable[..., Expr] | None = None
    irrational: bool = False
    commutative: bool = False
    associative: bool = False
    mirror: str | None = None
    opposite: str | None = None

    @property
    def compares(self) -> bool:
        """Whether it is one of the six comparisons."""
        return self.opposite is not None


def fenced(body: str, left: str, right: str) -> str:
    """MathML between fences that grow with it."""
    marks = 'fence="true" stretchy="true" lspace="0" rspace="0"'
    opening, closing = f'<mo form="prefix" {marks}>{left}</mo>', f'<mo form="postfix" {marks}>{right}</mo>'
    return f"<mrow>{opening}{body}{closing}</mrow>"


def _row(body: str) -> str:
    return f"<mrow>{body}</mrow>"


def _call(name: str, *arguments: str) -> str:
    body = '<mo separator="true" rspace="0.3em">,</mo>'.join(arguments)
    return _row(f"<mi>{name}</mi>{fenced(body, '(', ')')}")


def function(name: str, numpy: Callable[..., Any], exact: Callable[..., Any], **facts: Any) -> Operator:
    """An entry that is called `name` everywhere; `facts` says what differs from that."""
    places = [f"{{{i}}}" for i in range(facts.setdefault("arity", 1))]
    inside = ", ".join(places)
    usual: dict[str, Any] = {
        "sympy": name,
        "z3": None,
        "text": Form(f"{name}({inside})"),
        "python": facts.get("text", Form(f"np.{name}({inside})")),
        "latex": Form(rf"\{name}\left({inside}\right)"),
        "mathml": Form(_call(name, *places)),
        "javascript": f"Math.{name}({inside})",
        "c": f"{name}({inside})",
        "sql": f"{name.upper()}({inside})",
        "spreadsheet": f"{name.upper()}({','.join(places)})",
        "onnx": name.capitalize(),
        "listing": Form(f"np.{name}({inside})"),
        "mirror": name if facts.get("commutative") else None,
    }
    return Operator(name=name, numpy=numpy, exact=exact, **usual | facts)


def _infix(
    name: str,
    numpy: Callable[..., Any],
    exact: Callable[..., Any],
    form: tuple[str, str, str],
    binding: Binding,
    signs: tuple[str, str],
    **facts: Any,
) -> Operator:
    """Arithmetic; `form` is left level, sign and right level, `signs` are those of LaTeX and MathML."""
    (left, sign, right), (latex, mathml) = form, signs
    # what is computed has the order of the tree
    tighter = "product" if binding == Binding.SUM else "unary"
    ordered = {"sum": "remainder", "product": "unary"}.get(right, right)
    usual: dict[str, Any] = {
        "sympy": lambda s, a, b: exact(a, b),
        "text": Form(f"{{0:{left}}}{sign}{{1:{right}}}", binding),
        "python": Form(f"{{0:{left}}}{sign}{{1:{ordered}}}", binding),
        "latex": Form(f"{{0:{left}}}{latex}{{1:{right}}}", binding),
        "mathml": Form(_row(f"{{0:{left}}}{mathml}{{1:{right}}}"), binding),
        **dict.fromkeys(("javascript", "c", "sql", "spreadsheet"), f"({{0}} {sign.strip()} {{1}})"),
        "listing": Form(f"{{0:{left}}} {sign.strip()} {{1:{tighter}}}", binding),
    }
    return function(name, numpy, exact, arity=2, **usual | facts)


def _extremum(name: str, numpy: Callable[..., Any], exact: Callable[..., Any], better: str) -> Operator:
    return function(
        name,
        numpy,
        exact,
        arity=2,
        sympy=name.capitalize(),
        z3=lambda t, a, b: t.extremum(better, a, b),
        text=Form(f"{name}({{0}}, {{1}})"),
        **dict.fromkeys(("javascript", "c"), f"{'larger' if better == 'ge' else 'smaller'}({{0}}, {{1}})"),
        sql=f"(CASE WHEN {{1:n}} {'>' if better == 'ge' else '<'} {{0:n}} THEN {{1}} ELSE {{0}} END)",
        onnx=lambda g, a, b: g.extremum("Greater" if better == "ge" else "Less", a, b),
        listing=Form(f"np.{name}imum({{0}}, {{1}})"),
        cost=1.2,
        rank=2,
        keeps=_SELECTS,
        interval=between.greater if better == "ge" else between.lesser,
        commutative=True,
        associative=True,
    )


def _truth(name: str, numpy: Callable[..., Any], exact: Callable[..., Any], **facts: Any) -> Operator:
    """An entry whose value is 0 or 1."""
    return function(
        name,
        lambda *values: np.asarray(numpy(*values)).astype(float),
        lambda *values: int(exact(*values)),
        sympy=name.capitalize(),
        boolean=True,
        interval=lambda *arguments: BIT,
        **facts,
    )


def _comparison(name: str, numpy: Callable[..., Any], signs: str, mirror: str, opposite: str) -> Operator:
    """One of the six tests; `signs` are those of Python, LaTeX, MathML and JavaScript."""
    sign, latex, mathml, javascript = signs.split()
    plain = {"==": "=", "!=": "<>"}.get(sign, sign)
    return _truth(
        name,
        numpy,
        getattr(operator, name),
        arity=2,
        z3=lambda t, a, b: t.relation(name, a, b),
        text=Form(f"{{0:sum}} {sign} {{1:sum}}", Binding.COMPARE),
        latex=Form(f"{{0:sum}} {latex} {{1:sum}}", Binding.COMPARE),
        mathml=Form(_row(f"{{0:sum}}<mo>{mathml}</mo>{{1:sum}}"), Binding.COMPARE),
        javascript=f"({{0}} {javascript} {{1}} ? 1 : 0)",
        c=f"({{0}} {sign} {{1}} ? 1.0 : 0.0)",
        sql="(CASE WHEN {0:n} = {1:n} THEN 0e0 ELSE 1e0 END)"
        if name == "ne"
        else f"(CASE WHEN {{0:n}} {plain} {{1:n}} THEN 1e0 ELSE 0e0 END)",
        spreadsheet=f"IF({{0}}{plain}{{1}},1,0)",
        onnx=lambda g, a, b: g.bit(g.test(name, a, b)),
        listing=Form(f"({{0:unary}} {sign} {{1:unary}}) * 1.0", Binding.SUM),
        cost=1.2,
        rank=3,
        mirror=mirror,
        opposite=opposite,
        commutative=mirror == name,
    )


def _connective(
    name: str, numpy: Callable[..., Any], exact: Callable[..., Any], binding: Binding, signs: str
) -> Operator:
    """`and` or `or`; `signs` are those of LaTeX, MathML, JavaScript and NumPy."""
    latex, mathml, javascript, listing = signs.split()
    return _truth(
        name,
        numpy,
        exact,
        arity=2,
        truths=2,
        z3=(lambda t, a, b: t.all(a, b)) if name == "and" else (lambda t, a, b: t.any(a, b)),
        text=Form(f"{{0:{name}}} {name} {{1:{name}}}", binding),
        latex=Form(f"{{0:{name}}} {latex} {{1:{name}}}", binding),
        mathml=Form(_row(f"{{0:{name}}}<mo>{mathml}</mo>{{1:{name}}}"), binding),
        javascript=f"({{0}} !== 0 {javascript} {{1}} !== 0 ? 1 : 0)",
        c=f"({{0}} != 0 {javascript} {{1}} != 0 ? 1.0 : 0.0)",
        sql=f"(CASE WHEN {{0}} = 0 {'OR' if name == 'and' else 'AND'} {{1}} = 0 THEN 0e0 ELSE 1e0 END)",
        spreadsheet="IF({0}<>0,IF({1}<>0,1,0),0)" if name == "and" else "IF({0}<>0,1,IF({1}<>0,1,0))",
        onnx=lambda g, a, b: g.bit(g.add(name.capitalize(), g.truth(a), g.truth(b))),
        listing=Form(f"(({{0:unary}} != 0) {listing} ({{1:unary}} != 0)) * 1.0", Binding.SUM),
        cost=1.1,
        rank=5,
        commutative=True,
        associative=True,
    )


def _via_float(function: Callable[..., Any]) -> Callable[..., float]:
    def value(*arguments: Any) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(float, arguments)))

    return value


def _irrational(name: str, numpy: Callable[..., Any], **facts: Any) -> Operator:
    return function(name, numpy, _via_float(numpy), cost=2.2, irrational=True, **facts)


def _divide(a: Any, b: Any) -> Any:
    return Fraction(a) / Fraction(b) if is_rational(a) and is_rational(b) else a / b


def _power(a: Any, b: Any) -> Any:
    if not isinstance(b, int) or abs(b) > _MOST_POWER:
        return _via_float(np.power)(a, b)
    return Fraction(a) ** b if b < 0 and is_rational(a) else a**b


def _has_power(base: Expr, exponent: Expr) -> Expr:
    """Natural powers have a value everywhere, other whole ones except at zero, all of positive numbers."""
    whole, positive = exponent.equals(op("floor", exponent)), exponent >= 0
    some = op("or", op("or", base > 0, op("and", base.equals(0), positive)), op("and", whole, base))
    return where(op("and", whole, positive), 1, some)


def is_rational(value: Any) -> bool:
    """Whether a number is an exact one."""
    return isinstance(value, (int, Fraction))


#: The value is one of the arguments; is one of them or its opposite.
_SELECTS, _SIGNED = frozenset({"bits", "whole", "digits"}), frozenset({"whole", "digits"})
_WHOLE, _B = frozenset({"whole"}), Binding


def order_name(place: int, count: int) -> str:
    """The operator that is the `place`-th smallest, from 1 on, of so many values."""
    return f"order_{place}_of_{count}"


def order_of(name: object) -> tuple[int, int] | None:
    """The place and the number of values of an order statistic, by its name; None if it is none."""
    found = re.fullmatch(r"order_(\d{1,2})_of_(\d{1,2})", name) if isinstance(name, str) else None
    place, count = (int(found[1]), int(found[2])) if found else (0, 0)
    return (place, count) if 1 < place < count <= MOST_ORDERED else None


def ordered(
    values: Sequence[Any], place: int, lesser: Callable[..., Any], greater: Callable[..., Any]
) -> Any:
    """The `place`-th smallest of some values by the lesser and the greater of two, no part computed twice."""
    left = list(values)
    for _ in range(place):
        for i in range(len(left) - 1, 0, -1):  # the smallest goes to the front
            left[i - 1], left[i] = lesser(left[i - 1], left[i]), greater(left[i - 1], left[i])
        smallest, *left = left
    return smallest


@cache
def _order(place: int, count: int) -> Operator:
    name = order_name(place, count)
    if 2 * place == count + 1:
        called, said = "median", r"\operatorname{{median}}"
    else:
        word, number = ("smallest", place) if 2 * place <= count else ("largest", count + 1 - place)
        called, said = f"{word}_{number}", rf"\operatorname{{{{{word}}}}}_{{{{{number}}}}}"
    places = [f"{{{i}}}" for i in range(count)]
    inside = ", ".join(places)
    listed = " UNION ALL ".join(f"SELECT {value[:-1]}:n}} AS v" for value in places)
    numbered = ",".join(str(i + 1) for i in range(count))
    small = f"SMALL(CHOOSE({{{{{numbered}}}}},{','.join(places)}),{place})"
    return function(
        name,
        lambda *values: np.sort(np.stack(np.broadcast_arrays(*values)), axis=0)[place - 1],
        lambda *values: sorted(values)[place - 1],
        arity=count,
        sympy=lambda s, *values: s.Min(*(s.Max(*some) for some in combinations(values, place))),
        z3=lambda t, *values: ordered(
            values, place, lambda a, b: t.extremum("le", a, b), lambda a, b: t.extremum("ge", a, b)
        ),
        interval=lambda *values: Interval(
            sorted(value.low for value in values)[place - 1],
            sorted(value.high for value in values)[place - 1],
        ),
        text=Form(f"{called}({inside})"),
        python=Form(f"sorted([{inside}])[{place - 1}]"),
        latex=Form(rf"{said}\left({inside}\right)"),
        mathml=Form(_call(called, *places)),
        javascript=f"[{inside}].sort((one, other) => one - other)[{place - 1}]",
        c=f"ranked({place}, {count}, (double[]){{{{{inside}}}}})",
        sql=f"(SELECT v FROM ({listed}) AS l_ ORDER BY v LIMIT 1 OFFSET {place - 1})",
        spreadsheet=f"MEDIAN({','.join(places)})" if called == "median" else small,
        onnx=lambda g, *values: ordered(
            values, place, lambda a, b: g.extremum("Less", a, b), lambda a, b: g.extremum("Greater", a, b)
        ),
        listing=Form(f"np.sort(np.stack(np.broadcast_arrays({inside})), axis=0)[{place - 1}]"),
        cost=1.4,
        rank=2,
        keeps=_SELECTS,
    )


# SQL: a number divided by zero, by the zero's sign; whether a remainder has another sign than the divisor.
_BY_ZERO = "{0} * 1e999 * ATAN2({1}, -1e0)"
_OTHER_SIGN = "MOD({0}, {1}) < 0 AND {1} > 0 OR MOD({0}, {1}) > 0 AND {1} < 0"
#: `a // b`, which texts have for floor(a/b) of whole numbers: it is another one beyond 2**53 and by infinity.
QUOTIENT = function(
    "quotient",
    np.floor_divide,
    operator.floordiv,
    arity=2,
    **dict.fromkeys(("javascript", "c"), "quotient({0}, {1})"),
    sql=f"(SELECT CASE WHEN {{1}} = 0 THEN {_BY_ZERO} ELSE FLOOR(q_.d) + "
    "CASE WHEN q_.d - FLOOR(q_.d) > 0.5e0 THEN 1e0 ELSE 0e0 END END "
    "FROM (SELECT ({0} - MOD({0}, {1})) / {1} - "
    f"CASE WHEN {_OTHER_SIGN} THEN 1e0 ELSE 0e0 END AS d) AS q_)",
    spreadsheet="INT({0}/{1})",
    onnx=lambda g, a, b: g.quotient(a, b),
    whole=True,
)


class _Operators(dict[str, Operator]):
    """The entries by name; order statistics and `QUOTIENT` are not among those that are listed."""

    def __missing__(self, name: str) -> Operator:
        if name == QUOTIENT.name:
            return QUOTIENT
        found = order_of(name)
        if found is None:
            raise KeyError(name)
        return _order(*found)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or order_of(name) is not None


# fmt: off
OPERATORS: dict[str, Operator] = _Operators({entry.name: entry for entry in (
    _infix("add", np.add, operator.add, ("sum", " + ", "sum"), _B.SUM, (" + ", "<mo>+</mo>"),
           z3=lambda t, a, b: t.sum(a, b), interval=operator.add,
           cost=1.0, rank=0, keeps=_WHOLE, commutative=True, associative=True),
    _infix("sub", np.subtract, operator.sub, ("sum", " - ", "remainder"), _B.SUM, (" - ", "<mo>−</mo>"),
           z3=lambda t, a, b: t.sum(a, t.negative(b)), interval=operator.sub,
           cost=1.0, rank=0, keeps=_WHOLE),
    _infix("mul", np.multiply, operator.mul, ("product", "*", "product"), _B.PRODUCT,
           (r" \, ", '<mspace width="0.17em"/>'),
           z3=lambda t, a, b: t.product(a, b), interval=operator.mul,
           cost=1.0, rank=1, keeps=frozenset({"bits", "whole"}), commutative=True, associative=True),
    _infix("div", np.divide, _divide, ("product", "/", "unary"), _B.PRODUCT, ("", ""),
           sympy=lambda s, a, b: a / b, z3=lambda t, a, b: t.divide(a, b), defined=lambda a, b: b,
           interval=between.quotient,
           sql=(f"(CASE WHEN {{1}} = 0 THEN {_BY_ZERO} ELSE {{0}} / {{1}} END)", "({0} / {1})"),
           latex=Form(r"\frac{{{0}}}{{{1}}}"), mathml=Form("<mfrac><mrow>{0}</mrow><mrow>{1}</mrow></mfrac>"),
           cost=1.1, rank=7),
    _infix("mod", np.mod, operator.mod, ("unary", " % ", "unary"), _B.REMAINDER, ("", ""),
           sympy="Mod", z3=lambda t, a, b: t.mod(a, b), defined=lambda a, b: b,
           interval=between.remainder,
           latex=Form(r"{0:product} \bmod {1:atom}", _B.COMPARE),
           mathml=Form(_row('{0:product}<mo lspace="0.3em" rspace="0.3em">mod</mo>{1:atom}'), _B.COMPARE),
           javascript="mod({0}, {1})", c="mod({0}, {1})", spreadsheet="MOD({0},{1})",
           sql=(f"(CASE WHEN {_OTHER_SIGN} THEN MOD({{0}}, {{1}}) + {{1}} "
                "WHEN {1} < 0 THEN -1e0 * (ABS(MOD({0}, {1})) + 0e0) ELSE ABS(MOD({0}, {1})) + 0e0 END)",
                "(CASE WHEN MOD({0}, {1}) < 0 THEN MOD({0}, {1}) + {1} ELSE ABS(MOD({0}, {1})) + 0e0 END)"),
           onnx=lambda g, a, b: g.remainder(a, b), cost=1.3, rank=4, keeps=_WHOLE),
    _infix("pow", np.power, _power, ("atom", "**", "atom"), _B.POWER, ("", ""),
           sympy=lambda s, a, b: a**b, z3=lambda t, a, b: t.power(a, b), defined=_has_power,
           interval=between.power,
           latex=Form("{0:atom}^{{{1}}}", _B.POWER),
           mathml=Form("<msup>{0:atom}<mrow>{1}</mrow></msup>", _B.POWER),
           javascript="power({0}, {1})", c="pow({0}, {1})",
           sql=("(CASE WHEN {1} = 0 OR {0} = 1 THEN 1e0 ELSE POWER({0}, {1}) END)", "POWER({0}, {1})"),
           spreadsheet=("IF({1}=0,1,POWER({0},{1}))", "POWER({0},{1})"),
           listing=Form("{0:atom} ** {1:atom}", _B.SUM), cost=1.0, rank=7),
    function("neg", np.negative, operator.neg, sympy=lambda s, a: -a, z3=lambda t, a: t.negative(a),
             interval=operator.neg,
             text=Form("-{0:product}", _B.SUM), latex=Form("-{0:product}", _B.SUM),
             mathml=Form(_row("<mo>−</mo>{0:product}"), _B.SUM),
             **dict.fromkeys(("javascript", "c", "spreadsheet"), "(-{0})"), sql="(-1e0 * {0})",
             listing=Form("-{0:unary}", _B.SUM), cost=1.1, rank=0, keeps=_SIGNED),
    function("abs", np.abs, abs, sympy="Abs", interval=abs,
             z3=lambda t, a: t.extremum("ge", a, t.negative(a)),
             text=Form("abs({0})"), c="fabs({0})", sql="(ABS({0}) + 0e0)",
             latex=Form(r"\left|{0}\right|"), mathml=Form(fenced("{0}", "|", "|")),
             cost=1.2, rank=2, keeps=_SIGNED),
    function("relu", lambda a: np.maximum(a, 0), lambda a: max(a, 0),
             sympy=lambda s, a: s.Max(a, 0), z3=lambda t, a: t.extremum("ge", a, 0),
             interval=lambda a: between.greater(a, between.point(0)),
             text=Form("max({0}, 0)"), latex=Form(r"\max\left({0}, 0\right)"),
             mathml=Form(_call("max", "{0}", "<mn>0</mn>")),
             javascript="larger({0}, 0)", c="larger({0}, 0.0)", spreadsheet="MAX({0},0)",
             sql="(CASE WHEN {0:n} < 0 THEN 0e0 ELSE {0} END)",
             onnx=lambda g, a: g.extremum("Greater", a, g.number(0)),
             listing=Form("relu({0})"), cost=1.3, rank=2, keeps=_SIGNED),
    function("clip", np.clip, lambda a, low, high: min(max(a, low), high), arity=3,
             sympy=lambda s, a, low, high: s.Min(s.Max(a, low), high),
             interval=lambda a, low, high: between.lesser(between.greater(a, low), high),
             z3=lambda t, a, low, high: t.extremum("le", t.extremum("ge", a, low), high),
             text=Form("clip({0}, {1}, {2})"), python=Form("min(max({0}, {1}), {2})"),
             latex=Form(r"\min\left(\max\left({0}, {1}\right), {2}\right)"),
             mathml=Form(_call("min", _call("max", "{0}", "{1}"), "{2}")),
             **dict.fromkeys(("javascript", "c"), "smaller(larger({0}, {1}), {2})"),
             sql="(CASE WHEN {1:n} > {0:n} THEN CASE WHEN {2:n} < {1:n} THEN {2} ELSE {1} END "
                 "WHEN {2:n} < {0:n} THEN {2} ELSE {0} END)",
             spreadsheet="MIN(MAX({0},{1}),{2})",
             onnx=lambda g, a, low, high: g.extremum("Less", g.extremum("Greater", a, low), high),
             cost=1.4, rank=2, keeps=_SIGNED),
    _extremum("max", np.maximum, max, "ge"),
    _extremum("min", np.minimum, min, "le"),
    function("floor", np.floor, lambda a: a if isinstance(a, float) and isinf(a) else int(a // 1),
             z3=lambda t, a: t.floor(a), latex=Form(r"\left\lfloor {0} \right\rfloor"),
             interval=Interval.whole,
             mathml=Form(fenced("{0}", "⌊", "⌋")), spreadsheet="INT({0})",
             cost=1.3, rank=4, whole=True),
    _comparison("eq", np.equal, "== = = ===", "eq", "ne"),
    _comparison("ne", np.not_equal, r"!= \ne ≠ !==", "ne", "eq"),
    _comparison("ge", np.greater_equal, r">= \ge ≥ >=", "le", "lt"),
    _comparison("gt", np.greater, "> > &gt; >", "lt", "le"),
    _comparison("le", np.less_equal, r"<= \le ≤ <=", "ge", "gt"),
    _comparison("lt", np.less, "< < &lt; <", "gt", "ge"),
    _connective("and", np.logical_and, lambda a, b: bool(a) and bool(b), _B.AND, r"\land ∧ && &"),
    _connective("or", np.logical_or, lambda a, b: bool(a) or bool(b), _B.OR, r"\lor ∨ || |"),
    _truth("not", np.logical_not, operator.not_, truths=1, z3=lambda t, a: t.none(a),
           text=Form("not {0:not}", _B.NOT), latex=Form(r"\lnot {0:atom}"),
           mathml=Form(_row("<mo>¬</mo>{0:atom}")), javascript="({0} === 0 ? 1 : 0)",
           c="({0} == 0 ? 1.0 : 0.0)", sql="(CASE WHEN {0} = 0 THEN 1e0 ELSE 0e0 END)",
           spreadsheet="IF({0}=0,1,0)", onnx=lambda g, a: g.bit(g.add("Not", g.truth(a))),
           listing=Form("({0:unary} == 0) * 1.0", _B.SUM), cost=2.2, rank=5),
    function("where", lambda c, yes, no: np.where(np.asarray(c) != 0, yes, no),
             lambda c, yes, no: yes if c else no, arity=3, truths=1,
             sympy=lambda s, c, yes, no: s.Piecewise((yes, c), (no, True)),
             z3=lambda t, c, yes, no: t.choose(c, yes, no), interval=lambda c, yes, no: yes | no,
             text=Form("{1:or} if {0:or} else {2:where}", _B.WHERE),
             javascript="({0} !== 0 ? {1} : {2})", c="({0} != 0 ? {1} : {2})",
             sql="(CASE WHEN {0} = 0 THEN {2} ELSE {1} END)", spreadsheet="IF({0}<>0,{1},{2})",
             onnx=lambda g, c, yes, no: g.add("Where", g.truth(c), yes, no),
             listing=Form("np.where({0:unary} != 0, {1:unary}, {2:unary})"),
             cost=1.4, rank=6, keeps=frozenset({"bits", "whole"})),
    _irrational("sqrt", np.sqrt, sympy=lambda s, a: s.sqrt(a), defined=lambda a: a >= 0,
                interval=between.root,
                latex=Form(r"\sqrt{{{0}}}"), mathml=Form("<msqrt>{0}</msqrt>")),
    _irrational("exp", np.exp, interval=between.exponential),
    _irrational("log", np.log, sql="(CASE WHEN {0} = 0 THEN -1e999 ELSE LN({0}) END)", spreadsheet="LN({0})",
                defined=lambda a: a > 0, interval=between.logarithm),
    _irrational("sin", np.sin, interval=lambda a: Interval(-1, 1)),
    _irrational("cos", np.cos, interval=lambda a: Interval(-1, 1)),
)})
# fmt: on


def op(name: str, *args: Expr | Number) -> Expr:
    """`Op` with its arguments coerced and its arity checked."""
    if len(args) != OPERATORS[name].arity:
        raise ValueError(f"{name} takes {OPERATORS[name].arity} arguments, got {len(args)}")
    return Op(name, tuple(as_expr(a) for a in args))


def is_boolean(expr: Expr) -> TypeGuard[Op]:
    """Whether the expression is an operator whose value is always 0 or 1."""
    return isinstance(expr, Op) and OPERATORS[expr.name].boolean


def maximum(a: Expr | Number, b: Expr | Number) -> Expr:
    return op("max", a, b)


def minimum(a: Expr | Number, b: Expr | Number) -> Expr:
    return op("min", a, b)


def where(condition: Expr, yes: Expr | Number, no: Expr | Number) -> Expr:
    return op("where", condition, yes, no)


def numpy_names() -> frozenset[str]:
    """The functions of NumPy that texts of operators call."""
    texts = [text for entry in OPERATORS.values() for text in (entry.python, entry.listing)]
    return frozenset(name for text in texts for name in re.findall(r"np\.(\w+)", text.template))
