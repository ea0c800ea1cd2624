"""Induction, identity and the analysis of rounding, each by itself, and what they must refuse.

Whatever invariant is found is one that the kernel takes, on the text of the program.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pytest

from case_table import in_text as rule
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
from weights2code.language import BITS, Domain, Recurrence, Retrieval, Step, Var, integers, reals
from weights2code.language.arithmetic import arithmetic
from weights2code.language.exact import exact_number, exact_trace, run_exact
from weights2code.language.product import expand_retrievals, product
from weights2code.language.python_source import python_source
from weights2code.verify.certify import _same
from weights2code.verify.facts import affine_relations, observe
from weights2code.verify.induction import invariant_for

x = Var("x")
DIGITS, UNIT, LOW = integers(0, 9), reals(0, 1), integers(-4, 4)


def claim(reference: Recurrence, program: Recurrence, *domains: Domain) -> Claim:
    text = ProgramText(python_source(program, domains, "program"), program.inputs)
    return Claim(text, Specification(reference), domains, within=1e6)


def induction(
    reference: Recurrence, program: Recurrence, *domains: Domain, effort: float = 5.0
) -> Inductive | Refuted | Rejected:
    joint = expand_retrievals(product(reference, program, domains))
    if joint is None:
        return Rejected("a lookup has keys without end")
    found = invariant_for(joint, Effort(effort))
    if isinstance(found, Inductive):
        answer = check(claim(reference, program, *domains), found)
        assert isinstance(answer, Proved) or "z3" not in answer.reason, answer
    return found


SUM, TOTAL, COUNT = "y = y[t-1] + x[t]", "s = s[t-1] + x[t]; ", "n = n[t-1] + 1; "
LOWEST, FIRST, BEFORE = {"y": inf}, {"x": "first"}, {"n": -3}
GUARDED = f"{TOTAL}{COUNT}y = 0 if n[t] == 0 else s[t]/n[t]"


class Case(NamedTuple):
    """What is given, another way to say it or not, the answer, the length of what refutes it."""

    reference: str
    program: str
    answer: Any
    domain: Domain = DIGITS
    start: Any = None
    other_start: Any = None
    length: int | None = None


CASES = [
    # a wrong start is found in the base case
    *(Case(SUM, f"late = 0*x[t]; y = y[t-1] + x[t] + late[t-{lag}]", Refuted, DIGITS, None, {"late": 1}, 1)
      for lag in (1, 2, 5)),
    # a clock runs for 50 positions: no base case reaches it, and no true invariant hides it
    Case(SUM, f"{COUNT}y = 0 if n[t] > 50 else y[t-1] + x[t]", Rejected),
    # infinite starts fold away, or stay and are no number that a step may stand for
    Case("y = min(y[t-1], x[t])", "y = x[t] if x[t] <= y[t-1] else y[t-1]", Inductive, LOW, LOWEST, LOWEST),
    Case("y = x[t]", "u = max(u[t-1], x[t]); y = x[t] if u[t] > 1000 else 0", Rejected, DIGITS,
         None, {"u": inf}),
    Case("y = min(y[t-1], x[t] if x[t] > 3 else inf)", "y = min(y[t-1], x[t] if x[t] > 3 else inf)", Rejected,
         start=LOWEST, other_start=LOWEST),
    # a copy is 0 before the start, where the input repeats
    Case("y = x[t] - x[t-2]", "y = -(x[t-2] - x[t])", Inductive, UNIT, FIRST, FIRST),
    Case("y = x[t] - x[t-2]", "a = x[t-1]; y = x[t] - a[t-1]", Refuted, UNIT, FIRST, FIRST),
    # remainders of negative numbers are floored
    Case(f"{TOTAL}y = s[t] % -3", f"{TOTAL}y = s[t] + 3*(s[t]//-3)", Inductive, LOW),
    Case(f"{TOTAL}y = s[t] % -3", f"{TOTAL}y = -((-s[t]) % 3)", Inductive, LOW),
    Case(f"{TOTAL}y = s[t] % -3", f"{TOTAL}y = s[t] % 3", Refuted, LOW),
    # a divisor must be shown to differ from 0
    Case(f"{TOTAL}{COUNT}y = s[t]/n[t]", f"{TOTAL}{COUNT}y = (1/n[t])*s[t]", Inductive, UNIT),
    Case(f"{TOTAL}{COUNT}y = s[t]/n[t]", f"{TOTAL}{COUNT}y = s[t]/n[t]", None, UNIT, BEFORE, BEFORE),
    Case(GUARDED, GUARDED, Inductive, UNIT, BEFORE, BEFORE),
    # decimals mean what they say
    Case("y = (3*x[t] + 7*y[t-1])/10", "y = 0.3*x[t] + 0.7*y[t-1]", Inductive, UNIT),
    Case("y = (3*x[t] + 7*y[t-1])/10", "y = 0.3*x[t] + 0.7000001*y[t-1]", None, UNIT),
    # what z3 cannot say; roots and sines are functions like any other, where they are defined
    Case("y = x[t]**x[t-1]", "y = x[t]**x[t-1]", Rejected, UNIT),
    Case("y = (x[t] + y[t-1]) % 2", f"{TOTAL}y = s[t] % 2", Inductive, BITS),
    Case("y = x[t-40]", "y = x[t-40]", Rejected("the machines look back more than 12 positions")),
    Case("y = sqrt(x[t] + x[t-1])", "y = sqrt(x[t-1] + x[t])", Inductive, UNIT),
    Case("y = sqrt(x[t] + x[t-1])", "y = sqrt(x[t-1] + x[t])", None, reals(-1, 1)),
    Case("y = sin(x[t])", "y = cos(x[t])", None, UNIT),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program)
def test_what_is_answered(case: Case):
    """None: anything but an invariant."""
    found = induction(rule(case.reference, case.start), rule(case.program, case.other_start), case.domain)
    if case.answer is None:
        assert not isinstance(found, Inductive)
    elif isinstance(case.answer, Rejected):
        assert found == case.answer
    else:
        assert isinstance(found, case.answer)
    if case.length is not None:
        assert isinstance(found, Refuted)
        assert len(found.sequence) == case.length


def test_the_invariant_is_part_of_the_proof():
    result = induction(rule(SUM), rule(f"{TOTAL}y = s[t]"), DIGITS)
    assert isinstance(result, Inductive)
    assert [str(fact) for fact in result.invariant] == ["[r.y[t-1] == p.s[t-1]]"]
    spent = induction(rule("y = (x[t] + y[t-1]) % 2"), rule(f"{TOTAL}y = s[t] % 2"), BITS, effort=0.0)
    assert spent == Rejected("the effort is spent")


def test_relations_are_exact_and_solved_for_the_reference():
    twice = rule(f"{TOTAL}y = 2*s[t]")
    third = Recurrence(("x",), (*twice.steps[:1], Step("y", 2 * Var("s") + Fraction(1, 3))), ("y",))
    relations = affine_relations(observe(product(third, rule(SUM), (UNIT,)), seed=0))
    assert [str(relation) for relation in relations] == ["[r.s[t-1] == p.y[t-1]]"]


def test_retrievals_become_cells():
    found = Recurrence(
        ("key", "value", "query"), (Step("y", Retrieval("key", "value", Var("query"))),), ("y",)
    )
    cells = rule(
        "a = value[t] if key[t] == 0 else a[t-1]; b = b[t-1] if key[t] == 0 else value[t]; "
        "y = b[t-1] if query[t] == 1 else a[t-1]",
        None,
        "key value query",
    )
    assert isinstance(induction(found, cells, BITS, integers(0, 99), BITS), Inductive)
    assert isinstance(induction(found, cells, UNIT, UNIT, UNIT), Rejected)


def test_names_are_enough_for_equal_machines():
    def same(reference: Recurrence, program: Recurrence, *domains: Domain) -> bool:
        asked = claim(reference, program, *domains)
        return isinstance(check(asked, _same(asked.beside())), Proved)

    def looked_up(of: str, key: str, out: str) -> tuple[Step, Step]:
        return Step(key, (Var(of) * 0.1) % 0.3), Step(out, Retrieval(key, of, Var(of, 1)))

    one = Recurrence(("x",), looked_up("x", "u", "y"), ("y",))
    detour = (Step("w", x), Step("v", (Var("w") * 0.1) % 0.3), Step("y", Retrieval("v", "x", Var("x", 1))))
    assert same(one, Recurrence(("z",), looked_up("z", "a", "b"), ("b",)), UNIT)
    assert not same(one, Recurrence(("x",), detour, ("y",)), UNIT)  # equal, but not by names alone
    assert not same(one, Recurrence(("x",), one.steps, ("y",), {"x": 1}), UNIT)
    less = rule("y = a[t] - b[t]", None, "a b")
    assert not same(less, Recurrence(("b", "a"), less.steps, ("y",)), BITS, BITS)


def test_a_fraction_before_the_start_is_not_forgotten():
    """y carries the half before the start for ever; taken for whole numbers, the two would be equal."""
    halves = rule(f"{COUNT}y = y[t-1] + x[t-1]; o = y[t] - y[t]//1 if n[t] > 5 else 0", {"x": 0.5})
    joint = product(halves, rule("o = 0*x[t]"), (BITS,))
    assert not isinstance(invariant_for(joint, Effort(10.0)), Inductive)


# -- rounding ------------------------------------------------------------------------------------------------

MEANS = f"{TOTAL}q = q[t-1] + x[t]*x[t]; {COUNT}mean = s[t]/n[t]; "


@pytest.mark.parametrize(
    ("lines", "safe"),
    [
        ("y = 0.1*x[t] + 0.2*x[t] == 0.3*x[t]", False),
        ("y = floor(0.29*x[t])", False),
        ("y = 1 if y[t-1]*0.1 > 1 else 0", False),
        ("y = (x[t]/3) % 2", False),
        ("s = s[t-1]*0.7 + x[t]; y = (s[t] > 3)*x[t]", False),
        (f"{TOTAL}{COUNT}y = s[t]/n[t] > 0.3", True),
        ("y = x[t]//3 + 0.3*x[t]", True),
        ("y = x[t]*0.5 + 0.25 >= 1", True),
        # one rounded quotient decides rightly
        *((f"{MEANS}y = {test}", True) for test in (
            "mean[t] > q[t]/n[t]", "mean[t] - q[t]/n[t] > 0", "0 < mean[t] - q[t]/n[t]", "1 - 2*mean[t] == 0",
            "x[t] - mean[t] >= 0.5", "floor(mean[t] + x[t])", "1 if mean[t]/4 - 1 else 0")),
        # 49 * (1 / 49) is not 1, 4/3 - 1 is not 1/3
        *((f"{MEANS}y = {test}", False) for test in (
            "3*mean[t] == 1", "n[t]*mean[t] == s[t]", "mean[t] - 1 == q[t]/n[t]", "mean[t] + 1 > 1.3",
            "mean[t] + q[t]/n[t] > 1", "mean[t] - q[t]/n[t] > 1")),
    ],
)  # fmt: skip
def test_rounding_that_could_change_a_decision(lines: str, safe: bool):
    assert arithmetic(rule(lines), (DIGITS,)).decided == safe


@pytest.mark.parametrize(
    ("lines", "start", "exact"),
    [
        ("y = 0.5*(x[t] + x[t-1] + abs(x[t] - x[t-1]))", None, True),
        ("y = x[t]**3 - 2*y[t-1]", None, True),
        ("y = x[t]/3", None, False),
        ("y = 0.1*x[t]", None, False),
        ("y = sqrt(x[t])", None, False),
        ("y = x[t-1]", {"x": 0.1, "y": 0.1}, False),
    ],
)
def test_values_that_float64_holds(lines: str, start: Any, exact: bool):
    found = arithmetic(rule(lines, start), (DIGITS,))
    assert (found.decided and found.exact) == exact


def test_exact_runs_take_decimals_at_their_word_and_only_the_branch_that_counts():
    assert exact_number(0.1) * 3 == Fraction(3, 10)
    trace = exact_trace(rule("y = 7 if x[t] == 0 else 1/x[t]"), [[0], [3]])
    assert trace["y"] == [7, Fraction(1, 3)]
    with pytest.raises(ZeroDivisionError):
        exact_trace(rule("y = 1/x[t]"), [[0]])
    doubled = rule("y = 1 if y[t-1] == 0 else 2*y[t-1]")
    assert run_exact(doubled, np.zeros((1, 70, 1)))[0][0, -1, 0] == 2.0**69
    with pytest.raises(ArithmeticError, match="bits"):
        run_exact(rule("y = 3 if y[t-1] == 0 else y[t-1]*y[t-1]"), np.zeros((1, 100, 1)))
