"""Options: fields of a dataclass that say all about themselves.

The command line, the checks, `config.json`, the estimators and the documentation are made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar, get_args

from weights2code import json_values
from weights2code.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of an option: its text and group in the help, and what a value must be.

    Of several values each may have commas in it only where the option is to be `repeated`.
    """

    help: str
    kind: type
    metavar: str
    group: str
    must: str
    holds: Callable[[Any], bool]
    choices: tuple[str, ...]
    several: bool
    repeated: bool


def option(
    default: Any,
    text: str,
    metavar: str = "NAME",
    *,
    group: str = "",
    least: int | None = None,
    must: str = "",
    holds: Callable[[Any], bool] = lambda value: True,
    choices: Any = None,
    repeated: bool = False,
) -> Any:
    """A field with its option; `least` bounds a number, `choices` is a Literal."""
    if least is not None:
        must, holds = f"be at least {least}", lambda value: value >= least
    kind = {"N": int, "X": float}.get(metavar, str)
    several = default == () or "," in metavar
    made = Option(text, kind, metavar, group, must, holds, get_args(choices), several, repeated)
    return field(default=default, metadata={"option": made})


def options_of(kind: type) -> dict[str, Option]:
    """The options of a dataclass, by their names."""
    return {one.name: one.metadata["option"] for one in fields(kind)}


def check(given: Any) -> None:
    """Refuse values that options cannot have; of several any sequence is taken."""
    for name, known in options_of(type(given)).items():
        value = getattr(given, name)
        if value is None:
            continue
        if known.several:
            object.__setattr__(given, name, tuple(value))
        for item in value if known.several else (value,):
            if known.choices and item not in known.choices:
                raise InputError(f"unknown {name} {item!r}; choose one of {', '.join(known.choices)}.")
        if not known.holds(value):
            raise InputError(f"--{name.replace('_', '-')} must {known.must}, got {value}.")


def to_json(given: Any) -> dict[str, Any]:
    """The values of all options."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(given).items()}


def from_json(kind: type[T], data: Mapping[str, Any], what: str) -> T:
    """Inverse of `to_json`; what is missing has its default."""
    known = options_of(kind)
    unknown = sorted(set(json_values.mapping(data, what)) - set(known))
    if unknown:
        raise InputError(f"unknown {what}: {', '.join(unknown)[:200]}.")
    defaults = {one.name: one.default for one in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _stored(value, known[name], defaults[name], name) for name, value in data.items()})


def _stored(value: Any, known: Option, default: Any, name: str) -> Any:
    """The value of an option that was read from a file."""
    if value is None and default is None:
        return None
    if known.several:
        return tuple(json_values.name(item, name) for item in json_values.items(value, name))
    if known.kind is int:
        return json_values.whole(value, name, most=2**32)
    if known.kind is float:
        return float(json_values.number(value, name))
    return json_values.text(value, name)
