"""Kinds of heads of one's own: registered, run and listed, and proved like any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from weights2code import Task
from weights2code.data import Layout, from_task
from weights2code.errors import InputError
from weights2code.explain import ExplainedGraph, RunningHead, own_heads, register
from weights2code.graph.from_model import graph_of
from weights2code.graph.graph import from_dict, to_dict
from weights2code.heads import HEADS
from weights2code.language import Recurrence
from weights2code.model import HARD, Architecture, DiscreteTransformer
from weights2code.network.certify import certify_network
from weights2code.program.listing import listing_source


class Flip(RunningHead):
    """Whether the number of ones so far is odd."""

    name = "flip"

    def on_tensors(self, values: torch.Tensor) -> torch.Tensor:
        return torch.round(values).cumsum(2) % 2

    def step(self, last: Any, value: Any) -> Any:
        return (last + value) % 2


@pytest.fixture
def flip() -> Iterator[Flip]:
    head = Flip()
    register(head)
    yield head
    del HEADS["flip"], own_heads.OWN["flip"]


def network() -> DiscreteTransformer:
    """One head of that kind, whose value is the output."""
    sizes = Architecture(channels=1, outputs=1, layers=1, submlps=0, own=(("flip", 1),))
    model = DiscreteTransformer(sizes, members=1, seed=0)
    with torch.no_grad():
        model.head.copy_(torch.tensor([0.0, 1.0, 0.0]).reshape(model.head.shape))
    return model


LAYOUT = Layout("tagging", (1.0,), (1.0,))


def test_both_forms_agree_and_the_graph_computes_the_same(flip: Flip):
    model, x = network(), np.random.default_rng(0).integers(0, 2, (5, 9)).astype(float)
    problem = from_task(Task(inputs={"x": (0, 1)}, reference="y[t] = (x[t] + y[t-1]) % 2"), 100, 0)
    graph = graph_of(model.weights(), 0, LAYOUT, problem)
    given = model(torch.tensor(x.T[None], dtype=torch.float32), HARD)[0, 0].detach().numpy().T
    assert np.array_equal(given, np.cumsum(x, 1) % 2)
    assert np.array_equal(graph.predict(x[..., None])[..., 0], given)
    again = from_dict(to_dict(graph))
    assert np.array_equal(again.predict(x[..., None])[..., 0], given)
    assert Architecture.from_dict(model.architecture.to_dict()) == model.architecture
    text = listing_source(ExplainedGraph(graph, {}, {}), problem)
    assert "V1[t] = ((V1[t - 1] if t >= 1 else 0.0) + V0[t]) % 2" in text


def test_networks_of_them_are_proved_or_refuted(flip: Flip):
    task = Task(inputs={"x": (0, 1)}, reference="y[t] = (x[t] + y[t-1]) % 2")
    problem = from_task(task, 200, 0)
    graph = graph_of(network().weights(), 0, LAYOUT, problem)
    machine = problem.reference
    assert isinstance(machine, Recurrence)
    assert certify_network(graph, machine, problem, 0).certificate.verdict == "proved"
    odd = replace(machine, start={"y": 1.0})
    assert certify_network(graph, odd, problem, 0).certificate.counterexample == ((0.0,),)


def test_what_cannot_be_registered(flip: Flip):
    class Other(Flip):
        name = "other"

        def step(self, last: Any, value: Any) -> Any:
            return last + value

    class Sum(Flip):
        name = "sum"

    for head, part in ((Other(), "not the same function"), (Sum(), "choose another plain name")):
        with pytest.raises(InputError, match=part):
            register(head)
    with pytest.raises(InputError, match="no kind of head 'other'"):
        Architecture(own=(("other", 1),))
