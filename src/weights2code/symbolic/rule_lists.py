"""Lists of rules: "open" if event == "push" and state == "closed" else ..., for outputs that are chosen, not
computed.

A list is read from the top: the first rule whose tests hold says the value, which is one of the target's own
or a copy of a variable that holds such values; the last value holds where no rule does. Tests of texts ask
for equality alone, with a text or with another variable of the same kind. Numbers are compared with
thresholds, and so are sums and differences of two of them.

The search is a beam: for each value that may stand last, rules are put on top of each other, each of which is
right wherever it holds among the rows that are left, as many rows for as few tests as can be. What comes
later often makes earlier rules unnecessary: whatever can go without making a row wrong goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Const, Domain, Expr, Var, compile_numpy, op
from weights2code.symbolic.notation import opposite, simplest_test

#: Lists that are continued at a time, and rules that each is continued with; rules of a list, at most.
BEAM, BRANCHES, MOST_RULES = 10, 6, 24
#: Rows that a list is looked for on, and how often those are added on which it is wrong.
ROWS, REPEATS = 2000, 3
#: Texts of a variable that are asked for, at most (what has more is a key); in twos; and numbers.
MOST_TEXTS, OF_FEW, FEW_NUMBERS = 40, 8, 12
#: Tests that are joined in twos and in threes, at most, those that tell most first; if there are no more than
#: so many, in threes even if twos are enough.
PAIRED, JOINED, FEW_JOINED = 160, 48, 40
#: Numbers whose sums and differences are compared with thresholds; tests that thresholds stand beside.
NUMBERS, BESIDE = 5, 20
#: Thresholds in a list, at most: more of them follow the rows, not a rule.
THRESHOLDS = 6
#: What is paid for a value, an equality, what is not equal, one of two texts (if there are a few), a remainder.
VALUE, EQUAL, UNEQUAL, EITHER, REMAINDER = 1.0, 1.0, 1.15, 1.4, 1.6
#: The same for a threshold, and for one of two numbers.
THRESHOLD, OF_TWO = 1.1, 1.8
#: The same of a copy of what was just before, where it stands last: else nothing changes.
UNCHANGED = 0.3
LARGEST_DIVISOR = 6


@dataclass(frozen=True, slots=True)
class Condition:
    """A test, the rows on which it holds, and what it costs a reader."""

    expr: Expr
    holds: np.ndarray = field(compare=False)
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What a rule may say, and on which rows that is right."""

    expr: Expr
    right: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """The value where all tests hold; the last rule of a list has none."""

    tests: tuple[Condition, ...]
    value: Value

    @property
    def holds(self) -> np.ndarray:
        return reduce(
            np.logical_and, (test.holds for test in self.tests), np.ones(len(self.value.right), bool)
        )

    @property
    def cost(self) -> float:
        copy = isinstance(self.value.expr, Var) and self.value.expr.lag == 1
        return sum(test.cost for test in self.tests) + (UNCHANGED if copy and not self.tests else VALUE)


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A list in the making: its rules, the rows that none of them speaks about yet, and its cost."""

    rules: tuple[Rule, ...]
    left: np.ndarray
    cost: float = 0.0

    def then(self, rule: Rule) -> Draft:
        return Draft((*self.rules, rule), self.left & ~rule.holds, self.cost + rule.cost)


def rule_list(
    columns: np.ndarray,
    target: np.ndarray,
    variables: Sequence[Var],
    domains: Sequence[Domain],
    answer: Domain,
) -> Expr | None:
    """The cheapest list of rules that was found to be right on every row; None if there is none.

    Parameters
    ----------
    columns, target : rows (n, k) of variables, and what is to be chosen in each.
    domains, answer : what variables and target may hold.
    """
    rows = np.unique(np.column_stack([columns, target]), axis=0)
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows))[:ROWS])
    for _ in range(REPEATS):
        part = rows[chosen]
        rules = _Search(part[:, :-1], part[:, -1], variables, domains, answer).best()
        if rules is None:
            return None
        expr = written(rules)
        wrong = np.flatnonzero(compile_numpy(expr, tuple(variables))(*rows[:, :-1].T) != rows[:, -1])
        if not len(wrong):
            return expr
        chosen = np.union1d(chosen, wrong[:ROWS])
    return None


def written(rules: Sequence[Rule]) -> Expr:
    """The list as nested choices; neighbours that say the same and differ in one test are one rule."""
    kept: list[Rule] = []
    for rule in rules[:-1]:
        both = _either(kept[-1], rule) if kept else None
        kept[-1:] = [both] if both is not None else [*kept[-1:], rule]
    result = rules[-1].value.expr
    for rule in reversed(kept):
        test = reduce(lambda one, other: op("and", one, other), (test.expr for test in rule.tests))
        result = op("where", test, rule.value.expr, result)
    return result


def _either(one: Rule, two: Rule) -> Rule | None:
    """A rule for two that say the same: either of two tests, of the same variables or with nothing beside."""
    a, b = ([t for t in r.tests if t not in other.tests] for r, other in ((one, two), (two, one)))
    if one.value is not two.value or len(a) != 1 or len(b) != 1:
        return None
    if len(one.tests) > 1 and a[0].expr.variables() != b[0].expr.variables():
        return None
    either = Condition(op("or", a[0].expr, b[0].expr), a[0].holds | b[0].holds, a[0].cost + b[0].cost)
    return Rule(tuple(either if test is a[0] else test for test in one.tests), one.value)


def shortened(rules: Sequence[Rule]) -> Sequence[Rule]:
    """The rules without what the list does not need: rules, tests, a last value that another can take."""
    while True:
        fewer = next(filter(_right, _with_less(rules)), None)
        if fewer is None:
            return rules
        rules = fewer


def _right(rules: Sequence[Rule]) -> bool:
    left = np.ones(len(rules[0].value.right), bool)
    for rule in rules:
        now = left & rule.holds
        if (now & ~rule.value.right).any():
            return False
        left &= ~now
    return True


def _with_less(rules: Sequence[Rule]) -> Iterator[Sequence[Rule]]:
    """The list without one rule, with the last but one as the last, or without one test."""
    for place in range(len(rules) - 1):
        yield [*rules[:place], *rules[place + 1 :]]
    if len(rules) > 1:
        yield [*rules[:-2], Rule((), rules[-2].value)]
    for place, rule in enumerate(rules):
        for test in rule.tests if len(rule.tests) > 1 else ():
            kept = tuple(other for other in rule.tests if other is not test)
            yield [*rules[:place], Rule(kept, rule.value), *rules[place + 1 :]]


class _Search:
    """The beam, for one set of rows."""

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        variables: Sequence[Var],
        domains: Sequence[Domain],
        answer: Domain,
    ) -> None:
        self.columns = list(zip(variables, X.T, domains, strict=True))
        self.every = np.ones(len(y), bool)
        values = [Value(Const(float(value)), y == value) for value in np.unique(y)]
        values += [
            Value(variable, column == y)
            for variable, column, domain in self.columns
            if domain.categories == answer.categories and domain.discrete
        ]
        # what is right most often may stand last first; a copy before a value
        self.values = sorted(
            (value for value in values if value.right.any()),
            key=lambda v: (-int(v.right.sum()), isinstance(v.expr, Const)),
        )
        self.right = np.array([value.right for value in self.values])
        codes = np.unique(y, return_inverse=True)[1]
        tests = [test for test in self._tests() if 0 < test.holds.sum() < len(y)]
        told = np.argsort([-_tells(test.holds, codes) for test in tests], kind="stable")
        self.tests = [tests[i] for i in told[:PAIRED]] if len(tests) > PAIRED else tests
        self.numbers = list(self._numbers())
        self.joined: list[tuple[Condition, ...]] = []
        self.table, self.costs = np.zeros((0, len(y)), np.float32), np.zeros(0)

    def best(self) -> Sequence[Rule] | None:
        """The cheapest list, of rules with one or two tests if these will do."""
        found: Sequence[Rule] | None = None
        limit = np.inf
        for most in (2, 3):
            self._join(most)
            for last in self.values:
                rules = self._with_last(last, limit)
                if rules is not None and sum(rule.cost for rule in rules) < limit:
                    found, limit = rules, sum(rule.cost for rule in rules)
            if found is not None and len(self.tests) > FEW_JOINED:
                break
        return found

    def _with_last(self, last: Value, limit: float) -> Sequence[Rule] | None:
        beam = [Draft((), self.every)]
        for _ in range(MOST_RULES):
            grown: list[Draft] = []
            for draft in beam:
                if time_is_up():
                    return None
                wrong = draft.left & ~last.right
                if not wrong.any():
                    return shortened([*map(self._settled, draft.rules), Rule((), last)])
                grown += [more for more in self._continued(draft, wrong) if more.cost < limit]
            # fewest rows left for the cost, each set of rows once
            grown.sort(key=lambda d: (d.cost + VALUE * np.log1p((d.left & ~last.right).sum()), d.cost))
            beam = list({draft.left.tobytes(): draft for draft in reversed(grown)}.values())[::-1][:BEAM]
        return None

    def _settled(self, rule: Rule) -> Rule:
        """The rule on all rows: where a threshold lies was said among those that were left."""
        variables, columns = (tuple(c[i] for c in self.columns) for i in (0, 1))
        tests = ((test, compile_numpy(test.expr, variables)(*columns) != 0) for test in rule.tests)
        return Rule(tuple(replace(test, holds=holds) for test, holds in tests), rule.value)

    def _continued(self, draft: Draft, wrong: np.ndarray) -> Iterator[Draft]:
        """The draft with one rule more, in a few ways."""
        options: list[tuple[float, Rule]] = []
        counted = self.table @ np.vstack([wrong, draft.left & ~self.right]).astype(np.float32).T
        gains = counted[:, 0] / (self.costs + VALUE)
        for value, bad in zip(self.values, counted.T[1:], strict=True):
            worth = np.where(bad == 0, gains, 0.0)
            best = np.argsort(-worth, kind="stable")[:BRANCHES]
            options += [(float(worth[i]), Rule(self.joined[i], value)) for i in best if worth[i] > 0]
        used = sum(test.cost in (THRESHOLD, OF_TWO) for rule in draft.rules for test in rule.tests)
        for rule in self._thresholds(draft.left, wrong) if used < THRESHOLDS else ():
            options.append((float((rule.holds & wrong).sum()) / rule.cost, rule))
        options.sort(key=lambda option: -option[0])
        return (draft.then(rule) for _, rule in options[:BRANCHES])

    # -- tests -----------------------------------------------------------------------------------------------

    def _tests(self) -> Iterator[Condition]:
        """Equality of texts and of numbers that take few values; remainders of those that take more."""
        for variable, column, domain in self.columns:
            seen = np.unique(column) if domain.discrete else []
            few = len(seen) <= (MOST_TEXTS if domain.categories else FEW_NUMBERS)
            for value in seen if few else ():
                yield Condition(variable.equals(float(value)), column == value, EQUAL)
                if len(seen) > 2:
                    yield Condition(op("ne", variable, float(value)), column != value, UNEQUAL)
            for one, two in combinations(seen, 2) if domain.categories and 3 < len(seen) <= OF_FEW else ():
                either = op("or", variable.equals(float(one)), variable.equals(float(two)))
                yield Condition(either, (column == one) | (column == two), EITHER)
            for divisor in range(2, LARGEST_DIVISOR + 1) if not domain.categories and len(seen) > 6 else ():
                for rest in range(divisor):
                    holds = np.mod(column, divisor) == rest
                    yield Condition((variable % divisor).equals(rest), holds, REMAINDER)
        for (one, a, kind), (two, b, other) in combinations(self.columns, 2):
            if kind.categories and kind.categories == other.categories:
                yield Condition(one.equals(two), a == b, EQUAL)
                yield Condition(op("ne", one, two), a != b, UNEQUAL)

    def _join(self, most: int) -> None:
        """The tests, and those of them that hold together, up to so many."""
        single = np.array([test.holds for test in self.tests], np.float32).reshape(-1, len(self.every))
        level, table = [(i,) for i in range(len(single))], single
        places, tables = list(level), [table]
        for count in range(2, most + 1):
            few = single if count == 2 else single[:JOINED]
            both = table @ few.T
            newest = np.array([place[-1] for place in level], int).reshape(-1, 1)
            proper = (both > 0) & (both < table.sum(axis=1)[:, None]) & (both < few.sum(axis=1))
            rows, more = np.nonzero(proper & (newest < np.arange(len(few))))
            level = [(*level[row], int(i)) for row, i in zip(rows, more, strict=True)]
            table = table[rows] * few[more]
            places += level
            tables.append(table)
        self.joined = [tuple(self.tests[i] for i in place) for place in places]
        self.table = np.concatenate(tables)
        self.costs = np.array([sum(test.cost for test in tests) for tests in self.joined])

    def _numbers(self) -> Iterator[tuple[Expr, np.ndarray, float, bool]]:
        """Numbers that may be compared with a threshold: as they are, sums and differences of two."""
        plain = [c for c in self.columns if not c[2].categories and len(np.unique(c[1])) > 2]
        for variable, column, domain in plain:
            yield variable, column, THRESHOLD, domain.discrete
        for (one, a, kind), (two, b, other) in combinations(plain if len(plain) <= NUMBERS else (), 2):
            yield one - two, a - b, OF_TWO, kind.discrete and other.discrete
            yield one + two, a + b, OF_TWO, kind.discrete and other.discrete

    def _thresholds(self, left: np.ndarray, wrong: np.ndarray) -> Iterator[Rule]:
        """Below or above the farthest threshold up to which a value is right, beside a test or none."""
        beside = [(test,) for test in self.tests if test.cost == EQUAL][:BESIDE]
        for expr, values, cost, whole in self.numbers:
            for tests in ((), *(beside if isinstance(expr, Var) else ())):
                among = reduce(np.logical_and, (test.holds for test in tests), left)
                for value in self.values if (among & wrong).any() else ():
                    bad = values[among & ~value.right]
                    for above in (False, True) if len(bad) else ():
                        edge = float(bad.max() if above else bad.min())
                        holds = (values > edge) if above else (values < edge)
                        if (holds & among & wrong).any():
                            inner = values[holds & among]
                            ends = (edge, float(inner.min())) if above else (float(inner.max()), edge)
                            test = simplest_test(expr, *ends, whole=whole)
                            test = test if above else opposite(test) or test
                            yield Rule((Condition(test, holds, cost), *tests), value)


def _tells(holds: np.ndarray, codes: np.ndarray) -> float:
    """How much a test tells about the target: the excess of its square over chance."""
    expected = np.bincount(codes) * holds.mean()
    inside = np.bincount(codes[holds], minlength=len(expected))
    return float(np.sum((inside - expected) ** 2 / np.maximum(expected, 1e-9)))
