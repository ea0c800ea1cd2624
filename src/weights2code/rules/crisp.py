"""One operator of a network as a variable of the program.

What an operator computes means only what its readers make of it, so its *gauge* comes off first. Its values
are merged into levels as long as the network above gives the same outputs: what no reader tells apart is one
level. Then the simplest formula of its operands is looked for that the values are a function of, whatever the
function; and the network above is asked whether it can do with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.graph import ChannelNode, DiscreteGraph
from weights2code.language import Const, Expr, Op, Var, evaluate
from weights2code.rules.assembly import Assembly
from weights2code.rules.rows import first_position, leaf_domains, sequence_values
from weights2code.symbolic.gauge import forms

#: Sequences that the network is read on, and positions in all.
SEQUENCES = 800
POSITIONS = 8000
#: An operator of more values is seen through.
MOST_OPERANDS = 6
#: Shares of the span below which neighbouring values may be one level; tried from large to small.
MERGED = (0.3, 0.2, 0.12, 0.07, 0.04, 0.02, 0.01, 0.004)
#: An operator with more levels is taken for a number without levels.
MOST_LEVELS = 64
#: One with more than this may be a number all the same.
FEW_LEVELS = 4
#: What a formula of such a number may be off by, of its span.
NEAR = 0.08
#: Share of the outputs that may be wrong in addition when an operator is replaced by what it means.
WRONG = 0.002
#: What the loss on real outputs may become.
LOOSE = 0.003


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """A network on some sequences, with the values of some operators replaced by what they mean."""

    graph: DiscreteGraph
    sequences: Sequences
    targets: np.ndarray
    scored: np.ndarray
    whole: bool
    stream: np.ndarray
    replaced: frozenset[int] = frozenset()

    @staticmethod
    def of(graph: DiscreteGraph, problem: Problem) -> Replaced:
        """The network as it is."""
        some = max(1, min(SEQUENCES, POSITIONS // problem.training.x.shape[1]))
        sequences = problem.training.take(slice(0, some))
        channels, targets, scored = graph.encode(sequences)
        stream = graph.stream(channels)
        return Replaced(graph, sequences, targets[scored], scored, problem.integer_outputs, stream)

    def with_values(self, index: int, values: np.ndarray) -> Replaced:
        """The same with other values (n, T) of one operator; what is no number is left as it was."""
        stream = self.stream.copy()
        stream[..., index] = np.where(np.isfinite(values), values, stream[..., index])
        replaced, changed = self.replaced | {index}, {index}
        for above in self.graph.live():
            node = self.graph.nodes[above]
            if not isinstance(node, ChannelNode) and above not in replaced and changed & {*node.sources()}:
                stream[..., above] = node.compute(stream)
                changed.add(above)
        return replace(self, stream=stream, replaced=replaced)

    def wrong(self) -> float:
        """How wrong the outputs are: the share of whole numbers, the loss of reals; the head is solved anew
        if that is better."""
        total, scales = 0.0, self.graph.layout.output_scales
        for row, wanted, scale in zip(self.graph.head, self.targets.T, scales, strict=True):
            used = np.flatnonzero(row[:-1])
            design = np.column_stack([self.stream[..., used][self.scored], np.ones(len(wanted))])
            solved = np.linalg.lstsq(design.T @ design, design.T @ wanted, rcond=1e-12)[0]
            heads = (row[[*used, -1]], solved)
            total += min(self._off(design @ head, wanted, scale) for head in heads)
        return total / len(self.graph.head)

    def _off(self, answer: np.ndarray, wanted: np.ndarray, scale: float) -> float:
        if self.whole:
            return float(np.mean(np.abs(answer - wanted) * scale >= 0.5))
        return float(np.mean((answer - wanted) ** 2) / max(float(np.var(wanted)), 1e-300))

    def allowed(self, now: float) -> float:
        """How wrong the outputs may become when one more operator is replaced."""
        return now + WRONG if self.whole else max(LOOSE, 4 * now)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What an operator gives for what it reads: distinct rows of operand values, and its mean value on each.

    `place` (n, T) is the row of each position; -1 before the first that has all of them.
    """

    leaves: tuple[Var, ...]
    columns: np.ndarray
    means: np.ndarray
    counts: np.ndarray
    place: np.ndarray

    @staticmethod
    def of(network: Replaced, assembly: Assembly, index: int) -> Rows | None:
        """None if there are no operands, or too many, or none of them inside the sequences."""
        leaves = tuple(dict.fromkeys(assembly.leaves(index)))
        first, (count, length, _) = first_position(assembly, leaves), network.stream.shape
        if not 0 < len(leaves) <= MOST_OPERANDS or first >= length:
            return None
        values = sequence_values(assembly, network.sequences)
        columns = [values[leaf.name][:, first - leaf.lag : length - leaf.lag].ravel() for leaf in leaves]
        rows, inverse, counts = np.unique(
            np.column_stack(columns), axis=0, return_inverse=True, return_counts=True
        )
        place = np.full((count, length), -1)
        place[:, first:] = inverse.reshape(count, -1)
        means = np.bincount(inverse.ravel(), network.stream[:, first:, index].ravel()) / counts
        return Rows(leaves, rows, means, counts, place)

    def levels(self, label: np.ndarray) -> np.ndarray:
        """The mean value of all rows with the same label."""
        total, weight = np.bincount(label, self.means * self.counts), np.bincount(label, self.counts)
        return (total / np.maximum(weight, 1))[label]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of the rows, put where the rows occur (n, T); nothing before the first position."""
        return np.append(values, np.nan)[self.place]


def meanings(
    network: Replaced, assembly: Assembly, index: int, problem: Problem, effort: float
) -> Iterator[tuple[Expr, Replaced]]:
    """What an operator may mean, simplest first, each with the network that computes with it."""
    rows = Rows.of(network, assembly, index)
    if rows is None or np.ptp(rows.means) == 0.0:
        return
    now, read = network.wrong(), dict(zip(rows.leaves, rows.columns.T, strict=True))

    def with_values(values: np.ndarray) -> Replaced:
        return network.with_values(index, rows.spread(values))

    for values, tolerance in gauges(rows, lambda values: with_values(values).wrong() <= now):
        found = forms(
            rows.columns,
            values,
            variables=rows.leaves,
            domains=leaf_domains(problem, rows.leaves, rows.columns, assembly),
            tolerance=tolerance,
            weights=rows.counts,
            effort=effort,
        )
        for form in found:
            with np.errstate(all="ignore"):
                meaning = np.broadcast_to(np.asarray(evaluate(form, read), dtype=float), len(values))
            replaced = with_values(regauged(meaning, rows))
            if replaced.wrong() <= network.allowed(now):
                yield plain(form), replaced
    if len(rows.leaves) == 1:
        yield rows.leaves[0], network


def gauges(rows: Rows, accepted: Callable[[np.ndarray], bool]) -> Iterator[tuple[np.ndarray, float | None]]:
    """The operator's values as levels, the fewest first, and as numbers with what these may be off by."""
    label = near_ones(rows, accepted)
    if label is not None:
        yield rows.levels(label), None
    if label is None or label.max() >= FEW_LEVELS:
        yield rows.means, NEAR * float(np.ptp(rows.means))


