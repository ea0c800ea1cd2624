"""Simplification: known forms are found, values never change, costs never rise; and what it matches with."""

from __future__ import annotations

from fractions import Fraction

import pytest

from weights2code.effort import within
from weights2code.language import (
    BITS,
    Const,
    Domain,
    Expr,
    Var,
    evaluate,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.language.formula_reading import read_formula
from weights2code.simplify import cost, simplify
from weights2code.simplify.equality import check_set
from weights2code.simplify.forms import collect, tidy
from weights2code.simplify.patterns import filled, read_pattern, rewritten
from weights2code.simplify.sums import has_decimals
from weights2code.simplify.table import TABLE, suggestions

x, y, z, a, b, c = Var("x"), Var("y", 1), Var("z"), Var("a"), Var("b"), Var("c")
WIDE, SMALL, REAL = integers(-100, 99), integers(0, 2), reals(-5, 5)
MIXED = {a: BITS, b: integers(-5, 5), c: reals(-5, 5), x: integers(-4, 4)}


def relu(expr):
    return op("relu", expr)


FOUND = [
    # a choice among numbers that is compared
    (where(x > 0.5, where(y > z, 2, 1), 0) > 1, REAL, "[y[t-1] > z[t] and x[t] > 0.5]"),
    (op("lt", where(x > 0.5, 2, where(y > z, 3, 0)), 1), REAL, "[y[t-1] <= z[t] and x[t] <= 0.5]"),
    # neutral elements, like terms, signs
    (x + -2 * y, REAL, "x[t] - 2*y[t-1]"),
    (0.25 * (x - y) + 1.6 * y + 0.1 * y, REAL, "0.25*x[t] + 1.45*y[t-1]"),
    (Const(Fraction(3, 10)) * x + Const(Fraction(7, 10)) * y, REAL, "0.3*x[t] + 0.7*y[t-1]"),
    (Const(Fraction(1, 3)) * x + y, REAL, "x[t]/3 + y[t-1]"),
    (2 * x + 2 * y, REAL, "2*(x[t] + y[t-1])"),
    ((x + 1) * (x - 1) + 1, REAL, "x[t]**2"),
    # maxima, minima, absolute values, clips
    (relu(x - y) + y, WIDE, "max(x[t], y[t-1])"),
    (y - relu(y - x), WIDE, "min(x[t], y[t-1])"),
    (relu(x - y) + relu(y - x), WIDE, "abs(x[t] - y[t-1])"),
    (0.5 * (x + y) + 0.5 * abs(x - y), REAL, "max(x[t], y[t-1])"),
    (minimum(maximum(x, -1), 3), MIXED, "clip(x[t], -1, 3)"),
    (relu(x) - relu(x - 4), REAL, "clip(x[t], 0, 4)"),
    (maximum(x + 1, y + 1), REAL, "max(x[t], y[t-1]) + 1"),
    (minimum(x, 5) + relu(x - 5), WIDE, "x[t]"),
    (abs(y - x), WIDE, "abs(x[t] - y[t-1])"),
    (where(x >= 0, x, -x), WIDE, "abs(x[t])"),
    (where(x > y, x, y), WIDE, "max(x[t], y[t-1])"),
    ((x > 0) * x, MIXED, "max(x[t], 0)"),
    # truth values
    (where(x > y, 1, 0), WIDE, "[x[t] > y[t-1]]"),
    (1 - (x > y), WIDE, "[x[t] <= y[t-1]]"),
    (x - y > 0.5, WIDE, "[x[t] > y[t-1]]"),
    (op("gt", 0, x), WIDE, "[x[t] < 0]"),
    # remainders
    ((x % 3 + y % 3) % 3, WIDE, "(x[t] + y[t-1]) % 3"),
    ((x + 3 * y) % 2, WIDE, "(x[t] + y[t-1]) % 2"),
    # bits: the order of preference
    (x + y - 2 * relu(x + y - 1), BITS, "[x[t] != y[t-1]]"),
    (minimum(x + y, 1), BITS, "[x[t] or y[t-1]]"),
    (relu(x - 3), integers(0, 4), "[x[t] > 3]"),
    ((x + y) % 2, BITS, "[x[t] != y[t-1]]"),
    (1 - (x + y - 2 * x * y), BITS, "[x[t] == y[t-1]]"),
    (x + y - x * y, BITS, "[x[t] or y[t-1]]"),
    (x + y >= 2, BITS, "x[t]*y[t-1]"),
    ((x > 0.5) * 1, BITS, "x[t]"),
    (op("clip", x + y - z, 0, 1), BITS, "[x[t] + y[t-1] > z[t]]"),
    (op("ne", op("ne", x, y), z), BITS, "(x[t] + z[t] + y[t-1]) % 2"),
    (where(x.equals(0), 1 - y, y), BITS, "[x[t] == y[t-1]]"),
    # products of bits are choices
    (b - 2 * a * b, MIXED, "-b[t] if a[t] else b[t]"),
    (c + a * b - a * c, MIXED, "b[t] if a[t] else c[t]"),
    ((x > 1) * 2 - 1, MIXED, "1 if x[t] > 1 else -1"),
    ((x > 1) * (b + 1) - 1, MIXED, "b[t] if x[t] > 1 else -1"),
    (b * op("ne", x, 2) + c * x.equals(2), MIXED, "c[t] if x[t] == 2 else b[t]"),
    ((x > 1) * (c > b), MIXED, "[c[t] > b[t] and x[t] > 1]"),
    ((x > 1) + (c > b) - (x > 1) * (c > b), MIXED, "[c[t] > b[t] or x[t] > 1]"),
    # the domain decides
    (maximum(x, 0), integers(0, 9), "x[t]"),
    (maximum(x, 0), integers(-1, 9), "max(x[t], 0)"),
]


@pytest.mark.parametrize(("expr", "domain", "expected"), FOUND, ids=[str(row[0]) for row in FOUND])
def test_known_forms(expr: Expr, domain: Domain | dict[Var, Domain], expected: str):
    domains = domain if isinstance(domain, dict) else dict.fromkeys((x, y, z), domain)
    assert str(simplify(expr, domains)) == expected


@pytest.mark.parametrize(
    ("formula", "shorter"),
    [
        (2 * a - 3 > 2 * b - 3, "[a[t] > b[t]]"),
        (3 - 2 * a > 3 - 2 * b, "[b[t] > a[t]]"),
        (maximum(3 - 2 * a, 3 - 2 * b), "3 - 2*min(a[t], b[t])"),
        (where(a > b, 0, 1), "[a[t] <= b[t]]"),
        (minimum(x, 4.9) * 2, "2*min(x[t], 4.9)"),
    ],
    ids=str,
)
def test_what_holds_for_all_numbers(formula, shorter):
    assert str(tidy(formula, has_decimals(formula))) == shorter


def test_a_rare_value_is_not_overlooked_on_a_complete_domain():
    short = simplify(x + x.equals(99) * 0.5, {x: integers(0, 99)})
    assert evaluate(short, {x: 99.0}) == 99.5


def test_missing_domain_is_said():
    with pytest.raises(ValueError, match=r"no domain is given for y\[t-1\]"):
        simplify(x + y, {x: BITS})


@pytest.mark.parametrize(
    "forms",
    [[op("ne", x, y), abs(x - y), (x + y) % 2, x + y - 2 * x * y], [x * y, op("and", x, y), minimum(x, y)]],
)
def test_order_of_preference_on_bits(forms):
    assert sorted(forms, key=cost) == forms
    assert cost(1 - x) < cost(op("not", x)) + 1


@pytest.mark.parametrize(
    ("domain", "one", "other", "equal"),
    [
        (REAL, 0.1 * x + 0.2 * x, 0.3 * x, True),  # decimals mean what they print
        (REAL, 0.1 * x + 0.2 * x, 0.3000001 * x, False),
        (integers(-2, 2), (x * x) / x, (x * x) / x, True),  # undefined points do not decide
        (integers(-2, 2), x, (x * x) / x, False),
        (REAL, x > y, x >= y, False),  # ties are among the points
        (WIDE, maximum(x, y), relu(x - y) + y, True),
        (WIDE, maximum(x, y), x, False),
    ],
)
def test_equality_on_points(domain, one, other, equal: bool):
    check = check_set({x: domain, y: domain})
    assert check.equal(one, other) == equal
    assert check.may_equal(one, other) >= equal
    assert not check.may_equal(one, other + 1)


def test_collecting_keeps_infinities():
    form = minimum(x, float("inf"))
    assert collect(form + 0) == form


def test_when_the_time_is_up_a_formula_stays_as_it_is() -> None:
    formula = x + z - 2 * x * z
    with within(-1.0):
        assert simplify(formula, {x: BITS, z: BITS}) == formula


# -- patterns in the language's own words --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("relu(x[t]) - relu(x[t] - 4)", "clip(x[t], 0, 4)"),
        ("y[t] - 3*relu(x[t] - 5) + 3*relu(x[t] - 1)", "y[t] + 3*clip(x[t] - 1, 0, 4)"),
        ("relu(x[t]) - 2*relu(x[t] - 4)", None),
        ("relu(x[t]) + relu(y[t])", None),
    ],
)
def test_a_sum_may_be_part_of_a_longer_one_and_a_multiple(formula: str, found: str | None):
    pattern, form = read_pattern("relu(a) - relu(a - c)"), read_pattern("clip(a, 0, c)")
    forms = {str(made) for made in rewritten(pattern, [form], read_formula(formula), True)}
    assert found in forms if found else not forms


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_every_line_of_the_table_proposes_what_it_says(line):
    """The left side itself, with variables for its letters, has the right side among its suggestions."""
    left, right = (line.replace(" R ", " > ").replace(" S ", " <= ")).split(" -> ")
    numbers = {"c": "2", "d": "5", "p": "(x[t] < 3)", "q": "(y[t] < 3)"}

    def read(text: str) -> Expr:
        pattern = read_pattern(text)
        table = {v: read_formula(numbers.get(v.name, f"{v.name}[t]")) for v in pattern.variables()}
        return pattern.substitute(table)

    proposed = {str(form) for form in suggestions(read(left))}
    bound = {v: read(v.name) for v in read_pattern(left).variables()}
    assert all(str(filled(read_pattern(form), bound, False)) in proposed for form in right.split(" | "))
