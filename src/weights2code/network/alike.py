"""What network and program remember alike is one more input of both.

A sum or a mean of an input over everything so far, a count or a lookup by key, that both compute in the same
way has the same value in both, whatever it is. So it may take any value that it can have: the rest of network
and program is compared as functions of it. A lookup is certain by its scores: no key but an equal one may
beat the null slot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.language import (
    Const,
    Count,
    Domain,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Step,
    Var,
    integers,
    reals,
)
from weights2code.network.contexts.pointing import longest_retrieval

#: Sums of whole numbers are compared up to this.
LARGEST_SUM = 2.0**40
#: Keys of a lookup at most: every two of them are compared.
MOST_KEYS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Network and program with inputs in the place of what they remember alike.

    `traced` are formulas of the program's own variables for the values of these inputs, `length` up to which
    both are the same, and `sums` whether that is a sum, which must stay below `LARGEST_SUM`.
    """

    graph: DiscreteGraph
    program: Recurrence
    domains: tuple[Domain, ...]
    traced: tuple[Expr, ...]
    length: int | None
    sums: bool


def remembered_alike(graph: DiscreteGraph, program: Recurrence, domains: tuple[Domain, ...]) -> Alike | None:
    """Every live head that remembers, in the place of which an input can stand; None if there are none, or
    the program does not do the same as one of them."""
    heads = [
        (index, node)
        for index in graph.live()
        if isinstance(node := graph.nodes[index], RouterNode)
        and (node.facts.aggregate or node.facts.relation or node.kind == "equality")
    ]
    if not heads or graph.layout.name == "concat":
        return None
    known = dict(zip(program.inputs, domains, strict=True))
    added: list[tuple[int, str, Domain, float]] = []
    traced: list[Expr] = []
    lengths: list[int] = []
    sums = False
    for index, node in heads:
        if not all(source < len(graph.inputs) for source in node.reads.values()):
            return None
        names = {role: graph.inputs[source] for role, source in node.reads.items()}
        scale, name = graph.layout.input_scales[node.reads["value"]], f"remembered{index}"
        domain = known[names["value"]]
        made: Expr
        if node.kind == "equality":
            found = _lookup(node, graph, program, known, names)
            if found is None:
                return None
            step, length = found
            lengths.append(length)
            made = Var(step)
            low, high = min(domain.low, 0.0), max(domain.high, 0.0)
            domain = integers(int(low), int(high)) if domain.discrete else reals(low, high)
        elif node.kind in ("sum", "mean"):
            total = _running(program, names["value"])
            count = _running(program, None) if node.kind == "mean" else ""
            if total is None or count is None:
                return None
            made = Var(total) / Var(count) if count else Var(total)
            if not count and domain.discrete:
                domain, sums = integers(-int(LARGEST_SUM), int(LARGEST_SUM)), True
            elif domain.discrete or not count:
                domain = reals(domain.low, domain.high)
        elif node.facts.relation:
            counted = _count(node, graph, program, known, names)
            if counted is None:
                return None
            made, scale, sums = Var(counted), 1.0, True
            domain = integers(0, int(LARGEST_SUM))
        else:
            return None
        program = _in_place_of(program, made, name)
        added.append((index, name, domain, scale))
        traced.append(made)
    new = (*domains, *(domain for _, _, domain, _ in added))
    return Alike(
        _with_channels(graph, [(index, name, scale) for index, name, _, scale in added]),
        program.live(),
        new,
        tuple(traced),
        min(lengths, default=None),
        sums,
    )


def _running(program: Recurrence, name: str | None) -> str | None:
    """The step that adds up an input, or counts positions."""
    for step in program.steps:
        more = Const(1) if name is None else Var(name)
        past = Var(step.name, 1)
        same = step.definition in (past + more, more + past)
        if same and program.start_of(step.name) == 0:
            return step.name
    return None


def _lookup(
    node: RouterNode,
    graph: DiscreteGraph,
    program: Recurrence,
    known: dict[str, Domain],
    names: dict[str, str],
) -> tuple[str, int] | None:
    """The step that looks up the same, and the length up to which the head does."""
    key, query = known[names["key"]], known[names["query"]]
    scales = [graph.layout.input_scales[node.reads[role]] for role in ("key", "query")]
    if not (key.discrete and query.discrete) or max(key.size, query.size) > MOST_KEYS or len(set(scales)) > 1:
        return None
    values = np.arange(min(key.low, query.low), max(key.high, query.high) + 1) / scales[0]
    found = longest_retrieval(node, values)
    if found is None:
        return None
    gap, length = found
    for step in program.steps:
        made = step.definition
        if not isinstance(made, Retrieval) or (made.gap, made.default) != (gap, 0.0):
            continue
        if (made.key, made.value, made.query) == (names["key"], names["value"], Var(names["query"])):
            return step.name, length
    return None


def _count(
    node: RouterNode,
    graph: DiscreteGraph,
    program: Recurrence,
    known: dict[str, Domain],
    names: dict[str, str],
) -> str | None:
    """The step that counts the same: whole numbers, which no scale brings closer than they are told apart."""
    scales = {graph.layout.input_scales[node.reads[role]] for role in ("key", "value")}
    read = [known[name] for name in names.values()]
    small = all(own.discrete and max(-own.low, own.high) <= LARGEST_SUM for own in read)
    if not small or len(scales) > 1:
        return None
    same = (names["key"], Var(names["value"]), node.facts.relation)
    for step in program.steps:
        made = step.definition
        if isinstance(made, Count) and (made.key, made.query, made.relation) == same:
            return step.name
    return None


def _in_place_of(program: Recurrence, made: Expr, new: str) -> Recurrence:
    """The input `new` in the place of what it stands for: a step, or an expression of the present."""

    def written(expr: Expr) -> Expr:
        if expr == made:
            return Var(new)
        if isinstance(expr, Op):
            return Op(expr.name, tuple(written(argument) for argument in expr.args))
        return expr

    steps = []
    for step in program.steps:
        if isinstance(made, Var):
            steps.append(Step(step.name, Var(new)) if step.name == made.name else step)
        elif isinstance(step.definition, Expr):
            steps.append(Step(step.name, written(step.definition)))
        else:
            steps.append(step)
    return replace(program, inputs=(*program.inputs, new), steps=tuple(steps))


def _with_channels(graph: DiscreteGraph, added: list[tuple[int, str, float]]) -> DiscreteGraph:
    """Heads become copies of new channels, which come after the inputs."""
    first, count = len(graph.inputs), len(added)

    def moved(index: int) -> int:
        return index if index < first else index + count

    nodes: list[Node] = []
    for index, node in enumerate(graph.nodes):
        if index == first:
            nodes += [ChannelNode(f"remembered{old}", name) for old, name, _ in added]
        replaced = next((place for place, (old, _, _) in enumerate(added) if old == index), None)
        if replaced is not None:
            nodes.append(RouterNode(node.name, "location", {"value": first + replaced}, 0))
        elif isinstance(node, RouterNode):
            nodes.append(replace(node, reads={role: moved(source) for role, source in node.reads.items()}))
        elif isinstance(node, OperatorNode):
            nodes.append(replace(node, operands=tuple(moved(operand) for operand in node.operands)))
        else:
            nodes.append(node)
    layout = replace(
        graph.layout, input_scales=(*graph.layout.input_scales, *(scale for _, _, scale in added))
    )
    head = np.insert(graph.head, [first] * count, 0.0, axis=1)
    inputs = (*graph.inputs, *(name for _, name, _ in added))
    return replace(graph, nodes=tuple(nodes), head=head, layout=layout, inputs=inputs)
