"""States from rows: prefixes after which everything that was seen goes on alike are one state.

AALpy does it: a tree of all prefixes is folded, from the start on, wherever nothing contradicts (RPNI).
That takes the first that may be one. Of few rows better machines come of the pairs with the most evidence
(EDSM), which takes longer. Labels may be wrong now and then. Then the tree is one of inputs alone, with the
labels counted, and two prefixes are one state if what contradicts is no more than mistakes of some share
would be; again the pairs with the most evidence are, and most labels decide what a state answers.
"""

from __future__ import annotations

import warnings
from math import sqrt
from typing import Any

import numpy as np

from weights2code.data import Sequences
from weights2code.effort import charge, time_is_up
from weights2code.memory.machine import NOWHERE, Machine

#: Seconds of a usual machine: a pair of prefixes that is compared, a prefix that a merge looks at, a row, a
#: count of a symbol beside another's.
COMPARED, LOOKED_AT, ROW, COUNTED = 1.5e-6, 1.5e-5, 8e-6, 5e-9
#: Machines with more states than this are given up: they are tables of the rows, or no machines.
MOST_STATES = 64
#: Rows that states are merged from, at most.
MOST_ROWS = 20_000
#: Prefixes that merges by evidence look at in all: of labels that follow no machine there is no end.
MOST_LOOKED_AT = 150_000
#: Pairs of prefixes that are compared where nothing may contradict.
MOST_COMPARED = 250_000
#: Symbols that may be alike, at most; labels that are counted with those around them; standard errors from
#: which on symbols differ in them.
MOST_ALIKE, FEW_LABELS, UNLIKE = 500, 12, 5.0
#: Contradictions that a merge may have, in standard errors above the share of mistakes; and what each counts
#: against it.
STANDARD_ERRORS = 2.0
AGAINST = 8


class _TooMany(Exception):
    """More states than are worth having, or no end to looking for them."""


