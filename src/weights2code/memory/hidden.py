"""A hidden state as outputs of the problem: their past is a channel, so a network can learn their rule.

The problem goes on as any other, with one or more outputs before those of the user. What is said about the
program in the end is about the user's outputs alone (`Problem.asked`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weights2code.data import Problem, Regime, Sequences
from weights2code.data.parts import windows
from weights2code.json_values import items, mapping, names, number
from weights2code.language import Expr, Recurrence, Start, Step, infer
from weights2code.language import from_dict as expression_from_dict
from weights2code.language import to_dict as expression_to_dict
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.simplify.cost import cost
from weights2code.tasks import Reference

#: Sequences that must be left where a machine was never seen to go on.
FEWEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A machine, and its states as values of one or more variables.

    Parameters
    ----------
    machine : what goes on behind the outputs.
    names : of the variables that a state is written as.
    numbers : their values, shape (states, variables); no two states have the same.
    rules : a formula for each variable, of what is read and of these variables one step back.
    answers : a formula for each output of the user, of what is read and of these variables now or before;
        none if they are not known.
    table : whether the rule is a table of the transitions, for want of a formula.
    """

    machine: Machine
    names: tuple[str, ...]
    numbers: np.ndarray
    rules: tuple[Expr, ...]
    answers: tuple[Expr, ...]
    table: bool = False

    @property
    def cost(self) -> float:
        """Of reading the rules; a second one and what is read besides the present inputs cost extra."""
        further = sum(lag > 0 for _, lag in self.machine.reads)
        known = sum(cost(rule) for rule in (*self.rules, *self.answers))
        return known + 2 * further + len(self.names) - 1 if self.answers else np.inf

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "machine": self.machine.to_dict(),
            "names": list(self.names),
            "numbers": self.numbers.tolist(),
            "rules": [expression_to_dict(rule) for rule in self.rules],
            "answers": [expression_to_dict(rule) for rule in self.answers],
        }

    @staticmethod
    def from_dict(data: Any, problem: Problem) -> Memory:
        """Inverse of `to_dict`, for the problem that it is about; anything else is a ValueError."""
        data = mapping(data, "a memory")
        columns, outputs = len(problem.inputs) + len(problem.outputs), len(problem.outputs)
        machine = Machine.from_dict(mapping(data["machine"], "a machine"), columns, outputs)
        known = names(data["names"], "the names")
        rows = [[float(number(v, "a state")) for v in items(row, "a state")] for row in data["numbers"]]
        if len(rows) != machine.states or any(len(row) != len(known) for row in rows):
            raise ValueError("the numbers of the states are not those of the machine")
        rules, answers = (
            tuple(expression_from_dict(rule) for rule in items(data[what], what))
            for what in ("rules", "answers")
        )
        if set(known) & {*problem.inputs, *problem.outputs}:
            raise ValueError("the names of a state are those of columns")
        if len(rules) != len(known) or len(answers) not in (0, outputs):
            raise ValueError("a rule of the state or of an output is missing")
        memory = Memory(machine, known, np.array(rows), rules, answers)
        memory.recurrence(problem)  # refuses what reads other names
        return memory

    def recurrence(self, problem: Problem) -> Recurrence | None:
        """The rules as a program for the problem without memory, with the state among its outputs; None if
        they do not say what the outputs are."""
        if not self.answers:
            return None
        steps = [Step(name, rule) for name, rule in zip(self.names, self.rules, strict=True)]
        steps += [Step(name, rule) for name, rule in zip(problem.outputs, self.answers, strict=True)]
        return Recurrence(problem.inputs, tuple(steps), (*self.names, *problem.outputs), self.start())

    def states(self, inputs: tuple[str, ...]) -> Recurrence:
        """The rules of the state alone."""
        steps = [Step(name, rule) for name, rule in zip(self.names, self.rules, strict=True)]
        return Recurrence(inputs, tuple(steps), self.names, self.start())

    def remark(self) -> str:
        """How well what is known pins the machine down, in a sentence."""
        machine, name = self.machine, " and ".join(self.names)
        one = len(self.names) == 1
        known = machine.moves != NOWHERE
        never, once = int((~known).sum()), int((machine.seen[known] == 1).sum())
        least = int(machine.seen[known].min())
        said = "is not in the data: its" if one else "are not in the data: their"
        text = f"{name} {said} {machine.states} states were merged from the rows, "
        if not never and not once:
            return f"{text}which show each of their {machine.moves.size} transitions at least {least} times"
        shown = [f"{once} only once"] if once else []
        shown += [f"{never} never"] if never else []
        return f"{text}which show {' and '.join(shown)}, of {machine.moves.size} transitions"

    def start(self) -> dict[str, Start]:
        """What the state is before the start, where it is not 0."""
        return {name: float(v) for name, v in zip(self.names, self.numbers[0], strict=True) if v}


