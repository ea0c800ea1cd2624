"""What values can occur, alone and together: a listing may leave out only what nothing can show.

A network is a recurrence (`graph.machine`), whose states are closed under every input: nothing else can
occur, at any length. Where they are too many, or heads go over everything so far, each value is looked at
alone: inputs hold what their domain says, past outputs one of a set that no step leaves, and what is not
known to be bounded may be anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf, prod

import numpy as np

from weights2code.data import Problem
from weights2code.language import Domain, Recurrence, Var, definition_variables, evaluate, expression_of
from weights2code.language.kinds import kinds_of
from weights2code.verify.all_rows import reachable_states

#: Situations, each with every input, up to which a network is closed.
MOST_SITUATIONS = 20_000
#: A set of values is told one by one up to so many, and so many combinations of them are tried.
MOST_VALUES = 1000
MOST_COMBINATIONS = 100_000
#: An output so near to the border of two whole numbers may be rounded to either.
BORDER = 1e-6
#: What an input that nothing reads may be taken for.
UNREAD = Domain("integers", 0, 0)


@dataclass(frozen=True, slots=True)
class Possible:
    """What a value may be: between `low` and `high`, and one of `values` where they can be told."""

    low: float = -inf
    high: float = inf
    values: tuple[float, ...] | None = None

    @staticmethod
    def of(values: set[float]) -> Possible:
        return Possible(min(values), max(values), tuple(sorted(values)))

    def with_value(self, value: float) -> Possible:
        """The same, or this value."""
        low, high = min(self.low, value), max(self.high, value)
        return Possible(low, high, None if self.values is None else tuple(sorted({*self.values, value})))


def combinations(values: list[tuple[float, ...]]) -> np.ndarray | None:
    """Every combination of so many sets of values, one a row; None if they are too many."""
    if prod(map(len, values)) > MOST_COMBINATIONS:
        return None
    return np.array(list(product(*values)), float).reshape(-1, len(values))


def possible_inputs(problem: Problem) -> list[Possible]:
    """What each input can hold; reals of own data may lie outside of those that were seen."""
    found = []
    for domain in problem.domains:
        if domain.discrete and domain.size <= MOST_VALUES:
            found.append(Possible.of(set(domain.values().tolist())))
        else:
            told = domain.discrete or problem.reference is not None
            found.append(Possible(domain.low, domain.high) if told else Possible())
    return found


def possible_outputs(machine: Recurrence, domains: tuple[Domain, ...]) -> list[Possible]:
    """What each output can hold, its start among it, if it is rounded; anything where that is not known."""
    with np.errstate(all="ignore"):
        known = kinds_of(machine, domains).values
    found = []
    for name in machine.outputs:
        raw = known.get(f"{name}.raw")
        told = name in known and raw is not None and _clear(np.array(raw))
        found.append(Possible.of({*known[name], float(machine.start_of(name))}) if told else Possible())
    return found


def situations(machine: Recurrence, domains: tuple[Domain, ...]) -> dict[str, np.ndarray] | None:
    """The values of every name, one a situation and input; None if there are too many, or no end of them.

    An output that may be rounded either way has none either: whoever computes it otherwise, to rounding, may
    come to other situations.
    """
    read = {v.name for step in machine.steps for v in definition_variables(step.definition)}
    domains = tuple(d if n in read else UNREAD for n, d in zip(machine.inputs, domains, strict=True))
    states = reachable_states(machine, domains, MOST_SITUATIONS)
    if states is None:
        return None
    inputs = np.array(list(product(*(domain.values() for domain in domains))), float)
    count = max((len(column) + 1 for column in states.values()), default=1)
    held = {  # at the start, and after some inputs
        variable: np.repeat([float(machine.start_of(variable.name)), *column], len(inputs))
        for variable, column in states.items()
    }
    values = dict(zip(machine.inputs, np.tile(inputs, (count, 1)).T, strict=True))
    with np.errstate(all="ignore"):
        for step in machine.steps:
            formula = expression_of(step.definition)
            known = {v: held[v] if v.lag else values[v.name] for v in formula.variables()}
            values[step.name] = np.broadcast_to(evaluate(formula, known), count * len(inputs)) + 0.0
    fed_back = [values[f"{name}.raw"] for name in machine.outputs if Var(name, 1) in held]
    return values if all(_clear(raw) for raw in fed_back) else None


def _clear(raw: np.ndarray) -> bool:
    """Whether outputs are numbers, and certainly rounded to what they are."""
    return bool(np.isfinite(raw).all() and (np.abs(raw % 1 - 0.5) >= BORDER).all())
