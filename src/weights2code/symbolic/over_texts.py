"""Regression over texts: what they are is asked, never how large.

A target of texts is chosen by a list of rules (`rule_lists`). A number that depends on texts is searched for
by an engine that sees, in the place of a text, whether it is this one or that one, or whether two are the
same; and for each text by itself, where each may have a formula of its own. So nothing that comes out
computes with the number of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from weights2code.language import BITS, OPERATORS, Const, Domain, Expr, Op, Var, compile_numpy, infer, op
from weights2code.simplify.collect import polynomial
from weights2code.symbolic.engine import EFFORT, Candidate, Engine
from weights2code.symbolic.notation import opposite
from weights2code.symbolic.rule_lists import MOST_TEXTS, rule_list

#: Indicators that an engine is given at most, those that tell most about the target; texts that have formulas
#: of their own.
MOST_INDICATORS, MOST_CASES = 24, 12
#: The share of the effort that goes to indicators; a formula of so few nodes is not looked for in another way.
SHARE, SHORT = 0.5, 15


def search_over_texts(
    engine: Engine,
    X: np.ndarray,
    y: np.ndarray,
    *,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    answer: Domain,
    **options: Any,
) -> tuple[Candidate, ...]:
    """What `engine.search` gives where nothing is a text; else formulas that compute with no text.

    `answer` is what the target may hold.
    """
    if answer.categories:
        expr = rule_list(X, y, variables, domains, answer)
        return () if expr is None else (Candidate(expr, expr.size(), 0.0, 0.0, exact=True),)
    if not any(domain.categories for domain in domains):
        return engine.search(X, y, variables=variables, domains=domains, **options)
    effort = options.pop("effort", EFFORT)
    known = {"variables": variables, "domains": domains}
    found = _with_indicators(engine, X, y, **known, effort=SHARE * effort, **options)
    if not any(candidate.exact and candidate.complexity <= SHORT for candidate in found):
        rest = (1 - SHARE) * effort
        found += _case_by_case(engine, X, y, **known, answer=answer, effort=rest, **options)
    return tuple(
        sorted(found, key=lambda candidate: (candidate.exact, candidate.exact * candidate.complexity))
    )


def _with_indicators(
    engine: Engine,
    X: np.ndarray,
    y: np.ndarray,
    variables: Sequence[Var],
    domains: Sequence[Domain],
    **options: Any,
) -> list[Candidate]:
    """Formulas of whether it is this text or that one."""
    indicators = list(_indicators(X, variables, domains))
    if len(indicators) > MOST_INDICATORS:
        off = y - y.mean()
        indicators.sort(key=lambda item: -abs(item[1] @ off) / np.sqrt(item[1].sum()))
        indicators = indicators[:MOST_INDICATORS]
    plain = [i for i, domain in enumerate(domains) if not domain.categories]
    if not plain and not indicators:
        return []
    tests = {Var(f"\0{place}"): test for place, (test, _) in enumerate(indicators)}
    columns = [*(X[:, i] for i in plain), *(values for _, values in indicators)]
    front = engine.search(
        np.column_stack(columns),
        y,
        variables=(*(variables[i] for i in plain), *tests),
        domains=(*(domains[i] for i in plain), *(BITS for _ in tests)),
        **options,
    )
    said = [as_choices(tested(candidate.expr, tests), [*tests.values()]) for candidate in front]
    return [replace(c, expr=e, complexity=e.size()) for c, e in zip(front, said, strict=True)]


def _case_by_case(
    engine: Engine,
    X: np.ndarray,
    y: np.ndarray,
    variables: Sequence[Var],
    domains: Sequence[Domain],
    effort: float,
    **options: Any,
) -> Iterator[Candidate]:
    """A formula for each text of a variable, those that are the same put together."""
    texts = [i for i, domain in enumerate(domains) if domain.categories]
    for i in texts if len(variables) > 1 else ():
        rest = [j for j in range(len(variables)) if j != i]
        some = tuple(variables[j] for j in rest)
        kinds = tuple(domains[j] if domains[j].categories else infer(X[:, j]) for j in rest)
        seen, counts = np.unique(X[:, i], return_counts=True)
        cases: dict[Expr, list[float]] = {}
        for value in seen[np.argsort(counts, kind="stable")] if 1 < len(seen) <= MOST_CASES else ():
            rows = X[:, i] == value
            columns, target = X[rows][:, rest], y[rows]
            share = effort / (len(texts) * len(seen))
            with np.errstate(all="ignore"):  # a formula that another text has
                same = (e for e in cases if np.all(compile_numpy(e, some)(*columns.T) == target))
                expr = next(same, Const(float(target[0])) if np.ptp(target) == 0 else None)
            if expr is None:
                front = search_over_texts(
                    engine, columns, target, variables=some, domains=kinds, effort=share, **options
                )
                expr = next((candidate.expr for candidate in front if candidate.exact), None)
            if expr is None:
                break
            cases.setdefault(expr, []).append(float(value))
        if sum(map(len, cases.values())) == len(seen):
            expr = joined_cases(variables[i], cases)
            yield Candidate(expr, expr.size(), 0.0, 0.0, exact=True)


def _indicators(
    X: np.ndarray, variables: Sequence[Var], domains: Sequence[Domain]
) -> Iterator[tuple[Expr, np.ndarray]]:
    """Tests for equality with a text, or of two variables, and where they hold."""
    texts = [i for i, domain in enumerate(domains) if domain.categories]
    for i in texts:
        seen = np.unique(X[:, i])
        for value in seen[len(seen) == 2 :] if 1 < len(seen) <= MOST_TEXTS else ():
            yield variables[i].equals(float(value)), (X[:, i] == value).astype(float)
    for i, j in combinations(texts, 2):
        same = (X[:, i] == X[:, j]).astype(float)
        if domains[i].categories == domains[j].categories and 0 < same.mean() < 1:
            yield variables[i].equals(variables[j]), same


def tested(expr: Expr, tests: Mapping[Var, Expr]) -> Expr:
    """The formula with tests in the places of bits; a test of a test is one test."""

    def short(node: Expr) -> Expr:
        if isinstance(node, Var):
            return tests.get(node, node)
        if not isinstance(node, Op) or node.args[0] not in known:
            return node
        first, *others = node.args
        numbers = [other.value for other in others if isinstance(other, Const)]
        if len(numbers) < len(others):
            return node
        values = [OPERATORS[node.name].exact(bit, *numbers) for bit in (0, 1)]
        return first if values == [0, 1] else opposite(first) or node if values == [1, 0] else node

    known = {*tests.values()}
    return expr.transform(short)


def as_choices(expr: Expr, tests: Sequence[Expr]) -> Expr:
    """A sum of numbers that stand beside tests of one text, as the number that each text has.

    The tests of all texts of a variable add up to 1, so that only these numbers and the constant together
    mean anything: 4 if size is "S", 6 if it is "M", and not 4.75 less 0.75 or more 1.25.
    """
    texts: dict[Var, dict[Expr, float]] = {}
    for test in tests:
        variable, other = test.args  # type: ignore[attr-defined]
        if isinstance(variable, Var) and isinstance(other, Const):
            texts.setdefault(variable, {})[test] = float(other.value)
    terms = polynomial(expr, expand=True)
    choices: list[Expr] = []
    for variable, values in texts.items():
        if len(values) < 3 or sum((test,) in terms for test in values) < 2:
            continue
        constant = terms.pop((), 0)
        cases: dict[Expr, list[float]] = {}
        for test, value in values.items():
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
