"""States without end: which one the output needs, asked of the rows.

A state that goes on by some update (`updates.py`) over some quantity (`quantities.py`) is known before
anything is trained. If rows agree in what is visible and in the state, and none of them contradicts another,
though many would without the state, the state is what was missing. Most candidates are contradicted by a few
hundred rows; those that are not are asked again with more. What the outputs are made of beside the state is
then looked for, the fewest values first, and a formula of those.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import Effort, time_is_up
from weights2code.graph import shifted
from weights2code.language import Expr, Var
from weights2code.memory.formulas import digits_of, formula_of
from weights2code.memory.hidden import Memory
from weights2code.memory.quantities import Quantity, composed, conditional, quantities
from weights2code.memory.updates import Update, between_ends, followed, updates
from weights2code.simplify.cost import cost

#: Rows that a candidate is asked first: as many as show so many contradictions, were it any state of so many
#: values; and the least and the most of them.
FIRST_EXPECTED, USUAL_VALUES = 40.0, 16
FEWEST_ROWS, MOST_ROWS = 1_000, 12_000
#: Rows that those are asked that are left, and the contradictions that there would be without the state.
ASKED, EXPECTED = (8_000, 60_000, 200_000), 300.0
#: Values that are compared at once.
AT_ONCE = 2_000_000
#: The same for each of the parts before all rows.
LEAST = 1.0
#: Quantities that are asked first.
SIMPLE = 50
Part = Literal["simple", "composed", "conditional", "further"]
PARTS: tuple[Part, ...] = ("simple", "composed", "conditional", "further")
#: Effort for all of them and for those, in seconds of a usual machine, and what a value of a row costs: to be
#: compared in part, and in full.
EFFORT, SIMPLE_EFFORT, A_VALUE, SORTED = 5.0, 0.7, 3e-8, 2e-7
#: Sequences whose beginnings say which quantities may be made of others, and what that costs.
MOST_BEGINNINGS, A_COMPOSED = 8_000, 1.0
#: Sequences on which quantities are told apart.
FEW_SEQUENCES = 100
#: Rows that tell how much is lacking.
USUAL_ROWS = 20_000
#: Ends between which a sum is followed before its ends are looked for.
NEAR_ENDS = ((0.0, 3.0), (-2.0, 3.0))
#: Sets of values beside a state that a formula is looked for in, and how large they may be.
MOST_SETS, LARGEST_SET = 3, 5
#: Rows of which sets are asked first.
FIRST_ROWS = 3_000
#: Effort for the formula of an output, in seconds of a usual machine.
FORMULA_EFFORT = 1.0
#: The cost of a formula that is short enough to look no further.
ENOUGH = 9.0


@dataclass(frozen=True, slots=True)
class Context:
    """What is known: a state some steps back, and before that up to so many times; all inputs up to so many
    steps back; and the last outputs. Beside the present state, the inputs that it does not go on by are
    enough."""

    back: int
    inputs: int
    states: int = 1

    @property
    def farthest(self) -> int:
        """How far back a state is read."""
        return self.back + self.states - 1

    def near(self, problem: Problem, read: frozenset[str] = frozenset()) -> list[tuple[int, int]]:
        """Columns and lags that are visible beside a state that goes on by some inputs."""
        columns = [column for column, name in enumerate(problem.inputs) if self.back or name not in read]
        outputs = range(len(problem.inputs), len(problem.inputs) + len(problem.outputs))
        near = [(column, lag) for lag in range(self.inputs + 1) for column in columns]
        return near + [(column, 1) for column in outputs]


#: The least first, and how many of them are simple.
SIMPLE_CONTEXTS = 3
CONTEXTS = (Context(0, 0), Context(1, 0), Context(0, 0, 3), Context(2, 1), Context(2, 2))


@dataclass(slots=True, eq=False)
class _Asked:
    """Some sequences, their visible values and the outputs, coded as whole numbers."""

    problem: Problem
    sequences: Sequences
    context: Context
    chosen: np.ndarray = field(init=False)
    target: np.ndarray = field(init=False)
    bits: int = field(init=False)
    _visible: dict[tuple[tuple[int, int], ...], np.ndarray] = field(default_factory=dict)

    @staticmethod
    def of(problem: Problem, context: Context, rows: int) -> _Asked:
        """So many rows of a problem."""
        sequences = problem.training
        most = max(1, rows // max(sequences.x.shape[1] - context.farthest, 1))
        return _Asked(problem, sequences.take(slice(0, most)), context)

    def __post_init__(self) -> None:
        y = self.sequences.y
        self.chosen = self.sequences.scored & (np.arange(y.shape[1]) >= self.context.farthest)
        self.target = coded([values[self.chosen] for values in np.moveaxis(y, 2, 0)])
        self.bits = int(self.target.max(initial=0)).bit_length()

    def at(self, column: int, lag: int) -> np.ndarray:
        """A column some steps back, at every position."""
        inputs = len(self.problem.inputs)
        x, y = self.sequences.x, self.sequences.y
        return shifted(x[..., column] if column < inputs else y[..., column - inputs], lag, 0.0)

    def visible(self, read: set[str]) -> np.ndarray:
        """A code of what is visible beside a state that goes on by some inputs."""
        near = tuple(self.context.near(self.problem, frozenset(read)))
        if near not in self._visible:
            self._visible[near] = coded([self.at(*place)[self.chosen] for place in near])
        return self._visible[near]

    def lacking(self) -> np.ndarray:
        """The share of rows alike in what is visible beside a usual state that contradict each other, at each
        position: what has gathered long enough may hardly change."""
        visible = self.visible({self.problem.inputs[0]})
        where = np.nonzero(self.chosen)[1]
        order = np.lexsort((np.random.default_rng(0).random(len(visible)), visible, where))
        same = (np.diff(visible[order]) == 0) & (np.diff(where[order]) == 0)
        apart = same & (np.diff(self.target[order]) != 0)
        length, at = self.chosen.shape[1], where[order][1:]
        return np.bincount(at[apart], minlength=length) / np.maximum(
            np.bincount(at[same], minlength=length), 1
        )

    def alike(self) -> float:
        """How likely two rows are alike in what is visible, but for the inputs of a usual state."""
        counts = np.bincount(self.visible({self.problem.inputs[0]})).astype(float)
        return float((counts**2).sum() / max(len(self.target), 1) ** 2)

    def known(self, quantity: Quantity) -> np.ndarray:
        """A code of what is known beside the state."""
        lags = range(self.context.back)
        own = [quantity.values] if quantity.held is None else [quantity.values, quantity.held]
        more = [shifted(values, lag, 0.0)[self.chosen] for lag in lags for values in own]
        return coded([self.visible(quantity.read), *more])

    def agree(
        self, known: np.ndarray, states: np.ndarray, lacking: np.ndarray, kept: np.ndarray | None = None
    ) -> np.ndarray:
        """Of states of shape (candidates, sequences, positions), how many contradictions there would be by
        chance in rows alike in what is known and in the state; -1 if there are some."""
        low = np.floor(states.min())
        width = int(states.max() - low) + 1
        codes = (states - low).astype(np.int64)
        keys = np.broadcast_to(known, (len(states), len(known)))
        for lag in range(self.context.back, self.context.farthest + 1):
            keys = keys * width + _back(codes, lag)[:, self.chosen]
        keys = (keys << self.bits) + self.target
        if kept is not None:
            used = _back(kept, self.context.back)[:, self.chosen]
            keys = np.where(used, keys, -(np.arange(keys.shape[1]) + 1) << self.bits)
        expected = np.full(len(keys), -1.0)
        right = np.flatnonzero(~_contradicted(np.sort(keys[:, : keys.shape[1] // 3], axis=1), self.bits))
        right = right[~_contradicted(np.sort(keys[right], axis=1), self.bits)]
        by_chance = lacking[np.nonzero(self.chosen)[1]]
        for place in right:
            order = np.argsort(keys[place], kind="stable")
            same = np.diff(keys[place][order]) == 0
            expected[place] = by_chance[order][1:][same].sum()
        return expected


def _contradicted(keys: np.ndarray, bits: int) -> np.ndarray:
    """Whether keys that are in order, a row each, are alike but for their last bits."""
    return ((np.diff(keys >> bits, axis=1) == 0) & (np.diff(keys, axis=1) != 0)).any(1)


def _back(values: np.ndarray, lag: int) -> np.ndarray:
    """Values some steps back; what is before the start is not asked."""
    moved = np.zeros_like(values)
    moved[..., lag:] = values[..., : values.shape[-1] - lag]
    return moved


def without_end(problem: Problem, *, simple: bool = False) -> Memory | None:
    """A state without end that determines the outputs together with a few visible values; None if there is
    none of the kinds that are known here, or none that is simple if that is asked for. A sum is left to
    heads, which need no state for it."""
    if not problem.whole or problem.training.given.any() or problem.original is not None:
        return None
    if any(domain.categories for domain in (*problem.domains, *problem.output_domains)):
        return None  # texts have no sums
    effort = Effort(SIMPLE_EFFORT if simple else EFFORT)
    searches: dict[Context, _Search | None] = {}
    for part in PARTS[:1] if simple else PARTS:
        made = _quantities(problem, part, effort)
        for context in CONTEXTS[:SIMPLE_CONTEXTS] if simple else CONTEXTS:
            if context not in searches:
                searches[context] = _Search.of(problem, context, effort)
            search = searches[context]
            if search is None or effort.spent():
                continue
            found = search.first(made)
            if found is not None:
                sums = any(update.kind == "sum" for update in found[1])
                return None if sums else _shortest(problem, search.context, *found)
    return None


def _quantities(problem: Problem, part: Part, effort: Effort) -> list[Quantity]:
    """What a state may go on by; composed ones are asked of many sequences at once."""
    if part == "composed":
        sequences = problem.training.take(slice(0, MOST_BEGINNINGS))
        effort.spend(A_COMPOSED)
        return composed(problem, sequences.x, sequences.y)
    x = problem.training.take(slice(0, FEW_SEQUENCES)).x
    if part == "conditional":
        return conditional(problem, x)
    return quantities(problem, x)[slice(None, SIMPLE) if part == "simple" else slice(SIMPLE, None)]


@dataclass(slots=True, eq=False)
class _Search:
    """States beside one context, simple quantities first."""

    context: Context
    few: _Asked
    lacking: np.ndarray
    effort: Effort
    _asked: dict[int, _Asked] = field(default_factory=dict)

    @staticmethod
    def of(problem: Problem, context: Context, effort: Effort) -> _Search | None:
        """None if there are too few rows, or nothing lacks."""
        usual = _Asked.of(problem, context, USUAL_ROWS)
        lacking = usual.lacking()
        effort.spend(SORTED * USUAL_ROWS)
        if not lacking.any():
            return None
        rows = np.sqrt(2 * FIRST_EXPECTED * USUAL_VALUES / (usual.alike() * lacking.mean()))
        if rows > MOST_ROWS:
            return None
        few = _Asked.of(problem, context, int(np.clip(rows, FEWEST_ROWS, MOST_ROWS)))
        return _Search(context, few, lacking, effort)

    def first(self, asked: list[Quantity]) -> tuple[Quantity, list[Update]] | None:
        """The first quantity with updates that nothing contradicts."""
        for other in asked:
            if self.effort.spent():
                return None
            quantity = other.elsewhere(self.few.problem.inputs, self.few.sequences.x)
            found = self._kept(quantity, self._uncontradicted(quantity))
            if found:
                return quantity, found
        return None

    def _kept(self, quantity: Quantity, candidates: list[Update]) -> list[Update]:
        """Those of few candidates that more rows do not contradict either, and of which enough repeat; a sum
        alone if it is among them, and no two ends where one will do."""
        for rows in ASKED:
            if not candidates:
                return []
            if rows not in self._asked:
                self._asked[rows] = _Asked.of(self.few.problem, self.context, rows)
            part = self._asked[rows]
            quantity = quantity.elsewhere(part.problem.inputs, part.sequences.x)
            known = part.known(quantity)
            least = EXPECTED if rows == ASKED[-1] else LEAST
            if part.agree(known, np.zeros((1, *part.chosen.shape)), self.lacking)[0] >= 0:
                return []  # what the quantity shows is enough, without any state
            kept: list[Update] = []
            for update in candidates:
                if any(one.kind == "sum" or one.implies(update) for one in kept):
                    continue
                self.effort.spend(SORTED * part.chosen.size)
                states = followed([update], quantity)
                if part.agree(known, states, self.lacking)[0] >= least:
                    kept.append(update)
            candidates = kept
        return candidates

    def _uncontradicted(self, quantity: Quantity) -> list[Update]:
        """The updates that few rows do not contradict, some of which repeat: those of one end or none; and
        sums between two ends, where nothing contradicts them as long as they are not near any."""
        known, own = self.few.known(quantity), list(updates(quantity))
        found = self._right(quantity, known, own)
        taken = [update.numbers[0] for update in own if update.kind == "queue"]
        free = [Update("between", (k, low, np.inf)) for low in (0.0, -np.inf) for k in taken]
        if not free or any(update.kind == "sum" for update in found):
            return found
        states = followed(free, quantity)
        lows = np.repeat([low for low, _ in NEAR_ENDS], len(taken))[:, None, None]
        highs = np.repeat([high for _, high in NEAR_ENDS], len(taken))[:, None, None]
        inside = np.logical_and.accumulate((states >= lows) & (states <= highs), axis=2)
        self.effort.spend(A_VALUE * states.size)
        expected = self.few.agree(known, np.clip(states, lows, highs), self.lacking, inside)
        for place in np.flatnonzero(expected >= LEAST):
            ends = between_ends(free[place].numbers[0], *NEAR_ENDS[place // len(taken)])
            found += self._right(quantity, known, list(ends))
        return found

    def _right(self, quantity: Quantity, known: np.ndarray, chosen: list[Update]) -> list[Update]:
        """Those that few rows do not contradict, some of which repeat."""
        found: list[Update] = []
        size = max(1, AT_ONCE // self.few.chosen.size)
        for first in range(0, len(chosen), size):
            part = chosen[first : first + size]
            self.effort.spend(A_VALUE * self.few.chosen.size * len(part))
            expected = self.few.agree(known, followed(part, quantity), self.lacking)
            found += [one for one, count in zip(part, expected, strict=True) if count >= LEAST]
        return found


def _shortest(problem: Problem, context: Context, quantity: Quantity, chosen: list[Update]) -> Memory:
    """The first state with a formula for every output; the first of all if there is none."""
    asked = _Asked.of(problem, context, ASKED[-1])
    quantity = quantity.elsewhere(problem.inputs, asked.sequences.x)
    name = "state"
    while name in (*problem.inputs, *problem.outputs):
        name += "_"
    made = (_memory(problem, asked, Var(name, 1), quantity, update) for update in chosen)
    found = next(made)
    return found if found.answers else next((other for other in made if other.answers), found)


def _memory(problem: Problem, asked: _Asked, state: Var, quantity: Quantity, update: Update) -> Memory:
    rule = update.rule(state, quantity)
    answers = []
    leaves = _leaves(problem, asked, state, quantity, update)
    digits = update.kind == "remainder"
    for output in range(len(problem.outputs)):
        formula = _answer(leaves, asked.sequences.y[..., output][asked.chosen], digits)
        if formula is None:
            answers = []
            break
        answers.append(formula)
    return Memory(None, (state.name,), np.zeros((1, 1)), (rule,), tuple(answers))


def _leaves(
    problem: Problem, asked: _Asked, state: Var, quantity: Quantity, update: Update
) -> list[tuple[Expr, np.ndarray]]:
    """What an output may be made of, the likely ones first, and their values."""
    states = followed([update], quantity)[0]
    last = shifted(states, 1, 0.0)
    known: list[tuple[Expr, np.ndarray]] = []
    farthest = max(asked.context.farthest - 1, 0)

    def add(formula: Expr, values: np.ndarray) -> None:
        for lag in range(farthest + 1):
            moved = {v: Var(v.name, v.lag + lag) for v in formula.variables()}
            known.append((formula.substitute(moved), shifted(values, lag, 0.0)[asked.chosen]))

    if update.cut:
        add(update.before_cut(state, quantity.formula), last + quantity.values - update.numbers[0])
    add(Var(state.name), states)
    if quantity.formula not in [Var(name) for name in problem.inputs]:
        add(quantity.formula, quantity.values)
    if quantity.when is not None and quantity.held is not None:
        add(quantity.when, quantity.held)
    near = asked.context.near(problem)
    for column, lag in near:
        name = (*problem.inputs, *problem.outputs)[column]
        known.append((Var(name, lag), asked.at(column, lag)[asked.chosen]))
    add(state, last)
    return known


def _answer(leaves: list[tuple[Expr, np.ndarray]], target: np.ndarray, digits: bool) -> Expr | None:
    """A formula of the fewest leaves that determine the target, the shortest of some sets."""
    found: list[Expr] = []
    tried = 0
    for size in range(1, min(LARGEST_SET, len(leaves)) + 1):
        for chosen in combinations(leaves, size):
            if time_is_up():
                return None
            columns = [values for _, values in chosen]
            if not _determined([values[:FIRST_ROWS] for values in columns], target[:FIRST_ROWS]):
                continue
            if not _determined(columns, target):
                continue
            names = tuple(Var(f"leaf {place}") for place in range(size))
            rows, formula = np.column_stack(columns), None
            if digits and size == 2:
                _, once = np.unique(rows, axis=0, return_index=True)
                formula = digits_of(rows[once], target[once], (names[0], names[1]))
            formula = formula or formula_of(rows, target, names, FORMULA_EFFORT)
            tried += 1
            if formula is not None:
                meant = {name: leaf for name, (leaf, _) in zip(names, chosen, strict=True)}
                found.append(formula.substitute(meant))
            if tried == MOST_SETS or (found and min(map(cost, found)) <= ENOUGH):
                return min(found, key=cost, default=None)
        if found:
            break
    return min(found, key=cost, default=None)


def _determined(columns: list[np.ndarray], target: np.ndarray) -> bool:
    keys = coded(columns)
    order = np.argsort(keys, kind="stable")
    same = np.diff(keys[order]) == 0
    return not (same & (np.diff(target[order]) != 0)).any()


def coded(columns: list[np.ndarray]) -> np.ndarray:
    """One whole number for each row of whole numbers, from 0 on, the same for the same rows alone."""
    keys, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        low = column.min(initial=0)
        own = (column - low).astype(np.int64)
        width = int(own.max(initial=0)) + 1
        if size * width >= 2**40:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)
            size = int(keys.max(initial=0)) + 1
        keys, size = keys * width + own, size * width
    return keys if size < 2**24 else np.unique(keys, return_inverse=True)[1].reshape(-1)
