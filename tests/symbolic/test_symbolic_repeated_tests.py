"""One test at several lags, added up: what sums of it say of it, and rules that are found that way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import Domain, Var, integers, reals
from weights2code.symbolic.decomposition.repeated_tests import Combination, combinations, relevant
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.search.rows import prepare


def windows(columns: str, depth: int, domain: Domain, count: int) -> tuple[np.ndarray, tuple[Var, ...]]:
    """Random values of the columns at every lag to a depth."""
    rng = np.random.default_rng(3)
    variables = tuple(Var(name, lag) for name in columns for lag in range(depth + 1))
    shape = (count, len(variables))
    if domain.discrete:
        return rng.integers(int(domain.low), int(domain.high) + 1, shape).astype(float), variables
    return rng.uniform(domain.low, domain.high, shape), variables


def test_extreme_sums_say_what_each_test_was() -> None:
    known = set(Combination((1, 1, 1), (0, 1, 2)).known())
    assert known == {(value, place, value // 3) for value in (0, 3) for place in range(3)}
    difference = set(Combination((1, -1), (0, 2), divisor=6).known())
    assert difference == {(1, 0, 1), (1, 1, 0), (5, 0, 0), (5, 1, 1)}


def test_combinations_have_the_values_of_y_and_no_others() -> None:
    assert {(c.weights, c.divisor) for c in combinations([-1, 0, 1], 1)} == {((1, -1), None), ((1, 1), None)}
    assert [(c.weights, c.divisor) for c in combinations([0, 1, 5], 1)] == [((1, -1), 6)]
    assert {c.scale for c in combinations([3, 5, 7], 2)} == {2}
    assert not list(combinations([0, 1, 4, 9], 3))


def test_variables_that_only_matter_together_are_seen() -> None:
    X, variables = windows("x", 4, reals(-1, 1), 4000)
    y = ((X[:, 0] > 0) != (X[:, 2] > 0)).astype(float) + (X[:, 3] > 0.5)
    problem = prepare(X, y, variables=variables, domains=(reals(-1, 1),) * 5, tolerance=1e-6)
    assert relevant(problem) == {variables[0], variables[2], variables[3]}


def shifted(X: np.ndarray, depth: int, lag: int) -> list[np.ndarray]:
    """The columns so many steps later, as the test that stands there reads them."""
    return [X[:, first + lag :] for first in range(0, X.shape[1], depth + 1)]


@pytest.mark.parametrize(
    ("columns", "depth", "domain", "rule"),
    [
        ("x", 3, reals(-1, 1), lambda s: s(0) + s(1) + s(2)),
        ("x", 6, reals(-1, 1), lambda s: (s(0) - s(2)) % 6),
        ("x", 3, integers(-6, 6), lambda s: 2 * s(0) - 2 * s(2) + 1),
    ],
)
def test_a_sum_of_tests_is_found(
    columns: str, depth: int, domain: Domain, rule: Callable[[Callable[[int], np.ndarray]], np.ndarray]
) -> None:
    X, variables = windows(columns, depth, domain, 20_000)

    def test(lag: int) -> np.ndarray:
        (x,) = shifted(X, depth, lag)
        return (np.minimum(x[:, 0], -0.1) > x[:, 1]).astype(float)

    front = NativeEngine().search(
        X, rule(test), variables=variables, domains=(domain,) * len(variables), tolerance=1e-6, effort=2.0
    )
    assert front[-1].exact
    assert front[-1].kind == "formula"
    assert len(front[-1].expr.variables()) <= 4
