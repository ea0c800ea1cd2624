"""What rows show of a view: contradictions, what is enough, what rests on little; and which view is next."""

from __future__ import annotations

import numpy as np
import pytest

from case_table import in_text, rows, rule
from weights2code.data import Problem, from_arrays, from_lists
from weights2code.extraction.by_rows import Search
from weights2code.extraction.values import Log
from weights2code.language import BITS, Domain, Recurrence, Step, Var, integers, op
from weights2code.verify.residuals import flips
from weights2code.views.agenda import Agenda
from weights2code.views.evidence import Evidence
from weights2code.views.families import UPDATES, Source, updated
from weights2code.views.features import BEFORE, Feature, View, priced
from weights2code.views.rows import Rows

X = Var("x")
DIFFERS = rule(y=op("ne", X, Var("x", 1)))


def problem_of(made: Recurrence, domain: Domain = BITS) -> Problem:
    x = rows((domain,), 400, 12)
    data = from_arrays(x, made.run(x))
    parts = data.take(slice(0, 200)), data.take(slice(200, None))
    return Problem("p", made.inputs, made.outputs, (domain,), data.domains()[1], *parts, 12)


def test_rows_that_agree_and_differ_contradict_and_chance_is_counted():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 500)).astype(float)
    seen = Evidence((a != b).astype(float))
    assert seen.contradicted([a])[0] > 100
    found, chance = seen.contradicted([a, b])
    assert found == 0
    assert chance > 100
    assert tuple(seen.contradicted([np.arange(500.0)])) == (0, 0)  # nobody agrees: that shows nothing


def test_what_is_not_needed_goes_and_little_evidence_waits():
    seen = Rows.of(problem_of(DIFFERS, integers(0, 9)))[0]
    lags = tuple(Feature("visible", Var("x", lag), 1 + 0.3 * lag) for lag in range(6))
    assert [seen.enough(lags[:n]) for n in (3, 6, 1)] == [True, True, False]
    assert seen.smallest(lags[:3]) == lags[:2]
    assert seen.thin(lags) > seen.thin(lags[:2])


def test_a_register_is_offered_as_it_is_and_one_step_earlier():
    problem = problem_of(rule(y=X))
    source = Source(problem, problem.training)
    assert any(not update.running for update in UPDATES)
    batch = next(updated(source, running=False))
    values, many = batch.values(), len(batch.chosen)
    now, before = batch.feature(0), batch.feature(many)
    assert (now.read.lag, before.read.lag) == (0, 1)
    assert before.cost > now.cost
    assert np.array_equal(values[many][:, 1:], values[0][:, :-1])
    names = source.names
    for place in (0, many):
        assert np.array_equal(batch.feature(place).values(source.sequences, names), values[place])
    some = batch.some(np.array([many]))
    assert some.feature(0) == now


def test_what_lies_before_the_start_is_nothing_unless_a_register_says_it():
    step = Step("s'", Var("s'", 1) + X)
    sequences = from_arrays(np.ones((1, 3, 1)), np.zeros((1, 3, 1)))
    register = Feature("register", Var("s'", 1), 1.0, (step,), (("s'", 5.0),))
    assert register.values(sequences, ("x", "y")).tolist() == [[5.0, 6.0, 7.0]]
    assert Feature("visible", Var("x", 1), 1.0).values(sequences, ("x", "y"))[0, 0] == BEFORE


def test_features_of_one_kind_are_cheaper_together_and_equal_steps_are_one():
    steps = (Step("total'", Var("total'", 1) + X.equals(value)) for value in (0, 1))
    counts = [Feature("running", Var("total'"), 3.0, (step,), like="x") for step in steps]
    assert priced(counts) == pytest.approx(4.5)
    view = View.of(problem_of(rule(y=X)), [(*counts, counts[0])])
    assert [step.name for step in view.steps] == ["total", "total2"]
    assert view.leaves == ((Var("total"), Var("total2")),)


