"""From a problem to what it remembers: screen, machine, numbering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Var
from weights2code.memory.actions import rules_by_actions, rules_by_multiples
from weights2code.memory.beside_visible import Beside, beside_visible
from weights2code.memory.by_kinds import rules_by_kinds
from weights2code.memory.dead_ends import with_dead_ends
from weights2code.memory.formulas import EFFORT as SHORT_EFFORT
from weights2code.memory.formulas import answers_of, formula_of, table_of, transitions
from weights2code.memory.hidden import Memory
from weights2code.memory.machine import Machine, Read
from weights2code.memory.merging import (
    ALL_ROWS,
    MOST_ROWS,
    MOST_STATES,
    contradicts_itself,
    merged,
    times_seen,
)
from weights2code.memory.orders import orders
from weights2code.memory.products import congruences, products, quotient
from weights2code.memory.screen import (
    contradictory,
    few_rows,
    finite,
    foretells,
    may_foretell,
    shown_by,
    shown_by_output,
    shown_by_values,
    visible_window,
)
from weights2code.memory.short_rules import ShortRule, short_rules
from weights2code.memory.smallest import smallest
from weights2code.simplify.cost import cost
from weights2code.training.focus import sufficient

#: Shares of the labels that may be mistakes.
SHARES = (0.02, 0.05, 0.1)
#: A state is worth having beside visible values if there are so many times as many of those.
GAIN = 2
#: Numberings with a short rule of the state whose outputs are looked at.
NUMBERINGS = 2
#: Machines that read more and have fewer states that are looked at.
SMALLER = 3
#: The cost of rules that are short enough to look no further.
ENOUGH = 16.0
#: The same where visible values show so many times as many things as there are states.
LONG_ENOUGH, FAR_MORE = 30.0, 16
#: More states than this in some order are hardly a formula.
FEW_STATES = 8
#: Fewer sequences than this hardly begin alike: they are followed and not merged.
FEW_SEQUENCES = 20
#: There a memory is asked for where rows contradict each other in a window of so many steps: wider ones
#: hardly repeat, and to follow a sequence costs little.
NEAR = 3
#: Effort for the formula of two states, whose order does not matter, in seconds of a usual machine.
FORMULA_EFFORT = 1.5
#: Effort for an output where a short look finds nothing, in seconds of a usual machine.
EFFORT = 2.0
#: How often rows are folded anew with those first that a machine is wrong on.
REFOLDED = 6
#: States of a machine that the most evidence may make less of: none has fewer than two, and with many it
#: takes long and gives none.
EVIDENT = range(3, MOST_STATES // 2 + 1)
#: Different rows of inputs, at most, that few sequences may be folded for.
MOST_FORETOLD = 64


@dataclass(slots=True, eq=False)
class Remembering:
    """What a problem remembers that no output shows, asked for at three moments.

    At the start, where rows that agree in all that is visible contradict each other, or are few and foretold
    by a machine, and no window of visible values tells its states apart. Before functions of visible values
    are trained, if few states with a short rule are far less than the values that would be needed. And later,
    where short rules of visible values were not found, if the machine has fewer states than there are values
    that show them.
    """

    problem: Problem
    _machines: list[Machine | None] = field(default_factory=list)

    def at_once(
        self, otherwise: Callable[[], bool] | None = None, instead: Callable[[int], bool] | None = None
    ) -> Memory | None:
        """The memory, if there is no doubt about it, and no shorter way to remember: `otherwise` is asked for
        one first of all, and `instead`, of so many states, if these have no rule that is soon found."""
        near = NEAR if len(self.problem.training) < FEW_SEQUENCES else None
        if not self._finite():
            return None
        if not contradictory(self.problem, near) and not self._foretold():
            return None
        machine = self.machine()
        if machine is None or visible_window(machine) is not None:
            return None
        if otherwise is not None and otherwise():
            return None
        return numbered(machine, self.problem, instead=instead)

    def _foretold(self) -> bool:
        """Whether few rows, which seldom repeat, fold into a machine that foretells all others: more than so
        much could be by chance."""
        problem = self.problem
        if problem.reference is not None or not few_rows(problem):
            return False
        if not few_symbols(problem) or not may_foretell(problem):
            return False
        machine = self.machine()
        if machine is None or visible_window(machine) is not None:
            return False
        return any(
            found is not None and found.states <= machine.states and foretells(found, problem.validation)
            for mistakes in (None, 0.0)
            for found in [merged(problem.training, machine.reads, mistakes)]
        )

    def early(self) -> Memory | None:
        """The memory, if it has short rules that are soon found, and the least that is visible and enough is
        far more than it; rules may be longer where that is more by far, or not known."""
        problem = self.problem
        if problem.reference is None or not self._finite():
            return None
        machine = self.machine()
        if machine is None or machine.states > FEW_STATES or shown_by_output(machine):
            return None
        if visible_window(machine) is None:
            return None
        values = sufficient(problem)
        shown = shown_by_values(problem, values) if values is not None else np.inf
        if shown < GAIN * machine.states:
            return None
        return self.short(ENOUGH if shown < FAR_MORE * machine.states else LONG_ENOUGH)

    def later(self) -> Memory | None:
        """The memory, if it is less than what is visible, and the last output does not show it."""
        machine = self._worth_having()
        return None if machine is None else numbered(machine, self.problem)

    def short(self, enough: float = ENOUGH) -> Memory | None:
        """The memory, if it has rules that are short enough and soon found, and the last output does not show
        it."""
        machine = self.machine() if self._finite() else None
        if machine is None or machine.states > FEW_STATES or shown_by_output(machine):
            return None
        state = Var(free_name(self.problem, "state"), 1)
        found = _soon_numbered(machine, self.problem, state, variables_read(machine, self.problem))
        return found if found is not None and found.cost <= enough else None

    def _worth_having(self) -> Machine | None:
        if not self._finite():
            return None
        machine = self.machine()
        if machine is None or shown_by_output(machine):
            return None
        window = visible_window(machine)
        less = window is None or GAIN * machine.states <= shown_by(self.problem, window)
        return machine if less else None

    def _finite(self) -> bool:
        """Whether a machine may be asked for."""
        return self.problem.original is None and finite(self.problem)

    def machine(self) -> Machine | None:
        """The machine that rows fold into; None if there is none of a sensible size."""
        if not self._machines:
            found = _folded(self.problem)
            sensible = found is not None and 2 <= found.states <= MOST_STATES
            self._machines.append(found if sensible else None)
        return self._machines[0]


def numbered(
    machine: Machine, problem: Problem, *, instead: Callable[[int], bool] | None = None
) -> Memory | None:
    """The states as numbers, so that the rules of state and outputs are short together; None if there is no
    rule at all, or another way to remember `instead` of so many states.

    Formulas are fitted to the machine up to the names of its states: of one variable, and of two if that is
    not short. Where none fits, a machine with fewer states that reads more may have one. Then formulas are
    looked for with the states in some orders; the last resort is a table.
    """
    state = Var(free_name(problem, "state"), 1)
    reads = variables_read(machine, problem)
    soon = _soon_numbered(machine, problem, state, reads)
    if soon is not None and (soon.cost <= ENOUGH or machine.states >= FEW_STATES):
        return soon
    if soon is None and instead is not None and instead(machine.states):
        return None
    if soon is None and problem.sampler is not None and not machine.complete:
        return None  # what inputs drawn at random leave open is the end of rows, not of states
    smaller = beside_visible(machine, len(problem.inputs))[:SMALLER] if soon is None else []
    found = _side_by_side(machine, smaller, problem, state)
    if found is not None:
        return found
    rules = short_rules(machine, state, reads, plain=False)
    if rules:
        return _shortest(soon, _with_outputs(machine, problem, state, rules[:NUMBERINGS]))
    if soon is not None:
        return soon
    found = _beside(smaller, problem, state)
    if found is not None and machine.states > FEW_STATES:
        return found
    rules = [] if found else rules_by_actions(machine, state, reads)
    if not rules and machine.states <= FEW_STATES:
        effort = FORMULA_EFFORT if machine.states == 2 else SHORT_EFFORT
        rules = _rules_in_order(machine, state, reads, effort)
    if rules:
        return _shortest(_with_outputs(machine, problem, state, rules), found)
    if found is not None:
        return found
    rules = _tables_in_order(machine, state, reads)
    return replace(_with_outputs(machine, problem, state, rules), table=True) if rules else None


def _soon_numbered(machine: Machine, problem: Problem, state: Var, reads: tuple[Var, ...]) -> Memory | None:
    """The same by what is soon tried: short formulas, those of a machine with a dead end, two variables."""
    rules = short_rules(machine, state, reads, choices=False) or rules_by_kinds(machine, state, reads)
    rules = rules or sorted(rules_by_multiples(machine, state, reads), key=lambda rule: rule.cost)
    found = _with_outputs(machine, problem, state, rules[:NUMBERINGS]) if rules else None
    if found is not None and found.cost <= ENOUGH:
        return found
    names = (free_name(problem, "state_1"), free_name(problem, "state_2"))
    known = _seen(machine, problem)
    for one, two in products(machine, names, reads, choices=False)[:NUMBERINGS]:
        numbers = np.column_stack([one.numbers, two.numbers])
        answers = answers_of(machine, numbers, names, reads, (one.rule, two.rule))
        if answers is not None:
            found = _shortest(found, Memory(known, names, numbers, (one.rule, two.rule), answers))
    return found


def _shortest(*found: Memory | None) -> Memory | None:
    return min((one for one in found if one is not None), key=lambda one: one.cost, default=None)


def _beside(found: list[Beside], problem: Problem, state: Var) -> Memory | None:
    """A machine with fewer states that reads more, if there is one with a short rule."""
    for beside in found:
        known = variables_read(beside.machine, problem)
        rules = short_rules(beside.machine, state, known, beside.apart, beside.count)
        rules = [rule for rule in rules if len(np.unique(rule.numbers)) == beside.count]
        if rules:
            smaller, numbers = beside.with_numbers(rules[0].numbers)
            return _with_outputs(smaller, problem, state, [ShortRule(numbers, rules[0].rule)])
        if beside.count == 2:
            smaller = beside.folded()
            rules = _rules_in_order(smaller, state, known, FORMULA_EFFORT)
            if rules:
                return _with_outputs(smaller, problem, state, rules)
    return None


def _side_by_side(machine: Machine, smaller: list[Beside], problem: Problem, state: Var) -> Memory | None:
    """The states as what goes on beside visible values and does not look at them, if that has a rule by what
    symbols do."""
    reads = variables_read(machine, problem)
    for classes in congruences(machine) if smaller else []:
        which = np.array(classes)
        alike = which[:, None] == which[None, :]
        fitting = [one for one in smaller if one.count == which.max() + 1 and not (one.apart & alike).any()]
        rules = rules_by_actions(quotient(machine, which), state, reads) if fitting else []
        if rules:
            folded, numbers = fitting[0].with_numbers(rules[0].numbers[which])
            return _with_outputs(folded, problem, state, [ShortRule(numbers, rules[0].rule)])
    return None


def variables_read(machine: Machine, problem: Problem) -> tuple[Var, ...]:
    """What a machine reads, by name."""
    columns = (*problem.inputs, *problem.outputs)
    return tuple(Var(columns[column], lag) for column, lag in machine.reads)


def _with_outputs(machine: Machine, problem: Problem, state: Var, rules: list[ShortRule]) -> Memory:
    """The rule with which the outputs are shortest too; without rules for them if there are none."""
    machine = _seen(machine, problem)
    reads, names = variables_read(machine, problem), (state.name,)
    best: tuple[float, Memory] | None = None
    for found in rules:
        numbers = found.numbers[:, None]
        answers = answers_of(machine, numbers, names, reads, (found.rule,))
        if answers is not None:
            total = found.cost + sum(cost(answer) for answer in answers)
            if best is None or total < best[0]:
                best = total, Memory(machine, names, numbers, (found.rule,), answers)
    if best is not None:
        return best[1]
    numbers, rule = rules[0].numbers[:, None], rules[0].rule
    answers = answers_of(machine, numbers, names, reads, (rule,), EFFORT)
    return Memory(machine, names, numbers, (rule,), answers or ())


def _seen(machine: Machine, problem: Problem) -> Machine:
    """The machine with how often rows show each transition."""
    return replace(machine, seen=times_seen(machine, both(problem)))


def _rules_in_order(
    machine: Machine, state: Var, reads: tuple[Var, ...], effort: float = SHORT_EFFORT
) -> list[ShortRule]:
    """The shortest formula of the next state over several orders of the states."""
    found = []
    for numbers in orders(machine):
        before, read, after, _ = transitions(machine, numbers[:, None])
        formula = formula_of(np.hstack([before, read]), after[:, 0], (state, *reads), effort)
        if formula is not None:
            found.append(ShortRule(numbers, formula))
    return sorted(found, key=lambda rule: rule.cost)[:1]


def _tables_in_order(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """The shortest table of the next state over several orders of the states."""
    found = []
    for numbers in orders(machine):
        before, read, after, _ = transitions(machine, numbers[:, None])
        formula = table_of(np.hstack([before, read]), after[:, 0], (state, *reads))
        if formula is not None:
            found.append(ShortRule(numbers, formula))
    return sorted(found, key=lambda rule: rule.cost)[:1]


def _folded(problem: Problem) -> Machine | None:
    """The machine of the rows; those to judge by are folded in too if it is wrong on them. Then, where there
    are no more of them, or of few rows, it is asked too what the most evidence gives, if that is less.

    If rows contradict each other outright some are taken for mistakes, as few as give a machine.
    """
    reads: tuple[Read, ...] = tuple((column, 0) for column in range(len(problem.inputs)))
    if len(problem.training) < FEW_SEQUENCES:
        machine = smallest(problem.training, reads)
        if machine is not None:
            return machine
    if not contradicts_itself(problem.training):
        machine, rows = merged(problem.training, reads), both(problem)
        if machine is None and rows.valid.sum() > MOST_ROWS and contradictory(problem):
            machine = merged(rows, reads, rows=ALL_ROWS)
        wrong = machine is not None and machine.wrong(rows).any()
        if machine is not None and wrong:
            machine = _refolded(machine, rows)
        few = few_rows(problem) or (wrong and rows.valid.sum() <= MOST_ROWS)
        if machine is not None and few and machine.states in EVIDENT and few_symbols(problem):
            evident = merged(rows, reads, 0.0)
            if evident is not None and evident.states < machine.states:
                machine = evident
        return with_dead_ends(machine, rows) if machine is not None and few else machine
    for share in SHARES:
        machine = merged(both(problem), reads, share)
        if machine is not None and machine.wrong(problem.training).mean() <= share:
            return with_dead_ends(machine, both(problem))
    return None


def _refolded(machine: Machine, sequences: Sequences) -> Machine | None:
    """The machine of sequences on which another is wrong, and of as many others as there is room for; more
    than once if it takes that."""
    found: Machine | None = machine
    for _ in range(REFOLDED):
        wrong = found.wrong(sequences).any(1) if found is not None else np.zeros(1, bool)
        if not wrong.any():
            break
        sequences = sequences.take(np.argsort(~wrong, kind="stable"))
        found = merged(sequences, machine.reads)
    return found


def few_symbols(problem: Problem) -> bool:
    """Of many different inputs few rows say little, and folding them by evidence takes long."""
    return len(np.unique(problem.training.x[problem.training.valid], axis=0)) <= MOST_FORETOLD


def both(problem: Problem) -> Sequences:
    """Everything that may be learned from and judged by."""
    one, two = problem.training, problem.validation
    if one is two:
        return one  # a few long sequences serve both
    length = max(one.x.shape[1], two.x.shape[1])

    def padded(values: np.ndarray) -> np.ndarray:
        return np.pad(values, ((0, 0), (0, length - values.shape[1]), (0, 0)))

    return Sequences(
        np.concatenate([padded(one.x), padded(two.x)]),
        np.concatenate([padded(one.y), padded(two.y)]),
        np.concatenate([one.lengths, two.lengths]),
    )


def free_name(problem: Problem, name: str) -> str:
    """The name, with underscores after it while it is taken."""
    taken = {*problem.inputs, *problem.outputs}
    while name in taken:
        name += "_"
    return name
