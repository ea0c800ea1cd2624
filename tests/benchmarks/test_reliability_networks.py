"""A share of the attacks on what is said of networks, and that the judge of them is no easy one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weights2code.data import Layout, Sequences
from weights2code.graph import ChannelNode, DiscreteGraph
from weights2code.language import Recurrence, Step, Var, integers
from weights2code.verify.links import NetworkCertificate, Offered

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import chain  # pyright: ignore[reportMissingImports]
    import network_truth as truth  # pyright: ignore[reportMissingImports]
    import networks  # pyright: ignore[reportMissingImports]
    import weights  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

SEED = 2024
#: Trained in a second or so each.
QUICK = ("sum_last2", "parity")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(networks.FAMILIES) + len(networks.BOUNDED)))
def test_networks_made_by_hand(number: int) -> None:
    assert networks.attack(number, SEED).failure == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_one_weight_of_a_trained_network(number: int) -> None:
    found = weights.attacked(weights.base(QUICK[number % 2]), np.random.default_rng([SEED, number]))
    assert found.failure == "", found.detail


@pytest.mark.slow
@pytest.mark.parametrize("way", chain.WAYS)
def test_one_change_in_one_file(way: str) -> None:
    found = chain.attacked(chain.base("parity"), way, np.random.default_rng(SEED))
    assert found.failure == "", found.detail
    assert found.outcome.startswith("exit ")


@pytest.mark.parametrize("number", range(len(networks.FAMILIES)))
def test_the_evaluator_is_the_network(number: int) -> None:
    """Written apart from the graph, and yet the same; float32 is something else."""
    rng = np.random.default_rng(number)
    for _ in range(5):
        network = list(networks.FAMILIES.values())[number](rng)
        graph = network.graph
        x = np.stack([rng.choice(d.values(), (20, 8)) for d in network.domains], -1).astype(float)
        past = rng.integers(-2, 3, (20, 8, len(graph.outputs))).astype(float)
        right = graph.run(Sequences(x, past, np.full(20, 8)))
        if number != list(networks.FAMILIES).index("huge weights"):
            for backwards in (False, True):
                answer = truth.run_network(graph, x, past, backwards=backwards)
                assert np.allclose(answer, right, rtol=1e-9, atol=1e-9)
        assert not np.array_equal(truth.run_network(graph, x, past, np.float32), right)


def judged(certificate: NetworkCertificate, slope: float = 1.0) -> str:
    """What the judge says of a claim that y = slope * x is y = x where x is 0 to 3, and one more at 3."""
    graph = DiscreteGraph(
        (ChannelNode("V0", "x"),),
        np.array([[slope, 0.0]]),
        Layout("tagging", (1.0,), (1.0,)),
        ("x",),
        ("y",),
        4,
    )
    rare = Var("x").equals(3) * Var("x", 1).equals(3)
    program = Recurrence(("x",), (Step("y", Var("x") + rare),), ("y",))
    known = truth.runs(program, (integers(0, 3),), np.random.default_rng(0))
    return truth.wrong_claim(certificate, graph, program, known, whole=True)


CLAIM = NetworkCertificate("proved", "made", "at every length", 0.4, 0.1, None, 100, proof=Offered())


def test_claims_that_are_too_much_are_seen() -> None:
    assert "differs after 2 inputs" in judged(CLAIM)
    upto = replace(CLAIM, verdict="exhaustive", covers="up to length 2")
    assert "differs after 2 inputs" in judged(upto)
    assert judged(replace(upto, covers="up to length 1")) == ""
    assert "tested, but" in judged(replace(CLAIM, verdict="tested"), slope=2.0)
    assert "with an error of" in judged(replace(upto, covers="up to length 1", error=0.01), slope=1.1)
    assert "with a margin of" in judged(replace(upto, covers="up to length 1", error=0.4), slope=1.1)
    assert "differs after 2" in judged(replace(CLAIM, covers="as long as no past value exceeds 2**2"))
    assert judged(replace(CLAIM, covers="as long as no past value exceeds 2**1")) == ""


def test_counterexamples_must_show_it() -> None:
    differs = replace(CLAIM, verdict="differs")
    assert "without" in judged(differs)
    assert "shows no difference" in judged(replace(differs, counterexample=((3.0,), (2.0,))))
    assert judged(replace(differs, counterexample=((3.0,), (3.0,)))) == ""


@pytest.mark.slow
def test_a_command_that_believes_everything_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "main", lambda _: 0)
    found = chain.attacked(chain.base("parity"), "one weight", np.random.default_rng(1))
    assert "not found" in found.failure
