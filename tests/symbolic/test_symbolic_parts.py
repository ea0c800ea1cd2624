"""What the parts of the engine rest on: goals, tables in fewer columns, the bank, inverses, thresholds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from weights2code.language import Expr, Var, evaluate, integers, op, reals
from weights2code.symbolic.search.bank import Bank, Block
from weights2code.symbolic.search.borders import sharpened
from weights2code.symbolic.search.pieces import believable
from weights2code.symbolic.search.rows import prepare
from weights2code.symbolic.search.searched import SEARCHED
from weights2code.symbolic.search.table import Goal, Table, bit_goal, common, joined, merged

a, b = Var("a"), Var("b")
DIGITS, SMALL = integers(0, 9), integers(0, 4)


def test_rows_that_agree_must_have_a_value_in_common() -> None:
    goal = Goal(np.array([0.0, 1.0, 4.0]), np.array([2.0, 3.0, 4.0]))
    shared = common(goal, np.array([0, 0, 1]))
    assert shared is not None
    assert (shared.low.tolist(), shared.high.tolist()) == ([1.0, 4.0], [2.0, 4.0])
    assert common(goal, np.array([0, 1, 1])) is None
    rows = np.array([[0.0, 5.0], [0.0, 6.0], [1.0, 5.0]])
    table = Table((a, b), (DIGITS, DIGITS), rows)
    ones = np.array([1.0, 1.0, 2.0])
    fewer = merged(table, Goal(ones, ones), [rows[:, 0]], [a], joined([table.codes[0]]))
    assert fewer is not None
    assert (fewer[0].X.tolist(), fewer[1].low.tolist()) == ([[0.0], [1.0]], [1.0, 2.0])


def test_one_value_vector_is_one_formula_and_is_what_it_says() -> None:
    rows = np.array(list(itertools.product(range(5), range(5))), float)
    given: Any = {"variables": (a, b), "domains": (SMALL, SMALL)}
    bank = Bank(Table((a, b), (SMALL, SMALL), rows), prepare(rows, rows.sum(1), **given), [], True)
    seen: list[Block] = []  # every entry, before it is kept
    before = len(bank)
    for cost in (2, 3):
        bank.grow(cost, seen.append)
    assert sum(map(len, seen)) >= len(bank) - before > 0
    assert len(np.unique(bank.values.round(6), axis=0)) == len(bank)
    for i in range(0, len(bank), 7):
        values = evaluate(bank.expr(i), dict(zip((a, b), bank.X.T, strict=True)))
        assert np.allclose(np.broadcast_to(values, len(bank.X)).astype(float), bank.values[i])


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