def near_ones(rows: Rows, accepted: Callable[[np.ndarray], bool]) -> np.ndarray | None:
    """A number for each row, the same for neighbours that need not be told apart; None if too many must."""
    order = np.argsort(rows.means)
    gaps, span = np.diff(rows.means[order]), float(np.ptp(rows.means))
    for share in MERGED:
        label = np.empty_like(order)
        label[order] = np.concatenate([[0], np.cumsum(gaps > share * span)])
        if label.max() >= MOST_LEVELS:
            return None
        if label.max() and accepted(rows.levels(label)):
            return label
    return None


def regauged(meaning: np.ndarray, rows: Rows) -> np.ndarray:
    """The operator's values as the function of the meaning that comes nearest to them; as a line of it if the
    meaning tells every row from every other."""
    distinct, label = np.unique(meaning, return_inverse=True)
    if len(distinct) < len(meaning):
        return rows.levels(label)
    weight = np.sqrt(rows.counts)
    design = np.column_stack([meaning, np.ones(len(meaning))])
    slope, offset = np.linalg.lstsq(design * weight[:, None], rows.means * weight, rcond=None)[0]
    return slope * meaning + offset


def plain(meaning: Expr) -> Expr:
    """The meaning without an outer offset or factor, which are a matter of gauge."""
    if isinstance(meaning, Op) and meaning.name in ("add", "sub", "mul"):
        left, right = meaning.args
        if isinstance(left, Const):
            return plain(right)
        if isinstance(right, Const):
            return plain(left)
    return meaning
