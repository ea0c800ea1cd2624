"""The native engine: the shortest formula of a function, from its rows alone, and what it must not say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from weights2code.language import BITS, Domain, Expr, Op, Var, evaluate, formula, integers, reals
from weights2code.language.formula_reading import read_formula
from weights2code.symbolic import NativeEngine, SymbolicRegressor
from weights2code.symbolic.engine import Candidate, pick
from weights2code.symbolic.relu_readoff import piecewise_readoff

DIGITS, SMALL, REAL, UNIT = integers(0, 9), integers(0, 4), reals(-2, 2), reals(-1, 1)
WIDE, TENS = reals(-5, 5), integers(0, 60)
SUM_OF_GRADES = " + ".join(f"(0.4*a + 0.6*b >= {border})" for border in (50, 60, 70, 80, 90))

Domains = Domain | tuple[Domain, ...]
#: A function (`a1` is the value of a before), the domains of what it reads, and the nodes of its shortest
#: form, where that is not as long as it is written here.
CASES: list[tuple[str, Domains, int | None]] = [
    ("0*a + 3", DIGITS, 1),
    ("0.3*a + 0.7*b", REAL, None),
    ("abs(a - b)", integers(-100, 99), None),
    ("max(a, b)", REAL, None),
    ("a == b", integers(0, 7), None),
    ("(a + b + c) % 2", BITS, 5),
    ("(a + b) % 15", (integers(0, 14), integers(0, 15)), None),
    ("a % 2 == 0", DIGITS, None),
    ("1 if a > 5 else 0 if a < 2 else b", (DIGITS, BITS), 7),
    ("clip(a + b, 0, 10)", (integers(0, 10), integers(-5, 5)), None),
    ("4.9*a*a", reals(0, 10), None),
    ("2/(a + 1.3)", reals(0, 3), None),
    # one quantity, as a line, a threshold, an interval, a remainder, several thresholds
    ("3 - 2*a*b", (DIGITS, SMALL), None),
    ("a + b > 5", (DIGITS, SMALL), None),
    ("a + b == 5", (DIGITS, SMALL), None),
    ("abs(a - b - 2) <= 1", (DIGITS, SMALL), None),
    ("(a + b + 1) % 5", (DIGITS, SMALL), None),
    ("(a + b) // 3", (DIGITS, SMALL), 8),
    ("(a + b) % 4 == 1", (DIGITS, SMALL), None),
    ("0.5*a*b + 2*b", REAL, None),
    ("a > 0.437", UNIT, None),
    ("4 if a > 30 else 9 if a > 12 else 2", TENS, None),
    ("3 if a > 7 else 0 if a > 4 else 5 if a > 1 else 1", integers(0, 40), 17),
    ("(2*a + 3*b >= 15) + (2*a + 3*b >= 22) + (2*a + 3*b >= 40)", DIGITS, None),
    (SUM_OF_GRADES, integers(0, 100), None),
    # sums, also inside a remainder
    ("2*a - c + 0*b", SMALL, 5),
    ("(3*a + 2*b + 1) % 5", DIGITS, None),
    ("2*max(a, 3) - a*b", DIGITS, None),
    ("2*a*b - c*abs(a)", REAL, None),
    ("max(a, 4) + max(a1, 4)", DIGITS, None),
    # comparisons of sums
    ("a*b > c*c", SMALL, None),
    ("(2*a - b > -1) + (2*a - b > 0.5)", REAL, 16),
    ("2*a - b > 1 if c == 1 else 2*a - b > -1", (REAL, REAL, BITS), None),
    # pieces
    ("max(min(a + 1, b), a - 1)", REAL, None),
    ("a + clip(3*b - 6*a + 2, -1, 1)", (SMALL, DIGITS), 11),
    ("max(b, 2*a + c - 2.5)", REAL, None),
    ("c if 2*a - 3*b > 1 else a", REAL, None),
    ("max(2*a - b, c) if max(2*a - b, c) > 0.5 else 0", REAL, None),
    ("c if (a + b) % 2 == 0 else a*b", SMALL, None),
    ("1 if a > 2.4 else -1 if a < -2.7 else b", (WIDE, integers(-1, 1)), None),
    ("a if b > 0.2 else c", UNIT, None),
    ("a > 3.6 and a < 7", reals(0, 10), None),
    # the last step undone, a quantity in the place of its columns, a column of few remainders, rows parted
    ("clip(a + b, 3, 8)", DIGITS, None),
    ("clip(c + a - b, 0, 9)", DIGITS, None),
    ("(a + b*b % 5) % 6", (integers(0, 5), DIGITS), None),
    ("a + (b*c) % 3", (DIGITS, SMALL, SMALL), None),
    ("(a % 2)*3 + (a1 % 2)*b", (DIGITS, DIGITS, SMALL), None),
    ("(clip(a, 2, 6) > clip(a1, 2, 6))*b + b1", DIGITS, None),
    ("min(a, b)*(4*c + min(a, b))", REAL, 13),
    ("(a % 7 > 3)*b", (TENS, SMALL), None),
    ("4*(a + b > 5) if c == 1 else a*b + 7", SMALL, None),
    ("(a*b) % 6 - 8*(b > 2)", (DIGITS, SMALL), None),
]  # fmt: skip


def read(text: str) -> Expr:
    return read_formula(
        re.sub(r"\b([a-e])(\d?)\b", lambda m: f"{m[1]}[t-{m[2] or 0}]".replace("-0", ""), text)
    )


def variables_of(truth: Expr) -> tuple[Var, ...]:
    return tuple(sorted(truth.variables(), key=lambda variable: (variable.name, variable.lag)))


def sample(domains: tuple[Domain, ...], count: int = 500, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = [
        rng.integers(int(d.low), int(d.high) + 1, count) if d.discrete else rng.uniform(d.low, d.high, count)
        for d in domains
    ]
    return np.stack(drawn, 1).astype(float)


def values(expr: Expr, variables: tuple[Var, ...], rows: np.ndarray) -> np.ndarray:
    return np.broadcast_to(evaluate(expr, dict(zip(variables, rows.T, strict=True))), len(rows)).astype(float)


def found(text: str, given: Domains, noise: Any = 0.0, count: int = 500, **options: Any) -> Candidate:
    """What is picked on rows of the function, and is right on others as well as a threshold can be."""
    truth = read(text)
    variables = variables_of(truth)
    domains = given if isinstance(given, tuple) else (given,) * len(variables)
    rows, fresh = sample(domains, count), sample(domains, 2000, seed=9)
    drawn = np.random.default_rng(1).normal(size=len(rows))
    options = {"effort": 5.0} | options
    front = NativeEngine().search(
        rows, values(truth, variables, rows) + noise * drawn, variables=variables, domains=domains, **options
    )
    best = pick(front)
    wrong = np.abs(values(best.expr, variables, fresh) - values(truth, variables, fresh)) > max(
        1e-6, 3 * noise
    )
    assert wrong.mean() < 0.01, formula(best.expr)
    return best


@pytest.mark.parametrize(("truth", "domains", "nodes"), CASES, ids=[case[0] for case in CASES])
def test_the_shortest_formula(truth: str, domains: Domains, nodes: int | None) -> None:
    best = found(truth, domains)
    assert (best.exact, best.kind) == (True, "formula")
    assert best.complexity <= (nodes or read(truth).size())


def test_leap_years() -> None:
    years = np.arange(1800.0, 2401.0)
    leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    front = NativeEngine().search(
        years[:, None],
        leap.astype(float),
        variables=(Var("a"),),
        domains=(integers(1800, 2400),),
        effort=10.0,
    )
    assert pick(front).exact
    assert pick(front).complexity <= 25


@pytest.mark.parametrize("name", ["max", "min", "+"])
def test_functions_of_wide_windows(name: str) -> None:
    window = [f"{letter}{lag or ''}" for letter in "ab" for lag in range(6)]
    if name == "+":
        for rule in (f"{' + '.join(window)} > 5", f"({' + '.join(window)}) % 2"):
            assert found(rule, BITS).complexity == read(rule).size()
    else:
        rule = f"{name}({', '.join(window)})"
        assert {*found(rule, UNIT, count=600).expr.variables()} == {*read(rule).variables()}


# -- noise and mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "domains"),
    [("0.3*a + 0.7*b", REAL), ("max(a, b)", SMALL), ("abs(a - b)", REAL), ("(a + b) % 3", integers(0, 2))],
)
@pytest.mark.parametrize("told", [True, False])
def test_noise_is_not_fitted(truth: str, domains: Domain, told: bool) -> None:
    best = found(truth, domains, noise=1e-3, tolerance=5e-3 if told else None)
    assert best.complexity == read(truth).size()


def test_what_is_right_after_rounding_gives_the_clean_rule() -> None:
    best = found("(a + b) % 4", integers(0, 3), noise=0.1, tolerance=0.49)
    assert str(best.expr) == "(a[t] + b[t]) % 4"


def test_readings_of_one_value_may_be_noisy_but_not_contradict_each_other() -> None:
    rows = np.repeat(np.arange(5.0), 200)[:, None]
    noisy = 2 * rows[:, 0] + 0.1 * np.random.default_rng(0).normal(size=len(rows))
    model = SymbolicRegressor(time_limit=3).fit(rows, noisy)
    assert (model.equation(), model.candidate().exact) == ("2*x0", True)
    wrong = 2 * rows[:, 0]
    wrong[3] = 7
    for tolerance in (None, 1e-6):
        model = SymbolicRegressor(tolerance=tolerance, time_limit=3).fit(rows, wrong)
        assert not any(candidate.exact for candidate in model.equations_)


@pytest.mark.parametrize("seed", range(3))
def test_never_calls_a_wrong_formula_exact(seed: int) -> None:
    """One output of a rule is changed: whatever is then called exact must give that output too."""
    rng = np.random.default_rng(seed)
    rows = np.array([[i, j] for i in range(6) for j in range(6)], float)
    y = rows.sum(1) % 6
    y[int(rng.integers(len(y)))] += 1
    a, b = variables = Var("a"), Var("b")
    front = NativeEngine().search(rows, y, variables=variables, domains=(integers(0, 5),) * 2, effort=20.0)
    for candidate in front:
        error = float(np.max(np.abs(values(candidate.expr, variables, rows) - y)))
        assert candidate.max_error == pytest.approx(error)
        assert candidate.exact == bool(error <= 1e-6)
    assert pick(front).exact
    assert pick(front).expr != (a + b) % 6


def test_pure_noise_is_not_explained() -> None:
    rows, y = sample((REAL, REAL), 300), np.random.default_rng(8).normal(size=300)
    front = NativeEngine().search(rows, y, variables=(Var("a"), Var("b")), domains=(REAL, REAL), effort=1.0)
    assert not any(candidate.exact for candidate in front)


# -- manners -------------------------------------------------------------------------------------------------


def search(truth: str, domains: tuple[Domain, ...], turned: bool = False, **options: Any) -> Any:
    expr = read(truth)
    variables, rows = variables_of(expr), sample(domains)
    order = np.random.default_rng(5).permutation(len(rows)) if turned else np.arange(len(rows))
    y = values(expr, variables, rows)[order]
    return NativeEngine().search(rows[order], y, variables=variables, domains=domains, **options)


def test_the_same_data_give_the_same_front_in_any_order() -> None:
    one, two = (search("sin(a)*b + 0.1", (REAL, REAL), effort=1.0) for _ in range(2))
    assert one == two
    some, turned = (search("a if b == 1 else 0", (DIGITS, BITS), turned=by) for by in (False, True))
    assert pick(some).expr == pick(turned).expr


def test_limits_are_respected() -> None:
    names = {
        node.name
        for node in pick(search("(a + b) % 2", (BITS, BITS), operators=frozenset({"abs"}))).expr.walk()
        if isinstance(node, Op)
    }
    assert names <= {"add", "sub", "mul", "neg", "abs"}
    short = search("1.6*a - 0.85*b + 0.25*c", (REAL,) * 3, max_complexity=7, effort=1.0)
    assert max(candidate.complexity for candidate in short) <= 7
    assert not any(candidate.exact for candidate in short)
    rough = search("(a*a % 7)*b", (DIGITS, DIGITS), effort=0.001)  # gives what it has
    assert rough
    assert not pick(rough).exact
    real = pick(search("sin(7*a)*a", (REAL,), effort=1.0))
    assert not {"mod", "eq"} & {getattr(node, "name", "") for node in real.expr.walk()}


def test_what_repeats_its_rows_is_labelled() -> None:
    rows, y = np.arange(8.0)[:, None], np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
    chosen = pick(
        NativeEngine().search(rows, y, variables=(Var("a"),), domains=(integers(0, 7),), effort=2.0)
    )
    assert (chosen.exact, chosen.kind) == (True, "piecewise")
    assert np.allclose(values(chosen.expr, (Var("a"),), rows), y, atol=1e-6)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="do not go together"):
        NativeEngine().search(np.zeros((4, 2)), np.zeros(4), variables=(Var("a"),), domains=(BITS,))
    with pytest.raises(ValueError, match="finite"):
        NativeEngine().search(np.full((4, 1), np.nan), np.zeros(4), variables=(Var("a"),), domains=(BITS,))


# -- a network of one layer as it is -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_what_is_read_off_equals_the_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hidden, bias, out = rng.normal(size=(5, 2)), rng.normal(size=5).round(1), rng.normal(size=5).round(1)
    box, variables = np.array([[-1.0, 2.0], [0.0, 1.0]]), (Var("a"), Var("b"))
    hidden[rng.random((5, 2)) < 0.3] = 0.0
    expr = piecewise_readoff(hidden, bias, out, 0.5, box, variables)
    rows = rng.uniform(box[:, 0], box[:, 1], (200, 2))
    network = np.maximum(rows @ hidden.T + bias, 0) @ out + 0.5
    np.testing.assert_allclose(values(expr, variables, rows), network, atol=1e-9)


def test_units_are_decided_on_the_box() -> None:
    weights = np.array([[1.0], [-1.0], [1.0]]), np.array([5.0, -5.0, 0.0]), np.array([2.0, 7.0, 1.0]), 0.5
    expr = piecewise_readoff(*weights, np.array([[-1.0, 1.0]]), (Var("a"),))
    assert str(expr) == "2*a[t] + max(a[t], 0) + 10.5"
    with pytest.raises(ValueError, match="do not go together"):
        piecewise_readoff(*weights, np.zeros((3, 2)), (Var("a"), Var("b")))
