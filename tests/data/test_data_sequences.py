"""Sequences and layouts: what arrays mean, what stands where in the stream, and in which scales."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weights2code import tasks
from weights2code.data import LAYOUTS, Layout, fit_layout, from_arrays, from_list, from_task
from weights2code.data.own import from_table
from weights2code.data.shapes import given_by
from weights2code.errors import InputError
from weights2code.language import BITS, integers, reals

# -- sequences -----------------------------------------------------------------------------------------------


def ragged():
    x = [np.arange(2.0)[:, None], np.arange(4.0)[:, None], np.array([[7.0]])]
    return x, [np.stack([xi[:, 0] * 2, xi[:, 0] - 0.5], 1) for xi in x]


def test_lists_of_different_lengths_are_padded_at_the_end():
    x, y = ragged()
    sequences = from_list(x, y)
    assert (sequences.x.shape, sequences.y.shape) == ((3, 4, 1), (3, 4, 2))
    assert sequences.lengths.tolist() == sequences.valid.sum(1).tolist() == [2, 4, 1]
    for i, (xi, yi) in enumerate(zip(x, y, strict=True)):
        assert np.array_equal(sequences.x[i][sequences.valid[i]], xi)
        assert np.array_equal(sequences.y[i][sequences.valid[i]], yi)
    assert not sequences.x[~sequences.valid].any()
    taken = sequences.take(np.array([2, 0]))
    assert taken.lengths.tolist() == [1, 2]
    assert taken.x[0, 0, 0] == 7
    assert sequences.take(slice(1, None)).lengths.tolist() == [4, 1]


def test_domains_leave_the_padding_out():
    """The zeros of the padding are no data: a column of 3..5 is not made 0..5 by them."""
    x = [np.array([[3.0, 0.5], [4.0, 1.0]]), np.array([[5.0, 1.0]])]
    columns, outputs = from_list(x, [np.array([[0.0], [1.0]]), np.array([[1.0]])]).domains()
    assert (columns, outputs) == ((integers(3, 5), reals(0.5, 1.0)), (BITS,))


ONE, TWO = np.ones((3, 1)), np.ones((3, 2))


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.ones((3, 5)), np.ones((3, 5, 1)), "must be"), (np.ones((3, 5, 1)), np.ones((3, 5)), "must be"),
        (np.ones((3, 5, 1)), np.ones((2, 5, 1)), "must be"),
        (np.ones((3, 5, 1)), np.ones((3, 4, 1)), "must be"),
        (np.ones((0, 5, 1)), np.ones((0, 5, 1)), "nothing to learn"),
        (np.ones((3, 0, 1)), np.ones((3, 0, 1)), "nothing to learn"),
        (np.ones((3, 5, 0)), np.ones((3, 5, 1)), "nothing to learn"),
        (np.ones((3, 5, 1)), np.ones((3, 5, 0)), "nothing to learn"),
        ([], [], "no sequences"), ([ONE], [ONE, ONE], "1 input sequences but 2"),
        ([np.ones(3)], [ONE], "sequence 0 must be"),
        ([ONE, np.ones((0, 1))], [ONE, np.ones((0, 1))], "sequence 1 must be"),
        ([ONE, ONE], [ONE, np.ones((2, 1))], "sequence 1 has 3 inputs but 2 targets"),
        ([ONE, TWO], [ONE, ONE], "sequence 1 has other columns"),
        ([ONE, ONE], [TWO, ONE], "sequence 1 has other columns"),
        (np.ones((1, 3, 1)), np.full((1, 3, 1), np.nan), "targets hold values"),
        (np.ones((1, 3, 1)), np.full((1, 3, 1), -np.inf), "targets hold values"),
        ([np.full((3, 1), np.inf)], [ONE], "inputs hold values"),
    ],
)  # fmt: skip
def test_wrong_arrays_and_lists_are_refused(x, y, words: str):
    with pytest.raises(InputError, match=words):
        from_list(x, y) if isinstance(x, list) else from_arrays(x, y)


# -- what arrays of an estimator mean ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "axes", "form"),
    [
        ((4, 6), (4, 6), "auto", "sequences"), ((4, 6), (4, 6, 2), "sequences", "sequences"),
        ((4, 6, 3), (4, 6), "auto", "batch"), ((4, 6, 3), (4, 6, 2), "auto", "batch"),
        ((9, 3), (9,), "steps", "steps"), ((9, 3), (9, 2), "steps", "steps"),
        ((9, 3), (9,), "samples", "samples"), ((9, 3), (9, 2), "samples", "samples"),
    ],
)  # fmt: skip
def test_answers_have_the_shape_of_the_targets(x: tuple, y: tuple, axes: str, form: str):
    given = given_by(np.ones(x), np.ones(y), axes)
    assert given.form == form
    table, stand = given.rows(np.ones(x), np.ones(y))
    answers = np.stack([table.column(name).values for name in given.outputs], -1)
    assert np.shape(given.arrange(answers, stand.lengths)) == y
    assert given.rows(np.ones(x))[1].lengths.tolist() == stand.lengths.tolist()


def test_lists_keep_their_lengths_and_frames_their_names():
    lists = [np.ones(3), np.ones(5)], [np.ones(3), np.ones(5)]
    given = given_by(*lists)
    assert given.rows(*lists)[1].lengths.tolist() == [3, 5]
    assert [len(a) for a in given.arrange(np.ones((8, 1)), np.array([3, 5]))] == [3, 5]
    for library in pytest.importorskip("pandas"), pytest.importorskip("polars"):
        frame = library.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
        given = given_by(frame, np.arange(3))
        assert (given.inputs, given.form) == (("a", "b"), "steps")
        assert given.rows(frame)[0].column("b").values.tolist() == [4, 5, 6]
        with pytest.raises(InputError, match="feature names should match"):
            given.rows(library.DataFrame({"z": [1, 2, 3], "b": [4.0, 5.0, 6.0]}))


@pytest.mark.parametrize(
    ("x", "y", "axes", "part"),
    [
        (np.ones((10, 2)), np.ones(10), "auto", "axes='steps'.*axes='samples'"),
        (np.ones(10), np.ones(10), "auto", r"give \[X\] and \[y\]"),
        (np.ones((4, 6)), np.ones((4, 5)), "auto", "several things"),
        (np.ones((4, 6)), np.ones((4, 5)), "sequences", "shape of X"),
        (np.ones((4, 6, 2)), np.ones(4), "auto", r"\(n, T\)"),
        (np.ones((2, 2, 2, 2)), np.ones(2), "auto", "4 axes"),
        (np.full((4, 6), np.nan), np.ones((4, 6)), "auto", "missing value"),
        (np.array([["a"] * 6] * 4), np.ones((4, 5)), "auto", "several things"),
        (np.ones((4, 6)) * 1j, np.ones((4, 6)), "auto", "Complex"),
        (np.ones((4, 6)), None, "auto", "requires y"),
        (np.ones((4, 6)), np.ones((4, 6)), "rows", "unknown axes"),
        ([np.ones(3)], [np.ones(4)], "auto", r"X\[0\] has 3 steps but y\[0\] has 4"),
        ([np.ones(3)], np.ones(3), "auto", "must be one too"),
        (np.ones((0, 3)), np.ones((0, 3)), "auto", "0 sample"),
    ],
)
def test_the_unclear_is_refused_with_the_fix(x, y, axes: str, part: str):
    with pytest.raises(InputError, match=part):
        from_table(*given_by(x, y, axes).rows(x, y), 0)


# -- problems of tasks ---------------------------------------------------------------------------------------


def test_a_problem_repeats_with_its_seed_and_holds_what_the_task_says():
    task = tasks.get("magnetic")
    first, again, other = (from_task(task, 50, seed, validation=20) for seed in (1, 1, 2))
    assert np.array_equal(first.training.x, again.training.x)
    assert np.array_equal(first.validation.y, again.validation.y)
    assert not np.array_equal(first.training.x, other.training.x)
    assert (len(first.training), len(first.validation)) == (50, 20)
    assert (first.inputs, first.outputs, first.length) == (task.columns, task.outputs, task.length)
    assert first.training.y.shape == (50, task.length, 2)
    assert first.reference is task.machine
    y = first.training.y
    assert [domain.high for domain in first.output_domains] >= [y[..., 0].max(), y[..., 1].max()]
    for name, whole in (("parity", True), ("exponential_moving_average", False)):
        assert from_task(tasks.get(name), 200, seed=0).integer_outputs == whole


def test_fresh_inputs_can_be_drawn_at_any_length_which_must_be_positive():
    task = tasks.get("parity")
    sampler = from_task(task, 10, seed=0, validation=5).sampler
    assert sampler is not None
    first, again, other = (sampler(np.random.default_rng(seed), 7, 33) for seed in (5, 5, 6))
    assert first.shape == (7, 33, 1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert from_task(task, 10, seed=0, validation=5, length=4).training.x.shape == (10, 4, 1)
    for length, words in ((0, "nothing to learn"), (-1, "0 or more")):
        with pytest.raises(InputError, match=words):
            from_task(task, 10, seed=0, validation=5, length=length)


# -- layouts: places -----------------------------------------------------------------------------------------


def numbered(n: int = 3, length: int = 5, columns: int = 1, outputs: int = 1):
    """Sequences whose every value says what it is: x is 1.., y is 1000.., small enough for float32."""
    x = np.arange(n * length * columns, dtype=float).reshape(n, length, columns) + 1
    return from_arrays(x, np.arange(n * length * outputs, dtype=float).reshape(n, length, outputs) + 1000)


def plain(name: str, columns: int = 1, outputs: int = 1, first_scored: int = 0) -> Layout:
    """A layout that leaves the values as they are."""
    return Layout(name, (1.0,) * columns, (1.0,) * outputs, first_scored)


def test_tagging_carries_the_inputs_and_autoregressive_every_outputs_last_value_too():
    data = numbered(columns=2, outputs=2)
    for name in ("tagging", "autoregressive"):
        encoded = plain(name, 2, 2).encode(data)
        assert encoded.channels.dtype == encoded.targets.dtype == np.float32
        assert np.array_equal(encoded.channels[:2], data.x.transpose(2, 1, 0))
        assert np.array_equal(encoded.targets, data.y.transpose(2, 1, 0))
        assert encoded.channels.shape == (2 if name == "tagging" else 4, 5, 3)
        assert encoded.scored.shape == (5, 3)
        assert encoded.scored.all()
        for output, before in enumerate(encoded.channels[2:]):
            assert not before[0].any(), "nothing lies before the start"
            assert np.array_equal(before[1:], data.y[:, :-1, output].T)
    names = plain("autoregressive", 2, 2).channel_names(("a", "b"), ("y", "z"))
    assert names == ("a", "b", "y[t-1]", "z[t-1]")


@given(n=st.integers(1, 4), length=st.integers(1, 8))
def test_concat_offsets_are_those_of_the_design(n: int, length: int):
    """At the place of y_{t-1}: offset n-1 is x_t, n is x_{t-1}, 0 is y_{t-1} and 1 is y_{t-2}."""
    data = numbered(n, length)
    encoded = plain("concat").encode(data)
    token, target = encoded.channels[0], encoded.targets[0]
    assert token.shape == target.shape == encoded.scored.shape == (2 * length - 1, n)
    for t in range(1, length + 1):  # counted from 1, as in the paper
        place = length + (t - 1) - 1  # of y_{t-1}, or for t = 1 of x_n
        assert encoded.scored[place].all()
        assert np.array_equal(target[place], data.y[:, t - 1, 0])
        assert np.array_equal(token[place - (length - 1)], data.x[:, t - 1, 0])
        if t >= 2:
            assert np.array_equal(token[place - length], data.x[:, t - 2, 0])
            assert np.array_equal(token[place], data.y[:, t - 2, 0])
        if t >= 3:
            assert np.array_equal(token[place - 1], data.y[:, t - 3, 0])
    assert encoded.scored.sum() == n * length
    assert not encoded.scored[: length - 1].any()


@pytest.mark.parametrize(("columns", "outputs"), [(1, 2), (3, 1), (2, 2)])
def test_concat_tokens_are_as_wide_as_the_wider_side(columns: int, outputs: int):
    data, layout = numbered(columns=columns, outputs=outputs), plain("concat", columns, outputs)
    encoded, width = layout.encode(data), max(columns, outputs)
    assert layout.channels == encoded.channels.shape[0] == width
    assert len(layout.channel_names(("a",) * columns, ("b",) * outputs)) == width
    assert encoded.targets.shape == (outputs, 9, 3)
    assert np.array_equal(encoded.channels[:columns, :5], data.x.transpose(2, 1, 0))
    assert np.array_equal(encoded.channels[:outputs, 5:], data.y[:, :-1].transpose(2, 1, 0))
    assert not encoded.channels[columns:, :5].any()
    assert not encoded.channels[outputs:, 5:].any()


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_layout_shows_the_answer_early(name: str):
    """The channels up to position t never depend on the target at t or later."""
    data, layout = numbered(length=6), plain(name)
    before = layout.encode(data)
    for t in range(6):
        after = layout.encode(from_arrays(data.x, np.where(np.arange(6)[:, None] >= t, -5.0, data.y)))
        place = t if name != "concat" else 5 + t
        assert np.array_equal(after.channels[:, : place + 1], before.channels[:, : place + 1])
        assert not np.array_equal(after.targets[:, place], before.targets[:, place])


@pytest.mark.parametrize("name", LAYOUTS)
def test_first_positions_and_padding_are_not_scored(name: str):
    encoded = plain(name, first_scored=2).encode(numbered(n=4, length=5))
    offset = 4 if name == "concat" else 0
    assert encoded.scored.sum(0).tolist() == [3, 3, 3, 3]
    assert not encoded.scored[: offset + 2].any()
    x = [np.ones((length, 1)) for length in (2, 5, 3)]
    if name == "concat":
        with pytest.raises(InputError, match="one length"):
            plain(name).encode(from_list(x, x))
    else:
        encoded = plain(name, first_scored=1).encode(from_list(x, x))
        assert encoded.scored.sum(0).tolist() == [1, 4, 2]
        assert encoded.scored[:, 0].tolist() == [False, True, False, False, False]


# -- layouts: scales -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=5), st.sampled_from(LAYOUTS))
def test_scales_are_powers_of_two_that_fit_the_data(sizes: list[float], name: str):
    values = np.random.default_rng(0).normal(size=(20, 6, len(sizes))) * sizes
    data = from_arrays(values, values[..., :1] * 3)
    layout = fit_layout(name, data)
    scales = np.array(layout.input_scales + layout.output_scales)
    assert (np.frexp(scales)[0] == 0.5).all(), "a power of two has the mantissa one half"
    encoded = layout.encode(data)
    assert np.isfinite(encoded.channels).all()
    if name == "tagging":
        loudest = np.sqrt(np.square(encoded.channels).mean((1, 2)))
        assert (loudest <= 1).all()
        assert (loudest >= 1 / 16).all(), "at most a factor of 8 below the shared scale, and rounding up"


def test_columns_share_a_scale_where_they_are_alike():
    """A key column 0..3 and a query column 0..1 differ in size, and must still be comparable."""
    rng = np.random.default_rng(1)
    x = np.stack([rng.integers(0, 4, (50, 8)), rng.integers(0, 2, (50, 8))], -1)
    layout = fit_layout("tagging", from_arrays(x, x[..., :1]))
    assert layout.input_scales[0] == layout.input_scales[1]
    channels = layout.encode(from_arrays(x, x[..., :1])).channels
    assert np.array_equal(channels[0] == channels[1], (x[..., 0] == x[..., 1]).T)
    unlike = rng.normal(size=(50, 8, 3)) * [1.0, 1000.0, 1100.0]
    small, large, other = fit_layout("tagging", from_arrays(unlike, unlike[..., :1])).input_scales
    assert small < 4
    assert large == other >= 1000
    # one scalar sequence: x and y are told apart by their place, never by their unit
    layout = fit_layout("concat", from_arrays(unlike[..., :2], 300 * unlike[..., :1]))
    assert len({*layout.input_scales, *layout.output_scales}) == 1
    padded = [np.full((2, 1), 7.0), np.full((60, 1), 7.0)]
    assert fit_layout("tagging", from_list(padded, padded)).input_scales == (8.0,)
    zero = np.zeros((2, 3, 1))
    for name in LAYOUTS:
        layout = fit_layout(name, from_arrays(zero, zero))
        assert layout.input_scales == layout.output_scales == (1.0,)


def test_layouts_survive_the_way_through_a_file_and_unknown_ones_are_refused():
    layout = Layout("concat", (2.0, 2.0), (2.0,), first_scored=3)
    assert Layout.from_dict(layout.to_dict()) == layout
    with pytest.raises(InputError, match="unknown layout 'diagonal'; choose one of tagging"):
        fit_layout("diagonal", numbered())
    with pytest.raises(InputError, match="unknown layout 'diagonal'"):
        Layout.from_dict({**plain("tagging").to_dict(), "name": "diagonal"})
