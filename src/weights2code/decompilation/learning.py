"""The rule of a model: from where it is in its element outwards, with what departs fed back.

Uniform sequences that are short come first, then those of the model's own length; a search that finds nothing
gets what the model is surest of. A rule is looked at by a brief hunt; what departs goes to the search again,
and the rule with the shortest description of everything stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.decompilation.lines import linear_rule
from weights2code.decompilation.machines import is_hidden, machine_of, rule_of
from weights2code.decompilation.model import Model
from weights2code.decompilation.rule import Answers, Rule, left_out, rule_from
from weights2code.effort import seconds_left, time_is_up, within
from weights2code.language import uniform
from weights2code.verify.hunt import Hunt, drawn

#: Bits of a word or sign of a formula, of a sequence that is an exception, of a position at the end that a
#: rule does not reach, and of saying so.
BITS_A_TOKEN, BITS_AN_EXCEPTION, BITS_A_POSITION, BITS_OF_A_TEST = 5.0, 10.0, 20.0, 25.0
#: What the rule of a machine may take.
MACHINE_SECONDS = 10.0
#: Sequences that a machine is checked on, and states of one that is no copy of mistakes.
MACHINE_CHECKED, FEW_STATES = 300, 9
#: The share of sequences that may part from a sum that is near enough everywhere else.
RARELY = 0.01
#: Words and signs of a rule that no search would make shorter.
SHORT = 24
#: Words and signs of a rule beyond which a shorter one is looked for, though it may have exceptions.
BIG = 60
#: Positions that beginnings have at least.
FEWEST = 4
#: Sequences that are learned from at first, and those that rules are judged by.
LEARNED, JUDGED = 1500, 1000
#: What a sequence that parts counts, a uniform one and others: rare mistakes cost less than a machine that
#: copies them.
PLAIN_WEIGHT, STRUCTURED_WEIGHT = 0.2, 0.1
#: Departures that are fed back, with so many of their neighbours each, and how often that is done.
FED, NEIGHBOURS, ROUNDS = 120, 2, 3
#: Positions of which the model is least sure, as shares, that are left out where nothing was found in all.
UNSURE = (0.01, 0.05)
#: Of the time that is left, what one search may take; and the most of it in seconds.
SEARCH_SHARE, SEARCH_SECONDS = 0.4, 25.0
#: Of the questions, what a brief hunt may take.
BRIEF = 0.1
#: Another rule is told if its description has at most so many times the bits.
CLOSE = 1.2


@dataclass(slots=True, eq=False)
class Learner:
    """Rules of a model, and what was asked for them."""

    model: Model
    length: int
    outputs: tuple[str, ...]
    seed: int
    budget: int
    name: str
    say: Callable[[str], None]
    rules: list[Rule] = field(default_factory=list)
    confirmed: bool = False
    states: int | None = None
    rng: np.random.Generator = field(init=False)
    judges: list[tuple[np.ndarray, np.ndarray, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        domains = self.model.domains
        count = min(JUDGED, max(64, self.budget // (20 * self._each)))
        beyond = min(2 * self.length, self.model.longest or 2 * self.length)
        plain = uniform(self.rng, domains, count, beyond)
        styled = drawn(self.rng, domains, count, self.length)
        self.judges = [
            (plain, self.model(plain)[0], PLAIN_WEIGHT),
            (styled, self.model(styled)[0], STRUCTURED_WEIGHT),
        ]

    @property
    def _count(self) -> int:
        """Sequences that are learned from at first."""
        return min(LEARNED, max(100, self.budget // (8 * self._each)))

    @property
    def _each(self) -> int:
        """Questions that a sequence takes."""
        return self.length if self.model.at == "last" else 1

    @property
    def near(self) -> float:
        return 0.499 if self.model.reading.whole else self.model.reading.tolerance

    def best(self) -> Rule | None:
        """The rule with the shortest description of everything; None if no search found any."""
        if self._adds_up() or self._few_states():
            return self.rules[0]
        answers = self._asked(uniform(self.rng, self.model.domains, self._count, self._short()))
        self._search(answers)
        if not self._reaches() or self._big():
            self._search(answers.beginnings(max(FEWEST, self.length // 2)))
        if not self._settled() and self._short() < self.length:
            x = uniform(self.rng, self.model.domains, self._count // 2, self.length)
            answers = answers.with_(x, *self.model(x))
            self._search(answers)
        for share in UNSURE if self.model.reading.whole else ():
            if not self._settled() or self._big():
                self._search(answers.trusted(share))
        for _ in range(ROUNDS):
            departed = self._briefly_hunted()
            if not departed or time_is_up():
                break
            self._judge_by(departed)
            answers = self._fed(answers, departed)
            before = self.rules[0].program.formula()
            if not self._search(answers) or self.rules[0].program.formula() == before:
                break
        return self.rules[0] if self.rules else None

    def others(self) -> list[Rule]:
        """Rules whose description is nearly as long as the best one's, but other."""
        best = self.rules[0]
        known = {best.program.formula()}
        return [
            rule
            for rule in self.rules[1:]
            if rule.bits <= CLOSE * best.bits and rule.program.formula() not in known
        ][:2]

    def _adds_up(self) -> bool:
        """Whether the model is a sum of what it read, of numbers, and is so beyond its own length."""
        x = self.judges[0][0]
        found = linear_rule(self.model, x[:, : self.length], self.near, self.outputs[0], self.name)
        if found is not None:
            self._take(found)
        return found is not None and self.rules[0].wrong <= RARELY and found.size <= BIG

    def _few_states(self) -> bool:
        """Whether the model is a machine of few states that has a rule, right wherever it is at home."""
        for length in sorted({self.length, *(max(FEWEST, self.length // k) for k in (2, 3))}, reverse=True):
            x = self.judges[0][0][:MACHINE_CHECKED, :length]
            machine = machine_of(self.model, x)
            if machine is None or machine.states == self.states:
                continue
            self.say(f"a machine of {machine.states} states, after {self.model.queries} sequences")
            self.states = machine.states
            with within(MACHINE_SECONDS):
                found = rule_of(machine, self.model, self.outputs, self.name)
            if found is None:
                continue
            self._take(found)
            short = is_hidden(machine) or self.rules[0].size <= SHORT
            if short and machine.states <= FEW_STATES and self._settled() and self._reaches():
                return True
        return False

    def _short(self) -> int:
        """Half the length, but long enough that there are many sequences."""
        size = 1.0
        for domain in self.model.domains:
            size *= domain.size if domain.discrete else np.inf
        many = 0 if np.isinf(size) or size < 2 else int(np.ceil(np.log(2 * LEARNED) / np.log(size)))
        return min(self.length, max(5, self.length // 2, many))

    def _asked(self, x: np.ndarray) -> Answers:
        return Answers().with_(x, *self.model(x))

    def _search(self, answers: Answers) -> bool:
        """Search once; whether it gave a rule that was not known."""
        seconds = min(SEARCH_SECONDS, SEARCH_SHARE * seconds_left())
        if seconds < 1 or len(answers) < 2:
            return False
        whole = self.model.reading.whole
        columns = dict(self.model.columns)
        found = rule_from(answers, columns, self.outputs, self.seed, seconds, self.name, whole=whole)
        if found is None:
            self.say(f"no rule in {len(answers)} sequences")
            return False
        return self._take(found)

    def _take(self, found: Rule) -> bool:
        """Judge a rule; whether it was not known."""
        found = self._shortened(self._judged(found))
        formula = found.program.formula()
        self.say(
            f"{'; '.join(formula.splitlines())} ({found.wrong:.1%} of fresh sequences depart, "
            f"{found.bits:.0f} bits)"
        )
        if formula in {rule.program.formula() for rule in self.rules}:
            self.confirmed = formula == self.rules[0].program.formula()
            return False
        self.confirmed = False
        self.rules = sorted([*self.rules, found], key=lambda rule: rule.bits)
        return True

    def _settled(self) -> bool:
        """Whether the best rule is right wherever uniform sequences go, or was found again in others."""
        return bool(self.rules) and (self.rules[0].wrong == 0 or self.confirmed)

    def _big(self) -> bool:
        """Whether the best rule may be a copy of mistakes."""
        return bool(self.rules) and self.rules[0].size > BIG

    def _reaches(self) -> bool:
        """Whether the best rule goes on being right beyond the model's own length."""
        return self._settled() and self.rules[0].horizon > self.length

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
        """With parts of its formulas left out, as long as the description of everything gets shorter."""
        while rule.size <= BIG and not time_is_up():
            ways = [self._judged(replace(rule, program=way)) for way in left_out(rule.program)]
            best = min(ways, key=lambda way: way.bits, default=rule)
            if best.bits >= rule.bits:
                break
            rule = best
        return rule

    def _first_wrong(self, rule: Rule, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The first position where each sequence parts; beyond all if none does."""
        with np.errstate(all="ignore"):
            wrong = ~(np.abs(rule.recurrence.run(x) - y).max(2) <= self.near)
        return np.where(wrong.any(1), wrong.argmax(1), self.judges[0][0].shape[1])

    def _briefly_hunted(self) -> list[np.ndarray]:
        """Departures from the best rule where it is to hold, as far as a look finds them."""
        if not self.rules:
            return []
        budget = int(BRIEF * max(0, self.budget - self.model.queries))
        rule, domains, longest = self.rules[0], self.model.domains, self.model.longest
        near, rng, last = self.near, self.rng, self.model.at == "last"
        hunt = Hunt(
            rule.recurrence, self.model, domains, self.length, longest, near, budget, rng, by_prefix=last
        )
        hunt.briefly()
        return [x for x in hunt.departed if len(x) <= min(rule.horizon, self.length)]

    def _judge_by(self, departed: list[np.ndarray]) -> None:
        """Departures that were fed back count too, as exceptions of the rules so far."""
        x = self._filled(departed[:FED])
        self.judges.append((x, self.model(x)[0], STRUCTURED_WEIGHT))
        self.rules = sorted(map(self._judged, self.rules), key=lambda rule: rule.bits)

    def _fed(self, answers: Answers, departed: list[np.ndarray]) -> Answers:
        """With what departed, filled up to the length, and the same with a row changed."""
        x = uniform(self.rng, self.model.domains, self._count // 2, self.length)
        if departed:
            x = np.concatenate([x, self._filled(departed[:FED])])
        for _ in range(NEIGHBOURS if departed else 0):
            near = self._filled(departed[:FED])
            spots = self.rng.integers(0, self.length, len(near))
            near[np.arange(len(near)), spots] = uniform(self.rng, self.model.domains, len(near), 1)[:, 0]
            x = np.concatenate([x, near])
        return answers.with_(x, *self.model(x))

    def _filled(self, departed: list[np.ndarray]) -> np.ndarray:
        x = uniform(self.rng, self.model.domains, len(departed), self.length)
        for row, known in zip(x, departed, strict=True):
            row[: len(known)] = known[: self.length]
        return x
