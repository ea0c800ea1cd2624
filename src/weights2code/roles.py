"""What the columns of a table are for: said once, and carried as one value to whoever reads them.

Everything about an option of the columns stands at its field: the command line, `FileSource`, `config.json`
and the estimators are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from weights2code import json_values
from weights2code.errors import InputError

Missing = Literal["refuse", "drop", "last"]
Decimal = Literal["point", "comma"]
Dates = Literal["day-first", "month-first"]


@dataclass(frozen=True, slots=True)
class Role:
    """An option of the columns as the command line has it: a name, several, a number, or a choice."""

    metavar: str
    help: str
    choices: tuple[str, ...]

    @property
    def several(self) -> bool:
        return "," in self.metavar


def _role(default: Any, metavar: str, text: str, choices: Any = None) -> Any:
    return field(default=default, metadata={"role": Role(metavar, text, get_args(choices))})


@dataclass(frozen=True, slots=True)
class Roles:
    """The meaning of columns; what was not said has its default."""

    inputs: tuple[str, ...] | None = _role(
        None, "A,B", "columns that the program reads; default: all that have no other role"
    )
    targets: tuple[str, ...] = _role((), "Y,Z", "columns that it computes")
    sequence: str | None = _role(None, "NAME", "column that tells sequences apart")
    order: str | None = _role(
        None, "NAME", "column that rows are sorted by within a sequence: numbers, dates or times"
    )
    time: str | None = _role(
        None,
        "NAME",
        "column of times: its hour, its weekday and the time since the last row become inputs",
    )
    season: int | None = _role(
        None,
        "N",
        "rows of a season, such as 24 or 168, that rules may look back; by default the data are asked",
    )
    categories: tuple[str, ...] = _role(
        (), "A,B", "columns of whole numbers that stand for something, as ids do"
    )
    ignore_case: tuple[str, ...] = _role((), "A,B", "columns of texts in which `Open` and `open` are one")
    decimal: str | None = _role(
        None, "MARK", "whether 1,234 is 1.234 (comma) or 1234 (point), where the cells do not say", Decimal
    )
    dates: str | None = _role(
        None, "FORM", "whether 02/01/2024 is in January or February, where the cells do not say", Dates
    )
    missing: str = _role(
        "refuse",
        "WAY",
        "cells that hold nothing: refuse (default), cut sequences there, or carry the last value on",
        Missing,
    )

    def __post_init__(self) -> None:
        for name, role in ROLES.items():
            value = getattr(self, name)
            if role.several and value is not None:
                object.__setattr__(self, name, tuple(value))
            if role.choices and value is not None and value not in role.choices:
                raise InputError(f"--{name} {value} is not known; choose one of {', '.join(role.choices)}.")
        self._check_names()

    def _check_names(self) -> None:
        """Refuse names that are none, and columns of two roles."""
        inputs = self.inputs or ()
        for what, names in (("--inputs", inputs), ("--targets", self.targets)):
            if not all(names):
                raise InputError(f"{what} names no column; give names separated by commas.")
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise InputError(f"{what} names {twice!r} twice; name each column once.")
        both = set(inputs) & set(self.targets)
        if both:
            raise InputError(
                f"{min(both)!r} is an input and a target; past targets are used by themselves, so leave it "
                "out of --inputs."
            )
        for what in ("sequence", "order", "time"):
            name = getattr(self, what)
            if name is not None and name in (*inputs, *self.targets):
                raise InputError(f"--{what} {name!r} is an input or a target too; give it one role.")
        for what in ("categories", "ignore_case") if self.inputs is not None else ():
            for name in set(getattr(self, what)) - {*self.columns}:
                flag = what.replace("_", "-")
                raise InputError(f"--{flag} {name!r} is no input and no target; name one of these.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of values."""
        return (*(self.inputs or ()), *self.targets)

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that tell sequences apart, or order rows."""
        return tuple(
            dict.fromkeys(name for name in (self.sequence, self.order, self.time) if name is not None)
        )

    @property
    def declared(self) -> frozenset[str]:
        """Columns of categories, whatever they look like."""
        return frozenset(self.categories)

    def to_dict(self) -> dict[str, Any]:
        """JSON form; options that nobody gave are left out, but those of the first versions."""
        known = {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }
        usual = {one.name: one.default for one in fields(Roles)}
        always = ("inputs", "targets", "sequence", "order")
        return {n: v for n, v in known.items() if n in always or getattr(self, n) != usual[n]}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Roles:
        """Inverse of `to_dict`."""
        unknown = set(data) - set(ROLES)
        if unknown:
            raise ValueError(f"a file has no {min(unknown)}")
        try:
            return Roles(**{name: _stored(name, value) for name, value in data.items()})
        except InputError as error:
            raise ValueError(str(error)) from None


#: The options by their names.
ROLES: dict[str, Role] = {}
ROLES.update({one.name: one.metadata["role"] for one in fields(Roles)})


def _stored(name: str, value: Any) -> Any:
    """The value of an option that was read from a file."""
    if value is None:
        return None
    if ROLES[name].several:
        return json_values.names(value, name)
    if ROLES[name].metavar == "N":
        return json_values.whole(value, name, most=json_values.MOST_LAG)
    return json_values.name(value, name)
