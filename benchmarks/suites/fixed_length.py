"""Bit_Palindrome at a fixed length: what is possible where no program for every length is found.

    python benchmarks/suites/fixed_length.py [--lengths 4,5,6,7,8] [--time-limit S]

The task asks at every position whether everything so far reads the same backwards. No bounded window tells,
nor any sum, mean or extremum of the prefix, and those are what the heads of a Discrete Transformer offer.
(Two hidden states that hold the word as a number, read forwards and backwards, would do; nothing here
trains such states.) At one fixed length the whole word can be given at once, a column a bit. The programs are
for that length and no other; each is checked on all of its words.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from weights2code import ProgramRegressor
from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row

#: Words to learn from, in sequences of five; half of them palindromes, some with one bit turned.
WORDS = 1500
LONGEST_ROW = 5


def cases(options: Options) -> dict[str, tuple[int, float]]:
    return {f"length {length}": (length, options.time_limit) for length in options.lengths}


def words(length: int) -> np.ndarray:
    """Random words, of which every second is a palindrome and every sixth nearly one."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2, (WORDS, length))
    drawn[1::2, (length + 1) // 2 :] = drawn[1::2, : length // 2][:, ::-1]
    nearly = np.arange(1, WORDS, 6)
    drawn[nearly, rng.integers(0, length, len(nearly))] ^= 1
    return drawn


def palindromes(drawn: np.ndarray) -> np.ndarray:
    return (drawn == drawn[:, ::-1]).all(1).astype(int)


def measure(case: tuple[int, float]) -> Row:
    """Fit one length and check the program on every word."""
    length, limit = case
    drawn, every = words(length), np.array(list(product((0, 1), repeat=length)))
    x, y = drawn.reshape(-1, LONGEST_ROW, length), palindromes(drawn).reshape(-1, LONGEST_ROW)
    model = ProgramRegressor(random_state=0, time_limit=limit).fit(x, y)
    right = np.rint(model.predict(every[:, None, :]))[:, 0] == palindromes(every)
    row: Row = {"length": length, "solved": bool(right.all()), "share": float(right.mean())}
    return row | {"verdict": model.certificate_.verdict, "formula": "\n".join(model.equations_)}


if __name__ == "__main__":
    run(__file__, __doc__, cases, measure, lengths=(4, 5, 6, 7, 8), time_limit=60.0)
