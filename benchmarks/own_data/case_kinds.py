"""What cases are made of: inputs to draw, and machines that turn them into outputs.

The machines are for judging only: what is fitted sees nothing but the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data import Problem, file_source
from weights2code.experiments.judging import Judgement, Run, solved
from weights2code.settings import Settings
from weights2code.source import problem_of

#: Rows of a single long sequence.
ROWS = 2000

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
    group: str = "simple"
    shape: tuple[int, int, int] = (300, 8, 16)
    flips: float = 0.0

    @property
    def length(self) -> int:
        """The longest sequence that training sees."""
        return 32 if self.long else min(32, self.shape[2])

    def judge(self, run: Run | None) -> Judgement:
        """Whether a program equals the machine; reals may be off by the noise."""

        def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
            return np.stack([self.draw(rng, length) for _ in range(n)])

        def truth(x: np.ndarray) -> np.ndarray:
            return np.stack([self.machine(sequence) for sequence in x])

        return solved(run, truth, draw, self.length, noise=self.noise, seed=1)

    @property
    def labels(self) -> dict[str, Any]:
        """What its row says of it, apart from what is found."""
        return {"name": self.name, "field": self.field, "group": self.group}

    def problem(self, settings: Settings) -> Problem:
        """What the search sees: the file."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.write(Path(folder))
            return problem_of(file_source(path, self.inputs, self.targets, "sequence", "step"), settings)

    def write(self, folder: Path) -> Path:
        """As CSV: `sequence`, `step`, inputs, targets; always the same bytes."""
        rng = np.random.default_rng([0, *self.name.encode()])
        count, shortest, longest = self.shape
        lengths = [ROWS] if self.long else rng.integers(shortest, longest + 1, count).tolist()
        path = folder / f"{self.name}.csv"
        with open(path, "w", encoding="utf-8") as file:
            file.write(",".join(("sequence", "step", *self.inputs, *self.targets)) + "\n")
            for sequence, length in enumerate(lengths):
                x = self.draw(rng, length)
                y = self.machine(x)
                if self.noise:
                    y = (y + rng.normal(size=y.shape) * self.noise).round(4)
                if self.flips:
                    y = np.where(rng.random(y.shape) < self.flips, 1 - y, y)
                for step, row in enumerate(np.concatenate([x, y], 1).tolist()):
                    cells = (repr(int(v)) if v.is_integer() else repr(v) for v in row)
                    file.write(",".join((str(sequence), str(step), *cells)) + "\n")
        return path


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


def drifting(low: float, high: float, most: float, digits: int = 0) -> Draw:
    """A column that moves by at most `most` a step."""

    def draw(rng: np.random.Generator, T: int) -> np.ndarray:
        value, out = rng.uniform(low, high), []
        for _ in range(T):
            value = float(np.clip(value + rng.uniform(-most, most), low, high))
            out.append(round(value, digits))
        return np.array(out)[:, None]

    return draw


def among(*values: float) -> Draw:
    """One column of values from a list."""
    return lambda rng, T: rng.choice(np.array(values, float), T)[:, None]


def stepping(step: Callable[..., tuple[Any, ...]], start: Any) -> Machine:
    """A machine from `step(state, *inputs at t) -> state, outputs`."""

    def machine(x: np.ndarray) -> np.ndarray:
        state, out = start, []
        for row in x.tolist():
            state, *answers = step(state, *row)
            out.append(answers)
        return np.array(out, float)

    return machine


def recur(step: Callable[..., Any], start: Any = 0.0) -> Machine:
    """A machine whose state is its output."""
    return stepping(lambda state, *row: (new := step(state, *row), new), start)


def pointwise(function: Callable[..., Any]) -> Machine:
    return stepping(lambda _, *row: (None, function(*row)), None)


def window(size: int, function: Callable[[np.ndarray], float]) -> Machine:
    """A function of the last values of the first column; 0 stands for what is not there yet."""

    def machine(x: np.ndarray) -> np.ndarray:
        padded = np.concatenate([np.zeros(size - 1), x[:, 0]])
        return np.array([function(padded[t : t + size]) for t in range(len(x))], float)[:, None]

    return machine


#: Column 0 is a key, column 1 a value: what was stored under the same key last, 0 if nothing was.
stored = stepping(lambda table, key, value: (table | {key: value}, table.get(key, 0.0)), {})


def with_carry(base: int) -> Machine:
    return stepping(lambda over, a, b: ((a + b + over) // base, (a + b + over) % base), 0)


def with_borrow(base: int) -> Machine:
    return stepping(lambda over, a, b: (a - b - over < 0, (a - b - over) % base), False)
