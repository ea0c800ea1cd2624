"""Induction, identity and the analysis of rounding, each by itself, and what they must refuse.

Whatever invariant is found is one that the kernel takes, on the text of the program.
"""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from weights2code.effort import Effort
from weights2code.kernel.claims import (
    Claim,
    Inductive,
    ProgramText,
    Proved,
    Refuted,
    Rejected,
    Specification,
    check,
)
from weights2code.language import (
    BITS,
    Const,
    Recurrence,
    Retrieval,
    Step,
    Var,
    exact_number,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.language.arithmetic import arithmetic
from weights2code.language.exact import exact_trace, run_exact
from weights2code.language.product import expand_retrievals, product
from weights2code.language.python_source import python_source
from weights2code.verify.certify import _same
from weights2code.verify.facts import affine_relations, observe
from weights2code.verify.induction import invariant_for

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)
n, s = Var("n"), Var("s")
DIGITS, UNIT = integers(0, 9), reals(0, 1)


def decisions_are_exact(program):
    return arithmetic(program, (DIGITS,)).decided


def values_are_exact(program):
    found = arithmetic(program, (DIGITS,))
    return found.decided and found.exact


def machine(definition, inputs=("x",), start=None, **locals_):
    steps = [Step(name, value) for name, value in locals_.items()] + [Step("y", definition)]
    return Recurrence(inputs, tuple(steps), ("y",), start or {})


def claim(reference, program, *domains):
    text = ProgramText(python_source(program, domains, "program"), program.inputs)
    return Claim(text, Specification(reference), domains, within=1e6)


def induction(reference, program, *domains, effort=5.0) -> Inductive | Refuted | Rejected:
    joint = expand_retrievals(product(reference, program, domains))
    if joint is None:
        return Rejected("a lookup has keys without end")
    found = invariant_for(joint, Effort(effort))
    if isinstance(found, Inductive):
        asked = claim(reference, program, *domains)
        answer = check(asked, found)
        assert isinstance(answer, Proved) or "z3" not in answer.reason, answer
    return found


SUM = machine(y1 + x)


def test_the_invariant_is_part_of_the_proof():
    result = induction(SUM, machine(s, s=Var("s", 1) + x), DIGITS)
    assert isinstance(result, Inductive)
    assert [str(fact) for fact in result.invariant] == ["[r.y[t-1] == p.s[t-1]]"]


def test_relations_are_exact_and_solved_for_the_reference():
    twice = machine(2 * s + Fraction(1, 3), s=Var("s", 1) + x)
    relations = affine_relations(observe(product(twice, SUM, (UNIT,)), seed=0))
    assert [str(relation) for relation in relations] == ["[r.s[t-1] == p.y[t-1]]"]


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_wrong_start_is_found_in_the_base_case(steps):
    late = machine(y1 + x + Var("late", steps), late=Const(0), start={"late": 1})
    result = induction(SUM, late, DIGITS)
    assert isinstance(result, Refuted)
    assert len(result.sequence) == 1


def test_a_difference_that_comes_late_is_not_proved_away():
    # The clock runs for 50 positions; no base case reaches it, and no true invariant hides it.
    clock = machine(where(n > 50, 0, y1 + x), n=Var("n", 1) + 1)
    assert isinstance(induction(SUM, clock, DIGITS), Rejected)


def test_infinite_starts_fold_away_or_are_refused():
    smallest = machine(minimum(y1, x), start={"y": inf})
    other = machine(where(x <= y1, x, y1), start={"y": inf})
    assert isinstance(induction(smallest, other, integers(-5, 5)), Inductive)
    # This state stays infinite for ever, and infinity is not a number that the step may stand for.
    stuck = machine(where(Var("u") > 1000, x, 0), u=maximum(Var("u", 1), x), start={"u": inf})
    assert isinstance(induction(machine(x), stuck, DIGITS), Rejected)
    lazy = machine(minimum(y1, where(x > 3, x, inf)), start={"y": inf})
    assert isinstance(induction(lazy, lazy, DIGITS), Rejected)


def test_repeated_starts():
    first = machine(x - Var("x", 2), start={"x": "first"})
    chained = machine(x - Var("a", 1), a=x1, start={"x": "first"})
    assert isinstance(induction(first, machine(-(Var("x", 2) - x), start={"x": "first"}), UNIT), Inductive)
    result = induction(first, chained, UNIT)
    assert isinstance(result, Refuted)  # the copy is 0 before the start, where the input repeats
    assert len(result.sequence) <= 2


