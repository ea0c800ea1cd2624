"""Tasks on the last few numbers: copies, sums, differences, extrema, tests of the present value."""

from __future__ import annotations

from weights2code.language import integers
from weights2code.tasks.declare import at, declare
from weights2code.tasks.paper import LINEAR
from weights2code.tasks.task import Task

_NUMBERS = integers(0, 99)
_SIGNED = integers(-100, 99)
_SQUARES = (0, 1, 4, 9, 16)


def _sum_last(count: int) -> Task:
    return declare(
        f"sum of the last {count} inputs",
        _NUMBERS,
        " + ".join(at("x", lag) for lag in range(count)),
        name="sum_last2" if count == 2 else None,
        mips=f"Sum_Last{count}",
        category=LINEAR,
        length=10 if count < 5 else 20,
    )


def _previous(lag: int) -> Task:
    return declare(
        f"the input {lag} step{'s' if lag > 1 else ''} ago",
        _NUMBERS,
        at("x", lag),
        mips=f"Prev{lag}",
        category=LINEAR,
        length=10 if lag < 5 else 20,
    )


TASKS = (
    *(_sum_last(count) for count in range(2, 8)),
    declare("the input itself", _NUMBERS, "x[t]", mips="Current_Number", category=LINEAR),
    *(_previous(lag) for lag in range(1, 6)),
    declare(
        "1 if the input equals the previous one, which is 0 before the start",
        integers(0, 7),
        "x[t] == x[t-1]",
        name="unique_prev2",
        mips="Previous_Equals_Current",
    ),
    declare(
        "difference of the last two inputs", _SIGNED, "x[t] - x[t-1]", name="diff_last2", mips="Diff_Last2"
    ),
    declare(
        "absolute difference of the last two inputs",
        _SIGNED,
        "abs(x[t] - x[t-1])",
        name="abs_of_diff",
        mips="Abs_Diff",
    ),
    declare("absolute value of the input", _SIGNED, "abs(x[t])", name="abs", mips="Abs_Current"),
    declare(
        "difference of the absolute values of the last two inputs",
        _SIGNED,
        "abs(x[t]) - abs(x[t-1])",
        mips="Diff_Abs_Values",
    ),
    # The first output is the first input: a zero start does that for a maximum of numbers that are never
    # negative, a minimum needs the first input repeated.
    declare("larger one of the last two inputs", _NUMBERS, "max(x[t-1], x[t])", name="maximum_prev2"),
    declare(
        "smaller one of the last two inputs; at the start the input itself",
        _NUMBERS,
        "min(x[t-1], x[t])",
        name="minimum_prev2",
        start={"x": "first"},
    ),
    declare("1 if the input is even", integers(0, 9), "1 - x[t] % 2", mips="Evens_Detector"),
    declare(
        "1 if the input is a perfect square",
        integers(0, 19),
        " or ".join(f"x[t] == {square}" for square in _SQUARES),
        mips="Perfect_Square_Detector",
    ),
)
