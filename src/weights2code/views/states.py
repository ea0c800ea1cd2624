"""States of the machine that the rows fold into, as features: one for each short rule that numbers them."""

from __future__ import annotations

from collections.abc import Iterator

from weights2code.data import Problem
from weights2code.language import Step, Var
from weights2code.memory.actions import rules_by_actions
from weights2code.memory.by_kinds import rules_by_kinds
from weights2code.memory.find import _folded, _rules_in_order, _tables_in_order
from weights2code.memory.machine import Machine
from weights2code.memory.merging import MOST_STATES
from weights2code.memory.screen import finite
from weights2code.memory.short_rules import ShortRule, short_rules
from weights2code.simplify.cost import cost
from weights2code.views.families import EARLIER
from weights2code.views.features import Feature

#: Rules of a machine that are features, and states of one whose rule may be a formula in some order.
RULES, FEW_STATES = 3, 8


def machine_of(problem: Problem) -> Machine | None:
    """The machine that the rows fold into, if it has a sensible size and foretells rows that it is not made
    of."""
    if not finite(problem):
        return None
    machine = _folded(problem)
    if machine is None or not 2 <= machine.states <= MOST_STATES:
        return None
    return machine


def states(problem: Problem) -> Iterator[Feature]:
    """The state of the machine by the shortest rules that say it."""
    machine = machine_of(problem)
    if machine is None:
        return
    state, reads = Var("state'", 1), tuple(Var(name) for name in problem.inputs)
    for found in numbered(machine, state, reads)[:RULES]:
        start = (("state'", float(found.numbers[0])),) if found.numbers[0] else ()
        step = Step("state'", found.rule)
        made = Feature("machine", Var("state'"), 2 + 0.5 * cost(found.rule), (step,), start)
        yield made
        yield made.at(1, EARLIER)


def numbered(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """Numbers of the states and the rule that they have, the shortest first."""
    found = short_rules(machine, state, reads, choices=False) or rules_by_kinds(machine, state, reads)
    found = found or rules_by_actions(machine, state, reads)
    found = found or short_rules(machine, state, reads, plain=False)
    if not found and machine.states <= FEW_STATES:
        found = _rules_in_order(machine, state, reads)
    return found or _tables_in_order(machine, state, reads)
