"""One function at several lags, added up: y = s[t] + s[t-1] + s[t-2], s[t] - 2*s[t-1] + s[t-2].

Rows of all that such a sum reads hardly repeat, but those of s do: every row of y is one linear equation for
the values of s on what it reads at each lag. Where equations outnumber these values, least squares says
whether y is such a sum, and what s is: a problem of its own, of fewer variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import Expr, Var
from weights2code.symbolic.decomposition.splits import numbered
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search

#: Functions that are added, and the weights of two and of three; more are all added.
_MOST_LAGS = 6
_WEIGHTS = {2: ((1, 1), (1, -1), (1, 2), (2, 1)), 3: ((1, 1, 1), (1, -2, 1))}
#: Values of the function, at least and at most, and equations for each.
_FEWEST_VALUES, _MOST_VALUES, _EQUATIONS = 8, 60_000, 1.5
#: Steps of the solution: to see whether y may be such a sum, and to say what the function is; what they cost.
_GLANCE, _STEPS, _STEP_CELLS = 12, 400, 0.5
#: Squared error, as a share of the variance, after the first steps; how far from whole numbers values may be.
_PROMISING, _WHOLE = 0.2, 0.02
#: A value says something if so many equations hold it.
_SEEN = 2
#: The share of the effort that is left for the function.
_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Repeated:
    """The weights and lags of a sum of one function, and what the function reads at lag 0."""

    weights: tuple[int, ...]
    lags: tuple[int, ...]
    variables: tuple[Var, ...]


def repeated_function_stage(search: Search) -> None:
    """Search the function that y may be a sum of, at several lags, from what the sum says of it."""
    problem = search.problem
    for sums in _sums(problem.variables):
        if problem.expired() or search.collector.exact is not None:
            return
        function = _function(problem, sums)
        if function is None:
            continue
        X, values, offset = function
        smaller = derived(problem, X, values, sums.variables, _SHARE * problem.effort.left)
        found = search.below(smaller, depth=search.depth)
        if found.exact is not None and found.exact.kind == "formula":
            terms = [(w, _at(found.exact.expr, lag)) for w, lag in zip(sums.weights, sums.lags, strict=True)]
            candidate = search.collector.offer(weighted_sum(terms, offset))
            search.settled = candidate is not None and candidate.exact


def _sums(variables: tuple[Var, ...]) -> Iterator[Repeated]:
    """Sums that read all variables and no others, those of most lags first: their function reads least."""
    known = set(variables)
    reach = max(variable.lag for variable in variables)
    for count in range(min(_MOST_LAGS, reach + 1), 1, -1):
        for gap in range(1, reach // (count - 1) + 1):
            lags = tuple(range(0, count * gap, gap))
            read = tuple(v for v in variables if all(Var(v.name, v.lag + lag) in known for lag in lags))
            if {Var(v.name, v.lag + lag) for v in read for lag in lags} == known:
                for weights in _WEIGHTS.get(count, ((1,) * count,)):
                    yield Repeated(weights, lags, read)


def _function(problem: Problem, sums: Repeated) -> tuple[np.ndarray, np.ndarray, int] | None:
    """What the function reads and gives, and what is added to the sum; None if y is no such sum."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsqr

    place = {variable: j for j, variable in enumerate(problem.variables)}
    widths = [len(np.unique(problem.Xs[:, place[v]])) for v in sums.variables]
    rows, count = len(problem.y), len(sums.lags)
    # on rows that are drawn evenly, as many values would be seen as there are
    if rows < _EQUATIONS * min(np.prod(widths, dtype=float), 0.6 * rows * count):
        return None
    read = np.concatenate(
        [problem.X[:, [place[Var(v.name, v.lag + lag)] for v in sums.variables]] for lag in sums.lags]
    )
    problem.spend("sorted cells", read.size)
    code = numbered(read)
    size = int(code.max()) + 1
    if not _FEWEST_VALUES <= size <= min(_MOST_VALUES, rows / _EQUATIONS):
        return None
    weights = np.repeat(np.array(sums.weights, dtype=float), rows)
    equations = csr_array((weights, (np.tile(np.arange(rows), count), code)), shape=(rows, size))
    # a number added to the function shows as one more unknown only if the weights do not cancel it
    middle = float(problem.y.mean()) if sum(sums.weights) == 0 else 0.0
    y = problem.y - middle
    spread = float(np.var(problem.y)) or 1.0
    values = np.zeros(size)
    for steps in (_GLANCE, _STEPS):
        problem.spend("sorted cells", _STEP_CELLS * steps * rows * count / 4)
        values = lsqr(equations, y, atol=1e-10, btol=1e-10, iter_lim=steps)[0]
        if np.mean((equations @ values - y) ** 2) > _PROMISING * spread:
            return None
    seen = np.bincount(code, minlength=size) >= _SEEN
    common, often = np.unique(np.round(values[seen], 3), return_counts=True)
    values = values - common[np.argmax(often)]
    whole = np.round(values)
    seen &= np.abs(values - whole) < _WHOLE
    known = seen[code].reshape(count, rows).all(axis=0)
    rest = problem.y[known] - (equations @ whole)[known]
    if np.mean(known) < 0.5 or np.ptp(rest) > 0:
        return None
    first = np.zeros(size, dtype=np.int64)
    first[code] = np.arange(len(code))
    return read[first][seen], whole[seen] + 0.0, round(float(rest[0]))


def _at(expr: Expr, lag: int) -> Expr:
    return expr.substitute({v: Var(v.name, v.lag + lag) for v in expr.variables()})
