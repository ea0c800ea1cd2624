"""The kernel takes what is true and refuses what is not: certificates, claims, and files of both."""

from __future__ import annotations

import copy
import json
import random
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from case_table import machine, mutants, rows, x, x1, x2, y1, y2
from weights2code.data import Layout
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode, machine_of
from weights2code.kernel.claims import (
    Certificate,
    Claim,
    Closure,
    Inductive,
    Network,
    ProgramText,
    Proved,
    Refuted,
    Rejected,
    Same,
    Specification,
    certificate_from_dict,
    check,
)
from weights2code.language import (
    BITS,
    Const,
    Domain,
    Expr,
    Recurrence,
    Retrieval,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.language.python_source import python_source
from weights2code.verify.links import Offered

s, n = Var("s"), Var("n")
DIGITS, HALF = integers(0, 9), Fraction(1, 2) - Fraction(1, 1 << 20)


def text_of(program: Recurrence, domain: Domain) -> ProgramText:
    return ProgramText(python_source(program, (domain,), "program"), program.inputs)


def claimed(program: Recurrence, meant: Recurrence, domain: Domain) -> Claim:
    within = None if domain.discrete else 100.0
    return Claim(text_of(program, domain), Specification(meant), (domain,), within=within)


def equal(left: str, right: str) -> Expr:
    return Var(left, 1).equals(Var(right, 1))


CLOSE = Closure(20_000)
TOTAL, COUNT = Var("s", 1) + x, Var("n", 1) + 1
#: A program, what it should be, and why it is.
PAIRS: dict[str, tuple[Recurrence, Recurrence, Domain, Certificate]] = {
    "parity": (machine(x + y1 - 2 * x * y1), machine((x + y1) % 2), BITS, CLOSE),
    "larger": (machine(where(x1 > x, x1, x)), machine(maximum(x, x1)), DIGITS, CLOSE),
    "first": (machine(x - x2, {"x": "first"}), machine(-(x2 - x), {"x": "first"}), integers(0, 3), CLOSE),
    "halves": (machine(0.5 * (x + x1)), machine((x1 + x) / 2, {"x": 0}), DIGITS, CLOSE),
    "lookup": (machine(Retrieval("x", "x", x1)), machine(Retrieval("x", "x", x1)), BITS, CLOSE),
    "seen": (
        machine(where(x, Var("p", 1), Var("q", 1)), q=where(x, Var("q", 1), 1), p=where(x, 1, Var("p", 1))),
        machine(Retrieval("x", "one", x), one=Const(1) + 0 * x),
        BITS,
        CLOSE,
    ),
    "sum": (machine(s, s=TOTAL), machine(y1 + x), DIGITS, Inductive((equal("p.s", "r.y"),))),
    "twice": (
        machine(2 * y1 - y2 + x),
        machine(y1 + Var("v"), v=Var("v", 1) + x),
        DIGITS,
        Inductive((Var("r.v", 1).equals(Var("p.y", 1) - Var("p.y", 2)), equal("r.y", "p.y"))),
    ),
    "mean": (
        machine(s * 2 > n, s=TOTAL, n=COUNT),
        machine((s / n) > 0.5, s=TOTAL, n=COUNT),
        BITS,
        Inductive((equal("r.s", "p.s"), equal("r.n", "p.n"), Var("r.n", 1) >= 0)),
    ),
    "average": (
        machine(0.3 * x + 0.7 * y1),
        machine(Const(Fraction(3, 10)) * x + Const(Fraction(7, 10)) * y1),
        reals(0, 1),
        Inductive((equal("p.y", "r.y"),)),
    ),
    "alike": (
        machine(Var("a") + y1, a=maximum(x, x1)),
        machine(Var("b") + y1, b=maximum(x, x1)),
        DIGITS,
        Same((("r.b", "p.a"), ("r.y", "p.y"))),
    ),
    "roots": (machine(op("sqrt", x) + y1), machine(op("sqrt", x) + y1), reals(0, 1), Same((("r.y", "p.y"),))),
}


def differ(one: Recurrence, other: Recurrence, domain: Domain) -> bool:
    drawn = rows((domain,), 200, 8)
    with np.errstate(all="ignore"):
        return not np.allclose(one.run(drawn), other.run(drawn), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_true_is_proved_and_no_mutant_of_it(name: str) -> None:
    """Also from its file, and not from less than what the certificate says."""
    program, meant, domain, certificate = PAIRS[name]
    claim = claimed(program, meant, domain)
    found = check(claim, certificate)
    assert isinstance(found, Proved), found
    assert found.length is None
    wrong = [mutant for mutant in mutants(program) if differ(mutant, meant, domain)]
    assert wrong
    for mutant in wrong:
        assert not isinstance(check(claimed(mutant, meant, domain), certificate), Proved), mutant
    again = certificate_from_dict(json.loads(json.dumps(found.certificate.to_dict())))
    repeated = check(claim, again)
    assert isinstance(repeated, Proved)
    assert repeated.words == found.words
    if isinstance(found.certificate, Closure):
        states = found.certificate.states or ()
        for place in range(min(len(states), 5)):
            fewer = replace(found.certificate, states=states[:place] + states[place + 1 :])
            assert isinstance(check(claim, fewer), Rejected)
    else:
        assert again == certificate


def test_a_state_that_is_not_reached_refutes_nothing() -> None:
    """After 2 the outputs would differ, and 2 never comes."""
    claim = claimed(machine(where(y1.equals(2), 9, (x + y1) % 2)), machine((x + y1) % 2), BITS)
    found = check(claim, CLOSE)
    assert isinstance(found, Proved)
    assert isinstance(found.certificate, Closure)
    more = (*(found.certificate.states or ()), ((0, 2.0), (2,)))
    assert isinstance(check(claim, Closure(20, more)), Rejected)


@pytest.mark.parametrize(
    "invariant",
    [
        (),
        (equal("r.s", "p.s"),),
        (equal("r.s", "p.s"), Var("r.n", 1).equals(Var("p.n", 1) + 1), Var("r.n", 1) >= 0),
        (Const(0).equals(1),),
        (equal("r.s", "p.s"), equal("r.n", "p.n"), Var("r.n", 1) >= 2),
    ],
)
def test_other_invariants_are_refused(invariant: tuple[Expr, ...]) -> None:
    program, meant, domain, _ = PAIRS["mean"]
    assert isinstance(check(claimed(program, meant, domain), Inductive(invariant)), Rejected)


def test_a_certificate_cannot_narrow_what_is_claimed() -> None:
    """Up to a hundred both are the same; that is not what was asked."""
    program, meant = machine(minimum(y1 + x, 100)), machine(y1 + x)
    stored = {**Inductive((equal("p.y", "r.y"),)).to_dict(), "limit": 50, "reach": 50, "within": 50}
    found = check(claimed(program, meant, DIGITS), certificate_from_dict(stored))
    assert isinstance(found, Rejected)


def changed(data: Any, rng: random.Random) -> Any:
    """A stored certificate with one value left out, or another in its place."""
    places: list[tuple[Any, Any]] = []

    def note(part: Any) -> None:
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            places.append((part, key))
            if isinstance(part[key], (dict, list)):
                note(part[key])

    data = copy.deepcopy(data)
    if "states" in data:
        data["states"] = json.loads(zlib.decompress(b64decode(data["states"])))
    note(data)
    part, key = rng.choice(places)
    if rng.random() < 0.2:
        del part[key]
    else:
        part[key] = rng.choice([None, True, -1, 0, 1, 3, 10**30, 1.5, inf, "", "p.y", [], {}, {"f": "1/0"}])
    if "states" in data:
        data["states"] = b64encode(zlib.compress(json.dumps(data["states"]).encode())).decode()
    return data


@pytest.mark.parametrize("name", PAIRS)
def test_files_may_say_anything(name: str) -> None:
    """What is stored may have been edited: it is refused, or shows what is so."""
    program, meant, domain, certificate = PAIRS[name]
    found = check(claimed(program, meant, domain), certificate)
    assert isinstance(found, Proved)
    wrong = [mutant for mutant in mutants(program) if differ(mutant, meant, domain)]
    rng = random.Random(name)
    for _ in range(12):
        stored = Offered(changed(json.loads(json.dumps(found.certificate.to_dict())), rng)).proposal()
        if stored is not None:
            assert not isinstance(check(claimed(program, meant, domain), stored), Refuted)
            answer = check(claimed(rng.choice(wrong), meant, domain), stored)
            assert not (isinstance(answer, Proved) and answer.length is None), stored


def test_leaders_that_are_not_the_same_are_refused() -> None:
    program, meant, domain, _ = PAIRS["alike"]
    claim = claimed(program, meant, domain)
    for leaders in ((), (("r.y", "p.y"),), (("r.b", "p.a"), ("r.y", "p.a")), (("r.y", "x0"), ("p.y", "x0"))):
        try:
            found: Any = check(claim, Same(leaders))
        except KeyError:
            continue
        assert isinstance(found, Rejected), leaders
    started = claimed(machine(y1 + x), machine(y1 + x, {"y": 1}), DIGITS)
    assert isinstance(check(started, Same((("r.y", "p.y"),))), Rejected)


def test_a_network_is_no_program_by_its_formulas() -> None:
    """Nothing is the same in float64 that is the same in exact numbers."""
    wide = claimed(machine((x + 2**53) - 2**53), machine((x + 2**53) - 2**53), DIGITS)
    assert isinstance(check(wide, Same((("r.y", "p.y"),))), Rejected)
    tenths = claimed(machine((0.1 * x).equals(0.3)), machine((0.1 * x).equals(0.3)), DIGITS)
    assert isinstance(check(tenths, Same((("r.y", "p.y"),))), Rejected)
    assert isinstance(check(tenths, CLOSE), Refuted)


# -- networks ------------------------------------------------------------------------------------------------


def network(*nodes: Node, head: list[float], past: bool = False, layout: str = "tagging") -> DiscreteGraph:
    shape = Layout("autoregressive" if past else layout, (1.0,), (1.0,))
    channels = [ChannelNode(f"V{i}", name) for i, name in enumerate(shape.channel_names(("x",), ("y",)))]
    return DiscreteGraph((*channels, *nodes), np.array([head]), shape, ("x",), ("y",), 6)


def of_network(graph: DiscreteGraph, program: Recurrence, domain: Domain, eps: Fraction = HALF) -> Claim:
    """Where it is to be near, past outputs are within what float64 tells apart."""
    within = None if eps == HALF else 2**17
    return Claim(Network(machine_of(graph, whole=True)), text_of(program, domain), (domain,), eps, within)


#: a + b - 2 relu(a + b - 1), exclusive or of bits.
EITHER = OperatorNode("or", (0, 1), np.ones((2, 2)), np.array([0.0, -1.0]), np.array([1.0, -2.0]), 0.0)
LARGEST = RouterNode("head", "max", {"value": 0})
SEEKS = RouterNode(
    "head", "equality", {"query": 0, "key": 0, "value": 0},
    relative_bias=np.array([-1e6, 0.0]), null_score=-10.0,
)  # fmt: skip
POINTS = RouterNode(
    "pointer", "pointer", {"query": 0, "key": 0, "value": 0},
    query_table=np.ones((4, 1)), key_table=np.arange(4.0)[:, None],
    relative_bias=np.array([0.0, -0.5, -50.0]), null_score=-100.0, value_range=(0.0, 3.0),
)  # fmt: skip
NETWORKS: dict[str, tuple[DiscreteGraph, Recurrence, Domain, Certificate]] = {
    "as it is": (network(head=[1.0, 0.0]), machine(x * 1), DIGITS, CLOSE),
    "parity": (network(EITHER, head=[0, 0, 1.0, 0.0], past=True), machine(op("ne", x, y1) * 1), BITS, CLOSE),
    "window": (
        network(
            RouterNode("a", "location", {"value": 0}, 1),
            RouterNode("b", "location", {"value": 0}, 2),
            head=[1.0, 1.0, 1.0, 0.25],
        ),
        machine(x + x1 + x2),
        integers(0, 2),
        CLOSE,
    ),
    "largest": (
        network(LARGEST, head=[0.0, 1.0, 0.0]),
        machine(maximum(x, y1), {"y": -np.inf}),
        DIGITS,
        CLOSE,
    ),
    "pointer": (
        network(POINTS, head=[0.0, 1.0, 0.0]),
        machine(maximum(x, x1)),
        integers(0, 3),
        Closure(20_000, windows={"pointer": (1, (0.0, 1.0, 2.0, 3.0))}),
    ),
    "sum": (
        network(head=[1.0, 1.0 + 2.0**-20, 0.0], past=True),
        machine(x + y1),
        integers(0, 3),
        Inductive((equal("p.y", "r.y"),)),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_proved_and_no_mutant_of_them(name: str) -> None:
    graph, program, domain, certificate = NETWORKS[name]
    eps = Fraction(1, 4) if isinstance(certificate, Inductive) else HALF
    found = check(of_network(graph, program, domain, eps), certificate)
    assert isinstance(found, Proved), found
    assert found.error < Fraction(1, 2)
    again = certificate_from_dict(json.loads(json.dumps(found.certificate.to_dict())))
    assert isinstance(check(of_network(graph, program, domain, eps), again), Proved)
    for mutant in mutants(program):
        if differ(mutant, program, domain):
            assert not isinstance(check(of_network(graph, mutant, domain, eps), certificate), Proved), mutant
    for place in np.flatnonzero(graph.head[0]):
        head = graph.head.copy()
        head[0, place] += 0.6
        other = check(of_network(replace(graph, head=head), program, domain, eps), certificate)
        assert not isinstance(other, Proved)


def test_shortest_sequences_of_networks() -> None:
    """Three ones in a row are the first to tell."""
    rare = op("and", x.equals(1), op("and", x1.equals(1), x2.equals(1)))
    found = check(of_network(network(head=[1.0, 0.0]), machine(x + where(rare, 1, 0)), BITS), CLOSE)
    assert isinstance(found, Refuted)
    assert found.sequence == ((1.0,), (1.0,), (1.0,))
    late = RouterNode("a", "location", {"value": 0}, 1, 1.0)
    start = check(of_network(network(late, head=[0.0, 1.0, 0.0]), machine(x1 * 1), BITS), CLOSE)
    assert isinstance(start, Refuted)
    assert start.sequence == ((0.0,),)
    right = machine(x1 * 1, {"x": 1.0})
    assert isinstance(check(of_network(network(late, head=[0.0, 1.0, 0.0]), right, BITS), CLOSE), Proved)


def test_windows_that_are_too_short_are_refused() -> None:
    graph, program, domain, certificate = NETWORKS["pointer"]
    assert isinstance(certificate, Closure)
    for window, keys in ((0, (0.0, 1.0, 2.0, 3.0)), (1, (0.0, 1.0, 2.0))):
        narrow = replace(certificate, windows={"pointer": (window, keys)})
        assert isinstance(check(of_network(graph, program, domain), narrow), Rejected)


def test_heads_that_look_back_for_ever_are_run_up_to_a_length() -> None:
    seen = machine(op("and", x, Var("m", 1)) * 1, m=maximum(x, Var("m", 1)))
    found = check(of_network(network(SEEKS, head=[0.0, 1.0, 0.25]), seen, BITS), Closure(2000))
    assert isinstance(found, Proved)
    assert found.length is not None
    assert 5 < found.length < 12


@pytest.mark.parametrize(("slope", "same"), [(0.4, False), (0.6, True)])
def test_a_network_is_compared_with_what_outputs_round_to(slope: float, same: bool) -> None:
    """0.8 and 0.4 are less than a half apart, and round to 1 and 0; 1.0 and 0.6 both round to 1."""
    found = check(of_network(network(head=[slope + 0.4, 0.0]), machine(x * slope), BITS), CLOSE)
    assert isinstance(found, Proved if same else Refuted)


@pytest.mark.parametrize("off", [0.5, 0.5 - 2e-16])
def test_an_output_on_the_border_is_not_right(off: float) -> None:
    assert isinstance(check(of_network(network(head=[1.0, off]), machine(x * 1), BITS), CLOSE), Refuted)
    clear = check(of_network(network(head=[1.0, 0.5 - 1e-5]), machine(x * 1), BITS), CLOSE)
    assert isinstance(clear, Proved)
