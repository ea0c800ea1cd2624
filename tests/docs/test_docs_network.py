"""The page of the networks counts what the record says."""

from __future__ import annotations

from typing import Any

import network_page


def row(task: str, seed: int, network: str, **more: Any) -> dict[str, Any]:
    made = {
        "task": task, "seed": seed, "suites": ["paper"], "whole": True, "network": network, "margin": 0.4,
        "network_error": 0.1, "covers": "at every length", "trained_on": 0, "cpu_seconds": 2.0,
        "link_seconds": 0.5, "listing_error": 1e-12, "listing_scale": 10.0,
    }  # fmt: skip
    return made | more


def record(*rows: dict[str, Any]) -> dict[str, Any]:
    head = {"command": "python benchmarks/network/links.py", "commit": "abc", "date": "2030-01-02 03:04 UTC"}
    return {**head, "machine": {"processor": "p", "cores": 2, "python": "3"}, "rows": list(rows)}


def test_verdicts_are_counted_by_group() -> None:
    rows = [
        row("sum_last2", 0, "proved"),
        row("sum_last2", 1, "proved", trained_on=2, margin=0.25),
        row("parity", 0, "proved", suites=["paper", "mips"]),
        row("parity", 1, "differs", suites=["paper", "mips"], covers="the counterexample", margin=None),
        row("linear_drop", 0, "bounded", whole=False, margin=None, network_error=3e-5),
    ]
    text = network_page.network(record(*rows))
    assert "| the paper's tasks of whole numbers | 4 | 3 | 0 | 0 | 0 | 1 | 0 | 1 of 2 | 2.0 | 25% |" in text
    assert "| the paper's continuous tasks | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 1 of 1 |" in text
    assert "| the tasks of MIPS | 2 | 1 | 0 | 0 | 0 | 1 | 0 | 0 of 1 |" in text
    assert "| `sum_last2` | proved | at every length | 0.25 | 0.1 | 1 | 2.0 | 0.5 |" in text
    assert "| `parity` | proved 1, differs 1 | the counterexample |" in text
    assert "| `linear_drop` | 3e-05 | 5.21e-4 |" in text
    assert "difference is 1e-13 of the scale" in text
    assert "at commit abc" in text


def test_taught_networks_are_counted_beside_the_trained_ones() -> None:
    rows = [
        row("sum_last2", 0, "proved", taught="none"),
        row("sum_last2", 1, "differs", taught="proved"),
        row("parity", 0, "tested", taught="exhaustive"),
    ]
    text = network_page.network(record(*rows))
    assert "| differs | none | taught proved | taught exhaustive | tasks equal in every seed |" in text
    assert (
        "| the paper's tasks of whole numbers | 3 | 1 | 0 | 0 | 1 | 1 | 0 | 1 | 1 | 1 of 2 |" in text
    )  # what equals the program is the taught one
    assert "| `sum_last2` | proved 1, differs 1, taught proved 1 |" in text
    counted = network_page.network_counts(rows)
    assert counted == "of 3 runs 1 proved, 1 tested, 1 differs, 1 taught proved, 1 taught exhaustive"


def test_a_record_from_before_says_which_network_it_is_about() -> None:
    rows = [row("sum_last2", 0, "proved")]
    assert "the network that was left" in network_page.network(record(*rows))
    assert network_page.network_counts(rows) == "of 1 runs 1 proved (of the network that was left)"


def test_what_was_not_measured_says_so() -> None:
    assert "python benchmarks/renew.py links" in network_page.network(None)
