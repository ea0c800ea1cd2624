"""`SymbolicRegressor`: symbolic regression in the manners of scikit-learn, with PySR's table of equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from weights2code.errors import InputError
from weights2code.language import Domain, Var, compile_numpy, formula, infer
from weights2code.plain_estimator import BaseEstimator
from weights2code.symbolic.engine import Candidate, Engine, pick
from weights2code.symbolic.operator_names import operator_set

_ENGINES = {"native": "NativeEngine", "operon": "OperonEngine", "pysr": "PySREngine"}


def make_engine(name: str | Engine) -> Engine:
    """The engine of that name: "native", "operon" or "pysr"; an engine object stays itself."""
    if not isinstance(name, str):
        return name
    if name not in _ENGINES:
        raise InputError(f"there is no engine {name!r}; known are 'native', 'operon' and 'pysr'.")
    return getattr(import_module(f"weights2code.symbolic.engines.{name}"), _ENGINES[name])()


@dataclass(frozen=True, slots=True)
class Equations(Sequence[Candidate]):
    """The front as a table: prints with an arrow at the pick, gives rows as dictionaries."""

    candidates: tuple[Candidate, ...]
    chosen: int

    def __len__(self) -> int:
        return len(self.candidates)

    def __getitem__(self, index: Any) -> Any:
        return self.candidates[index]

    def text(self, candidate: Candidate) -> str:
        """The formula with the names of the columns."""
        return formula(candidate.expr, lambda v: v.name)

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a candidate: pick, complexity, loss (mean square error), score, kind, equation."""
        return [
            {
                "pick": i == self.chosen,
                "complexity": c.complexity,
                "loss": c.rmse**2,
                "max_error": c.max_error,
                "score": c.score,
                "kind": c.kind,
                "exact": c.exact,
                "equation": self.text(c),
            }
            for i, c in enumerate(self.candidates)
        ]

    def __str__(self) -> str:
        lines = ["    complexity      loss     score  equation"]
        for i, c in enumerate(self.candidates):
            arrow = ">>>" if i == self.chosen else "   "
            label = "" if c.kind == "formula" else f"  [{c.kind}]"
            lines.append(
                f"{arrow} {c.complexity:10d}  {c.rmse**2:8.2e}  {c.score:8.3g}  {self.text(c)}{label}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


class SymbolicRegressor(BaseEstimator):
    """Find the shortest formula that fits the data.

    Parameters
    ----------
    engine
        "native" (default), "operon" or "pysr", or any object with a `search` like `Engine.search`.
    tolerance
        Largest deviation that counts as exact; None estimates it from the data.
    domains
        The domain of each column; None infers bits, integers or reals from the values.
    operators
        Names of the operators that may be used (the language's own or PySR's); None is all that suit.
    max_complexity
        Largest number of nodes of a formula.
    time_limit
        How long to search, in seconds of a usual machine. The native engine counts what it does instead of
        looking at the clock, so that the same data give the same formulas on any machine.
    random_state
        Seed of the engines that use one.

    Attributes
    ----------
    equations_ : Equations
        The front, with an arrow at the pick.
    expr_ : Expr
        The formula picked.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, `x0`, `x1`, ... unless X had column names.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[a, b] for a in range(5) for b in range(5)])
    >>> model = SymbolicRegressor().fit(X, (X[:, 0] + X[:, 1]) % 3)
    >>> print(model.equation())
    (x0 + x1) % 3
    """

    def __init__(
        self,
        engine: str | Engine = "native",
        *,
        tolerance: float | None = None,
        domains: Sequence[Domain] | None = None,
        operators: Sequence[str] | None = None,
        max_complexity: int | None = None,
        time_limit: float = 5.0,
        random_state: int = 0,
    ) -> None:
        self.engine = engine
        self.tolerance = tolerance
        self.domains = domains
        self.operators = operators
        self.max_complexity = max_complexity
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SymbolicRegressor:
        """Search; X has shape (n, columns), y shape (n,). Everything is checked before the search."""
        engine = make_engine(self.engine)
        operators = operator_set(self.operators)
        names = [str(c) for c in getattr(X, "columns", [])]
        X, y = _matrix(X), np.asarray(y, dtype=float)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.shape != (len(X),):
            raise InputError(
                f"y must have one number a row of X, shape ({len(X)},), but has shape {y.shape}."
            )
        if not np.all(np.isfinite(y)):
            raise InputError("y holds nan or infinite values; leave those rows out.")
        if self.tolerance is not None and not self.tolerance >= 0:
            raise InputError(f"tolerance must be a number from 0 on, or None, not {self.tolerance}.")
        if not self.time_limit > 0:
            raise InputError(f"time_limit must be positive, not {self.time_limit}.")
        domains = tuple(self.domains) if self.domains is not None else tuple(infer(column) for column in X.T)
        if len(domains) != X.shape[1]:
            raise InputError(f"{len(domains)} domains were given for {X.shape[1]} columns.")
        names = names or [f"x{j}" for j in range(X.shape[1])]
        self.variables_ = tuple(Var(name) for name in names)
        self.n_features_in_ = X.shape[1]
        self.feature_names_in_ = np.array(names, dtype=object)
        front = engine.search(
            X,
            y,
            variables=self.variables_,
            domains=domains,
            tolerance=self.tolerance,
            weights=None if sample_weight is None else np.asarray(sample_weight, dtype=float),
            effort=self.time_limit,
            operators=operators,
            max_complexity=self.max_complexity,
            random_state=self.random_state,
        )
        if not front:
            raise InputError(f"the engine {engine.name} found no formula; give it more time or operators.")
        self.equations_ = Equations(front, front.index(pick(front)))
        self.expr_ = self.equations_[self.equations_.chosen].expr
        return self

    def candidate(self, index: int | None = None) -> Candidate:
        """The pick, or the member of the front at `index`."""
        self._check_fitted()
        return self.equations_[self.equations_.chosen if index is None else index]

    def equation(self, index: int | None = None) -> str:
        """The formula as text."""
        return self.equations_.text(self.candidate(index))

    def predict(self, X: Any, index: int | None = None) -> np.ndarray:
        """Values of the pick (or of the member at `index`) on new rows."""
        expr = self.candidate(index).expr
        X = _matrix(X)
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} columns, but the formula was fitted on {self.n_features_in_}."
            )
        with np.errstate(all="ignore"):
            values = compile_numpy(expr, self.variables_)(*X.T)
        return np.broadcast_to(np.asarray(values, dtype=float), (len(X),)).copy()

    def score(self, X: Any, y: Any) -> float:
        """Coefficient of determination of the pick."""
        y = np.asarray(y, dtype=float).reshape(-1)
        residual = float(np.sum((y - self.predict(X)) ** 2))
        total = float(np.sum((y - y.mean()) ** 2))
        if total == 0:
            return 1.0 if residual == 0 else 0.0
        return 1.0 - residual / total

    def sympy(self, index: int | None = None) -> Any:
        """The formula as a SymPy expression in symbols named like the columns."""
        import sympy

        from weights2code.language.sympy_form import to_sympy

        symbols = {v: sympy.Symbol(v.name, real=True) for v in self.variables_}
        return to_sympy(self.candidate(index).expr, symbols)

    def latex(self, index: int | None = None) -> str:
        """The formula as LaTeX."""
        from weights2code.language.latex import latex

        return latex(self.candidate(index).expr, lambda v: v.name.replace("_", r"\_"))

    def _check_fitted(self) -> None:
        if not hasattr(self, "equations_"):
            raise InputError("this SymbolicRegressor is not fitted yet; call fit(X, y) first.")


def _matrix(X: Any) -> np.ndarray:
    X = np.asarray(X, dtype=float)
    if X.ndim == 1:
        raise InputError("X must have shape (rows, columns); for a single column use X.reshape(-1, 1).")
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"X must have shape (rows, columns) with at least one of each, not {X.shape}.")
    if not np.all(np.isfinite(X)):
        raise InputError("X holds nan or infinite values; leave those rows out.")
    return X
