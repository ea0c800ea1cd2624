"""The page of attacks says what the summaries say, and what was not measured yet."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import reliability_page

RUN = Path(__file__).parents[2] / "benchmarks/reliability/run.py"


def summary(*failed: dict[str, Any], failures: int | None = None) -> dict[str, Any]:
    number = len(failed) if failures is None else failures
    return {
        "attack": "mutants",
        "seed": 3,
        "cases": 120,
        "failures": number,
        "slowest": 12.34,
        "kinds": [
            {"kind": "constant", "cases": 100, "outcomes": {"failed": 90, "proved": 10}, "failures": number},
            {"kind": "operator", "cases": 20, "outcomes": {"": 20}, "failures": 0},
        ],
        "failed": list(failed),
        "command": "python benchmarks/reliability/run.py mutants --count 120 --seed 3",
        "commit": "abc",
        "date": "2030-01-02 03:04 UTC",
        "machine": {"processor": "p", "cores": 2, "python": "3"},
    }


def failure(number: int, text: str) -> dict[str, Any]:
    return {
        "number": number,
        "kind": "constant",
        "outcome": "proved",
        "failure": text,
        "detail": "y[t] = x[t]",
    }


def test_the_attacks_are_those_that_run() -> None:
    tree = ast.parse(RUN.read_text(encoding="utf-8"))
    (names,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ATTACKS"
    )
    assert tuple(reliability_page.CHECKED) == names


def test_what_held_is_counted_by_kind() -> None:
    text = reliability_page.reliability({"mutants": summary()})
    assert "| [mutants](#mutants) | 120 | " in text
    assert " | 0 | 12.3 s |" in text
    assert "| constant | 100 | failed: 90, proved: 10 | 0 |" in text
    assert "| operator | 20 | as it should: 20 | 0 |" in text
    assert "--seed 3` at commit abc, 2030-01-02 03:04 UTC, on p with 2 cores" in text
    assert "````" not in text
    assert "| [mutants](#mutants) | 120 of 10000 | " in reliability_page.reliability(
        {"mutants": {**summary(), "whole": 10000}}
    )


def test_failures_are_spelled_out() -> None:
    two = summary(
        failure(17, "wrong: called proved"), failure(23, "Traceback\n" + "a\n" * 30 + "KeyError: 'x'")
    )
    text = reliability_page.reliability({"mutants": two})
    assert "Failures, with the numbers of their cases:" in text
    assert "17: constant\n    wrong: called proved\n" in text
    assert "    KeyError: 'x'\n" in text
    assert "Traceback" not in text
    many = reliability_page.reliability({"mutants": summary(failure(1, "f"), failures=500)})
    assert "The first 1 of 500 failures" in many


def test_what_was_not_measured_names_its_command() -> None:
    text = reliability_page.reliability({"mutants": summary()})
    assert "| [kills](#kills) | not measured yet |" in text
    assert "Not measured yet. The command is:\n\n```\npython benchmarks/renew.py kills\n```" in text
    assert "renew.py mutants" not in text
