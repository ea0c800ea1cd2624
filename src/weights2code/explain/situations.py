"""What values can occur, alone and together: a listing may leave out only what nothing can show.

A network is a recurrence (`graph.machine`): from the start, every input is tried in every situation, until no
new one turns up. Then nothing else can occur, at any length. Where situations are too many, or heads go over
everything so far, each value is looked at alone: inputs hold what their domain says, past outputs one of a
set that no step leaves, and what is not known to be bounded may be anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf, prod

import numpy as np

from weights2code.data import Problem
from weights2code.language import Domain, Recurrence, Var, compile_numpy, definition_variables, expression_of
from weights2code.language.kinds import kinds_of

#: Situations, each with every input, up to which a network is explored.
MOST_SITUATIONS = 60_000
#: What still comes to new situations after so many steps counts something, and has no end.
MOST_STEPS = 300
#: A set of values is told one by one up to so many, and so many combinations of them are tried.
MOST_VALUES = 1000
MOST_COMBINATIONS = 100_000
#: An output so near to the border of two whole numbers may be rounded to either.
BORDER = 1e-6


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
    columns = list(zip(machine.inputs, domains, strict=True))
    sizes = [domain.size if domain.discrete else inf for name, domain in columns if name in read]
    if machine.retrieves() or prod(sizes) > MOST_SITUATIONS:
        return None
    inputs = np.array(list(product(*(d.values() if name in read else [0.0] for name, d in columns))), float)
    formulas = [(step.name, expression_of(step.definition)) for step in machine.steps]
    compiled = [(name, e.variables(), compile_numpy(e, e.variables())) for name, e in formulas]
    state = machine.state()
    frontier = np.array([[machine.start_of(v.name) for v in state]], float)
    seen, found, count = {frontier[0].tobytes()}, [], 0
    while len(frontier):
        count += len(frontier) * len(inputs)
        if count > MOST_SITUATIONS or len(found) == MOST_STEPS:
            return None
        held = dict(zip(state, np.repeat(frontier, len(inputs), axis=0).T, strict=True))
        values = dict(zip(machine.inputs, np.tile(inputs, (len(frontier), 1)).T, strict=True))
        with np.errstate(all="ignore"):
            for name, variables, function in compiled:
                given = function(*(held[v] if v.lag else values[v.name] for v in variables))
                values[name] = np.broadcast_to(given, len(frontier) * len(inputs)) + 0.0
        fed_back = [values[f"{name}.raw"] for name in machine.outputs if Var(name, 1) in held]
        if not all(_clear(raw) for raw in fed_back):
            return None
        found.append(values)
        if not state:
            break
        after = [values[v.name] if v.lag == 1 else held[Var(v.name, v.lag - 1)] for v in state]
        fresh = [row for row in np.unique(np.stack(after, 1), axis=0) if row.tobytes() not in seen]
        seen |= {row.tobytes() for row in fresh}
        frontier = np.array(fresh)
    return {name: np.concatenate([values[name] for values in found]) for name in found[0]}


def _clear(raw: np.ndarray) -> bool:
    """Whether outputs are numbers, and certainly rounded to what they are."""
    return bool(np.isfinite(raw).all() and (np.abs(raw % 1 - 0.5) >= BORDER).all())