def test_the_agenda_gives_what_is_cheap_first_and_comes_back_with_more_effort():
    agenda = Agenda(Rows.of(problem_of(DIFFERS))[0])
    while agenda.hungry:
        agenda.open()
    first = agenda.take()
    assert first is not None
    assert {str(feature) for feature in first.features} == {"x[t]", "x[t-1]"}
    agenda.again(first)
    again = agenda.take()
    assert again is not None
    assert again.features == first.features
    agenda.drop(first)
    left = []
    while (asked := agenda.take()) is not None:
        left.append(asked)
    assert all(asked.features != first.features for asked in left)
    assert [asked.place for asked in left] == sorted(asked.place for asked in left)


@pytest.mark.parametrize(
    ("steps", "high", "family"),
    [
        ("s[t] = x[t] if x[t] > 2 else s[t-1]; y[t] = s[t] > x[t] + 1", 4, "last"),
        ("n[t] = n[t-1] + x[t]; y[t] = n[t] % 7 == 0", 4, "total"),
        ("n[t] = (n[t-1] + 1) % 2; y[t] = y[t-1] + x[t] if n[t] == 1 else y[t-1] - x[t]", 4, "clock"),
        ("n[t] = clip(n[t-1] + x[t] - 3, 0, 20); y[t] = n[t] > 10", 7, "level"),
        ("m[t] = max(m[t-1], x[t]); y[t] = max(y[t-1], min(x[t], m[t-1]))", 30, "most"),
        ("n[t] = (n[t-1] + (x[t] == 2) - (x[t] == 3)) % 4; y[t] = n[t]*(x[t] < 2)", 3, "== 2] - [x[t] == 3]"),
        ("y[t] = (x[t] + y[t-2] + y[t-3] + y[t-5]) % 2", 1, "linear"),
        (
            "a[t] = max(a[t-1] + (x[t] == 0) - (x[t] == 1), 0);"
            " b[t] = max(b[t-1] + (x[t] == 2) - (x[t] == 3), 0); y[t] = a[t] + b[t] == 0",
            3,
            "together",
        ),
    ],
)
def test_what_is_remembered_is_found_from_rows(steps: str, high: int, family: str):
    problem = problem_of(in_text(steps), integers(0, high))
    words, found = next(Search(problem, Log()).rules())
    assert family in words
    assert np.array_equal(found.run(problem.validation.x), problem.validation.y)


def test_what_is_hopeless_does_not_keep_families_closed():
    agenda = Agenda(Rows.of(problem_of(rule(y=X)))[0])
    while (asked := agenda.take()) is None:
        agenda.open()
    agenda.next_family = 100.0
    agenda.drop(asked)
    assert agenda.hungry


def test_reals_lie_near_a_plane_through_their_neighbours():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    seen = Evidence(3 * a - 2 * b)
    assert seen.near([a, b]) < 1e-6 < 0.1 < seen.near([a])
    assert seen.near([a[:8], b[:8]]) == 1.0  # too few to say


def test_a_rule_that_is_right_as_often_as_the_commonest_output_is_none():
    rng = np.random.default_rng(0)
    y = (rng.integers(0, 7, (40, 30, 1)) == 0).astype(float)
    found = flips(rule(y="0"), from_arrays(np.zeros((40, 30, 1)), y), one_step=False)
    assert "better than guessing" in found.structure


def test_a_total_that_hardly_repeats_is_found_by_near_rows():
    rng = np.random.default_rng(0)
    amount, returned = rng.integers(1, 61, (60, 20)), rng.integers(0, 5, (60, 20)) == 0
    total = np.cumsum(np.where(returned, 0, amount), axis=1)
    x = np.stack([amount, returned], 2).astype(float)
    y = np.where(total < 200, 5.0, 2.0)[..., None]
    problem = from_lists(list(x), list(y), ("amount", "returned"), ("fee",), seed=0)
    _, found = next(Search(problem, Log()).rules())
    assert np.array_equal(found.run(problem.validation.x), problem.validation.y)


def test_labels_drawn_at_random_give_no_rule():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, 60, 20, 1)).astype(float)
    problem = from_lists(list(x), list(y), ("x",), ("y",), seed=0)
    assert next(Search(problem, Log(), effort=2.0).rules(), None) is None
