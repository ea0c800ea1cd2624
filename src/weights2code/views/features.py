"""Features and views: a quantity with the steps that define it, and the few of them that a rule reads.

A feature is a column at a lag, or what one or two steps make of the columns so far: a running sum, a lookup,
a register. A view says what each output is computed from. Names of steps are those of their kind; a view
gives them names of its own, without the prime that keeps them apart from columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Recurrence, Start, Step, Var, definition_variables, renamed

#: What another feature of the same kind costs, of what it costs alone; and one of the same steps.
AGAIN, EARLIER = 0.5, 1.3
#: Stands for what lies before the start, in values of features: equal to itself, and to nothing else.
BEFORE = -8.98e307


@dataclass(frozen=True, slots=True)
class Feature:
    """What `read` gives, by these `steps` of inputs and outputs; and what saying so costs."""

    family: str
    read: Var
    cost: float
    steps: tuple[Step, ...] = ()
    start: tuple[tuple[str, Start], ...] = ()
    #: What it is but for its numbers, where others may be the same.
    like: str = ""
    #: Its hash, which is asked for more often than features are made.
    key: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        key = hash((self.family, self.read, self.cost, self.steps, self.start, self.like))
        object.__setattr__(self, "key", key)

    def __hash__(self) -> int:
        return self.key

    def at(self, lag: int, more: float) -> Feature:
        """The same some steps earlier."""
        return replace(self, read=Var(self.read.name, self.read.lag + lag), cost=self.cost + lag * more)

    def values(self, sequences: Sequences, names: tuple[str, ...]) -> np.ndarray:
        """Its values (n, T), of right outputs; what lies before the start is `BEFORE`, if no step says."""
        both = np.concatenate([sequences.x, sequences.y], 2)
        if not self.steps:
            found = both[..., names.index(self.read.name)]
        else:
            with np.errstate(all="ignore"):
                found = Recurrence(names, self.steps, (), dict(self.start)).trace(both)[self.read.name]
        lag = min(self.read.lag, found.shape[1])
        if not lag:
            return found
        return np.pad(found, ((0, 0), (lag, 0)), constant_values=self._begun())[:, : found.shape[1]]

    def _begun(self) -> float:
        """What is read before the start: of what goes on from itself, where it starts."""
        name = self.read.name
        own = (step.definition for step in self.steps if step.name == name)
        if not any(v.name == name for definition in own for v in definition_variables(definition)):
            return BEFORE
        start = dict(self.start).get(name, 0.0)
        return float(start) if isinstance(start, int | float) and isfinite(start) else BEFORE

    def __str__(self) -> str:
        steps = "; ".join(f"{step.name}[t] = {step.definition}" for step in self.steps)
        return f"{self.read}" + (f" where {steps}" if steps else "")


def priced(features: Iterable[Feature]) -> float:
    """What it costs to say features together: what is like another but for its numbers is soon said, and what
    is the same at another position has been said."""
    likes: set[str] = set()
    said: list[Step] = []
    total = 0.0
    for feature in sorted(features, key=lambda f: -len(f.steps)):
        share = AGAIN if feature.like in likes else 1.0
        known = feature.steps and all(step in said for step in feature.steps)
        total += min(feature.cost * share, EARLIER if known else inf)
        likes |= {feature.like} - {""}
        said += feature.steps
    return total


@dataclass(frozen=True, slots=True)
class View:
    """What each output is computed from."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reads: tuple[tuple[Feature, ...], ...]
    steps: tuple[Step, ...] = ()
    start: Mapping[str, Start] = field(default_factory=dict)
    leaves: tuple[tuple[Var, ...], ...] = ()

    @staticmethod
    def of(problem: Problem, reads: Iterable[Iterable[Feature]]) -> View:
        """The features of each output together; equal steps are one step."""
        reads = tuple(tuple(features) for features in reads)
        taken = {*problem.inputs, *problem.outputs}
        steps: list[Step] = []
        start: dict[str, Start] = {}
        leaves = []
        for features in reads:
            own = []
            for feature in features:
                names: dict[str, str] = {}
                for step in feature.steps:
                    begins = dict(feature.start).get(step.name, 0.0)
                    for place in range(len(steps) + len(taken) + 1):
                        name = step.name.rstrip("'") + (f"{place + 1}" if place else "")
                        names[step.name] = name
                        made = Step(name, renamed(step.definition, names))
                        if made in steps and start[name] == begins:
                            break
                        if name not in taken:
                            taken.add(name)
                            steps.append(made)
                            start[name] = begins
                            break
                own.append(Var(names.get(feature.read.name, feature.read.name), feature.read.lag))
            leaves.append(tuple(dict.fromkeys(own)))
        return View(problem.inputs, problem.outputs, reads, tuple(steps), start, tuple(leaves))

    # -- what rules ask of what they read --------------------------------------------------------------------

    def output_leaves(self, row: int) -> tuple[Var, ...]:
        """What one output is computed from."""
        return self.leaves[row]

    def crystallised(self) -> frozenset[str]:
        """Steps whose value before the start is to be looked for: none, features say theirs."""
        return frozenset()

    def known_from(self, name: str) -> int:
        """The first position at which a sequence depends on nothing before the start that may be anything."""
        definition = next((step.definition for step in self.steps if step.name == name), None)
        if definition is None or any(v.name == name for v in definition_variables(definition)):
            return 0
        return max((v.lag + self.known_from(v.name) for v in definition_variables(definition)), default=0)

    def recurrence(self, outputs: list[Step]) -> Recurrence:
        """The steps that something reads, and then the outputs."""
        whole = Recurrence(self.inputs, (*self.steps, *outputs), self.outputs)
        depths = whole.depths()
        start = {n: v for n, v in self.start.items() if n in depths and v != 0}
        return replace(whole, start=start).live()
