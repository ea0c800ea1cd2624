"""The extracted graph as the paper lists it: one variable a node, then the output head.

This is the form before simplification (paper, section "Global Program Assembly" and the figures that show
programs). Nodes are plain values with their meaning in NumPy, so that the text of `raw_source` can be
checked against something that is not text.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from weights2code.graph.graph import encode
from weights2code.heads import RECENCY, Relation
from weights2code.language import Expr, Var, evaluate

Kind = Literal[
    "input",
    "offset",
    "extremum",
    "retrieval",
    "seek",
    "mean",
    "sum",
    "running",
    "count",
    "formula",
    "table",
    "piecewise",
]
#: A unit of a sub-MLP: factor * relu(weights times what it reads + bias).
Unit = tuple[float, tuple[float, ...], float]
Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a position fits what a head seeks: by what it holds, and by how far back it lies.

    Parameters
    ----------
    bias : by offset; the last one holds for all that lie further back.
    null : a position must score as much as this to be taken at all.
    pairs : (query, key, score) for every pair that can occur; else the two are scored as they come:
    sharpness : minus this times the squared distance, and newer positions a little higher; or, if that is 0,
    corners : a table of scores, queries down and keys across, evenly over `spans`; linear in between.
    units : what query and key are divided by before their distance is taken.
    """

    bias: tuple[float, ...]
    null: float
    pairs: Rows = ()
    sharpness: float = 0.0
    corners: Rows = ()
    spans: tuple[tuple[float, float], tuple[float, float]] = ((-1.0, 1.0), (-1.0, 1.0))
    units: tuple[float, float] = (1.0, 1.0)

    def of(self, query: float, keys: np.ndarray) -> np.ndarray:
        """The scores of the positions 0..t, whose keys these are, at position t."""
        back = np.arange(len(keys) - 1, -1, -1)
        bias = np.array(self.bias)[np.minimum(back, len(self.bias) - 1)]
        if self.pairs:
            known = {(pair[0], pair[1]): pair[2] for pair in self.pairs}
            return np.array([known[query, key] for key in keys]) + bias
        if self.sharpness:
            query, keys = query / self.units[0], keys / self.units[1]
            return -self.sharpness * (query - keys) ** 2 - RECENCY * back + bias
        row = encode(np.asarray(query, float), np.array(self.corners), self.spans[0])
        return encode(keys, row[:, None], self.spans[1])[:, 0] + bias


