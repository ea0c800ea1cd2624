"""A network wired for a rule: it reads what the rule reads, and is then tuned like any other.

Where a network is not right and tuning cannot make it so, because no sub-MLP of it sees the values together
that the rule combines, the next one up has its choices settled: a location head for every value of the past
that the rule reads, and for each output a sub-MLP of those that do not simply add up, with a unit along each
direction in which the rule bends. What adds up goes to the linear head alone, where it may grow without end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Problem
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.graph.to_model import laid_out
from weights2code.language import Expr, Recurrence, Var, evaluate
from weights2code.language.product import inlined
from weights2code.network.tuning.compiled import Compiler, Unwired

#: Leaves of a rule that a sub-MLP sees.
MOST_LEAVES = 12
#: Directions in a plane, and in more dimensions, along which units lie; the share of the strongest bend that
#: still counts.
IN_A_PLANE, IN_SPACE, BENDS = 6, 64, 1e-6
#: Positions that show whether a value simply adds up, and how far from that rounding errors can look.
SAMPLED, NEARLY = 256, 1e-9
#: A weight that is to be solved for.
UNKNOWN = 1e-3


def wired_for(program: Recurrence, graph: DiscreteGraph, problem: Problem, seed: int) -> DiscreteGraph | None:
    """A network for the rule whose weights are to be solved for, in the layout of another; None if the rule
    reads more than inputs and outputs at fixed lags."""
    if graph.layout.name == "concat" or program.retrieves():
        return None
    formulas = [inlined(program)[name] for name in program.outputs]
    read = {leaf for formula in formulas for leaf in formula.variables()}
    leaves = sorted(read, key=lambda leaf: (leaf.name, leaf.lag))
    made = Compiler(program, graph, problem)
    node_of: dict[Var, tuple[int, float]] = {}
    try:
        for leaf in leaves:
            ((node, scale),) = made.read(leaf).items()
            assert node is not None
            node_of[leaf] = node, scale
    except (Unwired, KeyError):
        return None
    rng = np.random.default_rng(seed)
    seen = _seen(program, problem, leaves)
    curved = [_curved(formula, seen, rng) for formula in formulas]
    if any(len(some) > MOST_LEAVES for some in curved):
        return None
    nodes = made.nodes
    head = np.zeros((len(formulas), len(nodes) + sum(map(bool, curved)) + 1))
    for row, (formula, some) in enumerate(zip(formulas, curved, strict=True)):
        head[row, [node_of[leaf][0] for leaf in formula.variables()]] = UNKNOWN  # every leaf may add up
        if some:
            head[row, len(nodes)] = 1.0
            operands, scales = zip(*(node_of[leaf] for leaf in some), strict=True)
            weight = _directions(formula, some, seen, rng) * np.array(scales)
            blank = np.zeros(len(weight))
            nodes.append(OperatorNode("", operands, weight, blank, blank, 0.0))
    return laid_out(replace(graph, nodes=tuple(nodes), head=head))


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


def _curved(formula: Expr, seen: dict[Var, np.ndarray], rng: np.random.Generator) -> tuple[Var, ...]:
    """The leaves of which one more does not add the same everywhere."""
    base = {leaf: rng.choice(seen[leaf], SAMPLED) for leaf in seen if leaf in formula.variables()}
    found: list[Var] = []
    with np.errstate(all="ignore"):
        value = np.broadcast_to(evaluate(formula, base), SAMPLED)
        scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
        for leaf, own in base.items():
            moved = rng.choice(seen[leaf], SAMPLED)
            change = np.broadcast_to(evaluate(formula, {**base, leaf: moved}), SAMPLED) - value
            step = moved - own
            widest = int(np.argmax(np.abs(step)))
            slope = change[widest] / step[widest]
            if not (step.any() and np.all(np.abs(change - slope * step) <= NEARLY * scale)):
                found.append(leaf)
    return tuple(found)


def _directions(
    formula: Expr, some: tuple[Var, ...], seen: dict[Var, np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Directions (directions, leaves) along which slopes change from place to place."""
    base = {leaf: values[:SAMPLED] for leaf, values in seen.items()}
    rows = []
    with np.errstate(all="ignore"):
        for leaf in some:
            whole = np.all(seen[leaf] == np.round(seen[leaf]))
            step = 1.0 if whole else max(1e-4 * float(np.ptp(seen[leaf])), 1e-9)
            ends = [evaluate(formula, {**base, leaf: base[leaf] + side * step}) for side in (-1, 1)]
            rows.append(np.broadcast_to((ends[1] - ends[0]) / (2 * step), len(base[leaf])))
    slopes = np.nan_to_num(np.stack(rows, axis=1))
    spread = np.maximum([np.std(seen[leaf]) for leaf in some], 1e-9)
    _, sizes, axes = np.linalg.svd((slopes - slopes.mean(axis=0)) * spread, full_matrices=False)
    axes = axes[: max(1, int(np.sum(sizes > BENDS * max(float(sizes[0]), 1e-300))))]
    if len(axes) == 2:
        angles = np.pi * np.arange(IN_A_PLANE) / IN_A_PLANE
        axes = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ axes
    elif len(axes) > 2:
        axes = rng.standard_normal((IN_SPACE, len(axes))) @ axes
    return axes / spread
