"""Problems made from built-in tasks: seeded, of any length, training and validation drawn apart."""

import numpy as np
import pytest

from weights2code import tasks
from weights2code.data import from_task
from weights2code.errors import InputError


def test_a_problem_repeats_with_its_seed():
    task = tasks.get("sum_last2")
    first, again, other = (from_task(task, 50, seed, validation=20) for seed in (1, 1, 2))
    assert np.array_equal(first.training.x, again.training.x)
    assert np.array_equal(first.validation.y, again.validation.y)
    assert not np.array_equal(first.training.x, other.training.x)


def test_a_problem_holds_what_the_task_says():
    task = tasks.get("magnetic")
    problem = from_task(task, 50, seed=0, validation=20)
    assert (len(problem.training), len(problem.validation)) == (50, 20)
    assert (problem.inputs, problem.outputs) == (task.columns, task.outputs)
    assert len(problem.outputs) == 2
    assert problem.training.y.shape == (50, task.length, 2)
    assert problem.length == task.length
    assert problem.reference is task.machine
    y = problem.training.y
    assert [domain.high for domain in problem.output_domains] >= [y[..., 0].max(), y[..., 1].max()]


def test_fresh_inputs_can_be_drawn_at_any_length():
    problem = from_task(tasks.get("parity"), 10, seed=0, validation=5)
    assert problem.sampler is not None
    first, again, other = (problem.sampler(np.random.default_rng(seed), 7, 33) for seed in (5, 5, 6))
    assert first.shape == (7, 33, 1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_length_can_be_chosen_and_must_be_positive():
    task = tasks.get("parity")
    assert from_task(task, 10, seed=0, validation=5, length=4).training.x.shape == (10, 4, 1)
    with pytest.raises(InputError, match="nothing to learn"):
        from_task(task, 10, seed=0, validation=5, length=0)
    with pytest.raises(InputError, match="0 or more"):
        from_task(task, 10, seed=0, validation=5, length=-1)


@pytest.mark.parametrize(("name", "whole"), [("parity", True), ("exponential_moving_average", False)])
def test_whole_outputs_are_known_as_such(name, whole):
    assert from_task(tasks.get(name), 200, seed=0).integer_outputs == whole
