"""From an explained graph to a recurrence (paper, section 4.3, and design, section 4).

Backward traversal from the output head: routers become lags, running aggregates or lookups, operators
their formulas, and every value is written in x[t-i], y[t-j], so that the result runs at any length.
`Assembly` does the bookkeeping for both routes: composing the nodes' formulas, and collecting the leaves
from which the output is regressed directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from weights2code.data import Problem
from weights2code.errors import NotExtracted
from weights2code.explain.by_value import ByValue
from weights2code.explain.explanation import MatchedGraph
from weights2code.explain.operators import OperatorFit, explain_operator, node_variable
from weights2code.explain.routing import RouterMatch
from weights2code.explain.steps import HeadSteps, Steps
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.language import Const, Domain, Expr, Recurrence, Start, Step, Var

#: Aggregates of functions of an input with at most this many values become counters of the values.
MOST_COUNTED = 5
#: Of a head that matches no hypothesis, so many of the offsets that it selects are looked at.
MOST_ATTENDED = 4


class Reads(Protocol):
    """What rules are regressed from: steps, and what each output reads of them, of a graph or of rows."""

    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def outputs(self) -> tuple[str, ...]: ...

    @property
    def steps(self) -> Sequence[Step]: ...

    @property
    def start(self) -> Mapping[str, Start]: ...

    def output_leaves(self, row: int) -> tuple[Var, ...]: ...

    def crystallised(self) -> Set[str]: ...

    def known_from(self, name: str) -> int: ...

    def recurrence(self, outputs: list[Step]) -> Recurrence: ...


@dataclass(slots=True)
class Assembly(Steps):
    """Steps and start values of a graph under construction.

    `fits` holds the operators' formulas; `fit` finds one where it is missing; `domains` are the inputs'.
    `crisp` operators are variables of the program themselves, and are not seen through.
    """

    graph: DiscreteGraph
    matches: dict[int, RouterMatch]
    fits: dict[int, OperatorFit] = field(default_factory=dict)
    fit: Callable[[int], OperatorFit] | None = None
    domains: Mapping[str, Domain] = field(default_factory=dict)
    crisp: dict[int, Var] = field(default_factory=dict)
    _values: dict[tuple[int, int], Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.taken = (*self.graph.inputs, *self.graph.outputs)

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.graph.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.graph.outputs

    @staticmethod
    def of(matched: MatchedGraph, problem: Problem, effort: float) -> Assembly:
        """The assembly of a graph whose operators are regressed when needed, with so much effort each."""
        graph, values = matched.graph, matched.values
        return Assembly(
            graph,
            matched.routers,
            fit=lambda index: explain_operator(graph, index, values, problem, effort),
            domains=dict(zip(problem.inputs, problem.domains, strict=True)),
        )

    # -- composing ------------------------------------------------------------------------------------------

    def compose(self) -> Recurrence:
        """Every live node by its own formula; constants as they were found."""
        outputs = []
        for name, (weights, bias) in zip(self.graph.outputs, self.graph.output_weights(), strict=True):
            total: Expr = Const(bias)
            for index, weight in weights.items():
                total = total + Const(weight) * self.value(index)
            outputs.append(Step(name, total))
        return self.recurrence(outputs)

    def recurrence(self, outputs: list[Step]) -> Recurrence:
        """The steps so far and then the outputs; only start values that something reads are kept."""
        draft = Recurrence(self.graph.inputs, (*self.steps, *outputs), self.graph.outputs)
        depths = draft.depths()
        start: dict[str, Start] = {n: v for n, v in self.start.items() if n in depths and v != 0}
        return replace(draft, start=start)

    def value(self, index: int, offset: int = 0) -> Expr:
        """A node's value in the user's units, as an expression at time t; in `concat`, `offset` tokens back.

        What a token is depends on how far back it lies, so there lags are followed down to the channels.
        """
        if (index, offset) not in self._values:
            self._values[index, offset] = self._value(index, offset)
        return self._values[index, offset]

    def _value(self, index: int, offset: int) -> Expr:
        node = self.graph.nodes[index]
        if isinstance(node, ChannelNode):
            return self.token(index, offset)
        if index in self.crisp:
            return self.crisp[index].shift(offset)
        if isinstance(node, OperatorNode):
            fit = self.formula(index)
            operands = {node_variable(o): self.value(o, offset) for o in fit.operands}
            name = f"v{index}_{offset}" if offset else f"v{index}"
            return self.named(name, fit.formula.substitute(operands))
        hypothesis = self.matches[index].hypothesis
        if hypothesis is None:
            raise NotExtracted(f"the live head {node.name} matches no routing hypothesis.")
        scales = self.graph.units()
        units = {role: float(scales[source]) for role, source in node.reads.items()}
        if self.graph.layout.name != "concat":
            head = HeadSteps(self, index, units, lambda role: self.value(node.reads[role]))
            return hypothesis.to_expr(head)
        operands = hypothesis.operands()
        if operands is None:
            raise self._no_variable(f"{node.name} goes over tokens of inputs and outputs alike")
        values = [self.value(node.reads[role], offset + step) for role, step in operands]
        return hypothesis.combined(values, units)

    def formula(self, index: int) -> OperatorFit:
        """The formula of an operator, found now if it is missing."""
        if index not in self.fits and self.fit is not None:
            self.fits[index] = self.fit(index)
        return self.fits[index]

    def token(self, channel: int, offset: int) -> Expr:
        """The variable that a channel holds `offset` positions back, re-indexed to x[t-i] and y[t-j]."""
        graph, layout = self.graph, self.graph.layout
        if layout.name == "concat":
            before = offset - (graph.length - 1)
            names = graph.inputs if before >= 0 else graph.outputs
            if before >= 0 or offset <= layout.first_scored:
                if channel >= len(names):
                    return Const(0)  # a token is as wide as the wider of both, the rest of it is zero
                return Var(names[channel], before if before >= 0 else offset + 1)
            raise self._no_variable(f"{graph.nodes[channel].name} is read {offset} tokens back")
        if channel < len(graph.inputs):
            return Var(graph.inputs[channel], offset)
        name = graph.outputs[channel - len(graph.inputs)]
        node = graph.nodes[channel]
        assert isinstance(node, ChannelNode)
        self.start.setdefault(name, node.start * float(graph.units()[channel]))
        return Var(name, offset + 1)

    def _no_variable(self, what: str) -> NotExtracted:
        return NotExtracted(f"{what}, which is no fixed variable at other lengths than {self.graph.length}.")

    # -- cuts -----------------------------------------------------------------------------------------------

    def crystallised_at(self, index: int, meaning: Expr) -> Assembly:
        """The assembly in which an operator is the variable of this meaning, a step of its own if need be."""
        risen = replace(self, steps=[*self.steps], start={**self.start}, crisp={**self.crisp}, _values={})
        if not isinstance(meaning, Var):
            same = (step.name for step in self.steps if step.definition == meaning)
            name = next(same, None) or self.local(f"u{index}")
            risen.add(name, meaning)
            meaning = Var(name)
        risen.crisp[index] = meaning
        return risen

    def known_from(self, name: str) -> int:
        """The first position at which a sequence depends on nothing that lies before the start.

        Running aggregates and lookups count from the start on.
        """
        definition = next((step.definition for step in self.steps if step.name == name), None)
        if not isinstance(definition, Expr) or name not in self.crystallised():
            return 0
        return max((v.lag + self.known_from(v.name) for v in definition.variables()), default=0)

    def crystallised(self) -> frozenset[str]:
        """The names of the variables that stand for operators."""
        own = {step.name for step in self.steps}
        return frozenset(variable.name for variable in self.crisp.values()) & own

    # -- leaves ---------------------------------------------------------------------------------------------

    def leaves(self, index: int, offset: int = 0) -> list[Var]:
        """The sequences that a node's value depends on at the end, with their lags: operators are seen
        through, lags add up, aggregates and lookups are leaves themselves."""
        node = self.graph.nodes[index]
        if isinstance(node, ChannelNode):
            return list(self.token(index, offset).variables())
        if index in self.crisp:
            return [Var(self.crisp[index].name, self.crisp[index].lag + offset)]
        if isinstance(node, OperatorNode):
            return [leaf for operand in sorted(node.used()) for leaf in self.leaves(operand, offset)]
        hypothesis = self.matches[index].hypothesis
        operands = hypothesis.operands() if hypothesis else None
        if operands is not None:
            with suppress(NotExtracted) if isinstance(hypothesis, ByValue) else nullcontext():
                read = [(node.reads[role], offset + back) for role, back in operands]
                return [leaf for source, back in read for leaf in self.leaves(source, back)]
        if hypothesis is None or operands is not None:
            return self._choices(index, node, offset)
        if hypothesis.adds_up and (counted := self._counts(node.reads["value"])):
            return [Var(name, offset) for name in counted]
        return [Var(leaf.name, leaf.lag + offset) for leaf in self.value(index).variables()]

    def _choices(self, index: int, node: RouterNode, offset: int) -> list[Var]:
        """What a head without a hypothesis selects most often, and what it chooses by; or one with a
        hypothesis that asks for tokens which are no variable.

        If the output needs more than that, the values do not determine it, or no rule of them is exact.
        """
        found = self.leaves(node.reads["query"], offset)
        for source in sorted({node.reads["value"], node.reads["key"]}):
            for back in self.matches[index].attended[:MOST_ATTENDED]:
                with suppress(NotExtracted):  # in `concat`, what is no fixed variable
                    found += self.leaves(source, offset + back)
        return found

    def _counts(self, source: int) -> list[str]:
        """Counters that stand for any aggregate of a function of one input with few values.

        What such an operator gives each value is a matter of gauge: every aggregate of it is a weighted
        sum of how often each value occurred.
        """
        leaves = {*self.leaves(source)} if isinstance(self.graph.nodes[source], OperatorNode) else set[Var]()
        leaf = leaves.pop() if len(leaves) == 1 else None
        domain = self.domains.get(leaf.name) if leaf and leaf.lag == 0 else None
        if leaf is None or domain is None or not domain.discrete or domain.size > MOST_COUNTED:
            return []
        names = []
        for value in map(int, domain.values()):
            names.append(self.local(f"c{value}" if value >= 0 else f"cm{-value}"))
            self.add(names[-1], Var(names[-1], 1) + leaf.equals(value))
        return names

    def output_leaves(self, row: int) -> tuple[Var, ...]:
        """The leaves of one output, nearest first."""
        found: dict[Var, None] = {}
        for index in np.flatnonzero(self.graph.head[row, :-1]):
            found |= dict.fromkeys(self.leaves(int(index)))
        order = (*self.graph.inputs, *(step.name for step in self.steps), *self.graph.outputs)
        return tuple(sorted(found, key=lambda leaf: (order.index(leaf.name), leaf.lag)))
