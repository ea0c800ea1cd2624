"""The stages of the native search as a table, from cheap to dear.

Constant and linear; functions of whole windows; small trees; sums, remainders and carries of whole numbers;
decisions along a sum, and borders between rows of reals; rules taken apart; branches, regions and pairs of
atoms; and at last tables. What each is worth is measured by `benchmarks/symbolic_regression/ablation.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from weights2code.effort import Effort
from weights2code.language import Const
from weights2code.symbolic.decomposition.stage import decomposition_stage
from weights2code.symbolic.piecewise.decision_lists import branch_stage
from weights2code.symbolic.piecewise.decision_trees import region_stage
from weights2code.symbolic.piecewise.extrema_of_two import extremum_stage
from weights2code.symbolic.piecewise.joined_planes import plane_stage
from weights2code.symbolic.piecewise.special_values import special_stage
from weights2code.symbolic.piecewise.thresholds_of_sums import threshold_stage
from weights2code.symbolic.reals.cells import cell_stage
from weights2code.symbolic.search.extrema_of_many import envelope_stage
from weights2code.symbolic.search.inner_constants import family_stage
from weights2code.symbolic.search.largest_of_several import winner_stage
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import fit_sum
from weights2code.symbolic.search.tables import table_stage
from weights2code.symbolic.search.trees import combination_stage, comparison_stage
from weights2code.symbolic.search.walk import Search, Stage
from weights2code.symbolic.search.whole_numbers import carry_stage, whole_number_stage
from weights2code.symbolic.search.window_aggregates import order_stage, window_stage
from weights2code.symbolic.snapping import simplest

#: A function of more variables than this is long anyway: the first exact formula will do.
_MANY = 7
#: With an exact formula of at most this many nodes at hand, the dear stages are not worth their time.
_SHORT = 13
#: The share of the effort that is left that thresholds of sums may take.
_THRESHOLDS = 0.4
#: On many rows of several variables what was found by taking rules apart is not made shorter; of fewer
#: variables only what is long.
_MANY_ROWS, _SEVERAL, _SHORT_ENOUGH = 600, 4, 40
#: Regions and their like are found early, and are long; what may say the same in fewer nodes is tried after.
_LONG = 20
#: No formula is longer: a stage of this size only runs if nothing exact was found.
_ANY = 10**8


def stages_for(problem: Problem) -> tuple[Stage, ...]:
    """The stages that suit a problem, in order, each with the size of formula that makes it superfluous."""
    count = len(problem.variables)
    sums = problem.whole and any(domain.discrete for domain in problem.domains)
    order = {"linear": 0}
    if count > 2:
        order |= {"extrema of many": 3, "order statistics": 3, "windows": 3}
    if count > 2 and problem.whole:
        order |= {"largest of several": 3}
    order |= {"small trees": 2}
    if count > 4 and problem.whole and not problem.discrete:
        order |= {"cells": _SHORT}
    if sums:
        order |= {"tests and remainders of sums": 5}
    order |= {"trees of 5 nodes": 5}
    if problem.whole:
        order |= {"comparisons of trees": 7, "thresholds of sums": 8}
        if not problem.discrete:
            order |= {"cells": _SHORT}
    if sums:
        order |= {"carries": 9}
    if problem.whole and problem.discrete:
        # Branches are cheap on few variables, and often shorter than sums and products of tests.
        least = 8 if count <= 3 else _SHORT
        if count > 3 or (count > 2 and len(problem.X) >= _MANY_ROWS):
            order |= {"decomposition": _SHORT}
        order |= {"extrema of two": least, "regions": least, "special values": least}
        order |= {"trees of 6 nodes": least, "branches": least}
        order |= {"decomposition": _SHORT, "planes": _ANY}
        order |= {"products beside linear": _ANY, "pairs beside linear": _ANY}
    else:
        order |= {"pairs beside linear": _SHORT, "products beside linear": _SHORT}
        # Along one variable a clip is shorter than the branches that say the same.
        order |= {"planes": 8 if count > 1 else 3, "regions": 8}
        order |= {"families": _SHORT, "special values": _LONG}
        order |= {"extrema of two": _LONG, "branches": _LONG, "trees of 6 nodes": _ANY}
    order |= {"sums of trees": _ANY, "table": _ANY}
    return tuple(Stage(name, _RUN[name], least, _ENOUGH.get(name)) for name, least in order.items())


def linear(search: Search) -> None:
    """Constants, single variables, the affine function of all variables, and without what does not matter."""
    problem, collector = search.problem, search.collector
    for middle in (0.5 * float(problem.ys.min() + problem.ys.max()), float(problem.ys.mean())):
        collector.offer(Const(simplest(middle, problem.accuracy)))
    variables, X = list(problem.variables), problem.Xs
    for j, variable in enumerate(variables):
        collector.offer(variable)
        collector.offer_all(fit_sum(problem, [variable], X[:, [j]].T))
    chosen = list(range(len(variables)))
    while len(chosen) > 1:
        fitted = fit_sum(problem, [variables[j] for j in chosen], X[:, chosen].T)
        candidates = [collector.offer(expr) for expr in fitted]
        if not any(candidate is not None and candidate.exact for candidate in candidates):
            return
        # Drop the variable whose share of the prediction is smallest, as long as the fit stays exact.
        matrix = np.hstack([X[:, chosen], np.ones((len(X), 1))])
        coefficients = np.linalg.lstsq(matrix, problem.ys, rcond=None)[0][:-1]
        share = np.abs(coefficients) * np.ptp(X[:, chosen], axis=0)
        chosen.pop(int(np.argmin(share)))


def thresholds(search: Search) -> None:
    """Decisions along a sum, after which a search of many rows is over."""
    effort = search.problem.effort
    part = Effort(_THRESHOLDS * effort.left)
    before = part.left
    search.settled = threshold_stage(replace(search.problem, effort=part), search.collector)
    effort.spend(min(before - part.left, before))


def decomposed(search: Search) -> None:
    """Rules taken apart, after which a search of many rows is over if they led to a short formula."""
    decomposition_stage(search)
    problem = search.problem
    least = 0 if len(problem.variables) >= _SEVERAL else _LONG
    many = len(problem.X) >= _MANY_ROWS
    search.settled = many and least <= search.collector.limit() <= _SHORT_ENOUGH


#: With more variables than this, an exact formula found by the end of the stage is final.
_ENOUGH = {"linear": 0, "windows": _MANY}
_RUN: dict[str, Callable[[Search], None]] = {
    "linear": linear,
    "extrema of many": lambda s: envelope_stage(s.problem, s.collector),
    "largest of several": lambda s: winner_stage(s.problem, s.collector),
    "order statistics": lambda s: order_stage(s.problem, s.collector),
    "windows": lambda s: window_stage(s.problem, s.collector, s.some),
    "small trees": lambda s: s.trees.grow_to(4),
    "tests and remainders of sums": lambda s: whole_number_stage(s.problem, s.collector, s.scan),
    "trees of 5 nodes": lambda s: s.trees.grow(5),
    "comparisons of trees": lambda s: comparison_stage(s.problem, s.collector, s.trees),
    "thresholds of sums": thresholds,
    "cells": cell_stage,
    "carries": lambda s: carry_stage(s.problem, s.collector, s.scan),
    "decomposition": decomposed,
    "extrema of two": lambda s: extremum_stage(s.problem, s.collector, s.pool),
    "regions": lambda s: region_stage(s.problem, s.collector),
    "trees of 6 nodes": lambda s: s.trees.grow(6),
    "branches": lambda s: branch_stage(s.problem, s.collector, s.pool, s.trees.tests()),
    "planes": lambda s: plane_stage(s.problem, s.collector),
    "special values": lambda s: special_stage(s.problem, s.collector, s.short),
    "products beside linear": lambda s: s.collector.offer_all(s.sloped.products()),
    "pairs beside linear": lambda s: s.collector.offer_all(s.sloped.pairs()),
    "families": lambda s: family_stage(s.problem, s.collector),
    "sums of trees": lambda s: combination_stage(s.problem, s.collector, s.trees),
    "table": lambda s: table_stage(s.problem, s.collector),
}
