"""A graph that is being tuned: what it is tuned on, and how large its largest error is there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Sequences
from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph, OperatorNode, RouterNode
from weights2code.network.tuning.least_error import LARGEST, Search
from weights2code.network.tuning.weights import Groups, Rows, Weights, Which

#: The largest error that is aimed at: of a whole number, and of a real one as a share of its usual size.
AIM = {True: 0.05, False: 1e-6}
#: Errors that are worth more hidden units, or a sub-MLP more.
TOO_LARGE = {True: 0.3, False: 1e-4}
#: A weight so near to a round number is it, and an error as small is none.
NEARLY_ROUND = 1e-7
#: Digits in which rows differ.
SAME = 11
#: Rows that are tuned on at once, for each weight and in all.
ROWS_A_WEIGHT = 8
MOST_ROWS = 3000


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
        return np.unique([*some(len(flat), most), *flat.argmax(0), *flat.argmin(0)])

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


def some(count: int, most: int) -> np.ndarray:
    """Rows evenly spread over all of them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))
