"""Tasks on reals. The paper names its five and does not define them; these fit its sizes and errors."""

from __future__ import annotations

from fractions import Fraction

from weights2code.language import Expr, Var, reals
from weights2code.tasks.declare import declare
from weights2code.tasks.task import Task

_UNIT = reals(0, 1)
_GRAVITY = Fraction(98, 10)
_DROP_STEP = Fraction(1, 10)
_STIFFNESS, _DAMPING, _SWING_STEP = 1, Fraction(3, 10), Fraction(1, 2)

x, y1, y2 = Var("x"), Var("y", 1), Var("y", 2)
u, v, v1 = Var("u"), Var("v"), Var("v", 1)


def _drop(description: str, name: str, drag: Expr) -> Task:
    """A falling body: u is the speed so far, x the drag coefficient of the step, y the height fallen."""
    return declare(
        description,
        _UNIT,
        {
            "u": (y1 - y2) / _DROP_STEP,
            "y": y1 + _DROP_STEP * (u + _DROP_STEP * (_GRAVITY - drag)),
        },
        name=name,
    )


TASKS = (
    declare(
        "exponential moving average, 0.3 of the new and 0.7 of the old",
        _UNIT,
        Fraction(3, 10) * x + Fraction(7, 10) * y1,
        name="exponential_moving_average",
    ),
    declare("height fallen in x seconds", _UNIT, _GRAVITY / 2 * x**2, name="free_fall_height"),
    _drop("height of a fall with drag proportional to the speed", "linear_drop", x * u),
    _drop(
        "height of a fall with drag proportional to the square of the speed", "quadratic_drop", x * u * abs(u)
    ),
    declare(
        "position of a damped harmonic oscillator under force x",
        reals(-1, 1),
        {
            "v": v1 + _SWING_STEP * (x - _STIFFNESS * y1 - _DAMPING * v1),
            "y": y1 + _SWING_STEP * v,
        },
        name="damped_harmonic_oscillator",
    ),
)
