"""Complete exploration: every state that reference and program can reach together, under every input.

Breadth first from the start, vectorised over frontier x inputs. When no new state turns up, the outputs are
equal for every length and the whole domain; a difference comes with a shortest sequence that shows it.
The values are the float64 values that the program itself computes, kept as they are and never rounded, so
the proof is about its arithmetic too; states that are not exact (not whole numbers or short binary
fractions) make the exploration refuse, as do reals among the inputs and values so large that float64 could
not add some of them exactly. Outputs are equal if they are the same number; outputs that are only near each
other are another result, with the largest difference.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from weights2code.effort import Effort
from weights2code.language import Domain, Expr, Recurrence, Var
from weights2code.verify.certificate import Sequence
from weights2code.verify.evaluation import Largest, evaluate_defined, stopping_steps
from weights2code.verify.exhaustive import all_inputs, inputs_a_position
from weights2code.verify.product import Product, expand_retrievals
from weights2code.verify.rounding import arithmetic
from weights2code.verify.testing import probes

_BINARY_PLACES = 2.0**10
#: Values beyond this are refused: float64 could not hold all their binary places, and sums of some of them.
_LARGE = 2.0**40
_ROWS = 1 << 16
_MOST_INPUTS = 20_000
_MOST_STATES = 2_000_000
_SMALL_SEARCH = 2e7
_LONG = 256
#: Seconds of a usual machine: a block of transitions and each node of the machine then, a value to look up, a
#: transition for each node and each value of the state, a state.
_BLOCK, _BLOCK_NODE, _LOOKED_UP = 1e-4, 1e-5, 2e-8
_PER_NODE, _PER_VALUE, _PER_STATE = 4e-9, 6e-9, 6e-7
#: Whole-number outputs are near each other if they differ by less than this;
WHOLE_NEAR = 1e-6
#: others relative to the larger of 1 and the right value.
REAL_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Exploration:
    """`equal` is a proof, and `near` one that no two outputs differ by more than `error`.

    `different` comes with a shortest counterexample, `inconclusive` with a reason.
    """

    outcome: Literal["equal", "near", "different", "inconclusive"]
    states: int
    transitions: int
    reason: str = ""
    counterexample: Sequence | None = None
    error: float = 0.0
    #: What it took, in seconds of a usual machine.
    effort: float = 0.0


#: Values of the variables that carry the past, a row a state.
States = dict[Var, np.ndarray]


class Refused(Exception):
    """The machine is not one that exploration can decide; the text is the reason."""


def explore(joint: Product, *, whole: bool, time_limit: float = 2.0) -> Exploration:
    """Explore the joint machine completely, or say why not.

    Parameters
    ----------
    joint
        Reference and program side by side.
    whole
        Outputs are whole numbers: a difference of 1e-6 or more that rounding hides makes the exploration
        inconclusive instead of a failure.
    time_limit
        Effort after which to give up, in seconds of a usual machine; it is counted in transitions.
    """
    if not joint.discrete:
        return Exploration("inconclusive", 0, 0, "the inputs are reals, which no enumeration covers")
    plain = expand_retrievals(joint)
    if plain is None:
        return Exploration("inconclusive", 0, 0, "a retrieval has keys that are not a small set of inputs")
    if inputs_a_position(joint.domains) > _MOST_INPUTS:
        return Exploration("inconclusive", 0, 0, f"more than {_MOST_INPUTS} different inputs in one position")
    search = Search(plain, whole, Effort(time_limit))
    try:
        with np.errstate(all="ignore"):
            found = search.run()
    except Refused as refusal:
        found = Exploration("inconclusive", search.count, search.transitions, str(refusal))
    return replace(found, effort=time_limit - search.effort.left)


def reachable_states(machine: Recurrence, domains: tuple[Domain, ...], effort: float) -> States | None:
    """What every variable of the past may hold after some inputs, a row a state; None if that has no end in
    sight, or looks something up."""
    joint = Product(machine, domains, ())
    if not joint.discrete or machine.retrieves() or inputs_a_position(domains) > _MOST_INPUTS:
        return None
    search = Search(joint, True, Effort(effort))
    try:
        with np.errstate(all="ignore"):
            search.run()
    except Refused:
        return None
    codes = np.concatenate(search.seen_rows)
    return {v: search.values[v.name].table[codes[:, i]] for i, v in enumerate(search.state)}


def looks_finite(joint: Product, seed: int = 0) -> bool:
    """A guess whether exploration will end soon: no state grows along long runs, and windows are small.

    Only the order of the attempts depends on it.
    """
    machine = joint.machine
    if not joint.discrete or machine.retrieves():
        return False
    size = dict(zip(machine.inputs, (domain.high - domain.low + 1 for domain in joint.domains), strict=True))
    window = float(np.prod([size[v.name] for v in machine.state() if v.name in size]))
    if window * float(np.prod(list(size.values()))) > _SMALL_SEARCH:
        return False
    x = probes(np.random.default_rng(seed), joint.domains, 16, _LONG, None)
    with np.errstate(all="ignore"):
        trace = machine.trace(x)
    past = (np.abs(trace[name]) for name in machine.depths())
    return not any(values[:, _LONG // 4 :].max() > values[:, : _LONG // 4].max() for values in past)


@dataclass(slots=True)
class _Values:
    """The distinct values that one name has taken, numbered in order of appearance."""

    number: dict[float, int] = field(default_factory=dict)
    table: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def codes(self, values: np.ndarray) -> np.ndarray:
        # Adding zero turns -0.0 into 0.0: they are one value to every comparison.
        distinct, inverse = np.unique(values + 0.0, return_inverse=True)
        for value in distinct.tolist():
            self.number.setdefault(value, len(self.number))
        if len(self.number) > len(self.table):
            self.table = np.fromiter(self.number, float, len(self.number))
        return np.array([self.number[value] for value in distinct.tolist()], dtype=np.int64)[inverse]


class Search:
    """A walk through all states, block by block; `_step` computes one position."""

    def __init__(self, joint: Product, whole: bool, effort: Effort) -> None:
        self.machine: Recurrence = joint.machine
        self.pairs = joint.pairs
        self.whole, self.effort = whole, effort
        formulas = (step.definition for step in self.machine.steps)
        self.nodes = sum(formula.size() for formula in formulas if isinstance(formula, Expr))
        self.state = self.machine.state()
        self.infinite = any(value in (np.inf, -np.inf) for value in self.machine.start.values())
        self.undefined = np.zeros(0, dtype=bool)
        self.needed = stopping_steps(self.machine) | {name for pair in joint.pairs for name in pair}
        #: Values on the way are watched unless it is known that they stay small.
        self.watched = None if arithmetic(self.machine, joint.domains).bounded else Largest()
        self.error = 0.0
        self.inputs = all_inputs(joint.domains)
        self.values = {variable.name: _Values() for variable in self.state}
        self.input_codes = {
            name: self.values[name].codes(self.inputs[:, i])
            for i, name in enumerate(self.machine.inputs)
            if name in self.values
        }
        self.bits: dict[str, int] = {}
        self.visited: set[int] = set()
        self.seen_rows: list[np.ndarray] = []
        self.levels: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.count, self.transitions = 0, 0

    def run(self) -> Exploration:
        wrong = self._advance(None)
        while wrong is None and len(self.levels[-1][0]):
            wrong = self._advance(self.levels[-1][0])
        if wrong is not None:
            example = self._sequence(*wrong)
            return Exploration("different", self.count, self.transitions, counterexample=example)
        outcome = "near" if self.error else "equal"
        return Exploration(outcome, self.count, self.transitions, error=self.error)

    def _advance(self, frontier: np.ndarray | None) -> tuple[int, int] | None:
        """One more position: (parent, input) of a wrong output, or None after adding a level of new states.

        `frontier` holds the codes of the states to go on from; None is the start, which is one state for
        each first input, because "first" starts repeat it.
        """
        fan = len(self.inputs)
        parents = 1 if frontier is None else len(frontier)
        per_chunk = max(1, _ROWS // fan)
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for begin in range(0, parents, per_chunk):
            if self.effort.spent():
                raise Refused(f"the effort is spent after {self.count} states")
            end = min(parents, begin + per_chunk)
            if frontier is None:
                codes = self._start_codes()
            else:
                codes = np.repeat(frontier[begin:end], fan, axis=0)
            picked = np.tile(np.arange(fan), end - begin)
            values = self._step(codes, picked)
            self.transitions += len(picked)
            self._charge(len(picked))
            wrong = self._wrong_row(values)
            if wrong is not None:
                return begin + wrong // fan, wrong % fan
            successors = self._successors(codes, picked, values)
            fresh = self._new_rows(successors)
            found.append((successors[fresh], begin + fresh // fan, picked[fresh]))
        level = tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
        self.levels.append((level[0], level[1], level[2]))
        return None

    def _charge(self, transitions: int) -> None:
        looked_up = sum(len(values.number) for values in self.values.values())
        each = _PER_NODE * self.nodes + _PER_VALUE * len(self.state)
        self.effort.spend(_BLOCK + _BLOCK_NODE * self.nodes + _LOOKED_UP * looked_up + each * transitions)

    def _start_codes(self) -> np.ndarray:
        columns = []
        for variable in self.state:
            start = self.machine.start_of(variable.name)
            if start == "first":
                columns.append(self.input_codes[variable.name])
            else:
                columns.append(self.values[variable.name].codes(np.full(len(self.inputs), float(start))))
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.inputs), 0), dtype=np.int64)

    def _step(self, codes: np.ndarray, picked: np.ndarray) -> dict[Var, np.ndarray]:
        values: dict[Var, np.ndarray] = {
            variable: self.values[variable.name].table[codes[:, i]] for i, variable in enumerate(self.state)
        }
        for i, name in enumerate(self.machine.inputs):
            values[Var(name)] = self.inputs[picked, i]
        self.undefined = np.zeros(len(picked), dtype=bool)
        known: dict[Var, Any] = {}
        for step in self.machine.steps:
            assert isinstance(step.definition, Expr)
            result, defined = evaluate_defined(step.definition, values, known, self.watched)
            result = np.broadcast_to(np.asarray(result, dtype=float), len(picked))
            settled = result
            if defined is not True:
                known[Var(step.name)] = defined
                settled = result[np.broadcast_to(defined, len(picked))]
                carried = step.name in self.values
                if step.name[0] == "p" and step.name in self.needed:
                    self.undefined |= ~np.asarray(defined)
                elif len(settled) < len(picked) and (carried or step.name in self.needed):
                    raise Refused(f"{step.name} is undefined for some inputs")
            if not self.infinite and np.isinf(settled).any():
                raise Refused("a value is infinite")
            values[Var(step.name)] = result
        if self.watched is not None and self.watched.value >= _LARGE:
            raise Refused("values near 2**53, where float64 stops being exact")
        return values

    def _wrong_row(self, values: dict[Var, np.ndarray]) -> int | None:
        bad = self.undefined.copy()
        for right_name, name in self.pairs:
            right, answer = values[Var(right_name)], values[Var(name)]
            if not np.isfinite(right[~self.undefined]).all():
                raise Refused("the reference has no finite output for some inputs")
            error = np.abs(answer - right)
            if self.whole:
                differs = ~(error < WHOLE_NEAR)
                bad |= ~(np.round(answer) == np.round(right))
            else:
                differs = ~(error <= REAL_NEAR * np.maximum(1, np.abs(right)))
                bad |= differs
            if differs.any() and not bad.any():
                raise Refused("outputs are right only after rounding")
            self.error = max(self.error, float(np.max(error, where=~bad, initial=0.0)))
        return int(np.argmax(bad)) if bad.any() else None

    def _successors(self, codes: np.ndarray, picked: np.ndarray, values: dict[Var, np.ndarray]) -> np.ndarray:
        column = {variable: i for i, variable in enumerate(self.state)}
        result = np.empty_like(codes)
        for variable, i in column.items():
            name = variable.name
            if variable.lag > 1:
                result[:, i] = codes[:, column[Var(name, variable.lag - 1)]]
            elif name in self.input_codes:
                result[:, i] = self.input_codes[name][picked]
            else:
                present = values[Var(name)]
                exact = present * _BINARY_PLACES == np.round(present * _BINARY_PLACES)
                if not exact.all():
                    raise Refused(f"the state {name} is not exact in float64")
                result[:, i] = self.values[name].codes(present)
        return result

    def _new_rows(self, successors: np.ndarray) -> np.ndarray:
        """The first row of each state that was never seen before; all of them count as seen from now on."""
        keys, first = np.unique(self._packed(successors), return_index=True)
        seen = self.visited
        fresh = [
            (key, row) for key, row in zip(keys.tolist(), first.tolist(), strict=True) if key not in seen
        ]
        seen.update(key for key, _ in fresh)
        self.count += len(fresh)
        self.effort.spend(_PER_STATE * len(fresh))
        if self.count > _MOST_STATES:
            raise Refused(f"more than {_MOST_STATES} states")
        rows = np.array([row for _, row in fresh], dtype=np.int64)
        self.seen_rows.append(successors[rows])
        return rows

    def _packed(self, new: np.ndarray) -> np.ndarray:
        """Each state as one integer; the fields grow with the tables, and old keys are made anew then."""
        if any(len(values.number) > self._room(name) for name, values in self.values.items()):
            for name, values in self.values.items():
                self.bits[name] = max(self.bits.get(name, 0), len(values.number).bit_length() + 1)
            if sum(self.bits[variable.name] for variable in self.state) > 63:
                raise Refused("the state is too wide")
            self.visited = {key for rows in self.seen_rows for key in self._keys(rows).tolist()}
        return self._keys(new)

    def _room(self, name: str) -> int:
        return 1 << self.bits[name] if name in self.bits else 0

    def _keys(self, rows: np.ndarray) -> np.ndarray:
        keys = np.zeros(len(rows), dtype=np.int64)
        for i, variable in enumerate(self.state):
            keys = (keys << self.bits[variable.name]) | rows[:, i]
        return keys

    def _sequence(self, parent: int, picked: int) -> Sequence:
        inputs = [picked]
        for _, parents, inputs_taken in reversed(self.levels):
            inputs.append(int(inputs_taken[parent]))
            parent = int(parents[parent])
        return tuple(tuple(self.inputs[i].tolist()) for i in reversed(inputs))