def test_mod_of_negatives_is_floored():
    total = machine(s % -3, s=Var("s", 1) + x)
    low = integers(-4, 4)
    floored = machine(s + 3 * op("floor", s / -3), s=Var("s", 1) + x)
    assert isinstance(induction(total, floored, low), Inductive)
    assert isinstance(induction(total, machine(-((-s) % 3), s=Var("s", 1) + x), low), Inductive)
    assert isinstance(induction(total, machine(s % 3, s=Var("s", 1) + x), low), Refuted)


def test_a_divisor_must_be_shown_to_differ_from_zero():
    mean = machine(s / n, s=Var("s", 1) + x, n=Var("n", 1) + 1)
    other = machine((1 / n) * s, s=Var("s", 1) + x, n=Var("n", 1) + 1)
    assert isinstance(induction(mean, other, UNIT), Inductive)
    shifted = machine(s / n, s=Var("s", 1) + x, n=Var("n", 1) + 1, start={"n": -3})
    assert not isinstance(induction(shifted, shifted, UNIT), Inductive)  # n is 0 at the third position
    guarded = machine(where(n.equals(0), 0, s / n), s=Var("s", 1) + x, n=Var("n", 1) + 1, start={"n": -3})
    assert isinstance(induction(guarded, guarded, UNIT), Inductive)


def test_decimals_mean_what_they_say():
    thirds = machine(Const(Fraction(3, 10)) * x + Const(Fraction(7, 10)) * y1)
    assert isinstance(induction(thirds, machine(0.3 * x + 0.7 * y1), UNIT), Inductive)
    assert not isinstance(induction(thirds, machine(0.3 * x + 0.7000001 * y1), UNIT), Inductive)


def test_retrievals_become_cells():
    found = machine(Retrieval("key", "value", Var("query")), ("key", "value", "query"))
    cells = machine(
        where(Var("query").equals(1), Var("b", 1), Var("a", 1)),
        ("key", "value", "query"),
        a=where(Var("key").equals(0), Var("value"), Var("a", 1)),
        b=where(Var("key").equals(0), Var("b", 1), Var("value")),
    )
    assert isinstance(induction(found, cells, BITS, integers(0, 99), BITS), Inductive)
    assert isinstance(induction(found, cells, UNIT, UNIT, UNIT), Rejected)


def test_what_z3_cannot_say_is_unknown():
    power = machine(op("pow", x, x1))
    assert isinstance(induction(power, power, UNIT), Rejected)
    parity, total = machine((x + y1) % 2), machine(s % 2, s=Var("s", 1) + x)
    assert induction(parity, total, BITS, effort=0.0) == Rejected("the effort is spent")
    assert isinstance(induction(parity, total, BITS), Inductive)
    deep = machine(Var("x", 40))
    assert induction(deep, deep, DIGITS) == Rejected("the machines look back more than 12 positions")


def test_roots_and_sines_are_functions_like_any_other():
    root = machine(op("sqrt", x + x1))
    assert isinstance(induction(root, machine(op("sqrt", x1 + x)), UNIT), Inductive)
    assert not isinstance(
        induction(root, machine(op("sqrt", x1 + x)), reals(-1, 1)), Inductive
    )  # not always defined
    assert not isinstance(induction(machine(op("sin", x)), machine(op("cos", x)), UNIT), Inductive)


def same_up_to_names(reference, program, *domains):
    asked = claim(reference, program, *domains)
    return isinstance(check(asked, _same(asked.beside())), Proved)


def test_names_are_enough_for_equal_machines():
    one = machine(Retrieval("u", "x", x1), u=(x * 0.1) % 0.3)
    two = machine(Retrieval("v", "x", x1), w=x, v=(Var("w") * 0.1) % 0.3)
    renamed = Recurrence(("z",), tuple(_renamed(one, {"x": "z", "u": "a", "y": "b"})), ("b",))
    assert same_up_to_names(one, renamed, UNIT)
    assert not same_up_to_names(one, two, UNIT)  # equal, but not by names alone
    other_start = Recurrence(("x",), one.steps, ("y",), {"x": 1})
    assert not same_up_to_names(one, other_start, UNIT)
    swapped = Recurrence(("a", "b"), (Step("y", Var("a") - Var("b")),), ("y",))
    assert not same_up_to_names(swapped, Recurrence(("b", "a"), swapped.steps, ("y",)), BITS, BITS)


