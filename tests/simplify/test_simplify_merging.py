"""Steps that are one: counters of the same thing, and locals that are an output under another name."""

from __future__ import annotations

import numpy as np

from weights2code.language import Expr, Recurrence, Retrieval, Start, Step, Var, maximum
from weights2code.simplify import passes

x, n = Var("x"), Var("n")


def rule(start: dict[str, Start] | None = None, outputs=("y",), **steps: Expr | Retrieval) -> Recurrence:
    made = tuple(Step(name, definition) for name, definition in steps.items())
    return Recurrence(("x",), made, outputs, start or {})


def merge_equal(before: Recurrence) -> Recurrence:
    """With all that is proposed, one after the other."""
    proposed = next(passes.merge_equal(before), None)
    return before if proposed is None else merge_equal(proposed)


def absorb_aliases(before: Recurrence) -> Recurrence:
    proposed = next(passes.absorb_aliases(before), None)
    return before if proposed is None else absorb_aliases(proposed)


def same(one: Recurrence, other: Recurrence) -> bool:
    drawn = np.random.default_rng(0).integers(-3, 4, (30, 15, 1)).astype(float)
    return np.array_equal(one.run(drawn), other.run(drawn))


# -- two counters of the same thing --------------------------------------------------------------------------


def test_counters_that_read_their_own_past_merge():
    before = rule(n=Var("n", 1) + 1, k=Var("k", 1) + 1, y=Var("n") * x + Var("k"))
    after = merge_equal(before)
    assert after == rule(n=Var("n", 1) + 1, y=Var("n") * x + Var("n"))
    assert same(before, after)


def test_deeper_reads_of_their_own_past_count():
    before = rule(a=Var("a", 2) + x, b=Var("b", 2) + x, c=Var("c", 1) + x, y=Var("a") + Var("b") + Var("c"))
    after = merge_equal(before)
    assert [step.name for step in after.steps] == ["a", "c", "y"]
    assert same(before, after)


def test_counters_with_other_starts_stay():
    before = rule({"k": 5.0}, n=Var("n", 1) + 1, k=Var("k", 1) + 1, y=Var("n") * x + Var("k"))
    assert merge_equal(before) == before


def test_what_reads_another_past_is_not_the_same():
    """b continues a, it does not count by itself; here both happen to be equal only while a is."""
    before = rule({"a": 2.0}, a=maximum(Var("a", 1), x), b=maximum(Var("b", 1), x), y=Var("a") - Var("b"))
    assert merge_equal(before) == before
    crossed = rule(a=Var("b", 1) + x, b=Var("a", 1) - x, y=Var("a") * 2 + Var("b"))
    assert merge_equal(crossed) == crossed


def test_steps_that_read_merged_counters_merge_too():
    before = rule(
        n=Var("n", 1) + 1, k=Var("k", 1) + 1, p=Var("p", 1) + Var("n"), q=Var("q", 1) + Var("k"),
        y=Var("p") - 2 * Var("q"),
    )  # fmt: skip
    after = merge_equal(before)
    assert [step.name for step in after.steps] == ["n", "p", "y"]
    assert same(before, after)


def test_an_output_is_never_merged_away():
    before = rule(s=Var("s", 1) + x, y=Var("y", 1) + x)
    assert merge_equal(before) == before
    two = rule(outputs=("y", "z"), y=Var("y", 1) + x, z=Var("z", 1) + x)
    assert merge_equal(two) == two


# -- an output under another name ----------------------------------------------------------------------------


def test_a_local_that_is_the_output_becomes_it():
    before = rule(s=Var("s", 1) + x, y=Var("s"))
    after = absorb_aliases(before)
    assert after == rule(y=Var("y", 1) + x)
    assert same(before, after)


def test_its_start_goes_with_it():
    before = rule({"s": 3.0}, s=Var("s", 1) + x, y=Var("s"))
    after = absorb_aliases(before)
    assert after == rule({"y": 3.0}, y=Var("y", 1) + x)
    assert same(before, after)


def test_others_read_the_output_then():
    before = rule(s=Var("s", 1) + x, k=Var("s") + Var("s", 2), y=Var("s"), outputs=("y", "k"))
    after = absorb_aliases(before)
    assert [step.name for step in after.steps] == ["y", "k"]
    assert same(before, after)


def test_other_starts_keep_both():
    """y before the start is 1 for whoever reads it, s is 0: they are not one sequence."""
    before = rule({"y": 1.0}, s=Var("s", 1) + x + Var("y", 1), y=Var("s"))
    assert absorb_aliases(before) == before
    agreeing = rule(s=Var("s", 1) + x + Var("y", 1), y=Var("s"))
    assert absorb_aliases(agreeing) == rule(y=Var("y", 1) + x + Var("y", 1))
    assert same(agreeing, absorb_aliases(agreeing))


def test_inputs_outputs_and_the_past_are_no_aliases():
    for before in (
        rule(y=x),
        rule(s=Var("s", 1) + x, y=Var("s", 1)),
        rule(outputs=("y", "z"), y=x + 1, z=Var("y")),
    ):
        assert absorb_aliases(before) == before


def test_two_outputs_of_one_local():
    before = rule(outputs=("y", "z"), s=Var("s", 1) + x, y=Var("s"), z=Var("s"))
    after = absorb_aliases(before)
    assert after == rule(outputs=("y", "z"), y=Var("y", 1) + x, z=Var("y"))
    assert same(before, after)


def test_lookups_follow_the_name():
    before = rule(k=x % 3, y=Var("k"), z=Retrieval("k", "x", Var("k") + 0), outputs=("y", "z"))
    after = absorb_aliases(before)
    assert after == rule(y=x % 3, z=Retrieval("y", "x", Var("y") + 0), outputs=("y", "z"))
    assert same(before, after)
