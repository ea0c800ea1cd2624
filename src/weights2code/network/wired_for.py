"""A network wired for a rule: it reads what the rule reads, and is then trained like any other.

Where a network is not right and tuning cannot make it so, because no sub-MLP of it sees the values together
that the rule combines, the next one up has its choices settled: a location head for every value of the past
that the rule reads, and for each output a sub-MLP of those that do not simply add up. What adds up goes to
the linear head alone, where it may grow without end.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.language import Expr, Recurrence, Var, evaluate
from weights2code.model import Architecture
from weights2code.model.architecture import wiring
from weights2code.verify.product import inlined

#: Leaves of a rule that a sub-MLP sees, and hidden units that it begins with, at most.
MOST_LEAVES, MOST_UNITS = 12, 96
#: Hidden units for each value that an operand can take.
UNITS_A_VALUE = 1.5
#: Positions that show whether a value simply adds up.
SAMPLED = 256
#: How far from adding up rounding errors can look.
NEARLY = 1e-9


def wired_for(program: Recurrence, graph: DiscreteGraph, problem: Problem, seed: int) -> DiscreteGraph | None:
    """An untrained network for the rule, in the layout of another; None if the rule reads more than inputs
    and outputs at fixed lags."""
    if graph.layout.name == "concat" or program.retrieves():
        return None
    formulas = inlined(program)
    outputs = [formulas[name] for name in program.outputs]
    read = {leaf for formula in outputs for leaf in formula.variables()}
    leaves = sorted(read, key=lambda leaf: (leaf.name, leaf.lag))
    known = {*program.inputs, *program.outputs}
    past = graph.layout.name == "autoregressive"
    for leaf in leaves:
        if leaf.name not in known or (leaf.name in program.outputs and not past):
            return None
        if leaf.lag and program.start_of(leaf.name) == "first":
            return None
    rng = np.random.default_rng(seed)
    seen = _seen(program, problem, leaves)
    curved = [_curved(formula, leaves, seen, rng) for formula in outputs]
    if any(len(some) > MOST_LEAVES for some in curved):
        return None
    return _network(program, graph, leaves, curved, seen, rng)


def _seen(program: Recurrence, problem: Problem, leaves: list[Var]) -> dict[Var, np.ndarray]:
    """Values of the leaves at positions of the validation sequences where all lie inside."""
    x = problem.validation.x
    with np.errstate(all="ignore"):
        trace = program.trace(x)
    deepest = min(max((leaf.lag for leaf in leaves), default=0), x.shape[1] - 1)
    found = {}
    for leaf in leaves:
        shifted = trace[leaf.name][:, max(deepest - leaf.lag, 0) : x.shape[1] - min(leaf.lag, deepest)]
        found[leaf] = shifted.reshape(-1)
    return found


def _curved(
    formula: Expr, leaves: list[Var], seen: dict[Var, np.ndarray], rng: np.random.Generator
) -> tuple[Var, ...]:
    """The leaves that do not simply add up: what a change of one gives depends on where it is made."""
    read = formula.variables()
    if not read:
        return ()

    def drawn(leaf: Var) -> np.ndarray:
        return rng.choice(seen[leaf], SAMPLED)

    with np.errstate(all="ignore"):
        base = {leaf: drawn(leaf) for leaf in read}
        value = np.broadcast_to(evaluate(formula, base), SAMPLED)
        found = []
        for leaf in leaves:
            if leaf not in read:
                continue
            moved = drawn(leaf)
            step = moved - base[leaf]
            change = np.broadcast_to(evaluate(formula, {**base, leaf: moved}), SAMPLED) - value
            there = np.abs(step) > 0
            slope = change[there] / step[there]
            scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
            if len(slope) and not np.all(np.abs(change[there] - slope[0] * step[there]) <= NEARLY * scale):
                found.append(leaf)
    return tuple(found)


def _network(
    program: Recurrence,
    like: DiscreteGraph,
    leaves: list[Var],
    curved: list[tuple[Var, ...]],
    seen: dict[Var, np.ndarray],
    rng: np.random.Generator,
) -> DiscreteGraph:
    layout, columns = like.layout, len(like.inputs)
    channel_of = {name: place for place, name in enumerate((*like.inputs, *like.outputs))}
    offset_of = {leaf: leaf.lag if leaf.name in like.inputs else leaf.lag - 1 for leaf in leaves}
    headed = [leaf for leaf in leaves if offset_of[leaf]]
    arity = max([1, *(len(some) for some in curved)])
    operators = sum(bool(some) for some in curved)
    architecture = Architecture(
        channels=layout.channels,
        outputs=layout.outputs,
        layers=1,
        location=len(headed),
        submlps=operators,
        arity=arity,
        hidden=MOST_UNITS,
        window=max([1, *(offset_of[leaf] + 1 for leaf in headed)]),
        past=layout.channels - columns,
        learned_start=True,
    )
    names = wiring(architecture).variables
    labels = layout.channel_names(like.inputs, like.outputs)
    units = (*layout.input_scales, *layout.output_scales)
    nodes: list[ChannelNode | RouterNode | OperatorNode] = []
    for index in range(layout.channels):
        start = 0.0 if index < columns else _start(program, like.outputs[index - columns]) / units[index]
        nodes.append(ChannelNode(names[index], labels[index], start))
    place: dict[Var, int] = {leaf: channel_of[leaf.name] for leaf in leaves}
    for leaf in headed:
        source = channel_of[leaf.name]
        place[leaf] = len(nodes)
        start = _start(program, leaf.name) / units[source]
        nodes.append(RouterNode(names[len(nodes)], "location", {"value": source}, offset_of[leaf], start))
    head = np.zeros((layout.outputs, len(names) + 1))
    for output, some in enumerate(curved):
        if some:
            head[output, len(nodes)] = 1.0
            operands = tuple(place[leaf] for leaf in some)
            scaled = [seen[leaf] / units[channel_of[leaf.name]] for leaf in some]
            nodes.append(_operator(names[len(nodes)], operands, arity, np.stack(scaled, axis=1), rng))
        formula = inlined(program)[program.outputs[output]]
        for leaf in formula.variables():
            head[output, place[leaf]] = 1e-3  # every leaf may add up; training says how much
    return DiscreteGraph(tuple(nodes), head, layout, like.inputs, like.outputs, like.length)


def _operator(
    name: str, operands: tuple[int, ...], arity: int, seen: np.ndarray, rng: np.random.Generator
) -> OperatorNode:
    """A sub-MLP whose units change their slope among the values that it will see."""
    padded = operands + operands[:1] * (arity - len(operands))
    values = sum(min(len(np.unique(column)), MOST_UNITS) for column in seen.T)
    units = int(np.clip(UNITS_A_VALUE * values, 8, MOST_UNITS))
    direction = rng.standard_normal((units, len(operands))) / np.maximum(np.std(seen, axis=0), 1e-6)
    if len(operands) == 1:
        direction = np.sign(direction)
    through = seen[rng.integers(0, len(seen), units)]
    weight = np.zeros((units, arity))
    weight[:, : len(operands)] = direction
    bias = -np.sum(direction * through, axis=1)
    return OperatorNode(name, padded, weight, bias, 0.1 * rng.standard_normal(units) / np.sqrt(units), 0.0)


def _start(program: Recurrence, name: str) -> float:
    start = program.start_of(name)
    return 0.0 if start == "first" or not np.isfinite(start) else float(start)
