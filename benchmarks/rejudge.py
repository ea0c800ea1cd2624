"""Judge stored programs anew: what records called solved when they were taken, and what is called so now.

    python benchmarks/rejudge.py [RECORD ...] [--write]

Programs are run as they are stored, as the text of `program.py` where that is there, else read from their
formulas. `--write` puts the judgements into the records, with a note of what changed. A row whose program
cannot be read, or whose problem is no longer drawn alike, keeps its old judgement, and the note says so. What
has a note is passed over unless it is named.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from weights2code import tasks
from weights2code.experiments import registry
from weights2code.experiments.jobs import plain
from weights2code.experiments.judging import Judgement, Run, solves
from weights2code.experiments.reproduce import page
from weights2code.experiments.tables import csv_text
from weights2code.language import Count, Recurrence, Retrieval
from weights2code.language.formula_reading import read_formula, read_recurrence
from weights2code.language.recurrence import RELATIONS, SIGNS
from weights2code.run_folder import write_atomically

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / folder) for folder in ("own_data", "random_programs", "tables")]
# ruff: noqa: E402
import generate
from cases import CASES
from deep_cases import DEEP
from fields import TABLES
from table import Table, cells

Row = dict[str, Any]
#: Where rows lie that hold programs.
RECORDS = (
    "suites/results/mips.json",
    "suites/results/four.json",
    "languages/results/*.json",
    "own_data/results/own_data.json",
    "own_data/results/deep*.json",
    "own_data/results/fresh_first.json",
    "random_programs/results/*.json",
    "tables/results/tables.json",
    "experiments/*/experiment.json",
)
BEFORE = "before the start "
#: How steps that look over everything so far are printed.
LOOKUP = re.compile(r"(\w+)\[s\] at the last (s <=? t(?:-\d+)?) with (\w+)\[s\] == (.*), else (\S+)")
COUNT = re.compile(r"how many s <= t have (\w+)\[s\] (\S+) (.*)")


class Unreadable(Exception):
    """A program that is not stored so that it can be run, or a problem that is no longer there."""


def programs_of(record: Row) -> Iterator[tuple[Row, Row]]:
    """Every row with a program, members of a run one by one, and what is known of it."""
    for row in record["rows"]:
        shared = {key: row[key] for key in ("task", "seed") if key in row}
        for member in row.get("members") or [row]:
            if member.get("formula") and "solved" in member and "lags" not in row.get("way", ""):
                yield member, shared | member


def judged(path: str, record: Row, row: Row) -> Judgement:
    """The judgement on the program of a row."""
    if "own_data" in path:
        case = own_cases()[row["name"]]
        return case.judge(program(row, case.inputs, case.targets))
    if "tables" in path:
        table = next(table for table in TABLES if table.name == row["name"])
        return table.judge(on_texts(row["formula"], table))
    if "random_programs" in path:
        drawn = random_programs(*asked(record, row))[row["name"]]
        if drawn.text() != row["rule"]:
            raise Unreadable("another program is drawn now")
        return drawn.judge(program(row, drawn.recurrence.inputs, drawn.recurrence.outputs), row["seed"])
    task = tasks.get(row["task"])
    columns = task.columns
    if path.endswith("rows.json") and len(columns) > 1:  # arrays have columns without names
        columns = tuple(f"x{place + 1}" for place in range(len(columns)))
    return solves(program(row, columns, task.outputs), task, row["seed"])


@cache
def own_cases() -> dict[str, Any]:
    return {case.name: case for case in (*CASES, *(deep.case for deep in DEEP))}


def asked(record: Row, row: Row) -> tuple[Any, ...]:
    """What random programs are drawn by."""
    summary = record["summary"]
    return summary["runs"], row["seed"], tuple(summary.get("sizes") or generate.SIZES), summary.get("memory")


@cache
def random_programs(count: int, seed: int, sizes: tuple[int, ...], memory: Any) -> dict[str, Any]:
    return {program.name: program for program in generate.programs(count, seed, sizes, memory)}


# -- programs -----------------------------------------------------------------------------------------------


def program(row: Row, inputs: Sequence[str], outputs: Sequence[str]) -> Run:
    if row.get("source"):
        return from_source(row["source"], len(outputs))
    return recurrence(row["formula"].splitlines(), inputs, outputs).run


def from_source(source: str, outputs: int) -> Run:
    """The function of a `program.py`, on sequences one by one."""
    names: dict[str, Any] = {}
    exec(compile(source, "program.py", "exec"), names)
    function = names[names["__all__"][0]]
    return lambda x: np.stack([function(sequence) for sequence in x]).reshape(*x.shape[:2], outputs)


def on_texts(lines: list[str], table: Table) -> Run:
    """A program on cells: equality is all that is asked of texts, so any numbers may stand for them."""
    codes = {"": 0}

    def code(text: str) -> int:
        return codes.setdefault(text, len(codes))

    plain = [re.sub(r'"([^"]*)"', lambda found: str(code(found[1])), line) for line in lines]
    machine = recurrence(plain, table.inputs(), table.targets)
    texts = [isinstance(value, str) for value in cells([table.rows(0, 1, 1)], table.targets)[0, 0]]

    def run(x: np.ndarray) -> np.ndarray:
        numbers = np.array([code(v) if isinstance(v, str) else v for v in x.flat], float).reshape(x.shape)
        y, said = machine.run(numbers).astype(object), {number: text for text, number in codes.items()}
        for output in np.flatnonzero(texts):
            y[:, :, output] = np.vectorize(said.get, otypes=[object])(y[:, :, output])
        return y

    return run


def recurrence(lines: list[str], inputs: Sequence[str], outputs: Sequence[str]) -> Recurrence:
    """The program that is printed so."""
    start: dict[str, Any] = {}
    try:
        if lines[-1].startswith(BEFORE):
            *lines, last = lines
            for name, value in re.findall(r"(\w+) = ([^,]+)", last):
                start[name] = "first" if value == f"{name}[0]" else float(value)
        steps = dict(definition(line) for line in lines)
        return read_recurrence(inputs, steps, outputs, start)
    except (ValueError, TypeError) as error:
        raise Unreadable(str(error)) from None


def definition(line: str) -> tuple[str, str | Retrieval | Count]:
    name, _, text = line.partition("[t] = ")
    if found := LOOKUP.fullmatch(text):
        value, past, key, query, default = found.groups()
        gap = 1 if past == "s < t" else int(past.removeprefix("s <= t").removeprefix("-") or 0)
        return name, Retrieval(key, value, read_formula(query), gap, float(default))
    if found := COUNT.fullmatch(text):
        key, sign, query = found.groups()
        return name, Count(key, read_formula(query), next(key for key in RELATIONS if SIGNS[key] == sign))
    return name, text


# -- records ------------------------------------------------------------------------------------------------


def rejudge(path: Path) -> tuple[Row, Row]:
    """A record with the new judgements, and the note of what changed."""
    name, record = path.relative_to(HERE).as_posix(), json.loads(path.read_text(encoding="utf-8"))
    for row in record["rows"]:
        if "exact" in row:  # what own data and tables said
            row["solved"] = row.pop("exact") and row.get("exit", 0) == 0
    note: Row = {"programs": 0, "before": 0, "now": 0, "changed": [], "kept": []}
    for row, facts in programs_of(record):
        label = " ".join(str(facts[key]) for key in ("name", "task", "sequences", "seed") if key in facts)
        before = bool(row["solved"])
        try:
            row["solved"] = facts.get("exit", 0) == 0 and judged(name, record, facts).solved
        except Unreadable as problem:
            note["kept"].append(f"{label}: {problem}")
        note["programs"] += 1
        note["before"] += before
        note["now"] += row["solved"]
        note["changed"] += [label] * (row["solved"] != before)
    return record, note


def write(path: Path, record: Row, note: Row) -> None:
    """The record with its note; what it says of all rows is counted again if some have changed."""
    head, rows = record.get("summary", record), record["rows"]
    if note["changed"] and "experiment" in record:
        experiment = registry.get(record["experiment"])
        table = experiment.table(rows)
        record["table"] = plain(asdict(table))
        record["standing"] = dict(Counter(line.standing for line in table.lines if line.standing))
        write_atomically(path.with_name("table.csv"), csv_text(table))
        write_atomically(path.with_name("table.md"), page(experiment, table, record))
    elif note["changed"] and "solved" in head:
        head["solved"] = sum(row["solved"] for row in rows)
        head["proved"] = sum(row["solved"] and row["verdict"] == "proved" for row in rows)
        head["right_not_read"] = sum(bool(row.get("right_network")) and not row["solved"] for row in rows)
    head["judged"] = note
    write_atomically(path, json.dumps(record, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("records", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="put the judgements into the records")
    options = parser.parse_args()
    asked = [path.resolve() for path in options.records]
    for path in asked or [path for pattern in RECORDS for path in sorted(HERE.glob(pattern))]:
        record, note = rejudge(path)
        if not note["programs"] or (not asked and "judged" in record.get("summary", record)):
            continue
        counts = f"{note['programs']} programs, solved {note['before']} -> {note['now']}"
        print(f"{path.relative_to(HERE)}: {counts}")
        for word in ("changed", "kept"):
            print("".join(f"    {word}: {label}\n" for label in note[word]), end="", flush=True)
        if options.write:
            write(path, record, note)


if __name__ == "__main__":
    main()
