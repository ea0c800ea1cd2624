"""Symbolic regression: the shortest exact formula for a function of a few numbers.

`SymbolicRegressor` is the front door; `NativeEngine` is the search behind it, and `pick`, `snap` and the
rest are what the extraction uses directly. Names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weights2code.symbolic.engine import Candidate, Engine, Options, pick
    from weights2code.symbolic.engines.native import NativeEngine
    from weights2code.symbolic.regressor import SymbolicRegressor
    from weights2code.symbolic.snapping import snap

_HOME = {
    "Candidate": "engine",
    "Engine": "engine",
    "NativeEngine": "engines.native",
    "Options": "engine",
    "SymbolicRegressor": "regressor",
    "pick": "engine",
    "snap": "snapping",
}

__all__ = [
    "Candidate",
    "Engine",
    "NativeEngine",
    "Options",
    "SymbolicRegressor",
    "pick",
    "snap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
