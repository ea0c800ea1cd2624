"""A network wired for a rule: it reads what the rule reads, and is then trained like any other.

Where a network is not right and tuning cannot make it so, because no sub-MLP of it sees the values together
that the rule combines, the next one up has its choices settled: a location head for every value of the past
that the rule reads, and for each output a sub-MLP of those that do not simply add up. What adds up goes to
the linear head alone, where it may grow without end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.language import Expr, Recurrence, Var, evaluate
from weights2code.verify.product import inlined

#: Leaves of a rule that a sub-MLP sees, and its hidden units: for values one by one, and for reals.
MOST_LEAVES, MOST_UNITS, UNITS_OF_REALS = 12, 96, 384
#: Rounds in which large errors get more weight, and errors, of the largest value, that are none.
REWEIGHTED, EXACT = 8, 1e-9
#: Units along one direction that are worth moving.
LEAST_MOVED = 8
#: Directions in a plane along which units lie, and the share of the strongest bend that still counts.
DIRECTIONS, BENDS = 6, 1e-6
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
    slopes = [_slopes(formula, leaves, seen, rng) for formula in outputs]
    curved = [tuple(leaf for leaf, slope in some.items() if slope is None) for some in slopes]
    if any(len(some) > MOST_LEAVES for some in curved):
        return None
    return _network(program, graph, leaves, curved, seen, rng)


def solved(graph: DiscreteGraph, learned: Sequences) -> DiscreteGraph:
    """The network with the head, and the weights of the units that feed it, that leave the smallest largest
    error; where errors remain, units move to where the rule bends most."""
    found, exact = _solved(graph, learned)
    return found if exact else _solved(_where_it_bends(found), learned)[0]


def _where_it_bends(graph: DiscreteGraph) -> DiscreteGraph:
    """Units along the same direction lie the nearer to each other the more the slope changes there."""
    nodes = list(graph.nodes)
    for index, node in enumerate(nodes):
        if not isinstance(node, OperatorNode):
            continue
        bias = node.hidden_bias.copy()
        directions, group = np.unique(node.hidden_weight, axis=0, return_inverse=True)
        for number in range(len(directions)):
            own = np.flatnonzero(group.reshape(-1) == number)
            own = own[np.argsort(-bias[own])]
            if len(own) < LEAST_MOVED:
                continue
            kinks, change = -bias[own], np.abs(node.output_weight[own])
            change = np.convolve(np.pad(change, 2, mode="edge"), np.ones(5) / 5, mode="valid")
            dense = np.sqrt(change) + 0.05 * np.sqrt(change.max() + 1e-300)
            reach = np.concatenate([[0.0], np.cumsum((dense[1:] + dense[:-1]) / 2 * np.diff(kinks))])
            bias[own] = -np.interp(np.linspace(0, reach[-1], len(own)), reach, kinks)
        nodes[index] = replace(node, hidden_bias=bias)
    return replace(graph, nodes=tuple(nodes))


def _solved(graph: DiscreteGraph, learned: Sequences) -> tuple[DiscreteGraph, bool]:
    """Least squares, then again and again with more weight where errors are large; whether none is left."""
    channels, targets, scored = graph.encode(learned)
    stream, wanted = graph.stream(channels)[scored], targets[scored]
    head, nodes, exact = graph.head.copy(), list(graph.nodes), True
    for row, target in enumerate(wanted.T):
        kept = [i for i in np.flatnonzero(head[row, :-1]) if not isinstance(nodes[i], OperatorNode)]
        own = next((i for i in np.flatnonzero(head[row, :-1]) if isinstance(nodes[i], OperatorNode)), None)
        features = [stream[:, kept], np.ones((len(stream), 1))]
        if own is not None:
            node = nodes[own]
            assert isinstance(node, OperatorNode)
            inputs = stream[:, list(node.operands)]
            features.insert(0, np.maximum(inputs @ node.hidden_weight.T + node.hidden_bias, 0.0))
        solution, none = _least_largest(np.concatenate(features, axis=1), target)
        exact &= none
        head[row], units = 0.0, len(solution) - len(kept) - 1
        head[row, kept], head[row, -1] = solution[units:-1], solution[-1]
        if own is not None:
            head[row, own] = 1.0
            nodes[own] = replace(node, output_weight=solution[:units], output_bias=0.0)
    return replace(graph, nodes=tuple(nodes), head=head), exact


def _least_largest(features: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, bool]:
    best = np.linalg.lstsq(features, wanted, rcond=1e-13)[0]
    errors = np.abs(features @ best - wanted)
    least, weight = float(errors.max()), np.ones(len(wanted))
    scale = max(float(np.abs(wanted).max()), 1e-300)
    for _ in range(REWEIGHTED):
        if least <= EXACT * scale:
            break
        weight *= errors / errors.max() + 1e-3
        weight /= weight.sum()
        gram = features.T @ (weight[:, None] * features)
        gram[np.diag_indices_from(gram)] += 1e-13 * np.trace(gram) / len(gram)
        solution = np.linalg.solve(gram, features.T @ (weight * wanted))
        errors = np.abs(features @ solution - wanted)
        if errors.max() < least:
            best, least = solution, float(errors.max())
    return best, least <= EXACT * scale


def with_slopes(program: Recurrence, graph: DiscreteGraph, problem: Problem, seed: int) -> DiscreteGraph:
    """A network that is wired for the rule, where what simply adds up has the weight that it has in the rule:
    then it may grow without end."""
    formulas, rng = inlined(program), np.random.default_rng(seed)
    outputs = [formulas[name] for name in program.outputs]
    places = _leaf_places(graph)
    leaves = [leaf for leaf in places if any(leaf in formula.variables() for formula in outputs)]
    seen, units, head = _seen(program, problem, leaves), graph.units(), graph.head.copy()
    for row, formula in enumerate(outputs):
        for leaf, slope in _slopes(formula, leaves, seen, rng).items():
            if slope is not None:
                place = places[leaf]
                head[row, place] = slope * units[place] / graph.layout.output_scales[row]
    return replace(graph, head=head)


def _leaf_places(graph: DiscreteGraph) -> dict[Var, int]:
    """Which node holds each leaf."""
    names, columns = (*graph.inputs, *graph.outputs), len(graph.inputs)
    found: dict[Var, int] = {}
    for index, node in enumerate(graph.nodes):
        channel, back = index, 0
        if isinstance(node, RouterNode) and node.offset is not None:
            channel, back = node.reads["value"], node.offset
        elif not isinstance(node, ChannelNode):
            continue
        found.setdefault(Var(names[channel], back + (channel >= columns)), index)
    return found


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


def _slopes(
    formula: Expr, leaves: list[Var], seen: dict[Var, np.ndarray], rng: np.random.Generator
) -> dict[Var, float | None]:
    """What one more of each leaf adds, wherever it is added; None if that depends on where."""
    read = set(formula.variables())
    base = {leaf: rng.choice(seen[leaf], SAMPLED) for leaf in leaves if leaf in read}
    found: dict[Var, float | None] = {}
    with np.errstate(all="ignore"):
        value = np.broadcast_to(evaluate(formula, base), SAMPLED)
        scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
        for leaf, own in base.items():
            moved = rng.choice(seen[leaf], SAMPLED)
            change = np.broadcast_to(evaluate(formula, {**base, leaf: moved}), SAMPLED) - value
            step = moved - own
            if not step.any():
                found[leaf] = None
                continue
            widest = int(np.argmax(np.abs(step)))
            slope = float(change[widest] / step[widest])
            straight = np.all(np.abs(change - slope * step) <= NEARLY * scale)
            found[leaf] = _plain(slope) if straight else None
    return found


def _plain(slope: float) -> float:
    """A slope without the last digits, which come of dividing."""
    return float(f"{slope:.10g}")


def _network(
    program: Recurrence,
    like: DiscreteGraph,
    leaves: list[Var],
    curved: list[tuple[Var, ...]],
    seen: dict[Var, np.ndarray],
    rng: np.random.Generator,
) -> DiscreteGraph:
    from weights2code.model.architecture import Architecture, wiring  # not torch for whoever needs none

    layout, columns = like.layout, len(like.inputs)
    formulas = [inlined(program)[name] for name in program.outputs]
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
        hidden=UNITS_OF_REALS,
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
            scales = np.array([units[channel_of[leaf.name]] for leaf in some])
            values = np.stack([seen[leaf] for leaf in some], axis=1) / scales
            bends = _bends(formulas[output], some, seen) * scales
            nodes.append(_operator(names[len(nodes)], operands, arity, values, bends, rng))
        for leaf in formulas[output].variables():
            head[output, place[leaf]] = 1e-3  # every leaf may add up; training says how much
    return DiscreteGraph(tuple(nodes), head, layout, like.inputs, like.outputs, like.length)


def _bends(formula: Expr, some: tuple[Var, ...], seen: dict[Var, np.ndarray]) -> np.ndarray:
    """How slopes change from place to place: a row a place, a column a leaf."""
    kept = slice(0, SAMPLED)
    base = {leaf: values[kept] for leaf, values in seen.items()}
    rows = []
    with np.errstate(all="ignore"):
        for leaf in some:
            whole = np.all(seen[leaf] == np.round(seen[leaf]))
            step = 1.0 if whole else max(1e-4 * float(np.ptp(seen[leaf])), 1e-9)
            ends = [evaluate(formula, {**base, leaf: base[leaf] + side * step}) for side in (-1, 1)]
            rows.append(np.broadcast_to((ends[1] - ends[0]) / (2 * step), len(base[leaf])))
    slopes = np.nan_to_num(np.stack(rows, axis=1))
    return slopes - slopes.mean(axis=0)


def _operator(
    name: str,
    operands: tuple[int, ...],
    arity: int,
    seen: np.ndarray,
    bends: np.ndarray,
    rng: np.random.Generator,
) -> OperatorNode:
    """A sub-MLP whose units change their slope among the values that it will see.

    Few values that differ are told apart along one direction, with a unit for each: any function of them can
    then be had. Otherwise units lie along the directions in which the rule bends, if these are few.
    """
    points = np.unique(seen, axis=0)
    if len(points) <= MOST_UNITS:
        direction, bias = _one_by_one(points)
    else:
        direction, bias = _along(_directions(seen, bends, rng), seen)
    units = len(bias)
    padded = operands + operands[:1] * (arity - len(operands))
    weight = np.zeros((units, arity))
    weight[:, : len(operands)] = direction
    return OperatorNode(name, padded, weight, bias, 0.1 * rng.standard_normal(units) / np.sqrt(units), 0.0)


def _one_by_one(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A unit for each point, along a direction in which no two of them lie together."""
    levels = [np.unique(column) for column in points.T]
    digits = np.cumprod([1, *(len(level) for level in levels[:-1])])
    spacing = [np.diff(level).min() if len(level) > 1 else 1.0 for level in levels]
    along = np.array(digits / spacing)
    codes = np.unique(points @ along)
    length = max(float(np.ptp(codes)), 1.0)
    bias = -(codes - 0.5 * np.min(np.diff(codes), initial=1.0)) / length
    return np.repeat(along[None] / length, len(codes), axis=0), bias


