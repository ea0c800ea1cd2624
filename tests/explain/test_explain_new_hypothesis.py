"""A hypothesis of one's own is one class: it is matched, assembled, listed and named like the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.explain import Hypothesis, match_heads
from weights2code.explain.hypotheses import HYPOTHESES
from weights2code.graph import RouterNode, shifted
from weights2code.language import Expr, Var, where
from weights2code.program import run_program
from weights2code.program.listing import listing_source
from weights2code.report.graph_drawing import graph_drawing
from weights2code.rules.assembly import Assembly


@dataclass(frozen=True, slots=True)
class NearerOfTwo(Hypothesis):
    """Of the last two values the one nearer to `goal`."""

    goal: float

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        if node.facts.seeks:
            yield from (cls(goal) for goal in (-0.25, 0.25))

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        now = values[..., node.reads["value"]]
        last = shifted(now, 1, np.inf)
        return np.where(np.abs(now - self.goal) <= np.abs(last - self.goal), now, last)

    def describe(self) -> str:
        return f"Nearer to {self.goal} of the last two"

    def offsets(self) -> tuple[int, ...]:
        return (0, 1)

    def before(self, unit: float) -> float:
        return math.inf

    def combine(self, values: Sequence[Expr], unit: float) -> Expr:
        now, last = values
        return where(abs(now - self.goal * unit) <= abs(last - self.goal * unit), now, last)


def graph_of(builder, layout: Layout):
    """y[t] is 4 times what a head gives whose score falls with the distance of the key from 0.25."""
    made = builder(layout=layout)
    reads = {"query": 0, "key": 0, "value": 0}
    made.nodes.append(
        RouterNode(
            "V1_Attn_L0H0", "pointer", reads, query_table=np.ones((9, 1)),
            key_table=-100.0 * np.abs(np.linspace(-1, 1, 9) - 0.25)[:, None],
            relative_bias=np.where(np.arange(20) < 2, 0.0, -1e6), null_score=-1e5,
        )
    )  # fmt: skip
    made.output({1: 4.0})
    return made


@pytest.fixture
def data(builder):
    made = graph_of(builder, Layout("tagging", (2.0,), (1.0,)))
    x = np.random.default_rng(0).uniform(-2, 2, (60, 10, 1))
    return made, made.problem(x, made.graph().run(made.sequences(x)))


def test_one_class_is_enough(data, monkeypatch):
    made, problem = data
    monkeypatch.setattr("weights2code.explain.routing.HYPOTHESES", [*HYPOTHESES, NearerOfTwo])
    matched = match_heads(made.graph(), problem.validation)
    assert matched.routers[1].hypothesis == NearerOfTwo(0.25)
    assert matched.routers[1].evidence is not None
    assert matched.routers[1].evidence.at_start == 1.0

    assembly = Assembly.of(matched, problem, 1.0)
    recurrence = assembly.compose()
    assert assembly.output_leaves(0) == (Var("x"), Var("x", 1))
    x = np.random.default_rng(1).uniform(-2, 2, (5, 30, 1))
    wanted = made.graph().run(made.sequences(x))
    assert np.allclose(recurrence.run(x), wanted)

    explained = matched.explain(problem, 1.0)
    text = listing_source(explained, problem)
    assert "# V1_Attn_L0H0 Nearer to 0.25 of the last two" in text
    assert np.allclose(run_program(text, [item[:, 0] for item in x]), wanted[..., 0])
    assert "Nearer to 0.25 of the last two of x[t]" in graph_drawing(explained).description
