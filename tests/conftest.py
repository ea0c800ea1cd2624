"""Shared by every test: property tests draw the same examples each time and are never judged by a clock.

One thread, as in the product: threads on small tensors wait for each other more than they compute. `Builder`
makes hand-built discrete graphs whose operators have known formulas, so that assembly can be exact.
"""

from __future__ import annotations

import os
import time

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# ruff: noqa: E402
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

#: Where shapes of arrays are annotated, every call under the tests is checked against them.
SHAPED = ("data", "model", "training", "graph")
if find_spec("triton"):  # kernels are compiled from their text, which nothing may wrap
    import weights2code.training.fused.kernels  # noqa: F401
install_import_hook([f"weights2code.{folder}" for folder in SHAPED], "beartype.beartype")

from weights2code.data import FileSource, Layout, Problem, Sequences, from_arrays
from weights2code.explain import ExplainedGraph, OperatorFit, match_heads
from weights2code.explain.operators import node_variable
from weights2code.extraction.values import Extraction
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import HeadKind
from weights2code.language import Expr, op
from weights2code.program import Program
from weights2code.results import certificate_dict
from weights2code.rules.assembly import Assembly
from weights2code.run_folder import CERTIFICATE, LATEX, PROGRAM, begin
from weights2code.settings import Settings
from weights2code.verify.certify import certify

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

#: Operators of two operands: hidden weights, hidden bias, output weights, output bias, and the formula.
OPERATORS: dict[str, tuple[Any, Any, Any, float, Any]] = {
    "distance": ([[1, -1], [-1, 1]], [0, 0], [1, 1], 0.0, lambda a, b: abs(a - b)),
    "both": ([[1, 1]], [-1], [1], 0.0, lambda a, b: op("relu", a + b - 1)),
    "minimum": ([[1, 0], [-1, 0], [1, -1]], [0, 0, 0], [1, -1, -1], 0.0, lambda a, b: op("min", a, b)),
    "opposite": ([[1, 0], [-1, 0]], [0, 0], [-1, 1], 1.0, lambda a, b: 1 - a),
    "constant": ([[0, 0]], [0], [1], 3.0, lambda a, b: 3 + 0 * a),
}


