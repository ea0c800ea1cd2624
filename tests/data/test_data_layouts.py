"""Layouts: what stands where in the stream, and scales that can be undone exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weights2code.data import LAYOUTS, Layout, fit_layout, from_arrays, from_list
from weights2code.errors import InputError


def numbered(n=3, length=5, columns=1, outputs=1):
    """Sequences whose every value says what it is: x is 1.., y is 1000.., small enough for float32."""
    x = np.arange(n * length * columns, dtype=float).reshape(n, length, columns) + 1
    y = np.arange(n * length * outputs, dtype=float).reshape(n, length, outputs) + 1000
    return from_arrays(x, y)


def plain(name, columns=1, outputs=1, first_scored=0):
    """A layout that leaves the values as they are."""
    return Layout(name, (1.0,) * columns, (1.0,) * outputs, first_scored)


# -- places -------------------------------------------------------------------------------------------------


def test_tagging_carries_the_inputs():
    data = numbered(columns=2, outputs=3)
    encoded = plain("tagging", 2, 3).encode(data)
    assert encoded.channels.dtype == encoded.targets.dtype == np.float32
    assert np.array_equal(encoded.channels, data.x.transpose(2, 1, 0))
    assert np.array_equal(encoded.targets, data.y.transpose(2, 1, 0))
    assert encoded.scored.shape == (5, 3)
    assert encoded.scored.all()


def test_autoregressive_carries_every_outputs_last_value():
    data = numbered(columns=2, outputs=2)
    layout = plain("autoregressive", 2, 2)
    encoded = layout.encode(data)
    assert encoded.channels.shape == (4, 5, 3)
    assert layout.channel_names(("a", "b"), ("y", "z")) == ("a", "b", "y[t-1]", "z[t-1]")
    for output in range(2):
        before = encoded.channels[2 + output]
        assert not before[0].any(), "nothing lies before the start"
        assert np.array_equal(before[1:], data.y[:, :-1, output].T)
    assert np.array_equal(encoded.channels[:2], data.x.transpose(2, 1, 0))
    assert np.array_equal(encoded.targets, data.y.transpose(2, 1, 0))


@given(n=st.integers(1, 4), length=st.integers(1, 8))
def test_concat_offsets_are_those_of_the_design(n, length):
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


def test_concat_tokens_are_as_wide_as_the_wider_side():
    for columns, outputs in ((1, 2), (3, 1), (2, 2)):
        data = numbered(columns=columns, outputs=outputs)
        layout = plain("concat", columns, outputs)
        encoded = layout.encode(data)
        width = max(columns, outputs)
        assert layout.channels == encoded.channels.shape[0] == width
        assert len(layout.channel_names(("a",) * columns, ("b",) * outputs)) == width
        assert encoded.targets.shape == (outputs, 9, 3)
        assert np.array_equal(encoded.channels[:columns, :5], data.x.transpose(2, 1, 0))
        assert np.array_equal(encoded.channels[:outputs, 5:], data.y[:, :-1].transpose(2, 1, 0))
        assert not encoded.channels[columns:, :5].any()
        assert not encoded.channels[outputs:, 5:].any()


def test_no_layout_shows_the_answer_early():
    """The channels up to position t never depend on the target at t or later."""
    data = numbered(length=6)
    for name in LAYOUTS:
        layout = plain(name)
        before = layout.encode(data)
        for t in range(6):
            changed = from_arrays(data.x, np.where(np.arange(6)[:, None] >= t, -5.0, data.y))
            after = layout.encode(changed)
            place = t if name != "concat" else 5 + t
            assert np.array_equal(after.channels[:, : place + 1], before.channels[:, : place + 1])
            assert not np.array_equal(after.targets[:, place], before.targets[:, place])


# -- what is scored -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_first_positions_can_be_left_out_of_the_score(name):
    encoded = plain(name, first_scored=2).encode(numbered(n=4, length=5))
    offset = 4 if name == "concat" else 0
    assert encoded.scored.sum(0).tolist() == [3, 3, 3, 3]
    assert not encoded.scored[: offset + 2].any()
    assert encoded.scored[offset + 2 :].all()


@pytest.mark.parametrize("name", ["tagging", "autoregressive"])
def test_padding_is_not_scored(name):
    x = [np.ones((length, 1)) for length in (2, 5, 3)]
    encoded = plain(name, first_scored=1).encode(from_list(x, x))
    assert encoded.scored.sum(0).tolist() == [1, 4, 2]
    assert encoded.scored[:, 0].tolist() == [False, True, False, False, False]


def test_concat_refuses_different_lengths():
    x = [np.ones((2, 1)), np.ones((3, 1))]
    with pytest.raises(InputError, match="one length"):
        plain("concat").encode(from_list(x, x))


# -- scales -------------------------------------------------------------------------------------------------

SIZES = st.floats(1e-6, 1e6)


@given(sizes=st.lists(SIZES, min_size=1, max_size=5), name=st.sampled_from(LAYOUTS))
def test_scales_are_powers_of_two_that_fit_the_data(sizes, name):
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


@given(
    values=st.lists(st.integers(-(2**20), 2**20), min_size=4, max_size=4),
    scale=st.integers(-10, 10).map(lambda power: 2.0**power),
)
def test_scaling_is_undone_exactly(values, scale):
    data = from_arrays(np.array(values, float).reshape(1, 4, 1), np.array(values, float).reshape(1, 4, 1))
    encoded = Layout("tagging", (scale,), (scale,)).encode(data)
    assert np.array_equal(encoded.channels[0, :, 0].astype(float) * scale, values)
    assert np.array_equal(encoded.targets[0, :, 0].astype(float) * scale, values)


def test_equal_values_in_like_columns_stay_equal():
    """A key column 0..3 and a query column 0..1 differ in size, and must still be comparable."""
    rng = np.random.default_rng(1)
    x = np.stack([rng.integers(0, 4, (50, 8)), rng.integers(0, 2, (50, 8))], -1)
    layout = fit_layout("tagging", from_arrays(x, x[..., :1]))
    assert layout.input_scales[0] == layout.input_scales[1]
    channels = layout.encode(from_arrays(x, x[..., :1])).channels
    assert np.array_equal(channels[0] == channels[1], (x[..., 0] == x[..., 1]).T)


def test_columns_of_very_different_size_keep_their_own_scales():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(50, 8, 3)) * [1.0, 1000.0, 1100.0]
    layout = fit_layout("tagging", from_arrays(x, x[..., :1]))
    small, large, other = layout.input_scales
    assert small < 4
    assert large == other >= 1000


def test_concat_has_one_unit():
    """One scalar sequence: x and y are told apart by their place, never by their unit."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 8, 2)), 300 * rng.normal(size=(50, 8, 1))
    layout = fit_layout("concat", from_arrays(x, y))
    assert len({*layout.input_scales, *layout.output_scales}) == 1


def test_padding_does_not_change_the_scale():
    x = [np.full((2, 1), 7.0), np.full((60, 1), 7.0)]
    assert fit_layout("tagging", from_list(x, x)).input_scales == (8.0,)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_column_of_zeros_has_the_scale_1(name):
    zero = np.zeros((2, 3, 1))
    layout = fit_layout(name, from_arrays(zero, zero))
    assert layout.input_scales == layout.output_scales == (1.0,)


# -- names and files ----------------------------------------------------------------------------------------


def test_layouts_survive_the_way_through_a_file():
    layout = Layout("concat", (2.0, 2.0), (2.0,), first_scored=3)
    assert Layout.from_dict(layout.to_dict()) == layout


def test_unknown_layouts_are_refused():
    with pytest.raises(InputError, match="unknown layout 'diagonal'; choose one of tagging"):
        fit_layout("diagonal", numbered())
    with pytest.raises(InputError, match="unknown layout 'diagonal'"):
        Layout.from_dict({**plain("tagging").to_dict(), "name": "diagonal"})
