"""What the parts of the engine rest on: goals, tables in fewer columns, the bank, inverses, thresholds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest

from weights2code.language import Domain, Expr, Var, evaluate, formula, integers, op, reals, uniform
from weights2code.language.formula_reading import read_formula
from weights2code.symbolic.search import columns, near, pieces, reductions
from weights2code.symbolic.search.bank import Bank, Block
from weights2code.symbolic.search.borders import sharpened
from weights2code.symbolic.search.pieces import believable
from weights2code.symbolic.search.readings import Reader
from weights2code.symbolic.search.rows import prepare
from weights2code.symbolic.search.searched import SEARCHED, modulo
from weights2code.symbolic.search.table import Goal, Left, Table, bit_goal, common, joined, merged

a, b, c = (Var(name) for name in "abc")
DIGITS, SMALL, TENS, REAL = integers(0, 9), integers(0, 4), integers(0, 60), reals(-2, 2)


def exactly(*values: float) -> Goal:
    return Goal(np.array(values), np.array(values))


@pytest.mark.parametrize(
    ("goal", "met", "missed"),
    [
        # an open cell and a bound are intervals
        (Goal(np.array([1.0, -np.inf, 2.0]), np.array([1.0, 5.0, np.inf])), [1.0, -9, 7], [1.0, 6, 7]),
        (Goal(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 3), [7.0, -1], [7.0, 0]),  # up to a modulus
    ],
)
def test_goals(goal: Goal, met: list[float], missed: list[float]) -> None:
    assert goal.met(np.array(met))
    assert not goal.met(np.array(missed))
    assert goal.known[0] == 0


def test_rows_that_agree_must_have_a_value_in_common() -> None:
    goal = Goal(np.array([0.0, 1.0, 4.0]), np.array([2.0, 3.0, 4.0]))
    shared = common(goal, np.array([0, 0, 1]))
    assert shared is not None
    assert (shared.low.tolist(), shared.high.tolist()) == ([1.0, 4.0], [2.0, 4.0])
    assert common(goal, np.array([0, 1, 1])) is None
    rows = np.array([[0.0, 5.0], [0.0, 6.0], [1.0, 5.0]])
    table = Table((a, b), (DIGITS, DIGITS), rows)
    fewer = merged(table, exactly(1, 1, 2), [rows[:, 0]], [a], joined([table.codes[0]]))
    assert fewer is not None
    assert (fewer[0].X.tolist(), fewer[1].low.tolist()) == ([[0.0], [1.0]], [1.0, 2.0])


def part(text: str, domains: tuple[Domain, ...]) -> tuple[Reader, Bank, Goal]:
    """A goal on all rows of finite domains, or on 200 of reals, with a bank of three nodes."""
    truth = read_formula(re.sub(r"\b([abc])(\d?)\b", r"\1[t-\2]", text).replace("t-]", "t]"))
    names = tuple(sorted(truth.variables(), key=lambda v: (v.name, v.lag)))
    if all(domain.discrete for domain in domains):
        rows = np.array(list(itertools.product(*(domain.values() for domain in domains))), float)
    else:
        rows = uniform(np.random.default_rng(0), domains, 200, 1)[:, 0]
    y = np.asarray(evaluate(truth, dict(zip(names, rows.T, strict=True))), dtype=float)
    problem = prepare(rows, y, variables=names, domains=domains, tolerance=1e-6, effort=60.0)
    table, goal = Table(names, domains, problem.X), Goal(problem.y - 1e-6, problem.y + 1e-6)
    bank = Bank(table, problem, [], goal.whole)
    for cost in (2, 3):
        bank.grow(cost, lambda block: None)
    return Reader(problem, table, goal.at(table.few), beside=True, near=False), bank, goal


def test_one_value_vector_is_one_formula_and_is_what_it_says() -> None:
    _, bank, _ = part("a + b", (SMALL, SMALL))
    assert len(np.unique(bank.values.round(6), axis=0)) == len(bank)
    for i in range(0, len(bank), 7):
        values = evaluate(bank.expr(i), dict(zip((a, b), bank.X.T, strict=True)))
        assert np.allclose(np.broadcast_to(values, len(bank.X)).astype(float), bank.values[i])
    seen: list[Block] = []  # every entry, before it is kept
    before = len(bank)
    bank.grow(4, seen.append)
    assert sum(map(len, seen)) >= len(bank) - before > 0


Reduce = Callable[..., Iterable[Any]]
TWO, THREE = (DIGITS, SMALL), (SMALL,) * 3


def undone(r: Reader, _: Bank, goal: Goal) -> Iterable[Left]:
    return reductions.undone(r, goal, functions=True, remainder=True)


#: A function, a reduction of it, what becomes of a hole in the place of what is left, or of the quantity that
#: takes the place of its columns, and the columns of the rows that are left.
LEFT: list[tuple[str, tuple[Domain, ...], Reduce, str, str]] = [
    ("clip(a + b, 3, 8)", TWO, lambda r, _, g: reductions.bounds(r, g), "min(max(hole, 3), 8)", "a b"),
    ("a + (b*c) % 3", (DIGITS, SMALL, SMALL), partial(reductions.inverses, cost=3), "a + hole", "a b c"),
    ("(a + 3*b) % 5", (DIGITS, DIGITS), undone, "hole % 5", "a b"),
    ("exp(a*b)", (REAL, REAL), undone, "exp(hole)", "a b"),
    ("c if (a + b) % 2 == 0 else a*b", THREE, pieces.pieces, "c if hole else a*b", "a b c"),
    ("(a % 2)*3 + (a1 % 2)*b", (DIGITS, *TWO), partial(columns.put, cost=3), "a % 2", "part0 part0 b"),
    ("(a % 7 > 3)*b", (TENS, SMALL), lambda r, _, g: columns.periods(r, g), "a % 7", "part0 b"),
    ("min(a, b)*(4*c + min(a, b))", (REAL,) * 3, partial(near.near, cost=3), "min(a, b)", "part0 c"),
    ("2*a - b + abs(a - b)*(a - b)*c", (REAL,) * 3, partial(near.near, cost=3), "a - b", "part0 b c"),
    ("(2*a - b > -1) + (2*a - b > 1)", (REAL, REAL), lambda r, _, g: columns.along(r, g), "2*a - b", "part0"),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "domains", "reduce", "around", "left"), LEFT, ids=[row[0] for row in LEFT])
def test_what_is_left(
    truth: str, domains: tuple[Domain, ...], reduce: Reduce, around: str, left: str
) -> None:
    reader, bank, goal = part(truth, domains)
    seen = set()
    for found in itertools.islice(reduce(reader, bank, goal), 60):
        if not isinstance(found, Left):
            continue
        names = [variable.name for variable in found.table.variables]
        inside = found.table.variables[0] if "part0" in names else Var("hole")
        seen.add((formula(found.finish(inside), lambda v: v.name), " ".join(names)))
        if found.step in ("bounds", "inverse", "remainder", "function") and np.all(found.goal.tight):
            # whatever is found for it makes the whole right
            rows = {**dict(zip((a, b, c), found.table.X.T, strict=False)), Var("hole"): found.goal.middle}
            assert goal.met(np.asarray(evaluate(found.finish(Var("hole")), rows), float)), found.step
    assert (around, left) in seen


def test_a_rule_of_two_parts_is_found_one_part_after_the_other() -> None:
    reader, _, goal = part("4*(a + b > 5) if c == 1 else a*b + 7", THREE)
    here = reader.table.X[:, 2] == 1
    (first,) = (left for left in columns.parted(reader, goal) if np.array_equal(left.goal.tight, here))
    assert first.then is not None
    rest = first.then(4 * op("gt", a + b, 5))
    assert rest.goal.met(np.prod(reader.table.X[:, :2], axis=1) + 7)
    assert formula(rest.finish(a * b + 7), lambda v: v.name) == "4*[a + b > 5] if c == 1 else a*b + 7"


@pytest.mark.parametrize("entry", [e for e in SEARCHED if e.inverse], ids=lambda entry: entry.name)
def test_an_inverse_gives_back_the_other_argument(entry: Any) -> None:
    """Whatever the other argument was, it lies between the ends that the inverse gives."""
    rng = np.random.default_rng(1)
    given, other = rng.integers(0, 2, (2, 60)).astype(float)
    if entry.name != "ne":
        given, other = rng.uniform(0.5, 3, 60), rng.uniform(-3, 3, 60)
    y = entry.compute(*((other, given) if entry.name in ("sub", "div") else (given, other)))
    low, high = entry.inverse(y, y, given)
    assert np.all((low <= other + 1e-9) & (other <= high + 1e-9))


def test_a_list_says_less_than_the_rows() -> None:
    goal = bit_goal(np.arange(40) % 2 == 0, np.arange(40) % 2 == 1)
    table = Table((a,), (reals(0, 1),), np.arange(40.0)[:, None])
    assert believable(table, goal, op("gt", a, b))
    assert not believable(table, goal, op("gt", sum([a] * 9, b), b))


def test_a_threshold_is_sharpened_with_all_rows() -> None:
    rows = np.random.default_rng(0).uniform(0, 1, (4000, 1))
    y = np.where(rows[:, 0] > 0.437, 1.0, 0.0)
    problem = prepare(rows, y, variables=(a,), domains=(reals(0, 1),), tolerance=1e-6)

    def sharp(border: float) -> Expr | None:
        rough = op("gt", a, border)
        return sharpened(problem, rough, problem.values(rough) != problem.y)

    found = sharp(0.43)
    assert found is not None
    assert np.array_equal(problem.values(found), problem.y)
    assert sharp(0.3) is None


def test_weights_inside_a_remainder_are_small() -> None:
    assert formula(modulo(7 * a + 5 * b - 3, 6), lambda v: v.name) == "a - b + 3"
