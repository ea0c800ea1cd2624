"""Steps of a recurrence under construction, and how one head adds its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from weights2code.language import Const, Definition, Expr, Start, Step, Var

#: What the steps of a role are named by.
_LETTERS = {"query": "q", "key": "k", "value": "w"}


@dataclass(slots=True, kw_only=True)
class Steps:
    """Steps and start values so far; columns and outputs have `taken` their names."""

    taken: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    start: dict[str, Start] = field(default_factory=dict)

    def add(self, name: str, definition: Definition, start: Start = 0.0) -> Var:
        """A step of this name, unless there is one."""
        if all(step.name != name for step in self.steps):
            self.steps.append(Step(name, definition))
            self.start.setdefault(name, start)
        return Var(name)

    def local(self, name: str) -> str:
        """A name for a step that no column and no output has."""
        while name in self.taken:
            name += "_"
        return name

    def named(self, name: str, value: Expr) -> Expr:
        """`value` as a step, unless it is small enough to stand where it is read."""
        return value if value.size() <= 1 else self.add(self.local(name), value)

    def delayed(self, value: Expr, offset: int, start: float, name: str) -> Expr:
        """`value` some steps back; what is not a plain sequence gets a step of its own first."""
        if offset == 0 or value == Const(start):
            return value
        if isinstance(value, Const) and math.isinf(start):  # of which an extremum takes no notice
            return value
        if isinstance(value, Var) and self.start.setdefault(value.name, start) == start:
            return Var(value.name, value.lag + offset)
        return Var(self.add(self.local(name), value, start).name, offset)


@dataclass(frozen=True, slots=True)
class HeadSteps:
    """What a hypothesis becomes steps with: one head, whose steps are named by a letter and its index.

    `read` gives what the head reads in a role, at time t, in the user's units; `units` what one unit of it
    means in them.
    """

    made: Steps
    index: int
    units: Mapping[str, float]
    read: Callable[[str], Expr]

    def delayed(self, role: str, offset: int, start: float) -> Expr:
        """What is read in a role, `offset` steps back; `start` before the start."""
        return self.made.delayed(self.read(role), offset, start, f"{_LETTERS[role]}{self.index}")

    def sequence(self, role: str) -> str:
        """The name of the sequence that the head reads in a role, made if necessary."""
        value = self.read(role)
        if isinstance(value, Var) and value.lag == 0:
            return value.name
        return self.step(_LETTERS[role], value).name

    def in_units_of_keys(self, role: str) -> Expr:
        """What is read in a role, to be compared with keys, which may have another scale."""
        value, factor = self.read(role), self.units["key"] / self.units[role]
        return value if factor == 1 else value * factor

    def step(self, letter: str, definition: Definition) -> Var:
        """A step of the head's own."""
        return self.made.add(self.made.local(f"{letter}{self.index}"), definition)

    def running(self, letter: str, update: Callable[[Expr], Expr], start: float = 0.0) -> Var:
        """A step of the head's own that is computed from its last value."""
        name = self.made.local(f"{letter}{self.index}")
        return self.made.add(name, update(Var(name, 1)), start)

    def count(self) -> Var:
        """How many values there are so far."""
        name = self.made.local("n")
        return self.made.add(name, Var(name, 1) + 1)
