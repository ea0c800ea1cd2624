"""The graph as the paper lists it, one variable a live node, then the output head: exact, not approximate.

Heads are listed as what they are, and not by the hypothesis that their data agree with. An operator is a
formula only where that holds on everything that can occur (`exact_operators`). What the scale of an operator
was, its readers take over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Problem
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.hypotheses import Hypothesis
from weights2code.explain.operators import node_variable
from weights2code.explain.own_heads import OWN
from weights2code.explain.possible_values import Possible, needed_nodes, possible_channels
from weights2code.explain.reachable_values import reachable_values
from weights2code.explain.routing import hypotheses
from weights2code.graph import ChannelNode, OperatorNode, RouterNode
from weights2code.graph.raw_nodes import RawNode, RawProgram
from weights2code.language import Const, Expr, Var
from weights2code.program.exact_heads import Read, exact_head
from weights2code.program.exact_operators import HeadRow, Operand, exact_form, values_of
from weights2code.program.raw_source import raw_source

#: What is left of a sum whose terms cancel, of the larger of them, is no more than this.
ROUNDING = 1e-15


def raw_program(explained: ExplainedGraph, problem: Problem) -> RawProgram:
    """Raw nodes in the user's units; integer outputs are rounded before they are fed back.

    What was found of the graph's nodes serves for reading alone: without it the listing is as exact.
    """
    graph = explained.graph
    with np.errstate(all="ignore"):  # a model that diverged is listed like any other
        listing = (_Tokens if graph.layout.name == "concat" else _Listing)(explained, problem)
        head, bias = listing.head()
    return RawProgram(problem.name, tuple(listing.nodes), head, bias, problem.integer_outputs)


def raw_program_source(explained: ExplainedGraph, problem: Problem) -> str:
    """The text of `program_raw.py`."""
    return raw_source(raw_program(explained, problem))


@dataclass(frozen=True, slots=True)
class _Listed:
    """A listed node: its name, what it may hold, and the value that is meant, in the user's units:
    offset + factor * listed + the shares of other nodes."""

    name: str
    possible: Possible
    offset: float = 0.0
    factor: float = 1.0
    shares: tuple[tuple[str, float], ...] = ()


def _sum(one: float, other: float) -> float:
    """The sum of two numbers, 0 where all that is left of them is rounding."""
    total = one + other
    return 0.0 if abs(total) <= ROUNDING * max(abs(one), abs(other)) else total


class _Listing:
    """The live nodes in their order, and all input columns, so that the listing reads the whole sequence."""

    def __init__(self, explained: ExplainedGraph, problem: Problem) -> None:
        self.explained, self.graph, self.units = explained, explained.graph, explained.graph.units()
        self.weights = self.graph.output_weights()
        self.rows: list[dict[str, float]] = [{} for _ in self.weights]
        self.bias = [bias for _, bias in self.weights]
        self.needed = needed_nodes(self.graph)
        operators = any(isinstance(self.graph.nodes[index], OperatorNode) for index in self.needed)
        #: What is listed of each node in every situation that can occur, where that is known exactly.
        self.reached = reachable_values(self.graph, problem) if operators else None
        self.columns: dict[str, np.ndarray] = {}
        self.channels = possible_channels(self.graph, problem, self.reached)
        self.readers = self._readers()
        self.nodes: list[RawNode] = []
        self.listed: dict[tuple[int, int], _Listed] = {}
        self.begin()

    def _readers(self) -> dict[int, list[int]]:
        """By node those that read it."""
        readers: dict[int, list[int]] = {index: [] for index in range(len(self.graph.nodes))}
        for index in self.needed:
            for source in set(self.graph.nodes[index].used()):
                readers[source].append(index)
        return readers

    def begin(self) -> None:
        for index in sorted({*range(len(self.graph.inputs)), *self.needed}):
            self.value(index)

    def head(self) -> tuple[tuple[dict[str, float], ...], tuple[float, ...]]:
        """The weights of the output head for what is listed, and what it adds."""
        for weights, _ in self.weights:
            for index in weights:
                self.value(index)
        rows = ({name: weight for name, weight in row.items() if weight} for row in self.rows)
        return tuple(rows), tuple(self.bias)

    def _weigh(self, index: int, listed: _Listed) -> None:
        """What the output head makes of a node that was just listed."""
        for output, (weights, _) in enumerate(self.weights):
            if index not in weights:
                continue
            weight, row = weights[index], self.rows[output]
            own = weight * listed.factor
            own = own if _sum(own, -1.0) else 1.0  # not 0.9999999999999999
            row[listed.name] = row.get(listed.name, 0.0) + own
            self.bias[output] = _sum(self.bias[output], weight * listed.offset)
            for name, share in listed.shares:
                row[name] = _sum(row.get(name, 0.0), weight * share)

    def value(self, index: int, offset: int = 0) -> _Listed:
        """A node's value, in `concat` `offset` tokens back; what it needs is listed before."""
        if (index, offset) not in self.listed:
            node = self.graph.nodes[index]
            own = f"{node.name}_{offset}" if offset else node.name
            if isinstance(node, ChannelNode):
                found = self.channel(index, node, offset)
            elif isinstance(node, OperatorNode):
                found = self.operator(index, node, own, offset)
            else:
                found = self.router(index, node, own, offset)
            self.listed[index, offset] = found
            if not offset:
                self._weigh(index, found)
            if self.reached is not None and not isinstance(node, OperatorNode):
                self.columns[found.name] = self.reached[:, index]
        return self.listed[index, offset]

    def add(self, node: RawNode) -> str:
        if all(other.name != node.name for other in self.nodes):
            self.nodes.append(node)
        return node.name

    def channel(self, index: int, node: ChannelNode, offset: int) -> _Listed:
        past = index - len(self.graph.inputs)
        start = node.start * float(self.units[index]) + 0.0  # not -0.0
        raw = (
            RawNode(node.name, "input", column=index, comment=node.label)
            if past < 0
            else RawNode(node.name, "input", output=past, start=start, comment=node.label)
        )
        return _Listed(self.add(raw), self.channels[index])

    # -- operators ------------------------------------------------------------------------------------------

    def operator(self, index: int, node: OperatorNode, own: str, offset: int) -> _Listed:
        used = sorted(node.used())
        read = [self.value(operand, offset) for operand in used]
        situations = [self.columns.get(listed.name) for listed in read]
        known = [column for column in situations if column is not None]
        rows = np.stack(known, 1) if known and len(known) == len(read) else None
        form = exact_form(
            replace(self._in_listed(node, used, read), name=own),
            [Operand(listed.name, listed.possible) for listed in read],
            formulas=self._formulas(index, used, read),
            free=self.free(index),
            heads=self._heads(index, read),
            rows=None if rows is None else np.unique(rows, axis=0),
        )
        self.add(form.node)
        if rows is not None and form.possible.values is not None:
            self.columns[own] = values_of(form.node, rows)
        shares = tuple(zip((listed.name for listed in read), form.shares, strict=True)) if form.shares else ()
        return _Listed(own, form.possible, form.offset, form.factor, shares)

    def _heads(self, index: int, read: list[_Listed]) -> list[HeadRow]:
        """The outputs that weigh an operator, if nothing else reads it; operands were weighed before it."""
        if self.readers[index]:
            return []
        return [
            HeadRow(weights[index], tuple(row.get(listed.name, 0.0) for listed in read), bias)
            for (weights, _), row, bias in zip(self.weights, self.rows, self.bias, strict=True)
            if index in weights
        ]

    def _in_listed(self, node: OperatorNode, used: list[int], read: list[_Listed]) -> OperatorNode:
        """The operator with weights for what is listed of its operands."""
        weight = np.zeros((len(node.hidden_weight), len(used)))
        bias = np.array(node.hidden_bias, float)
        for slot, operand in enumerate(node.operands):
            if operand in used:
                listed = read[used.index(operand)]
                own = node.hidden_weight[:, slot] / self.units[operand]
                weight[:, used.index(operand)] += own * listed.factor
                bias += own * listed.offset
        return replace(node, operands=tuple(used), hidden_weight=weight, hidden_bias=bias)

    def _formulas(self, index: int, used: list[int], read: list[_Listed]) -> list[Expr]:
        """What was found for an operator, in the listing's names; nothing if the operands mean otherwise."""
        fit = self.explained.operators.get(index)
        plain = all(listed.offset == 0 and listed.factor == 1 for listed in read)
        if fit is None or not plain or not set(fit.operands) <= set(used):
            return []
        named: dict[Var, Expr] = {
            node_variable(o): Var(listed.name) for o, listed in zip(used, read, strict=True)
        }
        found = (fit.formula if fit.kind == "formula" else None, fit.exact_formula)
        return [formula.substitute(named) for formula in found if formula is not None]

    def free(self, index: int) -> bool:
        """Whether what reads a node takes an affine function of it as well."""
        for reader in self.readers[index]:
            node = self.graph.nodes[reader]
            if isinstance(node, RouterNode):
                copies = node.kind in ("location", "max", "min", "mean")
                if not copies or not self.free(reader):
                    return False
        return True

    # -- heads ----------------------------------------------------------------------------------------------

    def router(self, index: int, node: RouterNode, own: str, offset: int) -> _Listed:
        if node.facts.seeks:
            return self._seeking(index, node)
        if node.facts.relation:
            return self._counting(node, own)
        start = node.start * float(self.units[index]) + 0.0
        if node.kind == "location" and node.offset is None:
            self.add(RawNode(own, "formula", formula=Const(start), comment="Nothing (null slot)"))
            return _Listed(own, Possible.of({start}))
        source = self.value(node.reads["value"])
        reads, held = (source.name,), source.possible
        if node.kind == "location":
            start = (start - source.offset) / source.factor
            assert node.offset is not None
            self.add(RawNode(own, "offset", reads, offset=node.offset, start=start))
            held = held.with_value(start) if node.offset else held
        elif node.kind in OWN:
            kind, unit = OWN[node.kind], float(self.units[index])
            formula = kind.in_units(Var(own, 1), Var(source.name), unit)
            words, begun = kind.describe(), kind.start * unit
            self.add(RawNode(own, "running", reads, start=begun, formula=formula, comment=words))
            held = Possible()
        elif node.kind in ("max", "min"):
            self.add(RawNode(own, "extremum", reads, largest=node.kind == "max"))
        else:
            self.add(RawNode(own, "mean" if node.kind == "mean" else "sum", reads))
            held = held.hull() if node.kind == "mean" else held.added_up()
        return replace(source, name=own, possible=held, shares=())

    def _counting(self, node: RouterNode, own: str) -> _Listed:
        """Keys and value are compared as they are listed, in the user's units."""
        key, value = (self.value(node.reads[role]) for role in ("key", "value"))
        assert node.facts.relation is not None
        self.add(RawNode(own, "count", (key.name, value.name), relation=node.facts.relation))
        return _Listed(own, Possible(0.0))

    def _seeking(self, index: int, node: RouterNode) -> _Listed:
        reads = {}
        for role, source in node.reads.items():
            listed = self.value(source)
            reads[role] = Read(listed.name, source, float(self.units[source]), listed.possible)
        found = self.explained.routers.get(index)
        words = found.hypothesis.describe() if found and found.hypothesis else ""
        for raw in exact_head(node, reads, words):
            self.add(raw)
        return _Listed(node.name, reads["value"].possible.with_value(0.0))


