"""Rules typeset: one walk over formulas and steps, and a notation for each language of typesetting.

Subscripts stand for time, brackets around a test say that it is 1 or 0, retrieval is a case distinction, and
what lies before the start is said where it is not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from weights2code.language.categories import Categories, Label, label, spoken
from weights2code.language.domain import Category
from weights2code.language.expression import Const, Expr, Number, Op, Var
from weights2code.language.operators import Binding, Written, is_boolean
from weights2code.language.recurrence import Count, Definition, Recurrence, Relation, Retrieval, Start
from weights2code.language.text import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation(Writer):
    """How a language of typesetting writes what is no operator; places are what belongs to it, in order.

    Parameters
    ----------
    brackets, test : around what binds looser than it should; around a test that is read as a number.
    name, words, text : a name, words between formulas, and a text that a column holds.
    at : a name at an index.
    letter, digits : a letter such as t, and digits.
    minus, fraction, power, infinity : of numbers; a power of ten has its mantissa and exponent.
    relations : how values compare.
    times, square : of two numbers side by side, and of a value.
    case, next_case, cases : a value and when; what stands between two of them; all of them.
    counted : a condition on s, up to now.
    """

    brackets: tuple[str, str]
    test: tuple[str, str]
    name: Callable[[str], str]
    words: Callable[[str], str]
    text: Callable[[Category | None], str]
    at: str
    letter: str
    digits: str
    minus: str
    fraction: str
    power: str
    infinity: str
    relations: Mapping[Relation, str]
    times: str
    square: str
    case: str
    next_case: str
    cases: str
    counted: str

    def at_time(self, variable: Var) -> str:
        """`x` with the subscript `t-1`."""
        t, lag = self.letter.format("t"), variable.lag
        return self.at.format(self.name(variable.name), f"{t}{self._less(lag)}")

    def _less(self, lag: int) -> str:
        return f"{self.minus}{self.digits.format(lag)}" if lag else ""

    def equations(self, recurrence: Recurrence, categories: Categories) -> Iterator[tuple[str, str, bool]]:
        """Both sides of every step, then those of start values that are not zero, which hold for s < 0."""
        recurrence, types = spoken(recurrence, categories)
        for step in recurrence.steps:
            yield self.variable(Var(step.name)), self._definition(step.definition, types), False
        for name in recurrence.depths():
            start, own = recurrence.start_of(name), self.name(name)
            if start != 0:
                first = self.at.format(own, self.digits.format(0))
                value = first if isinstance(start, str) else self._constant(start, types.get(name))
                yield self.at.format(own, self.letter.format("s")), value, True

    def _constant(self, value: Start, texts: tuple[Category, ...] | None) -> str:
        """A number, or the text that it stands for."""
        return self.value(label(value, texts) if texts else Const(float(value))).text

    def _definition(self, definition: Definition, types: Categories) -> str:
        if isinstance(definition, Expr):
            return self.value(definition).text
        s, t = self.letter.format("s"), self.letter.format("t")
        assert isinstance(definition, (Count, Retrieval)), definition
        sign = self.relations[definition.relation if isinstance(definition, Count) else "eq"]
        met = f"{self.at.format(self.name(definition.key), s)}{sign}{self.value(definition.query).text}"
        if isinstance(definition, Count):
            return self.counted.format(met)
        so_far = f"{s}{self.relations['le']}{t}{self._less(definition.gap)}"
        found = f"{self.words('for the last ')}{so_far}{self.words(' with ')}{met}"
        default = self._constant(definition.default, types.get(definition.value))
        value = self.at.format(self.name(definition.value), s)
        return self.choice([(value, found), (default, self.words("if there is none"))])

    def choice(self, rows: list[tuple[str, str]]) -> str:
        """Values, each with when it is taken."""
        return self.cases.format(self.next_case.join(self.case.format(*row) for row in rows))

    def number(self, value: Number) -> Written:
        if value < 0:
            return self.written(f"{self.minus}{self.number(-value)}", Binding.SUM)
        if isinstance(value, Fraction):
            parts = (self.digits.format(part) for part in (value.numerator, value.denominator))
            return self.written(self.fraction.format(*parts))
        text = repr(Const(value).value)
        if "e" in text:
            mantissa, exponent = text.split("e")
            power = self.power.format(self.digits.format(mantissa), self.number(int(exponent)))
            return self.written(power, Binding.PRODUCT)
        return self.written(self.infinity if text == "inf" else self.digits.format(text))

    def written(self, text: str, binding: Binding = Binding.ATOM) -> Written:
        return Written(text, binding, self.brackets)

    def condition(self, expr: Expr) -> Written:
        return self.operator(expr) if is_boolean(expr) else self.value(expr)

    def label(self, label: Label) -> str:
        return self.text(label.text)

    def truth(self, expr: Op) -> Written:
        return self.written(self.operator(expr).text.join(self.test))

    def special(self, expr: Op) -> Written | None:
        if expr.name == "mul":
            left, right = map(self.value, expr.args)
            if expr.args[0] == expr.args[1] and not isinstance(expr.args[0], Const):
                return self.written(self.square.format(left), Binding.POWER)
            if isinstance(expr.args[1], Const):  # two numbers side by side would read as one
                return self.written(self.times.format(left, right), Binding.PRODUCT)
        return self.where(expr) if expr.name == "where" else None

    def where(self, expr: Op) -> Written:
        """Nested choices of the form "else if" as one list of cases."""
        rows: list[tuple[str, str]] = []
        rest: Expr = expr
        while isinstance(rest, Op) and rest.name == "where":
            told = f"{self.words('if ')}{self.condition(rest.args[0])}"
            rows.append((self.value(rest.args[1]).text, told))
            rest = rest.args[2]
        rows.append((self.value(rest).text, self.words("otherwise")))
        return self.written(self.choice(rows), Binding.COMPARE)
