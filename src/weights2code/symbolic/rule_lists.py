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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations

import numpy as np

from weights2code.data.sufficiency import chi_square
from weights2code.effort import time_is_up
from weights2code.language import Const, Domain, Expr, Var, compile_numpy, op
from weights2code.symbolic.notation import opposite, simplest_test
from weights2code.symbolic.search.table import Table

#: Lists that are continued at a time, and rules that each is continued with; rules of a list, at most.
BEAM, BRANCHES, MOST_RULES = 10, 6, 24
#: Rows that a list is looked for on, and how often those are added on which it is wrong.
ROWS, REPEATS = 2000, 3
#: Texts of a variable that are asked for, at most (what has more is a key); in twos; and numbers.
MOST_TEXTS, IN_TWOS, FEW_NUMBERS = 40, 8, 12
#: Tests that are joined in twos and in threes, at most, those that tell most first; if there are no more than
#: so many, in threes even if twos are enough.
PAIRED, JOINED, FEW_JOINED = 160, 48, 40
#: Numbers whose sums and differences are compared with thresholds; tests that thresholds stand beside.
NUMBERS, BESIDE = 5, 20
#: Thresholds in a list, at most: more of them follow the rows, not a rule.
THRESHOLDS = 6
#: What is paid for a value, an equality, what is not equal, one of two texts, a remainder.
VALUE, EQUAL, UNEQUAL, EITHER, REMAINDER = 1.0, 1.0, 1.15, 1.4, 1.6
#: The same for a threshold of one number and of two; for a copy of what was just before that stands last.
THRESHOLD, OF_TWO, UNCHANGED = 1.1, 1.8, 0.3
LARGEST_DIVISOR = 6


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A test and the rows on which it holds, or a value and those on which it is right; what it costs."""

    expr: Expr
    rows: np.ndarray
    cost: float


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
        copy = not self.tests and isinstance(self.value.expr, Var) and self.value.expr.lag == 1
        return UNCHANGED if copy else self.value.cost + sum(test.cost for test in self.tests)


Rules = tuple[Rule, ...]


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
        table = Table(tuple(variables), tuple(domains), rows[chosen, :-1])
        rules = _Search(table, rows[chosen, -1], answer).best()
        if rules is None:
            return None
        expr = written(rules)
        wrong = np.flatnonzero(compile_numpy(expr, table.variables)(*rows[:, :-1].T) != rows[:, -1])
        if not len(wrong):
            return expr
        chosen = np.union1d(chosen, wrong[:ROWS])
    return None


def written(rules: Rules) -> Expr:
    """The list as nested choices."""
    result = rules[-1].value.expr
    for rule in reversed(rules[:-1]):
        test = reduce(lambda one, other: op("and", one, other), (test.expr for test in rule.tests))
        result = op("where", test, rule.value.expr, result)
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
            fewer = Rule(tuple(other for other in rule.tests if other is not test), rule.value)
            yield (*rules[:place], fewer, *rules[place + 1 :])


class _Search:
    """The beam, for one set of rows."""

    def __init__(self, table: Table, y: np.ndarray, answer: Domain) -> None:
        self.table = table
        self.columns = list(zip(table.variables, table.X.T, table.domains, strict=True))
        values = [Part(Const(float(value)), y == value, VALUE) for value in np.unique(y)]
        values += [
            Part(variable, column == y, VALUE)
            for variable, column, domain in self.columns
            if domain.categories == answer.categories and domain.discrete
        ]
        # what is right most often may stand last first; a copy before a value
        self.values = sorted(values, key=lambda v: (-int(v.rows.sum()), isinstance(v.expr, Const)))
        self.wrong = ~np.array([value.rows for value in self.values])
        levels, codes = np.unique(y, return_inverse=True)
        tests = distinct(self._tests())
        told = [-chi_square(test.rows.astype(int), 2, codes, len(levels))[0] for test in tests]
        self.tests = [tests[i] for i in np.argsort(told, kind="stable")[:PAIRED]]
        self.numbers = list(self._numbers())
        self.joined: list[tuple[Part, ...]] = []
        self.holds, self.costs = np.zeros((0, len(y)), np.float32), np.zeros(0)

    def best(self) -> Rules | None:
        """The cheapest list, of rules with one or two tests if these will do."""
        found: Rules | None = None
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

    def _with_last(self, last: Part, limit: float) -> Rules | None:
        beam: list[tuple[Rules, np.ndarray]] = [((), np.ones(len(last.rows), bool))]
        for _ in range(MOST_RULES):
            grown: list[tuple[float, float, Rules, np.ndarray]] = []
            for rules, left in beam:
                if time_is_up():
                    return None
                wrong = left & ~last.rows
                if not wrong.any():
                    return shortened((*map(self._settled, rules), Rule((), last)))
                for rule in self._next(rules, left, wrong):
                    cost = sum(one.cost for one in (*rules, rule))
                    if cost < limit:  # fewest rows left for the cost
                        after = VALUE * np.log1p((wrong & ~rule.holds).sum())
                        grown.append((cost + after, cost, (*rules, rule), left & ~rule.holds))
            different: dict[bytes, tuple[Rules, np.ndarray]] = {}
            for _, _, more, left in sorted(grown, key=lambda draft: draft[:2]):
                different.setdefault(left.tobytes(), (more, left))
            beam = list(different.values())[:BEAM]
        return None

    def _settled(self, rule: Rule) -> Rule:
        """The rule on all rows: where a threshold lies was said among those that were left."""
        tests = (replace(test, rows=self.table.values(test.expr) != 0) for test in rule.tests)
        return Rule(tuple(tests), rule.value)

    def _next(self, rules: Rules, left: np.ndarray, wrong: np.ndarray) -> list[Rule]:
        """The rules that may come next, those first that make most of what is wrong right for their cost."""
        options: list[tuple[float, Rule]] = []
        counted = self.holds @ np.vstack([wrong, left & self.wrong]).astype(np.float32).T
        gains = counted[:, 0] / (self.costs + VALUE)
        for value, bad in zip(self.values, counted.T[1:], strict=True):
            worth = np.where(bad == 0, gains, 0.0)
            best = np.argsort(-worth, kind="stable")[:BRANCHES]
            options += [(float(worth[i]), Rule(self.joined[i], value)) for i in best if worth[i] > 0]
        used = sum(test.cost in (THRESHOLD, OF_TWO) for rule in rules for test in rule.tests)
        for rule in self._thresholds(left, wrong) if used < THRESHOLDS else ():
            options.append((float((rule.holds & wrong).sum()) / rule.cost, rule))
        return [rule for _, rule in sorted(options, key=lambda option: -option[0])[:BRANCHES]]

    # -- tests -----------------------------------------------------------------------------------------------

    def _tests(self) -> Iterator[Part]:
        """What is equal or not, one of two texts, remainders of numbers that take many values."""
        equal = list(equalities(self.table))
        yield from equal
        yield from (Part(opposite(test.expr) or test.expr, ~test.rows, UNEQUAL) for test in equal)
        for variable, column, domain in self.columns:
            seen = np.unique(column).tolist() if domain.discrete else []
            for one, two in combinations(seen, 2) if domain.categories and 3 < len(seen) <= IN_TWOS else ():
                either = op("or", variable.equals(one), variable.equals(two))
                yield Part(either, (column == one) | (column == two), EITHER)
            many = not domain.categories and len(seen) > FEW_NUMBERS
            for divisor in range(2, LARGEST_DIVISOR + 1) if many else ():
                for rest in range(divisor):
                    yield Part((variable % divisor).equals(rest), np.mod(column, divisor) == rest, REMAINDER)

    def _join(self, most: int) -> None:
        """The tests, and those of them that hold together, up to so many."""
        single = np.array([test.rows for test in self.tests], np.float32).reshape(-1, len(self.table.X))
        level, holds = [(i,) for i in range(len(single))], single
        places, all_holds = list(level), [holds]
        for count in range(2, most + 1):
            few = single if count == 2 else single[:JOINED]
            both = holds @ few.T
            newest = np.array([place[-1] for place in level], int).reshape(-1, 1)
            proper = (both > 0) & (both < holds.sum(axis=1)[:, None]) & (both < few.sum(axis=1))
            rows, more = np.nonzero(proper & (newest < np.arange(len(few))))
            level = [(*level[row], int(i)) for row, i in zip(rows, more, strict=True)]
            holds = holds[rows] * few[more]
            places += level
            all_holds.append(holds)
        self.joined = [tuple(self.tests[i] for i in place) for place in places]
        self.holds = np.concatenate(all_holds)
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
                among = reduce(np.logical_and, (test.rows for test in tests), left)
                for value in self.values if (among & wrong).any() else ():
                    bad = values[among & ~value.rows]
                    for above in (False, True) if len(bad) else ():
                        edge = float(bad.max() if above else bad.min())
                        holds = (values > edge) if above else (values < edge)
                        inner = values[holds & among]
                        if (holds & among & wrong).any():
                            ends = (edge, float(inner.min())) if above else (float(inner.max()), edge)
                            test = simplest_test(expr, *ends, whole=whole)
                            test = test if above else opposite(test) or test
                            yield Rule((Part(test, holds, cost), *tests), value)


def equalities(table: Table) -> Iterator[Part]:
    """Whether it is this text, or one of few numbers, or whether two texts are the same."""
    columns = list(zip(table.variables, table.X.T, table.domains, strict=True))
    for variable, column, domain in columns:
        seen = np.unique(column).tolist() if domain.discrete else []
        for value in seen if len(seen) <= (MOST_TEXTS if domain.categories else FEW_NUMBERS) else ():
            yield Part(variable.equals(value), column == value, EQUAL)
    for (one, a, kind), (two, b, other) in combinations(columns, 2):
        if kind.categories and kind.categories == other.categories:
            yield Part(one.equals(two), a == b, EQUAL)


def distinct(tests: Iterable[Part]) -> list[Part]:
    """Tests that hold on some rows, but not on all, each set of rows once."""
    found: dict[bytes, Part] = {}
    for test in tests:
        if 0 < test.rows.sum() < len(test.rows):
            found.setdefault(test.rows.tobytes(), test)
    return list(found.values())
