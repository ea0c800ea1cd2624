"""Sub-MLPs as formulas: known functions are recognised, others are read off, and both are kept as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from weights2code.data import Layout, Problem, from_arrays
from weights2code.explain import OperatorFit, explain_operator, stream_values
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode
from weights2code.language import Var, evaluate

DISTANCE = ([[1.0, -1.0], [-1.0, 1.0]], [0.0, 0.0], [1.0, 1.0], 0.0)
LOWER = ([[1.0, 0.0], [-1.0, 0.0], [1.0, -1.0]], [0.0] * 3, [1.0, -1.0, -1.0], 0.0)
FIRST = ([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0], [2.0, -2.0], 1.0)
CONSTANT = ([[0.0, 0.0]], [0.0], [1.0], 2.5)


def graph_of(weights, scales: tuple[float, float] = (1.0, 1.0), head: float = 1.0) -> DiscreteGraph:
    """f(a, b) as the third variable, and nothing else in the head."""
    hidden, bias, out, constant = weights
    arrays = np.array(hidden), np.array(bias), np.array(out)
    nodes = (
        ChannelNode("V0_input", "a"),
        ChannelNode("V1_input", "b"),
        OperatorNode("V2_MLP_L0M0", (0, 1), *arrays, constant),
    )
    layout = Layout("tagging", scales, (1.0,))
    return DiscreteGraph(nodes, np.array([[0.0, 0.0, head, 0.0]]), layout, ("a", "b"), ("y",), 10)


def problem_of(graph: DiscreteGraph, real: bool = False) -> Problem:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (60, 10, 2)) if real else rng.integers(-3, 4, (60, 10, 2)).astype(float)
    data = from_arrays(x, graph.run(from_arrays(x, x[..., :1])))
    return Problem("f", graph.inputs, graph.outputs, *data.domains(), data, data, 10)


def fitted(graph: DiscreteGraph, problem: Problem):
    return explain_operator(graph, 2, stream_values(graph, problem.validation), problem, 2.0)


def values_of(fit, x: np.ndarray) -> np.ndarray:
    columns = {Var("V0"): x[..., 0], Var("V1"): x[..., 1]}
    return np.broadcast_to(evaluate(fit.formula, columns), x.shape[:2])


@pytest.mark.parametrize("scales", [(1.0, 1.0), (4.0, 2.0)])
@pytest.mark.parametrize(
    ("weights", "operands"), [(DISTANCE, (0, 1)), (LOWER, (0, 1)), (FIRST, (0,)), (CONSTANT, ())]
)
def test_known_functions_are_found_in_the_users_units(weights, operands, scales):
    """Operands without weight are no operands, and an operator that reads nothing is a number."""
    graph = graph_of(weights, scales)
    problem = problem_of(graph)
    fit = fitted(graph, problem)
    assert (fit.kind, fit.operands) == ("formula", operands)
    assert fit.max_error <= fit.tolerance
    values = graph.stream(problem.validation.x / np.array(scales))[..., 2]
    assert np.allclose(values_of(fit, problem.validation.x), values, atol=fit.tolerance)
    assert set(fit.formula.variables()) <= {Var("V0"), Var("V1")}
    back = OperatorFit.from_dict(json.loads(json.dumps(fit.to_dict())))
    assert (back.operands, back.formula, back.kind) == (fit.operands, fit.formula, fit.kind)
    assert (back.max_error, back.tolerance) == (fit.max_error, fit.tolerance)


@pytest.mark.slow
def test_what_has_no_formula_is_read_off_faithfully():
    """Eight random hidden units: no short formula, so the network itself, exact on the data."""
    rng = np.random.default_rng(4)
    weights = (rng.normal(size=(8, 2)), rng.normal(size=8), rng.normal(size=8), 0.3)
    graph = graph_of(weights)
    problem = problem_of(graph, real=True)
    values = stream_values(graph, problem.validation)

    fit = explain_operator(graph, 2, values, problem, 1.0)
    assert fit.kind == "piecewise"
    assert np.allclose(values_of(fit, problem.validation.x), values[..., 2], atol=1e-9)
