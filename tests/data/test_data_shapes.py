"""What arrays mean, and that the unclear is refused with the fix named."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data.shapes import read_inputs, read_pair
from weights2code.errors import InputError


@pytest.mark.parametrize(
    ("x", "y", "axes", "form", "answer"),
    [
        (np.ones((4, 6)), np.ones((4, 6)), "auto", "sequences", (4, 6)),
        (np.ones((4, 6)), np.ones((4, 6, 2)), "sequences", "sequences", (4, 6, 2)),
        (np.ones((4, 6, 3)), np.ones((4, 6)), "auto", "batch", (4, 6)),
        (np.ones((4, 6, 3)), np.ones((4, 6, 2)), "auto", "batch", (4, 6, 2)),
        (np.ones((9, 3)), np.ones(9), "steps", "steps", (9,)),
        (np.ones((9, 3)), np.ones((9, 2)), "steps", "steps", (9, 2)),
        (np.ones((9, 3)), np.ones(9), "samples", "samples", (9,)),
        (np.ones((9, 3)), np.ones((9, 2)), "samples", "samples", (9, 2)),
    ],
)
def test_answers_have_the_shape_of_the_targets(x, y, axes, form, answer):
    given, xs, ys = read_pair(x, y, axes)
    assert given.form == form
    assert [len(a) for a in xs] == [len(b) for b in ys]
    assert np.shape(given.arrange(ys)) == answer
    assert [a.shape for a in read_inputs(x, given)] == [a.shape for a in xs]


def test_lists_keep_their_lengths():
    given, xs, ys = read_pair([np.ones(3), np.ones(5)], [np.ones(3), np.ones(5)])
    assert [x.shape for x in xs] == [(3, 1), (5, 1)]
    assert [len(a) for a in given.arrange(ys)] == [3, 5]


def test_frames_are_one_sequence_with_names():
    frames = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for library in frames:
        frame = library.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
        given, xs, _ = read_pair(frame, np.arange(3))
        assert given.inputs == ("a", "b")
        assert given.form == "steps"
        assert xs[0].tolist() == [[1, 4], [2, 5], [3, 6]]
        with pytest.raises(InputError, match="feature names should match"):
            read_inputs(
                frame.rename(columns={"a": "z"}) if library is frames[0] else frame.rename({"a": "z"}), given
            )


@pytest.mark.parametrize(
    ("x", "y", "axes", "part"),
    [
        (np.ones((10, 2)), np.ones(10), "auto", "axes='steps'.*axes='samples'"),
        (np.ones(10), np.ones(10), "auto", r"give \[X\] and \[y\]"),
        (np.ones((4, 6)), np.ones((4, 5)), "auto", "several things"),
        (np.ones((4, 6)), np.ones((4, 5)), "sequences", "shape of X"),
        (np.ones((4, 6, 2)), np.ones(4), "auto", r"\(n, T\)"),
        (np.ones((2, 2, 2, 2)), np.ones(2), "auto", "4 axes"),
        (np.full((4, 6), np.nan), np.ones((4, 6)), "auto", "NaN"),
        (np.array([[b"a"] * 6] * 4), np.ones((4, 6)), "auto", "encode"),
        (np.array([["a"] * 6] * 4), np.ones((4, 5)), "auto", "several things"),
        (np.ones((4, 6)) * 1j, np.ones((4, 6)), "auto", "Complex"),
        (np.ones((4, 6)), None, "auto", "requires y"),
        (np.ones((4, 6)), np.ones((4, 6)), "rows", "unknown axes"),
        ([np.ones(3)], [np.ones(4)], "auto", r"X\[0\] has 3 steps but y\[0\] has 4"),
        ([np.ones(3)], np.ones(3), "auto", "must be one too"),
        (np.ones((0, 3)), np.ones((0, 3)), "auto", "0 sample"),
    ],
)
def test_the_unclear_is_refused(x, y, axes, part):
    with pytest.raises(InputError, match=part):
        read_pair(x, y, axes)
