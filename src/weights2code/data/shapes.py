"""What the arrays of a user mean: lists, (n, T), (n, T, columns), DataFrames; what is unclear is refused.

Every form becomes a table, of the same kind as a file is, with the rows of all sequences; answers go back in
the form that the question had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weights2code.data.columns import Loaded
from weights2code.data.limits import find_column
from weights2code.data.row_order import Arranged, arranged
from weights2code.data.tables import Table
from weights2code.errors import InputError
from weights2code.language.domain import EXACT
from weights2code.roles import Roles

Form = Literal["list", "sequences", "batch", "steps", "samples"]
AXES = ("auto", "sequences", "steps", "samples")
#: What an array that tells sequences apart is called.
GROUPS = "groups"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """X or y: the columns of a frame, or an array of any axes."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    parts: list[np.ndarray]

    def columns(self, *, axis: bool) -> list[np.ndarray]:
        """The columns, all rows of each in line; without an `axis` for them there is one."""
        parts = self.parts
        if len(parts) == 1 and axis and self.parts[0].shape == self.shape:
            parts = list(np.moveaxis(self.parts[0], -1, 0))
        return [part.reshape(-1) for part in parts]


def part_of(data: Any, what: str) -> Part:
    """What was given as X or y, with the names of its columns, if there are any."""
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise InputError(f"{what} is sparse; sparse data is not supported, use {what}.toarray().")
    if hasattr(data, "columns"):
        names = tuple(str(name) for name in data.columns)
        if len(set(names)) < len(names):
            raise InputError(f"{what} has two columns of one name; rename one.")
        told = all(isinstance(name, str) for name in data.columns)
        columns = [np.asarray(data[name]) for name in data.columns]
        return Part(names if told else (), (len(data), len(names)), columns)
    named = what == "y" and hasattr(data, "to_numpy") and getattr(data, "name", None)
    try:
        array = data.to_numpy() if hasattr(data, "to_numpy") else np.asarray(data)
    except ValueError:
        raise InputError(
            f"{what} is a list of lists that are not equally long; give a list of arrays, one a sequence: "
            f"[numpy.array(item) for item in {what}]."
        ) from None
    if np.iscomplexobj(array):
        raise InputError(f"Complex data not supported: {what} holds complex numbers; give real ones.")
    if array.ndim == 0:
        raise InputError(f"{what} is a single number; give arrays of at least one axis.")
    for value in array.flat if array.dtype == object else ():
        if isinstance(value, (dict, list, set)):
            float(value)  # type: ignore[arg-type]  # says what it is about
    return Part((str(data.name),) if named else (), array.shape, [array])


