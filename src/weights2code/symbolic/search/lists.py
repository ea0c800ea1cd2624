"""Lists of rules: one value where a test holds, another where a second does, and so on, else a last one.

A list is read from the top. A rule is right wherever it holds among the rows that are left, and the best
rule settles most of them for what it costs. Its tests are those that are given, some of them together, and
thresholds of quantities, beyond which a value is always right. What comes later often makes earlier rules
unnecessary: whatever can go without making a row wrong goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

import numpy as np

from weights2code.language import Expr, op
from weights2code.symbolic.search.bank import CELL, Block
from weights2code.symbolic.search.readings import threshold

#: Values that are asked for a threshold, those first that are right most often; cells of quantities.
VALUES, TESTED = 10, 80_000
#: Tests that may be the last of three.
JOINED = 48


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A test and the rows on which it holds, or a value and those on which it is right; what it costs."""

    write: Callable[[], Expr]
    rows: np.ndarray
    cost: float

    @classmethod
    def of(cls, expr: Expr, rows: np.ndarray, cost: float) -> Part:
        return cls(lambda: expr, rows, cost)


@dataclass(frozen=True, eq=False)
class Rule:
    """The value where all tests hold; the last rule of a list has none."""

    tests: tuple[Part, ...]
    value: Part

    @cached_property
    def holds(self) -> np.ndarray:
        return reduce(np.logical_and, (test.rows for test in self.tests), np.ones(len(self.value.rows), bool))

    @cached_property
    def cost(self) -> float:
        return self.value.cost + sum(test.cost for test in self.tests)

    def test(self) -> Expr:
        return reduce(lambda one, other: op("and", one, other), (test.write() for test in self.tests))


