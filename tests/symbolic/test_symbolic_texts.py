"""Choices among texts and numbers: lists of rules, tables, formulas beside them, found on rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.language import Domain, Expr, Recurrence, Step, Var, compile_numpy, integers, reals, texts
from weights2code.language.categories import speaks, spoken
from weights2code.language.formula_reading import read_formula
from weights2code.simplify import simplify
from weights2code.symbolic.over_texts import as_choices, rule_list, search_over_texts, table_list
from weights2code.symbolic.search.table import Table

EVENT, STATE = texts(("close", "lock", "open", "push", "unlock")), texts(("closed", "locked", "open"))
ON, MARKS, DIGITS = texts(("off", "on")), integers(0, 100), integers(0, 9)
A, B, C, PQ = texts("abcde"), texts("pqrs"), texts("abc"), texts("pq")
DOOR = (
    "3 if (event[t] == 3 or event[t] == 4) and y[t-1] == 1 else 1 if (event[t] == 1 or event[t] == 4) and "
    "y[t-1] == 3 else 2 if event[t] == 2 and y[t-1] == 1 else 1 if event[t] == 5 and y[t-1] == 2 else y[t-1]"
)


def many(count: int) -> Domain:
    return texts([f"{i:03}" for i in range(count)])


def drawn(domains: list[Domain], count: int = 3000) -> np.ndarray:
    """All rows of a small table, or so many; reals of one digit."""
    if all(domain.discrete and domain.high < 9 for domain in domains):
        return np.array(list(product(*(domain.values() for domain in domains))), float)
    rng = np.random.default_rng(0)
    columns = [
        rng.integers(int(d.low), int(d.high) + 1, count)
        if d.discrete
        else rng.uniform(d.low, d.high, count).round(1)
        for d in domains
    ]
    return np.stack(columns, 1).astype(float)


def values(expr: Expr, variables: tuple[Var, ...], rows: np.ndarray) -> np.ndarray:
    return np.broadcast_to(compile_numpy(expr, variables)(*rows.T), len(rows)).astype(float)


def as_text(expr: Expr, domains: dict[Var, Domain], answer: Domain) -> str:
    names = {v.name: domain.categories or () for v, domain in domains.items()} | {
        "y": answer.categories or ()
    }
    made = Recurrence(tuple(name for name in names if name != "y"), (Step("y", expr),), ("y",))
    return str(spoken(made, names)[0].steps[0].definition)


#: What is true in the numbers of texts, the domains of what is read and of the answer, what the list must say
#: in the texts themselves, and the nodes that it has at most.
LISTS: dict[str, tuple[str, dict[str, Domain], Domain, str, int]] = {
    "a door": (DOOR, {"event": EVENT, "y": STATE}, STATE, "else y[t-1]", 45),
    "thresholds": ("2 if x[t] < 18 else 1 if x[t] > 22 else y[t-1]", {"x": reals(10, 30), "y": ON}, ON,
                   '"off" if x[t] > 22 else "on" if x[t] < 18 else y[t-1]', 11),
    "the last asks for nothing": ("a[t] + b[t] < 15 if way[t] == 1 else b[t] - a[t] < 15",
                                  {"a": DIGITS, "b": integers(0, 39), "way": ON}, integers(0, 1),
                                  '[a[t] + b[t] < 15 or way[t] == "on" and a[t] >= b[t] - 14]', 30),
    "either": ("2 if kind[t] == 2 else 3 if heat[t] >= 39.5 or age[t] >= 80 else 1",
               {"heat": reals(36, 41), "age": integers(1, 95), "kind": C}, texts(("green", "red", "yellow")),
               '"yellow" if heat[t] >= 39.5 or age[t] >= 80 else "green"', 20),
    "compared": ("1 if a[t] > b[t] else y[t-1]", {"a": integers(0, 19), "b": integers(0, 19), "y": ON}, ON,
                 '"off" if a[t] > b[t] else y[t-1]', 6),
    "the same or not": ("2 if a[t] == b[t] else 1", {"a": C, "b": C}, texts(("no", "yes")),
                        '"yes" if a[t] == b[t] else "no"', 6),
    "of many texts": ("2 if a[t] == 11 or (b[t] == 5 and n[t] > 20) else 3 if a[t] == 7 and b[t] == 3 else 1",
                      {"a": many(40), "b": many(30), "key": many(200), "n": reals(0, 50)}, C, "", 25),
}  # fmt: skip


def case(truth: str, given: dict[str, Domain]) -> tuple[dict[Var, Domain], np.ndarray, np.ndarray]:
    domains = {Var(name, int(name == "y")): domain for name, domain in given.items()}
    rows = drawn([*domains.values()])
    return domains, rows, values(read_formula(truth), tuple(domains), rows)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_rules(name: str):
    truth, given, answer, said, longest = LISTS[name]
    domains, rows, target = case(truth, given)
    found = rule_list(Table(tuple(domains), tuple(domains.values()), rows), target, answer)
    assert found is not None
    assert np.array_equal(values(found, tuple(domains), rows), target)
    assert found.size() <= longest
    assert said in as_text(simplify(found, domains), domains, answer)


FORMULAS: dict[str, tuple[str, dict[str, Domain], Domain, str, int]] = {
    "numbers from texts": ("n[t] if k[t] == 1 else -n[t] if k[t] == 2 else 0", {"k": C, "n": integers(0, 29)},
                           integers(-29, 29), "", 13),
    "a text adds": ("3*n[t] + 5*(k[t] == 3)", {"k": C, "n": integers(0, 29)}, integers(0, 92), "", 9),
    "both": ("k[t] == 2 and n[t] > 10", {"k": C, "n": integers(0, 29)}, integers(0, 1), "", 7),
    "three formulas": ("2*n[t] if k[t] == 1 else 3*n[t] + 1 if k[t] == 2 else 40",
                       {"k": C, "n": integers(0, 29)}, integers(0, 88), "", 23),
    "beyond those that are asked for": ("n[t] + 7*(k[t] == 5) + 3*(k[t] == 20)",
                                        {"k": many(35), "n": integers(0, 29)}, integers(0, 36), "", 15),
    "grades": ("1 + (2*a[t] + 3*b[t] >= 200) + (2*a[t] + 3*b[t] >= 300)", {"a": MARKS, "b": MARKS},
               texts(("fail", "good", "pass")), "2*a[t] + 3*b[t]", 30),
    "even and odd": ("1 + a[t] % 2", {"a": MARKS, "b": MARKS}, texts(("even", "odd")), "a[t] % 2", 9),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_what_no_list_of_thresholds_says(name: str):
    truth, given, answer, said, longest = FORMULAS[name]
    domains, rows, target = case(truth, given)
    front = search_over_texts(
        rows, target, variables=tuple(domains), domains=tuple(domains.values()), answer=answer,
        tolerance=1e-6, effort=2.0,
    )  # fmt: skip
    best = next(candidate for candidate in front if candidate.exact)
    assert np.array_equal(values(best.expr, tuple(domains), rows), target)
    assert best.complexity <= longest
    assert said in as_text(best.expr, domains, answer)
    known = {v.name: domain.categories for v, domain in domains.items() if domain.categories}
    inputs = tuple(v.name for v in domains)
    assert speaks(Recurrence(inputs, (Step("y", best.expr),), ("y",)), known | {"y": answer.categories or ()})


def test_numbers_beside_the_tests_of_a_text_are_those_of_the_texts():
    size: Any = Var("size")
    weight = Var("weight")
    rows = np.array(list(product((1, 2, 3), range(5))), float)
    table = Table((size,), (texts("LMS"),), rows[:, :1])
    total = weight + 4.25 * size.equals(1.0) + 1.25 * size.equals(2.0) + 4.75 - 0.75 * size.equals(3.0)
    found = as_choices(total, table)
    assert np.array_equal(values(found, (size, weight), rows), values(total, (size, weight), rows))
    assert as_text(found, {size: texts("LMS"), weight: DIGITS}, DIGITS) == (
        '(9 if size[t] == "L" else 6 if size[t] == "M" else 4) + weight[t]'
    )
    one = weight + 2 * size.equals(2.0)
    assert as_choices(one, table) == one  # a test stays a test


@settings(max_examples=15)
@given(st.lists(st.integers(1, 4), min_size=20, max_size=20), st.booleans())
def test_every_table_has_a_list_unless_its_rows_contradict_each_other(outputs: list[int], numbers: bool):
    variables, target = (Var("x"), Var("y", 1)), np.array(outputs, float)
    rows = drawn([A, B])
    table = Table(variables, (integers(1, 5), integers(1, 4)) if numbers else (A, B), rows)
    found = table_list(table, target) if numbers else rule_list(table, target, B)
    assert found is not None
    assert np.array_equal(values(found, variables, rows), target)
    twice = Table((Var("x"),), (PQ,), np.array([[1.0], [1.0], [2.0]]))
    assert rule_list(twice, np.array([1.0, 2.0, 1.0]), PQ) is None
