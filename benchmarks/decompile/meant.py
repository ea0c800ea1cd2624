"""The rules that networks are trained on: (n, T, columns) -> (n, T)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rule = Callable[[np.ndarray], np.ndarray]

#: A machine of six states: the moves by 0 and 1, and what each state gives.
MOVES = np.array([[1, 2], [3, 0], [4, 5], [5, 4], [0, 3], [2, 1]])
GIVES = np.array([0, 1, 0, 0, 1, 1])


def parity(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x[..., 0], 1) % 2


def depth(x: np.ndarray) -> np.ndarray:
    """Open brackets (1) less closed ones (0), never below 0."""
    y, level = np.zeros(x.shape[:2]), np.zeros(len(x))
    for t in range(x.shape[1]):
        level = np.maximum(level + 2 * x[:, t, 0] - 1, 0)
        y[:, t] = level
    return y


def clipped_depth(x: np.ndarray) -> np.ndarray:
    return np.minimum(depth(x), 8)


def modulo(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x[..., 0], 1) % 3


def same_key(x: np.ndarray) -> np.ndarray:
    """The value at the last earlier position with the same key, else 0."""
    y = np.zeros(x.shape[:2])
    for i, row in enumerate(x):
        last: dict[float, float] = {}
        for t, (key, value) in enumerate(row):
            y[i, t] = last.get(key, 0.0)
            last[key] = value
    return y


def average(x: np.ndarray) -> np.ndarray:
    y, level = np.zeros(x.shape[:2]), np.zeros(len(x))
    for t in range(x.shape[1]):
        level = 0.8 * level + 0.2 * x[:, t, 0]
        y[:, t] = level
    return y


def six_states(x: np.ndarray) -> np.ndarray:
    y, state = np.zeros(x.shape[:2]), np.zeros(len(x), int)
    for t in range(x.shape[1]):
        state = MOVES[state, x[:, t, 0].astype(int)]
        y[:, t] = GIVES[state]
    return y


def two_ones(x: np.ndarray) -> np.ndarray:
    """Whether the last two are both 1."""
    before = np.pad(x[..., 0], ((0, 0), (1, 0)))[:, :-1]
    return x[..., 0] * before


def latch(x: np.ndarray) -> np.ndarray:
    """1 after a 2 until the next 0."""
    y, state = np.zeros(x.shape[:2]), np.zeros(len(x))
    for t in range(x.shape[1]):
        state = np.where(x[:, t, 0] == 2, 1, np.where(x[:, t, 0] == 0, 0, state))
        y[:, t] = state
    return y


def highest(x: np.ndarray) -> np.ndarray:
    return np.maximum.accumulate(x[..., 0], 1)


def mistaken(rule: Rule, inputs: str, share: float = 0.01) -> Rule:
    """A model that follows a rule, but for mistakes without pattern: which they are is hashed from all that
    was read so far. A mistake gives one of the other outputs."""
    high = max(int(part.rpartition("..")[2]) for part in inputs.split(","))

    def model(x: np.ndarray) -> np.ndarray:
        y, seen = np.array(rule(x), float), np.zeros(len(x), np.uint64)
        for t in range(x.shape[1]):
            for column in x[:, t].T:
                seen = seen * np.uint64(31) + column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
                seen = (seen ^ (seen >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                seen = (seen ^ (seen >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                seen ^= seen >> np.uint64(31)
            wrong = (seen >> np.uint64(11)) / 2.0**53 < share
            y[wrong, t] = (y[wrong, t] + 1 + seen[wrong] % np.uint64(max(1, high))) % (high + 1)
        return y

    return model


RULES = {
    rule.__name__: rule
    for rule in (parity, clipped_depth, modulo, same_key, average, six_states, two_ones, latch, highest)
}
