"""The page of tables counts outcomes by part and by field, beside what people would do without us."""

from __future__ import annotations

from typing import Any

import result_pages
import tables_page
from experiment_pages import Experiments
from suite_results import Suite

HEAD = {"command": "c", "commit": "abc", "date": "2030-01-02 03:04 UTC", "time_limit": 60.0, "run_seconds": 9}
HEAD |= {"machine": {"processor": "p", "cores": 2, "python": "3"}}


def row(name: str, field: str, part: str = "develop", **other: Any) -> dict[str, Any]:
    found = {"name": name, "field": field, "part": part, "exit": 0, "solved": True, "verdict": "tested"}
    found |= {"network": "proved", "formula": ["y[t] = x[t]", "z[t] = y[t]"], "seconds": 2.0}
    return found | {"tree": "wrong", "rpni": "exact", "operon": "-"} | other


ROWS = [
    row("door", "events"),
    row("lift", "events", "kept", solved=False, seconds=4.0, rpni="-"),
    row("boiler", "energy", "kept", solved=False, exit=3, formula=None, seconds=9.0, tree="exact"),
]


def test_outcomes_are_counted_by_part_and_by_field() -> None:
    text = tables_page.tables({**HEAD, "rows": ROWS})
    assert "| seen while the package was made | 1 | 1 | 0 | 0 | 2.0 | 0 of 1 | 1 of 1 | - |" in text
    assert "| kept for this measurement | 2 | 0 | 1 | 1 | 6.5 | 1 of 2 | 1 of 1 | - |" in text
    assert "| events | 2 | 1 | 1 | 0 | 3.0 | 0 of 2 | 1 of 1 | - |" in text
    assert "| all | 3 | 1 | 1 | 1 | 4.0 | 1 of 3 | 2 of 2 | - |" in text


def test_a_row_a_table_under_its_field() -> None:
    events = tables_page.tables({**HEAD, "rows": ROWS}).partition("## Events")[2]
    line = "| `door` | develop | solved | tested | proved | 2.0 | wrong | exact | - | `y[t] = x[t]`"
    assert events.index(line) < events.index("`lift`") < events.index("## Energy")


def test_what_was_not_measured_says_how_to() -> None:
    assert "python benchmarks/renew.py tables\n" in tables_page.tables(None)


def test_the_summary_has_a_line_once_it_is_measured() -> None:
    suites = {name: Suite.read(name, None) for name in ("mips", "paper")}
    nothing = result_pages.Measured(suites, None, None, None, None, ())
    assert "tables.md" not in result_pages.summary_table(nothing, Experiments({}, {}), "")
    found = result_pages.Measured(suites, None, None, None, None, (), tables={**HEAD, "rows": ROWS})
    text = result_pages.summary_table(found, Experiments({}, {}), "")
    assert "1 of 3 solved; median 4 s; of those not seen before 0 of 2" in text
    assert "decision tree 1 of 3, RPNI 2 of 2 |" in text
