"""Reading a network cut by cut, from the leaves to the output.

A cut is a set of variables that everything above depends on. The first is the leaves: operators are seen
through. Then the operators become variables of the program (`crisp`), layer by layer, and the cut rises by
them; those that cannot be read are still seen through. At each cut the output is regressed on its variables,
and the first exact rule is the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weights2code.data import Problem
from weights2code.explain.explanation import MatchedGraph
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.language import Recurrence
from weights2code.rules.assembly import Assembly
from weights2code.rules.crisp import Replaced, meanings
from weights2code.verify.links import Rule

#: Effort for the formulas that aggregates of functions are made of, and for the meaning of one operator.
EXPLANATION_EFFORT = 1.5
MEANING_EFFORT = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """How many layers of operators have become variables; 0 is the leaves, which may be the `only` cut."""

    number: int
    assembly: Assembly
    only: bool = False

    def rule(self, recurrence: Recurrence) -> Rule:
        """What is to be said of a rule that was found here: only operators that it reads are in it."""
        read = {step.name for step in recurrence.live().steps}
        crisp, nodes = self.assembly.crisp, self.assembly.graph.nodes
        named = self.assembly.crystallised() & read
        found = tuple(nodes[index].name for index in sorted(crisp) if crisp[index].name in named)
        return Rule(self.number if found else 0, found)


def cuts(
    matched: MatchedGraph, problem: Problem, lowest: int = 0, *, leaves_only: bool = False
) -> Iterator[Cut]:
    """The cuts of a network, from the lowest that is asked for upwards, or its leaves alone.

    A single operator says no more than the output itself, and is read only if nodes are asked for. In
    `concat` what a token is depends on how far back it lies: nothing there is a variable at every position.
    """
    graph, layers = matched.graph, operator_layers(matched.graph)
    readable = graph.layout.name != "concat" and not matched.unmatched() and matched.finite
    only = leaves_only or not readable or sum(map(len, layers)) < (1 if lowest else 2)
    assembly = Assembly.of(matched, problem, EXPLANATION_EFFORT)
    if only or not lowest:
        yield Cut(0, assembly, only)
    if only:
        return
    network = Replaced.of(graph, problem)
    for number, layer in enumerate(layers, start=1):
        before = assembly
        for index in layer:
            found = next(meanings(network, assembly, index, problem, MEANING_EFFORT), None)
            if found is not None:
                meaning, network = found
                assembly = assembly.crystallised_at(index, meaning)
        if assembly is not before and number >= lowest:
            yield Cut(number, assembly)


def operator_layers(graph: DiscreteGraph) -> list[list[int]]:
    """The live operators by how many operators lie below them."""
    height: dict[int, int] = {}
    layers: list[list[int]] = []
    for index in graph.live():
        node = graph.nodes[index]
        height[index] = max((height[source] for source in node.used()), default=0)
        if isinstance(node, OperatorNode):
            layers += [[]] * (height[index] == len(layers))
            layers[height[index]] = [*layers[height[index]], index]
            height[index] += 1
    return layers
