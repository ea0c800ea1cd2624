"""Networks that are right: weights tuned until a network gives what its program gives, with a margin.

The choices stay. In float64, cheapest first: what lies before the start; the head and the output weights of
sub-MLPs that feed it directly, in which outputs are linear; all weights together; then hidden units are added
where errors remain, and last of all one sub-MLP that sees all values together that the output is computed
from. Targets are the program's outputs, past outputs given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Sequences
from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph, RouterNode
from weights2code.network.least_error import Search
from weights2code.network.more_units import with_operator, with_units
from weights2code.network.weights import Rows, Weights, past_channels

#: The largest error that is aimed at: of a whole number, and of a real one as a share of the largest value.
AIM = {True: 0.05, False: 1e-6}
#: Errors that are worth more hidden units, or a sub-MLP more.
TOO_LARGE = {True: 0.3, False: 1e-4}
#: Effort in seconds of a usual machine.
EFFORT = 2.0
#: Rows that are tuned on at once, and rounds in which those with the largest errors join.
MOST_ROWS = 3000
ROUNDS = 4
#: Steps of a descent, and how often rows are weighted anew.
STEPS = 40
REWEIGHTED = 6
#: Hidden units that are added at a time.
UNITS = (4, 8, 16, 32)
#: A change of what there is must lower the largest error to this share.
WORTH = 0.8
#: Positions that starts are looked for on.
MOST_START_ROWS = 1500


def retuned(
    graph: DiscreteGraph, sequences: Sequences, *, whole: bool, effort: float = EFFORT, seed: int = 0
) -> DiscreteGraph:
    """The graph with weights whose largest error on the sequences is as small as can be had.

    Parameters
    ----------
    sequences : inputs with the program's outputs, which are also what the network is given as its past.
    whole : whether outputs are whole numbers; else errors count as shares of the largest value.
    effort : in seconds of a usual machine.

    A graph whose errors are small enough is given back as it is, as is one that nothing makes better.
    """
    best = Tuned.of(graph, sequences, whole)
    left, rng = Effort(effort), np.random.default_rng(seed)
    if best.worst <= AIM[whole]:
        return graph
    best = best.better(_with_starts(best, left), WORTH)
    best = best.better(_settled(best, left))
    best = _with_more_units(best, left, rng)
    if best.worst > TOO_LARGE[whole]:
        wider = with_operator(best.graph)
        if wider is not None:
            best = best.better(_with_more_units(best.other(wider), left, rng), WORTH)
    return best.graph


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """A graph, what it is tuned on, and its largest error there, in `units` of the scaled outputs."""

    graph: DiscreteGraph
    sequences: Sequences
    whole: bool
    rows: Rows
    units: np.ndarray
    worst: float

    @staticmethod
    def of(graph: DiscreteGraph, sequences: Sequences, whole: bool) -> Tuned:
        rows = rows_of(graph, sequences)
        units = units_of(graph, sequences, whole)
        return Tuned(graph, sequences, whole, rows, units, _worst(graph, rows, units))

    def other(self, graph: DiscreteGraph) -> Tuned:
        """Another graph on the same sequences; one with other nodes has other rows."""
        return Tuned.of(graph, self.sequences, self.whole)

    def with_weights(self, graph: DiscreteGraph) -> Tuned:
        """The same nodes with other weights."""
        return replace(self, graph=graph, worst=_worst(graph, self.rows, self.units))

    def better(self, other: Tuned | None, share: float = 1.0) -> Tuned:
        """The other, if its largest error is below a share of this one's."""
        return other if other is not None and other.worst < share * self.worst else self


def units_of(graph: DiscreteGraph, sequences: Sequences, whole: bool) -> np.ndarray:
    """What counts as an error of 1 of each scaled output: one, or the largest value."""
    scales = np.array(graph.layout.output_scales)
    if whole:
        return 1.0 / scales
    largest = np.abs(sequences.y[sequences.scored]).max(axis=0, initial=0.0)
    return np.where(largest > 0, largest, 1.0) / scales


