"""Arithmetic digit by digit: additions with a carry, long division with a remainder, sums modulo n."""

from __future__ import annotations

from weights2code.language import BITS, integers
from weights2code.tasks.declare import declare
from weights2code.tasks.paper import LINEAR
from weights2code.tasks.task import Task


def _addition(base: int) -> Task:
    """Least significant digit first; the last carry is dropped."""
    digit = BITS if base == 2 else integers(0, base - 1)
    what = "binary addition, least significant bit first"
    return declare(
        what if base == 2 else f"addition in base {base}, least significant digit first",
        {"a": digit, "b": digit},
        {"s": "a[t] + b[t] + carry[t-1]", "y": f"s[t] % {base}", "carry": f"s[t] >= {base}"},
        name="bit_addition" if base == 2 else None,
        mips="Binary_Addition" if base == 2 else f"Base_{base}_Addition",
    )


def _division(divisor: int) -> Task:
    """Long division: bits of the dividend come in, most significant first, bits of the quotient go out."""
    return declare(
        f"binary division by {divisor}, most significant bit first",
        BITS,
        {"s": "2*r[t-1] + x[t]", "y": f"s[t] >= {divisor}", "r": f"s[t] - {divisor}*y[t]"},
        name="div_3" if divisor == 3 else None,
        mips=f"Div_{divisor}",
        category=LINEAR,
    )


def _sum_modulo(modulus: int) -> Task:
    return declare(
        f"sum of the inputs so far modulo {modulus}",
        integers(0, modulus - 1),
        f"(y[t-1] + x[t]) % {modulus}",
        name="add_mod_3" if modulus == 3 else None,
        mips=f"Add_Mod_{modulus}",
    )


TASKS = (
    *(_addition(base) for base in range(2, 8)),
    *(_division(divisor) for divisor in (3, 5, 7)),
    *(_sum_modulo(modulus) for modulus in range(3, 9)),
    # The error that rounding has left so far is the remainder r = (x_1 + ... + x_t) mod 15.
    declare(
        "dithering of brightness 0..15 to bits: the sum so far passes a multiple of 15",
        integers(0, 15),
        {"s": "r[t-1] + x[t]", "y": "s[t] >= 15", "r": "s[t] - 15*y[t]"},
        mips="Dithering",
        window_class="c",
    ),
)
