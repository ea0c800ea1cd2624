"""Up to which values a network, rounded to whole numbers, equals its program.

Weights that are a little off hold as long as the values that they multiply stay small. By induction network
and program have read the same past so far; they go on being equal while the difference one step ahead, and
what float64 may be off when it computes the network, stay below one half together. Where that fails, values
of the past are written as the program's formulas of earlier ones: no past is asked about that cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph
from weights2code.language import OPERATORS, Const, Domain, Expr, Op, Recurrence, Var, exact_number
from weights2code.language.interval import ANYTHING, Interval, is_infinite, point
from weights2code.network.box import Box
from weights2code.network.difference import Difference, difference_of
from weights2code.network.leaves import leaves_of, rounding_at
from weights2code.network.pieces import largest_of
from weights2code.verify.product import inlined
from weights2code.verify.ranges import bounds_of

#: Float64 holds every whole number up to this power of two.
_MOST = 53
#: Of the effort that is left, one question may take one part in so many.
_SHARES = 6


@dataclass(frozen=True, slots=True)
class Limit:
    """Both are equal while no value of the past is larger than `values`, `after` so many positions.

    Infinity: whatever the past is, as far as the program lets it be. 0: not even where values are small, as
    far as could be shown. At the first positions something from before the start is read, so they are another
    matter.
    """

    values: float
    after: int


def limit_of_values(
    graph: DiscreteGraph,
    program: Recurrence,
    domains: tuple[Domain, ...],
    effort: Effort,
    margin: float = 0.0,
    bounds: Mapping[str, Interval] | None = None,
) -> Limit | None:
    """The largest power of two up to which network, rounded, and program are equal.

    None: one of them is no function of finitely many leaves that can be bounded, or not of whole numbers.

    Parameters
    ----------
    margin
        How far from the next rounding border outputs have to stay besides.
    bounds
        Between which numbers names are known to stay at any length; by interval arithmetic if not given.
    """
    machine = program.live()
    network = leaves_of(graph)
    if network is None or machine.retrieves() or not all(domain.discrete for domain in domains):
        return None
    formulas = inlined(machine)
    outputs = tuple(formulas[name] for name in machine.outputs)
    read = tuple(dict.fromkeys([*network, *(v for formula in outputs for v in formula.variables())]))
    bounds = bounds_of(program, domains) if bounds is None else bounds
    found = None
    for latest in range(max((leaf.lag for leaf in read), default=0) + 2):
        past = past_formulas(formulas, read, latest)
        one_step = None if latest and not past else _OneStep.of(graph, outputs, read, past)
        if one_step is None:
            break
        found = one_step.limit(bounds, effort, margin)
        if found.values or effort.spent():
            break
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _OneStep:
    """Network and program one step ahead, as functions of `leaves`, which say what they `read`."""

    graph: DiscreteGraph
    read: tuple[Var, ...]
    past: Mapping[Var, Expr]
    leaves: tuple[Var, ...]
    difference: Difference

    @staticmethod
    def of(
        graph: DiscreteGraph, outputs: tuple[Expr, ...], read: tuple[Var, ...], past: Mapping[Var, Expr]
    ) -> _OneStep | None:
        leaves = tuple(dict.fromkeys(v for leaf in read for v in past.get(leaf, leaf).variables()))
        difference = difference_of(graph, outputs, leaves, np.ones(len(leaves), bool), past)
        return None if difference is None else _OneStep(graph, read, past, leaves, difference)

    def limit(self, bounds: Mapping[str, Interval], effort: Effort, margin: float) -> Limit:
        """The largest power of two up to which both are equal, by bisection."""
        after = max((leaf.lag for leaf in self.leaves), default=0)
        ranges = [bounds.get(leaf.name, ANYTHING) for leaf in self.leaves]

        def equal(power: int) -> bool:
            share = Effort(effort.left / _SHARES)
            effort.spend(share.left)
            equal = self.equal(ranges, 2.0**power, share, margin)
            effort.spend(-share.left)
            return equal

        if all(item.finite for item in ranges):
            return Limit(inf if equal(_MOST) else 0.0, after)
        if not equal(0):
            return Limit(0.0, after)
        power, too_large = 0, _MOST + 1
        while too_large - power > 1:
            middle = (power + too_large) // 2
            power, too_large = (middle, too_large) if equal(middle) else (power, middle)
        return Limit(2.0**power, after)

    def equal(self, ranges: list[Interval], limit: float, effort: Effort, margin: float) -> bool:
        """Whether both are equal while no value that has no bound is larger than the limit."""
        low = np.array([-limit if is_infinite(item.low) else float(item.low) for item in ranges])
        high = np.array([limit if is_infinite(item.high) else float(item.high) for item in ranges])
        box = Box(self.leaves, low, np.maximum(low, high), np.ones(len(low), bool))
        below = 0.5 - margin - float(rounding_at(self.graph, self._sizes(box)).max())
        return below > 0 and all(
            found.upper < below for found in largest_of(self.difference, box, effort, below=below)
        )

    def _sizes(self, box: Box) -> dict[Var, float]:
        """How large everything that is read can be."""
        ends = zip(box.low.tolist(), box.high.tolist(), strict=True)
        known = dict(
            zip(box.leaves, (Interval(Fraction(low), Fraction(high)) for low, high in ends), strict=True)
        )

        def interval(expr: Expr) -> Interval:
            if isinstance(expr, Op):
                return OPERATORS[expr.name].interval(*(interval(argument) for argument in expr.args))
            return point(exact_number(expr.value)) if isinstance(expr, Const) else known[expr]  # type: ignore[index]

        return {leaf: float(interval(self.past.get(leaf, leaf)).size) for leaf in self.read}


def past_formulas(formulas: Mapping[str, Expr], read: tuple[Var, ...], latest: int) -> dict[Var, Expr]:
    """What was computed up to `latest` positions back, of what is read, as formulas of what lies before."""

    def written(variable: Var) -> Expr:
        if variable.name not in formulas or variable.lag > latest:
            return variable
        shifted = formulas[variable.name].shift(variable.lag)
        return shifted.substitute({v: written(v) for v in shifted.variables()})

    return {leaf: written(leaf) for leaf in read if leaf.name in formulas and leaf.lag <= latest}
