"""A short formula for the next state, with the numbering that makes it one.

Which number a state gets is free, so a rule is fitted to the machine up to renaming, and no numbering need be
guessed: a start value and a formula of the last state and of what is read say the number of every state, by
following the machine's transitions from the start. Where two ways to a state disagree, or two states get the
same number, it is not the formula. Hundreds of thousands of formulas are followed at once; nearly all of them
end within a few transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Const, Expr, Op, Var, compile_numpy, op
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.simplify.cost import cost

#: Symbols that formulas are followed on before all are asked.
MOST_SYMBOLS = 48
#: Numbers beyond those of the states that a state may have.
ROOM = 3
#: Parts of formulas that are combined with each other, and parts of what is read with those of the state.
MOST_PARTS, MOST_READ = 160, 1200
#: Conditions and branches of a choice, and of one within another.
CONDITIONS, BRANCHES = 90, 48
NESTED_CONDITIONS, NESTED_BRANCHES = 24, 9
#: Start values that are tried.
MOST_STARTS = 10
#: Factors of single values in a sum of what is read.
FACTORS = (0, 1, -1, 2, 3)
#: Formulas that are looked at further, the shortest ones.
KEPT = 40
#: Numbers that parts may have.
LARGEST = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class ShortRule:
    """The numbers of the states, and the formula that leads from one to the next."""

    numbers: np.ndarray
    rule: Expr

    @property
    def cost(self) -> float:
        gaps = self.numbers.max() - self.numbers.min() >= len(np.unique(self.numbers))
        return cost(self.rule) + float(self.numbers[0] != 0) + float(gaps)


def short_rules(
    machine: Machine,
    state: Var,
    reads: tuple[Var, ...],
    apart: np.ndarray | None = None,
    count: int | None = None,
    *,
    choices: bool = True,
) -> list[ShortRule]:
    """Formulas that are the machine up to the names of its states, shortest first.

    Where not all states need be told apart, `apart` (state, state) says which, and `count` how many numbers
    will about do. Choices take most of the time.
    """
    if apart is None or count is None:
        apart, count = ~np.eye(machine.states, dtype=bool), machine.states
    walk = _Walk.along(machine, apart, count)
    parts = _parts(walk, state, reads)
    found: dict[bytes, ShortRule] = {}
    for start in range(min(count, MOST_STARTS)):
        for values, formula in _fitting(walk, parts, start, choices):
            candidate = ShortRule(values.astype(float), formula)
            key = values.tobytes()
            if key in found and found[key].cost <= candidate.cost:
                continue
            if _holds(machine, candidate, state, reads):
                found[key] = candidate
        if found or time_is_up():
            break
    return sorted(found.values(), key=lambda rule: rule.cost)[:KEPT]


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Transitions in an order in which the state that one leaves is known, and whether they come to a new
    one; which states must have different numbers, and how many numbers will do."""

    states: int
    symbols: np.ndarray
    steps: list[tuple[int, int, int, bool]]
    apart: np.ndarray

    @property
    def room(self) -> int:
        return self.states + ROOM

    @staticmethod
    def along(machine: Machine, apart: np.ndarray, count: int) -> _Walk:
        chosen = _some_symbols(machine)
        known, order, steps = {0}, [0], []
        for state in order:
            for place, symbol in enumerate(chosen):
                after = int(machine.moves[state, symbol])
                if after == NOWHERE:
                    continue
                steps.append((state, place, after, after not in known))
                if after not in known:
                    known.add(after)
                    order.append(after)
        return _Walk(count, machine.symbols[chosen], steps, apart)


def _some_symbols(machine: Machine) -> list[int]:
    """All symbols, or some, among them those that a walk needs to come to every state."""
    count = len(machine.symbols)
    if count <= MOST_SYMBOLS:
        return list(range(count))
    known, order, needed = {0}, [0], set[int]()
    for state in order:
        for symbol, after in enumerate(machine.moves[state]):
            if after != NOWHERE and int(after) not in known:
                known.add(int(after))
                order.append(int(after))
                needed.add(symbol)
    others = np.random.default_rng(0).permutation(count)[:MOST_SYMBOLS]
    return sorted(needed | {int(symbol) for symbol in others})


