"""Shared by the tests of the report: contents of a page, and a run folder written by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from weights2code import tasks
from weights2code.data import Layout
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.values import Extraction
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.graph import to_dict as graph_to_dict
from weights2code.language import BITS
from weights2code.program import Program
from weights2code.report import write_report
from weights2code.report.contents import Contents
from weights2code.results import certificate_dict
from weights2code.run_folder import begin, open_existing
from weights2code.settings import Settings
from weights2code.verify import Agreement, Certificate
from weights2code.verify.certificate import Verdict
from weights2code.verify.links import Offered

#: What a run tried.
TRIED = Attempt("pairs", 0, 1e-9, verdict="proved", origin="written by hand")


def certificate(verdict: Verdict = "proved", **other):
    facts = {
        "method": "complete exploration of 2 states",
        "domain": ("bits",),
        "covers": "every length",
        "lengths": (10, 40),
        "target": Agreement(40, 0.0, 0.0, 1.0),
        "model": Agreement(40, 1e-9, 1e-10, 1.0),
        "versions": {"python": "3.11"},
        "seed": 1,
        "by_length": {10: Agreement(20, 0.0, 0.0, 1.0), 40: Agreement(20, 0.0, 0.0, 1.0)},
        "proof": Offered(kind="closure", transitions=6),
    }
    return Certificate(verdict, **(facts | other))


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
def report(run_folder):
    """The page of that folder."""
    with open_existing(run_folder) as folder:
        return write_report(folder).read_text(encoding="utf-8")


@pytest.fixture
def make_contents():
    return contents_of


@pytest.fixture
def make_certificate():
    return certificate


@pytest.fixture
def graph():
    return parity_graph()
