"""The machines against independent statements of the same tasks: plain loops, and bounded-window rules."""

import numpy as np
import pytest

from weights2code import tasks
from weights2code.language import Recurrence, Step, Var, maximum, op

LENGTH = 40


def window_rule(columns, outputs, start=None, **formulas):
    steps = tuple(Step(name, formula) for name, formula in formulas.items())
    return Recurrence(columns, steps, outputs, start or {})


def lagged(name, depth=3):
    return [Var(name, lag) for lag in range(depth + 1)]


x, x1, x2, x3 = lagged("x")
a, a1, *_ = lagged("a")
b, b1, *_ = lagged("b")
_, y1, y2, y3 = lagged("y")
px1, px2, py1, py2 = Var("px", 1), Var("px", 2), Var("py", 1), Var("py", 2)


def addition(base):
    return window_rule(("a", "b"), ("y",), y=(a + b + (a1 + b1 > y1)) % base)


def division(divisor, lags):
    terms = [2**i * (Var("x", i + 1) - divisor * Var("y", i + 1)) for i in range(lags)]
    return window_rule(("x",), ("y",), r=sum(terms[1:], terms[0]) % 2**lags, y=2 * Var("r") + x >= divisor)


#: Rules that read only inputs and outputs a few steps back, as an extracted program would.
WINDOW_RULES = {
    "freebody": window_rule(("x",), ("y",), y=2 * y1 - y2 + x),
    "gravity": window_rule(("x",), ("y",), y=2 * y1 - y2 + x - 1),
    "spring": window_rule(("x",), ("y",), y=-y3 + x + x1),
    "magnetic": window_rule(
        ("fx", "fy"),
        ("px", "py"),
        px=2 * px1 - px2 - py1 + py2 + Var("fx"),
        py=2 * py1 - py2 + px1 - px2 + Var("fy"),
    ),
    "div_3": division(3, 2),
    "Div_5": division(5, 3),
    "Div_7": division(7, 3),
    "parity": window_rule(("x",), ("y",), y=x + y1 - 2 * x * y1),
    "Min_Seen": window_rule(("x",), ("y",), {"y": 9.0}, y=op("min", y1, x)),
    "maximum_prev2": window_rule(("x",), ("y",), {"x": "first"}, y=maximum(x1, x)),
    **{("bit_addition" if base == 2 else f"Base_{base}_Addition"): addition(base) for base in range(2, 8)},
}


@pytest.mark.parametrize("name", WINDOW_RULES)
def test_bounded_windows_give_the_same_outputs(name):
    inputs, outputs = tasks.get(name).sample(200, LENGTH, seed=1)
    np.testing.assert_array_equal(WINDOW_RULES[name].run(inputs), outputs)


def test_the_oscillator_is_a_linear_recurrence_of_its_outputs():
    inputs, outputs = tasks.get("damped_harmonic_oscillator").sample(50, LENGTH, seed=2)
    rule = window_rule(("x",), ("y",), y=1.6 * y1 - 0.85 * y2 + 0.25 * x)
    np.testing.assert_allclose(rule.run(inputs), outputs, atol=1e-12)


def exponential_moving_average(sequence):
    mean = 0.0
    for value in sequence:
        mean = 0.3 * value + 0.7 * mean
        yield mean


def free_fall_height(sequence):
    yield from (4.9 * value**2 for value in sequence)


def damped_harmonic_oscillator(sequence):
    position = velocity = 0.0
    for force in sequence:
        velocity += 0.5 * (force - position - 0.3 * velocity)
        position += 0.5 * velocity
        yield position


def fall(sequence, drag):
    height = velocity = 0.0
    for coefficient in sequence:
        velocity += 0.1 * (9.8 - coefficient * drag(velocity))
        height += 0.1 * velocity
        yield height


def prefix_mean(sequence):
    for t in range(len(sequence)):
        yield sum(sequence[: t + 1]) / (t + 1)


CONTINUOUS = {
    "exponential_moving_average": exponential_moving_average,
    "free_fall_height": free_fall_height,
    "damped_harmonic_oscillator": damped_harmonic_oscillator,
    "linear_drop": lambda sequence: fall(sequence, lambda speed: speed),
    "quadratic_drop": lambda sequence: fall(sequence, lambda speed: speed * abs(speed)),
    "prefix_mean": prefix_mean,
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_tasks_on_reals_equal_plain_loops(name):
    inputs, outputs = tasks.get(name).sample(20, LENGTH, seed=3)
    expected = [list(CONTINUOUS[name](sequence)) for sequence in inputs[:, :, 0].tolist()]
    np.testing.assert_allclose(outputs[:, :, 0], expected, rtol=1e-9, atol=1e-9)


def test_retrieval_returns_the_newest_earlier_value():
    inputs, outputs = tasks.get("retrieve_value_by_key").sample(50, LENGTH, seed=4)
    for sequence, answers in zip(inputs.tolist(), outputs[:, :, 0].tolist(), strict=True):
        memory: dict[float, float] = {}
        for (key, value, query), answer in zip(sequence, answers, strict=True):
            assert answer == memory.get(query, 0)
            memory[key] = value


def test_parity_of_the_index_ignores_the_bits():
    outputs = tasks.get("Parity_Bits_Mod2").reference([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0]])
    assert outputs.tolist() == [[0, 1, 0, 1, 0]] * 2


def test_a_negative_depth_is_never_forgiven():
    assert tasks.get("balanced_parenthesis").reference([[1, 0, 0, 1], [0, 1, 0, 1]]).tolist() == [
        [0, 0, 0, 0],
        [0, 1, 0, 1],
    ]


@pytest.mark.parametrize(
    ("name", "variable", "states"), [("Dithering", "r", 15), ("div_3", "r", 3), ("bit_addition", "carry", 2)]
)
def test_finite_tasks_have_a_finite_state(name, variable, states):
    task = tasks.get(name)
    inputs, _ = task.sample(500, LENGTH, seed=5)
    assert set(task.machine.trace(inputs)[variable].ravel()) == set(range(states))
    assert {v.name for v in task.machine.state()} == {variable}
