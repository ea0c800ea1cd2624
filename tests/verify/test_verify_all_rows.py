"""Programs over all rows of own data: what can be judged after a gap, and what cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Rows, from_lists
from weights2code.data.parts import MOST_JUDGED, all_rows, divide
from weights2code.language import BITS, Count, Recurrence, Step, Var, integers, op, reals, where
from weights2code.verify.all_rows import over_all
from weights2code.verify.certificate import Certificate
from weights2code.verify.own_data import certify_measured

a, b, s1, y1 = Var("a"), Var("b"), Var("s", 1), Var("y", 1)
DOMAINS = (integers(0, 2), BITS)
#: What is remembered is seen; what is remembered is a counter of which only the top shows.
SHOWN = Recurrence(("a", "b"), (Step("y", (y1 + a + 2 * b) % 7),), ("y",))
COUNTED = Recurrence(
    ("a", "b"),
    (
        Step("s", where(b > 0, op("min", s1 + 1, 4), where(a.equals(0), op("max", s1 - 1, 0), s1))),
        Step("y", Var("s") >= 3),
    ),
    ("y",),
)


def data(rule: Recurrence, rows: int = 2000, gaps: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """One sequence of a rule's rows, in some of which `a` is missing, first in row 41."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, 3, rows), rng.integers(0, 2, rows)], 1).astype(float)
    y = rule.run(x[None])[0]
    x[np.append(rng.choice(np.arange(50, rows), gaps - 1, replace=False), 41), 0] = np.nan
    return x, y


def certificate(rule: Recurrence, truth: Recurrence) -> Certificate:
    x, y = data(truth)
    problem = from_lists([x], [y], ("a", "b"), ("y",), seed=0, missing="drop")
    return certify_measured(rule, problem.uncut or problem, 0)


def test_every_piece_is_judged_from_its_given_past():
    found = certificate(SHOWN, SHOWN)
    assert found.verdict == "tested"
    assert found.rows is not None
    assert (found.rows.judged, found.rows.right, found.rows.of) == (1960, 1960, 2000)  # each gap costs two
    assert "1960 of 2000 rows could be judged, 1960 of them right" in found.method
    assert Certificate.from_dict(found.to_dict()).rows == found.rows


def test_a_wrong_start_is_wrong_in_the_first_piece_alone():
    found = certificate(replace(SHOWN, start={"y": 3.0}), SHOWN)
    assert found.verdict == "failed"
    x, y = data(SHOWN)
    problem = from_lists([x], [y], ("a", "b"), ("y",), seed=0, missing="drop")
    assert problem.rows is not None
    told = over_all(replace(SHOWN, start={"y": 3.0}), problem.rows, DOMAINS, near=0.5)
    wrong = told.judged & (np.abs(told.answers - problem.rows.y) > 0.5).any(1)
    assert np.flatnonzero(wrong).tolist() == list(range(41))


def test_a_hidden_state_is_judged_from_where_it_is_known():
    found = certificate(COUNTED, COUNTED)
    assert found.verdict == "tested"
    assert found.rows is not None
    assert found.rows.right == found.rows.judged
    assert 1800 < found.rows.judged < 1960


def test_what_the_only_true_start_does_not_show_is_judged():
    """Within 41 rows two programs are the same, and later they are not."""
    x, y = data(COUNTED)
    once = Var("once", 1)
    other = Recurrence(
        ("a", "b"),
        (*COUNTED.steps[:1], Step("once", op("min", once + 1, 50)), Step("y", (Var("s") >= 3) * (once < 50))),
        ("y",),
    )
    assert np.array_equal(other.run(x[None, :41]), y[None, :41])
    found = certificate(other, COUNTED)
    assert found.verdict == "failed"
    assert "wrong elsewhere" in found.method
    assert found.rows is not None
    assert found.rows.right is not None
    assert found.accuracy == found.rows.right / found.rows.judged


@pytest.mark.parametrize(
    "rule",
    [
        Recurrence(("a", "b"), (Step("s", s1 + a), Step("y", Var("s") % 50 > 30)), ("y",)),
        Recurrence(("a", "b"), (Step("y", Count("a", Var("a"), "eq")),), ("y",)),
    ],
)
def test_what_has_no_end_is_not_known_after_a_gap(rule: Recurrence):
    found = certificate(rule, rule)
    assert found.verdict == "failed"
    assert "what the program remembers is not known in 19" in found.method
    assert "41 of 2000 rows could be judged, 41 of them right" in found.method


def test_a_machine_of_which_little_was_seen_is_not_tested():
    """A table of 60 states, one for each row since the start, says nothing that rows had not said."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, (60, 1)).astype(float), rng.integers(0, 2, (60, 1)).astype(float)
    answer = Var("a") * 0
    for place in np.flatnonzero(y[:, 0]):
        answer = where(s1.equals(int(place)), 1, answer)
    table = Recurrence(("a",), (Step("s", op("min", s1 + 1, 60)), Step("y", answer + 0 * a)), ("y",))
    problem = from_lists([x], [y], ("a",), ("y",), seed=0)
    found = certify_measured(table, problem, 0)
    assert found.accuracy == 1.0
    assert found.verdict == "failed"
    assert "most of its transitions were never seen, the rows show 59 of 540" in found.method


def test_reals_are_run_in_stretches():
    rows = Rows(np.ones((5000, 1)), np.zeros((5000, 1)), np.array([5000]), np.array([True]), 5000)
    rule = Recurrence(("x",), (Step("y", y1 + Var("x")),), ("y",))
    told = over_all(rule, rows, (reals(0, 1),), near=1.0, cut=True)
    assert told.judged.all()
    assert told.answers.max() <= 1000
    assert over_all(rule, rows, (reals(0, 1),), near=1.0).answers.max() == 5000


def test_a_piece_after_a_gap_is_no_true_start():
    """However short it is: what came before one row is as unknown as what came before many."""
    lengths = np.array([40, *[1, 2, 3] * 9, *[60] * 20])
    starts = [True, *[False] * (len(lengths) - 1)]
    parts = divide(lengths, 0, starts)
    begun = {p.sequence for pieces in (parts.training, parts.validation) for p in pieces if not p.context}
    assert begun == {0}  # and it is learned from
    assert not any(p.sequence == 0 for p in parts.held_out)
    assert parts.beginnings is not None
    assert [p.sequence for p in parts.beginnings] == [0]


def test_no_more_rows_are_judged_than_can_be_run():
    assert sum(p.last for p in all_rows(np.array([10 * MOST_JUDGED]))) == MOST_JUDGED
    assert MOST_JUDGED // 2 < sum(p.last for p in all_rows(np.full(1000, 500))) <= MOST_JUDGED
    assert [p.last for p in all_rows(np.array([3, 5, 4]))] == [3, 5, 4]