@dataclass(frozen=True, slots=True)
class Given:
    """The form of the data, the roles of its columns, and whether targets came without an axis for them.

    `whole` targets came as whole numbers, and go back so; `within` are targets that are columns of X; with
    `groups` an array tells sequences apart.

    Forms: "list" of arrays, "sequences" (n, T), "batch" (n, T, columns), "steps" (T, columns),
    "samples" (n, columns).
    """

    form: Form
    roles: Roles
    flat: bool
    named: bool
    whole: bool = False
    within: tuple[str, ...] = ()
    groups: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.roles.inputs or ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.roles.targets

    def rows(self, X: Any, y: Any = None, groups: Any = None) -> tuple[Table, Arranged]:
        """The rows of all sequences as a table, with the targets if these are given, and their order."""
        if self.groups != (groups is not None):
            raise InputError("the model was fitted with groups=; give them again, one a row.")
        labels = {
            name: np.asarray(X[name]) for name in self.roles.labels if name != GROUPS or not self.groups
        }
        if self.groups:
            labels[GROUPS] = np.asarray(groups)
        X, y = _apart(X, y, self.roles, self.within)
        xs = self._parts(X, "X")
        self._check(xs)
        lengths = _lengths(xs, self.form)
        columns = dict(zip(self.inputs, _joined(xs, self.form != "sequences"), strict=True))
        if y is not None:
            ys = self._parts(y, "y")
            if _lengths(ys, self.form) != lengths:
                raise InputError(
                    f"X {xs[0].shape} and y {ys[0].shape} do not go together: found inconsistent numbers of "
                    "samples."
                )
            columns |= dict(zip(self.outputs, _joined(ys, not self.flat), strict=True))
        for values in labels.values():
            if len(values) != sum(lengths):
                raise InputError(f"groups has {len(values)} values for {sum(lengths)} rows; give one a row.")
        table = Table("the data", Loaded((sum(lengths),), (columns | labels).__getitem__), self.roles)
        if labels:
            return table, arranged(table)
        return table, Arranged(None, np.cumsum(lengths)[:-1], sum(lengths))

    def _parts(self, data: Any, what: str) -> list[Part]:
        if self.form != "list":
            return [part_of(data, what)]
        if not _is_list(data):
            raise InputError("the model was fitted on a list of arrays; give a list again.")
        return [part_of(item, f"{what}[{i}]") for i, item in enumerate(data)]

    def _check(self, xs: Sequence[Part]) -> None:
        """Refuse inputs of another form, or with other columns."""
        axes = {"sequences": 2, "batch": 3, "steps": 2, "samples": 2}
        for x in xs:
            found = len(x.shape)
            if self.form in axes and found != axes[self.form] and not (self.form == "steps" and found == 1):
                wanted = axes[self.form]
                hint = " Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one sample."
                raise InputError(
                    f"the model was fitted on {wanted} axes, X has {found}." + (hint if wanted == 2 else "")
                )
            _refuse_empty(x)
            if self.named and x.names and x.names != self.inputs:
                raise InputError(
                    "The feature names should match those that were passed during fit: "
                    f"{', '.join(self.inputs)}."
                )
            count = x.shape[-1] if found > 1 and self.form != "sequences" else 1
            if count != len(self.inputs):
                raise InputError(
                    f"X has {count} features, but ProgramRegressor is expecting {len(self.inputs)} features "
                    "as input."
                )

    def arrange(self, answers: np.ndarray, lengths: np.ndarray) -> Any:
        """Answers (rows, outputs) of sequences of these lengths, in the form of the targets."""
        if self.whole and answers.dtype.kind == "f" and _is_whole(answers):
            answers = answers.astype(np.int64)
        if self.flat:
            answers = answers[:, 0]
        if self.form == "list":
            return np.split(answers, np.cumsum(lengths)[:-1])
        if self.form in ("sequences", "batch"):
            return answers.reshape(len(lengths), -1, *answers.shape[1:])
        return answers


def given_by(
    X: Any,
    y: Any,
    axes: str = "auto",
    *,
    sequence: str | None = None,
    order: str | None = None,
    groups: Any = None,
    **options: Any,
) -> Given:
    """The meaning of X and y; `options` are those of `Roles`."""
    if axes not in AXES:
        raise InputError(f"unknown axes {axes!r}; choose one of {', '.join(AXES)}.")
    if y is None:
        raise InputError("y is missing: this estimator requires y to be passed, but the target y is None.")
    if sequence is not None and groups is not None:
        raise InputError("sequence= and groups= say the same; give one of them.")
    columns = {str(name) for name in getattr(X, "columns", ())}
    within = (y,) if isinstance(y, str) else ()
    if isinstance(y, (list, tuple)) and y and all(isinstance(name, str) and name in columns for name in y):
        within = tuple(y)
    labels = Roles(sequence=GROUPS if groups is not None else sequence, order=order)
    framed = bool(labels.labels or within)
    X, y = _apart(X, y, labels, within)
    listed = _is_list(X) and axes != "samples" and not framed
    if listed:
        x, t, form = *_lists(X, y), "list"
    else:
        x, t = part_of(X, "X"), part_of(y, "y")
        _refuse_empty(x)
        form = _form(x.shape, t.shape, "steps" if framed else axes, framed=bool(x.names))
    flat = len(t.shape) == (2 if form in ("sequences", "batch") else 1)
    inputs = x.names or _numbered("x", 1 if form == "sequences" or len(x.shape) == 1 else x.shape[-1])
    outputs = t.names or _numbered("y", 1 if flat else t.shape[-1])
    outputs = tuple(f"{name}_target" if name in inputs else name for name in outputs)
    targets = [part_of(item, "y") for item in y] if listed else [t]
    whole = all(part.dtype.kind in "iu" for one in targets for part in one.parts)
    roles = Roles(inputs, outputs, labels.sequence, order, **options)
    return Given(form, roles, flat, bool(x.names), whole, within, groups is not None)


