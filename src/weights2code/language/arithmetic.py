"""What float64 makes of a program that is right in exact arithmetic: how large, how exact, how far off.

Identities and induction reason about exact numbers, the program's text computes in float64. On whole numbers
the two agree as long as no value on the way needs more digits than float64 has, and every comparison, floor
and remainder looks at numbers that it holds exactly, or at one quotient of such numbers: it is rounded once,
and never across a number that float64 holds or across another quotient, if both are small. `0.1*x + 0.2*x ==
0.3*x` is the counterexample: true of numbers, false of floats. So is `(x + 2**53) - 2**53`.

How large values get is for `ranges` to say. Where they grow without end, what is said here holds as long as
no value reaches a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from math import frexp, inf
from typing import Any

from weights2code.language import (
    OPERATORS,
    Const,
    Domain,
    Expr,
    Op,
    OverAll,
    Recurrence,
    Retrieval,
    Selection,
    Var,
    exact_number,
    expression_of,
)
from weights2code.language.evaluation import nearest
from weights2code.language.interval import ANYTHING, Interval, between, is_infinite, point
from weights2code.language.kinds import is_natural
from weights2code.language.ranges import Ranges, bounds_of, partial_size, positions_below

#: Float64 holds every whole number up to this many binary digits, and rounds by at most this share.
_DIGITS = 53
_UNIT = 2.0**-_DIGITS
#: Decisions on quotients need room for the products that tell two of them apart.
_DIGITS_OF_QUOTIENTS = 26
#: Positions that are looked at one by one for values that outgrow float64.
_MOST_POSITIONS = 256
#: Words for rounding that adds up.
CARRIED = ", which adds up"
#: Fractions of more binary places than this count as rounded.
_MOST_PLACES = 40


class Precision(IntEnum):
    """How a float64 value relates to the number that it stands for; joins are maxima."""

    #: It is that number.
    EXACT = 0
    #: It is a quotient of exact numbers, rounded once: safe to compare with others of its kind.
    QUOTIENT = 1
    #: It is a quotient plus an exact number. Where that ties with an exact number, the quotient is exact too.
    SHIFTED = 2
    #: It is near that number.
    INEXACT = 3


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A program as float64 computes it while no value reaches `limit`.

    `decided`: rounding changes no decision. `exact`: no output is rounded, if decisions are right. `forgets`:
    nothing that is rounded is carried on to later positions. `largest`: no value on the way to an output is
    larger, at any length; infinite where that is not known.
    """

    decided: bool
    exact: bool
    forgets: bool
    limit: int
    largest: Any

    @property
    def bounded(self) -> bool:
        return self.largest < self.limit


def arithmetic(
    program: Recurrence, domains: tuple[Domain, ...], seen: Mapping[str, Interval] | None = None
) -> Arithmetic:
    """How a program computes, at any length; or while its names stay within what was `seen`."""
    ranges = Ranges(program, domains, seen)
    ranges.settle()
    analysis = _Analysis(program, domains, ranges.held)
    analysis.settle()
    digits = _DIGITS_OF_QUOTIENTS if analysis.quotients_decide else _DIGITS
    limit = 1 << max(0, digits - analysis.places)
    largest = ranges.advance()
    if analysis.quotients_decide:
        largest = max(largest, analysis.fractions)
    rounded = {name for name, known in analysis.known.items() if known.precision != Precision.EXACT}
    return Arithmetic(
        analysis.decided,
        rounded.isdisjoint(program.outputs),
        rounded.isdisjoint(program.depths()),
        limit,
        largest,
    )


def rounding(
    program: Recurrence, domains: tuple[Domain, ...], bounds: Mapping[str, Interval]
) -> tuple[dict[str, float], float]:
    """How far one position rounds each step at most, decisions apart, in whatever order sums are taken, while
    names stay within the bounds.

    Beside it, how far at most what is compared or rounded down is off: decisions nearer to a border may fall
    otherwise.
    """
    analysis = _Analysis(program, domains, bounds)
    analysis.settle()
    return analysis.errors, analysis.border


