"""Times: hours, weekdays, the time between rows, zones, and steps that are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import FileSource, Problem, file_source, from_file
from weights2code.data.times import remark_on_steps, time_leaf, time_leaves
from weights2code.errors import InputError


def moments(*texts: str) -> Any:
    found = np.array(texts, dtype="datetime64[us]")
    return found, found


def leaves(times: Any, ends: list[int] | None = None, taken: tuple[str, ...] = ()) -> dict[str, list[float]]:
    rows = np.arange(len(times[0]))
    found = time_leaves(times, rows, np.array(ends or [], int), "when", taken)
    return {name: values.tolist() for name, values in found.items()}


def test_hours_weekdays_and_the_time_between_rows():
    times = moments("2024-01-01 00:00", "2024-01-01 06:30", "2024-01-02 23:59:59", "2024-01-07 12:00")
    assert leaves(times) == {
        "hour": [0, 6, 23, 12],
        "weekday": [0, 0, 1, 6],
        "seconds_since_last": [0, 23400, 149399, 388801],
    }
    days = moments("2024-01-01", "2024-01-03", "2024-01-04", "2024-01-07")
    assert leaves(days) == {"weekday": [0, 2, 3, 6], "days_since_last": [0, 2, 1, 3]}


def test_what_does_not_vary_is_no_input():
    assert leaves(moments("2024-01-01", "2024-01-08", "2024-01-15")) == {}
    assert list(leaves(moments("2024-01-01 10:00", "2024-01-01 11:00", "2024-01-01 12:00"))) == ["hour"]
    numbers = np.array([1.0, 2.0, 4.0])
    assert leaves((numbers, numbers)) == {"since_last": [0, 1, 2]}
    equal = np.array([1.0, 2.0, 3.0])
    assert leaves((equal, equal)) == {}


def test_sequences_begin_with_no_time_passed():
    times = moments("2024-01-01 10:00", "2024-01-01 11:00", "2024-01-01 08:00", "2024-01-01 10:00")
    assert leaves(times, [2])["hours_since_last"] == [0, 1, 0, 2]


def test_names_that_are_taken_get_the_name_of_the_column():
    times = moments("2024-01-01 10:00", "2024-01-01 11:00")
    assert list(leaves(times, taken=("hour",))) == ["when_hour"]
    found = time_leaf(times, np.arange(2), np.array([], int), "when", "when_hour")
    assert found is not None
    assert found.tolist() == [10, 11]
    assert time_leaf(times, np.arange(2), np.array([], int), "when", "size") is None


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["2024-01-01", "2024-01-02", "2024-01-03"], ""),
        (
            [f"2024-01-{day:02}" for day in range(1, 25) if day != 11],
            "when goes on by 1 day, but 1 step is missing, the first after 2024-01-10 00:00:00",
        ),
        (
            ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 01:30", "2024-01-01 05:00"],
            "rows come at unequal distances of when: from 30 minutes to 3.5 hours",
        ),
    ],
)
def test_steps_that_are_missing_are_said(texts: list[str], words: str):
    said = remark_on_steps(moments(*texts)[0], np.array([], int), "when")
    assert said.startswith(words)
    assert bool(said) == bool(words)


def test_numbers_have_steps_too():
    numbers = np.array([*range(20), *range(22, 40)])
    said = remark_on_steps(numbers, np.array([], int), "minute")
    assert said == "minute goes on by 1, but 1 step is missing, the first after 19"
    two = np.array([0, 1, 2, 0, 1, 2])
    assert remark_on_steps(two, np.array([3]), "minute") == ""


def problem(path: Path, rows: list[str]) -> Problem:
    path.write_text("when,load,cost\n" + "\n".join(rows) + "\n")
    return from_file(file_source(path, ["load"], ["cost"], time="when"), 0)


def test_zones_count_for_distances_and_not_for_hours(tmp_path: Path):
    rows = [
        f"2024-03-{day:02}T{7 + day % 3:02}:00{'+01:00' if day < 15 else '+02:00'},{day},{day % 5}"
        for day in range(1, 29)
    ]
    found = problem(tmp_path / "rows.csv", rows)
    assert found.inputs == ("load", "hour", "weekday", "hours_since_last")
    hours = np.concatenate([found.training.x[..., 1].ravel(), found.validation.x[..., 1].ravel()])
    assert set(hours.tolist()) <= {0.0, 7.0, 8.0, 9.0}
    assert 22.0 in found.training.x[..., 3] or 24.0 in found.training.x[..., 3]


def test_a_source_says_which_column_is_the_time(tmp_path: Path):
    file = tmp_path / "rows.csv"
    file.write_text("when,load,cost\n2024-01-01,1,2\n")
    source = file_source(file, ["load"], ["cost"], time="when")
    assert source.roles.order == source.roles.time == "when"
    assert FileSource.from_dict(source.to_dict()) == source
    with pytest.raises(InputError, match="--time 'load' is an input"):
        file_source(file, ["load"], ["cost"], time="load")


@pytest.mark.slow
def test_a_rule_of_hours_and_distances_is_found_and_runs_on_new_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A meter that is read at odd times: the night tariff from 22 to 6, times the hours since the last."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    at, lines = np.datetime64("2024-01-01T00:00"), []
    for _ in range(400):
        step = int(rng.integers(1, 6))
        at = at + np.timedelta64(step, "h")
        hour, load = int(at.astype("datetime64[h]").astype(int) % 24), int(rng.integers(1, 9))
        price = 2 if hour < 6 else 3
        lines.append(f"{str(at).replace('T', ' ')},{load},{load * price}")
    Path("meter.csv").write_text("when,load,cost\n" + "\n".join(lines) + "\n")
    command = "fit meter.csv --inputs load --targets cost --time when --out out --json"
    assert main(command.split()) == 0
    result = json.loads(capsys.readouterr().out)
    (formula,) = result["formula"]
    assert "hour[t]" in formula
    assert any("rows come at unequal distances of when" in note for note in result["certificate"]["notes"])
    Path("new.csv").write_text("load,when\n5,2025-06-01 03:00\n5,2025-06-01 04:00\n7,2025-06-01 12:00\n")
    assert main(["predict", "out", "new.csv", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "5,2025-06-01 03:00,10",
        "5,2025-06-01 04:00,10",
        "7,2025-06-01 12:00,21",
    ]
    Path("other.csv").write_text("load,when\n5,1\n5,2\n")
    assert main(["predict", "out", "other.csv"]) == 2
    assert "gives no hour, which the program reads" in capsys.readouterr().err
    assert main(["verify", "out", "--quiet"]) == 0
