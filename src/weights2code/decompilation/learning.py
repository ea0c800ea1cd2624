"""The rule of a model: from where it is in its element outwards, with what departs fed back.

Uniform sequences that are short come first, then those of the model's own length; a search that finds nothing
gets what the model is surest of. A rule is looked at by a brief hunt; what departs goes to the search again,
and the rule with the shortest description of everything stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.decompilation.model import Model
from weights2code.decompilation.rule import BITS_A_TOKEN, BITS_AN_EXCEPTION, Answers, Rule, rule_from
from weights2code.effort import seconds_left, time_is_up
from weights2code.language import uniform
from weights2code.verify.hunt import Hunt, drawn

#: Sequences that are learned from at first, and those that rules are judged by.
LEARNED, JUDGED = 1500, 1000
#: What a structured sequence that parts counts beside a uniform one.
STRUCTURED_WEIGHT = 0.1
#: Departures that are fed back, with so many of their neighbours each, and how often that is done.
FED, NEIGHBOURS, ROUNDS = 120, 2, 3
#: Positions of which the model is least sure, as shares, that are left out where nothing was found in all.
UNSURE = (0.01, 0.05)
#: Of the time that is left, what one search may take; and the most of it in seconds.
SEARCH_SHARE, SEARCH_SECONDS = 0.4, 60.0
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
    rng: np.random.Generator = field(init=False)
    judges: list[tuple[np.ndarray, np.ndarray, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        domains = self.model.domains
        count = min(JUDGED, max(64, self.budget // 20))
        plain = uniform(self.rng, domains, count, self.length)
        styled = drawn(self.rng, domains, count, self.length)
        self.judges = [(plain, self.model(plain)[0], 1.0), (styled, self.model(styled)[0], STRUCTURED_WEIGHT)]

    @property
    def near(self) -> float:
        return 0.499 if self.model.reading.whole else self.model.reading.tolerance

    def best(self) -> Rule | None:
        """The rule with the shortest description of everything; None if no search found any."""
        answers = Answers()
        for part in self._first():
            answers = part
            if self._search(answers) and self._settled():
                break
        for _ in range(ROUNDS):
            if not self.rules or time_is_up():
                break
            before = self.rules[0]
            departed = self._briefly_hunted(before)
            if departed:
                self._judge_by(departed)
            elif before.wrong == 0:
                break
            answers = self._fed(answers, departed)
            self._search(answers)
            if self.rules[0] is before or not departed:
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

    def _first(self) -> Iterator[Answers]:
        """What is learned from, until a rule settles: short uniform sequences, the surest of them, and those
        of the model's own length."""
        short = self._asked(uniform(self.rng, self.model.domains, LEARNED, self._short()))
        yield short
        if self._short() < self.length:
            x = uniform(self.rng, self.model.domains, LEARNED // 2, self.length)
            short = short.with_(x, *self.model(x))
            yield short
        for share in UNSURE if self.model.reading.whole else ():
            yield short.trusted(share)

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
        found = self._judged(found)
        formula = found.program.formula()
        self.say(
            f"{len(answers)} sequences: {'; '.join(formula.splitlines())} ({found.wrong:.1%} of fresh "
            f"sequences depart, {found.bits:.0f} bits)"
        )
        if formula in {rule.program.formula() for rule in self.rules}:
            return False
        self.rules = sorted([*self.rules, found], key=lambda rule: rule.bits)
        return True

    def _settled(self) -> bool:
        """Whether the best rule is right wherever uniform sequences go, and no long table."""
        best = self.rules[0]
        return best.wrong == 0

    def _judged(self, rule: Rule) -> Rule:
        """With the share of fresh sequences that it gets wrong, and the bits of the rule and its exceptions."""
        shares, exceptions = [], 0.0
        for x, y, weight in self.judges:
            with np.errstate(all="ignore"):
                wrong = ~(np.abs(rule.recurrence.run(x) - y).max(2) <= self.near)
            shares.append(float(wrong.any(1).mean()))
            exceptions += weight * int(wrong.any(1).sum())
        bits = BITS_A_TOKEN * rule.size + BITS_AN_EXCEPTION * exceptions
        return replace(rule, wrong=shares[0], bits=bits)

    def _briefly_hunted(self, rule: Rule) -> list[np.ndarray]:
        spent = max(0, self.budget - self.model.queries)
        hunt = Hunt(
            rule.recurrence,
            self.model,
            self.model.domains,
            self.length,
            self.model.longest,
            self.near,
            int(BRIEF * spent),
            self.rng,
        )
        hunt.briefly()
        return hunt.departed

    def _judge_by(self, departed: list[np.ndarray]) -> None:
        """Departures that were fed back count too, as exceptions of the rules so far."""
        x = self._filled(departed[:FED])
        self.judges.append((x, self.model(x)[0], STRUCTURED_WEIGHT))
        self.rules = sorted(map(self._judged, self.rules), key=lambda rule: rule.bits)

    def _fed(self, answers: Answers, departed: list[np.ndarray]) -> Answers:
        """With what departed, filled up to the length, and the same with a row changed."""
        x = uniform(self.rng, self.model.domains, LEARNED // 2, self.length)
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
