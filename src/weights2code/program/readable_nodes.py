"""The same network, easier to read: its nodes rewritten where that changes nothing that can occur.

Scales come off, which are powers of two. A head that seeks by content is an offset or an extremum where its
scores make that certain, at every length: the worst score of what it should select beats the best of
everything else. A sub-MLP is a formula where that holds on all values that its operands can have; else units
that never bend there are summed up, and those that never act are left out. Everything is added up in a
fixed order, so that every machine writes the same digits.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np

from weights2code.data import Problem
from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.operators import node_variable
from weights2code.explain.situations import (
    Possible,
    combinations,
    possible_inputs,
    possible_outputs,
    situations,
)
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.graph.machine import Machine, Written, machine_of
from weights2code.language import Expr, Var, evaluate, op
from weights2code.language.scores import encode
from weights2code.symbolic.relu_readoff import piecewise_readoff

#: Exact: off by so much of the largest value, which is rounding.
EXACT = 1e-12
#: A score that is larger by so much of the largest is larger, whatever rounding does.
CERTAIN = 1e-9


def readable(explained: ExplainedGraph, problem: Problem) -> tuple[DiscreteGraph, dict[int, Written]]:
    """An equivalent graph, and the formulas that stand for some of its nodes."""
    graph = in_users_units(explained.graph)
    return (explained.graph, {}) if graph is None else _Rewriting(explained, graph, problem).run()


def in_users_units(graph: DiscreteGraph) -> DiscreteGraph | None:
    """The same network without scales; None if that is not the same to the last bit."""
    units, layout = graph.units(), graph.layout
    if not (np.frexp([*units, *layout.output_scales])[0] == 0.5).all():
        return None
    nodes: list[Node] = []
    for index, node in enumerate(graph.nodes):
        unit = float(units[index])
        if isinstance(node, OperatorNode):
            node = replace(node, hidden_weight=node.hidden_weight / units[list(node.operands)])
        elif isinstance(node, ChannelNode):
            node = replace(node, start=node.start * unit)
        elif index in graph.live() and unit_of(node, units) is None:
            return None
        else:
            asked = unit_of(node, units) or 1.0
            low, high = node.value_range
            node = replace(
                node, start=node.start * unit, sharpness=node.sharpness / asked / asked,
                value_range=(low * asked, high * asked),
            )  # fmt: skip
        nodes.append(node)
    scales = np.array(layout.output_scales)[:, None]
    head = graph.head * scales / np.append(units, 1.0)
    plain = replace(layout, input_scales=(1.0,) * len(graph.inputs), output_scales=(1.0,) * layout.outputs)
    return replace(graph, nodes=tuple(nodes), head=head, layout=plain)


def unit_of(node: RouterNode, units: np.ndarray) -> float | None:
    """The unit of what a head compares, 1 if it compares nothing; None if it mixes units."""
    if node.facts.own and units[node.reads["value"]] != 1:
        return None
    compared = {float(units[source]) for role, source in node.reads.items() if role in ("query", "key")}
    if node.facts.relation:
        compared.add(float(units[node.reads["value"]]))
    return compared.pop() if len(compared) == 1 else None if compared else 1.0


class _Rewriting:
    """The nodes in their order, with what each may hold as it is written."""

    def __init__(self, explained: ExplainedGraph, graph: DiscreteGraph, problem: Problem) -> None:
        self.fits, self.graph = explained.operators, graph
        self.nodes = list(graph.nodes)
        self.formulas: dict[int, Written] = {}
        machine, names = machine_of(graph, whole=problem.integer_outputs), Machine(graph).names
        steps = {step.name for step in machine.steps}
        self.needed = [index for index, name in enumerate(names) if name in steps]
        self.possible = dict(enumerate(possible_inputs(problem)))
        #: What a node holds in every situation that can occur, as it is written, where that is known.
        self.columns: dict[int, np.ndarray] = {}
        fed_back = bool(machine.depths().keys() & set(graph.outputs))
        # reals that are fed back are known to rounding only, and then nothing is known of what they lead to
        told = problem.integer_outputs or not fed_back
        found = situations(machine, problem.domains) if told else None
        if found is None:
            past = [Possible()] * len(graph.outputs)
            if told and fed_back:
                past = possible_outputs(machine, problem.domains)
            self.possible |= dict(enumerate(past, len(graph.inputs)))
        else:
            self.columns = {index: found[names[index]] for index in self.needed}
            held = ((index, set(column.tolist())) for index, column in self.columns.items())
            self.possible |= {index: Possible.of(values) for index, values in held}

    def run(self) -> tuple[DiscreteGraph, dict[int, Written]]:
        for index in self.needed:
            node = self.nodes[index]
            if isinstance(node, OperatorNode):
                self._operator(index, node)
            elif isinstance(node, RouterNode):
                self._router(index, node)
        return replace(self.graph, nodes=tuple(self.nodes)), self.formulas

    def _router(self, index: int, node: RouterNode) -> None:
        """What a head may hold; what it copies of a sub-MLP is known to rounding only."""
        if node.kind == "pointer":
            self.nodes[index] = node = self._pointer(index, node)
        if all(source in self.columns for source in (index, *node.used())):
            return
        self.columns.pop(index, None)
        held = self.possible.get(node.reads["value"], Possible())
        if node.kind == "location" and node.offset is None:
            held = Possible.of({node.start})
        elif node.kind == "location" and node.offset:
            held = held.with_value(node.start)
        elif node.facts.seeks:
            held = held.with_value(0.0)
        elif node.kind == "mean":
            held = Possible(held.low, held.high)
        elif node.kind not in ("location", "max", "min"):
            held = Possible()
        self.possible[index] = held

    def _pointer(self, index: int, node: RouterNode) -> RouterNode:
        """An offset, nothing at all, or an extremum of a window, if the head selects that for certain."""
        assert node.relative_bias is not None
        assert node.query_table is not None
        assert node.key_table is not None
        bias, null = node.relative_bias, node.null_score
        tables = [node.query_table, node.key_table]
        known = [self.possible[node.reads[role]].values for role in ("query", "key")]
        if None not in known:  # else the extremes lie at the corners of the encoding
            held = zip(known, tables, strict=True)
            tables = [encode(np.array(values), table, node.value_range) for values, table in held]
        products = tables[0][:, None, :] * tables[1][None, :, :]
        scores = np.cumsum(products, axis=-1)[..., -1] / np.sqrt(products.shape[2])
        margin = CERTAIN * float(max(np.abs(scores).max(), np.abs(bias).max(), abs(null), 1.0))
        worst, best = scores.min(1), scores.max(1)
        copy = RouterNode(node.name, "location", {"value": node.reads["value"]})
        if best.max() + bias.max() < null - margin:
            return copy  # the null slot
        for offset in range(len(bias) - 1):  # the last bias is that of many offsets
            other = np.delete(bias, offset).max()
            nothing_before = offset == 0 or best.max() + bias[:offset].max() < null - margin
            taken = worst.min() + bias[offset] >= null + margin
            if nothing_before and taken and (worst + bias[offset] > best + other + margin).all():
                return replace(copy, offset=offset)
        value = node.reads["value"]
        if None in known or node.reads["key"] != value or worst.min() + bias[0] < null + margin:
            return node
        rises = np.diff(scores, axis=1)  # from each key to the next larger one
        for window in range(2, len(bias) + 1):
            far = bias[window:]
            if far.size and not (worst + bias[0] > best + far.max() + margin).all():
                continue
            for kind, sign in (("max", 1), ("min", -1)):
                if (sign * rises > np.ptp(bias[:window]) + margin).all():
                    read = [Var(self.nodes[value].name, back) for back in range(window)]
                    if far.size:
                        self.formulas[index] = reduce(lambda a, b: op(kind, a, b), read), -sign * np.inf
                    return replace(copy, kind=kind)
        return node

    def _operator(self, index: int, node: OperatorNode) -> None:
        """A formula that is exact on all that the operands can hold, else the hinges that bend."""
        used = sorted(node.used())
        names = tuple(Var(self.nodes[operand].name) for operand in used)
        slots = [np.array(node.operands) == operand for operand in used]
        weight = (
            np.array([node.hidden_weight[:, slot].sum(1) for slot in slots])
            .reshape(len(used), len(node.hidden_bias))
            .T
        )
        box = np.array([[self.possible[o].low, self.possible[o].high] for o in used]).reshape(-1, 2)
        hinges = piecewise_readoff(weight, node.hidden_bias, node.output_weight, node.output_bias, box, names)
        self.formulas[index] = hinges, 0.0
        seen = self.columns.pop(index, None)  # to rounding: no formula may compare such values
        self.possible[index] = Possible() if seen is None else Possible(float(seen.min()), float(seen.max()))
        rows = self._rows(used)
        if rows is None:
            return

        def on_rows(formula: Expr) -> np.ndarray:
            with np.errstate(all="ignore"):
                found = evaluate(formula, dict(zip(names, rows.T, strict=True)))
            return np.broadcast_to(np.asarray(found, float), len(rows))

        values, fit = on_rows(hinges), self.fits.get(index)
        rounding = EXACT * float(np.abs(values).max())
        if fit is not None and set(fit.operands) <= set(used):
            named: dict[Var, Expr] = {node_variable(o): name for o, name in zip(used, names, strict=True)}
            for formula in (fit.formula if fit.kind == "formula" else None, fit.exact_formula):
                written = None if formula is None else formula.substitute(named)
                if written is not None and np.abs(on_rows(written) - values).max() <= rounding:
                    self.formulas[index] = written, 0.0
                    return

    def _rows(self, used: list[int]) -> np.ndarray | None:
        """All that the operands hold together, one a row; None where that cannot be told."""
        if not used:
            return None
        if all(operand in self.columns for operand in used):
            return np.unique(np.stack([self.columns[operand] for operand in used], 1), axis=0)
        held = [self.possible[operand].values for operand in used]
        return combinations([some for some in held if some is not None]) if None not in held else None
