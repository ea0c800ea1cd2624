"""What people would do without us: a decision tree on lagged columns, RPNI on whole rows, Operon on numbers.

The tree reads inputs of this row and the three before, and the targets of the three before, which it computes
itself on the fresh table; texts are one-hot. RPNI takes a row of inputs as one symbol and learns a Moore
machine from the sequences; where a number has many values there is no such alphabet, and it is not asked.
Operon is asked where every column is a number or a truth value, with the same lags, for as long as our fit
took (at least 8 s); whole numbers are rounded at each step, others may be off by 0.1 % of the spread.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from aalpy.learning_algs import run_RPNI
from sklearn.tree import DecisionTreeClassifier
from table import Row, Table, cells

from weights2code.experiments.lagged import lagged, operon, run_free

sys.path.append(str(Path(__file__).parents[1] / "languages"))
from merging import START, OutOfTime, no_longer_than

LAGS = 3
#: More rows than this are different symbols to nobody.
SYMBOLS = 64
#: Seconds for merging, and at least for Operon.
SECONDS = 60.0
LEAST_SECONDS = 8.0
#: What reals may be off by, as a share of the spread: constants of a random search are never exact.
OFF = 1e-3

NOT_ASKED, NOT_HERE = "-", "not installed"


def baselines(table: Table, seconds: float) -> dict[str, str]:
    """`exact`, `wrong`, `-` (not asked) or `not installed` for each, judged as ours.

    `seconds` is what our fit took.
    """
    training = table.rows(0, table.sequences, table.length)
    return {
        "tree": tree(table, training),
        "rpni": rpni(table, training),
        "operon": of_numbers(table, training, max(LEAST_SECONDS, seconds)),
    }


def tree(table: Table, training: list[Row]) -> str:
    """One tree a target; texts are one-hot, moments are their minute, numbers are as they are."""
    code = _Codes(table, training)
    inputs, targets = table.inputs(), table.targets
    features, answers = [], []
    for rows in _sequences(training):
        past: list[np.ndarray] = []
        for row in rows:
            now = code(row, inputs)
            features.append(_window(past, now, code.size))
            answers.append([str(row[name]) for name in targets])
            past.append(np.concatenate([now, code(row, targets)]))
    columns = zip(*answers, strict=True)
    models = [DecisionTreeClassifier(random_state=0).fit(features, list(column)) for column in columns]
    meant = [{str(row[name]): row[name] for row in training} for name in targets]

    def run(x: np.ndarray) -> np.ndarray:
        pasts: list[list[np.ndarray]] = [[] for _ in x]
        y = np.empty((*x.shape[:2], len(targets)), dtype=object)
        sequences = table.read(x)
        for position in range(x.shape[1]):
            now = [code(rows[position], inputs) for rows in sequences]
            windows = [_window(past, row, code.size) for past, row in zip(pasts, now, strict=True)]
            said = np.stack([model.predict(windows) for model in models], axis=1)
            for place, (past, row, answer) in enumerate(zip(pasts, now, said, strict=True)):
                y[place, position] = [values[text] for values, text in zip(meant, answer, strict=True)]
                past.append(np.concatenate([row, code(dict(zip(targets, answer, strict=True)), targets)]))
        return y

    return "exact" if table.judge(run) else "wrong"


class _Codes:
    """Cells as numbers."""

    def __init__(self, table: Table, training: list[Row]) -> None:
        texts = [name for name in table.inputs() if isinstance(training[0][name], str) and name != "time"]
        self.levels = {
            name: sorted({str(row[name]) for row in training}) for name in (*texts, *table.targets)
        }
        self.size = sum(len(self.levels.get(name, "1")) for name in (*table.inputs(), *table.targets))

    def __call__(self, row: Row, names: Sequence[str]) -> np.ndarray:
        cells: list[float] = []
        for name in names:
            if name in self.levels:
                cells += [float(level == str(row[name])) for level in self.levels[name]]
            elif name == "time":
                cells.append(float(np.datetime64(row[name], "m").astype(int)))
            else:
                cells.append(float(row[name]))
        return np.array(cells)


def _window(past: list[np.ndarray], now: np.ndarray, size: int) -> np.ndarray:
    """This row's inputs and what the last rows held, zeros before the start."""
    lagged = [past[-lag] if lag <= len(past) else np.zeros(size) for lag in range(1, LAGS + 1)]
    return np.concatenate([now, *lagged])


def rpni(table: Table, training: list[Row]) -> str:
    """A Mealy machine over rows of inputs as symbols."""

    def symbol(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in table.inputs())

    if len({symbol(row) for row in training}) > SYMBOLS:
        return NOT_ASKED
    labels: dict[tuple[Any, ...], Any] = {(): START}
    for rows in _sequences(training):
        word = tuple(symbol(row) for row in rows)
        answers = (tuple(row[name] for name in table.targets) for row in rows)
        labels |= {word[: end + 1]: answer for end, answer in enumerate(answers)}
    try:
        with no_longer_than(SECONDS):
            machine = run_RPNI(list(labels.items()), "moore", print_info=False, input_completeness=None)
    except OutOfTime:
        return "wrong"
    if machine is None:
        return "wrong"

    def run(x: np.ndarray) -> np.ndarray:
        y = np.full((*x.shape[:2], len(table.targets)), np.nan, dtype=object)
        for place, rows in enumerate(table.read(x)):
            state = machine.initial_state
            for position, row in enumerate(rows):
                state = state.transitions.get(symbol(row))
                if state is None:
                    break
                y[place, position] = state.output
        return y

    return "exact" if table.judge(run) else "wrong"


def of_numbers(table: Table, training: list[Row], seconds: float) -> str:
    """Operon, one formula a target."""
    names = (*table.inputs(), *table.targets)
    if any(isinstance(training[0][name], str) for name in names):
        return NOT_ASKED
    if find_spec("pyoperon") is None:
        return NOT_HERE
    x, y = (cells(_sequences(training), part).astype(float) for part in (table.inputs(), table.targets))
    rows, answers = lagged(x, y, LAGS), y.reshape(-1, y.shape[2])
    rows = rows.reshape(-1, rows.shape[2])
    models = [operon(rows, column, seconds / len(answers.T)) for column in answers.T]
    whole = np.all(np.round(answers) == answers, axis=0)

    def run(x: np.ndarray) -> np.ndarray:
        return run_free(models, x.astype(float), LAGS, whole)

    return "exact" if table.judge(run, OFF * answers.std(axis=0)) else "wrong"


def _sequences(rows: list[Row]) -> list[list[Row]]:
    """Rows of each sequence, in order."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row["sequence"], []).append(row)
    return list(found.values())
