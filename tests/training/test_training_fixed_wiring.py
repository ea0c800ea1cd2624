"""Fixed wirings give what they promise, and the projected closed form is the model's own prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from weights2code.data import Sequences, fit_layout, from_arrays, from_task
from weights2code.data.problem import Problem
from weights2code.explain import EqualityRetrieval
from weights2code.explain.routing import match
from weights2code.graph import OperatorNode, RouterNode
from weights2code.graph.from_model import graph_of
from weights2code.language import integers
from weights2code.model import HARD, Architecture, DiscreteTransformer
from weights2code.settings import Settings
from weights2code.tasks import get
from weights2code.training.build import fix_lookup, fix_window
from weights2code.training.ladder import LONGEST_WINDOW, MOST_OPERANDS, ladder_of, window_sizes
from weights2code.training.loop import to_batch
from weights2code.training.search import train_rung
from weights2code.training.step import closed_form
from weights2code.training.storage import Trained

CPU = torch.device("cpu")
LENGTH = 8


def problem_of(inputs: int, outputs: int = 1, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    data = from_arrays(rng.integers(0, 4, (40, LENGTH, inputs)), rng.normal(size=(40, LENGTH, outputs)))
    names = tuple("abcd"[:inputs]), tuple(f"y{i}" for i in range(outputs))
    domains = (integers(0, 3),) * inputs, data.domains()[1]
    return Problem("random", *names, *domains, data, data, LENGTH)


# -- the window ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("channels", "reach"), [(1, 1), (1, 4), (2, 1), (2, 3), (3, 3)])
def test_a_window_holds_every_channel_at_every_offset_once(channels: int, reach: int):
    sizes = window_sizes(channels, reach)
    model = DiscreteTransformer(Architecture(channels=channels, submlps=2, window=5, **sizes), members=2)
    fix_window(model)
    layout, problem = fit_layout("tagging", problem_of(channels).training), problem_of(channels)
    for member in range(2):
        graph = graph_of(model.weights(), member, layout, problem)
        for node in graph.nodes:
            if not isinstance(node, OperatorNode):
                continue
            seen = []
            for operand in node.operands:
                source = graph.nodes[operand]
                if isinstance(source, RouterNode):
                    seen.append((source.reads["value"], source.offset))
                else:
                    seen.append((operand, 0))
            assert sorted(seen) == sorted(product(range(channels), range(reach + 1)))


def windows(problem: Problem, layout: str = "auto") -> list[tuple[int, int]]:
    """Heads and operands of the windows of a problem's ladder."""
    ladder = ladder_of(problem, Settings(layout=layout))  # type: ignore[arg-type]
    return [(rung.sizes["location"], rung.sizes["arity"]) for rung in ladder if rung.kind == "window"]


def test_windows_reach_as_far_as_fits():
    assert windows(problem_of(1)) == [(2, 4), (2 * 4, 2 * 5)]  # half a sequence
    assert windows(problem_of(2)) == [(3, 6), (3 * 3, MOST_OPERANDS)]
    assert windows(problem_of(3), "tagging") == [(3, 6), (3 * 3, MOST_OPERANDS)]
    long = replace(problem_of(1), length=10 * LONGEST_WINDOW)
    assert windows(long, "tagging") == [(1, 2), (MOST_OPERANDS - 1, MOST_OPERANDS)]


def test_a_window_that_reads_no_more_than_the_one_before_is_left_out():
    assert windows(problem_of(4, 2)) == [(6, MOST_OPERANDS)]
    assert windows(problem_of(4, 3)) == []
    assert windows(replace(problem_of(1), length=2)) == [(2, 4)]


def test_a_window_does_not_change_when_choices_are_trained():
    sizes = window_sizes(2, 1)
    model = DiscreteTransformer(Architecture(channels=2, submlps=1, window=5, **sizes))
    fix_window(model)
    before = model.hard_choices()
    with torch.no_grad():
        model.choices.copy_(torch.randn(model.choices.shape, generator=torch.Generator().manual_seed(1)) * 50)
    assert torch.equal(model.hard_choices(), before)
    assert (model.choice_mask.sum(-1) == 1).all()


# -- lookups -------------------------------------------------------------------------------------------------


def test_lookups_find_key_value_and_query_by_polishing():
    problem = from_task(get("retrieve_value_by_key"), 128, 0, validation=64)
    lookup = next(rung for rung in ladder_of(problem, Settings()) if rung.kind == "lookup")
    trained = train_rung(lookup, problem, Settings(), CPU)
    assert trained.fitted
    assert trained.losses[0] < 1e-9
    graph = graph_of(trained.weights, 0, trained.layout, problem)
    head = next(node for node in graph.nodes if isinstance(node, RouterNode))
    assert {role: problem.inputs[index] for role, index in head.reads.items()} == {
        "query": "query", "key": "key", "value": "value",
    }  # fmt: skip


