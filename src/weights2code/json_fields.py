"""Dataclasses as JSON and back, by the types of their fields.

What is read must be what the type says, within the limits of `json_values`; `Annotated[int, reader]` names a
stricter or a laxer reader, called with the data and with what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from math import isfinite
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from weights2code.json_values import items, mapping, number, text, truth, whole

T = TypeVar("T")


def to_fields(value: Any, beyond: Callable[[float], Any] = str, **own: Any) -> dict[str, Any]:
    """The JSON form, with fields of its `own` that are written otherwise; JSON has no infinities, nor what is
    no number: they are what `beyond` makes of them."""

    def plain(item: Any) -> Any:
        if is_dataclass(item):
            return getattr(item, "to_dict", lambda: to_fields(item, beyond))()
        if isinstance(item, Mapping):
            return {str(key): plain(entry) for key, entry in item.items()}
        if isinstance(item, tuple):
            return [plain(entry) for entry in item]
        if hasattr(item, "tolist"):  # an array
            return item.tolist()
        return beyond(item) if isinstance(item, float) and not isfinite(item) else item

    return {f.name: own[f.name] if f.name in own else plain(getattr(value, f.name)) for f in fields(value)}


def from_fields(kind: type[T], data: Any, what: str, later: tuple[str, ...] = (), **own: Any) -> T:
    """Inverse of `to_fields`, given what was written otherwise; older files lack what came `later`."""
    data = mapping(data, what)
    hints = _hints(kind)
    names = (field.name for field in fields(kind))  # type: ignore[arg-type]
    asked = (name for name in names if name not in own and (name in data or name not in later))
    return kind(**{name: _read(data[name], hints[name], name) for name in asked}, **own)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _read(data: Any, kind: Any, what: str) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return args[1](data, what)
    if origin in (Union, UnionType):
        return None if data is None else _read(data, args[0], what)
    if origin is tuple:
        return tuple(_read(item, args[0], what) for item in items(data, what))
    if origin is Mapping:
        found = mapping(data, what).items()
        return {whole(int(k[:9]), what) if args[0] is int else k: _read(v, args[1], what) for k, v in found}
    if isinstance(kind, type) and is_dataclass(kind):
        return getattr(kind, "from_dict", lambda data: from_fields(kind, data, what))(data)
    if kind is float:
        return float(number(data, what))
    return {int: whole, bool: truth}.get(kind, text)(data, what)
