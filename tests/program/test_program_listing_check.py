"""The listing is checked against its network by running its text, and against its graph letter by letter."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.errors import InputError
from weights2code.explain import ExplainedGraph
from weights2code.explain.operators import formula_problems
from weights2code.language import Const
from weights2code.program.listing import listing_source
from weights2code.program.listing_check import check_listing, listing_problems
from weights2code.verify.links import Listing

LOOP = Layout("autoregressive", (2.0,), (2.0,))


@pytest.fixture
def run(builder, integers_of):
    """y[t] = |x[t] - y[t-1]| / 3 + the mean so far."""
    made = builder(layout=LOOP)
    made.output({made.operator("distance", 0, 1): 1 / 3, made.head("mean", 0): 1.0})
    x = integers_of(1)
    problem = made.problem(x, np.cumsum(x, 1) / 7)
    return made, problem, made.explained(problem.validation)


def sampled(problem, integers=4):
    def draw(rng, count, length):
        return rng.integers(0, integers, (count, length, 1)).astype(float)

    return replace(problem, sampler=draw)


def test_the_listing_is_the_network_at_every_length(run):
    made, problem, explained = run
    text = listing_source(explained, problem)
    found = check_listing(text, made.graph(), sampled(problem))
    assert found.exact
    assert found.max_abs_error <= 1e-14
    assert found.lengths == (1, 10, 40, 100)
    assert found.sequences == 40
    own = check_listing(text, made.graph(), problem)
    assert own.exact
    assert own.lengths == (1, 10)
    assert Listing.from_dict(own.to_dict()) == own


@pytest.mark.slow
def test_every_number_of_the_text_matters(run):
    """A change of any number in the listing is seen in its outputs or, at the latest, in its text."""
    made, problem, explained = run
    text = listing_source(explained, problem)
    assert listing_problems(text, explained, problem) == ""
    body = text.index("for t in")
    changed = 0
    for found in re.finditer(r"\d+\.\d+(e-?\d+)?", text[body:]):
        begin, end = body + found.start(), body + found.end()
        other = text[:begin] + repr(float(found.group()) + 1e-7) + text[end:]
        line = text[:begin].count("\n") + 1
        assert listing_problems(other, explained, problem) == f"line {line} is not what the graph gives"
        changed += not check_listing(other, made.graph(), sampled(problem)).exact
    assert changed >= 3


def test_a_weight_of_the_network_that_was_changed_is_found(run):
    made, problem, explained = run
    text = listing_source(explained, problem)
    head = made.graph().head.copy()
    head[0, 2] += 1e-6
    other = replace(explained, graph=replace(explained.graph, head=head))
    assert "is not what the graph gives" in listing_problems(text, other, problem)
    found = check_listing(text, other.graph, sampled(problem))
    assert not found.exact
    assert 1e-7 < found.max_abs_error < 1e-4


def test_texts_that_are_no_listing(run):
    made, problem, explained = run
    assert "it is refused" in listing_problems("import os", explained, problem)
    with pytest.raises(InputError, match="refused"):
        check_listing("import os", made.graph(), problem)
    short = 'import numpy as np\n\n__all__ = ["f"]\n\n\ndef f(x):\n    return np.zeros(1)\n'
    with pytest.raises(InputError, match="at every position"):
        check_listing(short, made.graph(), problem)


def test_whole_numbers_go_back_rounded(builder, integers_of):
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0, 1: 0.999})
    x = integers_of(1)
    problem = sampled(made.problem(x, np.cumsum(x, 1)))
    text = listing_source(made.explained(problem.validation), problem)
    assert check_listing(text, made.graph(), problem).max_abs_error < 1e-12
    unrounded = text.replace("np.floor(output[t] + 0.5)", "output[t]")
    assert check_listing(unrounded, made.graph(), problem).max_abs_error > 1e-3


def test_outputs_that_grow_without_end_are_judged_in_proportion(builder, integers_of):
    made = builder(layout=LOOP)
    made.output({0: 1.0, 1: 1e30})
    x = integers_of(1, low=1)
    problem = sampled(made.problem(x, x / 7))
    text = listing_source(made.explained(problem.validation), problem)
    assert check_listing(text, made.graph(), problem).exact
    assert check_listing(text.replace("1e+30", "1.000001e+30"), made.graph(), problem).exact is False


def test_a_formula_that_is_not_the_operator_is_found(run):
    made, problem, explained = run
    values = made.graph().stream(made.graph().encode(problem.validation)[0])
    fits = explained.operators
    assert formula_problems(made.graph(), fits, values) == ""
    fit = fits[2]
    other = replace(fit, formula=fit.formula + Const(1e-6))
    assert "V2_MLP_L0M0 is off by 1e-06, not by 0" in formula_problems(made.graph(), {2: other}, values)
    claimed = replace(other, max_error=1.0)
    assert "V2_MLP_L0M0" in formula_problems(made.graph(), {2: claimed}, values)


def test_a_stored_formula_that_is_wrong_is_not_listed(run):
    """The text cannot be brought to say what the operator is not."""
    made, problem, explained = run
    fit = explained.operators[2]
    forged = {2: replace(fit, formula=fit.formula + Const(1), exact_formula=fit.formula + Const(1))}
    text = listing_source(replace(explained, operators=forged), problem)
    assert check_listing(text, made.graph(), sampled(problem)).exact
    assert check_listing(
        listing_source(ExplainedGraph(made.graph(), {}, {}), problem), made.graph(), sampled(problem)
    ).exact
