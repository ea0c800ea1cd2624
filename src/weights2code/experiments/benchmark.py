"""A benchmark in one call: its cases, what is measured of each, and a record when all rows are there.

    def cases(options) -> {key: case}
    def measure(case) -> row

    if __name__ == "__main__":
        run(__file__, __doc__, cases, measure, seeds=(0, 1, 2), time_limit=60.0)

Every case has a process of its own, forked from this one: an error, a hang or a killed process costs one row.
A benchmark that was stopped goes on where it was as long as `src/` and what was asked are the same.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from weights2code.experiments.cases import NOTHING, Case, solve
from weights2code.experiments.engines.local import Local, cores
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.limits import formula
from weights2code.experiments.records import Record, write_record
from weights2code.experiments.stores import Lines
from weights2code.experiments.sweep import run_sweep

Options = argparse.Namespace
Cases = Callable[[Options], Mapping[str, Any]]


def run(
    script: str,
    words: str | None,
    cases: Cases,
    measure: Callable[[Any], Row] = solve,
    *,
    record: Callable[[Options], str] | None = None,
    show: Callable[[Row], str] = lambda row: told(row),
    limit: Callable[[Options], float | None] = lambda options: None,
    processes: int | None = None,
    **options: Any,
) -> list[Row]:
    """The command of a benchmark: reads its options, measures what is missing, writes the record.

    Parameters
    ----------
    script, words : the file of the benchmark, and what its help says.
    cases : what is measured, by key, in the order of the record.
    measure : a case, in a process of its own.
    record : the name of its record, by default that of the script.
    show : a row in one line, as it comes.
    limit : seconds by the clock after which a case is given up.
    processes : cases at once, if nothing is asked; by default as many as there are cores.
    options : the benchmark's own, with their defaults: a tuple is several values, a list a choice.
    """
    asked = read_options(words, options, processes or cores())
    named = record(asked) if record else Path(script).stem
    chosen = dict(cases(asked))
    prepare()
    engine = Local(asked.processes, forked=True, limit=limit(asked))
    if asked.only is not None:
        chosen = {key: case for key, case in chosen.items() if is_named(key, case, asked.only)}
        with tempfile.TemporaryDirectory() as place:
            return measured(chosen, measure, Lines(Path(place) / "rows.jsonl", None), engine, show)
    said, folder = {name: getattr(asked, name) for name in options}, Path(script).resolve().parent
    store = Lines(folder / "runs" / f"{named}.jsonl", said)
    rows = measured(chosen, measure, store, engine, show)
    head = {"run_seconds": round(sum(row["seconds"] or 0.0 for row in rows), 1)}
    file = asked.out or folder / "results" / f"{named}.json"
    write_record(file, command_of(script), rows, said, head)
    store.remove()
    return rows


def measured(
    cases: Mapping[str, Any],
    measure: Callable[[Any], Row],
    store: Lines,
    engine: Local,
    show: Callable[[Row], str],
) -> list[Row]:
    """The rows of all cases, in their order; a line as each comes."""

    def work(case: Any, folder: Path) -> Row:
        return measure(case)

    def on_row(row: Row) -> None:
        if line := show(completed(row, cases[row["key"]])):
            print(line, flush=True)

    jobs = [Job(key, work, case) for key, case in cases.items()]
    rows = run_sweep(jobs, store, engine, on_row)
    return [completed(row, cases[row["key"]]) for row in rows]


def completed(row: Row, case: Any) -> Row:
    """A row that says at least whose it is, and that nothing was found, if there was an error."""
    if not row["error"]:
        return row
    return {**NOTHING, **(case.labels if isinstance(case, Case) else {}), **row}


def prepare() -> None:
    """What all cases need is imported once, before processes are forked."""
    import torch

    import weights2code.experiments.heavy  # noqa: F401

    torch.set_num_threads(1)


def is_named(key: str, case: Any, words: list[str]) -> bool:
    """Whether a case is meant by its key, its name or its task."""
    labels = case.labels if isinstance(case, Case) else {}
    return not {key, getattr(case, "name", key), labels.get("task"), labels.get("name")}.isdisjoint(words)


def told(row: Row) -> str:
    """A row in a line: solved or not, verdicts, seconds, program."""
    words = [row["key"], row["verdict"]]
    words += [f"{key} {row[key]}" for key in ("network", "taught") if row.get(key, "none") != "none"]
    words.append(f"{row['seconds']:.1f} s")
    return " ".join(("ok  " if row["solved"] else "MISS", *words, "|", row["error"] or formula(row)))


# -- options ------------------------------------------------------------------------------------------------


def read_options(words: str | None, own: Mapping[str, Any], processes: int) -> Options:
    """Those of the benchmark, and those that all have."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in own.items():
        add_option(parser, name, default)
    parser.add_argument("--processes", type=int, default=processes, metavar="N")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="cases that are shown and not recorded")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the record; default results/NAME.json")
    return parser.parse_args()


def add_option(parser: argparse.ArgumentParser, name: str, default: Any) -> None:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(default, list):
        parser.add_argument(flag, choices=default, default=default[0])
    elif isinstance(default, tuple):
        kind = type(default[0])
        parser.add_argument(flag, type=lambda text: tuple(map(kind, text.split(","))), default=default)
    else:
        parser.add_argument(flag, type=str if default is None else type(default), default=default)


def command_of(script: str) -> str:
    """The command that was given, from the root of the repository."""
    path = Path(script).resolve()
    root = next((place for place in path.parents if (place / "pyproject.toml").exists()), path.parent)
    return shlex.join(["python", path.relative_to(root).as_posix(), *sys.argv[1:]])


__all__ = ["Case", "Options", "Record", "run", "solve"]
