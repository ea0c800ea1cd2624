"""What the paper reports about its 29 tasks: category and chosen architecture (its appendix table).

Freebody and gravity were trained twice as long at a lower learning rate ("Training Details").
"""

from __future__ import annotations

from weights2code.tasks.task import Category, PaperSettings

LINEAR: Category = "Linear Arithmetic"
NON_LINEAR: Category = "Non-Linear Composition"
CONTINUOUS: Category = "Continuous Dynamics"

_SMALL = PaperSettings(layers=1, heads=2, submlps=2)
_DEEP = PaperSettings(layers=2, heads=2, submlps=2)
_LONG = PaperSettings(layers=2, heads=2, submlps=3, epochs=100, learning_rate=0.01)

#: Canonical name -> (category, settings), in the order of the paper's Table 1.
PAPER: dict[str, tuple[Category, PaperSettings]] = {
    "sum_last2": (LINEAR, _SMALL),
    "diff_last2": (LINEAR, _SMALL),
    "sum": (LINEAR, _SMALL),
    "div_3": (LINEAR, _SMALL),
    "freebody": (LINEAR, _LONG),
    "gravity": (LINEAR, _LONG),
    "spring": (LINEAR, _SMALL),
    "magnetic": (LINEAR, PaperSettings(layers=2, heads=2, submlps=3)),
    "parity_last2": (NON_LINEAR, _SMALL),
    "maximum_prev2": (NON_LINEAR, _SMALL),
    "minimum_prev2": (NON_LINEAR, _SMALL),
    "unique_prev2": (NON_LINEAR, _SMALL),
    "bitwise_and": (NON_LINEAR, _SMALL),
    "bitwise_or": (NON_LINEAR, _SMALL),
    "bitwise_not": (NON_LINEAR, _SMALL),
    "bitwise_xor": (NON_LINEAR, _SMALL),
    "balanced_parenthesis": (NON_LINEAR, _SMALL),
    "abs": (NON_LINEAR, _SMALL),
    "abs_of_diff": (NON_LINEAR, _SMALL),
    "parity": (NON_LINEAR, _SMALL),
    "parity_zeros": (NON_LINEAR, _SMALL),
    "add_mod_3": (NON_LINEAR, _SMALL),
    "bit_dot_prod_mod_2": (NON_LINEAR, _SMALL),
    "bit_addition": (NON_LINEAR, PaperSettings(layers=2, heads=4, submlps=4)),
    "exponential_moving_average": (CONTINUOUS, _SMALL),
    "free_fall_height": (CONTINUOUS, PaperSettings(layers=1, heads=1, submlps=1)),
    "linear_drop": (CONTINUOUS, _DEEP),
    "quadratic_drop": (CONTINUOUS, _DEEP),
    "damped_harmonic_oscillator": (CONTINUOUS, _SMALL),
}
