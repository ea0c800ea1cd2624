"""A hidden state that is added to a quantity of several lags: the machine of that quantity alone.

As a machine of the inputs it would have to remember all those lags too. The quantity is found first
(`addends.py`); with it in place of the inputs the rows fold into few states, whose rules are found as those
of any machine. Then its formula is put in its place. Only what is right on all rows is given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Expr, Var, infer
from weights2code.memory.addends import Addend, addends
from weights2code.memory.find import FEW_STATES, both, free_name, numbered
from weights2code.memory.formulas import evaluated
from weights2code.memory.hidden import Memory
from weights2code.memory.machine import NOWHERE, Machine, positions_in, rows_read
from weights2code.memory.merging import answered, contradicts_itself, merged
from weights2code.memory.screen import contradictory, seldom_repeats
from weights2code.memory.window_reads import Window
from weights2code.training.focus import sufficient

#: Combinations of what is read that a machine is written down for.
MOST_SYMBOLS = 1 << 16
#: Visible values that are few: a function of more is harder to find than a state.
FEW_VALUES = 6
#: The name of the quantity while its machine is looked for.
QUANTITY = "quantity"
#: It is all that is read.
READS = ((0, 0),)


def through_addend(problem: Problem) -> Memory | None:
    """The memory of few states beside a quantity of several lags; None if there is none, or if a few visible
    values are enough."""
    if not problem.whole or problem.training.given.any() or problem.original is not None:
        return None
    if len(problem.outputs) != 1:
        return None
    window = Window(problem)
    if not window.settled():
        return None
    enough = sufficient(problem)
    if len(enough) <= FEW_VALUES if enough else not (contradictory(problem) or seldom_repeats(problem)):
        return None
    for found in addends(window):
        memory = _beside(found, problem)
        if memory is not None:
            return memory
    return None


def _beside(addend: Addend, problem: Problem) -> Memory | None:
    """The memory with this quantity in the place of all that is read."""
    smaller = _in_place(addend, problem)
    if contradicts_itself(smaller.training):
        return None
    machine = shown(both(smaller), around=addend.around) or merged(both(smaller), READS)
    if machine is None or not 2 <= machine.states <= FEW_STATES or machine.wrong(smaller.validation).any():
        return None
    found = numbered(machine, smaller)
    if found is None or found.table or not found.answers:
        return None
    memory = _put_back(found, found.machine, addend, problem)
    return memory if memory is not None and _right(memory, problem) else None


def shown(sequences: Sequences, *, around: bool) -> Machine | None:
    """The machine whose state the output shows, at the next position: for each value of the quantity it may
    be as much as there are states, in their order, which may go around a circle. None if that is not so."""
    values, read = np.unique(sequences.x[..., 0], return_inverse=True)
    outputs, given = np.unique(sequences.y[..., 0], return_inverse=True)
    read, given = read.reshape(sequences.x.shape[:2]), given.reshape(sequences.x.shape[:2])
    there = np.zeros((len(values), len(outputs)), bool)
    there[read[sequences.valid], given[sequences.valid]] = True
    states = int(there.sum(1).max())
    if (there.sum(1) != states).any() or not 2 <= states <= FEW_STATES:
        return None
    place = there.cumsum(1) - 1
    if around:
        first = (there & ~np.roll(there, 1, axis=1)).argmax(1)
        place = (place - place[np.arange(len(values)), first][:, None]) % states
    before = place[read, given]
    before = (before - before[0, 0]) % states if around else before
    start = before[sequences.lengths > 0, 0]
    follows = sequences.valid[:, 1:]
    moves = np.full((states, len(values)), NOWHERE)
    moves[before[:, :-1][follows], read[:, :-1][follows]] = before[:, 1:][follows]
    if (start != start[0]).any() or (moves[before, read][:, :-1] != before[:, 1:])[follows].any():
        return None
    order = np.argsort(np.arange(states) != start[0], kind="stable")  # the start is the first one
    number = np.append(np.argsort(order), NOWHERE)
    return answered(READS, values[:, None], number[moves[order]], sequences)


def _in_place(addend: Addend, problem: Problem) -> Problem:
    """The problem whose one input is the quantity."""

    def replaced(part: Sequences) -> Sequences:
        columns = rows_read(addend.reads, part)
        values = evaluated(addend.formula, _variables(addend, problem), columns.reshape(-1, columns.shape[2]))
        return replace(part, x=values.reshape(*columns.shape[:2], 1) * part.valid[..., None])

    training = replaced(problem.training)
    return replace(
        problem,
        inputs=(free_name(problem, QUANTITY),),
        domains=(infer(training.x),),
        training=training,
        validation=replaced(problem.validation),
        reference=None,
        sampler=None,
        held_out=None,
        beginnings=None,
        rows=None,
    )


def _variables(addend: Addend, problem: Problem) -> tuple[Var, ...]:
    columns = (*problem.inputs, *problem.outputs)
    return tuple(Var(columns[column], lag) for column, lag in addend.reads)


def _put_back(found: Memory, small: Machine, addend: Addend, problem: Problem) -> Memory | None:
    """The memory of what is read, in place of the quantity."""
    names = tuple(free_name(problem, name) for name in found.names)
    quantity = Var(free_name(problem, QUANTITY))

    def written(rule: Expr) -> Expr:
        rule = rule.substitute({quantity: addend.formula})
        old = [
            (Var(name, lag), Var(new, lag))
            for name, new in zip(found.names, names, strict=True)
            for lag in (0, 1)
        ]
        return rule.substitute({before: after for before, after in old if before != after})

    read = rows_read(addend.reads, both(problem))[both(problem).valid]
    symbols = np.unique(read, axis=0)
    if len(symbols) > MOST_SYMBOLS:
        return None
    values = evaluated(addend.formula, _variables(addend, problem), symbols)
    place = positions_in(small.symbols, values[:, None])
    known = place != NOWHERE
    machine = Machine(
        addend.reads,
        symbols,
        np.where(known, small.moves[:, place], NOWHERE),
        small.answers[:, place],
        np.where(known, small.seen[:, place], 0),
    )
    rules, answers = tuple(map(written, found.rules)), tuple(map(written, found.answers))
    return Memory(machine, names, found.numbers, rules, answers)


def _right(memory: Memory, problem: Problem) -> bool:
    """Whether its rules say what all rows do."""
    rules = memory.recurrence(problem)
    if rules is None:
        return False
    columns = [rules.outputs.index(name) for name in problem.outputs]
    for part in (problem.validation, problem.training):
        with np.errstate(all="ignore"):
            answers = rules.run(part.x)[..., columns]
        if (answers != part.y)[part.scored].any():
            return False
    return True
