"""Intermediate variables as a person would number them, and sums of products of bits as choices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from weights2code.language import (
    BITS,
    Expr,
    Recurrence,
    Start,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.simplify import simplify, simplify_recurrence
from weights2code.simplify.cost import recurrence_cost
from weights2code.simplify.forms import tidied
from weights2code.simplify.numbering import renumbered

x, a, b, c = (Var(name) for name in "xabc")


def rule(inputs: str, start: dict[str, Start] | None = None, **steps: Expr) -> Recurrence:
    made = tuple(Step(name, definition) for name, definition in steps.items())
    return Recurrence(tuple(inputs), made, ("y",), start or {})


def definitions(recurrence: Recurrence, *domains) -> list[str]:
    short = simplify_recurrence(recurrence, domains)
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.integers(d.low, d.high + 1, (50, 20)) for d in domains], axis=-1)
    assert np.allclose(short.run(drawn), recurrence.run(drawn))
    return [str(step.definition) for step in short.steps]


# -- choices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "shorter"),
    [
        (b - 2 * a * b, "-b[t] if a[t] else b[t]"),
        (c + a * b - a * c, "b[t] if a[t] else c[t]"),
        ((x > 0) * x, "max(x[t], 0)"),
        (where(x > 0, x, 0), "max(x[t], 0)"),
        (where(x > 0, x, -x), "abs(x[t])"),
        ((x > 1) * 2 - 1, "1 if x[t] > 1 else -1"),
        ((x > 1) * (b + 1) - 1, "b[t] if x[t] > 1 else -1"),
        (b * op("ne", x, 2) + c * x.equals(2), "c[t] if x[t] == 2 else b[t]"),
        ((x > 1) * (c > b), "[c[t] > b[t] and x[t] > 1]"),
        ((x > 1) + (c > b) - (x > 1) * (c > b), "[c[t] > b[t] or x[t] > 1]"),
        (c + (x > 3) - (x < 2) - (x < 2) * c - (x > 3) * c, "-1 if x[t] < 2 else 1 if x[t] > 3 else c[t]"),
        (minimum(maximum(x, -1), 3), "clip(x[t], -1, 3)"),
        (op("floor", x / 6 + b * 2 / 3), "(4*b[t] + x[t]) // 6"),
    ],
    ids=str,
)
def test_products_of_bits_are_choices(formula, shorter):
    domains = {a: BITS, b: integers(-5, 5), c: reals(-5, 5), x: integers(-4, 4)}
    assert str(simplify(formula, domains)) == shorter


def test_bits_that_differ():
    assert str(simplify(a + b - 2 * a * b, {a: BITS, b: BITS})) == "[a[t] != b[t]]"


# -- numberings ----------------------------------------------------------------------------------------------


def test_a_remainder_that_is_numbered_backwards():
    s, s2 = Var("s"), Var("s", 2)
    disguised = rule("ab", {"s": 3.0}, s=3 - ((a + b) % 7), y=(3 - s) * (3 - s2))
    assert definitions(disguised, integers(0, 6), integers(0, 6)) == ["(a[t] + b[t]) % 7", "s[t]*s[t-2]"]


def test_a_chain_of_variables_with_other_scales():
    """What is taken out of one definition goes on to its readers, up to the output."""
    s, s1, u = Var("s"), Var("s", 1), Var("u")
    disguised = rule("abc", s=4 * a * b - 2 * b, u=minimum(s, s1) * 3 + 1, y=(u - 1) / 6 - c)
    kept = definitions(disguised, BITS, integers(0, 2), integers(-9, 9))
    assert kept == ["b[t] if a[t] else -b[t]", "min(s[t], s[t-1]) - c[t]"]


def test_a_bit_that_is_negated():
    s, s1 = Var("s"), Var("s", 1)
    disguised = rule("ab", {"s": 1.0}, s=where(a > b, 0, 1), y=(1 - s) * a - (1 - s1) * b)
    short = simplify_recurrence(disguised, (integers(0, 5), integers(0, 5)))
    assert str(short.steps[0].definition) == "[a[t] > b[t]]"
    assert not short.start


def test_a_state_that_is_counted_from_elsewhere():
    """s = a - s[t-1] - 3 before 1.5 rests at -1.5: counted from there it has no constant."""
    s, s1 = Var("s"), Var("s", 1)
    disguised = rule("ab", {"s": -1.5}, s=a - s1 - 3, y=where(s + 1.5 > b, s + 1.5, b))
    short = simplify_recurrence(disguised, (integers(0, 3), integers(-6, 6)))
    assert not short.start
    assert recurrence_cost(short) < recurrence_cost(disguised) - 5


def test_an_extremum_keeps_its_infinite_start():
    s, s1 = Var("s"), Var("s", 1)
    disguised = rule("x", {"s": np.inf}, s=3 - maximum(2 * x, 3 - s1), y=(3 - s) / 2 - x)
    short = simplify_recurrence(disguised, (integers(-5, 5),))
    assert list(short.start.values()) == [-np.inf]
    assert definitions(disguised, integers(-5, 5))[0].startswith("max(x[t]")


def test_whole_numbers_stay_whole():
    """Halves would be one sign shorter, but nobody counts in halves."""
    s1 = Var("s", 1)
    short = simplify_recurrence(rule("x", s=s1 + 2 * x - 1, y=Var("s") > 0), (BITS,))
    assert str(short.steps[0].definition).endswith("- 1")


def test_outputs_and_what_lookups_search_keep_their_numbers():
    disguised = rule("x", y=3 - 2 * maximum(x, Var("y", 1)))
    assert definitions(disguised, integers(0, 4)) == ["3 - 2*max(x[t], y[t-1])"]


def test_renumbering_changes_no_output():
    s, s1 = Var("s"), Var("s", 1)
    before = rule("ab", {"s": 2.0}, s=maximum(a - s1, b), y=abs(s - a) + (s1 > b) + s % 3)
    drawn = np.random.default_rng(0).integers(0, 5, (40, 15, 2))
    for alpha, beta in ((-1, 0), (2, 3), (-3, 1)):
        after = renumbered(before, "s", (Fraction(alpha), Fraction(beta)))
        assert np.allclose(after.run(drawn), before.run(drawn))


def test_what_holds_for_all_numbers_is_written_without_a_check():
    assert str(tidied(2 * a - 3 > 2 * b - 3)) == "[a[t] > b[t]]"
    assert str(tidied(3 - 2 * a > 3 - 2 * b)) == "[b[t] > a[t]]"
    assert str(tidied(maximum(3 - 2 * a, 3 - 2 * b))) == "3 - 2*min(a[t], b[t])"
    assert str(tidied(where(a > b, 0, 1))) == "[a[t] <= b[t]]"
    assert str(tidied(minimum(x, 4.9) * 2)) == "2*min(x[t], 4.9)"


@pytest.mark.slow
def test_what_is_read_at_several_lags_keeps_its_line():
    s = Var("s")
    several = rule("ab", s=a + b, y=s - 2 * Var("s", 1) + Var("s", 2))
    assert len(simplify_recurrence(several, (BITS, BITS)).steps) == 2
    assert len(simplify_recurrence(rule("ab", s=a + b, y=s * Var("a", 1)), (BITS, BITS)).steps) == 1
