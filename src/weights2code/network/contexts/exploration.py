"""Every context that a program can bring about, and the network on each of them.

A network that agreed with its program so far has seen the program's outputs as its own past. So both are
equal at every length if the network gives the program's output, after rounding, on every context that the
program can reach; nothing has to be assumed of the network's own course. Contexts are explored breadth first
under every input: if no new one turns up, that is a proof for every length; if the effort ends first, all
sequences up to some length are covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from weights2code.effort import Effort
from weights2code.graph import OperatorNode, RouterNode
from weights2code.language import Domain, Recurrence, Var, compile_numpy, expression_of
from weights2code.network.contexts.pointing import window_of
from weights2code.network.contexts.scoring import Rounded
from weights2code.network.contexts.view import Met, OnContexts, Unsuited, View
from weights2code.verify.exhaustive import all_inputs, inputs_a_position
from weights2code.verify.links import Sequence

#: Unit of rounding in float64, and what products of such errors add at most.
DOUBLE, MORE = 2.0**-53, 1.01
#: A whole-number output is one to this digit.
WHOLE = 1e-6
#: Different inputs of one position, states, contexts computed at once, and counters of one head, at most.
_MOST_INPUTS, _MOST_STATES, _ROWS, _MOST_COUNTED = 20_000, 1_000_000, 1 << 15, 12
#: Contexts that are kept to learn from, of the worst and of all.
KEPT = 256
#: Seconds of a usual machine for a weight and context, a state, a block.
_PER_WEIGHT, _PER_STATE, _PER_BLOCK = 6e-9, 2e-6, 3e-4


@dataclass(frozen=True, slots=True)
class Explored:
    """What exploration found.

    Parameters
    ----------
    closed : whether no new context can turn up, at any length.
    length : all sequences up to this length are covered.
    contexts : how many were looked at.
    error : the largest difference of network and program.
    rounding : by how much rounding can change an output of the network at most, in units of u.
    wrong : on how many contexts the network rounds to another number, or may do so.
    counterexample : inputs of a shortest sequence on which it does.
    worst : sequences that end in contexts with the largest differences, worst first.
    """

    closed: bool
    length: int
    contexts: int
    error: float
    rounding: float
    wrong: int
    counterexample: Sequence | None = None
    worst: tuple[Sequence, ...] = ()

    @property
    def margin(self) -> float:
        """How far outputs stay from the nearest rounding border, rounding errors of float64 included."""
        return 0.5 - self.error - MORE * DOUBLE * self.rounding


def explore(view: View, program: Recurrence, domains: tuple[Domain, ...], effort: Effort) -> Explored:
    """Explore what a program can reach, and compare the network there; `Unsuited` if that cannot be done."""
    if not all(domain.discrete for domain in domains):
        raise Unsuited("the inputs are reals, which no enumeration covers")
    if inputs_a_position(domains) > _MOST_INPUTS:
        raise Unsuited(f"there are more than {_MOST_INPUTS} different inputs in one position")
    if program.retrieves():
        raise Unsuited("the program looks values up")
    with np.errstate(all="ignore"):
        return _Search(view, program, domains, effort).run()


class Narrow(Unsuited):
    """A head that points by content looks further back than was thought: with this window it may do."""

    def __init__(self, name: str, index: int, window: int) -> None:
        super().__init__(f"{name} selects what lies {window} positions back")
        self.index, self.window = index, window


@dataclass(slots=True)
class _Memory:
    """What heads that go over everything so far remember of one source: which of its contexts occurred.

    The columns of the state hold counts for sums and means; for an extremum, which context gave it.
    """

    source: int
    view: View
    counted: bool
    heads: tuple[tuple[int, RouterNode], ...]
    first: int = 0
    found: dict[bytes, int] = field(default_factory=dict)
    values: list[float] = field(default_factory=list)
    rounded: list[float] = field(default_factory=list)

    @property
    def width(self) -> int:
        return _MOST_COUNTED if self.counted else len(self.heads)

    def numbers(self, contexts: np.ndarray, value: Rounded) -> np.ndarray:
        """Each context's number; contexts that are new get one."""
        if not np.all(np.isfinite(value)):
            raise Unsuited("what a head goes over is not finite")
        rows, first, inverse = np.unique(contexts + 0.0, axis=0, return_index=True, return_inverse=True)
        codes = np.empty(len(rows), dtype=int)
        for place, row in enumerate(rows):
            key = row.tobytes()
            if key not in self.found:
                self.found[key] = len(self.values)
                self.values.append(float(value[0][first[place]]))
                self.rounded.append(float(value[1][first[place]]))
            codes[place] = self.found[key]
        if self.counted and len(self.values) > _MOST_COUNTED:
            raise Unsuited(f"a head adds up more than {_MOST_COUNTED} different values")
        return codes[inverse.reshape(-1)]

    def advance(self, state: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The columns after one more position."""
        after = state.copy()
        if self.counted:
            after[np.arange(len(after)), numbers] += 1
            return after
        values = np.array([*self.values, np.nan])
        for column, (_, node) in enumerate(self.heads):
            before = values[np.where(after[:, column] < 0, -1, after[:, column]).astype(int)]
            now = values[numbers]
            better = now > before if node.kind == "max" else now < before
            after[:, column] = np.where((after[:, column] < 0) | better, numbers, after[:, column])
        return after

    def given(self, columns: np.ndarray) -> Iterator[tuple[int, Rounded]]:
        """What each head gives, from the columns that count the present in."""
        values, rounded = np.array(self.values), np.array(self.rounded)
        for column, (index, node) in enumerate(self.heads):
            if not self.counted:
                # with rounding errors another context may be the one that gives it
                chosen = columns[:, column].astype(int)
                yield index, (values[chosen], np.full(len(chosen), rounded.max()))
                continue
            counts = columns[:, : len(values)]
            total = counts @ values
            length = counts.sum(1)
            size = counts @ np.abs(values)
            uncertain = counts @ rounded + (length + 2) * size
            if node.kind == "mean":
                yield index, (total / length, uncertain / length + np.abs(total / length))
            elif node.kind == "sum":
                yield index, (total, uncertain)
            else:
                seen = np.where(counts > 0, values, -np.inf if node.kind == "max" else np.inf)
                best = seen.max(1) if node.kind == "max" else seen.min(1)
                yield index, (best, np.full(len(best), rounded.max()))


class _Search:
    """Breadth first; a state is one row of numbers: age, values of the past, what heads remember."""

    def __init__(self, view: View, program: Recurrence, domains: tuple[Domain, ...], effort: Effort) -> None:
        self.view, self.program, self.effort = view, program, effort
        self.inputs = all_inputs(domains)
        depths = program.depths()
        for name, lag in view.lags.items():
            if lag:
                depths[name] = max(depths.get(name, 0), lag)
        self.past = tuple(Var(name, lag) for name in sorted(depths) for lag in range(1, depths[name] + 1))
        self.column = {variable: 1 + place for place, variable in enumerate(self.past)}
        self.memories = self._memories()
        self.width = 1 + len(self.past) + sum(memory.width for memory in self.memories)
        self.steps = [
            (Var(step.name), variables, compile_numpy(expr, variables))
            for step in program.steps
            for expr in [expression_of(step.definition)]
            for variables in [expr.variables()]
        ]
        self.weights = sum(
            node.hidden_weight.size + 2 * len(node.hidden_bias)
            for index in view.graph.live()
            if isinstance(node := view.graph.nodes[index], OperatorNode)
        )
        self.met: dict[int, Met] = {}
        self.visited: set[bytes] = set()
        self.levels: list[tuple[np.ndarray, np.ndarray]] = []
        self.contexts, self.wrong = 0, 0
        self.error = self.rounding = 0.0
        self.first_wrong: tuple[int, int, int] | None = None
        self.worst: list[tuple[float, int, int, int]] = []

    def _memories(self) -> list[_Memory]:
        graph, found = self.view.graph, []
        sources: dict[tuple[int, bool], list[tuple[int, RouterNode]]] = {}
        summed = {
            graph.nodes[i].reads["value"]  # type: ignore[union-attr]
            for i in self.view.over_all
            if graph.nodes[i].kind in ("mean", "sum")  # type: ignore[union-attr]
        }
        for index in self.view.over_all:
            node = graph.nodes[index]
            assert isinstance(node, RouterNode)
            source = node.reads["value"]
            sources.setdefault((source, source in summed), []).append((index, node))
        first = 1 + len(self.past)
        for (source, counted), heads in sources.items():
            seen = View.at(graph, source, self.view.windows)
            if seen.over_all:
                raise Unsuited("a head goes over what another one found over everything so far")
            memory = _Memory(source, seen, counted, tuple(heads), first)
            first += memory.width
            found.append(memory)
        return found

    def run(self) -> Explored:
        frontier, closed = self._start(), False
        while not closed:
            fresh = self._advance(frontier)
            if fresh is None:
                break
            frontier, closed = fresh, not len(fresh)
        example = None if self.first_wrong is None else self._sequence(*self.first_wrong)
        worst = tuple(self._sequence(*place) for _, *place in sorted(self.worst, reverse=True)[:KEPT])
        return Explored(
            closed,
            len(self.levels),
            self.contexts,
            self.error,
            self.rounding,
            self.wrong,
            example,
            worst,
        )

    def _start(self) -> np.ndarray:
        """The state before the first position, once for each first input: some pasts repeat it."""
        state = np.zeros((len(self.inputs), self.width))
        for variable, column in self.column.items():
            start = self.program.start_of(variable.name)
            first = start == "first"
            state[:, column] = self.inputs[:, self.program.inputs.index(variable.name)] if first else start
        for memory in self.memories:
            if not memory.counted:
                state[:, memory.first : memory.first + memory.width] = -1
        return state

    def _advance(self, frontier: np.ndarray) -> np.ndarray | None:
        """One more position from all states of the frontier; None if the effort ends on the way."""
        fan, begins = len(self.inputs), not self.levels
        per_block = max(1, _ROWS // fan)
        found, parents, taken = [], [], []
        blocks = (
            [slice(0, 1)] if begins else [slice(b, b + per_block) for b in range(0, len(frontier), per_block)]
        )
        for block in blocks:
            if self.effort.spent() or len(self.visited) > _MOST_STATES:
                return None
            states = frontier if begins else np.repeat(frontier[block], fan, axis=0)
            count = 1 if begins else len(frontier[block])
            picked = np.tile(np.arange(fan), count)
            after, error = self._step(states, picked)
            self._judge(error, block.start, picked, fan)
            keep = self._new(after)
            found.append(after[keep])
            parents.append(block.start + keep // fan)
            taken.append(picked[keep])
        self.levels.append((np.concatenate(parents), np.concatenate(taken)))
        return np.concatenate(found)

    def _step(self, states: np.ndarray, picked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The states after one more input, and by how much network and program differ there."""
        program, count = self.program, len(states)
        values = {variable: states[:, column] for variable, column in self.column.items()}
        for place, name in enumerate(program.inputs):
            values[Var(name)] = self.inputs[picked, place]
        for variable, variables, function in self.steps:
            result = function(*(values[v] for v in variables))
            values[variable] = np.broadcast_to(np.asarray(result, dtype=float), count)
        right = np.stack([values[Var(name)] for name in program.outputs], axis=1)
        if not np.all(np.abs(right - np.round(right)) < WHOLE):
            raise Unsuited("an output of the program is no whole number")
        leaves = {
            leaf: np.round(values[leaf]) if leaf.name in program.outputs else values[leaf]
            for leaf in self.view.leaves
        }
        age = states[:, 0]
        registers: dict[int, Rounded] = {}
        unclear = np.zeros(count, dtype=bool)
        after = np.empty_like(states)
        for memory in self.memories:
            own = memory.view.on(leaves, age, {})
            value = own.value(memory.source, 0)
            self._meet(own)
            unclear |= own.unclear
            seen = [np.minimum(age, memory.view.depth), *(leaves[leaf] for leaf in memory.view.leaves)]
            # what lies before the start is not seen, whatever stands there
            lags = [0, *(leaf.lag for leaf in memory.view.leaves)]
            seen = [np.where(lag <= age, part, 0.0) for lag, part in zip(lags, seen, strict=True)]
            columns = slice(memory.first, memory.first + memory.width)
            after[:, columns] = memory.advance(states[:, columns], memory.numbers(np.stack(seen, 1), value))
            registers |= dict(memory.given(after[:, columns]))
        network = self.view.on(leaves, age, registers)
        answer, uncertain = network.outputs()
        self._meet(network)
        error = np.abs(answer - np.round(right)) + np.where(unclear | network.unclear, np.inf, 0.0)[:, None]
        self.rounding = max(self.rounding, float(np.where(np.isnan(uncertain), np.inf, uncertain).max()))
        after[:, 0] = np.minimum(age + 1, self.view.depth)
        for variable, column in self.column.items():
            lag = variable.lag
            after[:, column] = values[Var(variable.name, lag - 1)] if lag > 1 else values[Var(variable.name)]
        self.contexts += count
        self.effort.spend(_PER_BLOCK + _PER_WEIGHT * count * (self.weights + 20 * self.width))
        return after + 0.0, np.where(np.isfinite(error), error, np.inf).max(1)

    def _meet(self, network: OnContexts) -> None:
        """Heads that point by content must stay inside their windows on everything that they meet."""
        for index, new in network.met.items():
            known = self.met.setdefault(index, (set(), set()))
            if all(more <= old for old, more in zip(known, new, strict=True)):
                continue
            for old, more in zip(known, new, strict=True):
                old |= more
            node = self.view.graph.nodes[index]
            assert isinstance(node, RouterNode)
            query, key = (np.array(sorted(values)).T for values in known)
            window = window_of(node, (query[0], query[1]), (key[0], key[1]))
            if window is None:
                raise Unsuited(f"what {node.name} selects can lie anywhere")
            if window > self.view.windows[index]:
                raise Narrow(node.name, index, window)

    def _judge(self, error: np.ndarray, begin: int, picked: np.ndarray, fan: int) -> None:
        """Note how far apart both are, where they are apart, and the worst contexts."""
        self.error = max(self.error, float(error.max()))
        wrong = ~(error + MORE * DOUBLE * self.rounding < 0.5)
        level = len(self.levels)
        if wrong.any():
            self.wrong += int(wrong.sum())
            if self.first_wrong is None:
                row = int(np.argmax(wrong))
                self.first_wrong = (level, begin + row // fan, int(picked[row]))
        for row in np.argsort(-error)[:KEPT].tolist():
            self.worst.append((float(error[row]), level, begin + row // fan, int(picked[row])))
        if len(self.worst) > 8 * KEPT:
            self.worst = sorted(self.worst, reverse=True)[:KEPT]

    def _new(self, after: np.ndarray) -> np.ndarray:
        """The first row of each state that was never seen before."""
        rows, first = np.unique(after, axis=0, return_index=True)
        fresh = []
        for row, place in zip(rows, first.tolist(), strict=True):
            key = row.tobytes()
            if key not in self.visited:
                self.visited.add(key)
                fresh.append(place)
        self.effort.spend(_PER_STATE * len(rows))
        return np.array(sorted(fresh), dtype=int)

    def _sequence(self, level: int, parent: int, picked: int) -> Sequence:
        """The inputs that lead to a context."""
        taken = [picked]
        for parents, inputs in reversed(self.levels[:level]):
            taken.append(int(inputs[parent]))
            parent = int(parents[parent])
        return tuple(tuple(self.inputs[place].tolist()) for place in reversed(taken))