def follows_exactly(
    program: Recurrence, domains: tuple[Domain, ...], reach: float | None = None
) -> tuple[str, Fraction] | str:
    """What float64 makes of the text of a program that is right in exact numbers: the words for it and by how
    much its outputs may be off; or why nothing can be said."""
    found, discrete = arithmetic(program, domains), all(domain.discrete for domain in domains)
    words = "in exact arithmetic"
    if discrete and not found.decided:
        return "rounding may change a decision of the program"
    if discrete and found.exact:
        if found.bounded:
            words += f", which the text follows (no value exceeds {float(found.largest):.17g})"
            return words, Fraction(0)
        positions = positions_below(program, domains, found.limit, _MOST_POSITIONS)
        if not positions:
            return "values are too large for float64 from the start"
        limit = f"as long as no value reaches 2**{found.limit.bit_length() - 1}"
        beyond = "" if positions == _MOST_POSITIONS else f" (not in the first {positions} positions)"
        return f"{words}, which the text follows {limit}{beyond}", Fraction(0)
    bounds = bounds_of(program, domains)
    grows = [name for name, interval in bounds.items() if not interval.finite]
    if grows and reach is None:
        return f"{grows[0]} has no bound"
    ends = exact_number(reach or 0.0)
    bounds |= dict.fromkeys(grows, Interval(-ends, ends))
    errors, border = rounding(program, domains, bounds)
    error = max(errors.values())
    if not max(error, border) < 1e300:
        return "rounding has no bound"
    said = []
    if error:
        while_small = f" while no value exceeds {reach:.3g}" if grows else ""
        carried = CARRIED if discrete and (grows or not found.forgets) else ""
        said.append(f"rounds by at most {error:.1g} a position{while_small}{carried}")
    if border and not discrete:
        said.append(f"decides otherwise only within {border:.1g} of a border")
    words += f"; the text {' and '.join(said)}" if said else ", which the text follows"
    return words, Fraction(error)


