"""Which members of a rung are worth explaining, and what is left of them when nothing superfluous is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weights2code.data import Problem, Regime
from weights2code.errors import Reason
from weights2code.explain.explanation import match_heads
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.values import Log, Member
from weights2code.graph import DiscreteGraph, RouterNode, prune_by_effect

if TYPE_CHECKING:
    from weights2code.training.storage import Trained

#: Members of a rung that are worth explaining, more of them where only their nodes count, and the relative
#: hard loss from which one is.
MEMBERS_TRIED, MEMBERS_READ = 3, 12
PROMISING = 0.02
#: Share of positions at which a member must be right for its leaves to be tried although it does not fit.
NEARLY_RIGHT = 0.9
#: Share of whole numbers that one must get right to be read.
MOSTLY_RIGHT = 0.97
#: The hard loss on real outputs that jumps may leave.
JUMPS = 0.5
#: Sequences that pruning looks at: validation ones, and under noise, which needs more of them, learned ones.
PRUNED_ON = 256
PRUNED_ON_UNDER_NOISE = 300
#: Pruning may raise a loss by this factor where all of it is noise.
NOISE_ADDED = 1.02


def members(trained: Trained, problem: Problem, log: Log, *, resort: bool = False) -> Iterator[Member]:
    """The best members of a rung that differ in structure; one that has no chance is noted.

    A member that fits is explained as it is. One that is right at most positions may have found the right
    values without fitting yet: its leaves are tried, and those of windows, which hold everything near, where
    rows of whole numbers tell what is needed, and those of one that leaves a part of real outputs, which may
    jump where no network can. As a last resort the leaves of the best members are
    tried however badly they fit. Members with a head that matches no hypothesis wait until the others were
    tried. Where the targets are not exact a small loss tells nothing: the best member is taken.
    """
    if problem.regime is not Regime.EXACT:
        yield member(trained, 0, problem)
        return
    waiting = []
    for found in _promising(trained, problem, log, resort):
        if found.matched.unmatched():
            waiting.append(found)
        else:
            yield found
    yield from waiting


def _promising(trained: Trained, problem: Problem, log: Log, resort: bool) -> Iterator[Member]:
    seen: set[tuple[Any, ...]] = set()
    most = MEMBERS_READ if log.lowest_cut else MEMBERS_TRIED
    for index, loss in enumerate(trained.losses):
        if len(seen) == most:
            return
        nearly = problem.integer_outputs and trained.accuracies[index] >= NEARLY_RIGHT
        nearly |= _holds_everything(trained, problem)
        nearly |= not problem.integer_outputs and loss <= JUMPS
        if not fits(trained, index, problem) and not resort and (seen or (not nearly and loss > PROMISING)):
            if not index:
                log.attempts.append(
                    Attempt(trained.rung, 0, loss, reason=Reason.UNFIT, detail="does not fit")
                )
            return
        found = member(trained, index, problem)
        shape = structure(found.graph)
        if shape not in seen:
            seen.add(shape)
            yield found


def member(trained: Trained, index: int, problem: Problem) -> Member:
    """One member with its heads matched, pruned.

    Of a window that does not fit, what pruning takes for superfluous may be what it has not learned yet.
    """
    graph, right = whole_graph(trained, index, problem), fits(trained, index, problem)
    everything = _holds_everything(trained, problem) and not right
    if not everything:
        graph = prune(graph, problem)
    loss = trained.losses[index]
    matched = match_heads(graph, problem.validation)
    nearly = problem.integer_outputs and trained.accuracies[index] >= NEARLY_RIGHT
    return Member(trained.rung, index, loss, matched, right, right or nearly or everything)


def _holds_everything(trained: Trained, problem: Problem) -> bool:
    """Whether what a rung looks at may be asked for a rule however badly it fits: a window holds all that is
    near, and rows of whole numbers tell what of it is needed, and the search for rules of texts does."""
    return trained.kind == "window" and (problem.whole or bool(problem.output_categories))


def fits(trained: Trained, index: int, problem: Problem) -> bool:
    """Whether a member is right enough to be read. Of whole numbers the loss says little: of a wide range it
    is small in any case, and near thresholds on reals it cannot be."""
    if problem.integer_outputs:
        return trained.accuracies[index] >= MOSTLY_RIGHT
    return trained.losses[index] <= PROMISING


def fit_of(graph: DiscreteGraph, problem: Problem) -> tuple[float, float]:
    """The hard loss of a network on the validation sequences, and the share of outputs that round right."""
    sequences = problem.validation
    with np.errstate(all="ignore"):
        errors = (graph.run(sequences) - sequences.y)[sequences.scored]
        variance = np.maximum(np.var(sequences.y[sequences.scored], axis=0), 1e-300)
        loss = float(np.mean(np.mean(errors**2, axis=0) / variance))
    return (loss if np.isfinite(loss) else 1e300), float(np.mean(np.abs(errors) < 0.5))


def whole_graph(trained: Trained, index: int, problem: Problem) -> DiscreteGraph:
    """A member as it was trained."""
    from weights2code.graph.from_model import graph_of

    return graph_of(trained.weights, index, trained.layout, problem)


def prune(graph: DiscreteGraph, problem: Problem) -> DiscreteGraph:
    """Drop what the output does not need; where the loss is noise, hardly any of it may be added."""
    if problem.regime is Regime.EXACT:
        return prune_by_effect(graph, *graph.encode(problem.validation.take(slice(0, PRUNED_ON))))
    learned = problem.training.take(slice(0, PRUNED_ON_UNDER_NOISE))
    return prune_by_effect(graph, *graph.encode(learned), NOISE_ADDED)


def structure(graph: DiscreteGraph) -> tuple[Any, ...]:
    """What two members must share to be the same explanation."""
    live = graph.live()
    nodes = [graph.nodes[index] for index in live]
    offsets = tuple(node.offset if isinstance(node, RouterNode) else None for node in nodes)
    return live, tuple(node.sources() for node in nodes), offsets
