"""Order statistics: medians of windows, the second largest so far, and their networks."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, fit_layout, from_arrays
from weights2code.graph.from_model import graph_of
from weights2code.graph.to_model import model_of_all
from weights2code.language import Domain, integers, reals, uniform
from weights2code.training.build import build
from weights2code.training.ladder import FAST_LADDER
from weights2code.training.memories import BEYOND, Memory, Quantity
from weights2code.training.orders import medians, orders, window
from weights2code.training.remembering import widened, with_heads

SECOND = Memory("max", Quantity(((0, 0),), f"{BEYOND}max 1"))
THIRD_SMALLEST = Memory("min", Quantity(((0, 0),), f"{BEYOND}min 2", before=9.0))


def problem_of(x: np.ndarray, y: np.ndarray, *domains: Domain) -> Problem:
    data = from_arrays(x, y[..., None])
    parts = data.take(slice(50, None)), data.take(slice(0, 50))
    names = tuple("ab"[: len(domains)])
    return Problem("task", names, ("y",), domains, data.domains()[1], *parts, x.shape[1])


def drawn(*domains: Domain, count: int = 300, length: int = 12) -> np.ndarray:
    return uniform(np.random.default_rng(4), domains, count, length)


def by_hand(x: np.ndarray, width: int, place: int) -> np.ndarray:
    """Zeros lie before the start."""
    padded = np.pad(x[..., 0], ((0, 0), (width - 1, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=1)
    return np.sort(windows, axis=-1)[..., place - 1]


def so_far(x: np.ndarray, place: int) -> np.ndarray:
    """The place-th smallest so far, the last for -1; 0 where there are too few."""
    values = x[..., 0]
    few = abs(place) - (place < 0)
    return np.array(
        [[sorted(row[: t + 1])[place] if t >= few else 0 for t in range(len(row))] for row in values]
    )


@pytest.mark.parametrize("domain", [integers(0, 4), integers(0, 500), reals(-1.0, 1.0)])
@pytest.mark.parametrize(("width", "place"), [(3, 2), (5, 3), (5, 2), (8, 6)])
def test_windows_are_recognised(domain: Domain, width: int, place: int):
    x = drawn(domain, integers(0, 3))
    (found,) = orders(problem_of(x, by_hand(x, width, place), domain, integers(0, 3)))
    assert found.memories == (window(0, place, width),)
    assert found.leaves == ((2, 0),)


def test_the_second_largest_so_far_is_recognised():
    x = drawn(integers(0, 9))
    (found,) = orders(problem_of(x, so_far(x, -2), integers(0, 9)))
    assert found.memories == (SECOND,)
    assert np.array_equal(SECOND.values(problem_of(x, so_far(x, -2), integers(0, 9)).training)[:, 1:],
                          so_far(x, -2)[50:, 1:])  # fmt: skip
    small = problem_of(x, so_far(x, 2), integers(0, 9)).training
    assert np.array_equal(THIRD_SMALLEST.values(small)[:, 2:], small.y[:, 2:, 0])


def test_what_is_no_order_is_not_taken_for_one():
    x = drawn(integers(0, 9))
    extremum, copy = x[..., 0].max(axis=1, keepdims=True) + 0 * x[..., 0], np.roll(x[..., 0], 1, axis=1)
    wrong = by_hand(x, 5, 3)
    wrong[-1, -1] += 1
    for y in (extremum, copy, wrong, x[..., 0] + 1):
        assert not list(orders(problem_of(x, y, integers(0, 9))))


@pytest.mark.parametrize("domain", [integers(-3, 9), reals(-1.0, 1.0)])
@pytest.mark.parametrize("memory", [window(0, 3, 5), window(0, 2, 4), SECOND, THIRD_SMALLEST])
def test_their_networks_are_exact(memory: Memory, domain: Domain):
    x = drawn(domain, integers(0, 3), count=80, length=9)
    problem = problem_of(x, x.sum(axis=2), domain, integers(0, 3))
    rung = next(rung for rung in FAST_LADDER if rung.name == "pairs")
    wide = widened(problem, (memory,))
    layout = fit_layout("autoregressive", wide.training)
    model = build(rung, wide, layout.channels, (-1.0, 1.0), seed=3).double()
    graph = graph_of(model.take([0]), 0, layout, wide)
    own = fit_layout("autoregressive", problem.training)
    loose = with_heads(graph, problem, own, (memory,), 1e7)
    made = graph_of(model_of_all([loose], 2, (-1.0, 1.0), 1e7), 0, own, problem)
    assert np.allclose(graph.run(wide.validation), made.run(problem.validation), atol=1e-9)


def test_order_statistics_that_an_output_may_be_a_function_of():
    x = drawn(integers(0, 9), reals(0.0, 1.0))
    problem = problem_of(x, x[..., 0], integers(0, 9), reals(0.0, 1.0))
    found = list(medians(problem, range(5, 6)))
    assert found == [window(0, 2, 5), window(0, 3, 5), window(0, 4, 5), window(1, 3, 5)]
