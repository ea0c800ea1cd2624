"""The native engine: exhaustive over short formulas instead of random, so that it is fast and repeatable.

Stages run from cheap to dear, each offering what it found to one collector: constant and linear, a
dictionary of typed atoms with all singles, pairs and products, searches for whole-number functions,
branches, families with one inner constant, enumeration of small trees, and faithful fallbacks. The search
stops when no later stage could find anything simpler than what fits already.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import Const, Domain, Var
from weights2code.symbolic.combinations import Basis, fit_sum
from weights2code.symbolic.dictionary import dictionary
from weights2code.symbolic.discrete import SumScan, carry_stage, half_plane, whole_number_stage
from weights2code.symbolic.engine import Candidate
from weights2code.symbolic.problem import Collector, Problem, prepare
from weights2code.symbolic.remainders import remainder_stage
from weights2code.symbolic.snapping import simplest


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
        _search(problem, collector)
        return collector.front()


def _search(problem: Problem, collector: Collector) -> None:
    constant(problem, collector)
    linear(problem, collector)
    if collector.exact is not None:
        return
    pool = dictionary(problem)
    flat = Basis(problem, pool, linear=False)
    flat.singles(collector)
    scan = SumScan(problem)
    if problem.whole and any(domain.discrete for domain in problem.domains):
        whole_number_stage(problem, collector, scan)
    if collector.exact is not None:
        return
    sloped = Basis(problem, pool, linear=True)
    sloped.singles(collector)
    if problem.whole:
        carry_stage(problem, collector, scan)
    flat.pairs(collector)
    flat.products(collector)
    if collector.exact is not None:
        return
    sloped.products(collector)
    sloped.pairs(collector)
    if collector.exact is None and problem.whole:
        half_plane(problem, collector)
        remainder_stage(problem, collector)
    if collector.exact is None:
        flat.beam(collector)


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
