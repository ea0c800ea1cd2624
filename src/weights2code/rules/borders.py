"""On which side of a threshold the threshold itself lies.

Sequences of real numbers never show it: no value is exactly 0.4. A proof does, and its counterexample tells
`x > 0.4` from `x >= 0.4`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from weights2code.language import Expr, Op, Recurrence, Step, expression_of, with_formula

_OTHER = {"gt": "ge", "ge": "gt", "lt": "le", "le": "lt"}
#: Comparisons of a rule that may be on either side.
MOST_COMPARISONS = 6


def other_borders(recurrence: Recurrence) -> Iterator[Recurrence]:
    """The same rule with some comparisons that are strict, or not, the other way round; few changes first."""
    found = dict.fromkeys(
        node
        for step in recurrence.steps
        for node in expression_of(step.definition).walk()
        if isinstance(node, Op) and node.name in _OTHER
    )
    if len(found) > MOST_COMPARISONS:
        return
    for chosen in sorted(product((False, True), repeat=len(found)), key=sum):
        changed = {node for node, change in zip(found, chosen, strict=True) if change}
        if changed:
            yield _changed(recurrence, changed)


def _changed(recurrence: Recurrence, chosen: set[Op]) -> Recurrence:
    def change(node: Expr) -> Expr:
        return Op(_OTHER[node.name], node.args) if isinstance(node, Op) and node in chosen else node

    steps = tuple(
        Step(step.name, with_formula(step.definition, lambda expr: expr.transform(change)))
        for step in recurrence.steps
    )
    return replace(recurrence, steps=steps)
