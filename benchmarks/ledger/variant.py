"""The package without a part of itself, so that what a mechanism earns is one command.

A stage of the engine or a rung of the ladder is left out by its name. A module is left out by its path: its
functions then find nothing, which is what their return type says that is: None, nothing in a list, no.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

#: What a function that finds nothing returns, by how its return type begins.
EMPTY: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "bool": lambda: False,
    "int": lambda: 0,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
    "frozenset": frozenset,
    "Sequence": tuple,
    "Iterable": tuple,
    "Iterator": lambda: iter(()),
    "Generator": lambda: iter(()),
    "Mapping": dict,
}


def leave_out(names: Iterable[str], modules: Iterable[str]) -> None:
    """From now on the package does without these."""
    names = list(names)
    if names:
        _leave_out_names(names)
    for path in modules:
        _leave_out_module(path)


def _leave_out_names(names: list[str]) -> None:
    from weights2code.symbolic.search import agenda
    from weights2code.training import ladder

    known = {*agenda.STEPS, *agenda.REDUCTIONS, "layer", "reduce"}
    known |= {rung.name for rung in ladder.FAST_LADDER}
    strange = [name for name in names if name not in known]
    if strange:
        raise SystemExit(
            f"no stage or rung is called {', '.join(strange)}; there are: {', '.join(sorted(known))}"
        )
    agenda.left_out = frozenset(names)
    ladder.FAST_LADDER = tuple(rung for rung in ladder.FAST_LADDER if rung.name not in names)


def _leave_out_module(path: str) -> None:
    name = re.sub(r"(^|.*/)src/", "", path).removesuffix(".py").replace("/", ".")
    name = name if name.startswith("weights2code") else f"weights2code.{name}"
    module = importlib.import_module(name)
    _import_all()
    public = {
        value: _nothing(value)
        for value in vars(module).values()
        if isinstance(value, FunctionType) and value.__module__ == name and not value.__name__.startswith("_")
    }
    if not public:
        raise SystemExit(f"{Path(path)} has no function of its own that others could do without")
    for other in [
        m for n, m in sys.modules.items() if n.startswith("weights2code") and isinstance(m, ModuleType)
    ]:
        for attribute, value in list(vars(other).items()):
            if isinstance(value, FunctionType) and value in public:
                setattr(other, attribute, public[value])


def _nothing(function: FunctionType) -> Callable[..., Any]:
    """The function, finding nothing."""
    said = str(inspect.signature(function).return_annotation)
    kinds = ["None"] if "None" in [part.strip() for part in said.split("|")] else [re.split(r"\W", said)[0]]
    if kinds[0] not in EMPTY:
        raise SystemExit(f"{function.__name__} returns {said}: what would it be to find nothing?")
    empty = EMPTY[kinds[0]]
    return lambda *arguments, **named: empty()


def _import_all() -> None:
    """Every module that can be imported here, so that names that were taken from the module are known."""
    import weights2code

    for found in pkgutil.walk_packages(weights2code.__path__, "weights2code."):
        if not found.name.endswith("__main__"):
            try:
                importlib.import_module(found.name)
            except ImportError:
                continue  # an optional part