@dataclass(frozen=True, slots=True)
class RawNode:
    """One variable of the residual stream.

    Parameters
    ----------
    name : as in the paper: `V0_input`, `V1_Attn_L0H0`, `V3_MLP_L0M0`.
    kind :
        `input`: column `column` of the sequence, or, if `output` is given, that output one step back
        (`start` at the first position).
        `offset`: what `reads[0]` was `offset` steps ago, else `start`.
        `extremum`: the largest (`largest`) or smallest of the last `window` values of `reads[0]`; a window
        of None means all so far; if `padded`, zeros lie before the start.
        `retrieval`: `reads` is (key, value, query); the value at the last position, at least `offset`
        steps ago, whose key equals the query now, else `start`; positions more than `window` steps ago do
        not count.
        `seek`: `reads` is (key, value, query); the value at the position with the highest of `scores`, the
        oldest of several, 0 if none reaches the score of nothing.
        `mean`, `sum`: of all values of `reads[0]` so far.
        `running`: `formula` of `reads[0]` and of the node itself one step back, `start` at first.
        `count`: `reads` is (key, value); how many keys so far compare with the value now by `relation`.
        `formula`: an expression whose variables are the names of nodes.
        `table`: `rows` hold the values of `reads` and then the node's own, for all that can occur.
        `piecewise`: `slope` times the values of `reads`, plus `start`, plus the hinges `units`.
    comment : further words for the listing.
    """

    name: str
    kind: Kind
    reads: tuple[str, ...] = ()
    column: int = 0
    output: int | None = None
    offset: int = 0
    window: int | None = None
    largest: bool = True
    padded: bool = False
    start: float = 0.0
    relation: Relation = "lt"
    formula: Expr | None = None
    scores: Scores | None = None
    rows: Rows = ()
    slope: tuple[float, ...] = ()
    units: tuple[Unit, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class RawProgram:
    """Nodes in order of computation and one row of head weights an output.

    `head[j]` maps node names to weights, `bias[j]` is added (zero if left out). With `round_feedback` the
    outputs are rounded before they are fed back, as integer tasks are judged.
    """

    name: str
    nodes: tuple[RawNode, ...]
    head: tuple[Mapping[str, float], ...]
    bias: tuple[float, ...] = ()
    round_feedback: bool = False
    columns: int = field(init=False)

    def __post_init__(self) -> None:
        own = [node.column for node in self.nodes if node.kind == "input" and node.output is None]
        object.__setattr__(self, "columns", max(own, default=0) + 1)
        known: set[str] = set()
        for node in self.nodes:
            for read in reads_of(node):
                if read not in known:
                    raise ValueError(f"{node.name} reads {read}, which is not computed before it")
            known.add(node.name)
        for row in self.head:
            for name in row:
                if name not in known:
                    raise ValueError(f"the output head reads {name}, which no node defines")

    @property
    def feeds_back(self) -> bool:
        """Whether some node reads an earlier output, so that positions must be computed one by one."""
        return any(node.output is not None for node in self.nodes)

    def bias_of(self, output: int) -> float:
        """What the head adds to one output."""
        return self.bias[output] if self.bias else 0.0

    def run(self, x: Any, past: np.ndarray | None = None) -> np.ndarray:
        """The outputs, shape (T, outputs), for one sequence (T,) or (T, columns).

        Free-running; if the right outputs are given as `past`, those are fed back, as in training.
        """
        x = np.asarray(x, dtype=float).reshape(-1, self.columns)
        length = len(x)
        values = {node.name: np.zeros(length) for node in self.nodes}
        outputs = np.zeros((length, len(self.head)))
        fed_back = outputs if past is None else past
        for t in range(length):
            for node in self.nodes:
                values[node.name][t] = self._at(node, values, fed_back, x, t)
            for j, row in enumerate(self.head):
                outputs[t, j] = sum(w * values[n][t] for n, w in row.items()) + self.bias_of(j)
        return outputs

    def _at(
        self, node: RawNode, values: Mapping[str, np.ndarray], outputs: np.ndarray, x: np.ndarray, t: int
    ) -> float:
        if node.kind == "input" and node.output is None:
            return x[t, node.column]
        if node.kind == "input":
            last = float(outputs[t - 1, node.output]) if t else node.start
            return float(np.round(last)) if t and self.round_feedback else last
        if node.kind == "formula":
            assert node.formula is not None
            return float(evaluate(node.formula, {v: values[v.name][t] for v in node.formula.variables()}))
        if node.kind == "table":
            now = tuple(values[name][t] for name in node.reads)
            return next(row[-1] for row in node.rows if row[:-1] == now)
        if node.kind == "piecewise":
            reads = np.array([values[name][t] for name in node.reads])
            hinges = (factor * max(reads @ weights + bias, 0.0) for factor, weights, bias in node.units)
            return float(reads @ np.array(node.slope) + node.start + sum(hinges))
        if node.kind == "seek":
            assert node.scores is not None
            key, value, query = (values[name] for name in node.reads)
            scores = node.scores.of(query[t], key[: t + 1])
            best = int(np.argmax(scores))
            return value[best] if scores[best] >= node.scores.null else 0.0
        if node.kind == "retrieval":
            key, value, query = (values[name] for name in node.reads)
            oldest = 0 if node.window is None else max(t - node.window, 0)
            for s in range(t - node.offset, oldest - 1, -1):
                if key[s] == query[t]:
                    return value[s]
            return node.start
        source = values[node.reads[0]]
        if node.kind == "running":
            assert node.formula is not None
            last = values[node.name][t - 1] if t else node.start
            return float(evaluate(node.formula, {Var(node.name, 1): last, Var(node.reads[0]): source[t]}))
        if node.kind == "count":
            return float(getattr(operator, node.relation)(source[: t + 1], values[node.reads[1]][t]).sum())
        if node.kind == "offset":
            return source[t - node.offset] if t >= node.offset else node.start
        if node.kind == "extremum":
            first = 0 if node.window is None else max(0, t + 1 - node.window)
            best = float((np.max if node.largest else np.min)(source[first : t + 1]))
            if node.padded and node.window is not None and t + 1 < node.window:
                return max(best, 0.0) if node.largest else min(best, 0.0)
            return best
        return float((np.mean if node.kind == "mean" else np.sum)(source[: t + 1]))


def reads_of(node: RawNode) -> tuple[str, ...]:
    """The names of the nodes that a node reads."""
    if node.kind == "formula":
        if node.formula is None:
            raise ValueError(f"{node.name} is a formula node without a formula")
        if any(variable.lag for variable in node.formula.variables()):
            raise ValueError(f"the formula of {node.name} reads the past; give that an offset node")
        return tuple(variable.name for variable in node.formula.variables())
    return node.reads