class _Tokens(_Listing):
    """The listing of one sequence of inputs and outputs, re-indexed, so that it runs free at any length.

    A channel holds y[t-1] at the place where y[t] is computed, and the inputs lie a whole length further
    back: what a token is depends on how far back it lies, so lags are followed down to the channels. That
    needs a hypothesis for every head.
    """

    def begin(self) -> None:
        for column, name in enumerate(self.graph.inputs):
            self.add(RawNode(f"V{column}_input", "input", column=column, comment=name))
        for output, name in enumerate(self.graph.outputs):
            self.add(RawNode(f"V{output}_output", "input", output=output, comment=f"{name}[t-1]"))

    def free(self, index: int) -> bool:
        return False

    def _heads(self, index: int, read: list[_Listed]) -> list[HeadRow]:
        return []

    def channel(self, index: int, node: ChannelNode, offset: int) -> _Listed:
        token = self._token(index, offset)
        if token is None:
            self.add(RawNode(f"V{index}_nothing", "formula", formula=Const(0)))
            return _Listed(f"V{index}_nothing", Possible())
        base, lag = token
        return _Listed(
            self.add(RawNode(f"{base}_{lag}", "offset", (base,), offset=lag)) if lag else base, Possible()
        )

    def router(self, index: int, node: RouterNode, own: str, offset: int) -> _Listed:
        hypothesis = self._hypothesis(index, node)
        source, lag, operands = node.reads["value"], hypothesis.lag(), hypothesis.operands()
        copied = isinstance(self.graph.nodes[source], ChannelNode)
        if copied and lag is not None and (token := self._token(source, offset + lag)):
            self.add(RawNode(own, "offset", token[:1], offset=token[1]))
            return _Listed(own, Possible())
        if operands is None:
            raise NotExtracted(f"{node.name} goes over tokens of inputs and outputs alike.")
        values = [Var(self.value(node.reads[role], offset + step).name) for role, step in operands]
        units = {role: float(self.units[read]) for role, read in node.reads.items()}
        formula = hypothesis.combined(values, units)
        self.add(RawNode(own, "formula", formula=formula, comment=hypothesis.describe()))
        return _Listed(own, Possible())

    def _hypothesis(self, index: int, node: RouterNode) -> Hypothesis:
        """What a head does; what does not seek can do but one thing."""
        if not node.facts.seeks:
            return next(hypotheses(node, 0))
        found = self.explained.routers.get(index)
        if found is None or found.hypothesis is None:
            raise NotExtracted(f"the live head {node.name} matches no routing hypothesis.")
        return found.hypothesis

    def _token(self, channel: int, offset: int) -> tuple[str, int] | None:
        """The input or output that a token is, and its lag; None for the part of a token that is zero."""
        graph = self.graph
        lag = offset - (graph.length - 1)
        place, count = ("input", len(graph.inputs)) if lag >= 0 else ("output", len(graph.outputs))
        # a token is as wide as the wider of both, the rest of it is zero
        return (f"V{channel}_{place}", lag if lag >= 0 else offset) if channel < count else None
