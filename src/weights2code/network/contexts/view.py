"""The network on contexts: what its output at one position depends on, and its value there.

A context is a finite part of the past: inputs and past outputs at a few lags, how many positions lie before
(`age`, capped where it stops to matter), and for heads that go over everything so far a register each. On
contexts the network is a plain function, which can be tabulated, where on sequences it cannot.

Every value comes with its sensitivity to rounding: computed with rounding errors of u (2**-53 in float64),
it is off by less than u times that, in whatever order sums are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.language import Var
from weights2code.network.contexts.scoring import SINGLE, Rounded, scores, uncertainty

#: Queries and keys of a head, each with its sensitivity to rounding.
Met = tuple[set[tuple[float, float]], set[tuple[float, float]]]


class Unsuited(Exception):
    """The network is not one that contexts describe; the text is the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A network as a function of contexts.

    Parameters
    ----------
    lags : how far back each input and each output is read; inputs at lag 0 are always there.
    depth : the age from which on the start of the sequence no longer matters.
    over_all : the heads that go over everything so far, in order.
    windows : of each head that points by content, how far back what it selects can lie.
    """

    graph: DiscreteGraph
    lags: Mapping[str, int]
    depth: int
    over_all: tuple[int, ...]
    windows: Mapping[int, int]

    @staticmethod
    def of(graph: DiscreteGraph, windows: Mapping[int, int] | None = None) -> View:
        """What the network reads; heads that point by content need a window."""
        if graph.layout.name == "concat":
            raise Unsuited("in one sequence of inputs and outputs, what is read depends on the length")
        return _view(graph, np.flatnonzero(np.any(graph.head[:, :-1] != 0, axis=0)).tolist(), windows)

    @staticmethod
    def at(graph: DiscreteGraph, node: int, windows: Mapping[int, int]) -> View:
        """What one node reads."""
        return _view(graph, [node], windows)

    @property
    def leaves(self) -> tuple[Var, ...]:
        """Every value of the past and present that it reads."""
        own = self.graph.inputs
        return tuple(
            Var(name, lag)
            for name, most in self.lags.items()
            for lag in range(0 if name in own else 1, most + 1)
        )

    def on(
        self, leaves: Mapping[Var, np.ndarray], age: np.ndarray, registers: Mapping[int, Rounded]
    ) -> OnContexts:
        """The network on contexts, one an element of the arrays; registers hold what their heads give."""
        return OnContexts(self, leaves, age, registers)


def _view(graph: DiscreteGraph, nodes: list[int], windows: Mapping[int, int] | None) -> View:
    reach = _Reach(graph, dict(windows or {}))
    for index in nodes:
        reach.visit(index, 0)
    return View(graph, reach.lags, reach.depth, tuple(sorted(reach.over_all)), reach.windows)


@dataclass(slots=True)
class _Reach:
    """Collects what a network reads, node by node and offset by offset."""

    graph: DiscreteGraph
    windows: dict[int, int]
    lags: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    over_all: set[int] = field(default_factory=set)
    seen: set[tuple[int, int]] = field(default_factory=set)

    def visit(self, index: int, offset: int) -> None:
        if (index, offset) in self.seen:
            return
        self.seen.add((index, offset))
        graph, node = self.graph, self.graph.nodes[index]
        if isinstance(node, ChannelNode):
            past = index - len(graph.inputs)
            name, lag = (graph.inputs[index], offset) if past < 0 else (graph.outputs[past], offset + 1)
            self.lags[name] = max(self.lags.get(name, 0), lag)
            if past >= 0 or node.start:
                self.depth = max(self.depth, offset + 1)
        elif isinstance(node, OperatorNode):
            for operand in node.used():
                self.visit(operand, offset)
        elif node.kind == "location":
            if node.offset is not None:
                self.depth = max(self.depth, offset + node.offset)
                self.visit(node.reads["value"], offset + node.offset)
        elif node.facts.own:
            raise Unsuited(f"{node.name} is a head of the user's own kind")
        elif node.facts.aggregate:
            if offset:
                raise Unsuited(f"{node.name} is read {offset} positions back")
            self.over_all.add(index)
            self.visit(node.reads["value"], offset)
        elif index in self.windows:
            window = self.windows[index]
            self.depth = max(self.depth, offset + window)
            self.visit(node.reads["query"], offset)
            for back in range(window + 1):
                for role in ("key", "value"):
                    self.visit(node.reads[role], offset + back)
        else:
            raise Unsuited(f"how far back {node.name} looks is not known")


class OnContexts:
    """The values of a network's nodes on some contexts, each computed once."""

    def __init__(
        self, view: View, leaves: Mapping[Var, np.ndarray], age: np.ndarray, registers: Mapping[int, Rounded]
    ) -> None:
        self.view, self.graph = view, view.graph
        self.leaves, self.age, self.registers = leaves, age, registers
        self.scales = self.graph.units()
        self.known: dict[tuple[int, int], Rounded] = {}
        self.unclear = np.zeros(len(age), dtype=bool)
        #: Of each head that points by content: the queries and the keys that it met.
        self.met: dict[int, Met] = {}

    def outputs(self) -> Rounded:
        """The outputs (contexts, outputs) in the user's units."""
        rows, sensitive = [], []
        for row, scale in zip(self.graph.head, self.graph.layout.output_scales, strict=True):
            kept = np.flatnonzero(row[:-1])
            parts = [self.value(int(index), 0) for index in kept]
            total = np.full(len(self.age), row[-1])
            size = np.abs(total)
            passed = np.zeros(len(self.age))
            for weight, (value, rounded) in zip(row[kept], parts, strict=True):
                total = total + weight * value
                size = size + np.abs(weight * value)
                passed = passed + np.abs(weight) * rounded
            rows.append(total * scale)
            # products, sums in any order, and the weights themselves if they are rounded too
            sensitive.append((passed + (len(kept) + 3) * size) * scale)
        return np.stack(rows, axis=1), np.stack(sensitive, axis=1)

    def value(self, index: int, offset: int) -> Rounded:
        """A node's value `offset` positions back; where that lies before the start it means nothing."""
        if (index, offset) not in self.known:
            self.known[index, offset] = self._value(index, offset)
        return self.known[index, offset]

    def _value(self, index: int, offset: int) -> Rounded:
        node, graph = self.graph.nodes[index], self.graph
        if isinstance(node, ChannelNode):
            past = index - len(graph.inputs)
            if past < 0:
                given = self.leaves[Var(graph.inputs[index], offset)] / self.scales[index]
                return _exact(
                    given if not node.start else np.where(self.age > offset, given, given + node.start)
                )
            before = self.leaves[Var(graph.outputs[past], offset + 1)] / self.scales[index]
            return _exact(np.where(self.age > offset, before, node.start))
        if isinstance(node, OperatorNode):
            return self._operator(node, [self.value(operand, offset) for operand in node.used()])
        if node.kind == "location":
            return self._shifted(node, offset)
        if index in self.registers:
            return self.registers[index]
        return self._pointed(index, node, offset)

    def _operator(self, node: OperatorNode, operands: list[Rounded]) -> Rounded:
        used, count = node.used(), len(self.age)
        weight, heavy = np.zeros((2, len(node.hidden_bias), len(used)))
        for slot, operand in enumerate(node.operands):
            if operand in used:
                weight[:, used.index(operand)] += node.hidden_weight[:, slot]
                heavy[:, used.index(operand)] += np.abs(node.hidden_weight[:, slot])
        value = np.stack([v for v, _ in operands], axis=1) if operands else np.zeros((count, 0))
        rounded = np.stack([r for _, r in operands], axis=1) if operands else np.zeros((count, 0))
        before = value @ weight.T + node.hidden_bias
        size = np.abs(value) @ heavy.T + np.abs(node.hidden_bias)
        uncertain = rounded @ heavy.T + (len(node.operands) + 3) * size
        hidden = np.maximum(before, 0.0)
        out = hidden @ node.output_weight + node.output_bias
        outer = np.abs(node.output_weight)
        total = hidden @ outer + abs(node.output_bias)
        return out, uncertain @ outer + (len(outer) + 3) * total

    def _shifted(self, node: RouterNode, offset: int) -> Rounded:
        start = np.full(len(self.age), node.start)
        if node.offset is None:
            return start, np.abs(start)
        value, rounded = self.value(node.reads["value"], offset + node.offset)
        there = self.age >= offset + node.offset
        return np.where(there, value, start), np.where(there, rounded, np.abs(start))

    def _pointed(self, index: int, node: RouterNode, offset: int) -> Rounded:
        """A head that points by content, inside its window; what is not clearly the best is marked."""
        window = range(self.view.windows[index] + 1)
        query = self.value(node.reads["query"], offset)
        count, asked = len(self.age), self.age >= offset
        score = [np.full(count, node.null_score)]
        least, most = ([np.full(count, node.null_score + sign * _null(node))] for sign in (-1, 1))
        value: list[Rounded] = [_exact(np.zeros(count))]
        for back in window:
            there = self.age >= offset + back
            # what is not there is nothing to compute with
            seen, key = (
                (np.where(there, part[0], 0.0), np.where(there, part[1], 0.0))
                for part in (query, self.value(node.reads["key"], offset + back))
            )
            own, off = scores(node, seen[0], key[0], back), uncertainty(node, seen, key, back)
            for kept, number in ((score, own), (least, own - off), (most, own + off)):
                kept.append(np.where(there, number, -np.inf))
            value.append(self.value(node.reads["value"], offset + back))
            self._meet(index, there, seen, key)
        best = np.argmax(score, axis=0)
        sure = np.choose(best, least)
        found = np.choose(best, [number for number, _ in value])
        rounded = np.choose(best, [number for _, number in value])
        for own, (other, off) in zip(most, value, strict=True):
            near = ~(own < sure) & asked
            self.unclear |= near & ~(other == found)
            rounded = np.where(near, np.maximum(rounded, off), rounded)
        return found, rounded

    def _meet(self, index: int, there: np.ndarray, query: Rounded, key: Rounded) -> None:
        met = self.met.setdefault(index, (set(), set()))
        for values, (new, off) in zip(met, (query, key), strict=True):
            values.update(zip(new[there].tolist(), off[there].tolist(), strict=True))


def _null(node: RouterNode) -> float:
    return SINGLE * abs(node.null_score)


def _exact(value: np.ndarray) -> Rounded:
    """Scales are powers of two: what is read is exact, but for a weight that rounds it."""
    return value, np.zeros_like(value)
