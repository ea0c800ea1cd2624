"""Sequences: padding, domains, and what is refused."""

import numpy as np
import pytest

from weights2code.data import from_arrays, from_list
from weights2code.errors import InputError
from weights2code.language import BITS, integers, reals


def ragged():
    x = [np.arange(2.0)[:, None], np.arange(4.0)[:, None], np.array([[7.0]])]
    y = [np.stack([xi[:, 0] * 2, xi[:, 0] - 0.5], 1) for xi in x]
    return x, y


def test_arrays_of_one_length():
    x, y = np.zeros((3, 5, 2), int), np.ones((3, 5, 1), bool)
    sequences = from_arrays(x, y)
    assert len(sequences) == 3
    assert sequences.x.dtype == sequences.y.dtype == np.float64
    assert sequences.lengths.tolist() == [5, 5, 5]
    assert sequences.valid.all()


def test_lists_of_different_lengths_are_padded_at_the_end():
    x, y = ragged()
    sequences = from_list(x, y)
    assert sequences.x.shape == (3, 4, 1)
    assert sequences.y.shape == (3, 4, 2)
    assert sequences.lengths.tolist() == [2, 4, 1]
    assert sequences.valid.sum(1).tolist() == [2, 4, 1]
    for i, (xi, yi) in enumerate(zip(x, y, strict=True)):
        assert np.array_equal(sequences.x[i][sequences.valid[i]], xi)
        assert np.array_equal(sequences.y[i][sequences.valid[i]], yi)
    assert not sequences.x[~sequences.valid].any()


def test_take_keeps_inputs_targets_and_lengths_together():
    sequences = from_list(*ragged())
    taken = sequences.take(np.array([2, 0]))
    assert taken.lengths.tolist() == [1, 2]
    assert taken.x[0, 0, 0] == 7
    assert sequences.take(slice(1, None)).lengths.tolist() == [4, 1]


def test_domains_leave_the_padding_out():
    """The zeros of the padding are no data: a column of 3..5 is not made 0..5 by them."""
    x = [np.array([[3.0, 0.5], [4.0, 1.0]]), np.array([[5.0, 1.0]])]
    y = [np.array([[0.0], [1.0]]), np.array([[1.0]])]
    columns, outputs = from_list(x, y).domains()
    assert columns == (integers(3, 5), reals(0.5, 1.0))
    assert outputs == (BITS,)


@pytest.mark.parametrize(
    ("x_shape", "y_shape", "words"),
    [
        ((3, 5), (3, 5, 1), "must be"),
        ((3, 5, 1), (3, 5), "must be"),
        ((3, 5, 1), (2, 5, 1), "must be"),
        ((3, 5, 1), (3, 4, 1), "must be"),
        ((0, 5, 1), (0, 5, 1), "nothing to learn"),
        ((3, 0, 1), (3, 0, 1), "nothing to learn"),
        ((3, 5, 0), (3, 5, 1), "nothing to learn"),
        ((3, 5, 1), (3, 5, 0), "nothing to learn"),
    ],
)
def test_wrong_shapes_are_refused(x_shape, y_shape, words):
    with pytest.raises(InputError, match=words):
        from_arrays(np.ones(x_shape), np.ones(y_shape))


ONE, TWO = np.ones((3, 1)), np.ones((3, 2))


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([], [], "no sequences"),
        ([ONE], [ONE, ONE], "1 input sequences but 2"),
        ([np.ones(3)], [ONE], "sequence 0 must be"),
        ([ONE, np.ones((0, 1))], [ONE, np.ones((0, 1))], "sequence 1 must be"),
        ([ONE, ONE], [ONE, np.ones((2, 1))], "sequence 1 has 3 inputs but 2 targets"),
        ([ONE, TWO], [ONE, ONE], "sequence 1 has other columns"),
        ([ONE, ONE], [TWO, ONE], "sequence 1 has other columns"),
    ],
)
def test_wrong_lists_are_refused(x, y, words):
    with pytest.raises(InputError, match=words):
        from_list(x, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_are_refused(bad):
    x, y = np.ones((2, 3, 1)), np.ones((2, 3, 1))
    y[1, 2, 0] = bad
    with pytest.raises(InputError, match="targets hold values"):
        from_arrays(x, y)
    with pytest.raises(InputError, match="inputs hold values"):
        from_list(list(y), list(x))
