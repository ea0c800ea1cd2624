"""Which views are tried, and in what order: the shortest descriptions first.

A view waits at what its features cost; what was not solved waits again, further back, with more effort.
Before a view comes all that may be cheaper: so a family of features is opened when nothing that waits costs
less than it. Nothing here looks for a formula, and nothing judges one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from math import inf

from weights2code.data import Problem, Regime
from weights2code.views import families
from weights2code.views.features import Feature, priced
from weights2code.views.rows import Features, Rows, stages, windows_of

#: Effort for a view, in seconds of a usual machine, and how much further back it waits for it.
EFFORTS = ((0.5, 0.0), (1.5, 4.0), (5.0, 9.0))
#: What is all but a rule already comes sooner, and more effort for what near rows are most content with.
SURE, SOON = {"linear": 0.5}, 0.25
#: What a window costs more, in what near rows differ in.
WIDE = 0.01
#: Views of a family that are asked.
ASKED = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A view of one output: what family it came of, where it waited, and how much effort it is worth."""

    name: str
    features: Features
    place: float
    effort: float

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(map(str, self.features))}"


@dataclass(slots=True, eq=False)
class Agenda:
    """The views of one output that wait."""

    rows: Rows
    _heap: list[tuple[float, int, int, str, Features]] = field(default_factory=list)
    _seen: set[frozenset[Feature]] = field(default_factory=set)
    _waited: set[tuple[int, frozenset[Feature]]] = field(default_factory=set)
    _hopeless: set[frozenset[Feature]] = field(default_factory=set)
    _ticket: Iterator[int] = field(default_factory=count)
    _coming: Iterator[tuple[str, float, list[Features]]] = field(init=False)
    #: The least that a view of a family costs that is not open yet.
    next_family: float = 0.0

    def __post_init__(self) -> None:
        self._coming = stages(self.rows)

    def take(self) -> Asked | None:
        """The next view; None when there are no more."""
        if not self._heap:
            return None
        place, _, level, name, features = heapq.heappop(self._heap)
        if level + 1 < len(EFFORTS) and (level + 1, frozenset(features)) not in self._waited:
            self._waited.add((level + 1, frozenset(features)))
            self._wait(level + 1, name, features)
        return Asked(name, features, place, EFFORTS[level][0])

    def drop(self, asked: Asked) -> None:
        """It does not determine the output: more effort is no use."""
        self._hopeless.add(frozenset(asked.features))
        self._heap = [one for one in self._heap if frozenset(one[-1]) not in self._hopeless]
        heapq.heapify(self._heap)

    def again(self, asked: Asked) -> None:
        """Ask the same once more, first of all."""
        level = next(level for level, (effort, _) in enumerate(EFFORTS) if effort == asked.effort)
        heapq.heappush(self._heap, (-1.0, next(self._ticket), level, asked.name, asked.features))

    @property
    def hungry(self) -> bool:
        """Whether a family may hold something cheaper than what waits."""
        return self.next_family < inf and (not self._heap or self._heap[0][0] > self.next_family)

    def open(self) -> None:
        """See what the next family has."""
        name, self.next_family, views = next(self._coming, ("", inf, []))
        for features in views[:ASKED]:
            key = frozenset(features)
            if key not in self._seen:
                self._seen.add(key)
                self._wait(0, name, features)

    def _wait(self, level: int, name: str, features: Features) -> None:
        place = self.rows.place(features)
        soon = SOON if name == "near" and self.rows.thin(features) < 1 else 1.0
        place = place * SURE.get(name, 1.0) + soon * EFFORTS[level][1]
        heapq.heappush(self._heap, (place, next(self._ticket), level, name, features))


def inexact_views(problem: Problem, rows: list[Rows]) -> Iterator[tuple[str, list[Features]]]:
    """For rules that are not exact, what all outputs are computed from: windows, and what leaves the fewest
    contradictions."""
    reach = min(6, problem.length // 2)
    fresh = families.visible(problem, reach, min(2, max(reach, 1)))
    windows = windows_of(rows[0], fresh, reach)
    if problem.regime is not Regime.MISTAKES:  # those that near rows are most content with, narrow ones first
        content = [sum(of.near(chosen).left for of in rows) / len(rows) for chosen in windows]
        best = sorted(range(len(windows)), key=lambda place: content[place] + WIDE * priced(windows[place]))
        windows = [windows[place] for place in sorted(best[:ASKED])]
    for chosen in windows:
        yield "window", [chosen] * len(rows)
    for place in range(ASKED):
        if all(len(of.partial) > place for of in rows):
            yield "few contradictions", [of.partial[place].features for of in rows]
