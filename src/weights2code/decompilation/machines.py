"""A finite machine by membership queries: states are told apart by the answers after a few suffixes.

What Angluin's L* does, with suffixes found as Rivest and Schapire do: each sequence that the machine gets
wrong gives one suffix that parts two states which were taken for one. All questions of a round are asked at
once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weights2code.decompilation.model import Model
from weights2code.decompilation.rule import ORIGIN, Rule
from weights2code.language import Expr, Recurrence, Step, Var
from weights2code.memory.formulas import formula_of, table_of, transitions
from weights2code.memory.machine import Machine
from weights2code.program import Program
from weights2code.simplify import simplify_recurrence
from weights2code.simplify.cost import cost
from weights2code.verify.hunt import every_row
from weights2code.views.states import numbered

#: Rows that a machine may read, and states that it may have.
MOST_SYMBOLS, MOST_STATES = 12, 24
#: Suffixes that states are told apart by at first, at most.
FIRST_SUFFIXES = 12
#: By how much words may be longer than the sequences.
MORE = 3
#: Sequences that are wrong, each of which gives a suffix.
ROUNDS = 60
#: Rules of the states for which formulas of the outputs are looked for.
RULES = 3
#: Effort for the formula of an output, in seconds of a usual machine.
EFFORT = 0.5

Word = tuple[int, ...]


@dataclass(slots=True, eq=False)
class Observed:
    """What was asked: words of rows, and the outputs after each."""

    model: Model
    rows: np.ndarray
    longest: int
    known: dict[Word, tuple[float, ...]] = field(default_factory=dict)

    def ask(self, words: list[Word]) -> bool:
        """Ask all that are not known, those of one length at once; whether none is too long."""
        fresh = {word for word in words if word and word not in self.known}
        if any(len(word) > self.longest for word in fresh):
            return False
        for length in sorted({len(word) for word in fresh}, reverse=True):
            asked = [word for word in fresh if len(word) == length and word not in self.known]
            if not asked:
                continue
            outputs, _ = self.model(self.rows[np.array(asked)])
            for word, answers in zip(asked, outputs.tolist(), strict=True):
                for t, answer in enumerate(answers):
                    self.known[word[: t + 1]] = tuple(answer)
        return True

    def after(self, word: Word, suffix: Word) -> tuple[tuple[float, ...], ...]:
        """The outputs along the suffix."""
        return tuple(self.known[word + suffix[: t + 1]] for t in range(len(suffix)))


def machine_of(model: Model, x: np.ndarray) -> Machine | None:
    """The machine that a model is on the sequences x (n, T, columns); None if it has no few states."""
    rows = every_row(model.domains)
    if rows is None or len(rows) > MOST_SYMBOLS or not model.reading.whole:
        return None
    most = x.shape[1] + MORE
    seen = Observed(model, rows, min(most, model.longest or most))
    read = (x[:, :, None] == rows).all(-1).argmax(-1)
    right = model(x)[0]
    suffixes: list[Word] = [(symbol,) for symbol in range(len(rows))]
    if len(rows) ** 2 <= FIRST_SUFFIXES:
        suffixes = [(one, two) for one in range(len(rows)) for two in range(len(rows))]
    for _ in range(ROUNDS):
        closed = _closed(seen, suffixes)
        if closed is None:
            return None
        states, moves, answers = closed
        wrong = _first_wrong(moves, answers, read, right)
        if wrong is None:
            return _machine(rows, moves, answers)
        suffix = _parting(seen, states, moves, wrong)
        if suffix is None or suffix in suffixes:
            return None
        suffixes.append(suffix)
    return None


def is_hidden(machine: Machine) -> bool:
    """Whether no window of inputs and outputs, however long, tells the states apart: two states that give the
    same for the same rows can go on doing so for ever."""
    alike = (machine.answers[:, None] == machine.answers[None]).all(3)  # (states, states, rows)
    apart = np.logical_not(np.eye(machine.states, dtype=bool))
    first, second = machine.moves[:, None], machine.moves[None]
    for _ in range(machine.states**2 + 1):
        goes_on = (alike & apart[first, second]).any(2) & apart
        if (goes_on == apart).all():
            return bool(apart.any())
        apart = goes_on
    return False


def _closed(seen: Observed, suffixes: list[Word]) -> tuple[list[Word], np.ndarray, np.ndarray] | None:
    """The shortest word to each state, the moves, and the outputs (states, rows, outputs)."""
    symbols = range(len(seen.rows))
    states: list[Word] = [()]
    place: dict[object, int] = {}
    moves: list[list[int]] = []
    if not seen.ask(suffixes):
        return None
    place[tuple(seen.after((), suffix) for suffix in suffixes)] = 0
    done = 0
    while done < len(states):
        layer = states[done:]
        if not seen.ask([(*word, a, *suffix) for word in layer for a in symbols for suffix in suffixes]):
            return None
        for word in layer:
            after = []
            for a in symbols:
                row = tuple(seen.after((*word, a), suffix) for suffix in suffixes)
                if row not in place:
                    place[row] = len(states)
                    states.append((*word, a))
                after.append(place[row])
            moves.append(after)
        done += len(layer)
        if len(states) > MOST_STATES:
            return None
    answers = [[seen.known[(*word, a)] for a in symbols] for word in states]
    return states, np.array(moves), np.array(answers)


def _first_wrong(moves: np.ndarray, answers: np.ndarray, read: np.ndarray, right: np.ndarray) -> Word | None:
    """The shortest beginning of these sequences after which the machine is wrong."""
    state = np.zeros(len(read), int)
    for t in range(read.shape[1]):
        wrong = (answers[state, read[:, t]] != right[:, t]).any(1)
        if wrong.any():
            return tuple(read[int(wrong.argmax()), : t + 1].tolist())
        state = moves[state, read[:, t]]
    return None


def _parting(seen: Observed, states: list[Word], moves: np.ndarray, word: Word) -> Word | None:
    """The suffix that parts a state from one that it was taken for, on the way of a wrong word."""
    ways, state = [], 0
    for i in range(len(word)):
        ways.append((*states[state], *word[i:]))
        state = int(moves[state, word[i]])
    if not seen.ask(ways):
        return None
    last = [seen.known[way] for way in ways]
    for i in range(len(word) - 1):
        if last[i] != last[i + 1]:
            return word[i + 1 :]
    return None


def _machine(rows: np.ndarray, moves: np.ndarray, answers: np.ndarray) -> Machine:
    reads = tuple((column, 0) for column in range(rows.shape[1]))
    return Machine(reads, rows, moves, answers, np.ones(moves.shape, int))


def rule_of(machine: Machine, model: Model, outputs: tuple[str, ...], name: str) -> Rule | None:
    """The shortest program of a machine; None if its states have no rule."""
    columns = tuple(model.columns)
    stem = "state" if "state" not in (*columns, *outputs) else "state_"
    state, reads = Var(stem, 1), tuple(Var(column) for column in columns)
    found: list[tuple[float, Recurrence]] = []
    for order in numbered(machine, state, reads)[:RULES]:
        answers = _answers(machine, order.numbers[:, None], stem, reads)
        if answers is None:
            continue
        steps = [Step(stem, order.rule)]
        steps += [Step(output, answer) for output, answer in zip(outputs, answers, strict=True)]
        start = {stem: float(order.numbers[0])} if order.numbers[0] else {}
        total = order.cost + sum(map(cost, answers))
        found.append((total, Recurrence(columns, tuple(steps), outputs, start).live()))
    if not found:
        return None
    rule = simplify_recurrence(min(found, key=lambda pair: pair[0])[1], model.domains)
    return Rule(Program(name, rule, model.domains, True, ORIGIN), None)


def _answers(machine: Machine, numbers: np.ndarray, stem: str, reads: tuple[Var, ...]) -> list[Expr] | None:
    """A formula of each output: of the state that is come to, else of the one before and what is read."""
    before, read, after, outputs = transitions(machine, numbers)
    found = []
    for target in outputs.T:
        variables, columns = (Var(stem, 1), *reads), np.hstack([before, read])
        if all(len(np.unique(target[after[:, 0] == number])) == 1 for number in np.unique(after)):
            variables, columns = (Var(stem),), after
        formula = formula_of(columns, target, variables, EFFORT) or table_of(columns, target, variables)
        if formula is None:
            return None
        found.append(formula)
    return found
