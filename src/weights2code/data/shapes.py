"""What the arrays of a user mean: lists, (n, T), (n, T, columns), DataFrames; what is unclear is refused.

Every form becomes a list of sequences (T, columns) and (T, outputs), and answers go back in the form that the
question had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np

from weights2code.data.cells import NO_NUMBERS, changed, holds_truths, is_nothing
from weights2code.data.limits import find_column
from weights2code.data.row_order import Arranged, sequences_in, sortable
from weights2code.errors import InputError
from weights2code.language.domain import EXACT

Form = Literal["list", "sequences", "batch", "steps", "samples"]
AXES = ("auto", "sequences", "steps", "samples")


@dataclass(frozen=True, slots=True)
class Labels:
    """The columns of a DataFrame that tell sequences apart and order their rows, and the targets among them;
    `groups` if an array tells sequences apart."""

    sequence: str | None = None
    order: str | None = None
    targets: tuple[str, ...] = ()
    groups: bool = False

    @property
    def divide(self) -> bool:
        """Whether rows are divided into sequences, or sorted."""
        return self.groups or self.sequence is not None or self.order is not None

    def apart(self, X: Any, groups: Any, count: int) -> Arranged:
        """The sequences of the rows of X."""
        if self.groups != (groups is not None):
            raise InputError("the model was fitted with groups=; give them again, one a row.")
        ids = groups if self.sequence is None else _label(X, self.sequence)
        order = None if self.order is None else _label(X, self.order)
        for found in (ids, order):
            if found is not None and len(found) != count:
                raise InputError(f"groups has {len(found)} values for {count} rows; give one a row.")
        keys = None if order is None else sortable("X", self.order or "", order)
        ids = None if ids is None else np.asarray(ids)
        rows, ends = sequences_in("X", count, ids, keys, None if ids is None else "groups", self.order)
        return Arranged(rows, ends, count)

    def split(self, X: Any, y: Any = None) -> tuple[Any, Any]:
        """X without labels and targets, and the targets, which may be names of its columns."""
        if not hasattr(X, "columns"):
            if self.sequence or self.order or self.targets:
                raise InputError(
                    "sequence=, order= and names of targets are columns of a DataFrame; X is none."
                )
            return X, y
        names = [str(name) for name in X.columns]
        needed = filter(None, (self.sequence, self.order, *(self.targets if y is not None else ())))
        gone = {*(X.columns[find_column("X", names, name)] for name in needed), *self.targets}
        if self.targets and y is not None:
            y = X[self.targets[0]] if isinstance(y, str) else X[list(self.targets)]
        return X[[name for name in X.columns if name not in gone]] if gone else X, y


def labels_of(X: Any, y: Any, sequence: str | None, order: str | None, groups: Any) -> Labels:
    """What was said about rows; y may be names of columns of X."""
    if sequence is not None and groups is not None:
        raise InputError("sequence= and groups= say the same; give one of them.")
    columns = {str(name) for name in getattr(X, "columns", ())}
    named = (y,) if isinstance(y, str) else ()
    if isinstance(y, (list, tuple)) and y and all(isinstance(name, str) and name in columns for name in y):
        named = tuple(y)
    return Labels(sequence, order, named, groups is not None)


def _label(X: Any, name: str) -> np.ndarray:
    found = np.asarray(X[name])
    return found.astype(str) if found.dtype == object else found


def _is_whole(values: np.ndarray) -> bool:
    return bool((np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < EXACT)).all())


@dataclass(frozen=True, slots=True)
class Given:
    """The form of the data, names of columns and outputs, and whether targets came without an axis for them.

    `whole` targets came as whole numbers, and go back so; `labels` tell the rows of several sequences apart.

    Forms: "list" of arrays, "sequences" (n, T), "batch" (n, T, columns), "steps" (T, columns),
    "samples" (n, columns).
    """

    form: Form
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    flat: bool
    named: bool
    truths: frozenset[str] = frozenset()
    whole: bool = False
    labels: Labels = Labels()

    def arrange(self, answers: list[np.ndarray]) -> Any:
        """Answers (T, outputs) of each sequence, in the form of the targets."""
        if self.whole and all(answer.dtype.kind == "f" and _is_whole(answer) for answer in answers):
            answers = [answer.astype(np.int64) for answer in answers]
        if self.flat:
            answers = [answer[:, 0] for answer in answers]
        if self.form == "list":
            return answers
        if self.form == "steps":
            return answers[0]
        if self.form == "samples":
            return np.concatenate(answers)
        return np.stack(answers)


def read_pair(
    X: Any, y: Any, axes: str = "auto", *, gaps: bool = False
) -> tuple[Given, list[np.ndarray], list[np.ndarray]]:
    """The meaning of X and y, and their sequences; with `gaps`, cells may hold nothing (`nan`, None)."""
    if axes not in AXES:
        raise InputError(f"unknown axes {axes!r}; choose one of {', '.join(AXES)}.")
    if y is None:
        raise InputError("y is missing: this estimator requires y to be passed, but the target y is None.")
    if axes != "samples" and _is_list(X):
        return _read_list(X, y, gaps)
    names, x = to_array(X, "X", gaps)
    targets, t = to_array(y, "y", gaps)
    form = _form(x, t, axes, framed=bool(names))
    flat = t.ndim == (2 if form in ("sequences", "batch") else 1)
    xs, ys = _split(x, form), _split(t[..., None] if flat else t, form)
    if len(xs) != len(ys) or any(len(a) != len(b) for a, b in zip(xs, ys, strict=True)):
        raise InputError(
            f"X {x.shape} and y {t.shape} do not go together: found inconsistent numbers of samples."
        )
    inputs = names or _numbered("x", xs[0].shape[1])
    outputs = targets or _numbered("y", ys[0].shape[1])
    outputs = _apart(outputs, inputs)
    truths = _truths(inputs, [X], form == "sequences") | _truths(outputs, [y], flat)
    return Given(form, inputs, outputs, flat, bool(names), truths, _are_whole([y])), xs, ys


def read_inputs(X: Any, given: Given, *, gaps: bool = False) -> list[np.ndarray]:
    """Sequences to predict, in the form of those that were learned from."""
    if given.form == "list":
        if not _is_list(X):
            raise InputError("the model was fitted on a list of arrays; give a list again.")
        xs = [_columns(item, f"X[{i}]", gaps) for i, item in enumerate(X)]
    else:
        names, x = to_array(X, "X", gaps)
        if given.named and names and names != given.inputs:
            raise InputError(
                "The feature names should match those that were passed during fit: "
                f"{', '.join(given.inputs)}."
            )
        wanted = {"sequences": 2, "batch": 3, "steps": 2, "samples": 2}[given.form]
        if given.form == "steps" and x.ndim == 1:
            x = x[:, None]
        if x.ndim != wanted:
            hint = " Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one sample."
            raise InputError(
                f"the model was fitted on {wanted} axes, X has {x.ndim}." + (hint if wanted == 2 else "")
            )
        _refuse_empty(x)
        xs = _split(x, given.form)
    for x in xs:
        if x.shape[1] != len(given.inputs):
            raise InputError(
                f"X has {x.shape[1]} features, but ProgramRegressor is expecting {len(given.inputs)} "
                "features as input."
            )
    return xs


def to_array(data: Any, what: str, gaps: bool = False) -> tuple[tuple[str, ...], np.ndarray]:
    """Column names, if there are any, and finite numbers; where texts are among them, all are objects.

    With `gaps` nothing may stand in the place of a number (`nan`) or of a text (None).
    """
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise InputError(f"{what} is sparse; sparse data is not supported, use {what}.toarray().")
    names: tuple[str, ...] = ()
    if hasattr(data, "columns"):
        names = tuple(str(name) for name in data.columns)
        if len(set(names)) < len(names):
            raise InputError(f"{what} has two columns of one name; rename one.")
        if not all(isinstance(name, str) for name in data.columns):
            names = ()
    elif hasattr(data, "to_numpy") and getattr(data, "name", None):
        names = (str(data.name),) if what == "y" else ()
    raw = data.to_numpy() if hasattr(data, "to_numpy") else _as_array(data, what)
    if np.iscomplexobj(raw):
        raise InputError(f"Complex data not supported: {what} holds complex numbers; give real ones.")
    if raw.dtype == object and raw.ndim:
        _refuse_dates(raw, what, names)
        raw = _with_one_nothing(raw)
    if _holds_texts(raw):
        values = raw.astype(object)
        _refuse_gaps(what, np.array([value is None for value in values.flat]), gaps)
        return names, values
    if raw.dtype.kind in NO_NUMBERS:
        raise InputError(f"{what} holds {NO_NUMBERS[raw.dtype.kind]}.")
    try:  # a TypeError already says what it is about
        values = np.asarray(raw, dtype=float)
    except ValueError as error:
        raise InputError(f"{what} does not hold numbers ({error}); encode it as numbers.") from None
    if values.ndim == 0:
        raise InputError(f"{what} is a single number; give arrays of at least one axis.")
    if np.isinf(values).any():
        raise InputError(f"Input {what} contains infinity; remove those rows or fill them.")
    _refuse_gaps(what, np.isnan(values), gaps)
    if len(changed(raw, values)):
        raise InputError(f"{what} holds whole numbers beyond 2^53 that double precision cannot hold.")
    return names, values


def _as_array(data: Any, what: str) -> np.ndarray:
    try:
        return np.asarray(data)
    except ValueError:
        raise InputError(
            f"{what} is a list of lists that are not equally long; give a list of arrays, one a sequence: "
            f"[numpy.array(item) for item in {what}]."
        ) from None


def _refuse_dates(raw: np.ndarray, what: str, names: Sequence[str]) -> None:
    for index, value in np.ndenumerate(raw):
        if isinstance(value, (date, np.datetime64)):
            column = f", column {names[index[-1]]!r}" if names and len(index) > 1 else ""
            raise InputError(
                f"{what}{column} holds dates; say order= to sort rows by it, or give the time that has "
                "passed as numbers."
            )


def _refuse_gaps(what: str, missing: np.ndarray, gaps: bool) -> None:
    count = int(missing.sum())
    if count and not gaps:
        raise InputError(
            f"Input {what} contains NaN: {count} cell{'s hold' if count > 1 else ' holds'} nothing. Fill "
            f"{'them' if count > 1 else 'it'}, or say --missing drop, which cuts sequences there, or "
            "--missing last, which carries the last value forward."
        )


def _with_one_nothing(raw: np.ndarray) -> np.ndarray:
    """Objects of which those that say that there is nothing are None."""
    told = [None if is_nothing(value) else value for value in raw.flat]
    found = np.empty(len(told), object)
    found[:] = told
    return found.reshape(raw.shape)


def _holds_texts(raw: np.ndarray) -> bool:
    """Whether an array holds texts, beside nothing but numbers."""
    if raw.dtype.kind == "U":
        return bool(raw.ndim)
    plain = (str, int, float, bool, np.number, np.bool_, type(None))
    if raw.dtype != object or not raw.ndim or not all(isinstance(value, plain) for value in raw.flat):
        return False
    return any(isinstance(value, str) for value in raw.flat)


def _refuse_empty(x: np.ndarray) -> None:
    if not x.shape[0]:
        raise InputError(f"Found array with 0 sample(s) (shape={x.shape}) while a minimum of 1 is required.")


def _form(x: np.ndarray, y: np.ndarray, axes: str, *, framed: bool) -> Form:
    _refuse_empty(x)
    if x.ndim == 3:
        if y.ndim not in (2, 3):
            raise InputError(
                f"X has the axes (n, T, columns), so y must be (n, T) or (n, T, outputs), not {y.shape}."
            )
        return "batch"
    if x.ndim > 3:
        raise InputError(f"X has {x.ndim} axes {x.shape}; give (n, T) or (n, T, columns).")
    if axes == "samples":
        if x.ndim == 1:
            raise InputError("Expected 2D array, got 1D array: Reshape your data with X.reshape(-1, 1).")
        if not x.shape[1]:
            raise InputError(f"0 feature(s) (shape={x.shape}) while a minimum of 1 is required.")
        return "samples"
    if axes == "steps" or (axes == "auto" and framed):
        return "steps"
    if x.ndim == 1:
        raise InputError(
            "X has one axis: is it one sequence? Then say axes='steps' and give X.reshape(-1, 1), or give "
            "[X] and [y]."
        )
    if axes == "sequences" or (x.shape == y.shape and x.shape[1] > 1):
        if y.shape[:2] != x.shape:
            raise InputError(
                f"with axes='sequences' y must have the shape of X, {x.shape}, but has {y.shape}."
            )
        return "sequences"
    raise InputError(
        f"X {x.shape} and y {y.shape} can mean several things: say axes='steps' if the rows are the steps of "
        "one sequence, axes='samples' if they have nothing to do with each other, or give (n, T, columns)."
    )


def _split(values: np.ndarray, form: Form) -> list[np.ndarray]:
    if form == "batch":
        return list(values)
    if form == "sequences":
        return list(values[..., None] if values.ndim == 2 else values)
    whole = values[:, None] if values.ndim == 1 else values
    return [whole] if form == "steps" else [row[None] for row in whole]


def _is_list(data: Any) -> bool:
    """A list of arrays, as against a list of numbers or of rows."""
    return isinstance(data, (list, tuple)) and bool(data) and all(hasattr(item, "shape") for item in data)


def _read_list(X: Sequence[Any], y: Any, gaps: bool) -> tuple[Given, list[np.ndarray], list[np.ndarray]]:
    if not isinstance(y, (list, tuple)) or len(y) != len(X):
        count = len(y) if hasattr(y, "__len__") else 0
        raise InputError(f"X is a list of {len(X)} sequences, so y must be one too, but has {count}.")
    named = to_array(X[0], "X[0]", gaps)[0]
    xs = [_columns(item, f"X[{i}]", gaps) for i, item in enumerate(X)]
    flat = all(np.ndim(item) == 1 for item in y)
    ys = [_columns(item, f"y[{i}]", gaps) for i, item in enumerate(y)]
    for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
        if len(a) != len(b):
            raise InputError(f"X[{i}] has {len(a)} steps but y[{i}] has {len(b)}.")
        if a.shape[1] != xs[0].shape[1] or b.shape[1] != ys[0].shape[1]:
            raise InputError(f"X[{i}] or y[{i}] has other columns than the first one.")
    inputs = named or _numbered("x", xs[0].shape[1])
    outputs = _apart(_numbered("y", ys[0].shape[1]), inputs)
    truths = _truths(inputs, X) | _truths(outputs, y)
    return Given("list", inputs, outputs, flat, bool(named), truths, _are_whole(y)), xs, ys


def _are_whole(tables: Sequence[Any]) -> bool:
    """Whether all of the targets are stored as whole numbers."""
    kinds = [kind for table in tables for kind in _kinds(table)]
    return bool(kinds) and all(kind in "iu" for kind in kinds)


def _kinds(table: Any) -> list[str]:
    columns = [table[name] for name in table.columns] if hasattr(table, "columns") else [table]
    return [np.asarray(column).dtype.kind for column in columns]


def _truths(names: Sequence[str], tables: Sequence[Any], one: bool = False) -> frozenset[str]:
    """The names of columns that hold True and False in all tables; `one` has no axis for them."""
    found = set(names)
    for table in tables:
        if hasattr(table, "columns"):
            columns = [np.asarray(table[name]) for name in table.columns]
        else:
            array = np.asarray(table)
            columns = [array] if one or array.ndim < 2 else list(np.moveaxis(array, -1, 0))
        columns = columns if len(columns) == len(names) else []
        found &= {name for name, column in zip(names, columns, strict=False) if holds_truths(column)}
    return frozenset(found)


def _columns(item: Any, what: str, gaps: bool) -> np.ndarray:
    _, values = to_array(item, what, gaps)
    if values.ndim > 2:
        raise InputError(f"{what} has {values.ndim} axes; a sequence is (T,) or (T, columns).")
    return values[:, None] if values.ndim == 1 else values


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    return (letter,) if count == 1 else tuple(f"{letter}{i + 1}" for i in range(count))


def _apart(outputs: tuple[str, ...], inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Names of outputs that no input has."""
    return tuple(f"{name}_target" if name in inputs else name for name in outputs)
