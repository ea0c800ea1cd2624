"""Lists of rules: "open" if event == "push" and state == "closed" else ..., for outputs that are chosen, not
computed.

A list is read from the top: the first rule whose conditions hold says the value, which is one of the
target's own or a copy of a variable that holds such values; the last value holds where no rule does.
Conditions on texts ask for equality alone, with a text or with another variable of the same kind. Numbers are
compared with thresholds, and so are sums and differences of two of them.

The search is a beam: for each value that may stand last, rules are put on top of each other, each of which is
right wherever it holds among the rows that are left, as many rows for as few conditions as can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Const, Domain, Expr, Op, Var, compile_numpy, op
from weights2code.symbolic.shorter_lists import shortened

#: Lists that are continued at a time, and rules that each is continued with.
BEAM, BRANCHES = 10, 6
#: Rules of a list, at most, and conditions of a rule.
MOST_RULES, MOST_CONDITIONS = 24, 3
#: Texts of a variable that are asked for, at most: what has more is a key.
MOST_TEXTS = 40
#: Values of a number that are asked for one by one, at most, and those that are asked for with `!=` too.
FEW_NUMBERS, FEWER_NUMBERS = 12, 6
#: Rows that a list is looked for on, at most; conditions that are joined in threes, at most.
MOST_ROWS, MOST_JOINED = 2000, 48
#: So many conditions are joined in threes even if twos are enough.
FEW_JOINED = 40
#: Conditions that are joined in twos, at most, those that tell most about the target first.
MOST_PAIRED = 160
#: Numbers whose sums and differences are compared with thresholds, at most.
MOST_NUMBERS = 5
#: Conditions that thresholds are looked for under, at most.
MOST_BESIDE = 20
#: What a condition costs beside a value: an equality, what is not equal, a threshold, one of two numbers.
EQUAL, UNEQUAL, THRESHOLD, THRESHOLD_OF_TWO = 1.0, 1.15, 1.1, 1.8
#: The same of one of two texts, which are asked for if there are at most so many.
ONE_OF_TWO, MOST_OF_TWO = 1.4, 8
#: The same of a remainder, and the largest divisor.
REMAINDER, LARGEST_DIVISOR = 1.6, 6
#: Thresholds in a list, at most: more of them follow the rows, not a rule.
MOST_THRESHOLDS = 6
VALUE = 1.0
#: The cost of a copy of what was just before, where it stands last: else nothing changes.
UNCHANGED = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A test, the rows on which it holds, and what it costs a reader."""

    tests: tuple[Expr, ...]
    holds: np.ndarray
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What a rule may say, and on which rows that is right."""

    expr: Expr
    right: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """The value where all tests hold."""

    tests: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A list in the making: its rules, the rows that none of them speaks about yet, and its cost, now and
    without the latest rule."""

    rules: tuple[Rule, ...]
    left: np.ndarray
    cost: float
    before: float = 0.0

    def ended(self, last: Expr) -> Draft:
        """The whole list; if no row is left for `last`, its latest rule needs no tests."""
        if self.rules and not self.left.any():
            last, rules = self.rules[-1].value, self.rules[:-1]
            return replace(self, rules=(*rules, Rule((), last)), cost=self.before + _price_of_last(last))
        return replace(self, rules=(*self.rules, Rule((), last)), cost=self.cost + _price_of_last(last))


def _price_of_last(value: Expr) -> float:
    return UNCHANGED if isinstance(value, Var) and value.lag == 1 else VALUE


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
    chosen = np.arange(len(rows))
    if len(rows) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS])
    for _ in range(3):
        part = rows[chosen]
        found = _Search(part[:, :-1], part[:, -1], variables, domains, answer).best()
        if found is None:
            return None
        expr = written(found)
        wrong = np.flatnonzero(_evaluated(expr, variables, rows[:, :-1]) != rows[:, -1])
        if not len(wrong):
            needed = [(rule.tests, rule.value) for rule in found.rules]
            needed = shortened(needed, rows[:, :-1], rows[:, -1], variables)
            return written(replace(found, rules=tuple(Rule(*rule) for rule in needed)))
        chosen = np.unique(np.concatenate([chosen, wrong[:MOST_ROWS]]))
    return None


