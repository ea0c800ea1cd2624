"""The native engine: exhaustive over short formulas instead of random, so that it is fast and repeatable.

Stages run from cheap to dear, each offering what it found to one collector: constant and linear, a
dictionary of typed atoms with all singles, pairs and products, searches for whole-number functions,
branches, families with one inner constant, enumeration of small trees, and faithful fallbacks. Which stages
there are and in which order is a table (`stages_for`). A stage is left out as soon as a formula is at hand
that is shorter than what it could find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from weights2code.language import Const, Domain, Var
from weights2code.symbolic.branches import branch_stage, extremum_stage
from weights2code.symbolic.combinations import Basis, fit_sum
from weights2code.symbolic.dictionary import Pool, dictionary
from weights2code.symbolic.discrete import SumScan, carry_stage, half_plane, whole_number_stage
from weights2code.symbolic.engine import Candidate
from weights2code.symbolic.enumeration import Enumeration, combination_stage
from weights2code.symbolic.envelope import envelope_stage
from weights2code.symbolic.fallback import table_stage
from weights2code.symbolic.families import family_stage
from weights2code.symbolic.inverses import inverse_stage
from weights2code.symbolic.noise import noise_floor
from weights2code.symbolic.pieces import piece_stage
from weights2code.symbolic.planes import plane_stage
from weights2code.symbolic.problem import Collector, Problem, prepare
from weights2code.symbolic.regions import region_stage
from weights2code.symbolic.relevance import relevant_variables
from weights2code.symbolic.remainders import remainder_stage
from weights2code.symbolic.snapping import simplest
from weights2code.symbolic.special_values import special_stage
from weights2code.symbolic.windows import window_stage

#: How often rows are added on which a formula turned out wrong.
_REPEATS = 3
#: A function of more variables than this is long anyway: the first exact formula will do.
_MANY = 7
#: With an exact formula of at most this many nodes at hand, the dear stages are not worth their time.
_SHORT = 13
#: No formula is longer: a stage of this size only runs if nothing exact was found.
_ANY = 10**8
#: Weighted sums that a glance looks at.
_FEW_SUMS = 400


class NativeEngine:
    """Deterministic search in the package's own expression language.

    Parameters
    ----------
    stages : the stages for a problem, in order; by default all of them.
    """

    name = "native"

    def __init__(self, stages: Callable[[Problem], Sequence[Stage]] | None = None) -> None:
        self.stages = stages or stages_for

    def search(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        variables: tuple[Var, ...],
        domains: tuple[Domain, ...],
        tolerance: float | None = None,
        weights: np.ndarray | None = None,
        time_limit: float = 5.0,
        operators: frozenset[str] | None = None,
        max_complexity: int | None = None,
        random_state: int = 0,
    ) -> tuple[Candidate, ...]:
        """See `Engine.search`."""
        problem = prepare(
            X,
            y,
            variables=variables,
            domains=domains,
            tolerance=tolerance,
            weights=weights,
            time_limit=time_limit,
            operators=operators,
            max_complexity=max_complexity,
        )
        collector = Collector(problem)
        floor = Search(problem, collector, self.stages).run()
        for _ in range(_REPEATS):
            if collector.exact is not None or not collector.counterexamples or problem.expired():
                break
            # A formula was right on the rows searched on and wrong elsewhere: search on those rows too.
            rows = np.unique(np.concatenate([problem.rows, collector.counterexamples])).astype(int)
            problem = replace(problem, rows=rows)
            collector = Collector(problem, collector.best)
            floor = Search(problem, collector, self.stages).run()
        if floor is not None:
            problem = replace(problem, tolerance=floor, noise=floor / 4.5)
            again = Collector(problem)
            for candidate in collector.best.values():
                again.offer(candidate.expr)
            again.exact = None
            Search(problem, again, self.stages).run()
            collector = again
        return collector.front()


@dataclass
class Search:
    """One walk through the stages, and what they share: each is made when first asked for."""

    problem: Problem
    collector: Collector
    stages: Callable[[Problem], Sequence[Stage]]
    sums: int = field(default=SumScan.MOST)

    @cached_property
    def pool(self) -> Pool:
        return dictionary(self.problem)

    @cached_property
    def flat(self) -> Basis:
        """The dictionary beside a constant."""
        return Basis(self.problem, self.pool, linear=False)

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
            if stage.enough is not None and len(problem.variables) > stage.enough and collector.exact:
                return None
        return None

    def some(self, problem: Problem, collector: Collector, names: frozenset[str], sums: int) -> None:
        """The named stages on a problem that is only a guess, until something is exact."""
        search = Search(problem, collector, self.stages, sums)
        for stage in self.stages(problem):
            if stage.name in names and collector.exact is None and not problem.expired():
                stage.run(search)

    def glance(self, problem: Problem, collector: Collector) -> None:
        """What costs next to nothing."""
        self.some(problem, collector, GLANCE, _FEW_SUMS)

    def short(self, problem: Problem, collector: Collector) -> None:
        """The cheap stages alone."""
        self.some(problem, collector, CHEAP, SumScan.MOST)

    def on(self, chosen: list[int]) -> None:
        """Search with some of the variables only, and offer what fits best and what is exact there."""
        problem = self.problem
        smaller = replace(
            problem,
            variables=tuple(problem.variables[j] for j in chosen),
            domains=tuple(problem.domains[j] for j in chosen),
            X=problem.X[:, chosen],
        )
        found = Collector(smaller)
        Search(smaller, found, self.stages).run()
        for candidate in found.front():
            self.collector.offer(candidate.expr)


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


#: What a glance is, and what is cheap enough for a problem that is only a guess.
GLANCE = frozenset({"linear", "small trees", "tests and remainders of sums"})
CHEAP = frozenset(
    {
        *("linear", "small trees", "trees of 5 nodes", "single atoms", "single atoms beside linear"),
        *("products", "pairs", "products beside linear", "pairs beside linear"),
        *("extrema of two", "sums of trees"),
    }
)


def stages_for(problem: Problem) -> tuple[Stage, ...]:
    """The stages that suit a problem, from cheap to dear."""
    count = len(problem.variables)
    sums = problem.whole and any(domain.discrete for domain in problem.domains)
    stages = [Stage("linear", linear, 0, enough=0)]
    if count > 2:
        stages += [
            Stage("extrema of many", lambda s: envelope_stage(s.problem, s.collector), 3),
            Stage("windows", lambda s: window_stage(s.problem, s.collector, s.glance), 3, enough=_MANY),
        ]
    stages += [
        Stage("small trees", lambda s: s.trees.grow_to(4), 2),
        Stage("single atoms", lambda s: s.flat.singles(s.collector), 5),
    ]
    if sums:
        stages.append(
            Stage(
                "tests and remainders of sums",
                lambda s: whole_number_stage(s.problem, s.collector, s.scan),
                5,
            )
        )
    stages += [
        Stage("trees of 5 nodes", lambda s: s.trees.grow(5), 5),
        Stage("single atoms beside linear", lambda s: s.sloped.singles(s.collector), 6),
    ]
    if sums:
        stages.append(Stage("carries", lambda s: carry_stage(s.problem, s.collector, s.scan), 9))
    stages += [
        Stage("products", lambda s: s.flat.products(s.collector), 8),
        Stage("pairs", lambda s: s.flat.pairs(s.collector), 8),
        Stage("pieces", lambda s: piece_stage(s.problem, s.collector), 8),
    ]
    dear = _of_whole_numbers if problem.whole and problem.discrete else _of_reals
    return (
        *stages,
        *dear(count),
        Stage("sums of trees", lambda s: combination_stage(s.problem, s.collector, s.trees), _ANY),
        Stage("trees of 7 nodes", lambda s: s.trees.grow(7), _ANY),
        Stage("sums of three atoms", lambda s: s.flat.beam(s.collector), _ANY),
        Stage("table", lambda s: table_stage(s.problem, s.collector), _ANY),
    )


def _of_whole_numbers(count: int) -> list[Stage]:
    # Branches are cheap on few variables, and often shorter than sums and products of tests.
    least = 8 if count <= 3 else _SHORT
    return [
        _extrema(least),
        _regions(least),
        Stage("trees of 6 nodes", lambda s: s.trees.grow(6), least),
        _branches(least),
        Stage("half planes", lambda s: half_plane(s.problem, s.collector), _SHORT),
        Stage("remainders", lambda s: remainder_stage(s.problem, s.collector), _SHORT),
        _planes(_ANY),
        _special(),
        *_beside_linear(_ANY),
    ]


def _of_reals(count: int) -> list[Stage]:
    fewer = [Stage("fewer variables", fewer_variables, _SHORT)] if count >= 4 else []
    return [
        *_beside_linear(_SHORT),
        *fewer,
        _planes(8),
        _regions(8),
        Stage("families", lambda s: family_stage(s.problem, s.collector), _SHORT),
        _special(),
        _extrema(_ANY),
        _branches(_ANY),
        Stage("inverses", lambda s: inverse_stage(s.problem, s.collector, s.short), _ANY),
        Stage("trees of 6 nodes", lambda s: s.trees.grow(6), _ANY),
    ]


def _extrema(least: int) -> Stage:
    return Stage("extrema of two", lambda s: extremum_stage(s.problem, s.collector, s.pool), least)


def _regions(least: int) -> Stage:
    return Stage("regions", lambda s: region_stage(s.problem, s.collector), least)


def _branches(least: int) -> Stage:
    return Stage("branches", lambda s: branch_stage(s.problem, s.collector, s.pool, s.trees.tests()), least)


def _planes(least: int) -> Stage:
    return Stage("planes", lambda s: plane_stage(s.problem, s.collector), least)


def _special() -> Stage:
    return Stage("special values", lambda s: special_stage(s.problem, s.collector, s.short), _ANY)


def _beside_linear(least: int) -> list[Stage]:
    return [
        Stage("products beside linear", lambda s: s.sloped.products(s.collector), least),
        Stage("pairs beside linear", lambda s: s.sloped.pairs(s.collector), least),
    ]


def fewer_variables(search: Search) -> None:
    """Search again on the variables that matter."""
    chosen = relevant_variables(search.sloped)
    if 0 < len(chosen) < len(search.problem.variables):
        search.on(chosen)


def linear(search: Search) -> None:
    """Constants, single variables, the affine function of all variables, and without what does not matter."""
    problem, collector = search.problem, search.collector
    for middle in (0.5 * float(problem.ys.min() + problem.ys.max()), float(problem.ys.mean())):
        collector.offer(Const(simplest(middle, problem.accuracy)))
    variables, X = list(problem.variables), problem.Xs
    for j, variable in enumerate(variables):
        collector.offer(variable)
        expr = fit_sum(problem, [variable], X[:, [j]].T)
        if expr is not None:
            collector.offer(expr)
    chosen = list(range(len(variables)))
    while len(chosen) > 1:
        expr = fit_sum(problem, [variables[j] for j in chosen], X[:, chosen].T)
        if expr is None:
            return
        candidate = collector.offer(expr)
        if candidate is None or not candidate.exact:
            return
        # Drop the variable whose share of the prediction is smallest, as long as the fit stays exact.
        matrix = np.hstack([X[:, chosen], np.ones((len(X), 1))])
        coefficients = np.linalg.lstsq(matrix, problem.ys, rcond=None)[0][:-1]
        share = np.abs(coefficients) * np.ptp(X[:, chosen], axis=0)
        chosen.pop(int(np.argmin(share)))
