"""Steps of a recurrence under construction, and how one head adds its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from weights2code.language import Const, Definition, Expr, Start, Step, Var


@dataclass(slots=True, kw_only=True)
class Steps:
    """Steps and start values so far; columns and outputs have `taken` their names."""

    taken: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    start: dict[str, Start] = field(default_factory=dict)

    def add(self, name: str, definition: Definition, start: Start = 0.0) -> None:
        if all(step.name != name for step in self.steps):
            self.steps.append(Step(name, definition))
            self.start.setdefault(name, start)

    def local(self, name: str) -> str:
        """A name for a step that no column and no output has."""
        while name in self.taken:
            name += "_"
        return name

    def named(self, name: str, value: Expr) -> Expr:
        """`value` as a step, unless it is small enough to stand where it is read."""
        if value.size() <= 1:
            return value
        name = self.local(name)
        self.add(name, value)
        return Var(name)

    def as_name(self, value: Expr, name: str) -> str:
        """The name of a sequence that holds `value`, made if necessary."""
        if isinstance(value, Var) and value.lag == 0:
            return value.name
        name = self.local(name)
        self.add(name, value)
        return name

    def delayed(self, value: Expr, offset: int, start: float, name: str) -> Expr:
        """`value` some steps back; what is not a plain sequence gets a step of its own first."""
        if offset == 0 or value == Const(start):
            return value
        if isinstance(value, Const) and math.isinf(start):  # of which an extremum takes no notice
            return value
        if isinstance(value, Var) and self.start.setdefault(value.name, start) == start:
            return Var(value.name, value.lag + offset)
        name = self.local(name)
        self.add(name, value, start)
        return Var(name, offset)


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

    def delayed(self, offset: int, start: float, letter: str, role: str = "value") -> Expr:
        """What is read in a role, `offset` steps back; `start` before the start."""
        return self.made.delayed(self.read(role), offset, start, f"{letter}{self.index}")

    def sequence(self, role: str, letter: str) -> str:
        """The name of the sequence that the head reads in a role."""
        return self.made.as_name(self.read(role), f"{letter}{self.index}")

    def step(self, letter: str, definition: Definition) -> Var:
        """A step of the head's own."""
        return self._add(f"{letter}{self.index}", lambda _: definition)

    def running(self, letter: str, update: Callable[[Expr], Expr], start: float = 0.0) -> Var:
        """A step of the head's own that is computed from its last value."""
        return self._add(f"{letter}{self.index}", update, start)

    def count(self) -> Var:
        """How many values there are so far."""
        return self._add("n", lambda last: last + 1)

    def _add(self, name: str, update: Callable[[Expr], Definition], start: float = 0.0) -> Var:
        name = self.made.local(name)
        self.made.add(name, update(Var(name, 1)), start)
        return Var(name)
