"""The pages of results say what the JSON files say, and read failures as they are meant."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmark_pages
import figures
import make_results
import result_pages
from suite_results import Suite
from weights2code import tasks
from weights2code.data import Regime
from weights2code.errors import Reason
from weights2code.experiments.limits import LIMIT_OF, LIMITS, failure, nearest
from weights2code.extraction.attempt import Attempt

ROOT = Path(__file__).parents[2]
HEAD = {
    "command": "c",
    "commit": "abc",
    "date": "2030-01-02 03:04 UTC",
    "machine": {"processor": "p", "cores": 2, "python": "3"},
}


def run(task: str = "parity_last2", seed: int = 0, **other: Any) -> dict[str, Any]:
    row = {"task": task, "seed": seed, "seconds": 2.0, "exit": 0, "attempts": [], "solved": True}
    row |= {"verdict": "proved", "method": "m", "formula": "y[t] = x[t]", "origin": "o", "source": "text\n"}
    return row | other


def suite(*rows: dict[str, Any]) -> Suite:
    return Suite.read("mips", {"summary": {**HEAD, "seconds": 60}, "rows": rows})


def test_pages_and_readme_are_up_to_date() -> None:
    stale = make_results.out_of_date()
    assert not stale, f"run `python docs/make_results.py`, which writes {', '.join(stale)}"


def test_the_facts_about_mips_name_every_task_once() -> None:
    assert result_pages.mips_solved() <= {task.name for task in tasks.all_tasks("mips")}
    assert len(result_pages.mips_solved()) == 32


def test_regression_without_a_network_counts_once_it_covers_the_suite() -> None:
    rows = [
        {"task": task, "way": "operon, lags to 3", "solved": task == "sum"} for task in ("sum", "parity")
    ] + [{"task": "sum", "way": "weights2code", "solved": True}]
    assert result_pages.solved_by_way({"rows": rows}, {"sum", "parity"}) == {"operon, lags to 3": {"sum"}}
    assert result_pages.solved_by_way({"rows": rows}, {"sum", "parity", "abs"}) == {}
    assert result_pages.solved_by_way(None, {"sum"}) == {}


@pytest.mark.parametrize("path", sorted((ROOT / "docs/gallery").glob("*.py")), ids=lambda path: path.stem)
def test_programs_of_the_gallery_compute_their_task(path: Path, loaded: Callable[[str], Callable]) -> None:
    task = tasks.get(path.stem)
    x, y = task.sample(20, length=3 * task.length, seed=5)
    program = loaded(path.read_text(encoding="utf-8"))
    for item, right in zip(x, y, strict=True):
        answer = program(item[:, 0] if x.shape[2] == 1 else item)
        np.testing.assert_allclose(np.reshape(answer, right.shape), right, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("attempts", "limit"),
    [
        ([Attempt("pairs", 0, 0.5, reason=Reason.UNFIT)], "training"),
        (
            [
                Attempt("aggregates", 0, 0.05, reason=Reason.NO_FORMULA),
                Attempt("wide", 0, 0.2, reason=Reason.UNDETERMINED),
            ],
            "regression",
        ),
        (
            [
                Attempt("linear", 0, 1.0, reason=Reason.UNFIT),
                Attempt("pointers", 0, 3e-5, reason=Reason.UNMATCHED),
            ],
            "routing",
        ),
        ([Attempt("pairs", 0, math.inf, reason=Reason.UNFIT)], "training"),
        ([Attempt("pairs", 1, 1e-9, verdict="failed", reason=Reason.WRONG)], "regression"),
        ([Attempt("pairs", 0, 0.1, Regime.MISTAKES, reason=Reason.DEFECT)], "defect"),
        ([], "training"),
    ],
)
def test_the_nearest_attempt_names_the_limit(attempts: list[Attempt], limit: str) -> None:
    stored = [attempt.to_dict() for attempt in attempts]
    assert nearest(stored).limit == limit
    missed = run(solved=False, exit=3, verdict="-", attempts=stored)
    found = failure(missed)
    assert found is not None
    assert found.limit == limit


def test_other_limits() -> None:
    assert failure(run()) is None
    for row, limit in (
        (run(verdict="tested"), "proof"),
        (run(solved=False), "test"),
        ({"task": "a", "seed": 0, "error": "ValueError: no", "solved": False, "seconds": 1}, "defect"),
    ):
        found = failure(row)
        assert found is not None
        assert found.limit == limit
    assert set(LIMIT_OF) == set(Reason)
    assert set(LIMIT_OF.values()) <= set(LIMITS)


def test_rows_of_the_bench_command_are_read_as_they_are() -> None:
    failed = {"task": "abs", "seed": 0, "solved": False, "key": "abs-seed0", "status": "failed"}
    failed |= {"error": "its process was ended by SIGKILL", "seconds": 0.0, "tries": 3}
    found = suite(run(error=None, status="done", tries=1), failed)
    assert found.count("solved") == (1, 1)
    page = result_pages.failures({"mips": found}, None)
    assert "| mips | `abs` | 0 | defect | its process was ended by SIGKILL |" in page
    assert "| `abs` | 0/1 | - |" in result_pages.mips(found)


def test_a_suite_counts_seeds_and_shows_the_best_run() -> None:
    missed = [Attempt("deep", 0, 1.0, reason=Reason.UNFIT, detail="does not fit").to_dict()]
    found = suite(
        run(seed=1, verdict="tested", formula="worse"),
        run(seed=2, formula="better", model_fits=False),
        run(seed=0, solved=False, exit=3, verdict="-", attempts=missed),
        run("abs"),
    )
    assert found.count("solved") == (1, 2)
    assert found.count("proved") == (1, 2)
    assert found.caveats == 1
    by_name = {task.name: task for task in found.tasks}
    assert by_name["parity_last2"].shown is not None
    assert by_name["parity_last2"].shown["formula"] == "better"
    page = result_pages.failures({"mips": found}, None)
    assert "| mips | `parity_last2` | 0 | training | deep, member 0 (hard loss 1): does not fit |" in page
    assert "| mips | `parity_last2` | 1 | proof | m |" in page
    assert "`abs`" not in page
    assert set(result_pages.gallery_runs([found])) == {"abs", "parity_last2"}
    assert "| `parity_last2` | 2/3 |" in result_pages.mips(found)


def test_own_data_that_pass_but_are_wrong_are_named() -> None:
    case = {"name": "c", "solved": False, "verdict": "tested", "formula": "y[t] = 1", "attempts": []}
    assert "| own data | `c` |  | test |" in result_pages.failures({}, {**HEAD, "rows": [case]})


def test_large_files_have_a_line_each() -> None:
    numbers = ("columns_gib", "peak_gib", "times_columns", "cpu_seconds_to_read", "arrow_cpu_seconds")
    numbers += ("seconds_until_first_rung", "seconds_until_first_rung_is_done", "seconds", "cpu_seconds")
    row = {"file": "parquet", "rows": 10**7, "columns_used": 100, "gib_at_first": 0.2}
    row |= {name: 2.5 + place for place, name in enumerate(numbers)}
    text = benchmark_pages.large_files({**HEAD, "rows": [row]}, None)
    assert "| parquet | 10,000,000 | 100 | 2.50 GiB | 3.50 GiB | 4.5 | 5.5 s | 6.5 s |" in text
    assert "python benchmarks/renew.py wide" in benchmark_pages.large_files(None, None)


def test_a_suite_without_measurements_says_so() -> None:
    nothing = Suite.read("mips", None)
    assert "Not measured yet" in result_pages.mips(nothing)
    assert "Not measured yet: mips" in result_pages.failures({"mips": nothing}, None)
    assert "python benchmarks/renew.py mips" in result_pages.gallery({})


def test_a_readme_without_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="needs the lines"):
        make_results.filled("no markers", "table")


def test_what_judging_again_has_changed_is_said() -> None:
    some = {"programs": 9, "before": 8, "now": 7, "changed": ["abs 1"], "kept": []}
    other = {"programs": 3, "before": 3, "now": 3, "changed": [], "kept": ["door: hour"]}
    text = result_pages.solved_means({"a.json": some, "b.json": other})
    assert "of 12 11 were called solved, 10 are now. Changed: abs 1 (`a.json`). 1 cannot be run" in text
    line = figures.taken({**HEAD, "judged": some})
    assert line.endswith(
        "Its 9 programs were judged again since (`benchmarks/rejudge.py`): solved 8 before, 7 now (abs 1)."
    )
    assert "1 that cannot be run from what is stored keeps the old" in figures.judged_anew(other)