def _renamed(source, names):
    for step in source.steps:
        d = step.definition
        if isinstance(d, Retrieval):
            query = d.query.substitute({v: Var(names[v.name], v.lag) for v in d.query.variables()})
            yield Step(names[step.name], Retrieval(names[d.key], names[d.value], query, d.gap, d.default))
        else:
            yield Step(names[step.name], d.substitute({v: Var(names[v.name], v.lag) for v in d.variables()}))


def test_rounding_that_could_change_a_decision():
    assert not decisions_are_exact(machine((0.1 * x + 0.2 * x).equals(0.3 * x)))
    assert not decisions_are_exact(machine(op("floor", 0.29 * x)))
    assert not decisions_are_exact(machine(where(y1 * 0.1 > 1, 1, 0)))
    assert not decisions_are_exact(machine((x / 3) % 2))
    assert not decisions_are_exact(machine((s > 3) * x, s=Var("s", 1) * 0.7 + x))
    assert decisions_are_exact(machine((s / n) > 0.3, s=Var("s", 1) + x, n=Var("n", 1) + 1))
    assert decisions_are_exact(machine(op("floor", x / 3) + 0.3 * x))
    assert decisions_are_exact(machine((x * 0.5 + 0.25) >= 1))


MEANS = {"s": Var("s", 1) + x, "q": Var("q", 1) + x * x, "n": Var("n", 1) + 1}


def test_one_rounded_quotient_decides_rightly():
    mean, other = s / n, Var("q") / n
    for safe in (
        mean > other,
        (mean - other) > 0,
        op("lt", 0, mean - other),
        (1 - 2 * mean).equals(0),
        (x - mean) >= 0.5,
        op("floor", mean + x),
        where(mean / 4 - 1, 1, 0),
    ):
        assert decisions_are_exact(machine(safe, **MEANS)), str(safe)
    for unsafe in (
        (3 * mean).equals(1),  # 49 * (1 / 49) is not 1
        (n * mean).equals(s),
        (mean - 1).equals(other),  # 4/3 - 1 is not 1/3
        (mean + 1) > 1.3,
        (mean + other) > 1,
        (mean - other) > 1,
    ):
        assert not decisions_are_exact(machine(unsafe, **MEANS)), str(unsafe)


def test_values_that_float64_holds():
    assert values_are_exact(machine(0.5 * (x + x1 + abs(x - x1))))
    assert values_are_exact(machine(x**3 - 2 * y1))
    assert not values_are_exact(machine(x / 3))
    assert not values_are_exact(machine(0.1 * x))
    assert not values_are_exact(machine(op("sqrt", x)))
    assert not values_are_exact(machine(x1, start={"x": 0.1, "y": 0.1}))


def test_exact_runs_take_decimals_at_their_word_and_only_the_branch_that_counts():
    assert exact_number(0.1) * 3 == Fraction(3, 10)
    trace = exact_trace(machine(where(x.equals(0), 7, 1 / x)), [[0], [3]])
    assert trace["y"] == [7, Fraction(1, 3)]
    with pytest.raises(ZeroDivisionError):
        exact_trace(machine(1 / x), [[0]])
    doubled = machine(where(y1.equals(0), 1, 2 * y1))
    assert run_exact(doubled, np.zeros((1, 70, 1)))[0, -1, 0] == 2.0**69
    with pytest.raises(ArithmeticError, match="bits"):
        run_exact(machine(where(y1.equals(0), 3, y1 * y1)), np.zeros((1, 100, 1)))


def test_a_fraction_before_the_start_is_not_forgotten():
    # y carries the half that lies before the start for ever; taken for whole numbers, the two would be equal.
    late = where(n > 5, Var("y") - op("floor", Var("y")), 0)
    steps = (Step("n", Var("n", 1) + 1), Step("y", y1 + x1), Step("o", late))
    halves = Recurrence(("x",), steps, ("o",), {"x": 0.5})
    nothing = Recurrence(("x",), (Step("o", 0 * x),), ("o",))
    joint = product(halves, nothing, (BITS,))
    assert not isinstance(invariant_for(joint, Effort(10.0)), Inductive)