Rules = tuple[Rule, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Quantities:
    """Values (m, rows) that are compared with numbers, the likeliest first; what each costs, whether it is
    whole, how it is written."""

    values: np.ndarray
    cost: np.ndarray
    whole: np.ndarray
    write: Callable[[int], Expr]


@dataclass(frozen=True, eq=False)
class Lists:
    """What lists are made of, on some rows.

    Parameters
    ----------
    tests, together : what may hold, and how many of them at once.
    beside : tests that a threshold may stand beside.
    beam : lists that are continued at a time, and rules that each is continued with.
    greed : what a node costs a rule, as a share of the rows that are left; None: a rule counts by the rows
        that it settles for each of its nodes.
    longest : rules of a list, at most.
    """

    values: Sequence[Part]
    quantities: Quantities
    tests: Sequence[Part] = ()
    beside: Sequence[tuple[Part, ...]] = ((),)
    together: int = 2
    beam: int = 1
    greed: float | None = None
    longest: int = 24
    expired: Callable[[], bool] = lambda: False
    spend: Callable[[float], None] = lambda seconds: None

    @cached_property
    def right(self) -> np.ndarray:
        return np.array([value.rows for value in self.values])

    def found(self, last: Part | None = None, limit: float = np.inf) -> Iterator[Rules]:
        """The first lists that are right everywhere; the last value is `last`, or any."""
        beam: list[tuple[Rules, np.ndarray]] = [((), np.ones(self.right.shape[1], bool))]
        ends = self.values if last is None else [last]
        for _ in range(self.longest):
            done = False
            grown: list[tuple[float, float, Rules, np.ndarray]] = []
            for rules, left in beam:
                if self.expired():
                    return
                enough = [value for value in ends if value.rows[left].all()]
                if enough:
                    done = True
                    yield (*rules, Rule((), min(enough, key=lambda value: value.cost)))
                    continue
                wrong = left if last is None else left & ~last.rows
                for rule in self.next(left, wrong, self.beam):
                    cost = sum(one.cost for one in (*rules, rule))
                    if cost < limit:
                        after = float(np.log1p((wrong & ~rule.holds).sum()))
                        grown.append((cost + after, cost, (*rules, rule), left & ~rule.holds))
            if done:
                return
            different: dict[bytes, tuple[Rules, np.ndarray]] = {}
            for _, _, more, left in sorted(grown, key=lambda draft: draft[:2]):
                different.setdefault(left.tobytes(), (more, left))
            beam = list(different.values())[: self.beam]

    def worth(self, count: np.ndarray, cost: np.ndarray, left: int) -> np.ndarray:
        """What rules are worth that settle so many of the rows that are left."""
        return count / cost if self.greed is None else count - self.greed * left * cost

    def next(self, left: np.ndarray, wrong: np.ndarray, most: int) -> list[Rule]:
        """The rules that may come next: those that settle most of what is wrong for their cost."""
        options: list[tuple[float, Rule]] = []
        if self.tests:
            tests, holds, costs = self.joined
            counted = holds @ np.vstack([wrong, left & ~self.right]).astype(np.float32).T
            for value, bad in zip(self.values, counted.T[1:], strict=True):
                fine = np.flatnonzero((bad == 0) & (counted[:, 0] > 0))
                worth = self.worth(counted[fine, 0], costs[fine] + value.cost, int(left.sum()))
                best = np.argsort(-worth, kind="stable")[:most]
                options += [(float(worth[i]), Rule(tests[fine[i]], value)) for i in best]
        for tests in self.beside:
            options += self._beyond(tests, reduce(np.logical_and, (t.rows for t in tests), left), wrong)
        return [rule for _, rule in sorted(options, key=lambda option: -option[0])[:most]]

    def _beyond(
        self, tests: tuple[Part, ...], among: np.ndarray, wrong: np.ndarray
    ) -> Iterator[tuple[float, Rule]]:
        """Of each value the best quantity that is above, and below, where the value is wrong."""
        if not (among & wrong).any() or not len(self.quantities.values):
            return
        rows, q = np.flatnonzero(among), self.quantities
        # sums and extrema of columns are cheaper
        V = np.ascontiguousarray(q.values[: TESTED // len(rows), rows].T)
        right, useful = self.right[:, rows], wrong[rows]
        often = right.sum(axis=1) - 0.02 * len(rows) * np.array([value.cost for value in self.values])
        for t in np.argsort(-often, kind="stable")[:VALUES]:
            bad = V[~right[t]]
            if not len(bad):
                continue
            self.spend(0.3 * CELL * V.size)
            cost = q.cost[: V.shape[1]] + self.values[t].cost + sum(test.cost for test in tests)
            for sign in (1, -1):
                edge = (sign * bad).max(axis=0)
                holds = sign * V > edge
                count = np.add.reduce(holds[useful], axis=0, dtype=np.int16)
                worth = self.worth(count, cost, len(rows))
                i = int(np.argmax(worth))
                if count[i]:
                    v, ends = q.values[i], (V[holds[:, i], i], V[~holds[:, i], i])
                    write = partial(_threshold, q, i, *ends)
                    test = Part(write, sign * v > edge[i], float(q.cost[i]))
                    yield float(worth[i]), Rule((test, *tests), self.values[t])

    @cached_property
    def joined(self) -> tuple[list[tuple[Part, ...]], np.ndarray, np.ndarray]:
        """The tests and those of them that hold together, the rows on which they do, what they cost."""
        single = np.array([test.rows for test in self.tests], np.float32)
        level, holds = [(i,) for i in range(len(single))], single
        places, all_holds = list(level), [holds]
        for count in range(2, self.together + 1):
            few = single if count == 2 else single[:JOINED]
            both = holds @ few.T
            newest = np.array([place[-1] for place in level], int).reshape(-1, 1)
            proper = (both > 0) & (both < holds.sum(axis=1)[:, None]) & (both < few.sum(axis=1))
            rows, more = np.nonzero(proper & (newest < np.arange(len(few))))
            level = [(*level[row], int(i)) for row, i in zip(rows, more, strict=True)]
            holds = holds[rows] * few[more]
            places += level
            all_holds.append(holds)
        tests = [tuple(self.tests[i] for i in place) for place in places]
        costs = np.array([sum(part.cost for part in some) for some in tests])
        return tests, np.concatenate(all_holds), costs


def _threshold(quantities: Quantities, i: int, yes: np.ndarray, no: np.ndarray) -> Expr:
    v = quantities.values[i]
    whole = bool(quantities.whole[i] and np.all(v == np.round(v)))
    test = threshold(Block(quantities.values, quantities.write, 0), i, yes, no, whole)
    assert test is not None  # the rows lie on either side
    return test


def written(rules: Rules, choose: Callable[[Expr, Expr, Expr], Expr]) -> Expr:
    """The list as nested choices."""
    result = rules[-1].value.write()
    for rule in reversed(rules[:-1]):
        result = choose(rule.test(), rule.value.write(), result)
    return result


def shortened(rules: Rules) -> Rules:
    """The rules without what the list does not need: rules, tests, a last value that another can take."""
    while (fewer := next(filter(_right, _with_less(rules)), None)) is not None:
        rules = fewer
    return rules


def _right(rules: Rules) -> bool:
    left = np.ones(len(rules[0].holds), bool)
    for rule in rules:
        if (left & rule.holds & ~rule.value.rows).any():
            return False
        left &= ~rule.holds
    return True


def _with_less(rules: Rules) -> Iterator[Rules]:
    """The list without one rule, with the last but one as the last, or without one test."""
    for place in range(len(rules) - 1):
        yield (*rules[:place], *rules[place + 1 :])
    if len(rules) > 1:
        yield (*rules[:-2], Rule((), rules[-2].value))
    for place, rule in enumerate(rules):
        for test in rule.tests if len(rule.tests) > 1 else ():
            fewer = replace(rule, tests=tuple(other for other in rule.tests if other is not test))
            yield (*rules[:place], fewer, *rules[place + 1 :])
