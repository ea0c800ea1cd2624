"""How large the values of a program get, over the whole domain: interval arithmetic, position by position.

Where values of the past feed themselves, their bounds grow until nothing changes, or without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import ceil, inf
from typing import Any

from weights2code.language import (
    OPERATORS,
    Const,
    Count,
    Domain,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Selection,
    Var,
    exact_number,
    expression_of,
)
from weights2code.language.interval import ANYTHING, Interval, is_infinite, point
from weights2code.language.kinds import kinds_of

#: Rounds after which growing bounds jump to the next power of two, and after which they are given up.
_PATIENT, _GIVEN_UP = 12, 120
_MOST_WIDENED = 1 << 90
#: Names with infinite start values, each of which doubles the work.
_MOST_INFINITE = 4


def positions_below(program: Recurrence, domains: tuple[Domain, ...], limit: int, most: int) -> int:
    """For how many positions from the start every value stays below the limit for sure, `most` at most."""
    ranges = Ranges(program, domains)
    for position in range(most):
        if ranges.advance() >= limit:
            return position
    return most


def bounds_of(program: Recurrence, domains: tuple[Domain, ...]) -> dict[str, Interval]:
    """Between which numbers every name stays, at any length; infinite where no bound was found."""
    ranges = Ranges(program, domains)
    ranges.settle()
    return ranges.held


def always_defined(program: Recurrence, domains: tuple[Domain, ...]) -> bool:
    """Whether every quotient, root, logarithm and power has a value for sure, by the intervals of what they
    are of."""
    ranges = Ranges(program, domains)
    ranges.settle()
    for step in program.steps:
        for node in expression_of(step.definition).walk():
            if not isinstance(node, Op) or OPERATORS[node.name].defined is None:
                continue
            first, last = (ranges.interval(part) for part in (node.args[0], node.args[-1]))
            natural = last.low == last.high and last.low >= 0 and last.low % 1 == 0
            if not {
                "sqrt": first.low >= 0, "log": first.low > 0, "pow": natural or first.low > 0,
            }.get(node.name, last.low > 0 or last.high < 0):  # fmt: skip
                return False
    return True


class Ranges:
    """Intervals of all names over the positions so far, and over what lies before the start.

    Infinite start values are the same in every arithmetic: each name that has one is read once as that and
    once as what it was computed to be, and only finite values count.
    """

    def __init__(
        self, program: Recurrence, domains: tuple[Domain, ...], seen: Mapping[str, Interval] | None = None
    ) -> None:
        self.program, self.kinds = program, kinds_of(program, domains)
        self.fixed = dict(seen or {})
        for name, values in self.kinds.values.items():
            if seen is None and values and not any(is_infinite(value) for value in values):
                self.fixed[name] = Interval(exact_number(min(values)), exact_number(max(values)))
        for name, domain in zip(program.inputs, domains, strict=True):
            self.fixed[name] = Interval(exact_number(domain.low), exact_number(domain.high))
        self.held, self.infinite = dict(self.fixed), {}
        for name in program.depths():
            start = program.start_of(name)
            if isinstance(start, str):
                continue
            if is_infinite(start):
                self.infinite[name] = point(start)
            else:
                self._hold(name, point(exact_number(start)))

    def settle(self) -> None:
        """Go on until nothing changes; ends that will not stop are given up."""
        for count in range(_GIVEN_UP):
            before = dict(self.held)
            self.advance()
            if self.held == before:
                return
            if count >= _PATIENT:
                self._widen(before)
        changed = True
        while changed:
            before = dict(self.held)
            self.advance()
            moving = [name for name, interval in self.held.items() if interval != before.get(name)]
            self.held |= dict.fromkeys(moving, ANYTHING)
            changed = bool(moving) and any(before.get(name) != ANYTHING for name in moving)

    def advance(self) -> Any:
        """One more position; the largest value that it may meet on the way."""
        if len(self.infinite) > _MOST_INFINITE:
            self.held |= {step.name: ANYTHING for step in self.program.steps}
            return inf
        names = list(self.infinite)
        found: dict[str, Interval] = {}
        largest: Any = 0
        for chosen in product((False, True), repeat=len(names)):
            held = {**self.held, **{n: self.infinite[n] for n, c in zip(names, chosen, strict=True) if c}}
            if all(name in held for name in names):
                largest = max(largest, self._position(held, found))
        for name, interval in found.items():
            self._hold(name, interval)
        return largest

    def _position(self, held: Mapping[str, Interval], found: dict[str, Interval]) -> Any:
        """The intervals of all steps join what was found; the largest value on the way."""
        present: dict[str, Interval] = {}
        largest: Any = 0
        for step in self.program.steps:
            definition = step.definition
            interval, size = self._interval(expression_of(definition), held, present)
            if isinstance(definition, Count):
                interval = Interval(0, held.get(step.name, point(0)).high + 1)
            elif isinstance(definition, Retrieval | Selection):
                default = point(exact_number(definition.default))
                past = held.get(definition.value, default)
                interval = (past if definition.gap else present.get(definition.value, past)) | default
                interval = interval | past if isinstance(definition, Selection) else interval
            largest = max(largest, size)
            present[step.name] = interval = self.fixed.get(step.name, interval)
            if _is_one_infinity(interval):
                self.infinite.setdefault(step.name, interval)
            else:
                found[step.name] = found.get(step.name, interval) | interval
        return largest

    def interval(self, expr: Expr) -> Interval:
        """Between which numbers an expression lies, whatever the names are."""
        return self._interval(expr, self.held, self.held)[0]

    def _hold(self, name: str, interval: Interval) -> None:
        self.held[name] = self.held.get(name, interval) | interval

    def _widen(self, before: Mapping[str, Interval]) -> None:
        """Ends that still move jump to the next power of two."""
        for name, interval in self.held.items():
            old = before.get(name, interval)
            low = interval.low if interval.low == old.low else -_power_above(-interval.low)
            high = interval.high if interval.high == old.high else _power_above(interval.high)
            self.held[name] = Interval(low, high)

    def _interval(
        self, expr: Expr, held: Mapping[str, Interval], present: Mapping[str, Interval]
    ) -> tuple[Interval, Any]:
        """The interval of an expression, and the largest value on the way to it."""
        largest: Any = 0

        def visit(node: Expr) -> tuple[Interval, Any]:
            nonlocal largest
            if isinstance(node, Const):
                value = exact_number(node.value)
                interval, size = point(value), abs(value)
            elif isinstance(node, Var):
                interval = (held if node.lag or node.name not in present else present)[node.name]
                size = interval.size
            else:
                assert isinstance(node, Op)
                parts = [visit(argument) for argument in node.args]
                interval = OPERATORS[node.name].interval(*(part for part, _ in parts))
                if node.name == "div" and 0 in parts[1][0] and self.kinds.is_integer(node.args[1]):
                    above = parts[0][0].size  # a whole divisor that is not zero is at least one
                    interval = Interval(-above, above)
                size = partial_size(node, interval, [size for _, size in parts])
            if _is_one_infinity(interval):
                size = 0
            largest = max(largest, size)
            return interval, size

        return visit(expr)[0], largest


def _is_one_infinity(interval: Interval) -> bool:
    return interval.low == interval.high and is_infinite(interval.low)


def _power_above(end: Any) -> Any:
    """The next power of two that is not below a number; of negative ones, the one with a minus sign."""
    if is_infinite(end) or end == 0:
        return end
    if end < 0:
        return -(1 << (int(-end).bit_length() - 1)) if end <= -1 else 0
    power = 1 << max(0, (ceil(end) - 1).bit_length())
    return power if power < _MOST_WIDENED else inf


def partial_size(node: Op, interval: Interval, sizes: list[Any]) -> Any:
    """The largest partial result on the way to a value, however the text groups sums and products."""
    if node.name in ("add", "sub"):
        return sizes[0] + sizes[1]
    if node.name == "mul":
        return max(1, sizes[0]) * max(1, sizes[1])
    return interval.size