def off_by(
    network: Recurrence,
    own: tuple[str, ...],
    program: Recurrence,
    domains: tuple[Domain, ...],
    limit: int | None = None,
) -> float | None:
    """How far float64 may take what a network adds up, in whatever order, while no output of its program,
    which it reads as its `own`, is beyond a limit; None if there is no bound."""
    bounds, ends = bounds_of(program, domains), list(domains)
    for name, output in zip(own, program.outputs, strict=True):
        start, found = network.start_of(name), bounds[output]
        held = found if limit is None else Interval(max(found.low, -limit), min(found.high, limit))
        held |= point(exact_number(start))
        if not held.finite:
            return None
        ends.append(Domain("reals" if held.low % 1 or held.high % 1 else "integers", held.low, held.high))
    # what it puts out is what it reads: a function of rows and of past outputs
    steps = tuple(step for step in network.steps if step.name not in own)
    forced = Recurrence((*network.inputs, *own), steps, network.outputs, dict(network.start))
    errors, _ = rounding(forced, tuple(ends), bounds_of(forced, tuple(ends)))
    largest = max(max(-domain.low, domain.high) for domain in ends[len(domains) :])
    # a half is added before it is rounded down; what is so large is no number of float64 anyhow
    error = max(errors[name] for name in network.outputs) + _UNIT * (float(min(largest, 1 << 1000)) + 2.0)
    return error if error < 1e300 else None


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one value besides its interval: a multiple of 2**-places, unless places is None."""

    precision: Precision
    places: int | None


@dataclass(frozen=True, slots=True)
class _Value:
    interval: Interval
    size: Any
    known: _Known
    error: float


class _Analysis:
    """Precision of every name, from the best that is consistent, and what it takes to decide."""

    def __init__(
        self, program: Recurrence, domains: tuple[Domain, ...], bounds: Mapping[str, Interval]
    ) -> None:
        self.program, self.bounds = program, bounds
        self.known = {
            name: _of_number(program.start_of(name)) if domain.discrete else _ROUNDED
            for name, domain in zip(program.inputs, domains, strict=True)
        }
        self.known |= {step.name: _of_number(program.start_of(step.name)) for step in program.steps}

    def settle(self) -> None:
        """Repeat until nothing changes."""
        while True:
            before = dict(self.known)
            self.decided, self.quotients_decide = True, False
            self.places, self.fractions, self.border = 0, 0, 0.0
            self.errors: dict[str, float] = dict.fromkeys(self.program.inputs, 0.0)
            for step in self.program.steps:
                definition = step.definition
                value = self.visit(expression_of(definition))
                known, error = value.known, value.error
                if isinstance(definition, Selection):
                    self.decided, self.border = False, inf  # scores may be rounded to either side
                elif isinstance(definition, OverAll):
                    key = self.known[definition.key]
                    self.decided &= max(value.known.precision, key.precision) == Precision.EXACT
                    known, error = _WHOLE, 0.0
                if isinstance(definition, Retrieval | Selection):
                    known = _join(self.known[definition.value], _of_number(definition.default))
                self.known[step.name] = _join(self.known[step.name], known)
                self.errors[step.name] = error
            if self.known == before:
                return

    def visit(self, node: Expr) -> _Value:
        value = self.of(node)
        if value.known.places is not None:
            self.places = max(self.places, value.known.places)
        return value

    def of(self, node: Expr) -> _Value:
        if isinstance(node, Const):
            number = exact_number(node.value)
            known = _of_number(node.value)
            error = 0.0
            if known.precision != Precision.EXACT:  # a quotient, whose parts must be small for comparisons
                error = _UNIT * float(abs(number))
                self.fractions = max(self.fractions, abs(number.numerator), number.denominator)
            return _Value(point(number), abs(number), known, error)
        if isinstance(node, Var):
            interval = self.bounds.get(node.name, point(0))  # never anything but its infinite start
            error = self.errors.get(node.name, 0.0) if not node.lag else 0.0
            return _Value(interval, interval.size, self.known[node.name], error)
        assert isinstance(node, Op)
        entry = OPERATORS[node.name]
        if entry.compares:
            node = Op(node.name, _sides(*node.args))
        parts = [self.visit(argument) for argument in node.args]
        interval = entry.interval(*(part.interval for part in parts))
        known = self.precision(node, parts)
        if node.name == "div" and not interval.finite:
            interval = self.quotient(parts)
        size = partial_size(node, interval, [part.size for part in parts])
        exact = known.precision == Precision.EXACT and known.places is not None
        if exact and not is_infinite(size) and size * (1 << (known.places or 0)) <= 1 << _DIGITS:
            return _Value(interval, size, known, 0.0)
        return _Value(interval, size, known, _error(node, parts, interval, size))

    def quotient(self, parts: list[_Value]) -> Interval:
        """A divisor that is never zero is at least one unit of its last place."""
        above, below = parts
        if below.known.places is None or not above.interval.finite:
            return ANYTHING
        size = above.interval.size * (1 << below.known.places)
        return between(-size, size)

    def precision(self, node: Op, parts: list[_Value]) -> _Known:
        """Of the value of an operator; notes whether all decisions inside are safe."""
        entry = OPERATORS[node.name]
        kinds = sorted(part.known.precision for part in parts)
        low, worst = kinds[0], kinds[-1]
        if entry.compares:
            comparable = worst <= Precision.QUOTIENT or (
                low == Precision.EXACT and worst <= Precision.SHIFTED
            )
            self.decide(worst, comparable, parts)
            return _WHOLE
        if node.name == "where":
            condition, yes, no = (part.known for part in parts)
            self.decide(condition.precision, condition.precision <= Precision.SHIFTED, parts[:1])
            return _join(yes, no)
        if entry.boolean or entry.whole:
            self.decide(worst, worst <= Precision.SHIFTED, parts)
            return _WHOLE
        if node.name == "mod":
            self.decide(worst, worst == Precision.EXACT, parts)
            return _join(*(part.known for part in parts))
        return _of_arithmetic(node, [part.known for part in parts], low, worst)

    def decide(self, worst: Precision, safe: bool, parts: list[_Value]) -> None:
        self.decided &= safe
        self.border = max(self.border, sum(part.error for part in parts))
        self.quotients_decide |= worst > Precision.EXACT


_WHOLE = _Known(Precision.EXACT, 0)
_ROUNDED = _Known(Precision.INEXACT, None)


def _join(one: _Known, other: _Known) -> _Known:
    places = None if one.places is None or other.places is None else max(one.places, other.places)
    return _Known(max(one.precision, other.precision), places)


def _with_places(places: int) -> _Known:
    return _Known(Precision.EXACT, max(0, places)) if places <= _MOST_PLACES else _ROUNDED


def _of_number(value: object) -> _Known:
    if isinstance(value, str) or value in (inf, -inf):
        return _WHOLE
    denominator = Fraction(exact_number(value)).denominator
    short = denominator & (denominator - 1) == 0 and denominator.bit_length() - 1 <= _MOST_PLACES
    return _with_places(denominator.bit_length() - 1) if short else _Known(Precision.QUOTIENT, None)


def _of_arithmetic(node: Op, known: list[_Known], low: Precision, worst: Precision) -> _Known:
    exact = worst == Precision.EXACT
    places = [item.places or 0 for item in known]
    if "digits" in OPERATORS[node.name].keeps:
        return known[0] if len(known) == 1 else _Known(worst, max(places) if exact else None)
    if node.name in ("add", "sub"):
        if exact:
            return _with_places(max(places))
        shifted = low == Precision.EXACT and worst <= Precision.SHIFTED
        return _Known(Precision.SHIFTED if shifted else Precision.INEXACT, None)
    if node.name == "mul":
        if exact:
            return _with_places(sum(places))
        scaled = any(_power_of_two(argument) is not None for argument in node.args)
        return _Known(worst if scaled else Precision.INEXACT, None)
    if node.name == "div":
        power = _power_of_two(node.args[1])
        if power is not None:
            return _with_places(places[0] + power) if exact else _Known(worst, None)
        return _Known(Precision.QUOTIENT if exact else Precision.INEXACT, None)
    exponent = node.args[-1]
    if node.name == "pow" and isinstance(exponent, Const) and is_natural(exponent.value) and exact:
        return _with_places(places[0] * int(exponent.value))
    return _ROUNDED


def _power_of_two(expr: Expr) -> int | None:
    """k, if the expression is 2**k or its opposite."""
    if not isinstance(expr, Const) or expr.value == 0 or is_infinite(expr.value):
        return None
    mantissa, exponent = frexp(float(expr.value))
    return exponent - 1 if abs(mantissa) == 0.5 else None


def _sides(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """A difference compared with zero is its two sides compared: float64 gets the sign right."""
    for difference, zero in ((left, right), (right, left)):
        if zero == Const(0) and isinstance(difference, Op) and difference.name == "sub":
            first, second = difference.args
            return (first, second) if difference is left else (second, first)
    return left, right


def _error(node: Op, parts: list[_Value], interval: Interval, size: Any) -> float:
    """How far the float64 value of an operator is from the exact one; decisions count as right."""
    sizes = [nearest(part.interval.size) for part in parts]
    errors = [part.error for part in parts]
    own = _UNIT * nearest(interval.size)
    if OPERATORS[node.name].boolean or OPERATORS[node.name].whole:
        return 0.0
    if node.name == "where":
        return max(errors[1:])
    if "digits" in OPERATORS[node.name].keeps:
        return max(errors)
    if node.name in ("add", "sub"):
        return sum(errors) + _UNIT * nearest(size)
    if node.name == "mul":
        return _product(errors[0], sizes[1]) + _product(errors[1], sizes[0] + errors[0]) + own
    if node.name == "div":
        least = nearest(abs(parts[1].interval).low)
        if least == 0 and parts[1].known.places is not None:
            least = 2.0 ** -parts[1].known.places
        least -= errors[1]
        return (errors[0] + _product(nearest(interval.size), errors[1])) / least + own if least > 0 else inf
    if node.name == "mod":
        return sum(errors) + own
    if node.name in ("sin", "cos"):
        return errors[0] + 2 * own
    if max(errors) == 0.0:
        return 2 * own
    if node.name == "pow" and isinstance(node.args[1], Const):
        power = float(node.args[1].value)
        return abs(power) * errors[0] * max(1.0, sizes[0]) ** max(0.0, power - 1) * 2 + 2 * own
    if node.name == "exp":
        return _product(2 * errors[0], nearest(interval.size)) + 2 * own if errors[0] < 1 else inf
    least = nearest(parts[0].interval.low) - errors[0]
    if node.name in ("sqrt", "log") and least > 0:
        return errors[0] / (least if node.name == "log" else 2 * least**0.5) + 2 * own
    return inf


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0.0 else a * b
