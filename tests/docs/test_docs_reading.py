"""Tables of how rules were read count what the rows say, and old or missing records break no page."""

from __future__ import annotations

from typing import Any

import deep_page
import random_page
import reading_tables as tables

HEAD = {"command": "c", "commit": "abc", "date": "2030-01-02 03:04 UTC"}
HEAD |= {"machine": {"processor": "p", "cores": 2, "python": "3"}}
#: What older records do not say.
NEWER = ("network", "cut", "nodes", "right_network")


def row(name: str = "p000", **other: Any) -> dict[str, Any]:
    made = {
        "name": name, "family": "window", "size": 1, "memory": "window", "seed": 7, "rule": "y[t] = x[t]",
        "solved": True, "verdict": "proved", "seconds": 2.0, "exit": 0, "attempts": [], "network": "proved",
        "cut": 0, "nodes": ["x"], "right_network": True, "formula": "y[t] = x[t]", "origin": "o",
    }  # fmt: skip
    return made | other


def missed(name: str, **other: Any) -> dict[str, Any]:
    gone = {"solved": False, "verdict": "not extracted", "exit": 3, "network": "none", "cut": None}
    return row(name, **(gone | {"nodes": None, "formula": None, "right_network": False} | other))


ROWS = [
    row("p000"),
    row("p001", size=3, cut=2, nodes=["v3", "v5", "v6"], network="bounded"),
    row("p002", size=3, cut=2, nodes=["v3"], seconds=9.0),
    missed("p003", size=3, right_network=True),
    missed("p004", size=3, memory="hidden", family="carry"),
    missed("p005", size=1, memory="hidden", right_network=True),
]


def random_record(rows: list[dict[str, Any]], seed: int = 7) -> dict[str, Any]:
    solved = sum(one["solved"] for one in rows)
    summary = {**HEAD, "run_seconds": 60.0, "runs": len(rows), "solved": solved, "proved": solved}
    return {"summary": summary | {"seed": seed}, "rows": rows}


def test_the_headline_leaves_hidden_memory_out() -> None:
    shown = tables.counts_by(tables.without_hidden(ROWS), "size")
    assert "| 1 | 1 | 1 | 100% | 1 | 2.0 |" in shown
    assert "| 3 | 3 | 2 | 67% | 2 | 2.0 |" in shown
    assert "| all | 4 | 3 | 75% | 3 | 2.0 |" in shown
    assert "| 3 | 4 | 2 | 50% |" in tables.counts_by(ROWS, "size")


def test_cuts_and_networks_are_those_of_recovered_programs() -> None:
    cuts = tables.cuts_by(ROWS, "size")
    assert "| cut | recovered | size 1 | size 3 | median nodes |" in cuts
    assert "| 0, the leaves | 1 | 1 | 0 | 1 |" in cuts
    assert "| 2 | 2 | 0 | 2 | 2 |" in cuts
    assert "| 3 | 2 | 1 | 0 | 1 | 0 | 0 | 0 |" in tables.networks_by(ROWS, "size")


def test_cuts_that_are_not_named_are_counted_as_such() -> None:
    shown = tables.cuts_by([row(cut=None, nodes=None), row(cut=1)], "size")
    assert "| not said | 1 | 1 | - |" in shown
    assert shown.index("| 1 | 1 |") < shown.index("| not said")


def test_right_networks_that_were_not_read_are_named() -> None:
    assert [one["name"] for one in tables.right_not_read(ROWS)] == ["p003", "p005"]
    assert "| 3 | 4 | 2 | 1 | p003 |" in tables.not_read_by(ROWS, "size")


def test_the_page_begins_with_the_seed_for_measuring() -> None:
    old = [{key: value for key, value in one.items() if key not in NEWER} for one in ROWS[:2]]
    deeper = [row(size=4), missed("p001", size=5)]
    text = random_page.random_programs(random_record(old, seed=3), random_record(ROWS), random_record(deeper))
    assert "Seed 7 is for measuring only" in text
    assert text.index("## By size, without hidden memory") < text.index("## Missed")
    assert "2 of 3 missed programs" in text
    assert "## Sizes 4 and 5" in text
    assert "The programs of seed 3" in text
    earlier = random_page.random_programs(None, random_record(ROWS), None, random_record(old, seed=7))
    assert "Seed 7 was measured in the same way earlier" in earlier
    alone = random_page.random_programs(random_record(old, seed=3))
    assert "## Missed" in alone
    assert "## Networks" not in alone
    assert "for measuring only" not in alone
    assert "python benchmarks/renew.py random_programs" in random_page.random_programs(None)


def test_the_summary_names_the_shares_without_hidden_memory() -> None:
    line = random_page.random_line(random_record(ROWS))
    assert line == "3 of 6 recovered, 3 proved; without hidden memory size 1 1 of 1, size 3 2 of 3"


def test_hidden_memory_has_a_part_of_its_own() -> None:
    hidden = [
        row(memory="hidden", family="carry", size=2, told="1 back"),
        missed("p001", memory="hidden", size=3, told="no window"),
    ]
    text = random_page.random_programs(None, random_record(ROWS), hidden=random_record(hidden, seed=9))
    part = text.partition("## Hidden memory")[2]
    assert "The first 2 programs of seed 9" in part
    assert "| carry | 1 | 1 | 100% | 1 | 2.0 |" in part
    assert "| no window | 1 | 0 | 0% | 0 | 2.0 |" in part
    assert "| p001 | window | 3 |" in part.partition("### Missed")[2]
    assert "without hidden memory" not in part
    assert random_page.random_line(random_record(hidden)) == "1 of 2 recovered, 1 proved"


def test_deep_rules_by_part_and_beside_what_was_before() -> None:
    files = [
        row("lamp", part="kept", steps=3, field="lighting", cut=2),
        missed("dice", part="develop", steps=4, field="games", right_network=True),
    ]
    before = [missed("dice", part="develop", steps=4)]
    text = deep_page.deep_rules({**HEAD, "rows": files}, {**HEAD, "rows": before})
    assert "1 of 2 solved, median 2.0 s." in text
    assert "Of those kept back at first 1 of 1." in text
    assert "Networks right on validation but not read: 1." in text
    assert "| lamp | lighting | kept | 3 | yes | - | proved | proved | 2 |" in text
    assert "| dice | games | develop | 4 | no | no | not extracted | none | - |" in text
    assert "0 of 1 files of development were solved (none)" in text


def test_what_was_not_measured_says_so() -> None:
    assert deep_page.deep_rules(None, None).count("Not measured yet") == 1
