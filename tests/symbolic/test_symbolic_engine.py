"""The front, the pick, the order of preference, and what surrounds them."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.errors import InputError
from weights2code.language import Const, Expr, Var, op, where
from weights2code.simplify.forms import tidied
from weights2code.symbolic.engine import Candidate, front_of, number_cost, pick, preference
from weights2code.symbolic.engines.infix import parse_infix
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.operator_names import operator_set
from weights2code.symbolic.search.noise_floor import is_white

a, b = Var("a"), Var("b")


def candidate(expr: Expr, rmse: float, *, exact: bool = False) -> Candidate:
    return Candidate(expr, expr.size(), 2 * rmse, rmse, exact=exact)


def test_front_is_ordered_and_strictly_better() -> None:
    front = front_of(
        [candidate(a + b, 0.1), candidate(a, 0.5), candidate(a + b + 1, 0.2), candidate(a * b - b, 0.01)]
    )
    assert [c.expr for c in front] == [a, a + b, a * b - b]
    assert front[0].score == 0
    assert front[2].score == pytest.approx(2 * np.log(10) / 2)


def test_pick_takes_the_simplest_exact_one() -> None:
    front = (candidate(a, 0.5), candidate(a + b, 1e-9, exact=True), candidate(a + b + 1, 1e-12, exact=True))
    assert pick(front).expr == a + b
    assert pick(front, tolerance=1.1).expr == a


def test_pick_without_exact_takes_the_best_score_near_the_best() -> None:
    front = front_of([candidate(a, 1.0), candidate(a + b, 0.011), candidate(a + b + 1, 0.01)])
    assert pick(front).expr == a + b
    with pytest.raises(ValueError, match="empty"):
        pick(())


def test_preference_on_bits() -> None:
    xors = [a + b - 2 * a * b, (a + b) % 2, abs(a - b), op("ne", a, b)]
    assert sorted(xors, key=preference) == xors[::-1]
    assert preference((a + b) % 2) < preference(where(a, a, b) * b)


def test_number_cost_orders_numbers_as_people_would() -> None:
    numbers = [0, 1, 2, 0.5, 0.098, 0.0983]
    assert sorted(numbers, key=number_cost) == numbers


@pytest.mark.parametrize(
    ("terms", "constant", "text"),
    [
        ([(2, a), (-1, b)], 0.098, "2*a[t] - b[t] + 0.098"),
        ([(0.5, a), (0.5, b)], 0, "0.5*(a[t] + b[t])"),
        ([(-1, a)], 3, "3 - a[t]"),
        ([(-2, a), (-2, b)], 0, "-2*(a[t] + b[t])"),
        ([], 0, "0"),
        ([(0, a)], -1, "-1"),
    ],
)
def test_weighted_sum(terms: list[tuple[float, Expr]], constant: float, text: str) -> None:
    assert str(weighted_sum(terms, constant)) == text


def test_tidying_removes_what_says_nothing() -> None:
    assert tidied(1 * a + 0) == a
    assert tidied(a - Const(-2)) == a + 2
    assert tidied(op("le", 3, a)) == op("ge", a, 3)


def test_infix_reads_what_engines_write() -> None:
    names = {"v0": a, "v1": b}
    assert parse_infix("(1.5 + ((-2.0) * max(v0, v1)))", names) == 1.5 + Const(-2) * op("max", a, b)
    assert parse_infix("v0 ^ 2", names) == a**2
    assert parse_infix("square(v0)", names) == a * a
    assert parse_infix("cond(v0, v1)", names) == op("gt", a, 0) * b
    for bad in ("__import__('os')", "v9 + 1", "v0[t]", "lambda: v0", "v0.real", "gamma(v0)", "1 +"):
        with pytest.raises(ValueError, match=r"formula|word"):
            parse_infix(bad, names)


def test_operator_names() -> None:
    assert operator_set(None) is None
    assert operator_set(["relu", "clamp", "cond", "logical_and", "greater"]) == {
        "relu",
        "clip",
        "where",
        "and",
        "gt",
        "lt",
    }
    with pytest.raises(InputError, match="did you mean 'relu'"):
        operator_set(["rleu"])
    with pytest.raises(InputError, match="list of names"):
        operator_set("relu")


def test_whiteness() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 2))
    assert is_white(X, rng.normal(size=500))
    assert not is_white(X, 0.01 * np.sin(4 * X[:, 0]) * X[:, 1])
    assert not is_white(X, np.r_[np.zeros(499), 1.0])
