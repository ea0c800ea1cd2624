"""Parts of formulas, with their values on every number that a state may have and every symbol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from weights2code.language import Const, Expr, Op, Var, op
from weights2code.memory.walk import Walk
from weights2code.simplify.cost import cost

#: Numbers that parts may have.
LARGEST = 10_000


class Parts:
    """Formulas with their values on every number of a state and every symbol; of equal ones the shortest."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.known: dict[bytes, tuple[Expr, np.ndarray]] = {}

    def add(self, formula: Expr, values: np.ndarray) -> None:
        if np.abs(values).max() > LARGEST:
            return
        key = values.astype(np.int32).tobytes()
        if key not in self.known or cost(self.known[key][0]) > cost(formula):
            self.known[key] = formula, values.astype(np.int32)

    def table(self) -> tuple[list[Expr], np.ndarray]:
        ranked = sorted(self.known.values(), key=lambda item: cost(item[0]))
        return [formula for formula, _ in ranked], np.stack([values for _, values in ranked])


def parts_of(walk: Walk, state: Var, reads: tuple[Var, ...]) -> tuple[list[Expr], np.ndarray]:
    """The state, what is read, and what single operators make of them."""
    room, symbols = walk.room, walk.symbols
    parts = Parts(walk)
    single: list[tuple[Expr, np.ndarray]] = [(state, np.repeat(np.arange(room), len(symbols)))]
    for place, read in enumerate(reads):
        single.append((read, np.tile(symbols[:, place].astype(int), room)))
    for number in range(walk.states + 1):
        parts.add(Const(number), np.full(room * len(symbols), number))
    for formula, values in single:
        parts.add(formula, values)
        for made, result in _with_constants(formula, values, walk.states):
            parts.add(made, result)
    for (one, a), (two, b) in product(single, single):
        if one is two:
            continue
        for name, function in PAIRS.items():
            parts.add(Op(name, (one, two)), function(a, b))
    return parts.table()


def _with_constants(formula: Expr, a: np.ndarray, states: int) -> Iterator[tuple[Expr, np.ndarray]]:
    low, high = int(a.min()), int(a.max())
    for c in range(1, 4):
        yield formula + c, a + c
        yield formula - c, a - c
    for c in range(2, max(states, 10)):
        yield Const(c) * formula, c * a
    for c in range(2, states + 1):
        yield formula % c, a % c
        yield formula // c, a // c
    yield -formula, -a
    yield abs(formula), np.abs(a)
    for c in range(max(low, -LARGEST), min(high, low + 30) + 1):
        yield Const(c) - formula, c - a
        yield formula.equals(c), (a == c).astype(int)
        yield Op("ne", (formula, Const(c))), (a != c).astype(int)
        yield formula > c, (a > c).astype(int)
        yield formula <= c, (a <= c).astype(int)
        yield op("min", formula, c), np.minimum(a, c)
        yield op("max", formula, c), np.maximum(a, c)


PAIRS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "eq": lambda a, b: (a == b).astype(int),
    "ne": lambda a, b: (a != b).astype(int),
    "gt": lambda a, b: (a > b).astype(int),
    "ge": lambda a, b: (a >= b).astype(int),
}
