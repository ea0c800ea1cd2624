"""The front, the pick, the order of preference, and how formulas are written and read."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.errors import InputError
from weights2code.language import Const, Expr, Var, op, where
from weights2code.language.formula_reading import read_formula
from weights2code.simplify.forms import tidied
from weights2code.symbolic.engine import Candidate, front_of, pick, preference
from weights2code.symbolic.engines.infix import parse_infix
from weights2code.symbolic.notation import branch, simplest_test, weighted_sum
from weights2code.symbolic.operator_names import operator_set

a, b, x, x1 = Var("a"), Var("b"), Var("x"), Var("x", 1)


def candidate(expr: Expr, rmse: float, *, exact: bool = False) -> Candidate:
    return Candidate(expr, expr.size(), 2 * rmse, rmse, exact=exact)


def test_front_is_ordered_and_strictly_better() -> None:
    front = front_of([candidate(*of) for of in ((a + b, 0.1), (a, 0.5), (a + b + 1, 0.2), (a * b - b, 0.01))])
    assert [c.expr for c in front] == [a, a + b, a * b - b]
    assert front[0].score == 0
    assert front[2].score == pytest.approx(2 * np.log(10) / 2)


def test_the_pick_is_the_simplest_exact_one_or_has_the_best_score_near_the_best() -> None:
    front = (candidate(a, 0.5), candidate(a + b, 1e-9, exact=True), candidate(a + b + 1, 1e-12, exact=True))
    assert pick(front).expr == a + b
    assert pick(front, tolerance=1.1).expr == a
    assert (
        pick(front_of([candidate(a, 1.0), candidate(a + b, 0.011), candidate(a + b + 1, 0.01)])).expr == a + b
    )
    with pytest.raises(ValueError, match="empty"):
        pick(())


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (op("ne", a, b), abs(a - b)),
        (abs(a - b), (a + b) % 2),
        ((a + b) % 2, a + b - 2 * a * b),
        ((a + b) % 2, where(a, a, b) * b),
        # long numbers count for more than a node
        (op("gt", x * x, 0.4), op("gt", abs(x), 0.632455532)),
        (op("gt", abs(x), 0.6), op("gt", x * x, 0.4)),
    ],
)
def test_preference(better: Expr, worse: Expr) -> None:
    assert preference(better) < preference(worse)


# -- notation ------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("found", "written"),
    [
        # branches in their shortest form
        (branch(a > 2, Const(1), Const(0)), "a[t] > 2"),
        (branch(a > 2, Const(0), Const(1)), "a[t] <= 2"),
        (branch(a > 2, x1 + 1, x1), "x[t-1] + (a[t] > 2)"),
        (branch(a > 2, a > b, Const(0)), "a[t] > 2 and a[t] > b[t]"),
        (branch(a > 2, Const(1), a > b), "a[t] > 2 or a[t] > b[t]"),
        (branch(a > 2, a, b), "a[t] if a[t] > 2 else b[t]"),
        # tests are strict on reals unless the data say otherwise
        (simplest_test(x, 0.38, 0.41), "x[t] > 0.4"),
        (simplest_test(x, 0.38, 0.4), "x[t] >= 0.4"),
        (simplest_test(x - x1, -0.1, 0.1), "x[t] > x[t-1]"),
        # what says nothing goes
        (tidied(1 * a + 0), "a[t]"),
        (tidied(a - Const(-2)), "a[t] + 2"),
        (tidied(op("le", 3, a)), "a[t] >= 3"),
    ],
)
def test_what_is_written(found: Expr, written: str) -> None:
    assert found == read_formula(written)


def test_a_test_of_whole_numbers_has_the_simpler_border() -> None:
    assert simplest_test(x, 2, 3, whole=True) in (op("gt", x, 2), op("ge", x, 3))


# -- engines of others ---------------------------------------------------------------------------------------


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
    found = operator_set(["relu", "clamp", "cond", "logical_and", "greater"])
    assert found == {"relu", "clip", "where", "and", "gt", "lt"}
    with pytest.raises(InputError, match="did you mean 'relu'"):
        operator_set(["rleu"])
    with pytest.raises(InputError, match="list of names"):
        operator_set("relu")
