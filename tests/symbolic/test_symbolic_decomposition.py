"""Functional decomposition: which variables act through few levels, and formulas that tell those apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import Domain, Var, formula, integers
from weights2code.symbolic.decomposition.outer_steps import outer_steps
from weights2code.symbolic.decomposition.peeling import peelings
from weights2code.symbolic.decomposition.separators import separators
from weights2code.symbolic.decomposition.splits import Split, outermost, splits
from weights2code.symbolic.decomposition.stage import without_idle
from weights2code.symbolic.search.rows import Problem, prepare

A, B, C, D = (Var(name) for name in "abcd")
DAY = integers(0, 6)


def everything(
    rule: Callable[..., np.ndarray],
    domains: tuple[Domain, ...],
    variables: tuple[Var, ...],
    share: float = 1.0,
) -> Problem:
    """All rows of the domains, or a share of them."""
    X = np.array(list(itertools.product(*(range(int(d.low), int(d.high) + 1) for d in domains))), dtype=float)
    X = X[np.random.default_rng(0).random(len(X)) <= share]
    y = np.asarray(rule(*X.T), dtype=float)
    return prepare(X, y, variables=variables, domains=domains, tolerance=0.4, effort=20.0)


def split_of(problem: Problem, inner: tuple[int, ...], shared: tuple[int, ...] = ()) -> Split | None:
    return next((s for s in splits(problem) if (s.inner, s.shared) == (inner, shared)), None)


def text(problem: Problem, split: Split | None) -> list[str]:
    assert split is not None
    return [formula(s.expr, lambda v: v.name) for s in separators(problem, split, 2.0, 3)]


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_rows_that_no_context_tells_apart_share_a_class(share: float) -> None:
    problem = everything(lambda a, b, c: np.maximum((a - b) % 7, c), (DAY,) * 3, (A, B, C), share)
    split = split_of(problem, (0, 1))
    assert split is not None
    remainder = (split.rows[:, 0] - split.rows[:, 1]) % 7
    same = remainder[:, None] == remainder[None]
    assert not split.conflicts[same].any()
    if share == 1.0:
        assert np.array_equal(split.labels[:, None] == split.labels[None], same)
    assert "(a - b) % 7" in text(problem, split)


def test_a_function_without_structure_is_not_split() -> None:
    values = np.random.default_rng(1).integers(0, 5, (7, 7, 7))
    problem = everything(
        lambda a, b, c: values[a.astype(int), b.astype(int), c.astype(int)], (DAY,) * 3, (A, B, C)
    )
    assert splits(problem) == []


def test_a_variable_may_be_read_directly_too() -> None:
    problem = everything(lambda a, b, c: np.where((a - b) % 4 > 1, c, -1) + 10 * a, (DAY,) * 3, (A, B, C))
    found = text(problem, split_of(problem, (0, 1), (0,)))
    assert found[0] == "[(a - b) % 4 > 1]"


def test_all_variables_at_once() -> None:
    problem = everything(
        lambda a, b: np.array([3, 0, 4, 1])[((a * b + a + b) % 4).astype(int)], (DAY,) * 2, (A, B)
    )
    assert text(problem, outermost(problem))[0] == "(a*b + a + b) % 4"


def outer_of(problem: Problem) -> list[tuple[tuple[str, ...], str]]:
    """The variables of what each last step leaves, and y made of it."""
    rests = [Var("r"), Var("q")]
    return [
        (
            tuple(v.name for v in step.problems[0].variables),
            formula(step.whole(*rests[: len(step.problems)]), lambda v: v.name),
        )
        for step in outer_steps(problem, 1.0)
    ]


def test_a_variable_that_bounds_y_is_taken_off() -> None:
    problem = everything(lambda a, b, c: np.maximum(a - 1, (b * c) % 5), (DAY,) * 3, (A, B, C))
    assert (("b", "c"), "max(a - 1, r)") in outer_of(problem)


def test_a_choice_between_two_values_is_a_test() -> None:
    problem = everything(lambda a, b, c: np.where((a * b + c) % 3 == 1, a, c), (DAY,) * 3, (A, B, C))
    assert outer_of(problem) == [(("a", "b", "c"), "a if r else c")]


def test_what_sets_a_kept_value_does_not_read_it() -> None:
    problem = everything(
        lambda a, b, c: np.select([a * b > 20, a + b < 4], [1, -1], default=c),
        (integers(0, 13), integers(0, 13), integers(-1, 1)),
        (A, B, C),
    )
    assert (("a", "b"), "1 if r else -1 if q else c") in outer_of(problem)


def test_nothing_is_taken_off_that_the_rows_contradict() -> None:
    problem = everything(lambda a, b, c: (a * b * b + c * c * a) % 7, (DAY,) * 3, (A, B, C))
    assert outer_of(problem) == []


def test_operators_that_change_nothing_are_left_out() -> None:
    problem = everything(lambda a, b: (a + b) % 3, (DAY,) * 2, (A, B))
    assert without_idle(problem, (A % 3 + B % 3) % 3) == (A + B) % 3


def test_what_y_is_the_larger_of_is_seen_where_it_is_larger() -> None:
    x = Var("x"), Var("x", 1), Var("x", 2)
    problem = everything(
        lambda y, *x: np.maximum(y, x[0] ** 2 - 2 * x[1] ** 2 + x[2] ** 2),
        (integers(-18, 18), *[integers(0, 3)] * 3),
        (Var("y", 1), *x),
    )
    (found,) = [peeled for peeled in peelings(problem) if peeled.beside is not None]
    assert found.beside == ("max", Var("y", 1))
    assert found.problem.variables == x
    assert formula(found.whole(x[0])) == "max(y[t-1], x[t])"


def test_a_variable_that_y_passes_on_both_sides_bounds_nothing() -> None:
    problem = everything(lambda a, b: np.where(b > 3, a + 1, a - 1), (DAY, DAY), (A, B))
    assert all(peeled.beside is None for peeled in peelings(problem))
