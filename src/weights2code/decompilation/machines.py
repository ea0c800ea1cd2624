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
from weights2code.language import Recurrence, Step, Var
from weights2code.memory.formulas import answers_of
from weights2code.memory.machine import Machine
from weights2code.memory.screen import visible_window
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
MORE = 4
#: Sequences that are wrong, each of which gives a suffix.
ROUNDS = 60
#: Rules of the states for which formulas of the outputs are looked for.
RULES = 3

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
    """Whether no window of what is visible tells the states apart: then no rule without a state is shorter."""
    return visible_window(machine) is None


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
    for numbers in numbered(machine, state, reads)[:RULES]:
        answers = answers_of(machine, numbers.numbers[:, None], (stem,), reads, (numbers.rule,))
        if answers is None:
            continue
        steps = [Step(stem, numbers.rule)]
        steps += [Step(output, answer) for output, answer in zip(outputs, answers, strict=True)]
        start = {stem: float(numbers.numbers[0])} if numbers.numbers[0] else {}
        total = numbers.cost + sum(map(cost, answers))
        found.append((total, Recurrence(columns, tuple(steps), outputs, start).live()))
    if not found:
        return None
    machine_text = simplify_recurrence(min(found, key=lambda pair: pair[0])[1], model.domains)
    return Rule(Program(name, machine_text, model.domains, True, ORIGIN), None)
