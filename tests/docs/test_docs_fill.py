"""The slots of pages hold what the records say, and what was not measured yet says so."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import experiment_slots
import figures
import fill
import measured
import slots
import summary_slots
from case_table import loaded
from weights2code import tasks
from weights2code.experiments.records import Record

ROOT = Path(__file__).parents[2]
HEAD = {
    "command": "c",
    "commit": "abc",
    "date": "2030-01-02 03:04 UTC",
    "machine": {"processor": "p", "cores": 2, "python": "3"},
}


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Records in place of those that are there; none at first."""
    caches = (measured.record, experiment_slots.table_of, slots.gallery_runs, slots.kept_pages)
    for known in caches:
        known.cache_clear()
    monkeypatch.setattr(figures, "ROOT", tmp_path)

    def leave(name: str, *rows: dict[str, Any], **head: Any) -> None:
        Record({**HEAD, **head}, list(rows)).write(tmp_path / measured.FIGURES[name].record)

    yield leave
    for known in caches:
        known.cache_clear()


def row(task: str = "sum", seed: int = 0, **other: Any) -> dict[str, Any]:
    made = {"task": task, "name": task, "seed": seed, "status": "done", "solved": True, "verdict": "proved"}
    made |= {"seconds": 2.0, "exit": 0, "attempts": [], "network": "proved", "taught": "none", "method": "m"}
    return made | {"formula": "y[t] = x[t]"} | other


LOST: dict[str, Any] = {
    "solved": False,
    "verdict": "not extracted",
    "exit": 3,
    "network": "none",
    "formula": None,
}


def test_pages_and_readme_are_up_to_date() -> None:
    stale = fill.different(ROOT, figures.without_state)
    assert not stale, f"run `python docs/fill.py`, which writes {', '.join(stale)}"


def test_every_page_says_when_it_was_taken_or_that_it_was_not() -> None:
    for page in (ROOT / "docs/results").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert figures.SINCE in text or "Not measured yet" in text, page


def test_every_record_says_where_it_comes_from() -> None:
    for file in figures.records():
        record = Record.read(file)
        assert record is not None
        assert {"command", "commit", "date", "machine", "src"} <= set(record.head), file
        assert record.head["commit"] or record.head["committed_in"], file


def test_slots_are_blocks_or_parts_of_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "made", lambda name, words: f"{name} of {words}")
    once = fill.filled(
        "a <!-- fill: one two 'b c' -->old<!-- end -->.\n<!-- fill: table -->\n\nold\n<!-- end -->\n"
    )
    assert "a <!-- fill: one two 'b c' -->one of ['two', 'b c']<!-- end -->." in once
    assert "<!-- fill: table -->\n\ntable of []\n\n<!-- end -->\n" in once
    assert fill.filled(once) == once


def test_what_was_not_measured_names_its_command(left: Callable[..., None]) -> None:
    for name in (
        "suite mips",
        "counts tables",
        "experiment l1",
        "own_files own_data",
        "attack kills",
        "times",
    ):
        assert slots.made(*_split(name)).startswith(
            "Not measured yet. The command is: `python benchmarks/renew.py "
        )
    assert "| [kills](#kills) | - | - | - |" in slots.attacks()
    assert slots.failures() == "There are none."


def _split(words: str) -> tuple[str, list[str]]:
    name, *rest = words.split()
    return name, rest


def test_tasks_are_counted_by_seed(left: Callable[..., None]) -> None:
    left("mips", row(), row(seed=1, verdict="tested"), row("abs"), row("abs", 1, **LOST, error="killed"))
    assert slots.made("counts", ["mips"]) == "1 of 2 solved by each of 2 seeds; median 2 s"
    assert "| sum | 2/2 | 1/2 | 2 | `y[t] = x[t]` | yes |" in slots.suite("mips")
    assert "| abs | 1/2 | 1/2 |" in slots.suite("mips")
    assert "| MIPS | abs | 1 | defect | killed |" in slots.failures()
    assert "| MIPS | sum | 1 | proof | m |" in slots.failures()


