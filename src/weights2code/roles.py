"""What the columns of a table are for: said once, and carried as one value to whoever reads them.

Everything about an option of the columns stands at its field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from weights2code.errors import InputError
from weights2code.options import check, from_json, option, options_of, to_json

Missing = Literal["refuse", "drop", "last"]
Decimal = Literal["point", "comma"]
Dates = Literal["day-first", "month-first"]


@dataclass(frozen=True, slots=True)
class Roles:
    """The meaning of columns; what was not said has its default."""

    inputs: tuple[str, ...] | None = option(
        None, "columns that the program reads; default: all that have no other role", "A,B"
    )
    targets: tuple[str, ...] = option((), "columns that it computes", "Y,Z")
    sequence: str | None = option(None, "column that tells sequences apart")
    order: str | None = option(
        None, "column that rows are sorted by within a sequence: numbers, dates or times"
    )
    time: str | None = option(
        None, "column of times: its hour, its weekday and the time since the last row become inputs"
    )
    season: int | None = option(
        None,
        "rows of a season, such as 24 or 168, that rules may look back; by default the data are asked",
        "N",
    )
    categories: tuple[str, ...] = option(
        (), "columns of whole numbers that stand for something, as ids do", "A,B"
    )
    ignore_case: tuple[str, ...] = option((), "columns of texts in which `Open` and `open` are one", "A,B")
    decimal: str | None = option(
        None, "whether 1,234 is 1.234 (comma) or 1234 (point), where the cells do not say", choices=Decimal
    )
    dates: str | None = option(
        None, "whether 02/01/2024 is in January or February, where the cells do not say", choices=Dates
    )
    missing: str = option(
        "refuse",
        "cells that hold nothing: refuse (default), cut sequences there, or carry the last value on",
        choices=Missing,
    )

    def __post_init__(self) -> None:
        """Refuse names that are none, and columns of two roles."""
        check(self)
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

    def to_dict(self) -> dict[str, Any]:
        """JSON form; options that nobody gave are left out, but those of the first versions."""
        usual = {one.name: one.default for one in fields(Roles)}
        always = ("inputs", "targets", "sequence", "order")
        return {n: v for n, v in to_json(self).items() if n in always or getattr(self, n) != usual[n]}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Roles:
        """Inverse of `to_dict`."""
        try:
            return from_json(Roles, data, "roles")
        except InputError as error:
            raise ValueError(str(error)) from None


#: The options by their names.
ROLES = options_of(Roles)
