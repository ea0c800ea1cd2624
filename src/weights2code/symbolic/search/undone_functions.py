"""Undoing an outer function: if y is a root, a quotient or an exponential, look for what is under it.

The target is transformed (squared, inverted, its logarithm taken) and searched for again; what is found is
wrapped in the function that was undone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from weights2code.language import Expr, op
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem


def inverse_stage(
    problem: Problem, collector: Collector, search: Callable[[Problem, Collector], object]
) -> None:
    """Offer `f(g)` for every g that `search` finds for the target with f undone."""
    y = problem.y
    spread = float(np.ptp(y)) or 1.0
    tolerance = problem.tolerance
    ways: list[tuple[str, np.ndarray, float, Callable[[Expr], Expr]]] = []
    if float(y.min()) >= 0 and problem.allows("sqrt"):
        ways.append(("sqrt", y**2, 2 * float(y.max()), lambda g: op("sqrt", g)))
    nearest = float(np.min(np.abs(y)))
    if nearest > 0.02 * spread and problem.allows("div"):
        ways.append(("div", 1 / y, 1 / float(np.max(np.abs(y))) ** 2, lambda g: op("div", 1, g)))
    if float(y.min()) > 0.02 * spread and problem.allows("exp"):
        ways.append(("exp", np.log(y), 1 / float(np.max(np.abs(y))), lambda g: op("exp", g)))
    for _, target, slope, wrap in ways:
        if problem.expired() or collector.exact is not None:
            return
        # The strictest translation of the tolerance; the collector judges with the true one.
        undone = replace(
            problem, y=target, measured=target, tolerance=max(tolerance * slope, 1e-12), estimated=False
        )
        found = Collector(undone)
        search(undone, found)
        for candidate in found.front()[-3:]:
            collector.offer(wrap(candidate.expr))