class _Parts:
    """Formulas with their values on every number of a state and every symbol; of equal ones the shortest."""

    def __init__(self, walk: _Walk) -> None:
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


def _parts(walk: _Walk, state: Var, reads: tuple[Var, ...]) -> tuple[list[Expr], np.ndarray]:
    """The state, what is read, and what single operators make of them."""
    room, symbols = walk.room, walk.symbols
    parts = _Parts(walk)
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
        for name, function in _PAIRS.items():
            parts.add(Op(name, (one, two)), function(a, b))
    if 1 < len(reads) <= 4:
        for factors in product(FACTORS, repeat=len(reads)):
            if sum(factor != 0 for factor in factors) > 1:
                formula, values = _weighted(factors, single[1:])
                parts.add(formula, values)
    return parts.table()


def _weighted(factors: tuple[int, ...], values: list[tuple[Expr, np.ndarray]]) -> tuple[Expr, np.ndarray]:
    """A sum of what is read, positive terms first."""
    total: Expr | None = None
    terms = sorted(zip(factors, values, strict=True), key=lambda term: term[0] < 0)
    for factor, (formula, _) in terms:
        if not factor:
            continue
        term = formula if abs(factor) == 1 else Const(abs(factor)) * formula
        if total is None:
            total = term if factor > 0 else -term
        else:
            total = total + term if factor > 0 else total - term
    assert total is not None
    return total, sum((factor * a for factor, (_, a) in terms), np.zeros_like(values[0][1]))


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


_PAIRS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
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

#: What may be done to a formula as a whole.
_Outer = tuple[Callable[[np.ndarray], np.ndarray], Callable[[Expr], Expr]]


