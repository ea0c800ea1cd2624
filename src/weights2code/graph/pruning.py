"""Pruning: what the output does not need is dropped before anything is explained.

`prune_by_threshold` is the paper's step (section 4.3): head weights below epsilon go. `prune_by_effect`
drops what can be dropped: a head variable or an operand is left out, the head is solved again, and the
drop is kept if the hard loss does not rise. The second is the default; the first is what the ablation needs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.graph.graph import DiscreteGraph, OperatorNode

#: All drops of one pass, of operands and then of head variables, may together raise the relative loss to
#: HARMLESS, or by this factor, whichever is larger, but never by more than NOTICEABLE: what a bad fit loses
#: is still a loss.
HARMLESS = 1e-9
FACTOR = 2.0
NOTICEABLE = 1e-3
#: Directions of the head that are weaker than this share of the strongest are noise.
RANK = 1e-11


def prune_by_threshold(graph: DiscreteGraph, epsilon: float) -> DiscreteGraph:
    """Set head weights of magnitude below epsilon to zero (the intercept stays)."""
    head = graph.head.copy()
    weights = head[:, :-1]
    weights[np.abs(weights) < epsilon] = 0.0
    return replace(graph, head=head)


def prune_by_effect(
    graph: DiscreteGraph,
    channels: np.ndarray,
    targets: np.ndarray,
    scored: np.ndarray,
    factor: float = FACTOR,
) -> DiscreteGraph:
    """Drop operands, then head variables, that the loss on these sequences does not need.

    Parameters
    ----------
    channels, targets : scaled, (n, T, channels) and (n, T, outputs); scored : (n, T).
    factor : what all drops of one pass may multiply the loss by; noisy data want it near 1.
    """
    graph = _drop_operands(graph, channels, targets, scored, factor)
    stream = graph.stream(channels)[scored]
    wanted = targets[scored]
    head = np.zeros_like(graph.head)
    for output in range(len(head)):
        kept = np.flatnonzero(graph.head[output, :-1]).tolist()
        head[output] = _smallest_head(stream, wanted[:, output], kept, factor)
    return replace(graph, head=head)


def _drop_operands(
    graph: DiscreteGraph, channels: np.ndarray, targets: np.ndarray, scored: np.ndarray, factor: float
) -> DiscreteGraph:
    """Fix operands that do not matter at 0 (their column of weights becomes zero)."""
    wanted = targets[scored]
    limit = _limit(_loss(graph.stream(channels)[scored], wanted, graph), factor)
    for index, node in enumerate(graph.nodes):
        if not isinstance(node, OperatorNode) or index not in graph.live():
            continue
        for slot in range(len(node.operands)):
            weight = node.hidden_weight.copy()
            if not weight[:, slot].any():
                continue
            weight[:, slot] = 0.0
            without = replace(node, hidden_weight=weight)
            candidate = replace(graph, nodes=(*graph.nodes[:index], without, *graph.nodes[index + 1 :]))
            if _loss(candidate.stream(channels)[scored], wanted, candidate) <= limit:
                graph, node = candidate, without
    return graph


def _limit(loss: float, factor: float) -> float:
    return max(min(factor * loss, loss + NOTICEABLE), HARMLESS)


def _loss(stream: np.ndarray, wanted: np.ndarray, graph: DiscreteGraph) -> float:
    """Relative squared error with the best head over the variables that the head uses now."""
    total = 0.0
    for row, column in zip(graph.head, wanted.T, strict=True):
        total += _solve(stream, column, np.flatnonzero(row[:-1]).tolist())[1]
    return total / wanted.shape[1]


def _solve(stream: np.ndarray, wanted: np.ndarray, kept: list[int]) -> tuple[np.ndarray, float]:
    design = np.column_stack([stream[:, kept], np.ones(len(stream))])
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += 1e-12 * np.trace(gram) / len(gram) + 1e-300
    solution = np.linalg.solve(gram, design.T @ wanted)
    variance = max(float(np.var(wanted)), 1e-300)
    return solution, float(np.mean((design @ solution - wanted) ** 2)) / variance


def _smallest_head(stream: np.ndarray, wanted: np.ndarray, kept: list[int], factor: float) -> np.ndarray:
    """Backward elimination; later nodes are tried first, so that channels are what remains."""
    limit = _limit(_solve(stream, wanted, kept)[1], factor)
    for index in sorted(kept, reverse=True):
        fewer = [i for i in kept if i != index]
        if _solve(stream, wanted, fewer)[1] <= limit:
            kept = fewer
    # to the last digit: with values without end, what a weight is off by ends what it is right for
    design = np.column_stack([stream[:, kept], np.ones(len(stream))])
    solution = np.linalg.lstsq(design, wanted, rcond=RANK)[0]
    row = np.zeros(stream.shape[1] + 1)
    row[kept], row[-1] = solution[:-1], solution[-1]
    return row
