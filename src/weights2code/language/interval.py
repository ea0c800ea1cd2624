"""Intervals of exact numbers: between which two a value lies, whatever the variables are.

Ends are integers, fractions or infinities, never rounded inwards, so what is said of an interval holds for
every value in it. Fractions that get long are rounded outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, inf, log, sqrt
from typing import Any

#: Ends with longer denominators are rounded outwards to this many binary places.
_PLACES, _LONG = 24, 64
#: Ends beyond this are as good as infinite.
_MOST = 1 << 1100
#: A relative allowance for functions that are computed in float64.
_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: Any
    high: Any

    @property
    def size(self) -> Any:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def finite(self) -> bool:
        return not is_infinite(self.size)

    def __contains__(self, value: Any) -> bool:
        return self.low <= value <= self.high

    def __or__(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return between(_sum(self.low, other.low), _sum(self.high, other.high))

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        corners = [_times(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return between(min(corners), max(corners))

    def __abs__(self) -> Interval:
        least = 0 if 0 in self else min(abs(self.low), abs(self.high))
        return Interval(least, self.size)

    def whole(self) -> Interval:
        """Rounded down."""
        return Interval(*(end if is_infinite(end) else floor(end) for end in (self.low, self.high)))


def is_infinite(end: Any) -> bool:
    """`math.isinf` for numbers of any size."""
    return isinstance(end, float) and abs(end) == inf


ANYTHING = Interval(-inf, inf)
BIT = Interval(0, 1)


def between(low: Any, high: Any) -> Interval:
    """An interval whose ends are kept short, by rounding outwards."""
    return Interval(_short(low, floor), _short(high, ceil))


def point(value: Any) -> Interval:
    return Interval(value, value)


def greater(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), max(a.high, b.high))


def lesser(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), min(a.high, b.high))


def quotient(a: Interval, b: Interval) -> Interval:
    """Divisors that may be next to zero give any value."""
    if 0 in b or is_infinite(a.size) or is_infinite(b.size):
        return ANYTHING
    corners = [Fraction(m) / Fraction(n) for m in (a.low, a.high) for n in (b.low, b.high)]
    return between(min(corners), max(corners))


def remainder(a: Interval, b: Interval) -> Interval:
    """The sign is the divisor's, as in Python."""
    if a.low >= 0 and a.high < b.low:
        return a
    return Interval(min(b.low, 0), max(b.high, 0))


def power(base: Interval, exponent: Interval) -> Interval:
    """Powers with one natural exponent; others give any value."""
    n = exponent.low
    if n != exponent.high or not isinstance(n, int) or not 0 <= n <= 64:
        return ANYTHING
    base = abs(base) if n % 2 == 0 else base
    return between(_power(base.low, n), _power(base.high, n))


def root(a: Interval) -> Interval:
    return _increasing(sqrt, greater(a, point(0)))


def exponential(a: Interval) -> Interval:
    return _increasing(exp, a) if a.high < 700 else Interval(0, inf)


def logarithm(a: Interval) -> Interval:
    return _increasing(log, a) if a.low > 0 else ANYTHING


def _increasing(function: Any, a: Interval) -> Interval:
    if is_infinite(a.size):
        return ANYTHING
    low, high = (Fraction(function(float(end))) for end in (a.low, a.high))
    return between(low - abs(low) * Fraction(_SLACK), high + abs(high) * Fraction(_SLACK))


def _sum(a: Any, b: Any) -> Any:
    return a if is_infinite(a) else b if is_infinite(b) else a + b


def _times(a: Any, b: Any) -> Any:
    if a == 0 or b == 0:
        return 0
    if is_infinite(a) or is_infinite(b):
        return inf if (a > 0) == (b > 0) else -inf
    return a * b


def _power(base: Any, n: int) -> Any:
    if is_infinite(base):
        return 1 if n == 0 else base if n % 2 or base > 0 else -base
    return base**n


def _short(end: Any, rounded: Any) -> Any:
    if is_infinite(end):
        return end
    if abs(end) > _MOST:
        return inf if end > 0 else -inf
    if isinstance(end, Fraction):
        if end.denominator == 1:
            return end.numerator
        if end.denominator.bit_length() > _LONG:
            return Fraction(rounded(end * 2**_PLACES), 2**_PLACES)
    return end