def test_networks_are_told_apart_from_those_that_were_taught() -> None:
    found = [row(), row(network="differs", taught="proved"), row(network=None)]
    assert measured.networks(found) == "1 proved, 1 differs, 1 none, 1 taught proved"
    assert measured.networks([row(network="differs", taught="bounded")]) == "differs, taught bounded"


def test_experiments_are_tabulated_from_their_rows(left: Callable[..., None]) -> None:
    good = row("div_3", program_rmse=0.0, program_accuracy=1.0)
    lost: dict[str, Any] = {**LOST, "attempts": [{"text": "does not fit"}]}
    left("table1", good, row("parity", **lost), wall_seconds=120.0)
    text = slots.experiment("table1")
    assert text.startswith("## The fast recipe\n\nRows beside the paper's: 1 better, 1 worse.")
    assert "in 2.0 minutes" in text
    assert "| [table1](experiment_table1.md) | fast | 1 | 0 | 0 | 1 |" in slots.compared()
    assert "| does not fit | worse |" in slots.behind()
    assert "1 better, 1 worse" in slots.summary()


def test_what_is_answered_is_shown_as_its_record_keeps_it(left: Callable[..., None]) -> None:
    line = ["[large files]({folder}own_data.md)", "many rows", ""]
    left("wide", row(), pages={"large_files": "| a table |"}, summary=line)
    kept = {"columns": {"task": "task"}, "lines": [{"cells": {"task": "sum"}, "standing": "equal"}]}
    left("cost", row(), table={**kept, "notes": ["A note."]})
    assert slots.made("large_files", []) == "| a table |"
    assert "| [large files](docs/own_data.md) | many rows |  |" in slots.summary("docs/")
    assert "| sum | equal |\n\nA note." in slots.experiment("cost")
    assert "| [cost](experiment_cost.md) | fast | 0 | 1 | 0 | 0 |" in slots.compared()


def test_origins_are_summed(left: Callable[..., None]) -> None:
    ways = dict.fromkeys((slots.ANNEALED, *slots.WAYS), 1)
    left(
        "origins",
        {"group": "mips", "runs": 9, "solved": 5, **ways},
        {"group": "b", "runs": 1, "solved": 0, **ways},
    )
    assert "| mips | 9 | 5 | 1 | 1 | 1 | 1 | 1 |" in slots.origins()
    assert "| all | 10 | 5 | 2 |" in slots.origins()


def test_the_readme_has_ten_lines(left: Callable[..., None]) -> None:
    assert slots.summary("docs/results/").count("\n") <= 11
    assert "docs/results" not in slots.summary()


def test_the_facts_about_mips_name_every_task_once() -> None:
    assert summary_slots.mips_solved() <= {task.name for task in tasks.all_tasks("mips")}
    assert len(summary_slots.mips_solved()) == 32


def test_the_attacks_are_those_that_run() -> None:
    tree = ast.parse((ROOT / "benchmarks/reliability/run.py").read_text(encoding="utf-8"))
    (made,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ATTACKS"
    )
    assert tuple(ast.literal_eval(made)) == measured.renew.ATTACKS


def test_the_status_has_a_line_a_record(tmp_path: Path) -> None:
    place = tmp_path / "benchmarks/own_data/results/own_data.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"head": HEAD, "asked": {}, "rows": []}))
    (line,) = fill.status(tmp_path)
    assert line.startswith("benchmarks/own_data/results/own_data.json: at commit abc, ")


@pytest.mark.parametrize("name", slots.gallery_runs())
def test_programs_of_the_gallery_compute_their_task(name: str) -> None:
    task = tasks.get(name)
    x, y = task.sample(20, length=3 * task.length, seed=5)
    program = loaded(slots.gallery_runs()[name]["source"])
    for item, right in zip(x, y, strict=True):
        answer = program(item[:, 0] if x.shape[2] == 1 else item)
        np.testing.assert_allclose(np.reshape(answer, right.shape), right, atol=1e-6, rtol=1e-6)
