"""Which network is meant: the member as it is, another one, one that was trained on, one that was wired."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code import pipeline
from weights2code.data import Problem
from weights2code.extraction import links
from weights2code.extraction.links import with_network
from weights2code.extraction.values import Log
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.language import Recurrence
from weights2code.network.certify import certify_network
from weights2code.network.tuning.lessons import to_learn_from
from weights2code.network.tuning.wired_for import solved, wired_for, with_slopes
from weights2code.results import Outcome
from weights2code.settings import Settings
from weights2code.source import problem_of

SETTINGS = Settings(seed=0)


@pytest.fixture(scope="module")
def summed() -> tuple[Outcome, Problem]:
    return pipeline.run("sum_last2", SETTINGS), problem_of("sum_last2", SETTINGS)


def damaged(graph: DiscreteGraph) -> DiscreteGraph:
    """A network that is wrong: what its head adds is too large."""
    head = graph.head.copy()
    head[:, -1] += 0.7
    return replace(graph, head=head)


def test_a_run_says_that_its_network_is_its_program(summed: tuple[Outcome, Problem]):
    outcome, _ = summed
    assert outcome.certificate is not None
    network, listing = outcome.certificate.network, outcome.certificate.listing
    assert network is not None
    assert (network.verdict, network.trained_on) == ("proved", 0)
    assert network.margin is not None
    assert network.margin > 0.4
    assert listing is not None
    assert listing.exact
    assert outcome.program is not None
    assert "Network: Proved equal to the program" in outcome.program.source()


def test_a_network_that_differs_is_trained_until_it_does_not(
    summed: tuple[Outcome, Problem], monkeypatch: pytest.MonkeyPatch
):
    outcome, problem = summed
    assert outcome.extraction is not None
    assert outcome.trained is not None
    wrong = replace(outcome.extraction, graph=damaged(outcome.extraction.graph), explained=None)
    assert certify_network(wrong.graph, wrong.program.recurrence, problem, 0).certificate.verdict == "differs"
    monkeypatch.setattr(links, "MEMBERS_TRIED", 0)  # no other member may help out
    found = with_network(wrong, outcome.trained, problem, Log(0))
    assert found.certificate.network is not None
    assert found.certificate.network.verdict == "proved"
    assert found.certificate.network.trained_on == 1
    assert found.member == wrong.member
    assert found.program.recurrence == wrong.program.recurrence
    assert found.certificate.model is not None
    assert found.certificate.model.accuracy == 1.0  # of the network that is meant


def test_another_member_that_is_right_as_it_is_comes_first(summed: tuple[Outcome, Problem]):
    outcome, problem = summed
    assert outcome.extraction is not None
    assert outcome.trained is not None
    wrong = replace(outcome.extraction, graph=damaged(outcome.extraction.graph), explained=None, member=99)
    found = with_network(wrong, outcome.trained, problem, Log(0))
    assert found.certificate.network is not None
    assert (found.certificate.network.verdict, found.certificate.network.trained_on) == ("proved", 0)
    assert found.member == 0


def test_a_program_that_is_wrong_is_nothing_to_learn_from(summed: tuple[Outcome, Problem]):
    outcome, problem = summed
    assert outcome.extraction is not None
    assert outcome.trained is not None
    failed = replace(outcome.extraction.certificate, verdict="failed")
    wrong = replace(outcome.extraction, graph=damaged(outcome.extraction.graph), certificate=failed)
    found = with_network(wrong, outcome.trained, problem, Log(0))
    assert found.graph is wrong.graph
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
    network = with_slopes(problem.reference, solved(wired, learned), problem, 0)
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
    outcome, problem = summed
    assert outcome.extraction is not None
    assert outcome.trained is not None
    wrong = replace(outcome.extraction, graph=damaged(outcome.extraction.graph), explained=None)

    def broken(*_: object, **__: object) -> DiscreteGraph:
        raise ZeroDivisionError("a weight is missing")

    monkeypatch.setattr(links, "MEMBERS_TRIED", 0)
    monkeypatch.setattr(links, "retuned", broken)
    log = Log(0)
    found = with_network(wrong, outcome.trained, problem, log)
    assert found.certificate.network is not None
    assert found.certificate.network.verdict == "differs"
    assert "a weight is missing" in log.attempts[-1].detail
