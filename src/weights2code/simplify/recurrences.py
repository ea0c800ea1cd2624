"""Simplification of whole recurrences: fewer steps, shorter formulas, readable names.

Passes propose, one place accepts, to a fixed point: what is cheaper and gives the same outputs on sequences
of the domain. Every formula is simplified on the values that its variables can take; steps go that need not
be there, or that are shorter where they are read; at last what repeats or grows too long gets a line and a
name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isfinite

from weights2code.language import Domain, Expr, Op, OverAll, Recurrence, Step, with_formula
from weights2code.language.domain import between
from weights2code.language.kinds import Kinds, kinds_of
from weights2code.simplify.cost import recurrence_cost
from weights2code.simplify.equality import same_outputs
from weights2code.simplify.expressions import simplify
from weights2code.simplify.names import in_reading_order, rename_locals
from weights2code.simplify.passes import (
    absorb_aliases,
    inlined,
    merge_equal,
    name_parts,
    with_formulas,
    without_delay,
)

_UNBOUNDED = 1000

Change = Callable[[Recurrence], Recurrence]
Test = Callable[[Recurrence], bool]


def simplify_recurrence(
    recurrence: Recurrence, domains: Sequence[Domain], *, formulas: bool = True
) -> Recurrence:
    """The same outputs on the domain, in fewer and shorter steps.

    Parameters
    ----------
    recurrence
        What to simplify.
    domains
        One domain an input.
    formulas
        Whether formulas may change; else there are fewer steps with readable names alone.
    """
    same = same_outputs(recurrence, domains)

    @lru_cache
    def short(candidate: Recurrence) -> Recurrence:
        return _shortened(candidate, domains, same).live() if formulas else candidate.live()

    result = recurrence.live()
    for _ in range(1 + formulas):  # once more on what has become of the formulas
        result = settled(result, short, same)
    parts = name_parts(result) if formulas else result
    new = {step.name for step in parts.steps} - {step.name for step in recurrence.steps}
    words = rename_locals(in_reading_order(parts), new)
    return words if same(words) else result


def grouped_as_read(recurrence: Recurrence, domains: Sequence[Domain]) -> Recurrence:
    """Sums and products of whole numbers grouped from the left, as Python reads them without parentheses.

    In exact arithmetic that is the same; what is certified is then what the text computes, bit for bit.
    """
    kinds = kinds_of(recurrence, domains)

    def regroup(node: Expr) -> Expr:
        if not (isinstance(node, Op) and node.name in ("add", "mul") and kinds.is_integer(node)):
            return node
        left, right = node.args
        follows = ("add", "sub") if node.name == "add" else ("mul",)
        if not (isinstance(right, Op) and right.name in follows):
            return node
        return Op(right.name, (regroup(Op(node.name, (left, right.args[0]))), right.args[1]))

    return with_formulas(recurrence, lambda expr: expr.transform(regroup))


def settled(draft: Recurrence, finish: Change, same: Test) -> Recurrence:
    """What becomes of a draft when all that is proposed and is better is accepted, until nothing is.

    Proposals are made of the draft, and judged by what they are when they are finished: the outputs must be
    the same, and the whole must be cheaper.
    """
    best, accepted = finish(draft), True
    while accepted:
        accepted = False
        for propose in (merge_equal, without_delay, absorb_aliases, inlined):
            for candidate in propose(draft):
                finished = finish(candidate)
                if _price(finished) < _price(best) and same(finished):
                    draft, best, accepted = candidate, finished, True
                    break
    return best


def _price(recurrence: Recurrence) -> tuple[int, float]:
    """Fewer steps that go over all the past come first; then what it costs to read."""
    over = sum(isinstance(step.definition, OverAll) for step in recurrence.steps)
    return over, round(recurrence_cost(recurrence), 6)


def _shortened(recurrence: Recurrence, domains: Sequence[Domain], same: Test) -> Recurrence:
    """Each formula on the values that its variables can take, where that is not too bold."""
    inputs, kinds = dict(zip(recurrence.inputs, domains, strict=True)), kinds_of(recurrence, domains)

    def shorter(expr: Expr) -> Expr:
        return simplify(expr, {v: _domain(v.name, kinds, inputs) for v in expr.variables()})

    for index, step in enumerate(recurrence.steps):
        short = Step(step.name, with_formula(step.definition, shorter))
        one = replace(recurrence, steps=(*recurrence.steps[:index], short, *recurrence.steps[index + 1 :]))
        if one != recurrence and same(one):
            recurrence = one
    return recurrence


def _domain(name: str, kinds: Kinds, inputs: Mapping[str, Domain]) -> Domain:
    finite = [value for value in kinds.values.get(name) or () if isfinite(value)]
    if name in inputs and not finite:
        return inputs[name]
    ends = (min(finite), max(finite)) if finite else (-_UNBOUNDED, _UNBOUNDED)
    return between(*ends, whole=name in kinds.integers)
