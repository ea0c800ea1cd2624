"""Sampling, and asking for the right answer."""

import subprocess
import sys

import numpy as np
import pytest

from weights2code import tasks
from weights2code.errors import InputError
from weights2code.language.exact import run_exact

EVERY = pytest.mark.parametrize("task", tasks.all_tasks(), ids=lambda task: task.name)


@EVERY
def test_samples_have_the_declared_shape_and_lie_in_the_domain(task):
    x, y = task.sample(300, seed=1)
    assert x.shape == (300, task.length, len(task.columns))
    assert y.shape == (300, task.length, len(task.outputs))
    assert x.dtype == y.dtype == np.float64
    for column, domain in enumerate(task.domains):
        values = x[:, :, column]
        assert domain.low <= values.min()
        assert values.max() <= domain.high
        if domain.discrete and domain.high - domain.low < 20:
            assert set(values.ravel()) == set(domain.values())


@EVERY
def test_outputs_are_whole_where_they_say_so_and_never_broken(task):
    _, y = task.sample(300, length=60, seed=2)
    assert np.isfinite(y).all()
    assert task.integer_outputs == bool((y == np.round(y)).all())


@EVERY
def test_the_reference_repeats_the_sample(task):
    x, y = task.sample(20, seed=3)
    reference = task.reference(x if len(task.columns) > 1 else x[:, :, 0])
    np.testing.assert_array_equal(reference.reshape(y.shape), y)
    assert reference.ndim == (2 if len(task.outputs) == 1 else 3)


@EVERY
def test_answers_do_not_look_ahead(task):
    x, y = task.sample(20, length=12, seed=4)
    np.testing.assert_array_equal(task.machine.run(x[:, :7]), y[:, :7])


@EVERY
def test_no_positions_and_no_sequences(task):
    wide = (len(task.outputs),) if len(task.outputs) > 1 else ()
    columns = len(task.columns)
    assert task.reference(np.empty((3, 0, columns))).shape == (3, 0, *wide)
    assert task.reference(np.empty((0, 5, columns))).shape == (0, 5, *wide)
    assert task.sample(2, length=0)[0].shape == (2, 0, columns)
    assert task.sample(2, length=1)[1].shape == (2, 1, len(task.outputs))


def test_a_seed_names_a_sample():
    task = tasks.get("sum")
    first, again, other = (task.sample(5, seed=seed)[0] for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_many_sequences_are_answered_in_blocks_without_a_seam():
    task = tasks.get("bit_addition")
    x, y = task.sample(20_001, seed=1)
    np.testing.assert_array_equal(y, task.machine.run(x))


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("sum", [1, 2, 3], r"shape \(n, T\) or \(n, T, 1\), not \(3,\); add the axis of sequences"),
        ("sum", np.zeros((2, 3, 2)), r"1 column \(x\)"),
        ("bit_addition", np.zeros((4, 10)), r"2 columns \(a, b\): give an array of shape \(n, T, 2\)"),
        ("bit_addition", np.zeros((4, 10, 3)), r"not \(4, 10, 3\)"),
        ("sum", [[1, 2], [1]], "different lengths"),
        ("sum", [["one"]], "must be numbers"),
        ("sum", [[1, float("nan")]], "finite"),
    ],
)
def test_unusable_inputs_are_refused_with_the_fix(name, inputs, message):
    with pytest.raises(InputError, match=message):
        tasks.get(name).reference(inputs)


@pytest.mark.parametrize(("n", "length"), [(-1, 10), (1, -10)])
def test_negative_sizes_are_refused(n, length):
    with pytest.raises(InputError, match="0 or more"):
        tasks.get("sum").sample(n, length)


def test_double_precision_is_exact_up_to_the_stated_length_for_palindromes():
    task = tasks.get("Bit_Palindrome")
    x, y = task.sample(6, length=task.exact_length, seed=5)
    inputs = np.concatenate([x, np.ones_like(x[:1])])
    np.testing.assert_array_equal(task.machine.run(inputs), run_exact(task.machine, inputs))
    np.testing.assert_array_equal(task.machine.run(x), y)


def test_double_precision_is_exact_up_to_the_stated_length_in_the_magnetic_field():
    task = tasks.get("magnetic")
    length = task.exact_length
    assert length is not None
    # the farthest that px can get: push in the direction of its response to a single push
    pushes = np.zeros((2, length, 2))
    pushes[0, 0, 0] = pushes[1, 0, 1] = 1
    response = task.machine.run(pushes)[:, :, 0].T
    farthest = 10 * np.sign(response[None, ::-1])
    exact = run_exact(task.machine, farthest)
    assert 2**52 < np.abs(exact).max() < 2**53
    np.testing.assert_array_equal(task.machine.run(farthest), exact)


def test_long_palindromes_are_still_told_apart():
    half = np.random.default_rng(6).integers(0, 2, 100)
    palindrome = np.concatenate([half, half[::-1]])
    spoilt = palindrome.copy()
    spoilt[30] ^= 1
    assert tasks.get("Bit_Palindrome").reference([palindrome, spoilt])[:, -1].tolist() == [1, 0]


def test_planted_palindromes_have_every_length_from_two():
    _, y = tasks.get("Bit_Palindrome").sample(20_000, seed=1)
    share = y[:, :, 0].mean(axis=0)
    assert share[0] == 1
    # planting adds 1/9 to what chance gives a prefix of that length, 2^-(length // 2)
    assert share[9] == pytest.approx(1 / 9 + 8 / 9 / 32, abs=0.02)
    assert tasks.get("Bit_Palindrome").sample(3, length=1)[1].tolist() == [[[1.0]]] * 3


def test_importing_tasks_stays_light():
    code = (
        "import sys, weights2code.tasks; print({'torch', 'sympy', 'z3', 'scipy', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
