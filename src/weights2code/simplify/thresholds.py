"""Thresholds as people choose them: the roundest number between the values that the data have around it.

What is compared with a number takes some values in the data; every number in the gap around a threshold tells
them apart as well. Nobody can say which one is meant, but people choose round ones: where rows have 98 and
101 and nothing between, `x <= 98` is written as `x < 100`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Const, Expr, Op, Recurrence, Step, expression_of, with_formula
from weights2code.simplify.cost import simplest_between

#: Comparisons, and whether they hold at their number.
HOLDS = {"gt": False, "ge": True, "lt": False, "le": True}
#: Comparisons that are true above their number.
_ABOVE = ("gt", "ge")


@dataclass(frozen=True, slots=True)
class Gap:
    """A comparison with a number, and the nearest values that the data have below and above the border."""

    test: Op
    below: float
    above: float

    @property
    def wide(self) -> bool:
        """Whether another number would do: not between neighbouring whole ones."""
        return self.above - self.below > 1 or not (self.below.is_integer() and self.above.is_integer())

    def words(self) -> str:
        """What the rows say of the threshold."""
        around = f"the rows have {self.below:g} and {self.above:g} there, and nothing between"
        return f"{str(self.test)[1:-1]}: {around}"

    def roundest(self) -> Op:
        """The same test of all rows with the roundest number of the gap; as it is, if that is no rounder."""
        new = simplest_between(self.below, self.above)
        if digits(_border(self.test)) <= digits(new):
            return self.test
        at_end = new == self.below
        name = ("gt" if at_end else "ge") if self.test.name in _ABOVE else ("le" if at_end else "lt")
        return Op(name, (self.test.args[0], Const(int(new) if new.is_integer() else new)))


def gaps(recurrence: Recurrence, data: Sequence[Sequences]) -> list[Gap]:
    """The gap around every threshold that has values on both sides, as the program computes on true pasts."""
    formulas = [expression_of(step.definition) for step in recurrence.steps]
    nodes = (node for formula in formulas for node in formula.walk())
    tests = [*dict.fromkeys(node for node in nodes if isinstance(node, Op) and _is_test(node))]
    wider = replace(
        recurrence, steps=(*recurrence.steps, *(Step(f"test {i}", t.args[0]) for i, t in enumerate(tests)))
    )
    values: list[list[np.ndarray]] = [[] for _ in tests]
    for part in data if tests else ():
        known = part.y if part.y.shape[2] == len(recurrence.outputs) else None
        with np.errstate(all="ignore"):
            trace = wider.trace(part.x, known, part.lengths if known is not None else 0)
        for i, found in enumerate(values):
            found.append(trace[f"test {i}"][part.scored])
    listed = []
    for test, found in zip(tests, values, strict=True):
        all_of_them = np.unique(np.concatenate(found))
        side = "left" if (test.name in _ABOVE) == HOLDS[test.name] else "right"
        place = int(np.searchsorted(all_of_them, _border(test), side=side))
        if 0 < place < len(all_of_them):
            listed.append(Gap(test, float(all_of_them[place - 1]), float(all_of_them[place])))
    return listed


def gaps_in(problem: Problem, recurrence: Recurrence) -> list[Gap]:
    """Where own data have no values around the thresholds of a program, which may read some columns alone."""
    if problem.reference is not None or not set(recurrence.inputs) <= set(problem.inputs):
        return []
    read = [problem.inputs.index(name) for name in recurrence.inputs]
    parts = (problem.training, problem.validation, problem.held_out)
    return gaps(recurrence, [replace(part, x=part.x[..., read]) for part in parts if part is not None])


def with_round_thresholds(recurrence: Recurrence, data: Sequence[Sequences]) -> Recurrence:
    """The same rule on all of these rows, with the roundest thresholds."""
    changed = {gap.test: gap.roundest() for gap in gaps(recurrence, data)}

    def turned(node: Expr) -> Expr:
        return changed.get(node, node) if isinstance(node, Op) else node

    steps = tuple(
        Step(step.name, with_formula(step.definition, lambda expr: expr.transform(turned)))
        for step in recurrence.steps
    )
    return replace(recurrence, steps=steps)


def _is_test(node: Op) -> bool:
    return node.name in HOLDS and isinstance(node.args[1], Const)


def _border(test: Op) -> float:
    assert isinstance(test.args[1], Const)
    return float(test.args[1].value)


def digits(value: float) -> int:
    """How many digits a number has without zeros at its ends."""
    written = f"{abs(value):.15g}".partition("e")[0].replace(".", "").strip("0")
    return len(written)
