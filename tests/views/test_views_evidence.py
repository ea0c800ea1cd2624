"""What rows show of a view: contradictions, what is enough, what rests on little; and which view is next."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, from_arrays, from_lists
from weights2code.extraction.by_rows import Search
from weights2code.extraction.values import Log
from weights2code.language import BITS, Recurrence, Step, Var, integers, op
from weights2code.views.agenda import Agenda
from weights2code.views.evidence import Evidence
from weights2code.views.families import UPDATES, Source, updated
from weights2code.views.features import BEFORE, Feature, View, priced
from weights2code.views.rows import Rows

X = Var("x")


def problem_of(rule: Recurrence, low: int = 0, high: int = 1, count: int = 400, length: int = 12) -> Problem:
    rng = np.random.default_rng(0)
    x = rng.integers(low, high + 1, (count, length, len(rule.inputs))).astype(float)
    data = from_arrays(x, rule.run(x))
    parts = data.take(slice(0, count // 2)), data.take(slice(count // 2, None))
    domains = (BITS if (low, high) == (0, 1) else integers(low, high),) * len(rule.inputs)
    return Problem("p", rule.inputs, rule.outputs, domains, data.domains()[1], *parts, length)


def test_rows_that_agree_and_differ_contradict_and_chance_is_counted():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 500)).astype(float)
    rows = Evidence((a != b).astype(float))
    found, chance = rows.contradicted([a])
    assert found > 100
    found, chance = rows.contradicted([a, b])
    assert found == 0
    assert chance > 100
    found, chance = rows.contradicted([np.arange(500.0)])
    assert (found, chance) == (0, 0)  # nobody agrees with anybody: that shows nothing


def test_what_is_not_needed_goes_and_little_evidence_waits():
    rule = Recurrence(("x",), (Step("y", op("ne", X, Var("x", 1))),), ("y",))
    rows = Rows.of(problem_of(rule, 0, 9))[0]
    lags = tuple(Feature("visible", Var("x", lag), 1 + 0.3 * lag) for lag in range(6))
    assert rows.enough(lags[:3])
    assert rows.smallest(lags[:3]) == lags[:2]
    assert rows.enough(lags)
    assert not rows.enough(lags[:1])
    assert rows.thin(lags) > rows.thin(lags[:2])


def test_a_register_is_offered_as_it_is_and_one_step_earlier():
    source = Source(*(lambda p: (p, p.training))(problem_of(Recurrence(("x",), (Step("y", X),), ("y",)))))
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
    problem = problem_of(Recurrence(("x",), (Step("y", X),), ("y",)))
    view = View.of(problem, [(*counts, counts[0])])
    assert [step.name for step in view.steps] == ["total", "total2"]
    assert view.leaves == ((Var("total"), Var("total2")),)


def test_the_agenda_gives_what_is_cheap_first_and_comes_back_with_more_effort():
    rule = Recurrence(("x",), (Step("y", op("ne", X, Var("x", 1))),), ("y",))
    agenda = Agenda(Rows.of(problem_of(rule))[0])
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


KEPT = Recurrence(
    ("x",), (Step("s", op("where", X > 2, X, Var("s", 1))), Step("y", Var("s") > X + 1)), ("y",)
)
ROUND = Recurrence(("x",), (Step("t", Var("t", 1) + X), Step("y", (Var("t") % 7).equals(0))), ("y",))


@pytest.mark.parametrize(("rule", "family"), [(KEPT, "last"), (ROUND, "total")])
def test_what_is_remembered_is_found_from_rows(rule: Recurrence, family: str):
    problem = problem_of(rule, 0, 4)
    words, found = next(Search(problem, Log()).rules())
    assert family in words
    assert np.array_equal(found.run(problem.validation.x), problem.validation.y)


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
    assert next(Search(problem, Log(), effort=6.0).rules(), None) is None
