"""The first screen: the rule, how to read it, the verdict and what it rests on."""

import pytest

from weights2code.language import Op, Recurrence, Step, Var, integers
from weights2code.program import Program
from weights2code.report.contents import about
from weights2code.report.head import formula_block, head, reading_key, verdict
from weights2code.report.page import page

BITS = integers(0, 1)


def program_of(definition, inputs=("x",), start=None) -> Program:
    rule = Recurrence(inputs, (Step("y", definition),), ("y",), **({"start": start} if start else {}))
    return Program("name", rule, (BITS,) * len(inputs), True)


X, Y = Var("x"), Var("y", 1)


@pytest.mark.parametrize(
    ("definition", "part", "there"),
    [
        (Op("gt", (X, Y)), "[c] is 1 where c holds", True),
        (X + Y, "[c] is 1 where c holds", False),
        (X + Y, "values before the start are 0.", True),
        (X * 2, "before the start", False),
        (Op("mod", (X, X + 2)), "mod is the remainder", True),
    ],
)
def test_the_key_explains_the_signs_that_are_there(definition, part: str, there: bool):
    assert (part in reading_key(program_of(definition))) == there


def test_the_key_names_what_is_read():
    assert "a and b are read, y is computed" in reading_key(program_of(Var("a") + Var("b"), ("a", "b")))
    many = tuple(f"c{i}" for i in range(9))
    assert "c0, c1, c2, c3 and … are read" in reading_key(
        program_of(sum(map(Var, many), X * 0), (*many, "x"))
    )


def test_a_rule_too_long_to_typeset_is_wrapped_text():
    rule = X
    for i in range(2, 40):
        rule = rule * i + Y
    block = formula_block(program_of(rule))
    assert 'class="formula long"' in block
    assert "<math" not in block
    assert "<math" in formula_block(program_of(X + Y))


def test_the_verdict_comes_with_what_it_rests_on(make_certificate):
    claims = ("[p.y[t-1] == r.y[t-1]]", "[p.y[t-1] >= 0]")
    certificate = make_certificate(notes=("the data are not exact",), invariant=claims)
    shown = verdict(certificate)
    assert "The data are not exact." in shown
    assert "p.y[t-1]" not in shown


def test_invariants_are_folded_away(make_contents, make_certificate):
    claims = ("[p.y[t-1] == r.y[t-1]]", "[p.y[t-1] >= 0]")
    html = page(make_contents(program_of(X + Y), certificate=make_certificate(invariant=claims)))
    assert "What the induction rests on (2 claims" in html
    assert "<li>p.y[t-1] &gt;= 0</li>" in html


def test_a_page_says_what_it_is_about(make_contents):
    assert about("parity_last2").startswith("Task: ")
    assert "bits" in about("parity_last2")
    assert about("nothing like a task") == ""
    assert '<p class="about">A test.</p>' in head(make_contents(program_of(X + Y)))
