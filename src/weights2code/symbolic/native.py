"""The native engine: exhaustive over short formulas instead of random, so that it is fast and repeatable.

Stages run from cheap to dear, each offering what it found to one collector: constant and linear, a
dictionary of typed atoms with all singles, pairs and products, searches for whole-number functions,
branches, families with one inner constant, enumeration of small trees, and faithful fallbacks. The search
stops when no later stage could find anything simpler than what fits already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from weights2code.language import Const, Domain, Var
from weights2code.symbolic.branches import branch_stage, extremum_stage
from weights2code.symbolic.combinations import Basis, fit_sum
from weights2code.symbolic.dictionary import Pool, dictionary
from weights2code.symbolic.discrete import SumScan, carry_stage, half_plane, whole_number_stage
from weights2code.symbolic.engine import Candidate
from weights2code.symbolic.enumeration import Enumeration, combination_stage, enumeration_stage
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


class NativeEngine:
    """Deterministic search in the package's own expression language."""

    name = "native"

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
        floor = _search(problem, collector)
        for _ in range(_REPEATS):
            if collector.exact is not None or not collector.counterexamples or problem.expired():
                break
            # A formula was right on the rows searched on and wrong elsewhere: search on those rows too.
            rows = np.unique(np.concatenate([problem.rows, collector.counterexamples])).astype(int)
            problem = replace(problem, rows=rows)
            collector = Collector(problem, collector.best)
            floor = _search(problem, collector)
        if floor is not None:
            problem = replace(problem, tolerance=floor, noise=floor / 4.5)
            again = Collector(problem)
            for candidate in collector.best.values():
                again.offer(candidate.expr)
            again.exact = None
            _search(problem, again)
            collector = again
        return collector.front()


#: How often rows are added on which a formula turned out wrong.
_REPEATS = 3
#: A function of more variables than this is long anyway: the first exact formula will do.
_MANY = 7
#: With an exact formula of at most this many nodes at hand, the dear stages are not worth their time.
_SHORT = 13


def _search(problem: Problem, collector: Collector) -> float | None:
    """All stages in order; a stage runs while formulas of the sizes that it finds are still of interest.

    Returns the tolerance that the data suggest, if none was given and the best formula reached the noise.
    """
    floor: float | None = None

    def beyond(size: int) -> bool:
        nonlocal floor
        if floor is None:
            floor = noise_floor(problem, collector)
        return floor is None and collector.limit() > size and not problem.expired()

    constant(problem, collector)
    linear(problem, collector)
    if collector.exact is not None or not beyond(3):
        return floor
    if len(problem.variables) > 2:
        envelope_stage(problem, collector)
        window_stage(problem, collector, _glance)
    if collector.exact is not None and len(problem.variables) > _MANY:
        return floor
    trees = enumeration_stage(problem, collector, (2, 3, 4))
    if not beyond(5):
        return floor
    pool = dictionary(problem)
    flat = Basis(problem, pool, linear=False)
    flat.singles(collector)
    scan = SumScan(problem)
    if problem.whole and len(scan):
        whole_number_stage(problem, collector, scan)
    if not beyond(5):
        return floor
    trees.grow(5)
    sloped = Basis(problem, pool, linear=True)
    if beyond(6):
        sloped.singles(collector)
    if problem.whole and len(scan) and beyond(9):
        carry_stage(problem, collector, scan)
    if beyond(8):
        flat.products(collector)
        flat.pairs(collector)
    if beyond(8):
        piece_stage(problem, collector)
    promising, last = _dear_stages(problem, collector, pool, trees, flat, sloped)
    for stage, least in promising:
        if beyond(least):
            stage()
    for stage in last:
        if collector.exact is None and beyond(_SHORT):
            stage()
    if collector.exact is None and beyond(_SHORT):
        table_stage(problem, collector)
    return floor


