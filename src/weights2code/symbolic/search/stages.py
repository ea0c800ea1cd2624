"""The stages of the native search as a table, from cheap to dear.

Constant and linear; small trees and typed atoms; sums, remainders and carries of whole numbers; products and
pairs of atoms; pieces, branches and regions; functions with an inner constant; and at last tables. What each
is worth is measured by `benchmarks/symbolic_regression/ablation.py`.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import Const
from weights2code.symbolic.piecewise.along_one_direction import piece_stage
from weights2code.symbolic.piecewise.decision_lists import branch_stage
from weights2code.symbolic.piecewise.decision_trees import region_stage
from weights2code.symbolic.piecewise.extrema_of_two import extremum_stage
from weights2code.symbolic.piecewise.joined_planes import plane_stage
from weights2code.symbolic.piecewise.special_values import special_stage
from weights2code.symbolic.search.extrema_of_many import envelope_stage
from weights2code.symbolic.search.inner_constants import family_stage
from weights2code.symbolic.search.relevant_variables import relevant_variables
from weights2code.symbolic.search.remainders import remainder_stage
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import fit_sum
from weights2code.symbolic.search.tables import table_stage
from weights2code.symbolic.search.trees import combination_stage
from weights2code.symbolic.search.walk import Search, Stage
from weights2code.symbolic.search.whole_numbers import carry_stage, whole_number_stage
from weights2code.symbolic.search.window_aggregates import window_stage
from weights2code.symbolic.snapping import simplest

#: A function of more variables than this is long anyway: the first exact formula will do.
_MANY = 7
#: With an exact formula of at most this many nodes at hand, the dear stages are not worth their time.
_SHORT = 13
#: No formula is longer: a stage of this size only runs if nothing exact was found.
_ANY = 10**8


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
    stages.append(Stage("trees of 5 nodes", lambda s: s.trees.grow(5), 5))
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
