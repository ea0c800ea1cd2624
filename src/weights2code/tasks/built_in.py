"""The tasks of the paper and of MIPS: on the last few numbers, on bits, on all so far, on digits, on motion.

The paper names its five on reals and does not define them; these fit its sizes and errors.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

from weights2code.language import BITS, Expr, Retrieval, Var, integers, reals
from weights2code.tasks.declare import at, declare
from weights2code.tasks.paper import CONTINUOUS, LINEAR
from weights2code.tasks.task import Task

_DIGITS, _NUMBERS, _SIGNED = integers(0, 9), integers(0, 99), integers(-100, 99)
_TWO_BITS = {"a": BITS, "b": BITS}

# -- the last few numbers -----------------------------------------------------------------------------------


def _sum_last(count: int) -> Task:
    names = f"{'sum_last2 ' if count == 2 else ''}Sum_Last{count}"
    total = " + ".join(at("x", lag) for lag in range(count))
    length = 10 if count < 5 else 20
    return declare(names, f"sum of the last {count} inputs", _NUMBERS, total, LINEAR, length=length)


def _previous(lag: int) -> Task:
    what = f"the input {lag} step{'s' if lag > 1 else ''} ago"
    return declare(f"Prev{lag}", what, _NUMBERS, at("x", lag), LINEAR, length=10 if lag < 5 else 20)


_SQUARE = " or ".join(f"x[t] == {root * root}" for root in range(5))
LAST_NUMBERS = (
    *(_sum_last(count) for count in range(2, 8)),
    declare("Current_Number", "the input itself", _NUMBERS, "x[t]", LINEAR),
    *(_previous(lag) for lag in range(1, 6)),
    declare(
        "unique_prev2 Previous_Equals_Current",
        "1 if the input equals the previous one, which is 0 before the start",
        integers(0, 7),
        "x[t] == x[t-1]",
    ),
    declare("diff_last2 Diff_Last2", "difference of the last two inputs", _SIGNED, "x[t] - x[t-1]"),
    declare(
        "abs_of_diff Abs_Diff", "absolute difference of the last two inputs", _SIGNED, "abs(x[t] - x[t-1])"
    ),
    declare("abs Abs_Current", "absolute value of the input", _SIGNED, "abs(x[t])"),
    declare(
        "Diff_Abs_Values",
        "difference of the absolute values of the last two inputs",
        _SIGNED,
        "abs(x[t]) - abs(x[t-1])",
    ),
    # The first output is the first input: a zero start does that for a maximum of numbers that are never
    # negative, a minimum needs the first input repeated.
    declare("maximum_prev2", "larger one of the last two inputs", _NUMBERS, "max(x[t-1], x[t])"),
    declare(
        "minimum_prev2",
        "smaller one of the last two inputs; at the start the input itself",
        _NUMBERS,
        "min(x[t-1], x[t])",
        start={"x": "first"},
    ),
    declare("Evens_Detector", "1 if the input is even", _DIGITS, "1 - x[t] % 2"),
    declare("Perfect_Square_Detector", "1 if the input is a perfect square", integers(0, 19), _SQUARE),
)

# -- bits ---------------------------------------------------------------------------------------------------


def _parity_last(count: int) -> Task:
    names = f"{f'parity_last{count} ' if count < 4 else ''}Parity_Last{count}"
    formula = f"({' + '.join(at('x', lag) for lag in range(count))}) % 2"
    suite = "appendix" if count == 3 else None
    return declare(names, f"parity of the last {count} bits", BITS, formula, suite=suite)


def _alternating_last(count: int) -> Task:
    formula = " and ".join(f"{at('x', lag)} != {at('x', lag + 1)}" for lag in range(count - 1))
    return declare(f"Alternating_Last{count}", f"1 if the last {count} bits alternate", BITS, formula)


def planted_palindromes(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
    """Random bits whose prefix of a uniform length 2..T is a palindrome; plain draws rarely have any."""
    bits = rng.integers(0, 2, size=(n, length)).astype(float)
    prefix = rng.integers(2, max(length, 2) + 1, size=(n, 1))
    position = np.arange(length)
    mirror = prefix - 1 - position
    copied = (mirror >= 0) & (mirror < position)
    return np.where(copied, np.take_along_axis(bits, np.clip(mirror, 0, position), axis=1), bits)[:, :, None]


BALANCED = {
    "depth": "depth[t-1] + 1 - 2*x[t]",
    "dead": "dead[t-1] or depth[t] < 0",
    "y": "depth[t] == 0 and not dead[t]",
}
ON_BITS = (
    declare("bitwise_xor Bitwise_Xor", "bitwise exclusive or", _TWO_BITS, "a[t] != b[t]"),
    declare("bitwise_or Bitwise_Or", "bitwise or", _TWO_BITS, "a[t] or b[t]"),
    declare("bitwise_and Bitwise_And", "bitwise and", _TWO_BITS, "a[t] and b[t]"),
    declare("bitwise_not Bitwise_Not", "bitwise not", BITS, "1 - x[t]"),
    *(_parity_last(count) for count in (2, 3, 4)),
    declare("parity Parity_All", "parity of the bits so far", BITS, "(y[t-1] + x[t]) % 2"),
    declare(
        "parity_zeros Parity_Zeros", "parity of the number of zeros so far", BITS, "(y[t-1] + 1 - x[t]) % 2"
    ),
    declare(
        "Parity_Bits_Mod2",
        "parity of the position, 0 at the first; the bits do not matter",
        BITS,
        "1 - y[t-1]",
        LINEAR,
        start={"y": 1.0},
    ),
    declare(
        "bit_dot_prod_mod_2 Bit_Dot_Prod_Mod2",
        "parity of the dot product of two bit streams",
        _TWO_BITS,
        "(y[t-1] + a[t]*b[t]) % 2",
    ),
    *(_alternating_last(count) for count in (3, 4)),
    declare("Bit_Shift_Right", "the previous bit", BITS, "x[t-1]", LINEAR),
    # The prefix read as a number in both directions; place is the weight of the next bit.
    declare(
        "Bit_Palindrome",
        "1 if the bits so far are a palindrome",
        BITS,
        {
            "forward": "forward[t-1] + x[t]*place[t-1]",
            "place": "2*place[t-1]",
            "backward": "2*backward[t-1] + x[t]",
            "y": "forward[t] == backward[t]",
        },
        window_class="d",
        start={"place": 1.0},
        sampler=planted_palindromes,
        exact_length=53,
    ),
    declare(
        "balanced_parenthesis Balanced_Parenthesis",
        "1 if the parentheses so far are balanced (0 opens, 1 closes)",
        BITS,
        BALANCED,
        window_class="c",
    ),
)

# -- all so far, by a few numbers ---------------------------------------------------------------------------


def _majority(highest: int) -> Task:
    """`lead_k` is how often k was seen more than 0; on a tie the lower value wins."""
    leads = ["0", *(f"lead_{value}[t]" for value in range(1, highest + 1))]
    winner = str(highest)
    for value in reversed(range(highest)):
        others = leads[value + 1 :]
        most = f"max({', '.join(others)})" if others[1:] else others[0]
        winner = f"{value} if {leads[value]} >= {most} else {winner}"
    return declare(
        f"Majority_0_{highest}{' most_frequent' if highest == 3 else ''}",
        f"most frequent value so far among 0..{highest}, the lower one on a tie",
        BITS if highest == 1 else integers(0, highest),
        {f"lead_{k}": f"lead_{k}[t-1] + [x[t] == {k}] - [x[t] == 0]" for k in range(1, highest + 1)}
        | {"y": winner},
        suite="languages" if highest == 3 else None,
        window_class="c",
    )


SO_FAR = (
    declare("sum Sum_All", "sum of the inputs so far", _NUMBERS, "y[t-1] + x[t]"),
    declare("Evens_Counter", "number of even inputs so far", _DIGITS, "y[t-1] + 1 - x[t] % 2"),
    declare("Min_Seen", "smallest input so far", _DIGITS, "min(y[t-1], x[t])", start={"y": inf}),
    declare("Max_Seen", "largest input so far", _NUMBERS, "max(y[t-1], x[t])"),
    *(_majority(highest) for highest in (1, 2, 3)),
)

# -- digits -------------------------------------------------------------------------------------------------


def _addition(base: int) -> Task:
    """Least significant digit first; the last carry is dropped."""
    digit = BITS if base == 2 else integers(0, base - 1)
    what = "binary addition, least significant bit first"
    return declare(
        "bit_addition Binary_Addition" if base == 2 else f"Base_{base}_Addition",
        what if base == 2 else f"addition in base {base}, least significant digit first",
        {"a": digit, "b": digit},
        {"s": "a[t] + b[t] + carry[t-1]", "y": f"s[t] % {base}", "carry": f"s[t] >= {base}"},
    )


def _division(divisor: int) -> Task:
    """Long division: bits of the dividend come in, most significant first, bits of the quotient go out."""
    return declare(
        f"{'div_3 ' if divisor == 3 else ''}Div_{divisor}",
        f"binary division by {divisor}, most significant bit first",
        BITS,
        {"s": "2*r[t-1] + x[t]", "y": f"s[t] >= {divisor}", "r": f"s[t] - {divisor}*y[t]"},
        LINEAR,
    )


def _sum_modulo(modulus: int) -> Task:
    names = f"{'add_mod_3 ' if modulus == 3 else ''}Add_Mod_{modulus}"
    what = f"sum of the inputs so far modulo {modulus}"
    return declare(names, what, integers(0, modulus - 1), f"(y[t-1] + x[t]) % {modulus}")


BY_DIGITS = (
    *(_addition(base) for base in range(2, 8)),
    *(_division(divisor) for divisor in (3, 5, 7)),
    *(_sum_modulo(modulus) for modulus in range(3, 9)),
    # The error that rounding has left so far is the remainder r = (x_1 + ... + x_t) mod 15.
    declare(
        "Dithering",
        "dithering of brightness 0..15 to bits: the sum so far passes a multiple of 15",
        integers(0, 15),
        {"s": "r[t-1] + x[t]", "y": "s[t] >= 15", "r": "s[t] - 15*y[t]"},
        window_class="c",
    ),
)

# -- Newton's laws in whole numbers, time step 1: a force or acceleration comes in, the position goes out ----

_FORCE = integers(-10, 10)


def _on_a_line(names: str, description: str, acceleration: str) -> Task:
    return declare(names, description, _FORCE, {"v": f"v[t-1] + {acceleration}", "y": "y[t-1] + v[t]"})


MOTION = (
    _on_a_line("freebody Newton_Freebody", "position of a free body under acceleration x", "x[t]"),
    _on_a_line("gravity Newton_Gravity", "position under acceleration x and gravity 1", "(x[t] - 1)"),
    _on_a_line(
        "spring Newton_Spring", "position on a spring of stiffness 1 under force x", "(x[t] - y[t-1])"
    ),
    # Both velocities come from the old ones, so the speed grows by the square root of 2 in each step.
    declare(
        "magnetic Newton_Magnetic",
        "position in the plane in a magnetic field under force (fx, fy)",
        {"fx": _FORCE, "fy": _FORCE},
        {
            "vx": "vx[t-1] - vy[t-1] + fx[t]",
            "vy": "vy[t-1] + vx[t-1] + fy[t]",
            "px": "px[t-1] + vx[t]",
            "py": "py[t-1] + vy[t]",
        },
        outputs=("px", "py"),
        exact_length=95,
    ),
)

# -- reals --------------------------------------------------------------------------------------------------

_UNIT = reals(0, 1)
_GRAVITY, _DROP_STEP = Fraction(98, 10), Fraction(1, 10)
_STIFFNESS, _DAMPING, _SWING_STEP = 1, Fraction(3, 10), Fraction(1, 2)
x, y1, y2, u, v, v1 = Var("x"), Var("y", 1), Var("y", 2), Var("u"), Var("v"), Var("v", 1)


def _drop(name: str, description: str, drag: Expr) -> Task:
    """A falling body: u is the speed so far, x the drag coefficient of the step, y the height fallen."""
    fallen = y1 + _DROP_STEP * (u + _DROP_STEP * (_GRAVITY - drag))
    return declare(name, description, _UNIT, {"u": (y1 - y2) / _DROP_STEP, "y": fallen})


ON_REALS = (
    declare(
        "exponential_moving_average",
        "exponential moving average, 0.3 of the new and 0.7 of the old",
        _UNIT,
        Fraction(3, 10) * x + Fraction(7, 10) * y1,
    ),
    declare("free_fall_height", "height fallen in x seconds", _UNIT, _GRAVITY / 2 * x**2),
    _drop("linear_drop", "height of a fall with drag proportional to the speed", x * u),
    _drop(
        "quadratic_drop", "height of a fall with drag proportional to the square of the speed", x * u * abs(u)
    ),
    declare(
        "damped_harmonic_oscillator",
        "position of a damped harmonic oscillator under force x",
        reals(-1, 1),
        {"v": v1 + _SWING_STEP * (x - _STIFFNESS * y1 - _DAMPING * v1), "y": y1 + _SWING_STEP * v},
    ),
)

# -- what one attention head does alone, by equality or by averaging (paper, "Attention Patterns") -----------
# They read the whole prefix, but through the inputs only, so they track no state.

BY_ATTENTION = (
    declare(
        "retrieve_value_by_key",
        "the value at the last earlier position whose key equals the query, 0 if there is none",
        {"key": integers(0, 7), "value": _NUMBERS, "query": integers(0, 7)},
        Retrieval(key="key", value="value", query=Var("query"), gap=1),
        suite="appendix",
        window_class="c",
        state_tracking=False,
    ),
    declare(
        "prefix_mean",
        "mean of the inputs so far",
        _UNIT,
        {"total": Var("total", 1) + x, "count": Var("count", 1) + 1, "y": Var("total") / Var("count")},
        CONTINUOUS,
        suite="appendix",
        window_class="c",
        state_tracking=False,
    ),
)

TASKS = (*LAST_NUMBERS, *ON_BITS, *SO_FAR, *BY_DIGITS, *MOTION, *ON_REALS, *BY_ATTENTION)
