"""Step functions as specifications: is any verdict on one contradicted by calling it?

A function is a random table of moves and answers whose states look alike: 1, 1.0 and True, 0.0 and -0.0, a
tuple and a list, dictionaries in two orders, nested and mixed. It tells them apart by what they print as, and
spoils what it was given once it has read it. The program is that table as formulas, right, changed in one
place, or with two states that are equal in Python taken for one. The truth is the function itself, called at
one position after another.

Every third case has states that cannot be told apart, from the start or later: sets, objects, NaN, numbers
with something hidden in them, one list in two places. The task must be refused in one sentence.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
from case import Result
from truth import Case, Rows, judged

from chance import Random
from weights2code import Task
from weights2code.errors import InputError
from weights2code.language import Const, Expr, Recurrence, Step, Var, where
from weights2code.tasks.step_function import StepFunction

LENGTH = 6

#: Values that a careless comparison takes for each other, group by group; each has a text of its own.
ALIKE: tuple[tuple[Any, ...], ...] = (
    (0, 0.0, -0.0, False, None, "", b"", (), [], {}, "0"),
    (1, 1.0, True, "1", b"1", (1,), [1], {1: 1}),
    ((1, 0), (True, 0), (1.0, 0), (1, False), (1, -0.0), [1, 0], (1, [0]), ([1], 0)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}),
    ({1: "x"}, {1.0: "x"}, {True: "x"}, {"1": "x"}, {(1,): "x"}, {b"1": "x"}),
    (inf, -inf, 1e308, 10**400, "inf"),
    (2**53, 2.0**53, 2**53 + 1, -(2**53)),
    ([[0], [0]], [[0], [0.0]], ([0], [0]), [(0,), [0]], [[0, 0]], [[False], [0]]),
    ("tuple", ("tuple",), ("int", 1), ("float", "0.0"), ["tuple", 1]),
)


class Marked(int):
    """A whole number that remembers more than its value."""


class Book(dict[Any, Any]):
    """A dictionary that may remember more than its items."""


@dataclass
class Counted:
    """A record to which a function may add what is no field of it."""

    n: int = 0


def _round() -> Any:
    one: list[Any] = [0]
    one.append(one)
    return one


#: What must be refused: a name, and how it is made from a number.
FORBIDDEN: dict[str, Callable[[int], Any]] = {
    "a set": lambda i: {8 * i, 0},
    "a frozenset": lambda i: frozenset({i}),
    "a set inside": lambda i: (i, [{"a": {i}}]),
    "a number with more in it": Marked,
    "a record": Counted,
    "an array": lambda i: np.full(2, i),
    "a number of NumPy": np.int64,
    "a float of NumPy": np.float64,
    "a decimal": Decimal,
    "a fraction": Fraction,
    "a complex number": complex,
    "NaN": lambda i: nan,
    "NaN inside": lambda i: (i, [nan]),
    "a subclass of dict": lambda i: Book(a=i),
    "a counter": lambda i: Counter([i]),
    "an ordered dictionary": lambda i: OrderedDict(a=i),
    "a queue": lambda i: deque([i]),
    "bytes that change": lambda i: bytearray([i % 256]),
    "a range": range,
    "a function": lambda i: lambda: i,
    "a class": lambda i: Counted,
    "names": lambda i: SimpleNamespace(n=i),
    "an iterator": lambda i: iter([i]),
    "one list twice": lambda i: ((_one := [0]), _one),
    "a list in itself": lambda i: _round(),
    "one dictionary twice": lambda i: {"a": (_one := {}), "b": [_one]},
    "one list through two tuples": lambda i: ((_one := [i]), (i, (_one,))),
    "a key that is no plain value": lambda i: {frozenset({i}): 1},
}


def attack(number: int, seed: int) -> Result:
    """One function, refused, or certified against a program and judged."""
    rng = np.random.default_rng([seed, number])
    return _refused(number // 3, rng) if number % 3 == 2 else _judged(number, rng)


# -- what must be refused ------------------------------------------------------------------------------------


def _refused(turn: int, rng: Random) -> Result:
    name = list(FORBIDDEN)[turn % len(FORBIDDEN)]
    make, late = FORBIDDEN[name], int(rng.choice((0, 0, 1, 3, 40)))

    def step(state: Any, row: dict[str, int]) -> tuple[Any, int]:
        count = state if type(state) is int else 0
        return (make(count) if count >= late else count + 1), row["x"]

    kind = f"refused: {name}"
    try:
        task = Task(inputs={"x": (0, 1)}, start=0 if late else make(0), step=step, length=LENGTH)
        task.specification.run(np.zeros((1, 100, 1)))
    except InputError as error:
        said = str(error)
        plain = "state holds" in said and "\n" not in said and said.endswith(".") and len(said) < 250
        return Result(kind, "refused", "" if plain else f"refused, but not in a plain sentence: {said}")
    return Result(kind, "taken", f"{name} was taken as a state, after {late} positions")


# -- what must be judged -------------------------------------------------------------------------------------


def _judged(number: int, rng: Random) -> Result:
    kind, states, moves, answers, program = _made(rng)
    rows = moves.shape[1]
    texts = {repr(state): i for i, state in enumerate(states)}

    def step(state: Any, row: dict[str, int]) -> tuple[Any, int]:
        at = texts[repr(state)]
        _spoil(state)
        return deepcopy(states[moves[at, row["x"]]]), int(answers[at, row["x"]])

    shown = f"states {states}; moves {moves.tolist()}; answers {answers.tolist()}; program {program.steps}"
    try:
        task = Task(inputs={"x": (0, rows - 1)}, start=states[0], step=step, length=LENGTH)
    except InputError as error:
        return Result(kind, "refused", f"plain states were refused: {error}", shown)
    assert isinstance(task.specification, StepFunction)
    right = kind == "right"
    telling = _telling(moves, rng)
    case = Case(kind, program, task.specification, task.domains, True, LENGTH, telling, right)
    certificate, failure = judged(case, rng, seed=number, count=32)
    if not failure and right and certificate.verdict != "proved":
        failure = f"{certificate.verdict}, although the program is the function, which has few states"
    if not failure and certificate.verdict == "proved" and StepFunction.assumes not in certificate.method:
        failure = "proved, but not what that assumes of the function"
    return Result(kind, certificate.verdict, failure, f"{shown}; {certificate.method}")


def _made(rng: Random) -> tuple[str, list[Any], np.ndarray, np.ndarray, Recurrence]:
    """States, their moves and answers, and a program, with how it was made."""
    group = ALIKE[int(rng.integers(len(ALIKE)))]
    mixed = [*group, *ALIKE[int(rng.integers(len(ALIKE)))]] if rng.random() < 0.3 else list(group)
    known = {repr(state): state for state in mixed}
    count, rows = int(rng.integers(2, min(6, len(known)) + 1)), int(rng.integers(2, 4))
    states = [list(known.values())[i] for i in rng.permutation(len(known))[:count]]
    moves, answers = rng.integers(0, count, (count, rows)), rng.integers(0, 4, (count, rows))
    reached = _reached(moves)
    kind = str(rng.choice(("right", "right", "a move", "an answer", "two states as one")))
    new_moves, new_answers = moves.copy(), answers.copy()
    at, row = int(rng.choice(reached)), int(rng.integers(rows))
    if kind == "a move":
        new_moves[at, row] = (moves[at, row] + int(rng.integers(1, count))) % count
    elif kind == "an answer":
        new_answers[at, row] += 1
    elif kind == "two states as one":
        one, two = (int(i) for i in rng.permutation(count)[:2])
        new_moves[new_moves == one] = two
    program = Recurrence(
        ("x",), (Step("y", _table(new_answers)), Step("k", _table(new_moves))), ("y",), {"k": 0.0}
    )
    return kind, states, moves, answers, program


def _table(values: np.ndarray) -> Expr:
    """values[k, x] as a formula, k the state before."""
    state, x = Var("k", 1), Var("x")
    found: Expr | None = None
    for i, line in enumerate(values.tolist()):
        of_row: Expr = Const(line[-1])
        for j, value in enumerate(line[:-1]):
            of_row = where(x.equals(j), Const(value), of_row)
        found = of_row if found is None else where(state.equals(i), of_row, found)
    assert found is not None
    return found


def _reached(moves: np.ndarray) -> list[int]:
    found = [0]
    for state in found:
        found += [int(i) for i in dict.fromkeys(moves[state].tolist()) if i not in found]
    return found


def _telling(moves: np.ndarray, rng: Random) -> tuple[Rows, ...]:
    """To every state by the shortest way, every row there, and on at random."""
    rows, ways = moves.shape[1], {0: []}
    for state in _reached(moves):
        for row in range(rows):
            ways.setdefault(int(moves[state, row]), [*ways[state], row])
    found = []
    for way in ways.values():
        for row in range(rows):
            tail = rng.integers(0, rows, 12).tolist()
            found.append([[float(i)] for i in (*way, row, *tail)])
    return tuple(found)


def _spoil(state: Any) -> None:
    """What a function does to the state that it was given is nobody else's."""
    if isinstance(state, tuple):
        for part in state:
            _spoil(part)
    if isinstance(state, list):
        state.append("spoilt")
    if isinstance(state, dict):
        state["spoilt"] = state
