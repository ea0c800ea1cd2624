"""One function at several lags: formulas that take the place of their variables, and what stays beside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import Domain, Var, formula, integers
from weights2code.symbolic.decomposition.copies import Copied, copied
from weights2code.symbolic.search.rows import prepare

A, B, C = (Var(name) for name in "abc")
A1, B1, C1 = (Var(name, 1) for name in "abc")
DIGIT, SIGNED = integers(0, 9), integers(-6, 6)


def found(rule: Callable[..., np.ndarray], variables: tuple[Var, ...], domain: Domain) -> list[Copied]:
    rng = np.random.default_rng(0)
    X = rng.integers(int(domain.low), int(domain.high) + 1, (30_000, len(variables))).astype(float)
    domains = (domain,) * len(variables)
    y = np.asarray(rule(*X.T), dtype=float)
    return copied(prepare(X, y, variables=variables, domains=domains, tolerance=0.4, effort=20.0))


def texts(copies: list[Copied]) -> list[str]:
    return [formula(copy.exprs[0]) for copy in copies]


def test_a_variable_of_the_function_may_be_read_beside_it() -> None:
    copies = found(
        lambda a, b, a1, b1: np.maximum((a + 3 * b) % 7, (a1 + 3 * b1) % 7) > b, (A, B, A1, B1), DIGIT
    )
    assert "(a[t] + 3*b[t]) % 7" in texts(copies)
    assert copies[0].gone == {A, A1, B1}


def test_sums_of_three_that_few_pairs_of_rows_tell_apart() -> None:
    copies = found(
        lambda a, b, c, a1, b1, c1: np.maximum(a + 3 * c - b, 0) > np.maximum(a1 + 3 * c1 - b1, 0),
        (A, B, C, A1, B1, C1),
        SIGNED,
    )
    assert texts(copies) == ["a[t] + 3*c[t] - b[t]"]
    assert copies[0].gone == {A, B, C, A1, B1, C1}


@pytest.mark.parametrize("domain", [DIGIT, SIGNED])
def test_rows_of_chance_have_no_such_function(domain: Domain) -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 5, (13,) * 4)
    assert not found(
        lambda *rows: table[tuple((row + 6).astype(int) % 13 for row in rows)], (A, B, A1, B1), domain
    )