@dataclass(slots=True)
class Builder:
    """Adds nodes one by one; every method returns the index of its node."""

    inputs: tuple[str, ...] = ("x",)
    outputs: tuple[str, ...] = ("y",)
    layout: Layout = field(default_factory=lambda: Layout("tagging", (1.0,), (1.0,)))
    length: int = 10
    nodes: list[Node] = field(default_factory=list)
    formulas: dict[int, OperatorFit] = field(default_factory=dict)
    rows: list[dict[int, float]] = field(default_factory=list)
    intercepts: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for index, label in enumerate(self.layout.channel_names(self.inputs, self.outputs)):
            self.nodes.append(ChannelNode(f"V{index}_input", label))

    def start(self, channel: int, value: float) -> None:
        """What a past output is before the start, in the units of the stream."""
        node = self.nodes[channel]
        assert isinstance(node, ChannelNode)
        self.nodes[channel] = ChannelNode(node.name, node.label, value)

    def head(self, kind: HeadKind, value: int, offset: int | None = None, start: float = 0.0) -> int:
        name = f"V{len(self.nodes)}_Attn_L0H0"
        self.nodes.append(RouterNode(name, kind, {"value": value}, offset, start))
        return len(self.nodes) - 1

    def lag(self, value: int, offset: int | None, start: float = 0.0) -> int:
        return self.head("location", value, offset, start)

    def lookup(self, query: int, key: int, value: int, gap: int = 1) -> int:
        bias = np.where(np.arange(8) < gap, -1e6, 0.0)
        reads = {"query": query, "key": key, "value": value}
        name = f"V{len(self.nodes)}_Attn_L0H0"
        self.nodes.append(RouterNode(name, "equality", reads, relative_bias=bias, null_score=-10.0))
        return len(self.nodes) - 1

    def extremum(self, value: int, window: int, largest: bool = True) -> int:
        """A pointer head that finds the largest or smallest of the last values."""
        slope = 1000.0 if largest else -1000.0
        bias = np.where(np.arange(12) < window, 0.0, -1e6)
        self.nodes.append(
            RouterNode(
                f"V{len(self.nodes)}_Attn_L0H0", "pointer", {"query": value, "key": value, "value": value},
                query_table=np.ones((2, 1)), key_table=np.array([[-slope], [slope]]),
                relative_bias=bias, null_score=-1e5, value_range=(-50.0, 50.0),
            )
        )  # fmt: skip
        return len(self.nodes) - 1

    def operator(self, kind: str, a: int, b: int) -> int:
        weight, bias, out, constant, formula = OPERATORS[kind]
        index = len(self.nodes)
        arrays = np.array(weight, float), np.array(bias, float), np.array(out, float)
        self.nodes.append(OperatorNode(f"V{index}_MLP_L0M0", (a, b), *arrays, constant))
        units = self._units()
        operands: list[Expr] = [
            node_variable(o) if units[o] == 1 else node_variable(o) / units[o] for o in (a, b)
        ]
        expr = formula(*operands)
        used = tuple(sorted({int(v.name[1:]) for v in expr.variables()}))
        self.formulas[index] = OperatorFit(used, expr, "formula", 0.0, 1e-9)
        return index

    def _units(self) -> list[float]:
        blank = np.zeros((1, len(self.nodes) + 1))
        graph = DiscreteGraph(tuple(self.nodes), blank, self.layout, self.inputs, self.outputs, self.length)
        return [float(unit) for unit in graph.units()]

    def output(self, weights: dict[int, float], intercept: float = 0.0) -> None:
        self.rows.append(weights)
        self.intercepts.append(intercept)

    def graph(self) -> DiscreteGraph:
        head = np.zeros((len(self.rows), len(self.nodes) + 1))
        for row, (weights, intercept) in enumerate(zip(self.rows, self.intercepts, strict=True)):
            for index, weight in weights.items():
                head[row, index] = weight
            head[row, -1] = intercept
        return DiscreteGraph(tuple(self.nodes), head, self.layout, self.inputs, self.outputs, self.length)

    def sequences(self, x: np.ndarray, y: np.ndarray | None = None) -> Sequences:
        return from_arrays(x, np.zeros((*x.shape[:2], len(self.outputs))) if y is None else y)

    def assembly(self, sequences: Sequences) -> Assembly:
        graph = self.graph()
        return Assembly(graph, match_heads(graph, sequences).routers, dict(self.formulas))

    def explained(self, sequences: Sequences) -> ExplainedGraph:
        graph = self.graph()
        live = graph.live()
        fits = {index: fit for index, fit in self.formulas.items() if index in live}
        return ExplainedGraph(graph, match_heads(graph, sequences).routers, fits)

    def problem(self, x: np.ndarray, y: np.ndarray) -> Problem:
        half = len(x) // 2
        data = from_arrays(x, y)
        domains, output_domains = data.domains()
        training, validation = data.take(slice(half, None)), data.take(slice(0, half))
        return Problem(
            "hand_built",
            self.inputs,
            self.outputs,
            domains,
            output_domains,
            training,
            validation,
            self.length,
        )


def small_integers(columns: int, seed: int = 0, low: int = 0, high: int = 4, count: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, (count, 10, columns)).astype(float)


@pytest.fixture(scope="session")
def builder() -> type[Builder]:
    return Builder


@pytest.fixture(scope="session")
def integers_of():
    return small_integers


def folder_with(path: Path, source: str | FileSource, program: Program) -> Path:
    """A run folder that holds a program, made without training: what predicts and exports needs no more."""
    certificate = certify(
        program.recurrence,
        reference=program.recurrence,
        domains=program.domains,
        length=8,
        integer_outputs=program.integer_outputs,
        time_limit=0.05,
    )
    program = program.with_verdict(certificate.words())
    with begin(path, source, Settings()) as folder:
        folder.write(PROGRAM, program.source())
        folder.write(LATEX, program.latex())
        graph: Any = None
        folder.write_json(CERTIFICATE, certificate_dict(Extraction(graph, None, program, certificate)))
    return path


@pytest.fixture(scope="session")
def made_folder() -> Callable[[Path, str | FileSource, Program], Path]:
    return folder_with


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Return as soon as the condition holds; only a test that would never end is ended by the clock."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def wait_for() -> Callable[[Callable[[], object]], None]:
    return until
