"""What a formula costs its reader: the measure by which simplification chooses.

A variable costs 1, a number 1 and a little more for every character, an operator what its entry in the table
says. The order of preference on small domains, where many forms coincide, follows from it: for two bits
`a*b` < `[a and b]` < `min(a, b)`; `[a != b]` < `abs(a - b)` < `(a + b) % 2` < `a + b - 2*a*b`; `1 - a` <
`[not a]`. A truth value used as a number costs extra, so parity of three bits is `(a + b + c) % 2` and not
a chain of brackets, unless it is counted, as in `count + [x == 3]`; so does arithmetic used as a truth value,
as in `[a*b - c and d]`, and a sum that needs parentheses inside a product.

This is about formulas that mean the same. A search, whose candidates differ and are ranked by their number of
nodes, has an order of its own: `symbolic.engine.preference`.
"""

from __future__ import annotations

import math

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Var, expression_of, number_text
from weights2code.language.operators import Binding

_NUMBER_CHARACTER = 0.15
_SIGN = 0.05
_TRUTH_AS_NUMBER = 2.5
_COUNTED = 0.5
_NUMBER_AS_TRUTH = 2.5
_PARENTHESES = 0.5
_LINE = 1.0
_START = 1.0


def cost(expr: Expr, *, as_number: bool = False, as_truth: bool = False) -> float:
    """The cost of reading `expr`, where a number or a truth value is asked for; smaller is simpler."""
    if isinstance(expr, Const):
        text = number_text(expr.value)
        return 1 + _NUMBER_CHARACTER * (len(text.removeprefix("-")) - 1) + _SIGN * text.startswith("-")
    if not isinstance(expr, Op):
        return 1.0
    entry = OPERATORS[expr.name]
    total = entry.cost
    if as_number and entry.boolean:
        total += _TRUTH_AS_NUMBER
    elif as_truth and not entry.boolean:
        total += _NUMBER_AS_TRUTH
    if Binding.SUM < entry.text.binding < Binding.ATOM:
        total += _PARENTHESES * sum(_is_sum(argument) for argument in expr.args)
    for index, argument in enumerate(expr.args):
        truth = index < entry.truths
        total += cost(argument, as_number=not truth, as_truth=truth)
    if _counts(expr):
        total -= _TRUTH_AS_NUMBER - _COUNTED
    return total


def _counts(expr: Op) -> bool:
    """Whether it is a value and one more if something holds, as in `count + [x == 3]`."""
    if expr.name != "add":
        return False
    left, right = expr.args
    return isinstance(left, Var) and isinstance(right, Op) and OPERATORS[right.name].boolean


def _is_sum(expr: Expr) -> bool:
    return isinstance(expr, Op) and OPERATORS[expr.name].text.binding == Binding.SUM


def recurrence_cost(recurrence: Recurrence) -> float:
    """The cost of reading all formulas: each line costs a little, and so does a start that is not zero."""
    formulas = sum(cost(expression_of(step.definition)) + _LINE for step in recurrence.steps)
    return formulas + _START * sum(value != 0 for value in recurrence.start.values())


def simplest_between(below: float, above: float) -> float:
    """The number with the fewest digits in the gap; both ends count as inside.

    Of several a multiple of 5, else the one amidst.

    Examples
    --------
    >>> simplest_between(2.36, 2.43), simplest_between(-0.1, 3.0), simplest_between(17.2, 44.1)
    (2.4, 0.0, 20.0)
    """
    if below <= 0 <= above:
        return 0.0
    size = max(abs(below), abs(above))
    for digits in range(-math.floor(math.log10(size)) - 1, 17):
        unit = 10.0**digits
        first, last = math.ceil(below * unit - 1e-9), math.floor(above * unit + 1e-9)
        inside = [n / unit for n in range(first, min(last, first + 20) + 1) if below <= n / unit <= above]
        if inside:
            middle = 0.5 * (below + above)
            return min(inside, key=lambda v: (round(v * unit) % 5 != 0, abs(v - middle)))
    return above
