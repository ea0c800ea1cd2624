"""A finite machine by membership queries, where some answers may be mistakes, and the rule of its states.

What Angluin's L* does, by votes: beginnings after which a few suffixes are answered alike are a state. Moves
that nobody saw are asked for; two of a state that a symbol leads apart give a suffix that tells them apart; a
sequence that the machine gets wrong gives its beginnings. All questions of a round are asked at once. Where
mistakes are allowed, a row of answers that is rare and nearly that of a frequent state is taken for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from weights2code.data import from_arrays
from weights2code.decompilation.model import Model
from weights2code.decompilation.rule import ORIGIN, Rule
from weights2code.language import Recurrence, Step, Var
from weights2code.memory.formulas import formula_of, table_of, transitions
from weights2code.memory.machine import Machine, positions_in
from weights2code.program import Program
from weights2code.simplify import simplify_recurrence
from weights2code.simplify.cost import cost
from weights2code.verify.hunt import every_row
from weights2code.views.states import numbered

#: Rows that a machine may read, and states that it may have.
MOST_SYMBOLS, MOST_STATES = 12, 24
#: Suffixes that states are told apart by at first, at most; by how much words may be longer than sequences.
FIRST_SUFFIXES, MORE = 12, 3
#: Sequences whose beginnings are looked at where answers may be wrong; rounds of asking.
BEGUN, ROUNDS = 40, 60
#: Where answers may be mistakes: the share of them, the share of a row that may be, how much rarer such a row
#: is, and the votes that a second way must have.
FEW, NEARLY, RARER, VOTES = 0.02, 0.2, 4, 0.2
#: Rules of the states for which formulas of the outputs are looked for, and effort for one, in seconds of a
#: usual machine, where it is to be quick and where not.
RULES, QUICK, EFFORT = 3, 0.05, 0.5
#: The cost of a rule that is more than a table.
NO_TABLE = 40.0

Word = tuple[int, ...]


@dataclass(slots=True, eq=False)
class Observed:
    """What was asked: words of rows, and the outputs after each; and the suffixes that tell states apart."""

    model: Model
    rows: np.ndarray
    longest: int
    mistakes: bool
    known: dict[Word, tuple[float, ...]] = field(default_factory=dict)
    suffixes: list[Word] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.rows)
        length = max((k for k in (2, 3)[: 1 + self.mistakes] if count**k <= FIRST_SUFFIXES), default=1)
        self.suffixes = list(product(range(count), repeat=length))

    @property
    def room(self) -> int:
        """How long a word may be that suffixes are put to."""
        return self.longest - max(map(len, self.suffixes))

    @property
    def ends(self) -> list[Word]:
        """The suffixes with their beginnings: one output each."""
        return list(dict.fromkeys(suffix[: t + 1] for suffix in self.suffixes for t in range(len(suffix))))

    def ask(self, words: Iterable[Word]) -> None:
        """Ask all that are not known, the longest first, those of one length at once."""
        fresh = {word for word in words if word not in self.known}
        for length in sorted({len(word) for word in fresh}, reverse=True):
            asked = [word for word in fresh if len(word) == length and word not in self.known]
            if asked:
                outputs, _ = self.model(self.rows[np.array(asked)])
                for word, answers in zip(asked, outputs.tolist(), strict=True):
                    self.known |= {word[: t + 1]: tuple(answer) for t, answer in enumerate(answers)}

    def folded(self, words: list[Word]) -> tuple[dict[Word, int], np.ndarray]:
        """The state that each word leads to, in the order in which words come to them, and the row of outputs
        of each state."""
        self.ask(word + suffix for word in words for suffix in self.suffixes)
        ends = self.ends
        table = np.array([[self.known[word + end] for end in ends] for word in words])
        kinds, count = np.unique(table, axis=0, return_counts=True)
        if self.mistakes:
            apart = (kinds[:, None] != kinds[None]).any(3).mean(2)
            often = count[None] >= RARER * count[:, None]
            kinds = kinds[~((apart <= NEARLY) & often).any(1)]
        nearest = (table[:, None] != kinds[None]).any(3).sum(2).argmin(1) if len(words) * len(kinds) else []
        order = list(dict.fromkeys(nearest))
        return {word: order.index(kind) for word, kind in zip(words, nearest, strict=True)}, kinds[order]

    def parting(self, symbol: int, one: np.ndarray, two: np.ndarray) -> Word | None:
        """The suffix that tells states apart whose successors have these rows; None if it is known."""
        places = np.flatnonzero((one != two).any(1))
        suffix = (symbol, *min((self.ends[place] for place in places), key=len))
        return None if suffix in self.suffixes else suffix


def machine_of(model: Model, x: np.ndarray, *, mistakes: bool = False) -> Machine | None:
    """The machine that a model is on the sequences x (n, T, columns), or nearly; None if it has no few
    states."""
    rows = every_row(model.domains)
    if rows is None or len(rows) > MOST_SYMBOLS or not model.reading.whole:
        return None
    most = min(x.shape[1] + MORE, model.longest or x.shape[1] + MORE)
    seen = Observed(model, rows, most, mistakes)
    sequences, read = from_arrays(x, model(x)[0]), positions_in(rows, x)
    words = {(), *_beginnings(read[: BEGUN * mistakes])}  # else the shortest to each state are found
    for _ in range(ROUNDS):
        known = sorted((word for word in words if len(word) <= seen.room), key=lambda word: (len(word), word))
        if not known:
            return None
        place, kinds = seen.folded(known)
        if len(kinds) > MOST_STATES:
            return None
        votes = np.zeros((len(kinds), len(rows), len(kinds)), int)
        for word, state in place.items():
            if word:
                votes[place[word[:-1]], word[-1], state] += 1
        first = {state: word for word, state in reversed(place.items())}
        ways = {(*first[state], symbol) for state, symbol in np.argwhere(votes.sum(2) == 0).tolist()}
        torn = np.argwhere((votes > (VOTES * votes.max(2, keepdims=True) if mistakes else 0)).sum(2) > 1)
        if ways:
            words |= ways
            if max(map(len, ways)) > seen.room:
                return None
        elif len(torn):
            state, symbol = torn[0]
            one, two = votes[state, symbol].argsort()[-2:]
            suffix = seen.parting(int(symbol), kinds[one], kinds[two])
            if suffix is None:
                return None
            seen.suffixes.append(suffix)
        else:
            answers = kinds[:, [seen.ends.index((symbol,)) for symbol in range(len(rows))]]
            machine = Machine(rows, votes.argmax(2), answers)
            wrong = machine.wrong(sequences)
            if wrong.mean() <= (FEW if mistakes else 0):
                return machine
            more = _beginnings(read[[int(wrong.sum(1).argmax())]]) - words
            if not more:
                return None
            words |= more
    return None


def _beginnings(read: np.ndarray) -> set[Word]:
    return {tuple(row[:t]) for row in read.tolist() for t in range(len(row) + 1)}


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


def rule_of(
    machine: Machine, model: Model, outputs: tuple[str, ...], name: str, *, quick: bool = False
) -> Rule | None:
    """The shortest program of a machine, or the shortest that is found fast; None if its states have no
    rule."""
    columns = tuple(model.columns)
    stem = "state" if "state" not in (*columns, *outputs) else "state_"
    state, reads = Var(stem, 1), tuple(Var(column) for column in columns)
    found: list[tuple[float, Recurrence]] = []
    for order in numbered(machine, state, reads, quick=quick)[:RULES]:
        before, read, after, given = transitions(machine, order.numbers[:, None])
        of_both, of_after = (np.hstack([before, read]), (state, *reads)), (after, (Var(stem),))
        answers = []
        for target in given.T:
            alone = all(np.ptp(target[after[:, 0] == number]) == 0 for number in np.unique(after))
            table, variables = of_after if alone else of_both
            formula = formula_of(table, target, variables, QUICK if quick else EFFORT)
            answers.append(formula or table_of(table, target, variables))
        if None in answers:
            continue
        steps = [Step(stem, order.rule)]
        steps += [Step(output, answer) for output, answer in zip(outputs, answers, strict=True)]
        start = {stem: float(order.numbers[0])} if order.numbers[0] else {}
        total = order.cost + sum(map(cost, answers))
        found.append((total, Recurrence(columns, tuple(steps), outputs, start).live()))
    if not found:
        return None
    total, rule = min(found, key=lambda pair: pair[0])
    rule = simplify_recurrence(rule, model.domains) if total <= NO_TABLE else rule
    return Rule(Program(name, rule, model.domains, True, ORIGIN))