def with_memory(problem: Problem, memory: Memory) -> Problem:
    """The problem with the state as outputs before its own.

    Where the machine contradicts rows that it was made from, those are mistakes, and what it says is learned.
    Of long sequences the states are those that the machine comes to from the start; then they are cut.
    """
    if problem.uncut is not None:
        return _cut(with_memory(problem.uncut, memory))
    machine = memory.machine
    own = problem.reference is None
    mistaken = own and bool(machine.wrong(problem.training).any())
    reference = None if problem.reference is None else _Beside(problem, problem.reference, memory)
    parts: Mapping[str, Sequences | None] = {
        name: _run(reference, part) if reference or part is None else _with_states(part, memory, mistaken)
        for name in ("training", "validation", "held_out", "beginnings")
        for part in [getattr(problem, name)]
    }
    return replace(
        problem,
        outputs=(*memory.names, *problem.outputs),
        output_domains=(*(infer(column) for column in memory.numbers.T), *problem.output_domains),
        reference=reference,
        original=problem.under(Regime.MISTAKES) if mistaken else problem,
        remarks=(*problem.remarks, memory.remark()),
        **parts,
    )


def _cut(problem: Problem) -> Problem:
    """The problem of uncut sequences in windows, which see the state that came before them."""
    training, validation = windows(problem.training, seed=0)
    return replace(problem, training=training, validation=validation, length=training.x.shape[1])


def _run(reference: Reference | None, sequences: Sequences | None) -> Sequences | None:
    """The same sequences with what a reference makes of them."""
    if reference is None or sequences is None:
        return None
    return replace(sequences, y=reference.run(sequences.x))


def _with_states(sequences: Sequences, memory: Memory, mistaken: bool) -> Sequences:
    """The same sequences, each up to where the machine was never seen to go on; with its answers in place of
    the labels if some of those are mistaken."""
    machine = memory.machine
    after, before = machine.run(sequences)
    lost = (after == NOWHERE) & sequences.valid
    lengths = np.where(lost.any(1), lost.argmax(1), sequences.lengths)
    read = machine.symbols_of(sequences)
    labels = machine.answers[before, read] if mistaken else sequences.y
    y = np.concatenate([memory.numbers[after], labels], 2)
    y[lost] = 0.0
    y[~sequences.valid] = 0.0
    kept = lengths > 0
    if kept.sum() < FEWEST:
        kept, lengths = np.ones_like(kept), np.maximum(lengths, 1)
    return replace(sequences, y=y, lengths=lengths).take(kept)


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """What specifies the outputs, and the states beside it, which follow from its inputs and outputs."""

    problem: Problem
    reference: Reference
    memory: Memory

    def run(self, x: np.ndarray) -> np.ndarray:
        y = self.reference.run(x)
        states = self.memory.states((*self.problem.inputs, *self.problem.outputs))
        return np.concatenate([states.run(np.concatenate([x, y], 2)), y], 2)
