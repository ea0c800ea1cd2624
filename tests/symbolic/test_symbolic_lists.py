"""Lists of rules: choices among texts, found on rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from weights2code.language import Const, Recurrence, Step, Var, compile_numpy, integers, reals, texts
from weights2code.language.categories import speaks, spoken
from weights2code.simplify import simplify
from weights2code.symbolic.over_texts import as_choices, rule_list, search_over_texts
from weights2code.symbolic.search.lists import Part, Rule, shortened
from weights2code.symbolic.search.table import Table

EVENT, STATE = ("close", "lock", "open", "push", "unlock"), ("closed", "locked", "open")
MODE = ("off", "on")
RNG = np.random.default_rng(0)


def as_text(expr, names: dict[str, tuple]) -> str:
    inputs = tuple(name for name in names if name != "y")
    found, _ = spoken(Recurrence(inputs, (Step("y", expr),), ("y",)), names)
    return str(found.steps[0].definition)


def listed(columns, target, variables, domains, answer):
    return rule_list(Table(tuple(variables), tuple(domains), columns), target, answer)


def right(expr, variables, columns, target) -> bool:
    return bool(
        np.array_equal(np.broadcast_to(compile_numpy(expr, variables)(*columns.T), len(target)), target)
    )


def test_a_door():
    after = {
        ("open", "closed"): "open", ("close", "open"): "closed", ("lock", "closed"): "locked",
        ("unlock", "locked"): "closed", ("push", "open"): "closed", ("push", "closed"): "open",
    }  # fmt: skip
    pairs = list(product(EVENT, STATE))
    columns = np.array([(EVENT.index(e) + 1, STATE.index(s) + 1) for e, s in pairs], float)
    target = np.array([STATE.index(after.get(pair, pair[1])) + 1 for pair in pairs], float)
    variables = (Var("event"), Var("y", 1))
    found = listed(columns, target, variables, (texts(EVENT), texts(STATE)), texts(STATE))
    assert right(found, variables, columns, target)
    assert as_text(found, {"event": EVENT, "y": STATE}).endswith("else y[t-1]")


def test_a_thermostat_has_its_thresholds():
    temperature, mode = np.round(RNG.uniform(10, 30, 3000), 1), RNG.integers(1, 3, 3000).astype(float)
    target = np.where(temperature < 18, 2.0, np.where(temperature > 22, 1.0, mode))
    columns, variables = np.column_stack([temperature, mode]), (Var("x"), Var("y", 1))
    found = listed(columns, target, variables, (reals(10, 30), texts(MODE)), texts(MODE))
    text = as_text(found, {"x": (), "y": MODE})
    assert text == '"off" if x[t] > 22 else "on" if x[t] < 18 else y[t-1]'


def test_the_last_rule_asks_for_nothing_that_holds_anyway():
    a, b = (RNG.integers(0, high, 1500).astype(float) for high in (10, 40))
    way = RNG.integers(1, 3, 1500).astype(float)
    target = np.where(way == 1, a + b < 15, b - a < 15).astype(float)
    columns, variables = np.column_stack([a, b, way]), (Var("a"), Var("b"), Var("way"))
    found = listed(columns, target, variables, (integers(0, 9), integers(0, 39), texts(MODE)), integers(0, 1))
    assert right(found, variables, columns, target)
    assert as_text(found, {"a": (), "b": (), "way": MODE, "y": ()}).endswith((" else 0", " else 1"))


def test_numbers_beside_the_tests_of_a_text_are_those_of_the_texts():
    size, weight = Var("size"), Var("weight")
    tests = [size.equals(float(value)) for value in (1, 2, 3)]
    total = weight + 4.25 * tests[0] + 1.25 * tests[1] + 4.75 - 0.75 * tests[2]
    columns = np.array([(s, w) for s in (1, 2, 3) for w in range(5)], float)
    found = as_choices(total, Table((size,), (texts("LMS"),), columns[:, :1]))
    assert right(found, (size, weight), columns, compile_numpy(total, (size, weight))(*columns.T))
    assert as_text(found, {"size": ("L", "M", "S"), "weight": (), "y": ()}) == (
        '(9 if size[t] == "L" else 6 if size[t] == "M" else 4) + weight[t]'
    )


def test_one_test_of_a_text_stays_a_test():
    size, weight = Var("size"), Var("weight")
    tests = [size.equals(float(value)) for value in (1, 2, 3)]
    total = weight + 2 * tests[1]
    assert as_choices(total, Table((size,), (texts("LMS"),), np.array([[1.0], [2.0], [3.0]]))) == total


def test_texts_beyond_those_that_are_asked_for_keep_their_number():
    rng = np.random.default_rng(3)
    k, n = rng.integers(1, 36, 2000).astype(float), rng.integers(0, 30, 2000).astype(float)
    target = n + 7 * (k == 5) + 3 * (k == 20)
    front = search_over_texts(
        np.column_stack([k, n]),
        target,
        variables=(Var("kind"), Var("n")),
        domains=(texts([f"k{i}" for i in range(35)]), integers(0, 29)),
        answer=integers(0, 36),
        tolerance=1e-6,
    )
    best = next(candidate for candidate in front if candidate.exact)
    assert right(best.expr, (Var("kind"), Var("n")), np.column_stack([k, n]), target)
    assert best.complexity <= 15


def test_either_of_two_tests():
    heat, age, kind = (
        np.round(RNG.uniform(36, 41, 1500), 1),
        RNG.integers(1, 96, 1500),
        RNG.integers(1, 4, 1500),
    )
    target = np.where(kind == 2, 2.0, np.where((heat >= 39.5) | (age >= 80), 3.0, 1.0))
    columns, variables = np.column_stack([heat, age, kind]), (Var("heat"), Var("age"), Var("kind"))
    names = {"kind": ("cough", "pain", "sprain"), "y": ("green", "red", "yellow")}
    domains = (reals(36, 41), integers(1, 95), texts(names["kind"]))
    found = listed(columns, target, variables, domains, texts(names["y"]))
    assert found is not None
    text = as_text(
        simplify(found, dict(zip(variables, domains, strict=True))), {"heat": (), "age": ()} | names
    )
    assert '"yellow" if heat[t] >= 39.5 or age[t] >= 80 else "green"' in text


def test_numbers_are_compared_with_each_other():
    a, b, mode = (RNG.integers(low, high, 2000).astype(float) for low, high in ((0, 20), (0, 20), (1, 3)))
    target = np.where(a > b, 1.0, mode)
    columns, variables = np.column_stack([a, b, mode]), (Var("a"), Var("b"), Var("y", 1))
    domains = (integers(0, 19), integers(0, 19), texts(MODE))
    text = as_text(listed(columns, target, variables, domains, texts(MODE)), {"a": (), "b": (), "y": MODE})
    assert text == '"off" if a[t] > b[t] else y[t-1]'


def test_texts_are_the_same_or_not():
    suits = ("clubs", "hearts", "spades")
    columns = np.array(list(product((1.0, 2.0, 3.0), repeat=2)))
    target = np.where(columns[:, 0] == columns[:, 1], 2.0, 1.0)
    variables = (Var("x"), Var("x", 1))
    found = listed(columns, target, variables, (texts(suits), texts(suits)), texts(("no", "yes")))
    assert as_text(found, {"x": suits, "y": ("no", "yes")}) == '"yes" if x[t] == x[t-1] else "no"'


def test_every_table_has_a_list():
    for seed in range(3):
        table = np.random.default_rng(seed).integers(1, 5, (5, 4))
        columns = np.array(list(product(range(1, 6), range(1, 5))), float)
        target = np.array([table[int(i) - 1, int(j) - 1] for i, j in columns], float)
        variables, domains = (Var("x"), Var("y", 1)), (texts("abcde"), texts("pqrs"))
        assert right(listed(columns, target, variables, domains, texts("pqrs")), variables, columns, target)


def test_of_many_texts_those_that_tell_most_are_asked_for():
    rng = np.random.default_rng(0)
    a, b, key = (rng.integers(1, most, 4000).astype(float) for most in (41, 31, 201))
    n = rng.uniform(0, 50, 4000).round(1)
    target = np.where(
        a == 11, 2.0, np.where((b == 5) & (n > 20), 2.0, np.where((a == 7) & (b == 3), 3.0, 1.0))
    )
    columns, variables = np.column_stack([a, b, key, n]), (Var("a"), Var("b"), Var("key"), Var("n"))
    domains = (*(texts([str(i) for i in range(most)]) for most in (40, 30, 200)), reals(0, 50))
    found = listed(columns, target, variables, domains, texts("pqr"))
    assert found is not None
    assert right(found, variables, columns, target)
    assert found.size() <= 25


def test_rows_that_contradict_each_other_have_none():
    columns, target = np.array([[1.0], [1.0], [2.0]]), np.array([1.0, 2.0, 1.0])
    assert listed(columns, target, (Var("x"),), (texts("ab"),), texts("pq")) is None


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda k, n: np.where(k == 1, n, np.where(k == 2, -n, 0.0)), 13),
        (lambda k, n: 3 * n + 5 * (k == 3), 9),
        (lambda k, n: ((k == 2) & (n > 10)).astype(float), 7),
        (lambda k, n: np.choose(k.astype(int) - 1, [2 * n, 3 * n + 1, np.full(len(n), 40.0)]), 21),
    ],
)
def test_numbers_from_texts(rule, expected: int):
    k, n = RNG.integers(1, 4, 500).astype(float), RNG.integers(0, 30, 500).astype(float)
    variables, names = (Var("kind"), Var("n")), {"kind": ("a", "b", "c")}
    target = rule(k, n)
    front = search_over_texts(
        np.column_stack([k, n]),
        target,
        variables=variables,
        domains=(texts(names["kind"]), integers(0, 29)),
        answer=integers(int(target.min()), int(target.max())),
        tolerance=1e-6,
        effort=2.0,
    )
    best = next(candidate for candidate in front if candidate.exact)
    assert right(best.expr, variables, np.column_stack([k, n]), target)
    assert best.complexity <= expected
    assert speaks(Recurrence(("kind", "n"), (Step("y", best.expr),), ("y",)), names)


@pytest.mark.parametrize(
    ("rule", "names", "expected"),
    [
        (lambda a, b: np.digitize(2 * a + 3 * b, [200, 300]), ("fail", "good", "pass"), "2*a[t] + 3*b[t]"),
        (lambda a, b: a % 2, ("even", "odd"), "a[t] % 2"),
    ],
)
def test_texts_from_numbers(rule, names: tuple[str, ...], expected: str):
    """Grades from two marks, even and odd: what no list of thresholds says is a formula for each text."""
    columns = RNG.integers(0, 101, (2000, 2)).astype(float)
    target = rule(*columns.T) + 1.0
    variables, domains = (Var("a"), Var("b")), (integers(0, 100), integers(0, 100))
    (best,) = search_over_texts(columns, target, variables=variables, domains=domains, answer=texts(names))
    assert right(best.expr, variables, columns, target)
    assert expected in as_text(best.expr, {"a": (), "b": (), "y": names})


def test_what_a_list_does_not_need_goes():
    """A first rule that a later one makes unnecessary, a test that always holds there, a last value that no
    row needs."""
    columns = np.array(list(product((1, 2, 3), (1, 2, 3), range(20))), float)
    a, b, n = columns.T
    target = np.where((a == 2) & (n > 14), 1.0, np.where(b == 3, 2.0, 3.0))
    va, vb, vn = variables = (Var("a"), Var("b"), Var("n"))
    rules = [
        ((va.equals(1), vb.equals(3)), Const(2)),
        ((vn > 14, va.equals(2)), Const(1)),
        ((vb.equals(3), vn < 30), Const(2)),
        ((vn < 50,), Const(3)),
        ((), Const(1)),
    ]

    def made(tests, value) -> Rule:
        asked = (Part.of(test, compile_numpy(test, variables)(*columns.T) != 0, 1.0) for test in tests)
        return Rule(tuple(asked), Part.of(value, target == value.value, 1.0))

    found = [
        (tuple(test.write() for test in rule.tests), rule.value.write())
        for rule in shortened(tuple(made(*rule) for rule in rules))
    ]
    assert found == [((vn > 14, va.equals(2)), Const(1)), ((vb.equals(3),), Const(2)), ((), Const(3))]
