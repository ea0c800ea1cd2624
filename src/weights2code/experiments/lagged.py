"""What people would do without us: symbolic regression on lagged variables, no network.

Every target is regressed on inputs and targets at lags 0 (inputs only), 1, ..., L, with 0 before the start.
The result runs free, each step fed with its own outputs, rounded where the targets are whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.errors import InputError
from weights2code.language import Expr, Var, evaluate, infer

ENGINES = ("operon", "native")
#: Operon's symbols: arithmetic, and what decisions on whole numbers can be made of.
SYMBOLS = "add,sub,mul,div,constant,variable,fmin,fmax,abs,floor,square"
MOST_NODES = 30


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """One target as a function of the lagged values.

    Parameters
    ----------
    predict : values for rows (n, features).
    size : nodes of the expression.
    """

    predict: Callable[[np.ndarray], np.ndarray]
    text: str
    size: int


def lagged(x: np.ndarray, y: np.ndarray, lags: int) -> np.ndarray:
    """Inputs at t, t-1, ... and outputs at t-1, ..., shape (n, T, features); 0 before the start.

    x and y have the shape (n, T, columns) and (n, T, outputs).
    """

    def before(values: np.ndarray, lag: int) -> np.ndarray:
        return np.pad(values, ((0, 0), (lag, 0), (0, 0)))[:, : values.shape[1]]

    own = [before(x, lag) for lag in range(lags + 1)]
    return np.concatenate(own + [before(y, lag) for lag in range(1, lags + 1)], 2)


def variables(inputs: Sequence[str], outputs: Sequence[str], lags: int) -> tuple[Var, ...]:
    """The names of the features, in the order of `lagged`."""
    own = [Var(name, lag) for lag in range(lags + 1) for name in inputs]
    return tuple(own + [Var(name, lag) for lag in range(1, lags + 1) for name in outputs])


def operon(X: np.ndarray, y: np.ndarray, seconds: float, seed: int = 0, names: Sequence[str] = ()) -> Formula:
    """Operon's best formula for one target; it counts its time in whole seconds."""
    try:
        from pyoperon.sklearn import SymbolicRegressor
    except ImportError as problem:
        raise InputError(
            f"the baseline needs pyoperon ({problem}): pip install 'weights2code[operon]'."
        ) from None
    model: Any = SymbolicRegressor(
        allowed_symbols=SYMBOLS,
        population_size=1000,
        pool_size=1000,
        generations=1_000_000,
        max_evaluations=100_000_000,
        max_time=int(np.ceil(seconds)),
        max_length=MOST_NODES,
        n_threads=1,
        random_state=seed,
    )
    model.fit(X, y)
    try:
        text = str(model.get_model_string(model.model_, 4, *([list(names)] if names else [])))
    except RuntimeError:  # its formatter has no word for a formula without variables
        text = "a constant"
    return Formula(
        lambda rows: np.asarray(model.predict(rows), float).ravel(), text, int(model.model_.Length)
    )


def native(X: np.ndarray, y: np.ndarray, features: tuple[Var, ...], seconds: float) -> Formula:
    """What the package's own engine picks for one target, with no network to say which values matter."""
    from weights2code.rules.from_leaves import TOLERANCE
    from weights2code.symbolic import NativeEngine, pick

    whole = bool(np.all(np.round(y) == y))
    front = NativeEngine().search(
        X,
        y,
        variables=features,
        domains=tuple(infer(column) for column in X.T),
        tolerance=1e-6 if whole else TOLERANCE * max(float(np.std(y)), 1e-12),
        effort=seconds,
    )
    return of_expression(pick(front).expr, features)


def of_expression(expr: Expr, features: tuple[Var, ...]) -> Formula:
    """A formula of the package's own language."""

    def predict(rows: np.ndarray) -> np.ndarray:
        values = dict(zip(features, rows.T, strict=True))
        return np.broadcast_to(np.asarray(evaluate(expr, values), float), (len(rows),))

    return Formula(predict, str(expr), expr.size())


def run_free(formulas: Sequence[Formula], x: np.ndarray, lags: int, whole: bool | np.ndarray) -> np.ndarray:
    """Outputs (n, T, outputs): every step sees the inputs and its own earlier outputs.

    `whole` says, for all outputs or for each, whether they are rounded at every step.
    """
    rounded = np.broadcast_to(whole, (len(formulas),))
    out = np.zeros((*x.shape[:2], len(formulas)))
    for t in range(x.shape[1]):
        seen = slice(max(0, t - lags), t + 1)
        rows = lagged(x[:, seen], out[:, seen], lags)[:, -1]
        with np.errstate(all="ignore"):
            for output, formula in enumerate(formulas):
                answer = np.nan_to_num(formula.predict(rows), nan=1e30, posinf=1e30, neginf=-1e30)
                answer = np.clip(answer, -1e30, 1e30)
                out[:, t, output] = np.round(answer) if rounded[output] else answer
    return out
