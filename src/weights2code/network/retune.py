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
from weights2code.graph import DiscreteGraph, OperatorNode, RouterNode
from weights2code.network.least_error import LARGEST, Search
from weights2code.network.more_units import with_operator, with_units
from weights2code.network.weights import (
    Groups,
    Rows,
    Weights,
    Which,
    direct_operators,
    past_channels,
    steady,
)

#: The largest error that is aimed at: of a whole number, and of a real one as a share of its usual size.
AIM = {True: 0.05, False: 1e-6}
#: Errors that are worth more hidden units, or a sub-MLP more.
TOO_LARGE = {True: 0.3, False: 1e-4}
#: Effort in seconds of a usual machine.
EFFORT = 2.0
#: Digits in which rows differ.
SAME = 11
#: Rows that are tuned on at once, and rounds in which those with the largest errors join.
MOST_ROWS = 3000
ROWS_A_WEIGHT = 8
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
#: Digits of round numbers, and how near to one a weight must be.
ROUND_DIGITS = 6
NEARLY_ROUND = 1e-7
#: A value grows if it is so much larger in the last third of a sequence than in the middle.
GROWTH = 1.2
#: What the error of a real output may be larger by if what grows is held apart.
HELD = 2.0
#: A weight of the head that is to be solved for.
UNREAD = 1e-9
#: Leaving something out may raise the largest error by this factor.
SLACK = 1.05
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
    loose = bool(growing) and _depends_on(graph, growing)
    good = given.worst <= (AIM[whole] if whole or given.linear else TOO_LARGE[whole])
    if not np.isfinite(given.worst):
        return graph
    if good and not loose:
        return _snapped(given).graph
    best, held, rng = given, None, np.random.default_rng(seed)
    fine = AIM[whole] if whole else TOO_LARGE[whole]
    if growing and (loose or not whole):
        held = _improved(_held(given, growing), Effort(effort / 2), rng)
    if held is not None and held.worst <= fine:
        best = held
    elif not good:
        best = _improved(given, Effort(effort / 2), rng)
        if held is None and growing and _depends_on(best.graph, growing):
            held = _improved(_held(given, growing), Effort(effort / 2), rng)
        if held is not None and held.worst <= (TOO_LARGE[whole] if whole else HELD * best.worst):
            best = held
    if not (loose and best.growing) and best.worst > NOTICEABLE * given.worst:
        return _snapped(given).graph
    if whole and best.worst >= 0.5:
        return graph  # one that is wrong somewhere had better be right as often as it was
    best = _simpler(best, Effort(effort / 2))
    if best.linear:
        best = best.better(_with_starts(best, Effort(effort / 2)), WORTH)
    return _snapped(best).graph


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
                wider = _held(wider, best.growing)
            best = best.better(_with_more_units(wider, left, rng), WORTH)
    if best.worst > TOO_LARGE[whole] and best.operators != "all" and not left.spent():
        best = best.better(_settled(best.other(best.graph, "all"), left))
    return best


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """A graph, what it is tuned on, and its largest error there, in `units` of the scaled outputs."""

    graph: DiscreteGraph
    sequences: Sequences
    whole: bool
    operators: Which
    rows: Rows
    units: np.ndarray
    worst: float
    largest_weight: float
    growing: Groups = ()

    @staticmethod
    def of(graph: DiscreteGraph, sequences: Sequences, whole: bool, operators: Which | None = None) -> Tuned:
        """Where heads read what sub-MLPs give, positions hang together, which costs: then only those that
        feed the head alone are tuned, unless told otherwise."""
        rows = rows_of(graph, sequences, operators := operators or _operators(graph))
        units = units_of(graph, whole)
        largest = max(LARGEST, 10.0 * float(np.abs(Weights.of(graph).vector()).max()))
        made = Tuned(graph, sequences, whole, operators, rows, units, np.inf, largest)
        return made.with_weights(graph)

    def search(self, chosen: np.ndarray, effort: Effort) -> Search:
        """The weights under way, on some of the rows."""
        weights = Weights.of(self.graph, self.operators, growing=self.growing)
        return Search.of(weights, self.rows.take(chosen), self.units, effort, self.largest_weight)

    def other(self, graph: DiscreteGraph, operators: Which | None = None) -> Tuned:
        """Another graph on the same sequences; one with other nodes has other rows."""
        made = Tuned.of(graph, self.sequences, self.whole, operators)
        return replace(made, largest_weight=self.largest_weight, growing=self.growing)

    @property
    def linear(self) -> bool:
        """Whether there are no sub-MLPs, so that tuning costs nothing and may be as exact as can be."""
        return not any(isinstance(self.graph.nodes[index], OperatorNode) for index in self.graph.live())

    @property
    def enough(self) -> float:
        """The largest error that tuning ends at."""
        return 0.0 if self.linear else AIM[self.whole]

    @property
    def too_large(self) -> float:
        """An error that is worth more hidden units: any, where it would grow with the values."""
        return NEARLY_ROUND if self.growing and self.whole else TOO_LARGE[self.whole]

    def most_rows(self) -> int:
        """Rows, or sequences, that are enough for so many weights."""
        weights = Weights.of(self.graph, self.operators)
        return max(min(MOST_ROWS, ROWS_A_WEIGHT * weights.size) // self.rows.values.shape[1], 1)

    def first_rows(self, most: int) -> np.ndarray:
        """Rows evenly spread over all, and those with the least or largest of some value."""
        flat = self.rows.values[:, -1]
        return np.unique([*_some(len(flat), most), *flat.argmax(0), *flat.argmin(0)])

    def with_weights(self, graph: DiscreteGraph) -> Tuned:
        """The same nodes with other weights."""
        changed = replace(self, graph=graph)
        return replace(changed, worst=float(changed.errors().max(initial=0.0)))

    def errors(self) -> np.ndarray:
        """The largest error of each row, or sequence; infinite where it is no number."""
        weights = Weights.of(self.graph, self.operators)
        with np.errstate(all="ignore"):
            errors = np.abs(weights.outputs(weights.vector(), self.rows) - self.rows.wanted) / self.units
        errors = np.where(self.rows.scored[..., None], errors, 0.0)
        return np.nan_to_num(errors, nan=np.inf, posinf=np.inf).max(axis=(1, 2))

    def better(self, other: Tuned | None, share: float = 1.0) -> Tuned:
        """The other, if its largest error is below a share of this one's."""
        return other if other is not None and other.worst < share * self.worst else self


def units_of(graph: DiscreteGraph, whole: bool) -> np.ndarray:
    """What counts as an error of 1 of each scaled output: one of the user's units, or the usual size."""
    scales = np.array(graph.layout.output_scales)
    return 1.0 / scales if whole else np.ones_like(scales)


def rows_of(graph: DiscreteGraph, sequences: Sequences, operators: Which) -> Rows:
    """What the graph computes from. Where no head reads what may change, positions have nothing to do with
    each other: each different one is a row of its own."""
    channels, wanted, scored = graph.encode(sequences)
    values = graph.stream(channels)
    if _reads_operators(graph, operators):
        return Rows(values, wanted, scored)
    moving = Weights.of(graph, operators).moving
    settled = [index for index in graph.live() if index not in moving]
    flat = np.concatenate([values[scored][:, settled], wanted[scored]], 1)
    size = np.maximum(np.abs(flat).max(axis=0, initial=0.0), 1e-300)
    _, kept = np.unique(np.round(flat / size, SAME), axis=0, return_index=True)
    kept.sort()
    return Rows(values[scored][kept][:, None], wanted[scored][kept][:, None], np.ones((len(kept), 1), bool))


def _operators(graph: DiscreteGraph) -> Which:
    return "direct" if _reads_operators(graph, "all") else "all"


def _reads_operators(graph: DiscreteGraph, operators: Which) -> bool:
    """Whether a head reads what may change, so that a position depends on others."""
    return any(isinstance(graph.nodes[index], RouterNode) for index in Weights.of(graph, operators).moving)


# -- weights -------------------------------------------------------------------------------------------------


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


def _some(count: int, most: int) -> np.ndarray:
    """Rows evenly spread over all of them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def _with_more_units(tuned: Tuned, effort: Effort, rng: np.random.Generator) -> Tuned:
    """Hidden units where errors are too large for a network that could be right."""
    best, current = tuned, tuned
    for count in UNITS:
        if best.worst <= best.too_large or effort.spent():
            break
        most = max(min(current.most_rows(), UNITS_CHOSEN_ON // current.rows.values.shape[1]), 1)
        errors = current.errors()
        worst = np.argsort(-errors, kind="stable")[: max(most // 4, 1)]
        search = current.search(np.union1d(_some(len(errors), most), worst), effort)
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
    chosen = _some(len(wanted), max(MOST_START_ROWS // wanted.shape[1], 1))
    weights = Weights.of(graph, "none", starts=True)
    search = Search.of(weights, rows.take(chosen), tuned.units, effort)
    search.descend(tuned.enough, STEPS, REWEIGHTED, search.weights.of_parts("start", "head"))
    return tuned.other(search.weights.with_vector(search.vector))


# -- values that grow ----------------------------------------------------------------------------------------


def growing_nodes(graph: DiscreteGraph, sequences: Sequences) -> Groups:
    """Past outputs and sums whose size grows with the position, each with its copies at other times.

    What a sub-MLP makes of them is right in the range that was seen at most. What grows should be added up by
    the head, and sub-MLPs should see differences only.
    """
    channels, _, scored = graph.encode(sequences)
    size = np.where(scored[..., None], np.abs(graph.stream(channels)), 0.0).max(axis=0, initial=0.0)
    third = len(size) // 3
    if not third or graph.layout.name == "concat":
        return ()
    grows = size[-third:].max(axis=0) > GROWTH * np.maximum(size[third : 2 * third].max(axis=0), 1e-300)
    groups: dict[int, set[int]] = {}
    for index, node in enumerate(graph.nodes):
        if isinstance(node, RouterNode) and node.kind == "location":
            base = node.reads["value"]
            if base in groups:
                groups[base].add(index)
        elif grows[index] and (
            index in past_channels(graph) or (isinstance(node, RouterNode) and node.kind == "sum")
        ):
            groups[index] = {index}
    return tuple(frozenset(group) for group in groups.values())


def _depends_on(graph: DiscreteGraph, growing: Groups) -> bool:
    """Whether a sub-MLP that feeds the head changes with what grows."""
    for index in direct_operators(graph):
        node = graph.nodes[index]
        assert isinstance(node, OperatorNode)
        changed = node.hidden_weight @ (np.eye(len(node.operands)) - steady(node, growing))
        if np.abs(changed).max(initial=0.0) > 1e-9 * np.abs(node.hidden_weight).max(initial=0.0):
            return True
    return False


def _held(tuned: Tuned, growing: Groups) -> Tuned:
    """The graph with what grows read by the head, and seen by its sub-MLPs in differences only."""
    graph = tuned.graph
    nodes, head, live = list(graph.nodes), graph.head.copy(), graph.live()
    for index in direct_operators(graph):
        node = nodes[index]
        assert isinstance(node, OperatorNode)
        kept, used = steady(node, growing), node.hidden_weight.any(0)
        weight = node.hidden_weight @ kept
        weight[np.abs(weight) <= 1e-12 * np.abs(weight).max(initial=0.0)] = 0.0
        lost = used & ~weight.any(0)
        weight[0] += kept @ np.where(
            lost, np.arange(1.0, weight.shape[1] + 1), 0.0
        )  # differences can be seen still
        nodes[index] = replace(node, hidden_weight=weight)
    read = [index for group in growing for index in group if index in live]
    head[:, read] = np.where(head[:, read] == 0, UNREAD, head[:, read])
    return replace(tuned.other(replace(graph, nodes=tuple(nodes), head=head)), growing=growing)


# -- what is not needed --------------------------------------------------------------------------------------


def _simpler(tuned: Tuned, effort: Effort) -> Tuned:
    """Without what the head and the sub-MLPs that feed it read and do not need: it would only do harm where
    values are larger than any that were seen. Sums grow for ever, so they go first."""
    best, most = tuned, max(AIM[tuned.whole], SLACK * tuned.worst)
    chosen = _some(len(tuned.rows.values), tuned.most_rows())
    for reader, place in _reads(tuned.graph):
        if effort.spent():
            break
        graph = _unread(best.graph, reader, place)
        if graph is None:
            continue
        search = best.with_weights(graph).search(chosen, effort)
        search.solve_largest(0.0 if best.linear or best.growing else most)
        without = best.with_weights(search.weights.with_vector(search.vector))
        if without.worst <= most:
            best = without
    return best


def _reads(graph: DiscreteGraph) -> list[tuple[int | None, int]]:
    """Who reads what: the head (None) a node, or a sub-MLP that feeds it the operand at some place."""
    found: list[tuple[int | None, int, int]] = [
        (None, int(i), int(i))
        for i in np.flatnonzero(np.any(graph.head[:, :-1] != 0, axis=0))
        if not isinstance(graph.nodes[i], OperatorNode)
    ]
    for index in direct_operators(graph):
        node = graph.nodes[index]
        found += [(index, place, source) for place, source in enumerate(node.sources())]

    def order(item: tuple[int | None, int, int]) -> tuple[bool, bool, int]:
        node = graph.nodes[item[2]]
        summed = isinstance(node, RouterNode) and node.kind == "sum"
        return not summed, item[0] is not None, -item[2]

    return [(reader, place) for reader, place, _ in sorted(found, key=order)]


def _unread(graph: DiscreteGraph, reader: int | None, place: int) -> DiscreteGraph | None:
    """The graph in which somebody does not read something; None if nobody did."""
    if reader is None:
        head = graph.head.copy()
        head[:, place] = 0.0
        return replace(graph, head=head)
    node = graph.nodes[reader]
    assert isinstance(node, OperatorNode)
    weight = node.hidden_weight.copy()
    weight[:, place] = 0.0
    if not weight.any() or not node.hidden_weight[:, place].any():
        return None
    nodes = (*graph.nodes[:reader], replace(node, hidden_weight=weight), *graph.nodes[reader + 1 :])
    return replace(graph, nodes=nodes)


def _snapped(tuned: Tuned) -> Tuned:
    """Weights with which the head reads what was given, and not what a sub-MLP made of it, that are all but
    round numbers in the user's units are those numbers: then no error grows with the values."""
    graph = tuned.graph
    operators = [isinstance(node, OperatorNode) for node in graph.nodes]
    scale = np.array(graph.layout.output_scales)[:, None] / np.append(graph.units(), 1.0)
    plain = graph.head * scale
    round_numbers = np.round(plain, ROUND_DIGITS)
    near = np.abs(plain - round_numbers) <= NEARLY_ROUND * np.maximum(1.0, np.abs(plain))
    near[:, np.append(operators, any(operators))] = False
    head = np.where(near, round_numbers / scale, graph.head)
    if np.array_equal(head, graph.head):
        return tuned
    snapped = tuned.with_weights(replace(graph, head=head))
    return snapped if snapped.worst <= max(tuned.worst, NEARLY_ROUND) else tuned