def _directions(seen: np.ndarray, bends: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Directions (directions, operands) along which slopes change."""
    spread = np.maximum(np.std(seen, axis=0), 1e-9)
    _, sizes, axes = np.linalg.svd(bends * spread, full_matrices=False)
    count = max(1, int(np.sum(sizes > BENDS * max(float(sizes[0]), 1e-300))))
    axes = axes[:count]
    if count == 1:
        return axes / spread
    if count == 2:
        angles = np.pi * np.arange(DIRECTIONS) / DIRECTIONS
        mixed = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    else:
        mixed = rng.standard_normal((UNITS_OF_REALS // 6, count))
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    return mixed @ axes / spread


def _along(directions: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units that bend evenly along each direction, over a little more than was seen."""
    each = max(UNITS_OF_REALS // len(directions) // (4 if len(directions) == 1 else 1), 1)
    weight, bias = [], []
    for direction in directions:
        values = seen @ direction
        low, high = float(values.min()), float(values.max())
        levels = _levels(values)
        if len(directions) == 1 and len(levels) <= UNITS_OF_REALS:
            weight, bias = (
                [direction] * len(levels),
                (0.5 * np.min(np.diff(levels), initial=1.0) - levels).tolist(),
            )
            break
        room = 0.1 * (high - low)
        kinks = np.linspace(low - room, high + room, each + 1)[:-1]
        weight += [direction] * each
        bias += (-kinks).tolist()
    return np.array(weight), np.array(bias)


def _levels(values: np.ndarray) -> np.ndarray:
    """The values that differ by more than rounding, in order."""
    ordered = np.unique(values)
    apart = np.diff(ordered, prepend=-np.inf) > NEARLY * max(1.0, float(np.abs(ordered).max(initial=0.0)))
    return ordered[apart]


def _start(program: Recurrence, name: str) -> float:
    start = program.start_of(name)
    return 0.0 if start == "first" or not np.isfinite(start) else float(start)
