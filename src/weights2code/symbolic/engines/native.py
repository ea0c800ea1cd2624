"""The native engine: exhaustive over short formulas instead of random, so that it is fast and repeatable.

One agenda (`search.agenda`) offers what it finds to one collector. Where a formula is right on the rows
searched on and wrong elsewhere, those rows are added; where the data show how much of them is noise, the
search starts again with that as its tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np

from weights2code.language import Domain, Var
from weights2code.symbolic.engine import Candidate, Options
from weights2code.symbolic.search.agenda import Search
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import prepare

#: How often rows are added on which a formula turned out wrong.
REPEATS = 3


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
        **options: Unpack[Options],
    ) -> tuple[Candidate, ...]:
        """See `Engine.search`."""
        problem = prepare(X, y, variables=variables, domains=domains, **options)
        collector = Collector(problem)
        told: tuple[int, ...] = ()
        for attempt in range(1 + REPEATS):
            search = Search(problem, collector, told=told)
            search.run()
            floor = search.floor if attempt == 0 else None
            if collector.exact is not None or not (floor or collector.counterexamples) or problem.expired():
                break
            if floor is not None:  # what is left over looks like noise: as exact as that is exact enough
                problem = replace(problem, tolerance=floor, noise=floor / 4.5)
                offered = [candidate.expr for candidate in collector.best.values()]
                collector = Collector(problem)
                for expr in offered:
                    collector.offer(expr)
                collector.exact = None
            else:
                told = tuple(sorted({*told, *collector.counterexamples[:60]}))
                problem = replace(problem, rows=np.unique([*problem.rows, *told]).astype(int))
                collector = Collector(problem, collector.best)
        return collector.front()
