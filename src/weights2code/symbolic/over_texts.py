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
from typing import Any

import numpy as np

from weights2code.language import BITS, Const, Domain, Expr, Var, infer, op
from weights2code.simplify.sums import polynomial
from weights2code.symbolic.engine import EFFORT, Candidate, Engine
from weights2code.symbolic.rule_lists import distinct, equalities, rule_list
from weights2code.symbolic.search.table import Table

#: Indicators that an engine is given at most, those that tell most about the target; texts that have formulas
#: of their own.
MOST_INDICATORS, MOST_CASES = 24, 12
#: The share of the effort that goes to indicators; a formula of so few nodes needs no other.
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
    table = Table(variables, domains, X)
    found = _with_indicators(engine, table, y, effort=SHARE * effort, **options)
    if not any(candidate.exact and candidate.complexity <= SHORT for candidate in found):
        found += _case_by_case(engine, table, y, answer=answer, effort=(1 - SHARE) * effort, **options)
    return tuple(
        sorted(found, key=lambda candidate: (candidate.exact, candidate.exact * candidate.complexity))
    )


def _with_indicators(engine: Engine, table: Table, y: np.ndarray, **options: Any) -> list[Candidate]:
    """Formulas of whether it is this text or that one."""
    kinds = [bool(domain.categories) for domain in table.domains]
    plain, texts = (table.only(np.flatnonzero(np.array(kinds) == text)) for text in (False, True))
    once = {min(test.rows.tobytes(), (~test.rows).tobytes()): test for test in distinct(equalities(texts))}
    off = y - y.mean()
    told = sorted(once.values(), key=lambda test: -abs(off @ test.rows) / np.sqrt(test.rows.sum()))
    tests = {Var(f"\0{place}"): test for place, test in enumerate(told[:MOST_INDICATORS])}
    if not plain.variables and not tests:
        return []
    front = engine.search(
        np.column_stack([plain.X, *(test.rows for test in tests.values())]),
        y,
        variables=(*plain.variables, *tests),
        domains=(*plain.domains, *(BITS for _ in tests)),
        **options,
    )
    asked = {variable: test.expr for variable, test in tests.items()}
    said = [as_choices(candidate.expr.substitute(asked), texts) for candidate in front]
    return [replace(c, expr=e, complexity=e.size()) for c, e in zip(front, said, strict=True)]


def _case_by_case(
    engine: Engine, table: Table, y: np.ndarray, *, effort: float, **options: Any
) -> Iterator[Candidate]:
    """A formula for each text of a variable, those that are the same put together."""
    texts = [i for i, domain in enumerate(table.domains) if domain.categories]
    for i in texts if len(table.variables) > 1 else ():
        rest = table.only([j for j in range(len(table.variables)) if j != i])
        kinds = tuple(d if d.categories else infer(c) for d, c in zip(rest.domains, rest.X.T, strict=True))
        seen, counts = np.unique(table.X[:, i], return_counts=True)
        share = effort / (len(texts) * len(seen))
        cases: dict[Expr, list[float]] = {}
        for value in seen[np.argsort(counts, kind="stable")] if 1 < len(seen) <= MOST_CASES else ():
            rows = table.X[:, i] == value
            same = (expr for expr in cases if np.array_equal(rest.values(expr)[rows], y[rows]))
            expr = next(same, Const(float(y[rows][0])) if np.ptp(y[rows]) == 0 else None)
            if expr is None:
                some = {"variables": rest.variables, "domains": kinds, "effort": share, **options}
                front = search_over_texts(engine, rest.X[rows], y[rows], **some)
                expr = next((candidate.expr for candidate in front if candidate.exact), None)
            if expr is None:
                break
            cases.setdefault(expr, []).append(float(value))
        if sum(map(len, cases.values())) == len(seen):
            expr = joined_cases(table.variables[i], cases)
            yield Candidate(expr, expr.size(), 0.0, 0.0, exact=True)


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