def _outers(states: int) -> list[_Outer]:
    top = states - 1
    found: list[_Outer] = [
        (lambda a: a, lambda e: e),
        (lambda a: a % states, lambda e: e % states),
        (lambda a: np.clip(a, 0, top), lambda e: op("clip", e, 0, top)),
        (lambda a: np.minimum(a, top), lambda e: op("min", e, top)),
        (lambda a: np.maximum(a, 0), lambda e: op("max", e, 0)),
    ]
    for c in range(2, 11):
        found.append((lambda a, c=c: a // c, lambda e, c=c: e // c))
    if states == 2:
        for c in range(-6, 13):
            found.append((lambda a, c=c: (a > c).astype(int), lambda e, c=c: e > c))
    return found


def _fitting(
    walk: _Walk, parts: tuple[list[Expr], np.ndarray], start: int, choices: bool
) -> Iterator[tuple[np.ndarray, Expr]]:
    """Formulas that fit on the walk, with the numbers that they give: parts, two parts combined, choices.

    Where the start is not 0 only what cannot begin there is tried: counters with ends, and choices.
    """
    formulas, tables = parts
    outers = _outers(walk.states) if start == 0 else _outers(walk.states)[:3:2]

    def alone(at: np.ndarray, cell: np.ndarray) -> np.ndarray:
        return tables[at, cell]

    for outer, written in outers:
        for index, values in _followed(walk, alone, np.arange(len(formulas)), outer, start):
            yield values, written(formulas[index])
    first, second = _pairs(walk, tables)
    for name in ("add", "sub", "mul", "min", "max", "ne", "gt") if start == 0 else ("add", "sub"):
        function = _PAIRS[name]

        def combined(at: np.ndarray, cell: np.ndarray, function=function) -> np.ndarray:
            return function(tables[first[at], cell], tables[second[at], cell])

        for outer, written in outers[:1] if name in ("min", "max", "ne", "gt") else outers:
            if time_is_up():
                return
            for index, values in _followed(walk, combined, np.arange(len(first)), outer, start):
                yield values, written(Op(name, (formulas[first[index]], formulas[second[index]])))
    if choices:
        yield from _choices(walk, parts, start)


def _pairs(walk: _Walk, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parts that are combined: a few with each other, and more of what is read with those of the state."""
    alike = (np.ptp(tables.reshape(len(tables), walk.room, -1), axis=1) == 0).all(1)
    few = np.arange(min(MOST_PARTS, len(tables)))
    some = np.flatnonzero(~alike)[:MOST_PARTS], np.flatnonzero(alike)[:MOST_READ]
    grids = [*np.meshgrid(few, few), *np.meshgrid(*some), *np.meshgrid(*reversed(some))]
    first, second = (np.concatenate([grid.reshape(-1) for grid in grids[side::2]]) for side in (0, 1))
    return first, second


def _choices(
    walk: _Walk, parts: tuple[list[Expr], np.ndarray], start: int
) -> Iterator[tuple[np.ndarray, Expr]]:
    """One thing or another, by one condition or by two that are asked in turn."""
    formulas, tables = parts
    truths = np.flatnonzero(((tables == 0) | (tables == 1)).all(1) & (np.ptp(tables, axis=1) > 0))
    asked, branches = truths[:CONDITIONS], np.arange(min(BRANCHES, len(formulas)))
    grids = np.meshgrid(asked, branches, branches, indexing="ij")
    condition, yes, no = (grid.reshape(-1) for grid in grids)

    def choice(at: np.ndarray, cell: np.ndarray) -> np.ndarray:
        return np.where(tables[condition[at], cell], tables[yes[at], cell], tables[no[at], cell])

    some = False
    outers = _outers(walk.states)[:3]
    for outer, written in outers:
        for index, values in _followed(walk, choice, np.flatnonzero(yes != no), outer, start):
            made = op("where", formulas[condition[index]], formulas[yes[index]], formulas[no[index]])
            some = True
            yield values, written(made)
    if some or time_is_up():
        return
    asked, branches = truths[:NESTED_CONDITIONS], np.arange(min(NESTED_BRANCHES, len(formulas)))
    grids = np.meshgrid(asked, asked, branches, branches, branches, indexing="ij")
    one, two, a, b, c = (grid.reshape(-1) for grid in grids)

    def nested(at: np.ndarray, cell: np.ndarray) -> np.ndarray:
        rest = np.where(tables[two[at], cell], tables[b[at], cell], tables[c[at], cell])
        return np.where(tables[one[at], cell], tables[a[at], cell], rest)

    different = np.flatnonzero((one != two) & (b != c))
    for outer, written in outers:
        for i, values in _followed(walk, nested, different, outer, start):
            rest = op("where", formulas[two[i]], formulas[b[i]], formulas[c[i]])
            yield values, written(op("where", formulas[one[i]], formulas[a[i]], rest))


def _followed(
    walk: _Walk,
    at: Callable[[np.ndarray, np.ndarray], np.ndarray],
    formulas: np.ndarray,
    outer: Callable[[np.ndarray], np.ndarray],
    start: int,
) -> Iterator[tuple[int, np.ndarray]]:
    """Those of the formulas that fit on every transition, with the number that each state gets."""
    symbols = len(walk.symbols)
    values = np.full((len(formulas), len(walk.apart)), -1, np.int16)
    values[:, 0] = start
    for state, place, after, new in walk.steps:
        if not len(formulas):
            return
        result = outer(at(formulas, values[:, state].astype(int) * symbols + place))
        if new:
            fine = (result >= 0) & (result < walk.room)
            others = np.flatnonzero(walk.apart[after])
            fine &= (values[:, others] != result[:, None]).all(1)
            values, formulas = values[fine], formulas[fine]
            values[:, after] = result[fine]
        else:
            fine = result == values[:, after]
            values, formulas = values[fine], formulas[fine]
    for index, row in zip(formulas[:KEPT], values[:KEPT], strict=True):
        yield int(index), row.copy()


def _holds(machine: Machine, found: ShortRule, state: Var, reads: tuple[Var, ...]) -> bool:
    """Whether a formula is right on every transition that is known."""
    known = machine.moves != NOWHERE
    before, symbol = np.nonzero(known)
    columns = {state: found.numbers[before]}
    columns |= {read: machine.symbols[symbol, place] for place, read in enumerate(reads)}
    variables = found.rule.variables()
    result = compile_numpy(found.rule, variables)(*(columns[v] for v in variables))
    return bool(np.all(result == found.numbers[machine.moves[known]]))
