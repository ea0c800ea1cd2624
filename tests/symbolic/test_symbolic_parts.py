"""Each part of the engine alone: goals, the bank, readings, sums, pieces, reductions."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import Domain, Expr, Var, evaluate, formula, integers, op, reals
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.search import columns, linear, near, pieces, reductions
from weights2code.symbolic.search.bank import Bank, Block
from weights2code.symbolic.search.borders import sharpened
from weights2code.symbolic.search.readings import Reader
from weights2code.symbolic.search.rows import prepare
from weights2code.symbolic.search.searched import SEARCHED, modulo
from weights2code.symbolic.search.table import Goal, Left, Table, believable, bit_goal, common, joined, merged

Rule = Callable[..., np.ndarray]
a, b, c = (Var(name) for name in "abc")
DIGITS, SMALL, REAL = integers(0, 9), integers(0, 4), reals(-2, 2)


def part(
    rule: Rule, domains: tuple[Domain, ...], variables: tuple[Var, ...] = (a, b, c), tolerance: float = 1e-6
) -> tuple[Reader, Bank, Goal]:
    """A goal on all rows of finite domains, or on 200 of reals, with a bank of three nodes."""
    if all(domain.discrete for domain in domains):
        ranges = [range(int(domain.low), int(domain.high) + 1) for domain in domains]
        X = np.array(list(itertools.product(*ranges)), dtype=float)
    else:
        rng = np.random.default_rng(0)
        X = np.stack([rng.uniform(domain.low, domain.high, 200) for domain in domains], axis=1)
    y = np.asarray(rule(*X.T), dtype=float)
    names = variables[: len(domains)]
    problem = prepare(X, y, variables=names, domains=domains, tolerance=tolerance, effort=60.0)
    table = Table(names, domains, problem.X)
    goal = Goal(problem.y - tolerance, problem.y + tolerance)
    reader = Reader(problem, table, goal.at(table.few), beside=True, near=False)
    bank = Bank(table, problem, [], goal.whole)
    for cost in (2, 3):
        bank.grow(cost, lambda block: None)
    return reader, bank, goal


def texts(found: object) -> list[str]:
    return [formula(e, lambda v: v.name) for e in found if isinstance(e, Expr)]  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------- table


def test_an_open_cell_and_a_bound_are_intervals() -> None:
    goal = Goal(np.array([1.0, -np.inf, 2.0]), np.array([1.0, 5.0, np.inf]))
    assert list(goal.known) == [0]
    assert goal.met(np.array([1.0, -9.0, 7.0]))
    assert not goal.met(np.array([1.0, 6.0, 7.0]))


def test_up_to_a_modulus() -> None:
    goal = Goal(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 3)
    assert goal.met(np.array([7.0, -1.0]))
    assert not goal.met(np.array([7.0, 0.0]))


def test_rows_that_agree_must_have_a_value_in_common() -> None:
    goal = Goal(np.array([0.0, 1.0, 4.0]), np.array([2.0, 3.0, 4.0]))
    shared = common(goal, np.array([0, 0, 1]))
    assert shared is not None
    assert (shared.low.tolist(), shared.high.tolist()) == ([1.0, 4.0], [2.0, 4.0])
    assert common(goal, np.array([0, 1, 1])) is None


def test_a_table_in_fewer_columns() -> None:
    X = np.array([[0.0, 5.0], [0.0, 6.0], [1.0, 5.0]])
    table, goal = Table((a, b), (DIGITS, DIGITS), X), Goal(np.array([1.0, 1, 2]), np.array([1.0, 1, 2]))
    found = merged(table, goal, [X[:, 0]], [a], joined([table.codes[0]]))
    assert found is not None
    assert (found[0].X.tolist(), found[1].low.tolist()) == ([[0.0], [1.0]], [1.0, 2.0])


# ----------------------------------------------------------------------------------------------------- bank


def test_one_value_vector_is_one_formula_and_is_what_it_says() -> None:
    _, bank, _ = part(lambda x, y: x + y, (SMALL, SMALL))
    assert len(np.unique(bank.values.round(6), axis=0)) == len(bank)
    for i in range(0, len(bank), 7):
        values = np.broadcast_to(
            evaluate(bank.expr(i), dict(zip((a, b), bank.X.T, strict=True))), len(bank.X)
        )
        assert np.allclose(values.astype(float), bank.values[i])


def test_who_looks_sees_every_entry_before_it_is_kept() -> None:
    _, bank, _ = part(lambda x, y: x + y, (SMALL, SMALL))
    seen: list[Block] = []
    before = len(bank)
    bank.grow(4, seen.append)
    assert sum(map(len, seen)) >= len(bank) - before > 0


@pytest.mark.parametrize("entry", [e for e in SEARCHED if e.inverse], ids=lambda entry: entry.name)
def test_an_inverse_gives_back_the_other_argument(entry: object) -> None:
    """Whatever the other argument was, it lies between the ends that the inverse gives."""
    rng = np.random.default_rng(1)
    given, other = rng.integers(0, 2, (2, 60)).astype(float)
    if entry.name != "ne":  # type: ignore[attr-defined]
        given, other = rng.uniform(0.5, 3, 60), rng.uniform(-3, 3, 60)
    order = (other, given) if entry.name in ("sub", "div") else (given, other)  # type: ignore[attr-defined]
    y = entry.compute(*order)  # type: ignore[attr-defined]
    low, high = entry.inverse(y, y, given)  # type: ignore[attr-defined]
    assert np.all((low <= other + 1e-9) & (other <= high + 1e-9))


# ------------------------------------------------------------------------------------------------- readings


@pytest.mark.parametrize(
    ("rule", "domains", "quantity", "text"),
    [
        (lambda x, y: 3 - 2 * x * y, (DIGITS, SMALL), a * b, "3 - 2*a*b"),
        (lambda x, y: (x + y > 5) * 1, (DIGITS, SMALL), a + b, "[a + b > 5]"),
        (lambda x, y: (x + y == 5) * 1, (DIGITS, SMALL), a + b, "[a + b == 5]"),
        (lambda x, y: (abs(x - y - 2) <= 1) * 1, (DIGITS, SMALL), a - b, "[abs(a - b - 2) <= 1]"),
        (lambda x, y: (x + y + 1) % 5, (DIGITS, SMALL), a + b, "(a + b + 1) % 5"),
        (lambda x, y: (x + y) // 3, (DIGITS, SMALL), a + b, "(a + b) // 3"),
        (lambda x, y: ((x + y) % 4 == 1) * 1, (DIGITS, SMALL), a + b, "[(a + b) % 4 == 1]"),
        (lambda x, y: 0.5 * x * y + 2 * y, (REAL, REAL), a * b, "2*b + 0.5*a*b"),
    ],
)
def test_a_goal_as_a_function_of_one_quantity(
    rule: Rule, domains: tuple[Domain, ...], quantity: Expr, text: str
) -> None:
    reader, _, _ = part(rule, domains)
    values = evaluate(quantity, dict(zip((a, b), reader.X.T, strict=True)))
    found = reader.read(Block(np.asarray(values, dtype=float)[None], lambda _: quantity, 3))
    assert text in texts(found)


# --------------------------------------------------------------------------------------------------- linear


def test_columns_that_are_not_needed_are_left_out() -> None:
    reader, _, _ = part(lambda x, y, z: 2 * x - z, (SMALL,) * 3)
    assert texts(linear.linear(reader))[-1] == "2*a - c"


def test_weights_up_to_a_modulus() -> None:
    reader, _, goal = part(lambda x, y: (3 * x + 2 * y + 1) % 5, (DIGITS, DIGITS))
    inside = Goal(goal.low, goal.high, 5).at(reader.table.few)
    found = texts(linear.linear(Reader(reader.problem, reader.table, inside, beside=False, near=False)))
    assert found == ["2*b + 1 - 2*a"] or found == ["1 - 2*(a - b)"] or len(found) == 1


def test_sums_of_two_entries() -> None:
    reader, bank, _ = part(lambda x, y: 2 * np.maximum(x, 3) - x * y, (DIGITS, DIGITS))
    assert "2*max(a, 3) - a*b" in texts(linear.sums(reader, bank))


def test_a_threshold_of_two_entries() -> None:
    reader, bank, _ = part(lambda x, y, z: (x * y > z * z) * 1, (SMALL,) * 3)
    assert any("a*b" in text and "c**2" in text for text in texts(linear.compared(reader, bank)))


def test_the_direction_along_which_values_lie_apart() -> None:
    reader, _, goal = part(lambda x, y: np.digitize(2 * x - y, [-1, 0.5]), (REAL, REAL))
    (weights, *_) = linear.directions(reader.problem, reader.table, goal, ())
    assert weights[0] / weights[1] == pytest.approx(-2, abs=0.1)


# --------------------------------------------------------------------------------------------------- pieces


def test_the_larger_of_terms() -> None:
    reader, bank, goal = part(lambda x, y: np.maximum(np.minimum(x + 1, y), x - 1), (REAL, REAL))
    found = texts(pieces.pieces(reader, bank, goal))
    assert any(text.count("min") == text.count("max") == 1 for text in found)


def test_a_plane_that_seldom_holds_is_seen_where_nothing_else_does() -> None:
    def rule(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.maximum(b, 2 * a + c - 2.5)

    reader, bank, goal = part(rule, (REAL,) * 3)
    assert "max(b, 2*a + c - 2.5)" in texts(pieces.pieces(reader, bank, goal))


def test_a_term_on_one_side_of_a_plane() -> None:
    def rule(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.where(2 * a - 3 * b > 1, c, a)

    reader, bank, goal = part(rule, (REAL,) * 3)
    assert "c if 2*a > 3*b + 1 else a" in texts(pieces.pieces(reader, bank, goal))


def test_a_term_counts_beyond_a_number() -> None:
    def rule(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        larger = np.maximum(2 * a - b, c)
        return np.where(larger > 0.5, larger, 0)

    X = np.random.default_rng(0).uniform(REAL.low, REAL.high, (300, 3))
    front = NativeEngine().search(X, rule(*X.T), variables=(a, b, c), domains=(REAL,) * 3, tolerance=1e-6)
    assert "max(2*a - b, c)*[max(2*a - b, c) > 0.5]" in texts(found.expr for found in front if found.exact)


def test_two_terms_leave_the_question_which_holds() -> None:
    reader, bank, goal = part(lambda x, y, z: np.where((x + y) % 2 == 0, z, x * y), (SMALL,) * 3)
    lefts = [left for left in pieces.pieces(reader, bank, goal) if isinstance(left, Left)]
    assert any(left.step == "choice" and set(left.goal.coded) == {0, 1} for left in lefts)


def test_a_list_says_less_than_the_rows() -> None:
    goal = bit_goal(np.arange(40) % 2 == 0, np.arange(40) % 2 == 1)
    table = Table((a,), (reals(0, 1),), np.arange(40.0)[:, None])
    assert believable(table, goal, op("gt", a, b))
    assert not believable(table, goal, op("gt", sum([a] * 9, b), b))


# ----------------------------------------------------------------------------------------------- reductions


def steps(lefts: object, name: str) -> list[str]:
    """What becomes of a hole in its place."""
    hole = Var("hole")
    return [formula(left.finish(hole), lambda v: v.name) for left in lefts if left.step == name]  # type: ignore[attr-defined]


def test_what_stands_inside_bounds() -> None:
    reader, _, goal = part(lambda x, y: np.clip(x + y, 3, 8), (DIGITS, DIGITS))
    inside = list(reductions.bounds(reader, goal))
    assert "min(max(hole, 3), 8)" in steps(inside, "bounds")
    values = reader.table.X.sum(axis=1)
    assert all(left.goal.met(values) for left in inside if "min(max" in steps([left], "bounds")[0])


def test_what_is_left_beside_an_argument_reads_less() -> None:
    reader, bank, goal = part(lambda x, y, z: x + (y * z) % 3, (DIGITS, SMALL, SMALL))
    lefts = [columns.dropped(reader.problem, left) for left in reductions.inverses(reader, bank, goal, 3)]
    assert any(left.table.variables == (b, c) for left in lefts)


def test_a_quantity_takes_the_place_of_its_columns_at_every_lag() -> None:
    lags = (Var("a", 0), Var("a", 1), Var("b", 0))
    reader, bank, goal = part(lambda x, y, z: (x % 2) * 3 + (y % 2) * z, (DIGITS, DIGITS, SMALL), lags)
    (first, *_) = columns.put(reader, bank, goal, 3)
    assert len(first.table.X) == 2 * 2 * 5
    assert {(v.name, v.lag) for v in first.table.variables} >= {("part0", 0), ("part0", 1)}


def test_a_quantity_takes_the_place_of_its_columns_of_reals() -> None:
    def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.minimum(a, b) * (4 * c + np.minimum(a, b))

    def beside(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return 2 * a - b + np.abs(a - b) * (a - b) * c

    for rule, expr, kept in ((product, op("min", a, b), [c]), (beside, op("sub", a, b), [b, c])):
        first = next(near.near(*part(rule, (REAL,) * 3), 3))
        assert first.finish(first.table.variables[0]) == expr
        assert [*first.table.variables[1:]] == kept


def test_one_function_at_several_lags_is_summed() -> None:
    lags = tuple(Var("a", lag) for lag in range(5))

    def rule(*x: np.ndarray) -> np.ndarray:
        return np.sum([x[i] > np.maximum(x[i - 1], x[i + 1]) for i in (1, 2, 3)], axis=0)

    reader, _, _ = part(rule, (REAL,) * 5, lags)
    assert str(next(linear.shared(reader, 5))).count("max") == 3


def test_one_function_of_a_column_at_several_lags() -> None:
    lags = (Var("a", 0), Var("a", 1))
    X = np.array(list(itertools.product(range(10), repeat=2)), dtype=float)
    y = np.maximum(X, 4).sum(axis=1)
    front = NativeEngine().search(X, y, variables=lags, domains=(DIGITS,) * 2, tolerance=0.4)
    assert "max(a[t], 4) + max(a[t-1], 4)" in [str(found.expr) for found in front if found.exact]


def test_a_remainder_takes_the_place_of_a_column_that_it_is_all_of() -> None:
    reader, _, goal = part(lambda x, y: (x % 7 > 3) * y, (integers(0, 60), SMALL))
    (left, *_) = columns.periods(reader, goal)
    assert len(left.table.X) == 7 * 5
    assert formula(left.finish(Var("part0")), lambda v: v.name) == "a % 7"


def test_a_rule_of_two_parts_is_found_one_part_after_the_other() -> None:
    reader, _, goal = part(lambda x, y, z: np.where(z == 1, (x + y > 5) * 4, x * y + 7), (SMALL,) * 3)
    here = reader.table.X[:, 2] == 1
    (first,) = (left for left in columns.parted(reader, goal) if np.array_equal(left.goal.tight, here))
    assert first.then is not None
    rest = first.then(op("mul", 4, op("gt", a + b, 5)))
    assert rest.goal.met(np.prod(reader.table.X[:, :2], axis=1) + 7)
    assert formula(rest.finish(a * b + 7), lambda v: v.name) == "4*[a + b > 5] if c == 1 else a*b + 7"


def test_a_sum_with_gates_along_which_values_lie_apart() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(-2, 2, (300, 2)), rng.integers(0, 2, 300)])
    level = 2 * X[:, 0] - X[:, 1]
    y = np.where(X[:, 2] == 1, level > 1, level > -1).astype(float)
    domains = (REAL, REAL, integers(0, 1))
    problem = prepare(X, y, variables=(a, b, c), domains=domains, tolerance=1e-6, effort=60.0)
    table, goal = Table((a, b, c), domains, problem.X), Goal(problem.y - 1e-6, problem.y + 1e-6)
    reader = Reader(problem, table, goal.at(table.few), beside=True, near=False)
    found = [left.table.variables for left in columns.along(reader, goal)]
    assert (Var("part0"), c) in found


# -------------------------------------------------------------------------------------- stairs, borders, lags


def test_stairs_along_a_quantity() -> None:
    reader, bank, _ = part(lambda x: np.where(x > 30, 4, np.where(x > 12, 9, 2)), (integers(0, 60),))
    assert "4 if a > 30 else 9 if a >= 13 else 2" in texts(reader.stairs(bank.kept(1)))
    waves, bank, _ = part(lambda x: x % 3, (integers(0, 60),))
    assert not texts(waves.stairs(bank.kept(1)))


def test_a_threshold_is_sharpened_with_all_rows() -> None:
    X = np.random.default_rng(0).uniform(0, 1, (4000, 1))
    y = np.where(X[:, 0] > 0.437, 1.0, 0.0)
    problem = prepare(X, y, variables=(a,), domains=(reals(0, 1),), tolerance=1e-6)
    rough = op("gt", a, 0.43)
    wrong = problem.values(rough) != problem.y
    sharp = sharpened(problem, rough, wrong)
    assert wrong.any()
    assert sharp is not None
    assert np.array_equal(problem.values(sharp), problem.y)
    assert sharpened(problem, op("gt", a, 0.3), problem.values(op("gt", a, 0.3)) != problem.y) is None


def test_one_function_at_two_lags_with_weights() -> None:
    names = tuple(Var(name, lag) for name in "ab" for lag in (0, 1))
    reader, _, _ = part(
        lambda x, x1, y, y1: 2 * np.minimum(x, y) * x - np.minimum(x1, y1) * x1, (REAL,) * 4, names
    )
    assert "2*min(a, b)*a - min(a, b)*a" in [t.replace("[t-1]", "") for t in texts(linear.shared(reader, 5))]


def test_weights_inside_a_remainder_are_small() -> None:
    assert formula(modulo(7 * a + 5 * b - 3, 6), lambda v: v.name) == "a - b + 3"


def test_what_is_known_up_to_multiples_may_be_the_least() -> None:
    reader, _, goal = part(lambda x, y: (x * y) % 6 - 8 * (y > 2), (DIGITS, SMALL))
    inside = Goal(goal.low, goal.high, 8)
    (left,) = reductions.undone(reader, inside, functions=True, remainder=True)
    x, y = left.table.X.T
    assert left.goal.modulus is None
    assert left.goal.met((x * y) % 6)
