"""One walk through the stages of the search, and what they share.

A stage is left out as soon as a formula is at hand that is shorter than what it could find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from weights2code.symbolic.engine import Candidate
from weights2code.symbolic.search.atoms import Pool, dictionary
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.noise_floor import noise_floor
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import Basis
from weights2code.symbolic.search.trees import Enumeration
from weights2code.symbolic.search.whole_numbers import SumScan

#: Weighted sums that a glance looks at.
_FEW_SUMS = 400
#: What costs next to nothing, for a problem that is only a guess.
GLANCE = frozenset({"linear", "small trees", "tests and remainders of sums"})
#: What is cheap enough for the most part of one.
CHEAP = frozenset(
    {"linear", "small trees", "trees of 5 nodes", "pairs beside linear", "regions", "sums of trees"}
)


@dataclass(frozen=True, slots=True)
class Stage:
    """One way of looking for formulas.

    It runs unless an exact formula of at most `least` nodes is at hand. With more than `enough` variables an
    exact formula that was found by its end is final.
    """

    name: str
    run: Callable[[Search], None]
    least: int
    enough: int | None = None


@dataclass
class Search:
    """One walk through the stages, and what they share: each is made when first asked for."""

    problem: Problem
    collector: Collector
    stages: Callable[[Problem], Sequence[Stage]]
    sums: int = SumScan.MOST
    #: A stage found what no later one is expected to make shorter.
    settled: bool = False

    @cached_property
    def pool(self) -> Pool:
        return dictionary(self.problem)

    @cached_property
    def sloped(self) -> Basis:
        """The dictionary beside a linear function."""
        return Basis(self.problem, self.pool, linear=True)

    @cached_property
    def scan(self) -> SumScan:
        return SumScan(self.problem, self.sums)

    @cached_property
    def trees(self) -> Enumeration:
        return Enumeration(self.problem, self.collector)

    def run(self) -> float | None:
        """All stages in order; one runs while formulas of the sizes that it finds are still of interest.

        Returns the tolerance that the data suggest, if none was given and the best formula reached the noise.
        """
        problem, collector = self.problem, self.collector
        judged: Candidate | None = None
        for stage in self.stages(problem):
            nearest = collector.nearest()
            if nearest is not judged:
                floor = noise_floor(problem, collector)
                if floor is not None:
                    return floor
                judged = nearest
            if nearest is not None and problem.expired():
                return None
            if collector.limit() > stage.least:
                stage.run(self)
            if self.settled:
                return None
            if stage.enough is not None and len(problem.variables) > stage.enough and collector.exact:
                return None
        return None

    def some(self, problem: Problem, collector: Collector, names: frozenset[str] = GLANCE) -> None:
        """The named stages on a problem that is only a guess, until something is exact."""
        search = Search(problem, collector, self.stages, _FEW_SUMS)
        for stage in self.stages(problem):
            if stage.name in names and collector.exact is None and not problem.expired():
                stage.run(search)

    def short(self, problem: Problem, collector: Collector) -> None:
        """The cheap stages alone."""
        self.some(problem, collector, CHEAP)

    def below(self, problem: Problem) -> Collector:
        """The whole search on what a step of this one leaves, charged to it."""
        found, allowed = Collector(problem), problem.effort.left
        Search(problem, found, self.stages).run()
        self.problem.effort.spend(allowed - max(problem.effort.left, 0.0))
        return found
