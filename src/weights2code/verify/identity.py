"""Identity: two machines that are the same but for names, or but for algebra.

Variables that agree along a run are assumed to be equal, and the assumption is checked one position on: if
the definitions are the same formula once equals are replaced by equals, they stay equal for ever (the start
values are compared too). Names alone need no algebra and work for every step, retrievals included; with
algebra, SymPy decides whether the difference of two formulas is zero. That covers what z3 does not know,
such as trigonometry; rounding, remainders and divisions, where an identity may fail at single points, are
left to induction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from weights2code.language import OPERATORS, Definition, Expr, Op, evaluate_exact, renamed
from weights2code.language.sympy_form import to_sympy
from weights2code.verify.product import Product, inlined
from weights2code.verify.testing import probes

_MOST_NODES = 400
_LENGTH = 12

#: Whether two definitions, with equals replaced by equals, are the same function.
Same = Callable[[Definition, Definition], bool]


def same_up_to_names(joint: Product) -> bool:
    """Whether the program is the reference with other names."""
    definitions = {step.name: step.definition for step in joint.machine.steps}
    return _equal_for_ever(joint, definitions, lambda a, b: a == b)


def same_up_to_algebra(joint: Product) -> bool:
    """Whether SymPy can show that the program computes the reference's formulas."""
    machine = joint.machine
    finite = all(value == "first" or np.isfinite(value) for value in machine.start.values())
    if machine.retrieves() or not finite:
        return False
    formulas = inlined(machine)
    if not all(_is_total(f) and f.size() <= _MOST_NODES for f in formulas.values()):
        return False
    cache: dict[tuple[Expr, Expr], bool] = {}

    def same(a: Definition, b: Definition) -> bool:
        assert isinstance(a, Expr)
        assert isinstance(b, Expr)
        if (a, b) not in cache:
            cache[a, b] = a == b or _vanishes(to_sympy(a) - to_sympy(b))
        return cache[a, b]

    return _equal_for_ever(joint, dict(formulas), same)


def _vanishes(difference: Any) -> bool:
    import sympy

    expanded = sympy.expand(difference)
    return expanded == 0 or sympy.simplify(expanded) == 0


def _is_total(expr: Expr) -> bool:
    """Whether the formula is defined and smooth to rounding everywhere: no identity breaks at a point."""
    return all(
        OPERATORS[node.name].continuous and _has_value(node) for node in expr.walk() if isinstance(node, Op)
    )


def _has_value(node: Op) -> bool:
    """Whether the operator has a value whatever the variables are."""
    condition = OPERATORS[node.name].defined
    try:
        return condition is None or bool(evaluate_exact(condition(*node.args), {}))
    except (KeyError, ArithmeticError):
        return False  # it depends on them


def _equal_for_ever(joint: Product, definitions: Mapping[str, Definition], same: Same) -> bool:
    """Whether each output pair stays in one class when classes are split until they are consistent."""
    classes = _candidates(joint, list(definitions))
    while True:
        leader = {name: members[0] for members in classes for name in members}
        split: list[list[str]] = []
        for members in classes:
            rest = list(members)
            while rest:
                head = renamed(definitions[rest[0]], leader)
                together = [rest[0], *(n for n in rest[1:] if same(head, renamed(definitions[n], leader)))]
                split.append(together)
                rest = [name for name in rest if name not in together]
        if len(split) == len(classes):
            return all(
                right == answer or leader.get(right) == leader.get(answer, answer)
                for right, answer in joint.pairs
            )
        classes = split


def _candidates(joint: Product, names: list[str]) -> list[list[str]]:
    """Classes of steps that agree along a few runs and have the same start value."""
    machine = joint.machine
    with np.errstate(all="ignore"):
        trace = machine.trace(probes(np.random.default_rng(0), joint.domains, 8, _LENGTH, None))
    classes: list[list[str]] = []
    for name in names:
        for members in classes:
            alike = np.allclose(trace[name], trace[members[0]], rtol=1e-7, atol=1e-9, equal_nan=True)
            if alike and machine.start_of(name) == machine.start_of(members[0]):
                members.append(name)
                break
        else:
            classes.append([name])
    return classes
