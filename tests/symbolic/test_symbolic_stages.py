"""Every stage of the native search alone, on rows of which it finds the formula; limits follow the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

from weights2code.language import Domain, Expr, Var, formula, integers, op, reals
from weights2code.symbolic.decomposition.peeling import peelings
from weights2code.symbolic.engine import Candidate
from weights2code.symbolic.piecewise.decision_lists import extreme_tests
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem, prepare
from weights2code.symbolic.search.stages import stages_for
from weights2code.symbolic.search.walk import Search, Stage

Rule = Callable[..., np.ndarray]
LETTERS = tuple(Var(name) for name in "abcdef")
DIGITS, SMALL, REAL, POSITIVE = integers(0, 9), integers(0, 4), reals(-2, 2), reals(0.5, 3)


def problem_of(
    rule: Rule, domains: tuple[Domain, ...], variables: tuple[Var, ...] = LETTERS, count: int = 1500
) -> Problem:
    rng = np.random.default_rng(0)
    columns = [
        rng.integers(int(d.low), int(d.high) + 1, count) if d.discrete else rng.uniform(d.low, d.high, count)
        for d in domains
    ]
    y = np.asarray(rule(*columns), dtype=float)
    X = np.stack(columns, axis=1).astype(float)
    names = variables[: len(domains)]
    return prepare(X, y, variables=names, domains=domains, tolerance=1e-6, effort=60.0)


def alone(names: set[str], problem: Problem) -> Candidate | None:
    """What the named stages find, without any other."""

    def chosen(part: Problem) -> list[Stage]:
        return [stage for stage in stages_for(part) if stage.name in names]

    collector = Collector(problem)
    Search(problem, collector, chosen).run()
    return collector.exact


def text(candidate: Candidate | None) -> str:
    return formula(candidate.expr, lambda v: v.name + (str(v.lag) if v.lag else "")) if candidate else "-"


#: One formula for every stage.
CASES: dict[str, tuple[Rule, tuple[Domain, ...], str]] = {
    "cells": (
        lambda a, b: (b > np.clip(a, -1, 0.5)) * 1,
        (REAL,) * 2,
        "max([b > 0.5], [b > -1] - [a > b])",
    ),
    "linear": (lambda a, b, c: 0.3 * a - 2 * c + 1, (REAL,) * 3, "0.3*a + 1 - 2*c"),
    "extrema of many": (
        lambda *v: np.max(v, axis=0),
        (REAL,) * 6,
        "max(max(max(max(max(a, b), c), d), e), f)",
    ),
    "largest of several": (
        lambda a, b, c: np.where(b <= np.minimum(a, c), 5, np.where(c <= a, 2, 7)),
        (DIGITS,) * 3,
        "5 if b <= min(c, a) else 2 if c <= a else 7",
    ),
    "small trees": (lambda a, b: abs(a - b), (DIGITS,) * 2, "abs(a - b)"),
    "tests and remainders of sums": (
        lambda a, b, c: (a + 3 * b + c) % 11,
        (DIGITS,) * 3,
        "(a + c + 3*b) % 11",
    ),
    "trees of 5 nodes": (lambda a, b, c: np.maximum(a * b, c), (REAL,) * 3, "max(c, a*b)"),
    "comparisons of trees": (lambda a, b, c, d: (a * b > c * d) * 1, (DIGITS,) * 4, "[a*b > c*d]"),
    "thresholds of sums": (
        lambda a, b, c: a - 0.8 * b + c > 1.3,
        (REAL,) * 3,
        "[a + c - 0.8*b > 1.3]",
    ),
    "carries": (
        lambda a, b, c, d: (a + b + (c > d)) % 10,
        (DIGITS,) * 4,
        "(a + b + [c > d]) % 10",
    ),
    "decomposition": (
        lambda a, b, c: np.clip((a - b) % 7 + c, 2, 6),
        (integers(0, 6),) * 3,
        "clip(c + (a - b) % 7, 2, 6)",
    ),
    "extrema of two": (lambda a, b: np.minimum(a % 3, b // 2), (DIGITS,) * 2, "min(a % 3, b // 2)"),
    "planes": (
        lambda a, b: np.maximum(0.7 * a - b, 0.2 * b + 0.4),
        (REAL,) * 2,
        "max(0.2*b + 0.4, 0.7*a - b)",
    ),
    "regions": (
        lambda a, b, c: np.where(a + b > 0.5, c, a - b),
        (REAL,) * 3,
        "c if a + b > 0.5 else a - b",
    ),
    "products beside linear": (
        lambda a, b, c: 2 * a - b + 0.1 - c * (a - b),
        (REAL,) * 3,
        "2*a + 0.1 - c*(a - b) - b",
    ),
    "pairs beside linear": (
        lambda a, b, c: a - 3 * b + abs(c) + a * b,
        (REAL,) * 3,
        "abs(c) + a*b + a - 3*b",
    ),
    "families": (lambda a: 1.5 * np.exp(0.7 * a) + 1, (REAL,), "1.5*exp(0.7*a) + 1"),
    "branches": (
        lambda a, b: np.where(b > a, b % 4, np.where(a == 7, 3, 2 * a)),
        (DIGITS,) * 2,
        "(3 if a == 7 else 2*a) if a >= b else b % 4",
    ),
    "trees of 6 nodes": (
        lambda a, b, c: abs(c - np.maximum(a, b)) % 4,
        (DIGITS,) * 3,
        "abs(c - max(a, b)) % 4",
    ),
    "table": (
        lambda a: np.array([3, 1, 4, 1, 5])[a],
        (SMALL,),
        "3 if a == 0 else 4 if a == 2 else 5 if a == 4 else 1",
    ),
    "order statistics": (
        lambda *v: v[0] - 2 * np.median(v, axis=0),
        (DIGITS,) * 5,
        "a - 2*median(a, b, c, d, e)",
    ),
    "windows": (
        lambda *v: np.max(v, axis=0) - np.min(v, axis=0),
        (DIGITS,) * 4,
        "max(max(max(x, x1), x2), x3) - min(min(min(x, x1), x2), x3)",
    ),
    "special values": (lambda a, b: np.clip(a * b + 0.5, -1, 2), (REAL,) * 2, "clip(a*b + 0.5, -1, 2)"),
    "sums of trees": (
        lambda a, b: np.sqrt(np.maximum(a, b)) * (b + np.sqrt(a)),
        (POSITIVE,) * 2,
        "sqrt(max(a, b))*(b + sqrt(a))",
    ),
}
#: Stages that work with what others made.
HELPERS = {
    "trees of 5 nodes": {"small trees"},
    "trees of 6 nodes": {"small trees", "trees of 5 nodes"},
    "sums of trees": {"small trees", "trees of 5 nodes"},
    "special values": {"trees of 5 nodes", "small trees"},
    "windows": {"small trees"},
    "comparisons of trees": {"small trees"},
    "branches": {"small trees"},
    "cells": {"small trees", "trees of 5 nodes"},
    "decomposition": {"linear"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_stage_alone_finds_its_formula(name: str) -> None:
    rule, domains, expected = CASES[name]
    variables = tuple(Var("x", lag) for lag in range(6)) if name == "windows" else LETTERS
    problem = problem_of(rule, domains, variables)
    helpers = HELPERS.get(name, set())
    if helpers:
        assert alone(helpers, problem) is None
    found = alone({name, *helpers}, problem)
    assert text(found) == expected


def test_every_stage_has_its_case() -> None:
    kinds = [
        (lambda *v: v[0] > 2, (DIGITS,) * 4),
        (lambda *v: v[0] * 0.5, (REAL,) * 4),
        (lambda *v: v[0] > 2, (REAL,) * 4),
    ]
    variables = (*LETTERS[:3], Var("a", 1))
    names = {
        stage.name for rule, domains in kinds for stage in stages_for(problem_of(rule, domains, variables))
    }
    assert names == set(CASES)


def test_a_step_towards_a_level_reads_the_level_that_it_is_added_to() -> None:
    names = (Var("x"), Var("y", 1))
    domains = (integers(0, 3), integers(-2, 19))
    problem = problem_of(lambda x, y: y + np.clip(7 * x - 2 - y, -1, 1), domains, names)
    (peeled,) = peelings(problem)
    assert peeled.terms == ((1, names[1]),)
    assert peeled.problem.variables == names
    assert set(peeled.problem.y) == {-1, 0, 1}


def test_two_windows_at_once() -> None:
    one, other = (tuple(Var(name, lag) for lag in range(4)) for name in "xz")

    def rule(*values: np.ndarray) -> np.ndarray:
        return np.max(values[:4], axis=0) > np.max(values[4:], axis=0)

    problem = problem_of(rule, (DIGITS,) * 8, (*one, *other))
    sides = [reduce(lambda left, right: op("max", left, right), part) for part in (one, other)]
    expected: Expr = op("gt", *sides)
    found = alone({"windows", "small trees"}, problem)
    assert found is not None
    assert found.expr in (expected, op("lt", sides[1], sides[0]))


def test_groups_of_many_variables_are_as_many_as_there_is_room_for() -> None:
    names = tuple(Var("x", lag) for lag in range(30))
    tests = extreme_tests(problem_of(lambda *v: v[0], (REAL,) * 30, names, 50))
    assert len(tests) == 640
    assert op("gt", names[0], reduce(lambda left, right: op("max", left, right), names[1:])) in tests.exprs