def merged(sequences: Sequences, mistakes: float | None = None, *, alike: bool = False) -> Machine | None:
    """The machine that the sequences, each from its true start, fold into; None if that has too many states,
    or none is exact.

    With `mistakes` by the most evidence, and at most that share of the labels, or about that, may be wrong.
    Inputs that are `alike`, since nothing that comes with them tells them apart, may be taken for one.
    """
    from aalpy.learning_algs.general_passive.GeneralizedStateMerging import run_GSM

    sequences = sequences.take(slice(0, max(1, MOST_ROWS // sequences.x.shape[1])))
    valid = sequences.valid
    symbols, read = np.unique(sequences.x[valid], axis=0, return_inverse=True)
    read, given = read.reshape(-1), np.unique(sequences.y[valid], axis=0, return_inverse=True)[1].reshape(-1)
    if alike and len(symbols) > MOST_ALIKE:
        return None
    kinds = _kinds(read, given, valid) if alike else np.arange(len(symbols))
    if alike and kinds.max() + 1 == len(symbols):
        return None
    ends = np.cumsum(sequences.lengths)[:-1]
    pairs = zip(np.split(kinds[read], ends), np.split(given, ends), strict=True)
    charge(ROW * len(given))
    traces = [list(zip(a.tolist(), b.tolist(), strict=True)) for a, b in pairs]
    options = _exactly() if mistakes is None else _by_evidence(mistakes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run_GSM(
                traces,
                output_behavior="mealy",
                transition_behavior="deterministic",
                data_format="io_traces",
                instrumentation=_few(),
                convert=False,
                **options,
            )
    except (_TooMany, ValueError):  # the latter: two sequences contradict each other
        return None
    moves = _moves(found, int(kinds.max()) + 1)[:, kinds]
    return answered(symbols, moves, sequences)


def _kinds(read: np.ndarray, given: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """A number for each symbol, the same for those that come with the same labels, before, then and after, as
    often as chance allows."""
    labels = int(given.max()) + 1
    around = np.full((valid.shape[0], valid.shape[1] + 2), labels)
    around[:, 1:-1][valid] = given
    now = around[:, 1:-1][valid]
    if labels <= FEW_LABELS:
        before, after = around[:, :-2][valid], around[:, 2:][valid]
        now = (before * (labels + 1) + now) * (labels + 1) + after
    what = np.unique(now, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((int(read.max()) + 1, int(what.max()) + 1))
    np.add.at(counts, (read, what), 1)
    kinds, found = np.zeros(len(counts), int), np.zeros((0, counts.shape[1]))
    charge(COUNTED * counts.size * len(counts))
    for symbol in np.argsort(-counts.sum(1), kind="stable"):
        own = counts[symbol]
        share = np.sqrt(found.sum(1, keepdims=True) / max(own.sum(), 1.0))
        both = own + found
        free = np.maximum((both > 0).sum(1) - 1, 1)
        apart = np.divide((own * share - found / share) ** 2, both, out=np.zeros_like(both), where=both > 0)
        excess = (apart.sum(1) - free) / np.sqrt(2 * free)
        if len(found) and excess.min() < UNLIKE:
            kinds[symbol] = int(excess.argmin())
            found[kinds[symbol]] += own
        else:
            kinds[symbol], found = len(found), np.vstack([found, own])
    return kinds


def contradicts_itself(sequences: Sequences) -> bool:
    """Whether sequences that begin alike have different labels there: no machine at all is exact."""
    begun = np.zeros(len(sequences), np.int64)
    for t in range(sequences.x.shape[1]):
        there = sequences.lengths > t
        now = np.column_stack([begun[there], sequences.x[there, t]])
        _, begun[there] = np.unique(now, axis=0, return_inverse=True)
        labels = np.column_stack([begun[there], sequences.y[there, t]])
        if len(np.unique(labels, axis=0)) > len(np.unique(begun[there])):
            return True
    return False


def _few() -> Any:
    """Ends the search at too many states, or when the user's time is up."""
    from aalpy.learning_algs.general_passive.GeneralizedStateMerging import Instrumentation

    class Few(Instrumentation):
        def __init__(self) -> None:
            self.states = 0

        def log_promote(self, node: Any) -> None:
            self.states += 1
            if self.states > MOST_STATES or time_is_up():
                raise _TooMany

        def log_merge(self, part: Any) -> None:
            if time_is_up():
                raise _TooMany

    return Few()


def _exactly() -> dict[str, Any]:
    """What AALpy is told so that nothing contradicts, and so that it comes to an end."""
    from aalpy.learning_algs.general_passive.GsmNode import GsmNode
    from aalpy.learning_algs.general_passive.ScoreFunctionsGSM import ScoreCalculation

    class Counted(ScoreCalculation):
        compared = 0

        def local_compatibility(self, a: GsmNode, b: GsmNode) -> bool:
            self.compared += 1
            charge(COMPARED)
            if self.compared > MOST_COMPARED:
                raise _TooMany
            return a.deterministic_compatible(b)

    return {"score_calc": Counted()}


def _by_evidence(share: float) -> dict[str, Any]:
    """What AALpy is told so that labels are counted, and need not all agree if a share may be wrong."""
    from aalpy.learning_algs.general_passive.DataHandler import CountDataHandler
    from aalpy.learning_algs.general_passive.ScoreFunctionsGSM import ScoreCalculation, SpecialScores

    class Labels(CountDataHandler):
        """A tree of inputs: all labels are the same to it, and counted."""

        def abstract(self, in_val: Any, out_val: Any) -> tuple[Any, Any]:
            return in_val, 0

        def aggregate_data(self, src_node: Any, in_value: Any, out_value: Any, dst_node: Any) -> None:
            counts = src_node.data.transition_count[in_value]
            counts[out_value] = counts.get(out_value, 0) + 1

    class Agreement(ScoreCalculation):
        """As many labels as possible that agree, and hardly any that do not."""

        looked_at = 0

        def score_function(self, part: dict[Any, Any]) -> Any:
            self.looked_at += len(part)
            charge(LOOKED_AT * len(part))
            if self.looked_at > MOST_LOOKED_AT or time_is_up():
                raise _TooMany
            before, after = list(part), {id(node): node for node in part.values()}.values()
            wrong = sum(map(_in_the_minority, after)) - sum(map(_in_the_minority, before))
            compared = sum(map(_labelled, before)) - sum(map(_labelled, after))
            likely = share * compared
            if wrong > (likely + STANDARD_ERRORS * sqrt(likely) + 1 if share else 0):
                return SpecialScores.ImmediateReject
            return compared - AGAINST * wrong

    return {"data_handler": Labels(), "score_calc": Agreement()}


def _in_the_minority(node: Any) -> int:
    """Labels of a node that most others of the same input contradict."""
    counts = node.data.transition_count.values()
    return sum(sum(labels.values()) - max(labels.values(), default=0) for labels in counts)


def _labelled(node: Any) -> int:
    """Inputs of a node that have labels: fewer after a merge by those that were compared."""
    return sum(bool(labels) for labels in node.data.transition_count.values())


def _moves(start: Any, symbols: int) -> np.ndarray:
    """AALpy's machine as an array, its states in the order in which a walk from the start comes to them."""
    number, order, moves = {id(start): 0}, [start], []
    for state in order:
        row = np.full(symbols, NOWHERE)
        for symbol in sorted(state.transitions):
            for after in state.transitions[symbol].values():
                if id(after) not in number:
                    number[id(after)] = len(number)
                    order.append(after)
                row[symbol] = number[id(after)]
        moves.append(row)
    return np.array(moves)


def answered(symbols: np.ndarray, moves: np.ndarray, sequences: Sequences) -> Machine:
    """The machine with what most rows say that it answers."""
    values, codes = np.unique(sequences.y.reshape(-1, sequences.y.shape[2]), axis=0, return_inverse=True)
    bare = Machine(symbols, moves, np.zeros((*moves.shape, values.shape[1])))
    after, before = bare.run(sequences)
    known = sequences.valid & (after != NOWHERE)
    votes = np.zeros((*moves.shape, len(values)), int)
    np.add.at(votes, (before[known], bare.symbols_of(sequences)[known], codes.reshape(known.shape)[known]), 1)
    return Machine(symbols, moves, values[votes.argmax(2)])


def times_seen(machine: Machine, sequences: Sequences) -> np.ndarray:
    """How many rows show each transition."""
    after, before = machine.run(sequences)
    known = sequences.valid & (after != NOWHERE)
    counts = np.zeros(machine.moves.shape, int)
    np.add.at(counts, (before[known], machine.symbols_of(sequences)[known]), 1)
    return counts
