"""Networks of reals: how far they may be from their program one step ahead.

Away from the start, and at each of the first positions, both are formulas of finitely many values: rows, and
past values of the program, which the network is given as its own. Rows lie in their domains; values of the
past are said to lie in a region, between two numbers each, and so do steps from one to the next. Over that
region the difference is bounded by boxes (`language.affine`), and what float64 may add by intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from weights2code.language import Const, Domain, Expr, Recurrence, Step, Var
from weights2code.language.affine import largest, write
from weights2code.language.arithmetic import rounding
from weights2code.language.product import Product, depth
from weights2code.language.ranges import bounds_of
from weights2code.language.sums import Unwritten

#: Positions back that a network may look, and values of boxes that are computed at most.
_MOST_LOOKBACK, _WORK = 200, 3e7
#: Between which numbers a value of the past lies, and the step from the value before it, where it is said.
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Network less program, with `age` positions before the present one, None being away from the start: by
    `steps`, each of leaves and of steps before it."""

    age: int | None
    steps: tuple[tuple[Var, Expr], ...]
    differences: tuple[Expr, ...]
    leaves: tuple[Var, ...]


def places(joint: Product) -> Iterator[Place]:
    """Away from the start first, then from it on."""
    deepest = 0
    for age in (None, *range(_MOST_LOOKBACK)):
        if age is not None and age >= deepest:
            return
        writing = _Unrolled(joint.machine, age)
        differences = tuple(
            writing.value(Var(answer)) - writing.value(Var(right)) for right, answer in joint.pairs
        )
        deepest = deepest if age is not None else max(writing.deepest, depth(joint.machine))
        yield Place(age, tuple(writing.steps.items()), differences, tuple(writing.leaves))


class _Unrolled:
    """Values as formulas of rows and of the program's past; before the start they are what they start
    with."""

    def __init__(self, machine: Recurrence, age: int | None) -> None:
        self.machine, self.age, self.deepest = machine, age, 0
        self.definitions = {step.name: step.definition for step in machine.steps}
        self.steps: dict[Var, Expr] = {}
        self.leaves: dict[Var, None] = {}

    def value(self, variable: Var) -> Expr:
        name, lag = variable.name, variable.lag
        self.deepest = max(self.deepest, lag)
        if lag > _MOST_LOOKBACK:
            raise Unwritten("the network looks back to the start")
        if self.age is not None and lag > self.age:
            start = self.machine.start_of(name)
            return self.value(Var(name, self.age)) if isinstance(start, str) else Const(start)
        if name in self.machine.inputs or (lag and name.startswith("r.")):
            self.leaves[variable] = None
            return variable
        if variable not in self.steps:
            definition = self.definitions[name]
            if not isinstance(definition, Expr):
                raise Unwritten(f"{name} goes over everything so far")
            table = {v: self.value(Var(v.name, v.lag + lag)) for v in definition.variables()}
            self.steps[variable] = definition.substitute(table)
        return variable


#: Between which numbers each value of the past lies, and its step to the next, away from the start (None) and
#: at each of the first positions.
Region = Mapping[int | None, Mapping[Var, tuple[Ends, Ends | None]]]


def bounded(
    place: Place, domains: Mapping[str, Domain], region: Mapping[Var, tuple[Ends, Ends | None]]
) -> tuple[float, bool]:
    """How far both are apart at most at a place, over a region, and whether nearly so far was seen."""
    ends: dict[Var, Ends] = {}
    steps: list[tuple[Var, Expr]] = []
    inside: list[Expr] = []
    for leaf in sorted(place.leaves, key=lambda leaf: leaf.lag):
        before, domain = Var(leaf.name, leaf.lag - 1), domains.get(leaf.name)
        if domain is not None:
            ends[leaf] = (float(domain.low), float(domain.high))
            continue
        ends[leaf], step = region[leaf]
        if step is None or before not in place.leaves:
            continue
        other, bounds = before - leaf, step
        if step[1] - step[0] < ends[leaf][1] - ends[leaf][0]:  # the narrower of the two is the coordinate
            turned, other, bounds = Var(f"{leaf.name}.step", leaf.lag), leaf, ends.pop(leaf)
            steps.append((leaf, before - turned))
            ends[turned] = step
        inside += [other - Fraction(bounds[0]), Fraction(bounds[1]) - other]
    whole = [leaf.name in domains and domains[leaf.name].discrete for leaf in ends]
    low, high = np.array(list(ends.values()), float).reshape(-1, 2).T
    worst, finished = 0.0, True
    for difference in place.differences:
        written = write([*steps, *place.steps], [difference, *inside], tuple(ends), whole)
        most = int(_WORK / ((written.symbols + 20) * (written.leaves + 2)))
        upper, near = largest(written, low, high, most)
        worst, finished = max(worst, upper), finished and near
    return worst, finished


def rounded(
    place: Place, domains: Mapping[str, Domain], region: Mapping[Var, tuple[Ends, Ends | None]]
) -> tuple[float, float]:
    """What float64 may add to the difference at a place, and how near to a border a decision may be
    another."""
    named = {v: Var(f"{v.name}@{v.lag}") for v in (*place.leaves, *(v for v, _ in place.steps))}
    ends = tuple(
        domains[leaf.name] if leaf.name in domains else Domain("reals", *region[leaf][0])
        for leaf in place.leaves
    )
    steps = [Step(named[v].name, definition.substitute(named)) for v, definition in place.steps]
    steps += [Step(f"difference{i}", d.substitute(named)) for i, d in enumerate(place.differences)]
    outputs = tuple(step.name for step in steps[-len(place.differences) :])
    machine = Recurrence(tuple(named[leaf].name for leaf in place.leaves), tuple(steps), outputs)
    errors, border = rounding(machine, ends, bounds_of(machine, ends))
    return max(errors[name] for name in outputs), border
