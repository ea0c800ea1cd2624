"""Tasks on bits: bitwise operators, parities, patterns of the last bits, palindromes, parentheses."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from weights2code.language import BITS, Expr, Var, op
from weights2code.tasks.declare import declare
from weights2code.tasks.paper import LINEAR
from weights2code.tasks.task import Task

_TWO = {"a": BITS, "b": BITS}

a, b = Var("a"), Var("b")
x, x1 = Var("x"), Var("x", 1)
y1 = Var("y", 1)


def _parity_last(count: int) -> Task:
    total = reduce(add, (Var("x", lag) for lag in range(1, count)), x)
    return declare(
        f"parity of the last {count} bits",
        BITS,
        total % 2,
        name=f"parity_last{count}" if count < 4 else None,
        mips=f"Parity_Last{count}",
        appendix=count == 3,
    )


def _alternating_last(count: int) -> Task:
    changes: list[Expr] = [op("ne", Var("x", lag), Var("x", lag + 1)) for lag in range(count - 1)]
    return declare(
        f"1 if the last {count} bits alternate",
        BITS,
        reduce(lambda left, right: op("and", left, right), changes),
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
    declare("bitwise exclusive or", _TWO, op("ne", a, b), name="bitwise_xor", mips="Bitwise_Xor"),
    declare("bitwise or", _TWO, op("or", a, b), name="bitwise_or", mips="Bitwise_Or"),
    declare("bitwise and", _TWO, op("and", a, b), name="bitwise_and", mips="Bitwise_And"),
    declare("bitwise not", BITS, 1 - x, name="bitwise_not", mips="Bitwise_Not"),
    *(_parity_last(count) for count in (2, 3, 4)),
    declare("parity of the bits so far", BITS, (y1 + x) % 2, name="parity", mips="Parity_All"),
    declare(
        "parity of the number of zeros so far",
        BITS,
        (y1 + 1 - x) % 2,
        name="parity_zeros",
        mips="Parity_Zeros",
    ),
    declare(
        "parity of the position, 0 at the first; the bits do not matter",
        BITS,
        1 - y1,
        mips="Parity_Bits_Mod2",
        category=LINEAR,
        start={"y": 1.0},
    ),
    declare(
        "parity of the dot product of two bit streams",
        _TWO,
        (y1 + a * b) % 2,
        name="bit_dot_prod_mod_2",
        mips="Bit_Dot_Prod_Mod2",
    ),
    *(_alternating_last(count) for count in (3, 4)),
    declare("the previous bit", BITS, x1, mips="Bit_Shift_Right", category=LINEAR),
    # The prefix read as a number in both directions; place is the weight of the next bit.
    declare(
        "1 if the bits so far are a palindrome",
        BITS,
        {
            "forward": Var("forward", 1) + x * Var("place", 1),
            "place": 2 * Var("place", 1),
            "backward": 2 * Var("backward", 1) + x,
            "y": Var("forward").equals(Var("backward")),
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
            "depth": Var("depth", 1) + 1 - 2 * x,
            "dead": op("or", Var("dead", 1), Var("depth") < 0),
            "y": op("and", Var("depth").equals(0), op("not", Var("dead"))),
        },
        name="balanced_parenthesis",
        mips="Balanced_Parenthesis",
        window_class="c",
    ),
)
