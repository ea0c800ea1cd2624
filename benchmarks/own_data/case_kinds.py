"""What cases are made of: inputs to draw, and machines that turn them into outputs.

The machines are for judging only: what is fitted sees nothing but the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weights2code.experiments.judging import Judgement, Run, solved

Draw = Callable[[np.random.Generator, int], np.ndarray]
Machine = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Case:
    """One file: columns, how inputs are drawn, what is computed, how much noise, how many rows.

    `shape` is how many sequences there are and how long the shortest and the longest are; `long` is one
    sequence of 2000 rows. `noise` is the standard deviation of what is added to real targets, `flips` the
    share of bits that are written wrongly.
    """

    name: str
    field: str
    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    draw: Draw
    machine: Machine
    noise: float = 0.0
    long: bool = False
    hard: bool = False
    group: str = ""
    shape: tuple[int, int, int] = (300, 8, 16)
    flips: float = 0.0

    @property
    def length(self) -> int:
        """The longest sequence that training sees."""
        return 32 if self.long else min(32, self.shape[2])

    def judge(self, run: Run | None, near: Sequence[float] = (0.0,)) -> Judgement:
        """Whether a program equals the machine; reals may be off by the noise, or by what is `near`."""

        def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
            return np.stack([self.draw(rng, length) for _ in range(n)])

        def truth(x: np.ndarray) -> np.ndarray:
            return np.stack([self.machine(sequence) for sequence in x])

        noise = np.maximum(self.noise, np.broadcast_to(near, len(self.targets))).tolist()
        return solved(run, truth, draw, self.length, noise=noise, seed=1)

    @property
    def kind(self) -> str:
        """The group that results are counted in: simple, hard or fresh."""
        return self.group or ("hard" if self.hard else "simple")


def bits(columns: int, share: float = 0.5) -> Draw:
    return lambda rng, T: (rng.random((T, columns)) < share).astype(float)


def whole(*ranges: tuple[int, int]) -> Draw:
    """One column for each (low, high), both included."""
    return lambda rng, T: np.column_stack([rng.integers(a, b + 1, T) for a, b in ranges]).astype(float)


def real(*ranges: tuple[float, float], digits: int = 2) -> Draw:
    return lambda rng, T: np.column_stack([rng.uniform(a, b, T) for a, b in ranges]).round(digits)


def mixed(*draws: Draw) -> Draw:
    return lambda rng, T: np.concatenate([draw(rng, T) for draw in draws], 1)


def walk(low: int, high: int) -> Draw:
    """A whole number that moves by at most 2 a step."""

    def draw(rng: np.random.Generator, T: int) -> np.ndarray:
        value, out = int(rng.integers(low, high + 1)), []
        for _ in range(T):
            value = int(np.clip(value + rng.integers(-2, 3), low, high))
            out.append(value)
        return np.array(out, float)[:, None]

    return draw


def recur(step: Callable[..., object], start: object = 0.0) -> Machine:
    """A machine from `step(state, *inputs at t)`, whose state is its output."""

    def machine(x: np.ndarray) -> np.ndarray:
        state, out = start, []
        for row in x.tolist():
            state = step(state, *row)
            out.append(state)
        return np.array(out, float).reshape(len(x), -1)

    return machine


def pointwise(function: Callable[..., object]) -> Machine:
    return lambda x: np.array([function(*row) for row in x.tolist()], float).reshape(len(x), -1)


def window(size: int, function: Callable[[np.ndarray], float], before: float = 0.0) -> Machine:
    """A function of the last values of the first column; `before` stands for what is not there yet."""

    def machine(x: np.ndarray) -> np.ndarray:
        padded = np.concatenate([np.full(size - 1, before), x[:, 0]])
        return np.array([function(padded[t : t + size]) for t in range(len(x))], float)[:, None]

    return machine


def stored(x: np.ndarray) -> np.ndarray:
    """Column 0 is a key, column 1 a value: what was stored under the same key last, 0 if nothing was."""
    table: dict[float, float] = {}
    out = []
    for key, value in x.tolist():
        out.append(table.get(key, 0.0))
        table[key] = value
    return np.array(out)[:, None]


def with_carry(base: int) -> Machine:
    def machine(x: np.ndarray) -> np.ndarray:
        carry, out = 0, []
        for a, b in x.astype(int).tolist():
            out.append((a + b + carry) % base)
            carry = (a + b + carry) // base
        return np.array(out, float)[:, None]

    return machine


def with_borrow(base: int) -> Machine:
    def machine(x: np.ndarray) -> np.ndarray:
        borrow, out = 0, []
        for a, b in x.astype(int).tolist():
            out.append((a - b - borrow) % base)
            borrow = int(a - b - borrow < 0)
        return np.array(out, float)[:, None]

    return machine


def elevator(x: np.ndarray) -> np.ndarray:
    """Buttons up and down, door open; the car moves only with the door closed, between floors 0 and 4."""
    floor, out = 0, []
    for up, down, door in x.astype(int).tolist():
        if not door:
            floor = min(max(floor + up - down, 0), 4)
        out.append(floor)
    return np.array(out, float)[:, None]
