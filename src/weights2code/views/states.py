"""States of the machine that the rows fold into, as features: one for each short rule that numbers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from weights2code.data import Problem
from weights2code.language import Expr, Step, Var, infer
from weights2code.memory.circles import rules_by_multiples
from weights2code.memory.folding import machine_of
from weights2code.memory.formulas import SHORT, ShortRule, formula_of, table_of, transitions
from weights2code.memory.machine import Machine
from weights2code.memory.orders import orders
from weights2code.memory.stacks import rules_of_stacks
from weights2code.simplify.cost import cost
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.views.families import EARLIER
from weights2code.views.features import Feature

#: Rules of a machine that are features, and states of one whose rule may be a formula in some order.
RULES, FEW_STATES = 3, 16
#: Effort for the formula of two states, whose order does not matter, of more, and of any where it is to be
#: quick, in seconds of a usual machine.
OF_TWO, OF_MORE, OF_QUICK = 1.5, 0.5, 0.1


def states(problem: Problem) -> Iterator[Feature]:
    """The state of the machine by the shortest rules that say it, after a position and before it."""
    machine = machine_of(problem)
    if machine is None:
        return
    state, reads = Var("state'", 1), tuple(Var(name) for name in problem.inputs)
    for found in numbered(machine, state, reads)[:RULES]:
        rule = _of_texts(found, machine, state, problem) if problem.categories else found.rule
        if rule is None:
            continue
        start = (("state'", float(found.numbers[0])),) if found.numbers[0] else ()
        made = Feature("machine", Var("state'"), 2 + 0.5 * cost(rule), (Step("state'", rule),), start)
        yield made
        yield made.at(1, EARLIER)


def _of_texts(found: ShortRule, machine: Machine, state: Var, problem: Problem) -> Expr | None:
    """A rule of these numbers that computes with no text."""
    before, read, after, _ = transitions(machine, found.numbers[:, None])
    domains = infer(before[:, 0]), *problem.domains
    reads = tuple(Var(name) for name in problem.inputs)
    front = search_over_texts(
        np.hstack([before, read]),
        after[:, 0],
        variables=(state, *reads),
        domains=domains,
        answer=infer(after[:, 0]),
        tolerance=1e-6,
        effort=OF_MORE,
    )
    return next((candidate.expr for candidate in front if candidate.exact), None)


def numbered(machine: Machine, state: Var, reads: tuple[Var, ...], *, quick: bool = False) -> list[ShortRule]:
    """Numbers of the states and the rule that they have, the shortest first; the last resort is a table.

    What is found fast is all if it is to be `quick`.
    """

    effort = OF_QUICK if quick else OF_TWO if machine.states == 2 else OF_MORE

    def formula(columns: np.ndarray, target: np.ndarray) -> Expr | None:
        return formula_of(columns, target, (state, *reads), effort)

    def table(columns: np.ndarray, target: np.ndarray) -> Expr | None:
        return table_of(columns, target, (state, *reads))

    found = rules_by_multiples(machine, state, reads)
    found = found or ([] if quick else rules_of_stacks(machine, state, reads))
    if not found and machine.states <= FEW_STATES:
        found = _in_order(machine, formula)
    return found or _in_order(machine, table, 1 if quick else None)


def _in_order(
    machine: Machine, rule_of: Callable[[np.ndarray, np.ndarray], Expr | None], most: int | None = None
) -> list[ShortRule]:
    """The shortest rule of the next state over several orders of the states."""
    found = []
    for numbers in orders(machine)[:most]:
        before, read, after, _ = transitions(machine, numbers[:, None])
        rule = rule_of(np.hstack([before, read]), after[:, 0])
        if rule is not None:
            found.append(ShortRule(numbers, rule))
            if found[-1].cost <= SHORT:
                break
    return sorted(found, key=lambda one: one.cost)[:1]
