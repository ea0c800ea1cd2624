"""The pages of experiments say what the records say, and cope with those that are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import experiment_pages
import make_results
from experiment_pages import Experiments
from weights2code.experiments.registry import NAMES


def record(name: str = "table1", *lines: dict[str, Any], cores: int = 2) -> dict[str, Any]:
    cells = {"task": "div_3", "accuracy": 1.0, "seconds": 2.0}
    lines = lines or ({"cells": cells, "standing": "better", "why": ""},)
    standing: dict[str, int] = {}
    for line in lines:
        standing[line["standing"]] = standing.get(line["standing"], 0) + 1
    return {
        "experiment": name,
        "command": f"w2c experiment {name}",
        "commit": "abc",
        "date": "2030-01-02 03:04 UTC",
        "machine": {"processor": "a processor", "cores": cores, "python": "3.12"},
        "options": {"seeds": [0, 1]},
        "wall_seconds": 120.0,
        "failed": [],
        "standing": standing,
        "table": {
            "columns": {"task": "task", "accuracy": "accuracy"},
            "lines": list(lines),
            "notes": ["A note."],
        },
    }


def test_nothing_measured_names_the_commands() -> None:
    made = experiment_pages.all_pages(Experiments({}, {}))
    assert set(made) == {f"experiment_{name}.md" for name in NAMES} | {"compared_with_the_paper.md"}
    for name in NAMES:
        assert f"w2c experiment {name} --out benchmarks/experiments/{name}" in made[f"experiment_{name}.md"]
    assert "Not measured yet" in made["compared_with_the_paper.md"]


def test_a_page_has_table_figure_and_where_it_comes_from() -> None:
    found = Experiments({("table1", "fast"): record()}, {("table1", "fast"): "<svg/>"})
    made = experiment_pages.all_pages(found)
    text = made["experiment_table1.md"]
    assert "| div_3 | 1 | better |" in text
    assert "A note." in text
    assert (
        "at commit abc, 2030-01-02 03:04 UTC, on a processor with 2 cores, Python 3.12, in 2.0 minutes"
        in text
    )
    assert "experiment_table1_fast.svg" in text
    assert made["experiment_table1_fast.svg"] == "<svg/>"
    compared = made["compared_with_the_paper.md"]
    assert "| [table1](experiment_table1.md) | fast | 1 | 0 | 0 | 0 |" in compared
    assert "Nowhere, in what was measured." in compared
    assert "Not measured yet: protocol, architectures" in compared


def test_one_sequence_everywhere_is_a_way_of_its_own() -> None:
    found = Experiments({("robustness", "concat"): record("robustness")}, {})
    pages = experiment_pages.all_pages(found)
    assert "## The fast recipe, inputs and outputs in one sequence" in pages["experiment_robustness.md"]
    assert (
        "| [robustness](experiment_robustness.md) | concat | 1 | 0 | 0 | 0 |"
        in (pages["compared_with_the_paper.md"])
    )
    assert experiment_pages.command("robustness", "concat").startswith(
        "w2c experiment robustness --layout concat --out"
    )


def test_what_is_worse_is_named_with_its_reason() -> None:
    worse = {"cells": {"task": "magnetic", "accuracy": 0.1}, "standing": "worse", "why": "does not fit"}
    mixed = {"cells": {"task": "spring", "accuracy": 0.9}, "standing": "mixed", "why": ""}
    found = Experiments({("table1", "fast"): record("table1", worse, mixed)}, {})
    text = experiment_pages.compared(found)
    assert "| magnetic | 0.1 | does not fit | worse |" in text
    assert "| spring | 0.9 | - | mixed |" in text
    assert found.standing == {"worse": 1, "mixed": 1}


def test_the_time_to_a_program_is_compared_and_says_where() -> None:
    slow = record()
    slow["table"]["lines"][0]["cells"] = {"task": "div_3", "accuracy": 1.0, "seconds": 500.0}
    both = {("table1", "fast"): record(), ("table1", "paper"): slow}
    text = experiment_pages.cost(Experiments(both, {}))
    assert "| div_3 | 2.0 | 500.0 | 250 |" in text
    assert "Both on a processor with 2 cores, Python 3.12." in text
    both[("table1", "paper")] = {**slow, "machine": {**slow["machine"], "accelerator": "a GPU"}}
    assert "and a GPU, Python 3.12: not one machine." in experiment_pages.cost(Experiments(both, {}))
    assert experiment_pages.cost(Experiments({("table1", "fast"): record()}, {})) == ""


def test_records_are_found_where_the_commands_leave_them(tmp_path: Path) -> None:
    place = tmp_path / "benchmarks" / experiment_pages.folder("l1", "paper")
    place.mkdir(parents=True)
    (place / "experiment.json").write_text(json.dumps(record("l1")))
    (place / "figure.svg").write_text("<svg/>")
    found = make_results.reproduced(tmp_path)
    assert set(found.records) == set(found.figures) == {("l1", "paper")}
    assert experiment_pages.command("l1", "paper").endswith(place.relative_to(tmp_path).as_posix())