def written(draft: Draft) -> Expr:
    """The list as nested choices; the last rule has no tests. Rules that say the same are put together."""
    rules = _merged(list(draft.rules))
    result = rules[-1].value
    for rule in reversed(rules[:-1]):
        test = rule.tests[0]
        for other in rule.tests[1:]:
            test = op("and", test, other)
        result = op("where", test, rule.value, result)
    return result


def _merged(rules: list[Rule]) -> list[Rule]:
    """Neighbours with one value that differ in one test of one variable become a rule about several texts."""
    place = 0
    while place + 2 < len(rules):
        one, two = rules[place], rules[place + 1]
        only = [t for t in one.tests if t not in two.tests], [t for t in two.tests if t not in one.tests]
        if one.value == two.value and len(only[0]) == len(only[1]) == 1:
            a, b = only[0][0], only[1][0]
            if _asked(a) is not None and _asked(a) == _asked(b):
                tests = tuple(op("or", a, b) if test == a else test for test in one.tests)
                rules[place : place + 2] = [Rule(tests, one.value)]
                continue
        place += 1
    return rules


def _asked(test: Expr) -> Expr | None:
    """The variable that a test compares with texts."""
    if isinstance(test, Op) and test.name == "or":
        return _asked(test.args[0])
    if isinstance(test, Op) and test.name == "eq" and isinstance(test.args[1], Const):
        return test.args[0]
    return None


def _evaluated(expr: Expr, variables: Sequence[Var], columns: np.ndarray) -> np.ndarray:
    return np.broadcast_to(compile_numpy(expr, tuple(variables))(*columns.T), len(columns))


