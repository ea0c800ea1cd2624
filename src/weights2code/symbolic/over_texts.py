"""Regression over texts: what they are is asked, never how large.

A target of texts is chosen by a list of rules (`rule_lists`). A number that depends on texts is searched for
by an engine that sees, in the place of a text, whether it is this one or that one, or whether two are the
same; and for each text by itself, where each may have a formula of its own. So nothing that comes out
computes with the number of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from weights2code.language import (
    BITS,
    Const,
    Domain,
    Expr,
    Number,
    Op,
    Var,
    compile_numpy,
    exact_number,
    infer,
    op,
)
from weights2code.language.operators import OPERATORS
from weights2code.symbolic.engine import Candidate, Engine
from weights2code.symbolic.rule_lists import MOST_TEXTS, rule_list

#: Values of a number that rules may choose from, at most.
MOST_CHOSEN = 6
#: A formula of at most so many nodes need not be looked for in another way.
SHORT = 15
#: Indicators that an engine is given at most, and texts that have formulas of their own.
MOST_INDICATORS, MOST_CASES = 24, 12
#: The share of the effort that goes to indicators.
SHARE = 0.5
ONE = Const(1)


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
    known = any(domain.categories for domain in domains)
    if not known and not answer.categories:
        return engine.search(X, y, variables=variables, domains=domains, **options)
    found: list[Candidate] = []
    few = answer.discrete and len(np.unique(y)) <= MOST_CHOSEN
    if answer.categories or few:
        expr = rule_list(X, y, variables, domains, answer)
        if expr is not None:
            found.append(_exact(expr if answer.categories else _as_truth(expr)))
    if answer.categories or (found and found[0].complexity <= SHORT):
        return tuple(found)
    effort = options.pop("effort", 2.0)
    found += _with_indicators(engine, X, y, variables, domains, effort=SHARE * effort, **options)
    if not any(candidate.exact and candidate.complexity <= SHORT for candidate in found):
        rest = (1 - SHARE) * effort
        found += _case_by_case(engine, X, y, variables, domains, answer, effort=rest, **options)
    exact = sorted((c for c in found if c.exact), key=lambda c: c.complexity)
    return (*(c for c in found if not c.exact), *exact)


def _exact(expr: Expr) -> Candidate:
    return Candidate(expr, expr.size(), 0.0, 0.0, exact=True)


def _as_truth(expr: Expr) -> Expr:
    """A choice between 1 and 0 is the test itself."""
    if isinstance(expr, Op) and expr.name == "where" and OPERATORS[expr.args[0].name].boolean:  # type: ignore[attr-defined]
        if expr.args[1:] == (Const(1), Const(0)):
            return expr.args[0]
        if expr.args[1:] == (Const(0), Const(1)):
            return opposite(expr.args[0])
    return expr


def opposite(test: Expr) -> Expr:
    """The test that holds where this one does not."""
    if isinstance(test, Op) and (other := OPERATORS[test.name].opposite) is not None:
        return Op(other, test.args)
    return op("not", test)


# -- whether it is this text or that one ---------------------------------------------------------------------


def _with_indicators(
    engine: Engine,
    X: np.ndarray,
    y: np.ndarray,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    **options: Any,
) -> list[Candidate]:
    indicators = list(_indicators(X, variables, domains))
    if len(indicators) > MOST_INDICATORS:
        return []
    plain = [i for i, domain in enumerate(domains) if not domain.categories]
    stand_ins = [Var(f"\0{place}") for place in range(len(indicators))]
    table = dict(zip(stand_ins, (test for test, _ in indicators), strict=True))
    columns = [*(X[:, i] for i in plain), *(values for _, values in indicators)]
    if not columns:
        return []
    front = engine.search(
        np.column_stack(columns),
        y,
        variables=(*(variables[i] for i in plain), *stand_ins),
        domains=(*(domains[i] for i in plain), *(BITS for _ in indicators)),
        **options,
    )
    return [
        replace(candidate, expr=expr, complexity=expr.size())
        for candidate in front
        for expr in [as_choices(tested(candidate.expr, table), [test for test, _ in indicators])]
    ]


def _indicators(
    X: np.ndarray, variables: Sequence[Var], domains: Sequence[Domain]
) -> Iterator[tuple[Expr, np.ndarray]]:
    """Tests for equality with a text, or of two variables, and where they hold."""
    texts = [i for i, domain in enumerate(domains) if domain.categories]
    for i in texts:
        seen = np.unique(X[:, i])
        if len(seen) <= MOST_TEXTS:
            for value in seen[1:] if len(seen) == 2 else seen if len(seen) > 2 else ():
                yield variables[i].equals(float(value)), (X[:, i] == value).astype(float)
    for i, j in combinations(texts, 2):
        same = (X[:, i] == X[:, j]).astype(float)
        if domains[i].categories == domains[j].categories and 0 < same.mean() < 1:
            yield variables[i].equals(variables[j]), same


def tested(expr: Expr, table: dict[Var, Expr]) -> Expr:
    """The formula with tests in the places of bits; a test of a test is one test."""

    def short(node: Expr) -> Expr:
        if isinstance(node, Var):
            return table.get(node, node)
        if not isinstance(node, Op):
            return node
        first = node.args[0]
        if not (isinstance(first, Op) and first in tests):
            return node
        if node.name == "not":
            return opposite(first)
        if OPERATORS[node.name].compares and isinstance(node.args[1], Const):
            values = [bool(OPERATORS[node.name].exact(bit, node.args[1].value)) for bit in (0, 1)]
            if values == [False, True]:
                return first
            if values == [True, False]:
                return opposite(first)
        return node

    tests = {*table.values()}
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
    terms: dict[Expr, Number] = {}
    for term, factor in _terms(expr, 1):
        terms[term] = terms.get(term, 0) + factor
    choices: list[Expr] = []
    for variable, values in texts.items():
        if len(values) < 3 or sum(test in terms for test in values) < 2:
            continue
        constant = terms.pop(ONE, 0)
        cases: dict[Expr, list[float]] = {}
        for test, value in values.items():
            cases.setdefault(Const(constant + terms.pop(test, 0)), []).append(value)
        choices.append(joined_cases(variable, cases))
    if not choices:
        return expr
    choices += [term if factor == 1 else Const(factor) * term for term, factor in terms.items() if factor]
    return reduce(lambda left, right: left + right, choices)


def _terms(expr: Expr, factor: Number) -> Iterator[tuple[Expr, Number]]:
    """What a sum adds up, each with the exact number that stands beside it; numbers as so many times 1."""
    if isinstance(expr, Const):
        yield ONE, factor * exact_number(expr.value)
    elif isinstance(expr, Op) and expr.name in ("add", "sub"):
        yield from _terms(expr.args[0], factor)
        yield from _terms(expr.args[1], factor if expr.name == "add" else -factor)
    elif isinstance(expr, Op) and expr.name == "neg":
        yield from _terms(expr.args[0], -factor)
    elif isinstance(expr, Op) and expr.name == "mul" and isinstance(expr.args[0], Const):
        yield from _terms(expr.args[1], factor * exact_number(expr.args[0].value))
    else:
        yield expr, factor


# -- each text by itself -------------------------------------------------------------------------------------


def _case_by_case(
    engine: Engine,
    X: np.ndarray,
    y: np.ndarray,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    answer: Domain,
    *,
    effort: float,
    **options: Any,
) -> list[Candidate]:
    """A formula for each text of a variable, those that are the same put together."""
    texts = [i for i, domain in enumerate(domains) if domain.categories]
    found: list[Candidate] = []
    for i in texts:
        seen, counts = np.unique(X[:, i], return_counts=True)
        if not 1 < len(seen) <= MOST_CASES:
            continue
        rest = [j for j in range(len(variables)) if j != i]
        cases: dict[Expr, list[float]] = {}
        share = effort / (len(texts) * len(seen))
        for value in seen[np.argsort(counts, kind="stable")]:
            expr = _case(
                engine, X, y, i, float(value), rest, variables, domains, answer, cases, share, options
            )
            if expr is None:
                break
            cases.setdefault(expr, []).append(float(value))
        else:
            found.append(_exact(joined_cases(variables[i], cases)))
    return sorted(found, key=lambda candidate: candidate.complexity)


def _case(
    engine: Engine,
    X: np.ndarray,
    y: np.ndarray,
    place: int,
    value: float,
    rest: list[int],
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    answer: Domain,
    known: dict[Expr, list[float]],
    effort: float,
    options: dict[str, Any],
) -> Expr | None:
    rows = X[:, place] == value
    if np.ptp(y[rows]) == 0:
        return Const(float(y[rows][0]))
    columns, some = X[rows][:, rest], tuple(variables[j] for j in rest)
    for expr in known:  # a formula that another text has
        with np.errstate(all="ignore"):
            if np.array_equal(np.broadcast_to(compile_numpy(expr, some)(*columns.T), rows.sum()), y[rows]):
                return expr
    if not rest:
        return None
    kinds = tuple(domains[j] if domains[j].categories else infer(X[:, j]) for j in rest)
    front = search_over_texts(
        engine, columns, y[rows], variables=some, domains=kinds, answer=answer, effort=effort, **options
    )
    return next((candidate.expr for candidate in front if candidate.exact), None)


def joined_cases(variable: Var, cases: dict[Expr, list[float]]) -> Expr:
    """The formulas, each under the texts that it is for; the one of most texts last."""
    ordered = sorted(cases.items(), key=lambda case: len(case[1]))
    result = ordered[-1][0]
    for expr, values in reversed(ordered[:-1]):
        test: Expr = variable.equals(values[0])
        for value in values[1:]:
            test = op("or", test, variable.equals(value))
        result = op("where", test, expr, result)
    return result