def _lists(X: Sequence[Any], y: Any) -> tuple[Part, Part]:
    """The first of the sequences of X and y, which must be like the others."""
    if not isinstance(y, (list, tuple)) or len(y) != len(X):
        count = len(y) if hasattr(y, "__len__") else 0
        raise InputError(f"X is a list of {len(X)} sequences, so y must be one too, but has {count}.")
    xs, ys = (
        [part_of(item, f"{what}[{i}]") for i, item in enumerate(data)] for what, data in (("X", X), ("y", y))
    )
    for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
        if a.shape[0] != b.shape[0]:
            raise InputError(f"X[{i}] has {a.shape[0]} steps but y[{i}] has {b.shape[0]}.")
        for what, one in (("X", a), ("y", b)):
            if len(one.shape) > 2:
                raise InputError(
                    f"{what}[{i}] has {len(one.shape)} axes; a sequence is (T,) or (T, columns)."
                )
        if a.shape[1:] != xs[0].shape[1:] or b.shape[1:] != ys[0].shape[1:]:
            raise InputError(f"X[{i}] or y[{i}] has other columns than the first one.")
    return xs[0], ys[0]


def _apart(X: Any, y: Any, labels: Roles, within: tuple[str, ...]) -> tuple[Any, Any]:
    """X without labels and targets, and the targets, which may be names of its columns."""
    asked = [name for name in (labels.sequence, labels.order) if name not in (None, GROUPS)]
    if not hasattr(X, "columns"):
        if asked or within:
            raise InputError("sequence=, order= and names of targets are columns of a DataFrame; X is none.")
        return X, y
    names = [str(name) for name in X.columns]
    for name in (*asked, *(within if y is not None else ())):
        find_column("X", names, name or "")
    if within and y is not None:
        y = X[within[0]] if isinstance(y, str) else X[list(within)]
    gone = {*asked, *within}
    return X[[name for name in X.columns if name not in gone]] if gone else X, y


def _lengths(parts: Sequence[Part], form: Form) -> list[int]:
    """How many rows each sequence has."""
    shape = parts[0].shape
    if form == "list":
        return [part.shape[0] for part in parts]
    if form in ("sequences", "batch"):
        return [shape[1]] * shape[0]
    return [shape[0]] if form == "steps" else [1] * shape[0]


def _joined(parts: Sequence[Part], axis: bool) -> list[np.ndarray]:
    """The columns, all sequences one after the other."""
    found = [part.columns(axis=axis and len(part.shape) > 1) for part in parts]
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def _is_whole(values: np.ndarray) -> bool:
    return bool((np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < EXACT)).all())


def _refuse_empty(x: Part) -> None:
    if not x.shape[0]:
        raise InputError(f"Found array with 0 sample(s) (shape={x.shape}) while a minimum of 1 is required.")


def _form(x: Sequence[int], y: Sequence[int], axes: str, *, framed: bool) -> Form:
    if len(x) == 3:
        if len(y) not in (2, 3):
            raise InputError(
                f"X has the axes (n, T, columns), so y must be (n, T) or (n, T, outputs), not {y}."
            )
        return "batch"
    if len(x) > 3:
        raise InputError(f"X has {len(x)} axes {x}; give (n, T) or (n, T, columns).")
    if axes == "samples":
        if len(x) == 1:
            raise InputError("Expected 2D array, got 1D array: Reshape your data with X.reshape(-1, 1).")
        if not x[1]:
            raise InputError(f"0 feature(s) (shape={x}) while a minimum of 1 is required.")
        return "samples"
    if axes == "steps" or (axes == "auto" and framed):
        return "steps"
    if len(x) == 1:
        raise InputError(
            "X has one axis: is it one sequence? Then say axes='steps' and give X.reshape(-1, 1), or give "
            "[X] and [y]."
        )
    if axes == "sequences" or (x == y and x[1] > 1):
        if y[:2] != x:
            raise InputError(f"with axes='sequences' y must have the shape of X, {x}, but has {y}.")
        return "sequences"
    raise InputError(
        f"X {x} and y {y} can mean several things: say axes='steps' if the rows are the steps of "
        "one sequence, axes='samples' if they have nothing to do with each other, or give (n, T, columns)."
    )


def _is_list(data: Any) -> bool:
    """A list of arrays, as against a list of numbers or of rows."""
    return isinstance(data, (list, tuple)) and bool(data) and all(hasattr(item, "shape") for item in data)


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    return (letter,) if count == 1 else tuple(f"{letter}{i + 1}" for i in range(count))