def rows_of(graph: DiscreteGraph, sequences: Sequences) -> Rows:
    """What the graph computes from. Where no head reads what a sub-MLP gives, positions have nothing to do
    with each other: each different one is a row of its own."""
    channels, wanted, scored = graph.encode(sequences)
    values = graph.stream(channels)
    moving = Weights.of(graph).moving
    if any(isinstance(graph.nodes[index], RouterNode) for index in moving):
        return Rows(values, wanted, scored)
    settled = [index for index in graph.live() if index not in moving]
    flat = np.concatenate([values[scored][:, settled], wanted[scored]], 1)
    _, kept = np.unique(flat, axis=0, return_index=True)
    kept.sort()
    return Rows(values[scored][kept][:, None], wanted[scored][kept][:, None], np.ones((len(kept), 1), bool))


def _worst(graph: DiscreteGraph, rows: Rows, units: np.ndarray) -> float:
    return float(_errors(graph, rows, units).max(initial=0.0))


def _errors(graph: DiscreteGraph, rows: Rows, units: np.ndarray) -> np.ndarray:
    """The largest error of each row, or sequence; infinite where it is no number."""
    weights = Weights.of(graph)
    with np.errstate(all="ignore"):
        errors = np.abs(weights.outputs(weights.vector(), rows) - rows.wanted) / units
    errors = np.where(rows.scored[..., None], errors, 0.0)
    return np.nan_to_num(errors, nan=np.inf, posinf=np.inf).max(axis=(1, 2))


# -- weights -------------------------------------------------------------------------------------------------


def _settled(tuned: Tuned, effort: Effort) -> Tuned:
    """All weights tuned: on some rows first, then with those that turn out worst."""
    best, current = tuned, tuned
    enough, most = AIM[tuned.whole], max(MOST_ROWS // tuned.rows.values.shape[1], 1)
    chosen = _some(len(tuned.rows.values), most)
    for _ in range(ROUNDS):
        search = Search.of(Weights.of(current.graph), tuned.rows.take(chosen), tuned.units, effort)
        search.solve_largest(search.weights.linear(), enough)
        if search.weights.moving:
            search.descend(enough, STEPS, REWEIGHTED)
        current = current.with_weights(search.weights.with_vector(search.vector))
        best = best.better(current)
        if best.worst <= enough or effort.spent() or current.worst <= 1.1 * search.worst:
            break
        errors = _errors(current.graph, tuned.rows, tuned.units)
        worst = np.argsort(-errors, kind="stable")[: max(most // 4, 1)]
        chosen = np.union1d(chosen, worst)
    return best


def _some(count: int, most: int) -> np.ndarray:
    """Rows evenly spread over all of them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def _with_more_units(tuned: Tuned, effort: Effort, rng: np.random.Generator) -> Tuned:
    """Hidden units where errors are too large for a network that could be right."""
    best = tuned
    for count in UNITS:
        if best.worst <= TOO_LARGE[tuned.whole] or effort.spent():
            break
        most = max(MOST_ROWS // best.rows.values.shape[1], 1)
        errors = _errors(best.graph, best.rows, best.units)
        chosen = np.union1d(_some(len(errors), most), np.argsort(-errors, kind="stable")[: max(most // 4, 1)])
        search = Search.of(Weights.of(best.graph), best.rows.take(chosen), best.units, effort)
        grown = with_units(best.graph, search, count, rng)
        if grown is best.graph:
            break
        best = best.better(_settled(best.with_weights(grown), effort), WORTH)
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
    chosen = _some(len(wanted), max(MOST_START_ROWS // wanted.shape[1], 1))
    search = Search.of(Weights.of(graph, starts=True), rows.take(chosen), tuned.units, effort)
    search.descend(AIM[tuned.whole], STEPS, REWEIGHTED, search.weights.of_parts("start", "head"))
    return tuned.other(search.weights.with_vector(search.vector))
