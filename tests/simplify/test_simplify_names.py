"""What an intermediate variable is called, and where its line stands."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import (
    BITS,
    Recurrence,
    Retrieval,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    where,
)
from weights2code.simplify import simplify_recurrence
from weights2code.simplify.names import in_reading_order, rename_locals, word_for
from weights2code.simplify.passes import name_repeats

x, x1, a, b = Var("x"), Var("x", 1), Var("a"), Var("b")
past = Var("s6", 1)


@pytest.mark.parametrize(
    ("definition", "word"),
    [
        ((a + b) % 7, "remainder"),
        (a // 3, "quotient"),
        (maximum(a, b), "larger"),
        (minimum(a, b), "smaller"),
        (maximum(x, 0), "positive_part"),
        (minimum(x, 4.9), "capped"),
        (op("clip", x, 0, 3), "capped"),
        (x - x1, "difference"),
        (a - b, "difference"),
        (abs(a - b), "distance"),
        (a + b, "total"),
        (a * b, "product"),
        (a + b - x1, None),
        (2 * a - b, None),
        (a.equals(b), "is_equal"),
        (x.equals(3), "is_3"),
        (op("ne", a, b), "differs"),
        (a > b, "above"),
        (x < x1, "below"),
        (op("and", a, b), "both"),
        (op("or", a, b), "either"),
        (where(a, b, -b), "signed"),
        (where(a, b, x), "chosen"),
        (past + a, "total"),
        (past + (a > b), "count"),
        (past + 1, "count"),
        (past + 2 * (a > b), "total"),
        (maximum(past, a), "highest"),
        (where(a, b, past), "latest"),
        (a - past, None),
        (Retrieval("a", "b", x), "found"),
    ],
    ids=str,
)
def test_the_outermost_operator_gives_the_name(definition, word):
    assert word_for(Step("s6", definition)) == word


def rule(inputs=("a", "b"), outputs=("y",), start=None, **steps):
    return Recurrence(tuple(inputs), tuple(Step(n, d) for n, d in steps.items()), outputs, start or {})


def names(recurrence):
    return [step.name for step in recurrence.steps]


def test_two_of_a_kind_are_numbered():
    made = rename_locals(rule(s6=maximum(a, b), s9=maximum(a, Var("b", 1)), y=Var("s6") - Var("s9", 1)))
    assert names(made) == ["larger1", "larger2", "y"]
    assert rename_locals(made) == made


def test_columns_and_outputs_keep_their_names():
    made = rule(("larger", "b"), s6=maximum(Var("larger"), b), y=Var("s6") * Var("s6", 1))
    assert names(rename_locals(made)) == ["s6", "y"]
    output = rule(outputs=("s6",), s6=maximum(a, b))
    assert rename_locals(output) == output


def test_words_that_somebody_chose_stay():
    made = rule(carry=maximum(a, b), y=Var("carry") * Var("carry", 1))
    assert rename_locals(made) == made


def test_lines_stand_in_the_order_in_which_they_are_read():
    made = rule(p=a + 1, q=b + 1, r=Var("p") * 2, y=Var("q") - Var("r"), later=Var("y") + Var("later", 1))
    ordered = in_reading_order(made)
    assert names(ordered) == ["q", "p", "r", "y", "later"]
    drawn = np.random.default_rng(0).integers(0, 5, (10, 8, 2))
    assert np.array_equal(ordered.run(drawn), made.run(drawn))


def test_a_deep_network_reads_like_a_program():
    s6, s5 = Var("s6"), Var("s5")
    signed = Recurrence(
        ("a", "b", "c"),
        (
            Step("s6", b - 2 * a * b),
            Step("s9", minimum(s6, Var("s6", 1))),
            Step("y", Var("s9") - Var("c")),
        ),
        ("y",),
    )
    short = simplify_recurrence(signed, (BITS, integers(0, 2), integers(-9, 9)))
    assert [f"{step.name} = {step.definition}" for step in short.steps] == [
        "signed = -b[t] if a[t] else b[t]",
        "y = min(signed[t], signed[t-1]) - c[t]",
    ]
    equal = rule(s5=b.equals(a + Var("b", 3)), y=s5 + Var("s5", 2) - 2 * s5 * Var("s5", 2), start={"s5": 1.0})
    short = simplify_recurrence(equal, (integers(0, 2), integers(0, 2)))
    assert [f"{step.name} = {step.definition}" for step in short.steps] == [
        "is_equal = [b[t] == a[t] + b[t-3]]",
        "y = [is_equal[t] != is_equal[t-2]]",
    ]
    assert short.start == {"is_equal": 1.0}


def test_what_is_computed_again_later_gets_a_line():
    part = maximum(x - 3, 0) * x + 1
    made = Recurrence(("x",), (Step("y", part - 2 * part.shift(1) + part.shift(2)),), ("y",))
    named = name_repeats(made)
    assert [str(step.definition) for step in named.steps] == [
        "max(x[t] - 3, 0)*x[t] + 1",
        "r[t] - 2*r[t-1] + r[t-2]",
    ]
    assert named.start == {"r": 1.0}
    drawn = np.random.default_rng(0).integers(0, 9, (20, 10, 1))
    assert np.array_equal(named.run(drawn), made.run(drawn))
    first = Recurrence(made.inputs, made.steps, made.outputs, {"x": "first"})
    assert name_repeats(first) == first


def test_a_part_is_no_earlier_than_what_it_reads():
    """y[t-1]*x[t-1] may be remembered, y[t]*x[t] is not there yet."""
    past = maximum(Var("y", 1) * x1 - 3, 0)
    made = Recurrence(("x",), (Step("y", (past + past.shift(1) + past.shift(2) + x) % 5),), ("y",))
    named = name_repeats(made)
    assert str(named.steps[0].definition) == "max(y[t-1]*x[t-1] - 3, 0)"
    drawn = np.random.default_rng(0).integers(0, 9, (20, 10, 1))
    assert np.array_equal(named.run(drawn), made.run(drawn))
