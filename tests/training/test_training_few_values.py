"""A window on the few values that rows show to be enough, and when it comes before functions of pairs."""

from __future__ import annotations

import pytest

from weights2code.data import Problem, from_task
from weights2code.settings import Settings
from weights2code.tasks import get
from weights2code.training.few_values import few_values, may_add_up
from weights2code.training.focus import sufficient
from weights2code.training.ladder import FAST_LADDER, Rung, ladder_of


def rung(name: str) -> Rung:
    return next(rung for rung in FAST_LADDER if rung.name == name)


def problem(task: str) -> Problem:
    return from_task(get(task), 1000, 0, validation=64)


def test_the_window_reads_these_values_and_nothing_else():
    data = problem("tomita_4")
    leaves = sufficient(data)
    assert leaves is not None
    window = few_values(rung("few values"), data, leaves)
    assert window is not None
    assert window.kind == "window"
    assert sorted(window.leaves) == [(0, 0), (0, 1), (0, 2), (1, 0)]  # the last is the output one step back
    assert (window.sizes["location"], window.sizes["arity"]) == (2, 4)


def test_there_is_none_where_rows_show_nothing_or_outputs_may_not_be_read():
    data = problem("tomita_4")
    (tagging,) = (r for r in ladder_of(data, Settings(layout="tagging")) if r.name == "few values")
    assert few_values(rung("few values"), data, None) is None
    assert few_values(tagging, data, sufficient(data)) is None


@pytest.mark.parametrize(
    ("task", "leaves", "possible"),
    [
        ("Parity_Last2", [(0, 0), (0, 1)], True),
        ("Parity_Last4", [(0, 0), (0, 1), (0, 2), (0, 3)], False),
        ("parity_last3", [(0, 0), (0, 1), (0, 2)], False),
        ("sum_last3", [(0, 0), (0, 1), (0, 2)], True),
        ("bit_addition", [(0, 0), (1, 0), (2, 1), (0, 1), (1, 1)], False),
    ],
)
def test_the_rows_say_whether_functions_of_two_values_may_add_up_to_the_output(
    task: str, leaves: list, possible: bool
):
    assert may_add_up(rung("pairs"), problem(task), leaves) is possible


def test_only_rungs_of_such_functions_are_asked():
    data = problem("Parity_Last2")
    assert not may_add_up(rung("window"), data, [(0, 0), (0, 1)])