@pytest.mark.parametrize(
    "ids",
    [
        range(89992, 90000),
        (10, 11, 1000, 500_000, 500_001),
        (-5, -4, 0, 999_999, -1_000_000),
        tuple(2**40 + i for i in (0, 1, 5)),
        (0.1, 0.2, 1e6 + 0.1, 1e6 + 0.2),
    ],
)
def test_keys_of_any_size_are_told_apart(ids: Sequence[float], tmp_path: Path):
    """The same sequences with other names for the keys, some of which differ in the last digit alone."""
    problem = from_task(get("retrieve_value_by_key"), 128, 0, validation=64)
    names = np.array(ids)

    def renamed(part: Sequences) -> Sequences:
        x = part.x.copy()
        x[..., [0, 2]] = names[x[..., [0, 2]].astype(int) % len(names)]
        return from_arrays(x, problem.reference.run(x))  # type: ignore[union-attr]

    problem = replace(problem, training=renamed(problem.training), validation=renamed(problem.validation))
    lookup = next(rung for rung in ladder_of(problem, Settings()) if rung.kind == "lookup")
    trained = train_rung(lookup, problem, Settings(), CPU)
    assert trained.fitted
    trained.save(tmp_path / "model.safetensors")
    again = Trained.load(tmp_path / "model.safetensors")
    for weights in (trained.weights, again.weights):
        graph = graph_of(weights, 0, trained.layout, problem)
        np.testing.assert_allclose(graph.run(problem.validation), problem.validation.y, atol=1e-3)
    head = next(node for node in graph.nodes if isinstance(node, RouterNode))
    stream = graph.stream(graph.encode(problem.validation)[0])
    assert match(head, stream).hypothesis == EqualityRetrieval(1)


def test_half_of_the_members_do_not_look_at_the_present():
    architecture = Architecture(channels=3, layers=1, equality=1, submlps=0, window=4)
    model = DiscreteTransformer(architecture, members=4)
    fix_lookup(model)
    assert model.offset_mask[:, 0].tolist() == [True, False, True, False]
    assert model.offset_mask[:, 1:].all()
    with torch.no_grad():  # query and key are channel 0, so the present always matches itself
        model.choices.zero_()
        model.choices[:, 0, 0] = model.choices[:, 1, 0] = model.choices[:, 2, 1] = 9.0
    channels = torch.tensor([[1.0, 2.0, 1.0], [5.0, 6.0, 7.0], [0.0, 0.0, 0.0]])[:, :, None]
    found = model.stream(channels, HARD)[:, 3, :, 0]
    assert found[0].tolist() == [5, 6, 7]
    assert found[1].tolist() == [0, 0, 5]


def test_one_column_has_nothing_to_look_up():
    assert all(rung.kind != "lookup" for rung in ladder_of(problem_of(1), Settings()))
    assert any(rung.kind == "lookup" for rung in ladder_of(problem_of(2), Settings()))


# -- the projected closed form -------------------------------------------------------------------------------


def random_batch(channels: int, outputs: int):
    problem = problem_of(channels, outputs)
    layout = fit_layout("tagging", problem.training)
    return to_batch(layout.encode(problem.training, np.float64), CPU)  # type: ignore[arg-type]


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(("layers", "submlps"), [(1, 1), (1, 4), (2, 3), (0, 0), (1, 0)])
@pytest.mark.parametrize("project", [True, False])
def test_written_weights_reproduce_the_prediction(outputs: int, layers: int, submlps: int, project: bool):
    architecture = Architecture(
        channels=2, outputs=outputs, layers=layers, location=1, mean=1, submlps=submlps, hidden=5, window=4
    )
    model = DiscreteTransformer(architecture, 3, dtype=torch.float64)
    if layers:
        model.forbid(1, [2])
    batch = random_batch(2, outputs)
    solved = closed_form(model, batch, project=project)
    solved.write(model)
    assert torch.allclose(model(batch[0], HARD), solved.prediction, atol=1e-6)


def test_each_sub_mlp_serves_one_output_in_turn():
    architecture = Architecture(channels=1, outputs=2, layers=1, submlps=4, hidden=3, window=4)
    model = DiscreteTransformer(architecture, 2, dtype=torch.float64)
    solved = closed_form(model, random_batch(1, 2), project=True)
    used = solved.head[:, :, 1:5] != 0
    assert (used == torch.tensor([[True, False, True, False], [False, True, False, True]])).all()


def test_forbidden_variables_have_no_part():
    architecture = Architecture(channels=2, outputs=1, layers=1, submlps=2, hidden=3, window=4)
    model = DiscreteTransformer(architecture, 2, dtype=torch.float64)
    model.forbid(slice(None), [1, 3])
    batch = random_batch(2, 1)
    solved = closed_form(model, batch, project=True)
    assert solved.output_weight is not None
    assert not solved.output_weight[:, 1].any()
    assert solved.output_weight[:, 0].any()
    assert not solved.head[:, :, 1].any()