class _Search:
    """The beam, for one set of rows."""

    def __init__(
        self,
        columns: np.ndarray,
        target: np.ndarray,
        variables: Sequence[Var],
        domains: Sequence[Domain],
        answer: Domain,
    ) -> None:
        self.columns, self.target = columns, target
        self.variables, self.domains = variables, domains
        self.values = [
            *(Value(Const(float(value)), target == value) for value in np.unique(target)),
            *(
                Value(variable, column == target)
                for variable, column, domain in zip(variables, columns.T, domains, strict=True)
                if domain.categories == answer.categories and (domain.categories or domain.discrete)
            ),
        ]
        self.values = [value for value in self.values if value.right.any()]
        self.right = np.array([value.right for value in self.values])
        self.single = [*self._equalities(), *self._few_numbers(), *self._remainders()]
        if len(self.single) > MOST_PAIRED:
            told = np.argsort([-self._tells(c.holds) for c in self.single], kind="stable")
            self.single = [self.single[int(i)] for i in told[:MOST_PAIRED]]
        self.numbers = self._numbers()

    def _tells(self, holds: np.ndarray) -> float:
        """How much a condition tells about the target: the excess of its square over chance."""
        _, codes = np.unique(self.target, return_inverse=True)
        inside, all_of = np.bincount(codes[holds], minlength=codes.max() + 1), np.bincount(codes)
        expected = all_of * holds.mean()
        return float(np.sum((inside - expected) ** 2 / np.maximum(expected, 1e-9)))

    def best(self) -> Draft | None:
        """The cheapest list, of rules with one or two conditions if these will do."""
        found: Draft | None = None
        for most in range(2, MOST_CONDITIONS + 1):
            conditions = self._conditions(most)
            if not conditions and not self.numbers:
                continue
            table = np.array([c.holds for c in conditions], np.float32)
            table = table.reshape(len(conditions), len(self.target))
            costs = np.array([c.cost for c in conditions])
            for last in self._lasts():
                draft = self._with_last(last, conditions, table, costs, found.cost if found else np.inf)
                if draft is not None and (found is None or draft.cost < found.cost):
                    found = draft
            if found is not None and len(self.single) > FEW_JOINED:
                break
        return found

    def _lasts(self) -> list[Value]:
        """What may stand last, what is right most often first; a copy before a value."""
        return sorted(self.values, key=lambda v: (-int(v.right.sum()), isinstance(v.expr, Const)))

    def _with_last(
        self, last: Value, conditions: list[Condition], table: np.ndarray, costs: np.ndarray, limit: float
    ) -> Draft | None:
        beam = [Draft((), np.ones(len(self.target), bool), 0.0)]
        for _ in range(MOST_RULES):
            grown: list[Draft] = []
            for draft in beam:
                if time_is_up():
                    return None
                wrong = draft.left & ~last.right
                if not wrong.any():
                    return draft.ended(last.expr)
                grown += self._continued(draft, wrong, conditions, table, costs)
            grown = [draft for draft in grown if draft.cost + self._at_least(draft, last) < limit]
            if not grown:
                return None
            # fewest rows left for the cost, each set of rows once
            grown.sort(key=lambda d: (d.cost + VALUE * np.log1p((d.left & ~last.right).sum()), d.cost))
            seen: dict[bytes, Draft] = {}
            for draft in grown:
                seen.setdefault(draft.left.tobytes(), draft)
            beam = list(seen.values())[:BEAM]
        return None

    def _at_least(self, draft: Draft, last: Value) -> float:
        """What has to be added to a draft: a rule, if there are rows that the last value is wrong on."""
        if not draft.left.any():
            return draft.before - draft.cost
        return _price_of_last(last.expr) + (EQUAL + VALUE if (draft.left & ~last.right).any() else 0.0)

    def _continued(
        self,
        draft: Draft,
        wrong: np.ndarray,
        conditions: list[Condition],
        table: np.ndarray,
        costs: np.ndarray,
    ) -> Iterator[Draft]:
        """The draft with one rule more, in a few ways."""
        options: list[tuple[float, Condition, Value]] = []
        if len(conditions):
            counted = table @ np.vstack([wrong, draft.left & ~self.right]).astype(np.float32).T
            gains = counted[:, 0] / (costs + VALUE)
            for place, value in enumerate(self.values, start=1):
                worth = np.where(counted[:, place] == 0, gains, 0.0)
                for index in np.argsort(-worth, kind="stable")[:BRANCHES]:
                    if worth[index] > 0:
                        options.append((float(worth[index]), conditions[int(index)], value))
        used = sum(_compares(test) for rule in draft.rules for test in rule.tests)
        for condition, value in self._thresholds(draft.left, wrong) if used < MOST_THRESHOLDS else ():
            gain = float((condition.holds & wrong).sum())
            options.append((gain / (condition.cost + VALUE), condition, value))
        options.sort(key=lambda option: -option[0])
        for _, condition, value in options[:BRANCHES]:
            rule = Rule(condition.tests, value.expr)
            cost = draft.cost + condition.cost + VALUE
            yield Draft((*draft.rules, rule), draft.left & ~condition.holds, cost, draft.cost)

    # -- conditions ------------------------------------------------------------------------------------------

    def _equalities(self) -> Iterator[Condition]:
        """Equality of texts, with one of them or with another variable."""
        texts = [i for i, domain in enumerate(self.domains) if domain.categories]
        for i in texts:
            column, variable = self.columns[:, i], self.variables[i]
            seen = np.unique(column)
            if not 1 < len(seen) <= MOST_TEXTS:
                continue
            for value in seen:
                yield Condition((variable.equals(float(value)),), column == value, EQUAL)
                if len(seen) > 2:
                    yield Condition((op("ne", variable, float(value)),), column != value, UNEQUAL)
            if 3 < len(seen) <= MOST_OF_TWO:
                for one, two in combinations(seen, 2):
                    test = op("or", variable.equals(float(one)), variable.equals(float(two)))
                    yield Condition((test,), (column == one) | (column == two), ONE_OF_TWO)
        for i, j in combinations(texts, 2):
            if self.domains[i].categories == self.domains[j].categories:
                same = self.columns[:, i] == self.columns[:, j]
                if same.any() and not same.all():
                    one, two = self.variables[i], self.variables[j]
                    yield Condition((one.equals(two),), same, EQUAL)
                    yield Condition((op("ne", one, two),), ~same, UNEQUAL)

    def _few_numbers(self) -> Iterator[Condition]:
        """Equality of numbers that take few values."""
        for i, domain in enumerate(self.domains):
            seen = np.unique(self.columns[:, i])
            if domain.categories or not domain.discrete or not 1 < len(seen) <= FEW_NUMBERS:
                continue
            for value in seen:
                test = self.variables[i].equals(float(value))
                yield Condition((test,), self.columns[:, i] == value, EQUAL)
                if 2 < len(seen) <= FEWER_NUMBERS:
                    other = op("ne", self.variables[i], float(value))
                    yield Condition((other,), self.columns[:, i] != value, UNEQUAL)

    def _remainders(self) -> Iterator[Condition]:
        """Remainders of whole numbers that take many values: every second, every third."""
        for i, domain in enumerate(self.domains):
            column = self.columns[:, i]
            if domain.categories or not domain.discrete or len(np.unique(column)) <= FEWER_NUMBERS:
                continue
            for divisor, rest in ((d, r) for d in range(2, LARGEST_DIVISOR + 1) for r in range(d)):
                holds = np.mod(column, divisor) == rest
                yield Condition(((self.variables[i] % divisor).equals(rest),), holds, REMAINDER)

    def _conditions(self, most: int) -> list[Condition]:
        """Single conditions and those of them that hold together."""
        joined = list(self.single)
        for count in range(2, most + 1):
            single = self.single if count == 2 else self.single[:MOST_JOINED]
            if time_is_up():
                break
            for some in combinations(single, count):
                holds = np.logical_and.reduce([c.holds for c in some])
                if holds.any() and all((holds != c.holds).any() for c in some):
                    tests = tuple(test for c in some for test in c.tests)
                    joined.append(Condition(tests, holds, sum(c.cost for c in some)))
        return joined

    def _numbers(self) -> list[tuple[Expr, np.ndarray, float, bool]]:
        """Numbers that may be compared with a threshold: as they are, sums and differences of two."""
        plain = [i for i, domain in enumerate(self.domains) if not domain.categories]
        plain = [i for i in plain if len(np.unique(self.columns[:, i])) > 2]
        found: list[tuple[Expr, np.ndarray, float, bool]] = [
            (self.variables[i], self.columns[:, i], THRESHOLD, self.domains[i].discrete) for i in plain
        ]
        if len(plain) <= MOST_NUMBERS:
            for i, j in combinations(plain, 2):
                one, two = self.variables[i], self.variables[j]
                whole = self.domains[i].discrete and self.domains[j].discrete
                for expr, values in (
                    (one - two, self.columns[:, i] - self.columns[:, j]),
                    (one + two, self.columns[:, i] + self.columns[:, j]),
                ):
                    found.append((expr, values, THRESHOLD_OF_TWO, whole))
        return found

    def _thresholds(self, left: np.ndarray, wrong: np.ndarray) -> Iterator[tuple[Condition, Value]]:
        """Below or above the farthest threshold up to which a value is right, under a condition or none."""
        for expr, values, cost, whole in self.numbers:
            equal = [c for c in self.single if c.cost == EQUAL][:MOST_BESIDE]
            for condition in (None, *(equal if isinstance(expr, Var) else ())):
                among = left if condition is None else left & condition.holds
                if not (among & wrong).any():
                    continue
                for value in self.values:
                    bad = among & ~value.right
                    if not bad.any():
                        continue
                    for above in (False, True):
                        edge = values[bad].max() if above else values[bad].min()
                        holds = among & ((values > edge) if above else (values < edge))
                        if not (holds & wrong).any():
                            continue
                        inner = values[holds].min() if above else values[holds].max()
                        test = _threshold(expr, float(inner), float(edge), above=above, whole=whole)
                        tests = (test,) if condition is None else (test, *condition.tests)
                        price = cost + (condition.cost if condition else 0.0)
                        every = (values > edge) if above else (values < edge)
                        if condition is not None:
                            every = every & condition.holds
                        yield Condition(tests, every, price), value


def _compares(test: Expr) -> bool:
    return isinstance(test, Op) and test.name in ("ge", "gt", "le", "lt")


def _threshold(expr: Expr, inner: float, edge: float, *, above: bool, whole: bool) -> Expr:
    """The test that divides two values; of a difference, the comparison of its two sides."""
    number = inner if whole else _between(inner, edge)
    if isinstance(expr, Op) and expr.name == "sub" and whole and edge == 0:
        number = edge
    name = ("ge" if above else "le") if number == inner else ("gt" if above else "lt")
    if isinstance(expr, Op) and expr.name == "sub" and number == 0:
        return op(name, *expr.args)
    return op(name, expr, number)


def _between(one: float, other: float) -> float:
    """The number with the fewest digits between two, or one of them."""
    low, high = min(one, other), max(one, other)
    middle = (low + high) / 2
    for digits in range(-6, 16):
        if low <= (number := round(middle, digits)) <= high:
            return number
    return one
