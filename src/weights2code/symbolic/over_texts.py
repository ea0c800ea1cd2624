"""Regression over texts: what they are is asked, never how large.

A target of texts is chosen by a list of rules: "open" if event == "push" and state == "closed" else ...,
each value of which is a text or a copy of a variable. Tests of texts ask for equality alone, with a text or
with another variable of the same kind; numbers, sums and differences of two are compared with thresholds.
Where no list says it, each text is asked for by itself, as a number that is 1 or 0: so come grades from two
marks. A number that depends on texts is searched for by an engine that sees, in the place of a text, whether
it is this one or that one, or whether two are the same. So nothing that comes out computes with the number
of a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np

from weights2code.data.sufficiency import chi_square
from weights2code.effort import time_is_up
from weights2code.language import BITS, Const, Domain, Expr, Var, op
from weights2code.simplify.sums import polynomial
from weights2code.symbolic.engine import EFFORT, Candidate
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.notation import opposite
from weights2code.symbolic.search.lists import Lists, Part, Quantities, Rule, Rules, shortened, written
from weights2code.symbolic.search.table import Table

#: Indicators that an engine is given at most, those that tell most about the target.
MOST_INDICATORS = 24
#: Lists that are continued at a time.
BEAM = 8
#: Rows that a list is looked for on, and how often those are added on which it is wrong.
ROWS, REPEATS = 2000, 3
#: Texts of a variable that are asked for, at most (what has more is a key); and numbers.
MOST_TEXTS, FEW_NUMBERS = 40, 12
#: Tests that are joined, at most, those that tell most first; in threes if there are no more than so many.
PAIRED, FEW_JOINED = 160, 40
#: Numbers whose sums and differences are compared with thresholds; tests that thresholds stand beside.
NUMBERS, BESIDE = 5, 20
#: What is paid for a value, an equality, what is not equal, a threshold of one number and of two.
VALUE, EQUAL, UNEQUAL, THRESHOLD, OF_TWO = 1.0, 1.0, 1.15, 1.1, 1.8
#: Rules of a list that repeats rows.
REPEATED = 140


def search_over_texts(
    X: np.ndarray,
    y: np.ndarray,
    *,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    answer: Domain,
    **options: Any,
) -> tuple[Candidate, ...]:
    """What the native engine gives where nothing is a text; else formulas that compute with no text.

    `answer` is what the target may hold.
    """
    table = Table(variables, domains, X)
    if answer.categories:
        expr = rule_list(table, y, answer) or _one_by_one(table, y, answer, **options)
        return () if expr is None else (Candidate(expr, expr.size(), 0.0, 0.0, exact=True),)
    if not any(domain.categories for domain in domains):
        return NativeEngine().search(X, y, variables=variables, domains=domains, **options)
    return tuple(_with_indicators(table, y, **options))


def _with_indicators(table: Table, y: np.ndarray, **options: Any) -> list[Candidate]:
    """Formulas of whether it is this text or that one."""
    kinds = [bool(domain.categories) for domain in table.domains]
    plain, texts = (table.only(np.flatnonzero(np.array(kinds) == text)) for text in (False, True))
    once = {min(test.rows.tobytes(), (~test.rows).tobytes()): test for test in distinct(equalities(texts))}
    off = y - y.mean()
    told = sorted(once.values(), key=lambda test: -abs(off @ test.rows) / np.sqrt(test.rows.sum()))
    tests = {Var(f"\0{place}"): test for place, test in enumerate(told[:MOST_INDICATORS])}
    if not plain.variables and not tests:
        return []
    front = NativeEngine().search(
        np.column_stack([plain.X, *(test.rows for test in tests.values())]),
        y,
        variables=(*plain.variables, *tests),
        domains=(*plain.domains, *(BITS for _ in tests)),
        **options,
    )
    asked = {variable: test.write() for variable, test in tests.items()}
    said = [as_choices(candidate.expr.substitute(asked), texts) for candidate in front]
    return [replace(c, expr=e, complexity=e.size()) for c, e in zip(front, said, strict=True)]


def _one_by_one(
    table: Table, y: np.ndarray, answer: Domain, effort: float = EFFORT, **options: Any
) -> Expr | None:
    """A choice of texts where each has a formula of numbers that says where it stands, the shortest first."""
    last, *others = _values(table, y, answer.categories)
    share, left = effort / (1 + len(others)), np.ones(len(y), bool)
    rules: list[tuple[Expr, Expr]] = []
    while (left & ~last.rows).any():
        found: list[tuple[Expr, Expr]] = []
        for value in others:
            rows = left & ~(value.rows & last.rows)
            holds = value.rows[rows].astype(float)
            some = replace(table, X=table.X[rows])
            front = _with_indicators(some, holds, effort=share, **options) if holds.any() else ()
            found += [(candidate.expr, value.write()) for candidate in front if candidate.exact][:1]
        if not found:
            return None
        rules.append(min(found, key=lambda rule: rule[0].size()))
        left &= table.values(rules[-1][0]) == 0
    return reduce(lambda rest, rule: op("where", *rule, rest), reversed(rules), last.write())


def as_choices(expr: Expr, table: Table) -> Expr:
    """A sum of numbers that stand beside tests of one text, as the number that each text has.

    The tests of all texts of a variable add up to 1, so that only these numbers and the constant together
    mean anything: 4 if size is "S", 6 if it is "M", and not 4.75 less 0.75 or more 1.25.
    """
    terms = polynomial(expr, expand=True)
    choices: list[Expr] = []
    for variable, column in zip(table.variables, table.X.T, strict=True):
        tests = {variable.equals(value): value for value in np.unique(column).tolist()}
        if len(tests) < 3 or sum((test,) in terms for test in tests) < 2:
            continue
        constant = terms.pop((), 0)
        cases: dict[Expr, list[float]] = {}
        for test, value in tests.items():
            cases.setdefault(Const(constant + terms.pop((test,), 0)), []).append(value)
        choices.append(joined_cases(variable, cases))
    if not choices:
        return expr
    return reduce(lambda left, right: left + right, [*choices, *([terms.written()] if terms else [])])


def joined_cases(variable: Var, cases: Mapping[Expr, Sequence[float]]) -> Expr:
    """The formulas, each under the texts that it is for; the one of most texts last."""
    ordered = sorted(cases.items(), key=lambda case: len(case[1]))
    result = ordered[-1][0]
    for expr, values in reversed(ordered[:-1]):
        asked = (variable.equals(value) for value in values)
        result = op("where", reduce(lambda one, other: op("or", one, other), asked), expr, result)
    return result


# -- lists of rules ------------------------------------------------------------------------------------------


def rule_list(table: Table, y: np.ndarray, answer: Domain) -> Expr | None:
    """The cheapest list that was found to be right on every row; None if there is none.

    `answer` is what the target may hold.
    """
    rows = np.unique(np.column_stack([table.X, y]), axis=0)
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows))[:ROWS])
    for _ in range(REPEATS):
        rules = _cheapest(replace(table, X=rows[chosen, :-1]), rows[chosen, -1], answer)
        if rules is None:
            return None
        expr = written(rules, partial(op, "where"))
        wrong = np.flatnonzero(replace(table, X=rows[:, :-1]).values(expr) != rows[:, -1])
        if not len(wrong):
            return expr
        chosen = np.union1d(chosen, wrong[:ROWS])
    return None


def table_list(table: Table, y: np.ndarray) -> Expr | None:
    """A list that repeats the rows, quickly: again and again the one rule that settles most for its cost.

    None if that takes more rules than anybody, or Python's own parser, reads.
    """
    values, tests = _values(table, y), distinct(equalities(table, few=len(y)))
    beside = ((), *((test,) for test in tests[:BESIDE]))
    together, longest = len(table.variables), min(len(y) + 1, REPEATED)
    lists = Lists(values, _numbers(table), tests, beside, together=together, longest=longest)
    found = (rules for last in (None, values[0]) for rules in lists.found(last))
    shortest = min(found, key=lambda rules: sum(rule.cost for rule in rules), default=None)
    return written(shortest, partial(op, "where")) if shortest else None


def _values(table: Table, y: np.ndarray, like: tuple = ()) -> list[Part]:
    """What may be chosen: a value, or what a variable has; what is right most often first."""
    values = [Part.of(Const(float(value)), y == value, VALUE) for value in np.unique(y)]
    values += [
        Part.of(variable, column == y, VALUE)
        for variable, column, domain in table.named
        if domain.categories == like and domain.discrete
    ]
    # what is right most often may stand last first; a copy before a value
    return sorted(values, key=lambda value: (-int(value.rows.sum()), isinstance(value.write(), Const)))


def _cheapest(table: Table, y: np.ndarray, answer: Domain) -> Rules | None:
    """The cheapest list of rules with few tests."""
    values = _values(table, y, answer.categories)
    levels, codes = np.unique(y, return_inverse=True)
    tests = distinct(_asked(table))
    told = [-chi_square(test.rows.astype(int), 2, codes, len(levels))[0] for test in tests]
    tests = [tests[i] for i in np.argsort(told, kind="stable")[:PAIRED]]
    beside = [(test,) for test in tests if test.cost == EQUAL][:BESIDE]
    together = 3 if len(tests) <= FEW_JOINED else 2
    lists = Lists(
        values, _numbers(table), tests, ((), *beside), together=together, beam=BEAM, expired=time_is_up
    )
    found: Rules | None = None
    limit = np.inf
    for last in values:
        for rules in lists.found(last, limit=limit):
            rules = shortened(tuple(_settled(rule, table) for rule in rules))
            cost = sum(rule.cost for rule in rules)
            if cost < limit:
                found, limit = rules, cost
    return found


def _settled(rule: Rule, table: Table) -> Rule:
    """The rule on all rows: where a threshold lies was said among those that were left."""
    tests = (
        Part.of(expr, table.values(expr) != 0, test.cost) for test in rule.tests for expr in [test.write()]
    )
    return Rule(tuple(tests), rule.value)


def equalities(table: Table, few: int = FEW_NUMBERS) -> Iterator[Part]:
    """Whether it is this text, or one of few numbers, or whether two texts are the same."""
    for variable, column, domain in table.named:
        seen = np.unique(column).tolist() if domain.discrete else []
        for value in seen if len(seen) <= (MOST_TEXTS if domain.categories else few) else ():
            yield Part.of(variable.equals(value), column == value, EQUAL)
    for (one, a, kind), (two, b, other) in combinations(table.named, 2):
        if kind.categories and kind.categories == other.categories:
            yield Part.of(one.equals(two), a == b, EQUAL)


def _asked(table: Table) -> Iterator[Part]:
    """What is equal or not."""
    equal = list(equalities(table))
    yield from equal
    for test in equal:
        yield Part.of(opposite(test.write()) or test.write(), ~test.rows, UNEQUAL)


def distinct(tests: Iterable[Part]) -> list[Part]:
    """Tests that hold on some rows, but not on all, each set of rows once."""
    found: dict[bytes, Part] = {}
    for test in tests:
        if 0 < test.rows.sum() < len(test.rows):
            found.setdefault(test.rows.tobytes(), test)
    return list(found.values())


def _numbers(table: Table) -> Quantities:
    """Numbers that may be compared with a threshold: as they are, sums and differences of two."""
    plain = [c for c in table.named if not c[2].categories and len(np.unique(c[1])) > 2]
    found = [(variable, column, THRESHOLD, domain.discrete) for variable, column, domain in plain]
    for (one, a, kind), (two, b, other) in combinations(plain if len(plain) <= NUMBERS else (), 2):
        whole = kind.discrete and other.discrete
        found += [(one - two, a - b, OF_TWO, whole), (one + two, a + b, OF_TWO, whole)]
    values = np.array([values for _, values, _, _ in found]).reshape(len(found), len(table.X))
    cost, whole = (np.array([one[i] for one in found]) for i in (2, 3))
    return Quantities(values, cost, whole, lambda i: found[i][0])
