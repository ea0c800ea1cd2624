"""The collector of what a search finds: formulas are judged on all rows, the best of each complexity kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.language import Expr
from weights2code.simplify.forms import tidied
from weights2code.symbolic.engine import Candidate, Kind, front_of, preference
from weights2code.symbolic.notation import clipped
from weights2code.symbolic.search.borders import sharpened
from weights2code.symbolic.search.rows import Problem

#: Seconds of a usual machine for a node of a formula that is offered.
NODE = 2.6e-5


@dataclass(slots=True)
class Collector:
    """Judges formulas on all rows and keeps the best of each complexity."""

    problem: Problem
    best: dict[int, Candidate] = field(default_factory=dict)
    exact: Candidate | None = None
    #: Rows on which a formula failed that was right on every row searched on.
    counterexamples: list[int] = field(default_factory=list)

    def offer(self, expr: Expr, kind: Kind = "formula") -> Candidate | None:
        """Judge one formula; the candidate if it is valid and allowed, else None."""
        problem = self.problem
        problem.effort.spend(NODE * expr.size())
        plain = clipped(tidied(expr))
        expr = plain if problem.permits(plain) else expr
        complexity = expr.size()
        if problem.max_complexity is not None and complexity > problem.max_complexity:
            return None
        if not problem.permits(expr):
            return None
        values = problem.values(expr)
        if not np.all(np.isfinite(values)):
            return None
        error = np.abs(values - problem.measured)
        max_error = float(np.max(error))
        rmse = float(np.sqrt(np.average(error**2, weights=problem.weights)))
        # The last factor forgives rounding in the last digit, never more.
        right = max_error <= problem.tolerance * (1 + 1e-9)
        if problem.whole:
            wrong = np.abs(values - problem.y) > 1e-6
            right = right and not np.any(wrong)
        else:
            wrong = error > problem.tolerance
        candidate = Candidate(
            expr, complexity, max_error, rmse, kind=kind, exact=bool(right), tolerance=problem.tolerance
        )
        if right:
            if self.exact is None or _before(candidate, self.exact):
                self.exact = candidate
        elif kind == "formula" and complexity < self.limit():
            if not np.any(wrong[problem.rows]):
                self.counterexamples.extend(int(i) for i in np.flatnonzero(wrong)[:50])
            sharp = sharpened(problem, expr, wrong)
            if sharp is not None:
                return self.offer(sharp)
        known = self.best.get(complexity)
        if known is None or (rmse, preference(expr)) < (known.rmse, preference(known.expr)):
            self.best[complexity] = candidate
        return candidate

    def limit(self) -> int:
        """Complexity of the best exact formula so far; only smaller ones are still of interest."""
        return self.exact.complexity if self.exact is not None else 10**9

    def nearest(self) -> Candidate | None:
        """The formula with the smallest error, short ones first."""
        return min(self.best.values(), key=lambda c: (c.rmse, c.complexity), default=None)

    def front(self) -> tuple[Candidate, ...]:
        candidates = list(self.best.values())
        if self.exact is not None:
            # Beyond the first exact formula, more nodes only fit noise.
            candidates = [c for c in candidates if c.complexity < self.exact.complexity] + [self.exact]
        front = front_of(candidates)
        return tuple(replace(c, exact=False) for c in front) if self.problem.contradictory else front


def _before(new: Candidate, old: Candidate) -> bool:
    if (new.kind == "formula") != (old.kind == "formula"):
        return new.kind == "formula"
    return (preference(new.expr), new.rmse) < (preference(old.expr), old.rmse)
