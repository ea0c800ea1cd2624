"""Any graph whatsoever has a listing, and it is the graph: at every length, to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.explain import ExplainedGraph
from weights2code.graph import OperatorNode, RouterNode
from weights2code.program import check_source
from weights2code.program.listing import listing_machine, listing_source

KINDS = ("location", "location", "mean", "sum", "max", "min", "pointer", "equality", "less", "same")


def any_head(rng, index):
    kind = KINDS[rng.integers(len(KINDS))]
    name, reads = f"V{index}_Attn", {"value": int(rng.integers(index))}
    if kind in ("less", "same"):
        return RouterNode(name, kind, reads | {"key": int(rng.integers(index))})
    if kind not in ("pointer", "equality"):
        offset = int(rng.integers(0, 4)) if kind == "location" and rng.random() < 0.9 else None
        return RouterNode(name, kind, reads, offset, float(rng.choice([0.0, 0.0, 1.0, rng.normal()])))
    reads |= {role: int(rng.integers(index)) for role in ("query", "key")}
    bias = rng.choice([0.0, -1e6, 3.0, rng.normal()], rng.integers(1, 6))
    size = float(rng.choice([0.0, 1.0, 30.0]))
    tables = {}
    if kind == "pointer":
        tables = {part: size * rng.normal(size=(3, 2)) for part in ("query_table", "key_table")}
    return RouterNode(name, kind, reads, relative_bias=bias, null_score=float(rng.normal() - 1), **tables)


def any_operator(rng, index):
    arity, hidden = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    operands = tuple(int(operand) for operand in rng.integers(index, size=arity))
    weight, bias = rng.normal(size=(hidden, arity)), rng.normal(size=hidden)
    if rng.random() < 0.5:
        weight, bias = np.round(2 * weight), np.round(bias)
    if rng.random() < 0.3:
        weight[:, rng.integers(arity)] = 0.0
    return OperatorNode(f"V{index}_MLP", operands, weight, bias, rng.normal(size=hidden), float(rng.normal()))


def any_graph(builder, rng):
    columns, outputs = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    inputs, names = ("a", "b")[:columns], ("y", "z")[:outputs]
    layout = "tagging" if rng.random() < 0.4 else "autoregressive"
    made = builder(inputs, names, Layout(layout, (2.0,) * columns, (4.0,) * outputs))
    for _ in range(int(rng.integers(1, 7))):
        make = any_operator if rng.random() < 0.5 else any_head
        made.nodes.append(make(rng, len(made.nodes)))
    for channel in range(columns, made.layout.channels):
        made.start(channel, float(rng.choice([0.0, rng.normal()])))
    for _ in names:
        chosen = rng.choice(len(made.nodes), min(3, len(made.nodes)), replace=False)
        weights = {int(index): float(rng.normal()) for index in chosen}
        past = dict.fromkeys(range(columns, made.layout.channels), 0.0)
        made.output({**weights, **past} if rng.random() < 0.5 else weights, float(rng.normal()))
    return made


def test_numbers_that_no_float_can_hold_are_listed_all_the_same(builder, integers_of):
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    huge = np.array([[1e200, 1.0]])
    made.nodes.append(OperatorNode("V2_MLP", (0, 1), huge, np.zeros(1), np.array([1e200]), 0.0))
    made.output({2: 1.0})
    problem = made.problem(integers_of(1), integers_of(1, 1))
    assert "1e+200" in listing_source(ExplainedGraph(made.graph(), {}, {}), problem)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_any_graph(builder, seed):
    rng = np.random.default_rng(seed)
    made = any_graph(builder, rng)
    x = rng.integers(0, int(rng.integers(2, 5)), (20, 12, len(made.inputs))).astype(float)
    if rng.random() < 0.3:
        x += rng.random(x.shape)
    whole = rng.random() < 0.6
    y = rng.integers(-2, 3, (*x.shape[:2], len(made.outputs))) * (1.0 if whole else 0.37)
    problem, graph = made.problem(x, y), made.graph()
    explained = ExplainedGraph(graph, {}, {})
    program, text = listing_machine(explained, problem), listing_source(explained, problem)
    assert check_source(text) == []
    space: dict = {}
    exec(compile(text, "program_raw.py", "exec"), space)
    for length in (1, 12, 40):
        for _ in range(3):
            item = rng.choice(x.reshape(-1, x.shape[2]), length)
            with np.errstate(all="ignore"):
                own = np.reshape(space["hand_built"](item), (length, -1))
                past = np.floor(own + 0.5) if problem.integer_outputs else own
                if not np.isfinite(own).all() or np.abs(own).max() > 1e9:
                    continue  # it feeds on itself, and grows without end
                wanted = graph.run(made.sequences(item[None], past[None]))[0]
                trace = program.trace(item[None])
                again = np.stack([trace[f"{name}.raw"][0] for name in made.outputs], axis=1)
            size = max(np.abs(wanted).max(), 1.0)
            assert np.abs(own - wanted).max() <= 1e-11 * size
            assert np.array_equal(again, own)  # the text is the recurrence, to the last bit
