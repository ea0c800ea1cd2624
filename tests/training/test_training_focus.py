"""What the data show to be enough."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, from_arrays, from_task
from weights2code.language import BITS, Recurrence, Step, Var, maximum
from weights2code.tasks import get
from weights2code.training.focus import sufficient, with_last_outputs


def problem(task: str) -> Problem:
    return from_task(get(task), 1000, 0, validation=8)


@pytest.mark.parametrize(
    ("task", "enough"),
    [
        ("bit_addition", [(0, 0), (1, 0), (2, 1), (0, 1), (1, 1)]),
        ("Parity_Last4", [(0, 0), (0, 1), (0, 2), (0, 3)]),
        ("add_mod_3", None),
    ],
)
def test_a_few_values_are_found_to_be_enough(task: str, enough: list | None):
    found = sufficient(problem(task))
    if enough is None:
        assert found is not None
        assert len(found) <= 3
    else:
        assert found is not None
        assert set(found) == set(enough)


def test_no_value_is_enough_for_what_must_be_remembered_or_is_real():
    assert sufficient(problem("Bit_Palindrome")) is None
    assert sufficient(problem("freebody")) is None


def test_older_outputs_that_only_show_inputs_are_spared():
    above = Step("above", Var("x") + Var("x", 1) + Var("x", 2) + Var("x", 3) > 1)
    late = 2 * Var("above") + Var("above", 2)
    machine = Recurrence(("x",), (above, Step("y", maximum(late, Var("y", 1) - 1))), ("y",))
    x = np.random.default_rng(0).integers(0, 2, (2000, 14, 1)).astype(float)
    data = from_arrays(x, machine.run(x))
    read = Problem("p", ("x",), ("y",), (BITS,), data.domains()[1], data, data, 14, machine)
    known = sufficient(read)
    assert known is not None
    assert any(column == 1 and lag > 1 for column, lag in known)
    assert set(with_last_outputs(read, known) or ()) == {(1, 1), *((0, lag) for lag in range(6))}
    few = [(0, 0), (1, 2)]
    assert with_last_outputs(read, few) == few  # the others would be more
    assert with_last_outputs(read, None) is None


def test_near_values_are_asked_at_every_position_that_has_them():
    """Where rows are few, those at which older values are lacking decide."""
    x = np.random.default_rng(0).integers(0, 10, (204, 16)).astype(float)
    padded = np.pad(x, ((0, 0), (2, 0)))
    largest = np.maximum(np.maximum(padded[:, 2:], padded[:, 1:-1]), padded[:, :-2])
    data = from_arrays(x[..., None], largest[..., None])
    found = sufficient(Problem("p", ("x",), ("y",), *data.domains(), data, data, 16, None))
    assert found is not None
    assert set(found) == {(0, 0), (0, 1), (0, 2)}
