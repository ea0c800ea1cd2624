"""The experiments by name; each module is imported when it is asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from weights2code.errors import InputError
from weights2code.experiments.experiment import Experiment

#: In the order of the paper.
NAMES = (
    "table1",
    "protocol",
    "architectures",
    "robustness",
    "arity",
    "pruning",
    "l1",
    "annealing",
    "dynamics",
    "interventions",
    "attention_patterns",
)
#: Those that share a module; each of the others has one of its name.
ABLATIONS = ("arity", "pruning", "l1", "annealing")


def get(name: str) -> Experiment:
    """The experiment called `name`; if there is none, InputError suggests the nearest."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else "`w2c experiment --list` lists them all."
        raise InputError(f"there is no experiment called {name!r}: {hint}")
    module = "ablations" if name in ABLATIONS else name
    return getattr(import_module(f"weights2code.experiments.{module}"), name.upper())


def every() -> tuple[Experiment, ...]:
    """All experiments."""
    return tuple(get(name) for name in NAMES)
