"""Decisions by thresholds of weighted sums: plain, and in stairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from weights2code.language import Var, formula, infer
from weights2code.symbolic.piecewise.common_direction import Border, Separation, written
from weights2code.symbolic.piecewise.thresholds_of_sums import threshold_stage
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem, prepare

Column = Callable[[np.random.Generator], np.ndarray]
ROWS = 1500
where = np.where


def real(low: float, high: float, decimals: int | None = None) -> Column:
    def column(rng: np.random.Generator) -> np.ndarray:
        values = rng.uniform(low, high, ROWS)
        return values if decimals is None else np.round(values, decimals)

    return column


def whole(low: int, high: int) -> Column:
    return lambda rng: rng.integers(low, high + 1, ROWS).astype(float)


def problem_of(columns: Mapping[str, Column], rule: Callable[..., np.ndarray]) -> Problem:
    rng = np.random.default_rng(0)
    X = np.column_stack([column(rng) for column in columns.values()])
    y = np.asarray(rule(*X.T), dtype=float)
    return prepare(
        X,
        y,
        variables=tuple(Var(name) for name in columns),
        domains=tuple(infer(column) for column in X.T),
        tolerance=1e-6,
        effort=60.0,
    )


def found(problem: Problem) -> str:
    collector = Collector(problem)
    threshold_stage(problem, collector)
    return formula(collector.exact.expr, lambda v: v.name) if collector.exact else "-"


UNIT, BIT, FOUR = real(0, 1), whole(0, 1), whole(0, 3)
CASES: dict[str, tuple[Mapping[str, Column], Callable[..., np.ndarray], str]] = {
    "one threshold": (
        {"x": real(0, 4), "y": real(-2, 2)},
        lambda x, y: x - 0.8 * y > 1.3,
        "[x - 0.8*y > 1.3]",
    ),
    "decimals that are equal but for rounding": (
        {"a": real(0, 1, 2), "b": real(0, 1, 2), "c": real(0, 2, 2)},
        lambda a, b, c: a + b > c,
        "[a + b > c]",
    ),
    "reals and whole numbers": (
        {"a": real(0, 5), "n": whole(0, 9), "k": whole(0, 5)},
        lambda a, n, k: 2.5 * a + n - 3 * k > 1,
        "[2.5*a + n - 3*k > 1]",
    ),
    "stairs": (
        {"a": real(0, 10, 1), "b": real(0, 5, 1)},
        lambda a, b: 1 * (a - b > 3.05) + (a - b > 6.05),
        "[a - b > 3.05] + [a - b > 6.05]",
    ),
    "a sign": (
        {"a": real(0, 10, 1), "b": real(0, 10, 1)},
        lambda a, b: np.sign(a - b),
        "[a > b] - [a < b]",
    ),
    "values out of order": (
        {"a": real(0, 5), "b": real(0, 5)},
        lambda a, b: where(a + 2 * b > 9, 0, where(a + 2 * b > 5, 2, 1)),
        "[a + 2*b <= 9]*([a + 2*b > 5] + 1)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_decision_is_found(name: str) -> None:
    columns, rule, expected = CASES[name]
    assert found(problem_of(columns, rule)) == expected


def test_what_no_sum_separates_is_left_at_once() -> None:
    problem = problem_of({"a": UNIT, "b": UNIT, "m": BIT}, lambda a, b, m: (a - 0.5) * (b - 0.5) > 0)
    before = problem.effort.left
    assert found(problem) == "-"
    assert before - problem.effort.left < 0.1


def test_reals_and_targets_of_many_values_are_no_decisions() -> None:
    columns = {"a": real(0, 20), "b": real(0, 20)}
    assert found(problem_of(columns, lambda a, b: a + 0.5 * b)) == "-"
    assert found(problem_of(columns, lambda a, b: np.floor(a + b))) == "-"


def test_the_widest_gap_separates_every_row_and_none_is_made_up() -> None:
    problem = problem_of({"a": UNIT, "b": UNIT}, lambda a, b: 3 * a - b > 1)
    high = problem.y == 1
    separation = Separation(problem, problem.X, (0, 1), [Border(np.flatnonzero(~high), np.flatnonzero(high))])
    guess = separation.guess()
    assert guess is not None
    weights = separation.widest(guess)
    assert weights is not None
    values = problem.X @ (weights / separation.spread)
    assert values[~high].max() < values[high].min()
    assert separation.simple(weights)[0] == (3, -1)

    flipped = high.copy()
    flipped[np.argmax(values)] = False  # one row on the wrong side is enough
    wrong = Separation(
        problem, problem.X, (0, 1), [Border(np.flatnonzero(~flipped), np.flatnonzero(flipped))]
    )
    assert wrong.widest(guess) is None


def test_proportions_are_written_as_people_do() -> None:
    assert written((2, -1, -1))[0] == (2, -1, -1)
    assert (1, -0.5, -0.5) in written((2, -1, -1))
    assert (0.37, 0.25, -1) in written((37, 25, -100))


def test_a_search_of_many_rows_is_over_with_a_decision_and_not_with_stairs() -> None:
    columns = {"a": FOUR, "b": FOUR, "c": UNIT, "d": BIT}
    decided = problem_of(columns, lambda a, b, c, d: a + b + c - 2 * d > 2.5)
    assert threshold_stage(decided, Collector(decided))
    whole_sum = {"a": FOUR, "b": FOUR, "c": FOUR, "d": FOUR}
    stairs = problem_of(whole_sum, lambda a, b, c, d: np.clip(a + b - c - d, 0, 2))
    collector = Collector(stairs)
    assert not threshold_stage(stairs, collector)  # clip(a + b - c - d, 0, 2) is shorter
    assert collector.exact is not None
