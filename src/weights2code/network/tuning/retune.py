"""Networks that are right: weights tuned until a network gives what its program gives, with a margin.

The choices stay. In float64, cheapest first: what lies before the start; the head and the output weights of
sub-MLPs that feed it directly, in which outputs are linear; all weights together; then hidden units are added
where errors remain, and last of all one sub-MLP that sees all values together that the output is computed
from. Targets are the program's outputs, past outputs given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Sequences
from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.network.tuning.growing import depends_on_growing, growing_nodes, held_apart
from weights2code.network.tuning.least_error import Search
from weights2code.network.tuning.more_units import with_operator, with_units
from weights2code.network.tuning.simpler import simpler, snapped
from weights2code.network.tuning.tuned import AIM, TOO_LARGE, Tuned, some
from weights2code.network.tuning.weights import Rows, Weights, direct_operators, past_channels

#: Effort in seconds of a usual machine.
EFFORT = 2.0
#: Rounds in which rows with the largest errors join those that are tuned on.
ROUNDS = 4
#: Steps of a descent, and how often rows are weighted anew.
STEPS = 25
REWEIGHTED = 4
#: Hidden units that are added at a time, and rows that they are chosen on.
UNITS = (4, 8, 16, 32, 64)
UNITS_CHOSEN_ON = 1000
#: Weights of the head on sub-MLPs lie between this and its inverse.
UNEVEN = 30.0
#: A network is changed if its largest error falls to this share at least.
NOTICEABLE = 0.97
#: What one descent may take of the effort that is left.
SHARE = 0.25
#: A change of what there is must lower the largest error to this share.
WORTH = 0.8
#: What the error of a real output may be larger by if what grows is held apart.
HELD = 2.0
#: Positions that starts are looked for on.
MOST_START_ROWS = 1500


def retuned(
    graph: DiscreteGraph, sequences: Sequences, *, whole: bool, effort: float = EFFORT, seed: int = 0
) -> DiscreteGraph:
    """The graph with weights whose largest error on the sequences is as small as can be had.

    Parameters
    ----------
    sequences : inputs with the program's outputs, which are also what the network is given as its past.
    whole : whether outputs are whole numbers; else errors count as shares of the outputs' scale.
    effort : in seconds of a usual machine.

    A graph whose errors are small enough is given back as it is, as is one that nothing makes better.
    """
    given = Tuned.of(graph, sequences, whole)
    growing = growing_nodes(graph, sequences)
    loose = bool(growing) and depends_on_growing(graph, growing)
    good = given.worst <= (AIM[whole] if whole or given.linear else TOO_LARGE[whole])
    if not np.isfinite(given.worst):
        return graph
    if good and not loose:
        return snapped(given).graph
    best, held, rng = given, None, np.random.default_rng(seed)
    fine = AIM[whole] if whole else TOO_LARGE[whole]
    if growing and (loose or not whole):
        held = _improved(held_apart(given, growing), Effort(effort / 2), rng)
    if held is not None and held.worst <= fine:
        best = held
    elif not good:
        best = _improved(given, Effort(effort / 2), rng)
        if held is None and growing and depends_on_growing(best.graph, growing):
            held = _improved(held_apart(given, growing), Effort(effort / 2), rng)
        if held is not None and held.worst <= (TOO_LARGE[whole] if whole else HELD * best.worst):
            best = held
    if not (loose and best.growing) and best.worst > NOTICEABLE * given.worst:
        return snapped(given).graph
    if whole and best.worst >= 0.5:
        return graph  # one that is wrong somewhere had better be right as often as it was
    best = simpler(best, Effort(effort / 2))
    if best.linear:
        best = best.better(_with_starts(best, Effort(effort / 2)), WORTH)
    return snapped(best).graph


def _improved(tuned: Tuned, left: Effort, rng: np.random.Generator) -> Tuned:
    """Everything that is tried, cheapest first, until errors are small enough."""
    whole = tuned.whole
    best = tuned.better(_with_starts(tuned, left), WORTH)
    best = best.better(_settled(best, left))
    best = _with_more_units(best, left, rng)
    if best.worst > TOO_LARGE[whole]:
        wider = with_operator(best.graph, best.rows, whole=whole)
        if wider is not None:
            wider = best.other(wider)
            if best.growing:
                wider = held_apart(wider, best.growing)
            best = best.better(_with_more_units(wider, left, rng), WORTH)
    if best.worst > TOO_LARGE[whole] and best.operators != "all" and not left.spent():
        best = best.better(_settled(best.other(best.graph, "all"), left))
    return best


def _settled(tuned: Tuned, whole_effort: Effort, share: float = SHARE) -> Tuned:
    """All weights tuned: on some rows first, then with those that turn out worst."""
    best = current = tuned.with_weights(_even(tuned.graph))
    effort = Effort(share * whole_effort.left)
    whole_effort.spend(effort.left)
    enough, most = tuned.enough, tuned.most_rows()
    chosen = tuned.first_rows(most)
    for turn in range(ROUNDS):
        search = current.search(chosen, effort)
        search.solve_largest(0.0 if tuned.growing else enough)
        if search.weights.moving and (turn or len(chosen) == len(tuned.rows.values)):
            search.descend(enough, STEPS, REWEIGHTED)
        current = current.with_weights(search.weights.with_vector(search.vector))
        best = best.better(current)
        if best.worst <= enough or effort.spent() or (turn and current.worst <= 1.1 * search.worst):
            break
        errors = current.errors()
        worst = np.argsort(-errors, kind="stable")[: max(most // 4, 1)]
        chosen = np.union1d(chosen, worst)
    whole_effort.spend(-effort.left)  # what is left is given back
    return best


def _even(graph: DiscreteGraph) -> DiscreteGraph:
    """The same network; where the head weighs a sub-MLP far from 1, the sub-MLP does so itself."""
    nodes, head = list(graph.nodes), graph.head.copy()
    for index in direct_operators(graph):
        size, node = float(np.abs(head[:, index]).max()), nodes[index]
        assert isinstance(node, OperatorNode)
        if not 1 / UNEVEN < size < UNEVEN:
            head[:, index] /= size
            weight, bias = node.output_weight * size, node.output_bias * size
            nodes[index] = replace(node, output_weight=weight, output_bias=bias)
    return replace(graph, nodes=tuple(nodes), head=head)


def _with_more_units(tuned: Tuned, effort: Effort, rng: np.random.Generator) -> Tuned:
    """Hidden units where errors are too large for a network that could be right."""
    best, current = tuned, tuned
    for count in UNITS:
        if best.worst <= best.too_large or effort.spent():
            break
        most = max(min(current.most_rows(), UNITS_CHOSEN_ON // current.rows.values.shape[1]), 1)
        errors = current.errors()
        worst = np.argsort(-errors, kind="stable")[: max(most // 4, 1)]
        search = current.search(np.union1d(some(len(errors), most), worst), effort)
        grown = with_units(current.graph, search, count, rng)
        if grown is current.graph:
            break
        current = _settled(current.with_weights(grown), effort)
        best = best.better(current, WORTH)
    return best


def _with_starts(tuned: Tuned, effort: Effort) -> Tuned | None:
    """Other numbers before the start, where the first positions are what is wrong."""
    graph, sequences = tuned.graph, tuned.sequences
    channels, wanted, scored = graph.encode(sequences)
    rows = Rows(graph.stream(channels), wanted, scored)
    starts = [
        graph.nodes[i]
        for i in graph.live()
        if i in past_channels(graph) or getattr(graph.nodes[i], "kind", None) == "location"
    ]
    reach = max([1, *(getattr(node, "offset", None) or 0 for node in starts)])
    if not starts or reach >= rows.values.shape[1]:
        return None
    chosen = some(len(wanted), max(MOST_START_ROWS // wanted.shape[1], 1))
    weights = Weights.of(graph, "none", starts=True)
    search = Search.of(weights, rows.take(chosen), tuned.units, effort)
    search.descend(tuned.enough, STEPS, REWEIGHTED, search.weights.of_parts("start", "head"))
    return tuned.other(search.weights.with_vector(search.vector))
