"""The native engine: exhaustive over short formulas instead of random, so that it is fast and repeatable.

The stages (`search.stages`) run from cheap to dear, each offering what it found to one collector. Where a
formula is right on the rows searched on and wrong elsewhere, those rows are added; where the data show how
much of them is noise, the search starts again with that as its tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from weights2code.language import Domain, Var
from weights2code.symbolic.engine import Candidate, Options
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem, prepare
from weights2code.symbolic.search.stages import stages_for
from weights2code.symbolic.search.walk import Search, Stage

#: How often rows are added on which a formula turned out wrong.
_REPEATS = 3


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
        **options: Unpack[Options],
    ) -> tuple[Candidate, ...]:
        """See `Engine.search`."""
        problem = prepare(X, y, variables=variables, domains=domains, **options)
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
