"""The trained network has its verdict; one that was pruned, trained on, wired or written has another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code import pipeline
from weights2code.data import Problem
from weights2code.extraction import links
from weights2code.extraction.links import with_network
from weights2code.extraction.values import Extraction, Log
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.language import Recurrence
from weights2code.network.certify import certify_network
from weights2code.network.tuning.lessons import to_learn_from
from weights2code.network.tuning.retune import retuned
from weights2code.network.tuning.wired import wired_for
from weights2code.results import Outcome
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.storage import Trained

SETTINGS = Settings(seed=0, rungs=("linear", "window"))


@pytest.fixture(scope="module")
def summed() -> tuple[Outcome, Problem]:
    return pipeline.run("sum_last2", SETTINGS), problem_of("sum_last2", SETTINGS)


def test_a_run_says_that_its_network_is_its_program(summed: tuple[Outcome, Problem]):
    outcome, _ = summed
    assert outcome.certificate is not None
    network, listing = outcome.certificate.network, outcome.certificate.listing
    assert network is not None
    assert (network.verdict, network.made, network.member) == ("proved", "trained", 0)
    assert outcome.certificate.taught is None
    assert outcome.taught is None
    assert network.margin is not None
    assert network.margin > 0.4
    assert listing is not None
    assert listing.exact
    assert outcome.program is not None
    assert "Network: Proved equal to the program" in outcome.program.source()


def wrong_from(summed: tuple[Outcome, Problem], *members: int) -> tuple[Extraction, Trained]:
    """The extraction and its rung of two members, of which some are wrong as they were trained."""
    outcome, _ = summed
    assert outcome.extraction is not None
    assert outcome.trained is not None
    weights = outcome.trained.weights.take([0, 0])
    weights.parameters["head"][list(members), :, -1] += 0.7 / outcome.trained.layout.output_scales[0]
    rung = replace(outcome.trained, weights=weights, losses=(0.0,) * 2, accuracies=(1.0,) * 2)
    graph = outcome.extraction.graph
    too_much = np.zeros_like(graph.head)
    too_much[:, -1] = 0.7
    wrong = replace(graph, head=graph.head + too_much)
    return replace(outcome.extraction, network=wrong, explained=None), rung


def test_a_network_that_differs_says_so_and_another_is_trained_until_it_does_not(
    summed: tuple[Outcome, Problem], monkeypatch: pytest.MonkeyPatch
):
    (wrong, rung), (_, problem) = wrong_from(summed, 0, 1), summed
    monkeypatch.setattr(links, "MEMBERS_TRIED", 0)  # no other member may help out
    found, _ = with_network(wrong, rung, problem, Log(0))
    network, taught = found.certificate.network, found.certificate.taught
    assert network is not None
    assert (network.verdict, network.made, network.member) == ("differs", "trained", 0)
    assert network.counterexample is not None
    assert taught is not None
    assert (taught.verdict, taught.made, taught.trained_on) == ("proved", "trained on", 1)
    assert certify_network(found.graph, found.program.recurrence, problem, 0).certificate.verdict == "proved"
    assert found.program.recurrence == wrong.program.recurrence
    assert found.certificate.model is not None
    assert found.certificate.model.accuracy == 0.0  # of the network as it was trained
    assert "Network: Differs" in found.program.source()
    assert "Another network: Proved equal" in found.program.source()


def test_another_member_that_is_right_as_it_was_trained_needs_no_teaching(summed: tuple[Outcome, Problem]):
    (wrong, rung), (_, problem) = wrong_from(summed, 0), summed
    found, _ = with_network(wrong, rung, problem, Log(0))
    network = found.certificate.network
    assert network is not None
    assert (network.verdict, network.made, network.member, network.read) == ("proved", "trained", 1, 0)
    assert found.certificate.taught is None
    assert found.member == 1


def test_a_pruned_network_is_another(summed: tuple[Outcome, Problem]):
    """What was read is right, what was trained is not."""
    (wrong, rung), (outcome, problem) = wrong_from(summed, 0, 1), summed
    assert outcome.extraction is not None
    pruned = outcome.extraction.graph
    found, _ = with_network(replace(wrong, network=pruned), rung, problem, Log(0))
    network, taught = found.certificate.network, found.certificate.taught
    assert network is not None
    assert network.verdict == "differs"
    assert taught is not None
    assert (taught.verdict, taught.made) == ("proved", "pruned")
    assert found.graph is pruned


def test_a_program_that_is_wrong_is_nothing_to_learn_from(summed: tuple[Outcome, Problem]):
    (wrong, rung), (_, problem) = wrong_from(summed, 0, 1), summed
    failed = replace(wrong.certificate, verdict="failed")
    found, _ = with_network(replace(wrong, certificate=failed), rung, problem, Log(0))
    assert found.certificate.taught is None
    assert found.certificate.network is not None
    assert found.certificate.network.verdict == "differs"


def test_a_wiring_counts_without_end_and_tells_values_apart(summed: tuple[Outcome, Problem]):
    """y = y[t-1] + [x is even]: what adds up is weighed by the head, what does not by one sub-MLP."""
    problem = problem_of("Evens_Counter", SETTINGS)
    assert isinstance(problem.reference, Recurrence)
    outcome, _ = summed
    assert outcome.extraction is not None
    layout = replace(outcome.extraction.graph.layout, input_scales=(8.0,), output_scales=(8.0,))
    like = replace(outcome.extraction.graph, layout=layout)
    wired = wired_for(problem.reference, like, problem, 0)
    assert wired is not None
    operators = [node for node in wired.nodes if isinstance(node, OperatorNode)]
    assert [node.operands for node in operators] == [(0,)]
    learned = to_learn_from([], problem.reference, problem, 0)
    network = retuned(wired, learned, whole=True)
    found = certify_network(network, problem.reference, problem, 0).certificate
    assert found.verdict == "proved"
    assert "as long as no past value exceeds 2**" in found.covers


def test_reals_are_learned_at_every_past_that_may_be_asked_for():
    problem = problem_of("linear_drop", SETTINGS)
    assert isinstance(problem.reference, Recurrence)
    learned = to_learn_from([], problem.reference, problem, 0)
    given = learned.given > 0
    assert given.any()
    assert not given.all()
    x, y = learned.x[given], learned.y[given]
    end = int(learned.given[given][0])
    np.testing.assert_allclose(problem.reference.run(x, y, end)[:, end], y[:, end])


def test_an_error_that_nobody_foresaw_costs_the_training_alone(
    summed: tuple[Outcome, Problem], monkeypatch: pytest.MonkeyPatch
):
    (wrong, rung), (_, problem) = wrong_from(summed, 0, 1), summed

    def broken(*_: object, **__: object) -> DiscreteGraph:
        raise ZeroDivisionError("a weight is missing")

    monkeypatch.setattr(links, "MEMBERS_TRIED", 0)
    monkeypatch.setattr(links, "retuned", broken)
    log = Log(0)
    found, _ = with_network(wrong, rung, problem, log)
    assert found.certificate.network is not None
    assert found.certificate.network.verdict == "differs"
    assert "a weight is missing" in log.attempts[-1].detail
