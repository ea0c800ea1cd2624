"""The one engine as a whole, on functions whose shortest form is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import BITS, Domain, Var, evaluate, integers, reals
from weights2code.symbolic.engine import Candidate, pick
from weights2code.symbolic.engines.native import NativeEngine

Rule = Callable[..., np.ndarray]
a, b, c, d = (Var(name) for name in "abcd")
LAGS = (Var("a", 0), Var("a", 1), Var("b", 0), Var("b", 1))
DIGITS, SMALL, REAL = integers(0, 9), integers(0, 4), reals(-2, 2)


def sample(domains: tuple[Domain, ...], count: int = 500, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(int(domain.low), int(domain.high) + 1, count)
        if domain.discrete
        else rng.uniform(domain.low, domain.high, count)
        for domain in domains
    ]
    return np.stack(columns, axis=1).astype(float)


def found(
    rule: Rule, domains: tuple[Domain, ...], variables: tuple[Var, ...] = (a, b, c, d), noise: float = 0.0
) -> Candidate:
    X = sample(domains)
    y = np.asarray(rule(*X.T), dtype=float) + noise * np.random.default_rng(1).normal(size=len(X))
    names = variables[: len(domains)]
    chosen = pick(NativeEngine().search(X, y, variables=names, domains=domains, effort=5.0))
    fresh = sample(domains, seed=9)
    values = np.asarray(evaluate(chosen.expr, dict(zip(names, fresh.T, strict=True))), dtype=float)
    assert np.max(np.abs(values - rule(*fresh.T))) <= max(1e-9, 3 * noise)
    return chosen


# fmt: off
CASES: list[tuple[str, Rule, tuple[Domain, ...], int]] = [
    ("constant", lambda x: 0 * x + 3, (DIGITS,), 1),
    ("average", lambda x, y: 0.3 * x + 0.7 * y, (REAL, REAL), 7),
    ("distance", lambda x, y: abs(x - y), (integers(-100, 99),) * 2, 4),
    ("parity", lambda x, y, z: (x + y + z) % 2, (BITS,) * 3, 7),
    ("remainder", lambda x, y: (x + y) % 15, (integers(0, 14), integers(0, 15)), 5),
    ("hysteresis", lambda x, y: np.where(x > 5, 1, np.where(x < 2, 0, y)), (DIGITS, BITS), 9),
    ("bounds", lambda x, y: np.clip(x + y, 0, 10), (integers(0, 10), integers(-5, 5)), 7),
    ("reciprocal", lambda x: 2 / (x + 1.3), (reals(0, 3),), 5),
    ("inside a remainder", lambda x, y, z: (x + (y * y) % 5) % 6, (integers(0, 5), DIGITS, SMALL), 9),
    ("nested bounds", lambda x, y: np.maximum(np.minimum(x + 1, y), x - 1), (REAL, REAL), 9),
    ("grades", lambda x, y: 1.0 * (2 * x + 3 * y >= 15) + (2 * x + 3 * y >= 22) + (2 * x + 3 * y >= 40),
     (DIGITS, DIGITS), 29),
    ("ordered classes", lambda x: np.where(x > 7, 3, np.where(x > 4, 0, np.where(x > 1, 5, 1))),
     (integers(0, 40),), 17),
    ("mostly one side", lambda x, y: x + np.clip(3 * y - 6 * x + 2, -1, 1), (SMALL, DIGITS), 15),
    ("sum of products", lambda x, y, z: 2 * x * y - z * abs(x), (REAL,) * 3, 10),
]
# fmt: on


@pytest.mark.parametrize(("rule", "domains", "size"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_the_shortest_formula(rule: Rule, domains: tuple[Domain, ...], size: int) -> None:
    chosen = found(rule, domains)
    assert (chosen.exact, chosen.kind) == (True, "formula")
    assert chosen.complexity <= size


def test_one_function_at_two_lags() -> None:
    def rule(x: np.ndarray, x1: np.ndarray, z: np.ndarray, z1: np.ndarray) -> np.ndarray:
        return (np.clip(x, 2, 6) > np.clip(x1, 2, 6)) * z + z1

    assert found(rule, (DIGITS,) * 4, LAGS).exact


@pytest.mark.slow
def test_leap_years() -> None:
    years = np.arange(1800.0, 2401.0)
    y = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    front = NativeEngine().search(
        years[:, None], y.astype(float), variables=(a,), domains=(integers(1800, 2400),), effort=10.0
    )
    assert pick(front).exact
    assert pick(front).complexity <= 25


def test_grades_by_a_weighted_sum() -> None:
    chosen = found(lambda x, y: np.digitize(0.4 * x + 0.6 * y, [50, 60, 70, 80, 90]), (integers(0, 100),) * 2)
    assert chosen.exact


def test_noise_is_not_fitted() -> None:
    assert found(lambda x, y: 0.3 * x + 0.7 * y, (REAL, REAL), noise=1e-3).complexity == 7


def test_the_same_data_give_the_same_front() -> None:
    X = sample((REAL, REAL), 200)
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1
    fronts = [
        NativeEngine().search(X, y, variables=(a, b), domains=(REAL, REAL), effort=1.0) for _ in range(2)
    ]
    assert fronts[0] == fronts[1]


def test_what_is_longer_than_its_table_is_labelled() -> None:
    X, y = np.arange(8.0)[:, None], np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
    chosen = pick(NativeEngine().search(X, y, variables=(a,), domains=(integers(0, 7),), effort=2.0))
    assert chosen.exact
    assert chosen.kind != "formula"


def test_operators_are_respected() -> None:
    X = sample((BITS, BITS), 60)
    front = NativeEngine().search(
        X, (X.sum(axis=1) % 2), variables=(a, b), domains=(BITS, BITS), operators=frozenset({"abs"})
    )
    assert pick(front).exact
    assert str(pick(front).expr) == "abs(a[t] - b[t])"


def test_effort_is_counted_in_work() -> None:
    """A search that is given next to nothing still gives what it has."""
    X = sample((DIGITS, DIGITS), 200)
    rough = NativeEngine().search(
        X, X[:, 0] ** 2 % 7 * X[:, 1], variables=(a, b), domains=(DIGITS, DIGITS), effort=0.001
    )
    assert rough
    assert not pick(rough).exact
