"""The rule of a model: from where it is in its element outwards, with what departs fed back.

Sums and machines of few states are asked for first; everything else goes to the search, in uniform sequences
that are short at first. A rule is looked at by a brief hunt; what departs goes to the search again, and the
rule with the shortest description of everything stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.decompilation.lines import linear_rule
from weights2code.decompilation.machines import is_hidden, machine_of, rule_of
from weights2code.decompilation.model import Model
from weights2code.decompilation.rule import Answers, Rule, left_out, rule_from
from weights2code.decompilation.verdict import hunted
from weights2code.effort import seconds_left, time_is_up, within
from weights2code.language import uniform
from weights2code.memory.machine import Machine
from weights2code.report.svg import plural
from weights2code.verify.hunt import drawn

#: Bits of a word or sign of a formula, of a sequence that is an exception, of a position at the end that a
#: rule does not reach, and of saying so.
BITS_A_TOKEN, BITS_AN_EXCEPTION, BITS_A_POSITION, BITS_OF_A_TEST = 5.0, 10.0, 20.0, 25.0
#: What a shorter text of a machine may take, in seconds.
MACHINE_SECONDS = 10.0
#: Sequences that a machine is checked on, and states of one that is no copy of mistakes.
MACHINE_CHECKED, FEW_STATES = 300, 9
#: Words and signs of a rule that no search would make shorter, and beyond which a shorter one is looked for
#: though it may have exceptions.
SHORT, BIG = 24, 60
#: Positions that sequences have at least, and the share of sequences that may part from a sum.
FEWEST, RARELY = 4, 0.01
#: Sequences that are learned from at first, and those that rules are judged by.
LEARNED, JUDGED = 1500, 1000
#: What a sequence that parts counts, a uniform one and others: rare mistakes cost less than a machine that
#: copies them.
PLAIN_WEIGHT, STRUCTURED_WEIGHT = 0.2, 0.1
#: Departures that are fed back, with so many of their neighbours each, and how often that is done.
FED, NEIGHBOURS, ROUNDS = 120, 2, 3
#: Of the time that is left, what one search may take; and the most of it in seconds, where there is no rule
#: so far and where a better one is looked for.
SEARCH_SHARE, SEARCH_SECONDS, BETTER_SECONDS = 0.4, 25.0, 5.0
#: Of the questions, what a brief hunt may take.
BRIEF = 0.1
#: Another rule is told if its description has at most so many times the bits, and so many are.
CLOSE, OTHERS = 1.2, 2


@dataclass(slots=True, eq=False)
class Learner:
    """Rules of a model, the one with the shortest description first, and what was asked for them."""

    model: Model
    name: str
    say: Callable[[str], None]
    rules: list[Rule] = field(default_factory=list)
    machine: Machine | None = None
    of_machine: Rule | None = None
    outputs: tuple[str, ...] = field(init=False)
    rng: np.random.Generator = field(init=False)
    judges: list[tuple[np.ndarray, np.ndarray, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.outputs = self.model.outputs
        self.rng = np.random.default_rng(self.model.asking.seed)
        count = min(JUDGED, max(64, self.budget // (20 * self.each)))
        beyond = min(2 * self.length, self.model.longest or 2 * self.length)
        plain = uniform(self.rng, self.model.domains, count, beyond)
        styled = drawn(self.rng, self.model.domains, count, self.length)
        self.judges = [
            (plain, self.model(plain)[0], PLAIN_WEIGHT),
            (styled, self.model(styled)[0], STRUCTURED_WEIGHT),
        ]

    @property
    def length(self) -> int:
        """The model's own."""
        return self.model.asking.length

    @property
    def budget(self) -> int:
        return self.model.asking.queries

    @property
    def each(self) -> int:
        """Questions that a sequence of it takes."""
        return self.length if self.model.at == "last" else 1

    @property
    def states(self) -> int | None:
        """Of the machine that the model nearly is, if it is one."""
        return None if self.machine is None else self.machine.states

    def best(self) -> Rule | None:
        """The rule with the shortest description of everything; None if no search found any."""
        if self._adds_up() or self._few_states():
            return self.rules[0]
        answers: Answers = []
        for answers in self._samples():
            if self._stands() or not (self._search(answers) or self._big()):
                break
        for _ in range(ROUNDS):
            departed = self._briefly_hunted()
            if not departed or time_is_up():
                break
            self._judge_by(departed)
            answers += self._fed(departed)
            if not self._search(answers):
                break
        return self.rules[0] if self.rules else None

    def others(self) -> list[Rule]:
        """Rules whose description is nearly as long as the best one's."""
        return [rule for rule in self.rules[1:] if rule.bits <= CLOSE * self.rules[0].bits][:OTHERS]

    # -- where rules come from -----------------------------------------------------------------------------

    @property
    def lengths(self) -> list[int]:
        """The model's own, and shorter ones, where it may be more in its element."""
        return sorted({self.length, *(max(FEWEST, self.length // k) for k in (2, 3))}, reverse=True)

    def _adds_up(self) -> bool:
        """Whether the model is a sum of what it read, of numbers, at its own length; a sum that it is at a
        shorter one is a rule too, if it holds anywhere."""
        at_home = False
        for length in self.lengths:
            x = self.judges[0][0][:, :length]
            found = linear_rule(self.model, x, self.outputs[0], self.name)
            if found is not None and self._holds(self._judged(found)):
                self._take(found)
                at_home |= length >= self.length
            if self._stands():
                break
        return at_home and self.rules[0].wrong <= RARELY and not self._big()

    def _few_states(self) -> bool:
        """Whether the model is a machine of few states that is right wherever it is at home."""
        for length, mistakes in [*((length, False) for length in self.lengths), (self.length, True)]:
            x = self.judges[0][0][:MACHINE_CHECKED, :length]
            machine = machine_of(self.model, x, mistakes=mistakes)
            if machine is None or machine.states == self.states:
                continue
            self.say(f"a machine of {plural(machine.states, 'state')}, after {self.model.queries} sequences")
            found = rule_of(machine, self.model, self.outputs, self.name, quick=True)
            if found is None:
                continue
            self.machine = machine
            few = machine.states <= FEW_STATES
            if self._take(found) and few and is_hidden(machine):
                self.of_machine = self.rules[0]
            if few and not self._big(SHORT) and self._stands():
                return True
        return False

    def worded(self) -> Rule:
        """The best rule; a table of a machine is put shorter if there is a way."""
        if self.machine is not None and self.rules[0].size > BIG:
            with within(MACHINE_SECONDS):
                found = rule_of(self.machine, self.model, self.outputs, self.name)
            if found is not None:
                self._take(found)
        return self.rules[0]

    def _samples(self) -> Iterator[Answers]:
        """Uniform sequences that are half as long as the model's own, but long enough that there are many;
        the beginnings of these; and some that have the whole length."""
        size = np.prod([domain.size if domain.discrete else np.inf for domain in self.model.domains])
        many = int(np.ceil(np.log(2 * LEARNED) / np.log(size))) if 2 <= size < np.inf else 0
        short = min(self.length, max(5, self.length // 2, many))
        count = min(LEARNED, max(100, self.budget // (8 * self.each)))
        answers = self._asked(uniform(self.rng, self.model.domains, count, short))
        yield answers
        if short < self.length:
            yield answers + self._asked(uniform(self.rng, self.model.domains, count // 2, self.length))
        half = max(FEWEST, self.length // 2)
        yield [(x[:half], y[:half]) for x, y in answers]

    def _asked(self, x: np.ndarray) -> Answers:
        return list(zip(x, self.model(x)[0], strict=True))

    def _search(self, answers: Answers) -> bool:
        """Search once; whether it gave a rule that is better than those so far."""
        most = BETTER_SECONDS if self.rules else SEARCH_SECONDS
        seconds = min(most, SEARCH_SHARE * seconds_left())
        if seconds < 1:
            return False
        columns, whole = dict(self.model.columns), self.model.reading.whole
        found = rule_from(
            answers, columns, self.outputs, self.model.asking.seed, seconds, self.name, whole=whole
        )
        if found is None:
            self.say(f"no rule in {len(answers)} sequences")
            return not self.rules
        return self._take(found)

    def _briefly_hunted(self) -> list[np.ndarray]:
        """Departures from a rule that has no exceptions so far, where it is to hold."""
        if not self.rules or self.rules[0].wrong:
            return []
        rule, budget = self.rules[0], int(BRIEF * max(0, self.budget - self.model.queries))
        hunt = hunted(rule.recurrence, self.model, int(self.rng.integers(1 << 31)), budget)
        hunt.briefly()
        return [x for x in hunt.departed if len(x) <= min(rule.horizon, self.length)]

    def _judge_by(self, departed: list[np.ndarray]) -> None:
        """Departures that were fed back count too, as exceptions of the rules so far."""
        x = self._filled(departed[:FED])
        self.judges.append((x, self.model(x)[0], STRUCTURED_WEIGHT))
        self.rules = sorted(map(self._judged, self.rules), key=lambda rule: rule.bits)

    def _fed(self, departed: list[np.ndarray]) -> Answers:
        """What departed, filled up to the length, the same with a row changed, and as many uniform ones."""
        x = [uniform(self.rng, self.model.domains, LEARNED // 2, self.length)]
        for copy in range(NEIGHBOURS + 1):
            near = self._filled(departed[:FED])
            spots = self.rng.integers(0, self.length, len(near))
            if copy:
                near[np.arange(len(near)), spots] = uniform(self.rng, self.model.domains, len(near), 1)[:, 0]
            x.append(near)
        return self._asked(np.concatenate(x))

    def _filled(self, departed: list[np.ndarray]) -> np.ndarray:
        x = uniform(self.rng, self.model.domains, len(departed), self.length)
        for row, known in zip(x, departed, strict=True):
            row[: len(known)] = known[: self.length]
        return x

    # -- what they are worth -------------------------------------------------------------------------------

    def _take(self, found: Rule) -> bool:
        """Judge a rule; whether it is better than those so far."""
        found = self._shortened(self._judged(found))
        formula = found.program.formula()
        self.say(
            f"{'; '.join(formula.splitlines())} ({found.wrong:.1%} of fresh sequences depart, "
            f"{found.bits:.0f} bits)"
        )
        if formula not in {rule.program.formula() for rule in self.rules}:
            self.rules = sorted([*self.rules, found], key=lambda rule: rule.bits)
        return self.rules[0] is found

    def _big(self, size: int = BIG) -> bool:
        """Whether there is no rule, or the best one may be a copy of mistakes; machines that no window of
        inputs tells apart are none."""
        return not self.rules or (self.rules[0].size > size and self.rules[0] is not self.of_machine)

    def _stands(self) -> bool:
        """Whether the best rule is right wherever uniform sequences go, and beyond the model's own length."""
        return bool(self.rules) and not self.rules[0].wrong and self.rules[0].horizon > self.length

    def _holds(self, rule: Rule) -> bool:
        """Whether there are sequences that are no exceptions from it."""
        return rule.exceptions < sum(weight * len(x) for x, _, weight in self.judges) - 1e-9

    def _judged(self, rule: Rule) -> Rule:
        """With what it gets wrong, and the bits of the rule, its exceptions, and the positions at the end of
        which it says nothing, if that is the shortest description."""
        first = [self._first_wrong(rule, x, y) for x, y, _ in self.judges]
        ways = []
        longest = self.judges[0][0].shape[1]
        for horizon in range(longest, (self.length - 1) // 2, -1):
            pairs = zip(first, self.judges, strict=True)
            exceptions = sum(weight * int((at < horizon).sum()) for at, (_, _, weight) in pairs)
            left_out = (longest - horizon) * BITS_A_POSITION + (horizon < longest) * BITS_OF_A_TEST
            bits = BITS_A_TOKEN * rule.size + BITS_AN_EXCEPTION * exceptions + left_out
            ways.append((bits, exceptions, horizon))
        bits, exceptions, horizon = min(ways, key=lambda way: way[0])
        wrong = float((first[0] < min(self.length, horizon)).mean())
        return replace(rule, wrong=wrong, exceptions=exceptions, horizon=horizon, bits=bits)

    def _shortened(self, rule: Rule) -> Rule:
        """With parts of its formulas left out, as long as the description of everything gets shorter; what
        holds nowhere would get shorter until nothing is left."""
        while rule.size <= BIG and self._holds(rule) and not time_is_up():
            ways = [self._judged(replace(rule, program=way)) for way in left_out(rule.program)]
            best = min(ways, key=lambda way: way.bits, default=rule)
            if best.bits >= rule.bits:
                break
            rule = best
        return rule

    def _first_wrong(self, rule: Rule, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The first position where each sequence parts; beyond all if none does."""
        with np.errstate(all="ignore"):
            wrong = ~(np.abs(rule.recurrence.run(x) - y).max(2) <= self.model.reading.near)
        return np.where(wrong.any(1), wrong.argmax(1), self.judges[0][0].shape[1])
