"""Tasks on bits: bitwise operators, parities, patterns of the last bits, palindromes, parentheses."""

from __future__ import annotations

import numpy as np

from weights2code.language import BITS
from weights2code.tasks.declare import at, declare
from weights2code.tasks.paper import LINEAR
from weights2code.tasks.task import Task

_TWO = {"a": BITS, "b": BITS}


def _parity_last(count: int) -> Task:
    return declare(
        f"parity of the last {count} bits",
        BITS,
        f"({' + '.join(at('x', lag) for lag in range(count))}) % 2",
        name=f"parity_last{count}" if count < 4 else None,
        mips=f"Parity_Last{count}",
        appendix=count == 3,
    )


def _alternating_last(count: int) -> Task:
    return declare(
        f"1 if the last {count} bits alternate",
        BITS,
        " and ".join(f"{at('x', lag)} != {at('x', lag + 1)}" for lag in range(count - 1)),
        mips=f"Alternating_Last{count}",
    )


def planted_palindromes(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
    """Random bits whose prefix of a uniform length 2..T is a palindrome; plain draws rarely have any."""
    bits = rng.integers(0, 2, size=(n, length)).astype(float)
    prefix = rng.integers(2, max(length, 2) + 1, size=(n, 1))
    position = np.arange(length)
    mirror = prefix - 1 - position
    copied = (mirror >= 0) & (mirror < position)
    return np.where(copied, np.take_along_axis(bits, np.clip(mirror, 0, position), axis=1), bits)[:, :, None]


TASKS = (
    declare("bitwise exclusive or", _TWO, "a[t] != b[t]", name="bitwise_xor", mips="Bitwise_Xor"),
    declare("bitwise or", _TWO, "a[t] or b[t]", name="bitwise_or", mips="Bitwise_Or"),
    declare("bitwise and", _TWO, "a[t] and b[t]", name="bitwise_and", mips="Bitwise_And"),
    declare("bitwise not", BITS, "1 - x[t]", name="bitwise_not", mips="Bitwise_Not"),
    *(_parity_last(count) for count in (2, 3, 4)),
    declare("parity of the bits so far", BITS, "(y[t-1] + x[t]) % 2", name="parity", mips="Parity_All"),
    declare(
        "parity of the number of zeros so far",
        BITS,
        "(y[t-1] + 1 - x[t]) % 2",
        name="parity_zeros",
        mips="Parity_Zeros",
    ),
    declare(
        "parity of the position, 0 at the first; the bits do not matter",
        BITS,
        "1 - y[t-1]",
        mips="Parity_Bits_Mod2",
        category=LINEAR,
        start={"y": 1.0},
    ),
    declare(
        "parity of the dot product of two bit streams",
        _TWO,
        "(y[t-1] + a[t]*b[t]) % 2",
        name="bit_dot_prod_mod_2",
        mips="Bit_Dot_Prod_Mod2",
    ),
    *(_alternating_last(count) for count in (3, 4)),
    declare("the previous bit", BITS, "x[t-1]", mips="Bit_Shift_Right", category=LINEAR),
    # The prefix read as a number in both directions; place is the weight of the next bit.
    declare(
        "1 if the bits so far are a palindrome",
        BITS,
        {
            "forward": "forward[t-1] + x[t]*place[t-1]",
            "place": "2*place[t-1]",
            "backward": "2*backward[t-1] + x[t]",
            "y": "forward[t] == backward[t]",
        },
        mips="Bit_Palindrome",
        window_class="d",
        start={"place": 1.0},
        sampler=planted_palindromes,
        exact_length=53,
    ),
    declare(
        "1 if the parentheses so far are balanced (0 opens, 1 closes)",
        BITS,
        {
            "depth": "depth[t-1] + 1 - 2*x[t]",
            "dead": "dead[t-1] or depth[t] < 0",
            "y": "depth[t] == 0 and not dead[t]",
        },
        name="balanced_parenthesis",
        mips="Balanced_Parenthesis",
        window_class="c",
    ),
)
