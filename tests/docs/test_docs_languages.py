"""The page of formal languages counts runs by language, beside what merged states give."""

from __future__ import annotations

from typing import Any

import languages_page
import result_pages
from experiment_pages import Experiments
from suite_results import Suite

HEAD = {"command": "c", "commit": "abc", "date": "2030-01-02 03:04 UTC", "time_limit": 60.0, "run_seconds": 9}
HEAD |= {"machine": {"processor": "p", "cores": 2, "python": "3"}, "seeds": [0, 1], "sequences": [50, 100]}


def run(task: str, seed: int = 0, **other: Any) -> dict[str, Any]:
    row = {"task": task, "seed": seed, "finite": True, "solved": True, "verdict": "proved", "exit": 0}
    row |= {"attempts": [], "network": "proved", "formula": "y[t] = x[t]", "body": 3, "operations": 2}
    row |= {"seconds": 2.0, "rpni_states": 4, "rpni_exact": True, "rpni_seconds": 0.1}
    return row | other


LOST: dict[str, Any] = {"solved": False, "verdict": "not extracted", "exit": 3, "network": "none"}
ROWS = [
    run("tomita_2"),
    run("tomita_2", 1, verdict="tested", seconds=4.0, operations=1),
    run("Majority_0_3", finite=False, rpni_states=None, rpni_exact=False, rpni_seconds=60.0),
    run("Majority_0_3", 1, finite=False, rpni_exact=False, formula=None, **LOST),
]


def test_a_row_a_language_with_its_best_program() -> None:
    text = languages_page.languages({**HEAD, "rows": ROWS}, None)
    assert "| `tomita_2` | 2/2 | 1/2 | 3.0 | 3 | 2 | proved 2 | `y[t] = x[t]` | 4 | 2/2 | 0.10 |" in text
    assert "| `most_frequent` | 1/2 | 1/2 | 2.0 | 3 | 2 | proved 1 | `y[t] = x[t]` | -, 4 | 0/2 |" in text
    assert text.index("## Finitely many states") < text.index("## Something grows") < text.index("## Missed")
    assert "| `most_frequent` | 1 |" in text.partition("## Missed")[2]


def test_nothing_is_missed_if_all_is_solved() -> None:
    assert "## Missed" not in languages_page.languages({**HEAD, "rows": ROWS[:2]}, None)


def test_rows_needed_are_shares_of_the_draws() -> None:
    rows = [
        {
            "task": "tomita_1",
            "sequences": count,
            "seed": seed,
            "solved": count == 100,
            "rpni_exact": seed == 0,
        }
        for count in (50, 100)
        for seed in (0, 1)
    ]
    text = languages_page.languages(None, {**HEAD, "rows": rows})
    assert "| language | 50 sequences | RPNI | 100 sequences | RPNI |" in text
    assert "| `tomita_1` | 0/2 | 1/2 | 2/2 | 1/2 |" in text
    assert "| all | 0/2 | 1/2 | 2/2 | 1/2 |" in text


def test_what_was_not_measured_says_how_to() -> None:
    text = languages_page.languages(None, None)
    assert "python benchmarks/renew.py languages\n" in text
    assert "python benchmarks/renew.py language_rows\n" in text


def test_the_summary_has_a_line_once_it_is_measured() -> None:
    suites = {name: Suite.read(name, None) for name in ("mips", "paper")}
    nothing = result_pages.Measured(suites, None, None, None, None, ())
    assert "languages.md" not in result_pages.summary_table(nothing, Experiments({}, {}), "")
    found = result_pages.Measured(suites, None, None, None, None, (), languages={**HEAD, "rows": ROWS})
    text = result_pages.summary_table(found, Experiments({}, {}), "")
    assert "| [formal languages](languages.md) | 1 of 2 solved by each of 2 seeds, 0 proved;" in text
    assert "RPNI: 1 of 2" in text
