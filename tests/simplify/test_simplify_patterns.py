"""Patterns in the language's own words: what they match, what they say, and that the table can be read."""

from __future__ import annotations

import pytest

from weights2code.language import Expr, Var
from weights2code.language.formula_reading import read_formula
from weights2code.simplify.patterns import filled, matches, read_pattern, rewritten
from weights2code.simplify.table import TABLE, suggestions


def forms(pattern: str, replacement: str, formula: str) -> list[str]:
    found = rewritten(read_pattern(pattern), [read_pattern(replacement)], read_formula(formula), True)
    return [str(form) for form in dict.fromkeys(found)]


@pytest.mark.parametrize(
    ("pattern", "formula", "found"),
    [
        ("max(a, 0)", "max(x[t] + 1, 0)", [{"a": "x[t] + 1"}]),
        ("max(a, 0)", "max(0, x[t])", [{"a": "x[t]"}]),
        ("max(a, a)", "max(x[t], y[t])", []),
        ("a and b", "x[t] and y[t]", [{"a": "x[t]", "b": "y[t]"}, {"a": "y[t]", "b": "x[t]"}]),
        ("relu(a - b)", "relu(x[t] - 2*y[t] + 3)", [{"a": "x[t] + 3", "b": "2*y[t]"}]),
        ("relu(a - b)", "relu(x[t] + y[t])", []),
        ("a + c", "2 + x[t-1]", [{"a": "x[t-1]", "c": "2"}]),
        ("a + c", "x[t] + y[t]", []),
        ("u if p else v", "x[t] if y[t] > 1 else 0", [{"u": "x[t]", "p": "[y[t] > 1]", "v": "0"}]),
        ("u if p else v", "x[t] if y[t] + 1 else 0", []),
        ("a if b else -a", "x[t] - 1 if y[t] else 1 - x[t]", [{"a": "x[t] - 1", "b": "y[t]"}]),
    ],
)
def test_what_letters_stand_for(pattern, formula, found):
    bounds = matches(read_pattern(pattern), read_formula(formula), {})
    assert [{letter.name: str(value) for letter, value in bound.items()} for bound in bounds] == found


def test_a_sum_may_be_part_of_a_longer_one_and_a_multiple():
    rule = "relu(a) - relu(a - c)", "clip(a, 0, c)"
    assert "clip(x[t], 0, 4)" in forms(*rule, "relu(x[t]) - relu(x[t] - 4)")
    assert "y[t] + 3*clip(x[t] - 1, 0, 4)" in forms(*rule, "y[t] - 3*relu(x[t] - 5) + 3*relu(x[t] - 1)")
    assert forms(*rule, "relu(x[t]) - 2*relu(x[t] - 4)") == []
    assert forms(*rule, "relu(x[t]) + relu(y[t])") == []


def test_what_is_filled_in_is_tidied():
    bound: dict[Var, Expr] = {Var("a"): read_formula("x[t] - y[t]"), Var("p"): read_formula("x[t] > y[t]")}
    assert str(filled(read_pattern("relu(-a) + a"), bound, False)) == "x[t] - y[t] + max(y[t] - x[t], 0)"
    assert str(filled(read_pattern("1 if not p else 0"), bound, False)) == "[x[t] <= y[t]]"


def test_a_letter_at_another_time_is_given():
    past: dict[Var, Expr] = {Var("z", 1): Var("s", 1)}
    latest = read_pattern("a if b else z[t-1]")
    assert [*matches(latest, read_formula("x[t] if y[t] else s[t-1]"), past)]
    assert not [*matches(latest, read_formula("x[t] if y[t] else s[t-2]"), past)]


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
