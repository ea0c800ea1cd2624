"""Bit_Palindrome at a fixed length: what is possible where no program for every length is found.

    python benchmarks/suites/fixed_length.py

The task asks at every position whether everything so far reads the same backwards. No bounded window tells,
nor any sum, mean or extremum of the prefix, and those are what the heads of a Discrete Transformer offer.
(Two hidden states that hold the word as a number, read forwards and backwards, would do; nothing here
trains such states.) At one fixed length the whole word can be given at once, a column a bit. The programs are
for that length and no other; each is checked on all of its words.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

from weights2code import ProgramRegressor

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows

#: Words to learn from, in sequences of five; half of them palindromes, some with one bit turned.
WORDS = 1500
LONGEST_ROW = 5


def words(length: int, seed: int) -> np.ndarray:
    """Random words, of which every second is a palindrome and every sixth nearly one."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 2, (WORDS, length))
    drawn[1::2, (length + 1) // 2 :] = drawn[1::2, : length // 2][:, ::-1]
    nearly = np.arange(1, WORDS, 6)
    drawn[nearly, rng.integers(0, length, len(nearly))] ^= 1
    return drawn


def palindromes(drawn: np.ndarray) -> np.ndarray:
    return (drawn == drawn[:, ::-1]).all(1).astype(int)


def learn(length: int, seed: int, time_limit: float) -> dict[str, object]:
    """Fit one length and check the program on every word."""
    drawn = words(length, seed)
    x = drawn.reshape(-1, LONGEST_ROW, length)
    y = palindromes(drawn).reshape(-1, LONGEST_ROW)
    began = time.perf_counter()
    model = ProgramRegressor(random_state=seed, time_limit=time_limit).fit(x, y)
    seconds = time.perf_counter() - began
    every = np.array(list(product((0, 1), repeat=length)))
    right = np.rint(model.predict(every[:, None, :]))[:, 0] == palindromes(every)
    return {
        "length": length,
        "exact": bool(right.all()),
        "share": float(right.mean()),
        "seconds": round(seconds, 1),
        "verdict": model.certificate_.verdict,
        "formula": list(model.equations_),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", default="4,5,6,7,8")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "fixed_length.json")
    options = parser.parse_args()
    asked = [options.lengths, options.seed, options.time_limit]
    rows = Rows(Path(__file__).parent / "runs" / "fixed_length.jsonl", asked)
    done = {row["length"] for row in rows.rows}
    for length in map(int, options.lengths.split(",")):
        if length not in done:
            rows.add(learn(length, options.seed, options.time_limit))
            print(rows.rows[-1], flush=True)
    seconds = round(sum(row["seconds"] for row in rows.rows), 1)
    command = " ".join(["python benchmarks/suites/fixed_length.py", *sys.argv[1:]])
    rows.finish(options.out, command, seconds=seconds)


if __name__ == "__main__":
    main()