def _search_on(problem: Problem, collector: Collector, chosen: list[int]) -> None:
    """Search with some of the variables only, and offer what fits best and what is exact there."""
    smaller = replace(
        problem,
        variables=tuple(problem.variables[j] for j in chosen),
        domains=tuple(problem.domains[j] for j in chosen),
        X=problem.X[:, chosen],
    )
    found = Collector(smaller)
    _search(smaller, found)
    for candidate in found.front():
        collector.offer(candidate.expr)


def _glance(problem: Problem, collector: Collector) -> None:
    """What costs next to nothing."""
    linear(problem, collector)
    if collector.exact is None:
        enumeration_stage(problem, collector, (2, 3, 4))
    if collector.exact is None and problem.whole:
        scan = SumScan(problem, 400)
        if len(scan):
            whole_number_stage(problem, collector, scan)


def _short_search(problem: Problem, collector: Collector) -> None:
    """The cheap stages alone, for problems that are only a guess."""
    linear(problem, collector)
    if collector.exact is not None:
        return
    trees = enumeration_stage(problem, collector, (2, 3, 4, 5))
    pool = dictionary(problem)
    for stage in ("singles", "pairs", "products"):
        for beside in (False, True):
            if collector.exact is None and not problem.expired():
                getattr(Basis(problem, pool, linear=beside), stage)(collector)
    if collector.exact is None:
        extremum_stage(problem, collector, pool)
    if collector.exact is None:
        combination_stage(problem, collector, trees)


Stage = Callable[[], None]


def _dear_stages(
    problem: Problem, collector: Collector, pool: Pool, trees: Enumeration, flat: Basis, sloped: Basis
) -> tuple[list[tuple[Stage, int]], list[Stage]]:
    """What is tried when no short formula was found: the promising ones, each with the size up to which a
    formula at hand makes it superfluous, and what is left when nothing was found at all.
    """

    def linear_beside() -> None:
        sloped.products(collector)
        if collector.exact is None:
            sloped.pairs(collector)

    def fewer_variables() -> None:
        chosen = relevant_variables(sloped)
        if 0 < len(chosen) < len(problem.variables):
            _search_on(problem, collector, chosen)

    def branches() -> None:
        branch_stage(problem, collector, pool, trees.tests())

    def extrema() -> None:
        extremum_stage(problem, collector, pool)

    def planes() -> None:
        plane_stage(problem, collector)

    def special() -> None:
        special_stage(problem, collector, _short_search)

    def regions() -> None:
        region_stage(problem, collector)

    last: list[Stage] = [
        lambda: combination_stage(problem, collector, trees),
        lambda: trees.grow(7),
        lambda: flat.beam(collector),
    ]
    if problem.whole and problem.discrete:
        # Branches are cheap on few variables, and often shorter than sums and products of tests.
        least = 8 if len(problem.variables) <= 3 else _SHORT
        promising: list[tuple[Stage, int]] = [
            (extrema, least),
            (regions, least),
            (lambda: trees.grow(6), least),
            (branches, least),
            (lambda: half_plane(problem, collector), _SHORT),
            (lambda: remainder_stage(problem, collector), _SHORT),
        ]
        return promising, [planes, special, linear_beside, *last]
    families = lambda: family_stage(problem, collector)  # noqa: E731
    smooth = [(linear_beside, _SHORT), (planes, 8), (regions, 8), (families, _SHORT)]
    if len(problem.variables) >= 4:
        smooth.insert(1, (fewer_variables, _SHORT))
    undone: Stage = lambda: inverse_stage(problem, collector, _short_search)  # noqa: E731
    return smooth, [special, extrema, branches, undone, lambda: trees.grow(6), *last]


def constant(problem: Problem, collector: Collector) -> None:
    """The middle of the range, snapped: a constant is right if anything that simple is."""
    middle = 0.5 * float(problem.ys.min() + problem.ys.max())
    collector.offer(Const(simplest(middle, problem.accuracy)))
    collector.offer(Const(simplest(float(problem.ys.mean()), problem.accuracy)))


def linear(problem: Problem, collector: Collector) -> None:
    """Single variables, the affine function of all variables, and without those that do not matter."""
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
