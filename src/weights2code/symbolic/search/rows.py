"""The data of one search, made small and clean.

Equal rows are merged (their outputs averaged), at most a few hundred rows are searched on, and every
formula is judged on all of them. Whole-number targets are rounded first: the caller's tolerance then only
says that rounding is right, and formulas must give the right whole number on every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from weights2code.effort import Effort
from weights2code.language import Domain, Expr, Op, Var, compile_numpy
from weights2code.language.operators import order_of
from weights2code.symbolic.engine import EFFORT, Options

#: Seconds of a usual machine for a formula that is evaluated, and for a node of it on a row.
EVALUATED, CELL = 1.7e-5, 5e-9
#: Rows that are all searched on; of more, so many.
WHOLE, SEARCH_ROWS = 1000, 400
_GLUE = {"add", "sub", "mul", "neg"}


@dataclass(frozen=True, slots=True)
class Problem:
    """Distinct rows `X`, targets `y` (rounded if `whole`), and what is known about them.

    `measured` keeps the averaged targets before rounding; `noise` is the standard error of a target, as
    far as repeated rows show it. Rows that are `contradictory`, equal in every variable and further apart
    in the target than the tolerance allows, leave no formula exact.
    """

    variables: tuple[Var, ...]
    domains: tuple[Domain, ...]
    X: np.ndarray
    y: np.ndarray
    measured: np.ndarray
    weights: np.ndarray
    rows: np.ndarray
    whole: bool
    tolerance: float
    estimated: bool
    noise: float
    effort: Effort
    contradictory: bool = False
    operators: frozenset[str] | None = None
    max_complexity: int | None = None

    @property
    def Xs(self) -> np.ndarray:
        """The rows searched on."""
        return self.X[self.rows]

    @property
    def ys(self) -> np.ndarray:
        """The targets searched for."""
        return self.y[self.rows]

    @property
    def discrete(self) -> bool:
        return all(domain.discrete for domain in self.domains)

    @property
    def accuracy(self) -> float:
        """The deviation below which a fit counts as exact during the search."""
        return 1e-6 if self.whole else self.tolerance

    def allows(self, *names: str) -> bool:
        return self.operators is None or all(name in self.operators for name in names)

    def permits(self, expr: Expr) -> bool:
        """Whether every operator may be used; sums and products are the glue and always may."""
        used = (
            {node.name for node in expr.walk() if isinstance(node, Op)}
            if self.operators is not None
            else set()
        )
        orders = {name for name in used if order_of(name) is not None}
        return self.allows(*used - _GLUE - orders, *(("max", "min") if orders else ()))

    def expired(self) -> bool:
        """Whether to stop with what there is."""
        return self.effort.spent()

    def values(self, expr: Expr, X: np.ndarray | None = None) -> np.ndarray:
        """The formula on rows (all distinct ones unless given); invalid operations give nan or inf."""
        X = self.X if X is None else X
        self.effort.spend(EVALUATED + CELL * len(X) * expr.size())
        with np.errstate(all="ignore"):
            result = compile_numpy(expr, self.variables)(*X.T)
        return np.broadcast_to(np.asarray(result, dtype=float), (len(X),))


def prepare(
    X: np.ndarray,
    y: np.ndarray,
    *,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    **options: Unpack[Options],
) -> Problem:
    """Check, merge equal rows, round whole-number targets, choose the rows to search on."""
    tolerance, weights = options.get("tolerance"), options.get("weights")
    X = np.asarray(X, dtype=float)
    y = np.asarray(y, dtype=float)
    if X.ndim != 2 or y.shape != (len(X),) or len(X) == 0:
        raise ValueError(f"X must have shape (n, k) and y shape (n,) with n > 0, got {X.shape} and {y.shape}")
    if X.shape[1] != len(variables) or len(variables) != len(domains):
        raise ValueError(
            f"{X.shape[1]} columns, {len(variables)} variables and {len(domains)} domains do not go together"
        )
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(y))):
        raise ValueError("X and y must be finite numbers")
    weight = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    distinct, place = np.unique(X, axis=0, return_inverse=True)
    place = place.reshape(-1)
    count = np.bincount(place)
    total = np.bincount(place, weights=weight)
    total = np.where(total > 0, total, 1.0)
    mean = np.bincount(place, weights=weight * y) / total
    scatter = float(np.sum((y - mean[place]) ** 2)) / max(len(y) - len(distinct), 1)
    # Repeated rows show the noise of a single reading; averaging divides it.
    noise = float(np.sqrt(scatter / np.mean(count))) if len(y) >= 1.2 * len(distinct) else 0.0
    deviation = float(np.max(np.abs(mean - np.round(mean))))
    enough = 0.4 if len(distinct) >= 30 else 0.3
    discrete = all(domain.discrete for domain in domains)
    guess = 0.02 if discrete else 1e-6
    whole = deviation <= (min(tolerance, enough) if tolerance is not None else guess)
    estimated = tolerance is None
    if tolerance is None:
        tolerance = max(1e-6 * max(float(np.max(np.abs(mean))), 1e-300), 5.0 * noise)
        if whole:
            tolerance = max(tolerance, 1.01 * deviation)
    return Problem(
        variables=variables,
        domains=domains,
        X=distinct,
        y=np.round(mean) + 0.0 if whole else mean,
        measured=mean,
        weights=total,
        rows=_choose(distinct, mean),
        whole=whole,
        tolerance=float(tolerance),
        estimated=estimated,
        noise=noise,
        effort=Effort(options.get("effort", EFFORT)),
        contradictory=_contradictory(y, y - mean[place], None if estimated else float(tolerance)),
        operators=options.get("operators"),
        max_complexity=options.get("max_complexity"),
    )


def _contradictory(y: np.ndarray, apart: np.ndarray, tolerance: float | None) -> bool:
    """Whether equal rows differ by more than readings of one value do.

    Where nothing was said about tolerance, repeated rows are what the noise is estimated from; but whole
    numbers are no readings.
    """
    if np.all(y == np.round(y)):
        tolerance = 0.0 if tolerance is None else tolerance
    return tolerance is not None and float(np.max(np.abs(apart))) > 2 * tolerance + 1e-9


def _choose(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows to search on: all where few, else the extremes of every column and an even random choice."""
    if len(X) <= WHOLE:
        return np.arange(len(X))
    extremes = {int(i) for column in (*X.T, y) for i in (np.argmin(column), np.argmax(column))}
    order = np.random.default_rng(0).permutation(len(X))
    others = [int(i) for i in order if int(i) not in extremes][: SEARCH_ROWS - len(extremes)]
    return np.sort(np.array([*extremes, *others]))
