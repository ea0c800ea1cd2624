"""Fallbacks repeat the data and the network exactly, and say what they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from weights2code.language import Var, evaluate, integers
from weights2code.symbolic.engine import pick
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.over_texts import table_list
from weights2code.symbolic.relu_readoff import piecewise_readoff
from weights2code.symbolic.search.table import Table

a, b = Var("a"), Var("b")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-3, 9), min_size=12, max_size=12))
def test_table_repeats_every_row(outputs: list[int]) -> None:
    X = np.array([[i, j] for i in range(4) for j in range(3)], dtype=float)
    table = Table((a, b), (integers(0, 3), integers(0, 2)), X)
    expr = table_list(table, np.array(outputs, dtype=float))
    assert expr is not None
    values = np.broadcast_to(evaluate(expr, {a: X[:, 0], b: X[:, 1]}), len(X))
    np.testing.assert_array_equal(values, outputs)


def test_what_repeats_its_rows_is_labelled() -> None:
    outputs = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=float)
    X = np.arange(8.0)[:, None]
    front = NativeEngine().search(X, outputs, variables=(a,), domains=(integers(0, 7),), effort=30.0)
    chosen = pick(front)
    assert chosen.exact
    np.testing.assert_allclose(evaluate(chosen.expr, {a: X[:, 0]}), outputs, atol=1e-6)
    assert chosen.kind == "piecewise"


finite = st.floats(-3, 3).map(lambda v: round(v, 3))


@settings(max_examples=30, deadline=None)
@given(
    arrays(float, (5, 2), elements=finite),
    arrays(float, 5, elements=finite),
    arrays(float, 5, elements=finite),
    finite,
)
def test_readoff_equals_the_network(W1: np.ndarray, b1: np.ndarray, W2: np.ndarray, b2: float) -> None:
    box = np.array([[-1.0, 2.0], [0.0, 1.0]])
    expr = piecewise_readoff(W1, b1, W2, b2, box, (a, b))
    X = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (200, 2))
    network = np.maximum(X @ W1.T + b1, 0) @ W2 + b2
    np.testing.assert_allclose(evaluate(expr, {a: X[:, 0], b: X[:, 1]}), network, atol=1e-9)


def test_readoff_decides_units_on_the_box() -> None:
    W1, b1 = np.array([[1.0], [-1.0], [1.0]]), np.array([5.0, -5.0, 0.0])
    expr = piecewise_readoff(W1, b1, np.array([2.0, 7.0, 1.0]), 0.5, np.array([[-1.0, 1.0]]), (a,))
    assert str(expr) == "2*a[t] + max(a[t], 0) + 10.5"


def test_readoff_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="do not go together"):
        piecewise_readoff(np.ones((3, 2)), np.ones(3), np.ones(3), 0.0, np.zeros((3, 2)), (a, b))
