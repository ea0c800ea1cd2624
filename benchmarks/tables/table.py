"""Tables as people have them: what a table of the benchmark is, how it is drawn, and how it is written."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weights2code.cli import main
from weights2code.experiments.cases import way_of
from weights2code.experiments.judging import Judgement, Run, solved
from weights2code.program import Program
from weights2code.results import read_program
from weights2code.run_folder import open_existing

Row = dict[str, Any]
#: Values of one column over a sequence of so many rows.
Column = Callable[[np.random.Generator, int], Sequence[Any]]
Part = Literal["develop", "kept"]


@dataclass(frozen=True, slots=True)
class Table:
    """A rule of some field: `step(state, row) -> (state, targets)`, and columns that the rule may not need.

    `options` are those of `w2c fit` that a user would give, beside columns; `holes` is the share of cells of
    inputs that are left empty, after the rule has read them.
    """

    name: str
    field: str
    part: Part
    columns: Mapping[str, Column]
    start: Any
    step: Callable[[Any, Row], tuple[Any, tuple[Any, ...]]]
    targets: tuple[str, ...] = ("y",)
    sequences: int = 400
    length: int = 12
    options: tuple[str, ...] = ()
    holes: float = 0.0

    def draw(self, rng: np.random.Generator, length: int) -> list[Row]:
        """One sequence, with its targets."""
        drawn = {name: column(rng, length) for name, column in self.columns.items()}
        return self.answered(
            [{name: values[position] for name, values in drawn.items()} for position in range(length)]
        )

    def judge(self, run: Run) -> Judgement:
        """Whether inputs become the right targets; both are arrays of cells, as those of every judgement."""

        def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
            return cells([self.draw(rng, length) for _ in range(n)], list(self.columns))

        def truth(x: np.ndarray) -> np.ndarray:
            return cells([self.answered(rows) for rows in self.read(x)], self.targets)

        return solved(run, truth, draw, self.length, seed=1)

    def read(self, x: np.ndarray) -> list[list[Row]]:
        """Arrays of inputs as rows."""
        return [[dict(zip(self.columns, row, strict=True)) for row in rows] for rows in x.tolist()]

    def answered(self, rows: Sequence[Row]) -> list[Row]:
        """One sequence with what the rule says."""
        state, found = self.start, []
        for row in rows:
            state, targets = self.step(state, row)
            found.append(row | dict(zip(self.targets, targets, strict=True)))
        return found

    def rows(self, seed: int, sequences: int, length: int) -> list[Row]:
        """Sequences under each other, told apart by `sequence` and ordered by `step`."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        return numbered(self.draw(rng, length) for _ in range(sequences))


def numbered(sequences: Iterable[list[Row]]) -> list[Row]:
    """Sequences under each other."""
    return [
        {"sequence": sequence, "step": position} | row
        for sequence, rows in enumerate(sequences)
        for position, row in enumerate(rows)
    ]


def cells(sequences: Sequence[Sequence[Row]], names: Sequence[str]) -> np.ndarray:
    """Columns of sequences of one length as an array of cells, shape (n, T, names)."""
    return np.array([[[row[name] for name in names] for row in rows] for rows in sequences], dtype=object)


def write(path: Path, rows: Sequence[Row]) -> None:
    """As CSV; truth values read `true` and `false`, numbers as Python prints them."""
    names = list(rows[0])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([_cell(row[name]) for name in names] for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def one_of(*values: Any, weights: Sequence[float] | None = None) -> Any:
    """Any of these, alike or by weight."""

    def column(rng: np.random.Generator, length: int) -> Sequence[Any]:
        chances = None if weights is None else np.asarray(weights) / np.sum(weights)
        return [values[index] for index in rng.choice(len(values), size=length, p=chances)]

    return column


def whole(low: int, high: int) -> Any:
    """Whole numbers, both ends included."""
    return lambda rng, length: rng.integers(low, high + 1, size=length).tolist()


def decimal(low: float, high: float, digits: int) -> Any:
    """Numbers of so many decimals."""
    return lambda rng, length: np.round(rng.uniform(low, high, size=length), digits).tolist()


def times(start: str, *minutes: int) -> Any:
    """Moments, each some of these minutes after the one before, from an hour of the month after `start`."""

    def column(rng: np.random.Generator, length: int) -> Sequence[Any]:
        began = np.datetime64(start, "m") + np.timedelta64(int(rng.integers(0, 720)), "h")
        steps = np.cumsum(rng.choice(minutes, size=length))
        return [str(began + np.timedelta64(int(step), "m")).replace("T", " ") for step in steps]

    return column


# -- by the front door ---------------------------------------------------------------------------------------


def fitted(table: Table, seconds: float) -> tuple[Row, Program | None]:
    """One table by `w2c fit`, judged by `w2c predict` on fresh ones; its row, and the program."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / f"{table.name}.csv", Path(folder) / "run"
        write(data, with_holes(table, table.rows(0, table.sequences, table.length)))
        command = ["fit", str(data), "--targets", ",".join(table.targets), "--sequence", "sequence"]
        command += ["--order", "step", *table.options, "--out", str(run)]
        code = w2c(*command, "--time-limit", str(seconds))
        if not (run / "certificate.json").exists():
            return {"exit": code, "solved": False, "verdict": "not extracted", "formula": None}, None
        program, _ = read_program(open_existing(run, alone=False))
        certificate = json.loads((run / "certificate.json").read_text())
        solved = code == 0 and table.judge(lambda x: predicted(table, run, x)).solved
    row = {"exit": code, "solved": solved, "verdict": certificate["verdict"], "origin": program.how}
    row |= {"formula": program.formula(), "source": program.source(), "operations": program.operations}
    row["way"] = way_of(program.origin, certificate["attempts"])
    row |= {name: (certificate.get(name) or {}).get("verdict", "none") for name in ("network", "taught")}
    return row, program


def with_holes(table: Table, rows: list[Row]) -> list[Row]:
    """The same rows, some cells of the inputs empty."""
    rng = np.random.default_rng(0)
    holes = [{name for name in table.columns if rng.random() < table.holes} for _ in rows]
    return [
        {name: None if name in names else cell for name, cell in row.items()}
        for names, row in zip(holes, rows, strict=True)
    ]


def w2c(*words: str) -> int | None:
    """A command in this process, whose words nobody reads."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main([*words, "--quiet"])


def predicted(table: Table, run: Path, x: np.ndarray) -> np.ndarray:
    """What the program of a folder answers to a table of these inputs."""
    fresh, answers = run.parent / "fresh.csv", run.parent / "answers.csv"
    answers.unlink(missing_ok=True)
    write(fresh, numbered(table.read(x)))
    w2c("predict", str(run), str(fresh), "--out", str(answers))
    with answers.open(encoding="utf-8") as file:
        said = list(csv.DictReader(file))
    example = table.rows(0, 1, 1)[0]
    read = [[value_of(row[name], example[name]) for name in table.targets] for row in said]
    return np.array(read, dtype=object).reshape(*x.shape[:2], -1)


def value_of(answer: str, example: Any) -> Any:
    """The value that a cell says, of the kind of an example; truth values may be written as numbers."""
    if isinstance(example, str):
        return answer
    return float({"true": "1", "false": "0"}.get(answer.lower(), answer))
