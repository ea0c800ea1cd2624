"""Whole recurrences: steps dropped, merged, inlined, named and ordered; outputs never change."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from case_table import rule
from weights2code import tasks
from weights2code.language import (
    BITS,
    Domain,
    Recurrence,
    Retrieval,
    Step,
    Var,
    integers,
    op,
    where,
)
from weights2code.simplify import passes, simplify_recurrence
from weights2code.simplify.kept import kept_capped, kept_modulo
from weights2code.simplify.names import in_reading_order, rename_locals, word_for

x, a, b, past = Var("x"), Var("a"), Var("b"), Var("s6", 1)
DIGITS = integers(0, 9)


def same(one: Recurrence, other: Recurrence) -> bool:
    drawn = np.random.default_rng(0).integers(-3, 10, (30, 15, len(one.inputs))).astype(float)
    return np.array_equal(one.run(drawn), other.run(drawn))


# -- one pass alone ------------------------------------------------------------------------------------------


def kept(made: Recurrence) -> Recurrence:
    return kept_modulo(made, (integers(-3, 9),))


def capped(made: Recurrence) -> Recurrence:
    return kept_capped(made, (integers(-3, 9),))


def changed(made: Recurrence, change: Callable[[Recurrence], Any]) -> Recurrence:
    """With all that a pass proposes, one after the other."""
    found = change(made)
    found = found if isinstance(found, Recurrence) else next(found, made)
    return made if found == made else changed(found, change)


PAST = "max(y[t-1]*x[t-1] - 3, 0)"
TOTAL, PART = "t[t-1] + x[t]", "max(x[t] - 3, 0)*x[t] + 1"
AGGREGATES = {
    "s2": "s2[t-1] + x[t]",
    "s5": "s5[t-1] + x[t]*x[t]",
    "m7": "max(m7[t-1], s2[t])",
    "c0": "c0[t-1] + (x[t] == 0)",
    "cm1": "cm1[t-1] + (x[t] == -1)",
    "y": "s2[t] + s5[t]*m7[t] + c0[t] - cm1[t]",
}

#: A pass, a recurrence, and what becomes of it: a recurrence, the names of its steps, or nothing else.
PASSES: list[tuple[Callable[[Recurrence], Any], Recurrence, Recurrence | str | None]] = [
    # two counters of the same thing
    (passes.merge_equal, rule(n="n[t-1] + 1", k="k[t-1] + 1", y="n[t]*x[t] + k[t]"),
     rule(n="n[t-1] + 1", y="n[t]*x[t] + n[t]")),
    (passes.merge_equal, rule(n="n[t-1] + 1", k="k[t-1] + 1", p="p[t-1] + n[t]", q="q[t-1] + k[t]",
                              y="p[t] - 2*q[t]"), "n p y"),
    (passes.merge_equal, rule(k="x[t] % 3", again="x[t] % 3", y=Retrieval("again", "x", Var("again") + 0)),
     rule(k="x[t] % 3", y=Retrieval("k", "x", Var("k") + 0))),
    (passes.merge_equal, rule(start={"k": 5.0}, n="n[t-1] + 1", k="k[t-1] + 1", y="n[t]*x[t] + k[t]"), None),
    (passes.merge_equal, rule(start={"s": 1.0}, r="x[t] + 1", s="x[t] + 1", y="r[t-1] + s[t-1]"), None),
    (passes.merge_equal, rule(s="s[t-1] + x[t]", y="y[t-1] + x[t]"), None),
    (passes.merge_equal, rule(outputs="y z", y="y[t-1] + x[t]", z="z[t-1] + x[t]"), None),
    # an output under another name
    (passes.absorb_aliases, rule(start={"s": 3.0}, s="s[t-1] + x[t]", y="s[t]"),
     rule(start={"y": 3.0}, y="y[t-1] + x[t]")),
    (passes.absorb_aliases, rule(start={"y": 1.0}, s="s[t-1] + x[t] + y[t-1]", y="s[t]"), None),
    (passes.absorb_aliases, rule(s="s[t-1] + x[t] + y[t-1]", y="s[t]"), rule(y="y[t-1] + x[t] + y[t-1]")),
    (passes.absorb_aliases, rule(s="s[t-1] + x[t]", y="s[t-1]"), None),
    (passes.absorb_aliases, rule(outputs="y z", y="x[t] + 1", z="y[t]"), None),
    (passes.absorb_aliases, rule(outputs="y z", s="s[t-1] + x[t]", y="s[t]", z="s[t]"),
     rule(outputs="y z", y="y[t-1] + x[t]", z="y[t]")),
    (passes.absorb_aliases, rule(outputs="y z", k="x[t] % 3", y="k[t]", z=Retrieval("k", "x", Var("k") + 0)),
     rule(outputs="y z", y="x[t] % 3", z=Retrieval("y", "x", Var("y") + 0))),
    # a step written where it is read: through time only where what lies before the start agrees
    (passes.inlined, rule(r="2*x[t]", y="r[t-1] + x[t]"), rule(y="2*x[t-1] + x[t]")),
    (passes.inlined, rule(r="2*x[t] + 1", y="r[t-1] + x[t]"), None),
    (passes.inlined, rule(start={"r": 1.0}, r="2*x[t] + 1", y="r[t-1] + x[t]"),
     rule(y="2*x[t-1] + 1 + x[t]")),
    (passes.inlined, rule(start={"x": "first"}, r="x[t] - x[t-1]", y="r[t-1] + x[t]"), None),
    # a lookup of what was delayed by the same; what matches before the start stays
    (passes.without_delay, rule(start={"x": -1.0}, k="x[t-1]", y=Retrieval("k", "x", x, 1)), None),
    # a line of its own for what repeats, no earlier than what it reads
    (passes.name_repeats, rule(y=f"{PAST} + {PAST.replace('t-1', 't-2')} + x[t]"),
     rule(r=PAST, y="r[t] + r[t-1] + x[t]")),
    (passes.name_repeats, rule(y=f"{PART} - 2*({PART.replace('[t]', '[t-1]')})"),
     rule(start={"r": 1.0}, r=PART, y="r[t] - 2*r[t-1]")),
    (passes.name_repeats, rule(start={"x": "first"}, y=f"{PART} - 2*({PART.replace('[t]', '[t-1]')})"), None),
    (passes.name_parts, rule(outputs="y z", y="abs(max(x[t] - x[t-1], 3)*2 + x[t])",
                             z="(max(x[t] - x[t-1], 3)*2 + x[t])*x[t]"), "r y z"),
    # a total that is read modulo a number is kept modulo it
    (kept, rule(start={"t": 7.0}, t=TOTAL, y="((t[t] % 5) + (2*t[t] - x[t]) % 5) == 3"),
     rule(start={"t": 2.0}, t="(t[t-1] + x[t]) % 5", y="(t[t] + (2*t[t] - x[t]) % 5) == 3")),
    *((kept, rule(t=TOTAL, y=y), None)
      for y in ("t[t] % 5 + t[t]", "(t[t] % 5) + (t[t] % 3)", "abs(t[t]) % 5", "(t[t] // 2) % 5")),
    (kept, rule(t="max(t[t-1] + x[t], 0)", y="t[t] % 5"), None),
    # totals that only grow and are only compared
    (capped, rule(t="t[t-1] + (x[t] > 2)", y="(t[t] <= 1) + (t[t-1] >= 3)"),
     rule(t="min(t[t-1] + (x[t] > 2), 4)", y="(t[t] <= 1) + (t[t-1] >= 3)")),
    *((capped, rule(t=t, y=y), None)
      for t, y in (("t[t-1] + x[t]", "t[t] <= 1"), ("t[t-1] + x[t]*x[t]", "t[t] <= x[t]"),
                   ("t[t-1] + x[t]*x[t]", "t[t] + (t[t] <= 1)"))),
    # names
    (rename_locals, rule(inputs="a b", s6="max(a[t], b[t])", s9="max(a[t], b[t-1])", y="s6[t] - s9[t-1]"),
     "larger1 larger2 y"),
    (rename_locals, rule(inputs="larger b", s6="max(larger[t], b[t])", y="s6[t]*s6[t-1]"), "s6 y"),
    (rename_locals, rule(start={"V3_MLP": 2.0}, V3_MLP="x[t] - 2*V3_MLP[t-1] + 1", carry="x[t]",
                         y="V3_MLP[t] + carry[t]"),
     rule(start={"r": 2.0}, r="x[t] - 2*r[t-1] + 1", carry="x[t]", y="r[t] + carry[t]")),
    (rename_locals, rule(start={"m7": -inf}, **AGGREGATES), "total1 total2 highest count_0 count_neg1 y"),
    (in_reading_order, rule(inputs="a b", outputs="y later", p="a[t] + 1", q="b[t] + 1", r="p[t]*2",
                            y="q[t] - r[t]", later="y[t] + later[t-1]"), "q p r y later"),
    (Recurrence.live, rule(start={"dead": 3.0, "y": 1.0}, dead="dead[t-1] + x[t]", y="x[t] + 1"),
     rule(y="x[t] + 1")),
]  # fmt: skip


@pytest.mark.parametrize(("change", "before", "after"), PASSES)
def test_one_pass(change: Callable[[Recurrence], Any], before: Recurrence, after: Recurrence | str | None):
    found = changed(before, change)
    if isinstance(after, str):
        assert [step.name for step in found.steps] == after.split()
    else:
        assert found == (before if after is None else after)
    assert same(before, found)


@pytest.mark.parametrize(
    ("definition", "word"),
    [
        (op("max", a, b), "larger"),
        (x - Var("x", 1), "difference"),
        (a + b, "total"),
        (2 * a - b, None),
        (x.equals(3), "is_3"),
        (where(a, b, -b), "signed"),
        (past + a, "total"),
        (past + (a > b), "count"),
        (op("max", past, a), "highest"),
        (where(a, b, past), "latest"),
        (Retrieval("a", "b", x), "found"),
    ],
    ids=str,
)
def test_the_outermost_operator_gives_the_name(definition, word):
    assert word_for(Step("s6", definition)) == word


# -- all together --------------------------------------------------------------------------------------------

LATE = {"k": "x[t-1]", "w": "y[t-1]", "v": Retrieval("k", "w", x, 0), "y": "v[t] + 1"}
TERNARY, SIGNED = integers(0, 2), integers(-9, 9)

WHOLE: list[tuple[Recurrence, tuple[Domain, ...], list[str], dict]] = [
    (rule(V1="y[t-1]", V3_MLP_L0M0="x[t]*V1[t]*(0 - 2) + 0.0", y="x[t] + V1[t] + V3_MLP_L0M0[t]"), (BITS,),
     ["y = [x[t] != y[t-1]]"], {}),
    (rule(y="2*((2*(x[t-2] + y[t-2]) + x[t-1] + y[t-1]) % 4) + x[t] >= 3"), (BITS,),
     ["remainder = (x[t-1] + y[t-1] + 2*(x[t-2] + y[t-2])) % 4",
      "y = [x[t] + 2*remainder[t] >= 3]"], {}),
    (rule(inputs="a b c", s6="b[t] - 2*a[t]*b[t]", s9="min(s6[t], s6[t-1])", y="s9[t] - c[t]"),
     (BITS, TERNARY, SIGNED),
     ["signed = -b[t] if a[t] else b[t]", "y = min(signed[t], signed[t-1]) - c[t]"], {}),
    (rule(inputs="a b", start={"s5": 1.0}, s5="b[t] == a[t] + b[t-3]", y="s5[t] + s5[t-2] - 2*s5[t]*s5[t-2]"),
     (TERNARY, TERNARY), ["is_equal = [b[t] == a[t] + b[t-3]]", "y = [is_equal[t] != is_equal[t-2]]"],
     {"is_equal": 1.0}),
    (rule(start={"y": inf}, y="x[t] if y[t-1] > 9 else min(x[t], y[t-1])"), (DIGITS,),
     ["y = min(x[t], y[t-1])"], {"y": inf}),
    (rule(inputs="a b", s="a[t] + b[t]", y="s[t] - 2*s[t-1] + s[t-2]"), (BITS, BITS),
     ["s = a[t] + b[t]", "y = s[t] - 2*s[t-1] + s[t-2]"], {}),
]  # fmt: skip


@pytest.mark.parametrize(("made", "domains", "lines", "start"), WHOLE)
def test_what_becomes_of_a_recurrence(made, domains, lines: list[str], start: dict):
    short = simplify_recurrence(made, domains)
    assert [f"{step.name} = {step.definition}" for step in short.steps] == lines
    assert short.start == start
    assert simplify_recurrence(made, domains) == short


def test_lookups_of_delayed_copies_are_lookups_of_what_was_copied():
    late = rule(start={"x": -1.0}, **LATE)
    found = simplify_recurrence(late, (integers(0, 3),))
    assert found.steps[0].definition == Retrieval("x", "y", x, 1)
    assert (len(found.steps), found.start) == (2, {})
    there = rule(**LATE)  # 0 was there before the start
    shown = [[[0.0], [0.0], [1.0], [0.0]]]
    assert simplify_recurrence(there, (integers(0, 3),)).run(shown).tolist() == there.run(shown).tolist()


@pytest.mark.parametrize("task", tasks.all_tasks(), ids=lambda task: task.name)
def test_every_machine_keeps_its_outputs(task):
    short = simplify_recurrence(task.machine, task.domains)
    sequences, _ = task.sample(64, 30, seed=1)
    assert np.allclose(short.run(sequences), task.machine.run(sequences), rtol=1e-9, atol=1e-9)
