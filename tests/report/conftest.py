"""Shared by the tests of the report: programs of every kind, and a run folder written by hand."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from weights2code import tasks
from weights2code.data import Layout
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.values import Extraction
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.graph import to_dict as graph_to_dict
from weights2code.language import (
    BITS,
    Count,
    Recurrence,
    Retrieval,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.program import Program
from weights2code.report.contents import Contents
from weights2code.results import certificate_dict
from weights2code.run_folder import begin
from weights2code.settings import Settings
from weights2code.verify import Agreement, Certificate
from weights2code.verify.certificate import Verdict
from weights2code.verify.links import Offered


def rule(inputs, outputs, start=None, **steps):
    made = tuple(Step(name, definition) for name, definition in steps.items())
    return Recurrence(tuple(inputs.split()), made, tuple(outputs.split()), start or {})


x, x1, y1, y2 = Var("x"), Var("x", 1), Var("y", 1), Var("y", 2)
a, b = Var("a"), Var("b")

#: What a run tried.
TRIED = Attempt("pairs", 0, 1e-9, verdict="proved", origin="written by hand")

PROGRAMS = {
    "one column": Program("sum_last2", rule("x", "y", y=x + x1), (integers(-9, 9),), True),
    "two columns": Program(
        "bit_addition",
        rule("a b", "y", carry=Var("a", 1) + Var("b", 1) > y1, y=(a + b + Var("carry")) % 2),
        (BITS, BITS),
        True,
    ),
    "two outputs": Program(
        "magnetic",
        rule("fx fy", "px py", px=Var("fx") + 2 * Var("px", 1) - Var("px", 2) - Var("py", 1) + Var("py", 2),
             py=Var("fy") + 2 * Var("py", 1) - Var("py", 2) + Var("px", 1) - Var("px", 2)),
        (integers(-10, 10), integers(-10, 10)),
        True,
    ),
    "first": Program("low", rule("x", "y", {"x": "first"}, y=minimum(x, x1)), (integers(0, 99),), True),
    "infinity": Program(
        "extremes",
        rule("x", "low high", {"low": inf, "high": -inf}, low=minimum(x, Var("low", 1)),
             high=maximum(x, Var("high", 1))),
        (integers(-9, 9),),
        True,
    ),
    "start": Program("alternate", rule("x", "y", {"y": 1.0}, y=1 - y1), (BITS,), True),
    "retrieval": Program(
        "retrieve",
        rule("key value query", "y", y=Retrieval("key", "value", Var("query"), 1, -1.0)),
        (integers(0, 3), integers(0, 99), integers(0, 3)),
        True,
    ),
    "retrieval now": Program(
        "retrieve_now",
        rule("key value", "y", y=Retrieval("key", "value", (Var("key") + 1) % 3, 0)),
        (integers(0, 2), integers(0, 9)),
        True,
    ),
    "counts": Program(
        "ranks",
        rule("x", "y", same=Count("x", x1, "eq"), y=Count("x", x + 1, "le")),
        (integers(0, 5),),
        True,
    ),
    "remainder and floor": Program(
        "carry",
        rule("x", "q r", q=op("floor", (x - 3) / 4) + x1 // 3, r=(x - 5) % 3 + (2 * x) % 7),
        (integers(-20, 20),),
        True,
    ),
    "cases and logic": Program(
        "thermostat",
        rule("x", "y", y=where(op("or", x > 3, op("and", op("not", x < 0), y1)), 1,
                               where(x.equals(0), 0.5, -1))),
        (integers(-5, 5),),
    ),
    "real": Program(
        "oscillator",
        rule("x", "y", y=0.3 * x + 0.7 * y1 - y2 / 3 + op("sqrt", abs(x)) + op("clip", x, -0.5, 0.25)),
        (reals(-1, 1),),
    ),
}  # fmt: skip


def certificate(verdict: Verdict = "proved", **other):
    plain = Certificate(
        verdict,
        "complete exploration of 2 states",
        ("bits",),
        "every length",
        (10, 40),
        Agreement(40, 0.0, 0.0, 1.0),
        model=Agreement(40, 1e-9, 1e-10, 1.0),
        versions={"python": "3.11"},
        seed=1,
        by_length={10: Agreement(20, 0.0, 0.0, 1.0), 40: Agreement(20, 0.0, 0.0, 1.0)},
        proof=Offered(kind="closure", transitions=6),
    )
    return replace(plain, **other)


def contents_of(program, **other):
    """The contents of a page without a run folder behind it."""
    facts = {"certificate": certificate(), "attempts": (TRIED,), "epochs": ()}
    return Contents(
        program.name, "A test.", (("seed", "0"),), "proved", program=program, **{**facts, **other}
    )


def parity_graph():
    """A hand-made graph that computes the parity of two bits: |x[t] - x[t-1]|; two nodes are dead."""
    weight = np.array([[1.0, -1.0], [-1.0, 1.0]])
    two = np.ones(2)
    dead = OperatorNode("V5_MLP_L0M1", (0, 3), weight, np.zeros(2), two, 0.0)
    nodes = (
        ChannelNode("V0_input", "x"),
        ChannelNode("V1_input", "y[t-1]"),
        RouterNode("V2_Attn_L0H0", "location", {"value": 0}, 1),
        RouterNode("V3_Attn_L0H1", "location", {"value": 1}, 2),
        OperatorNode("V4_MLP_L0M0", (0, 2), weight, np.zeros(2), two, 0.0),
        dead,
    )
    head = np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    return DiscreteGraph(nodes, head, Layout("autoregressive", (1.0,), (1.0,)), ("x",), ("y",), 10)


def metrics():
    lines = []
    for stage, epochs in (("linear", 1), ("pairs", 6)):
        for epoch in range(epochs):
            loss = [0.5 / (epoch + 1), None, 0.9]
            lines.append({
                "stage": stage, "epoch": epoch, "temperature": 5.0 / (epoch + 1), "seconds": 0.1,
                "soft_loss": loss, "hard_loss": loss, "discrepancy": [0.0, None, 0.1],
                "agreement": [0.5, 1.0, 1.0],
            })  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def run_folder(tmp_path):
    """A complete run folder of a built-in task, made without training."""
    machine = tasks.get("parity_last2").machine
    program = Program("parity_last2", machine, (BITS,), True, "written by hand").with_verdict("proved")
    extraction = Extraction(parity_graph(), None, program, certificate())
    with begin(tmp_path / "run", "parity_last2", Settings(samples=256)) as folder:
        folder.write("graph.json", json.dumps(graph_to_dict(extraction.graph)))
        folder.write("program.py", program.source())
        folder.write("metrics.jsonl", metrics())
        folder.write_json("certificate.json", certificate_dict(extraction, (TRIED,)))
    return Path(tmp_path / "run")


@pytest.fixture
def programs():
    return PROGRAMS


@pytest.fixture
def make_contents():
    return contents_of


@pytest.fixture
def make_certificate():
    return certificate


@pytest.fixture
def graph():
    return parity_graph()
