"""On which side of a threshold the threshold itself lies.

Sequences of real numbers never show it: no value is exactly 0.4. A proof does, and its counterexample tells
`x > 0.4` from `x >= 0.4`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations

from weights2code.language import Expr, Op, Recurrence, Step, expression_of, with_formula

_OTHER = {"gt": "ge", "ge": "gt", "lt": "le", "le": "lt"}
#: Comparisons of a rule that may be on either side.
MOST_COMPARISONS = 6


def other_borders(recurrence: Recurrence) -> Iterator[Recurrence]:
    """The same rule with some comparisons that are strict, or not, the other way round; few changes first."""
    formulas = (expression_of(step.definition) for step in recurrence.steps)
    nodes = (node for formula in formulas for node in formula.walk())
    found = [*dict.fromkeys(node for node in nodes if isinstance(node, Op) and node.name in _OTHER)]
    sizes = range(1, len(found) + 1) if len(found) <= MOST_COMPARISONS else ()
    for changed in chain.from_iterable(combinations(found, size) for size in sizes):

        def turned(node: Expr, changed: tuple[Op, ...] = changed) -> Expr:
            return Op(_OTHER[node.name], node.args) if isinstance(node, Op) and node in changed else node

        steps = tuple(
            Step(step.name, with_formula(step.definition, lambda expr: expr.transform(turned)))
            for step in recurrence.steps
        )
        yield replace(recurrence, steps=steps)
