"""Constants as people write them: the simplest rational or shortest decimal that the data allow.

Which simple number is meant is a question of surprise: among the numbers inside the band, the one with
the fewest digits for its distance wins, and no number gets credit for being closer than the data can tell.
Clean data so keep 0.098 where noisy data say 0.1. Constants are snapped one at a time, the surest first,
the others refitted each time, and a step is undone if the formula is no longer as good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from weights2code.language import Const, Expr, Number, Op, Var, evaluate
from weights2code.symbolic.engine import number_cost

_MAX_DENOMINATOR = 64


def simplest(value: float, band: float, error: float = 0.0) -> Number:
    """The simplest number within `band` of `value`, whose own standard error is `error`.

    Returns `value` itself where nothing shorter than it lies in the band.

    Examples
    --------
    >>> simplest(0.70000000001, 1e-6), simplest(0.33333333, 1e-6), simplest(1.0031, 0.01, 0.002)
    (0.7, Fraction(1, 3), 1)
    """
    if not math.isfinite(value) or math.isnan(band) or math.isnan(error):
        return value
    band = max(band, 1e-12 * abs(value), 1e-300)
    floor = max(error, 1e-10 * abs(value), 1e-3 * band, 1e-300)
    best: Number = value
    best_merit = _merit(value, value, floor)
    for nearby in (_decimals, _fractions):
        for candidate in nearby(value, band):
            if abs(float(candidate) - value) <= band:
                merit = _merit(candidate, value, floor)
                if merit < best_merit - 1e-12:
                    best, best_merit = candidate, merit
        if number_cost(best) <= 3 and abs(float(best) - value) <= floor:
            break
    return best


def _merit(candidate: Number, value: float, floor: float) -> float:
    """Digits spent plus digits of disagreement: the smaller the better."""
    return number_cost(candidate) + math.log10(max(abs(float(candidate) - value), floor))


def _decimals(value: float, band: float) -> list[Number]:
    found: list[Number] = [0, round(value)]
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    for digits in range(1, 13):
        rounded = round(value, digits - 1 - magnitude)
        found.append(Const(rounded).value)
        if abs(rounded - value) <= 1e-3 * band:
            break
    return found


def _fractions(value: float, band: float) -> list[Number]:
    exact = Fraction(value)
    if abs(value) > 1e6 or abs(value) < 1e-4:
        return []
    return [_plain(exact.limit_denominator(limit)) for limit in (3, 7, 9, 13, 17, 27, 49, _MAX_DENOMINATOR)]


def _plain(value: Fraction) -> Number:
    """Terminating decimals as floats, other fractions exact."""
    return Const(float(value)).value if 10**6 % value.denominator == 0 else value


def snap_linear(
    columns: np.ndarray, y: np.ndarray, tolerance: float, *, noise: float = 0.0
) -> tuple[Number, ...]:
    """Least-squares coefficients of `columns` (n, p), snapped.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 20)
    >>> snap_linear(np.stack([x, np.ones(20)], axis=1), 0.3 * x - 2, 1e-6)
    (0.3, -2)
    """

    def solve(fixed: Mapping[int, Number]) -> np.ndarray:
        result = np.zeros(columns.shape[1])
        free = [j for j in range(columns.shape[1]) if j not in fixed]
        rest = y - sum((float(v) * columns[:, j] for j, v in fixed.items()), np.zeros(len(y)))
        if free:
            result[free] = np.linalg.lstsq(columns[:, free], rest, rcond=None)[0]
        for j, v in fixed.items():
            result[j] = float(v)
        return result

    return _snap_constants(solve, lambda c: columns @ c, lambda _: columns, y, tolerance, noise)


def snap(
    expr: Expr, values: Mapping[Var, np.ndarray], y: np.ndarray, tolerance: float, *, noise: float = 0.0
) -> Expr:
    """The same formula with its float constants refitted and snapped; never worse than `tolerance` allows.

    Parameters
    ----------
    expr
        Any formula; its float constants are free, whole numbers and fractions stay.
    values
        The data of each variable, arrays of the length of `y`.
    y
        The targets.
    tolerance
        The deviation that is acceptable anyway.
    noise
        Known standard error of a target, if any.
    """
    start, predict = _as_function(expr, values, y)
    if not len(start):
        return expr
    return with_constants(expr, snap_function(predict, start, y, tolerance, noise=noise))


def snap_function(
    predict: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    y: np.ndarray,
    tolerance: float = 0.0,
    *,
    noise: float = 0.0,
) -> tuple[Number, ...]:
    """Constants of any function of them, refitted to `y` from `start` and snapped as far as `y` allows."""

    def solve(fixed: Mapping[int, Number]) -> np.ndarray:
        c = start.copy()
        for j, v in fixed.items():
            c[j] = float(v)
        return _levenberg(predict, c, y, [j for j in range(len(c)) if j not in fixed])

    with np.errstate(all="ignore"):
        return _snap_constants(solve, predict, lambda c: _jacobian(predict, c), y, tolerance, noise)


def refit(expr: Expr, values: Mapping[Var, np.ndarray], y: np.ndarray) -> Expr:
    """The same formula with its float constants fitted jointly by nonlinear least squares."""
    start, predict = _as_function(expr, values, y)
    with np.errstate(all="ignore"):
        c = _levenberg(predict, start, y, list(range(len(start))))
    return with_constants(expr, tuple(float(v) for v in c))


def _as_function(
    expr: Expr, values: Mapping[Var, np.ndarray], y: np.ndarray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """The float constants of a formula, and its values as a function of them."""

    def predict(c: np.ndarray) -> np.ndarray:
        filled = with_constants(expr, tuple(float(v) for v in c))
        return np.broadcast_to(np.asarray(evaluate(filled, values), dtype=float), y.shape)

    return np.array(free_constants(expr), dtype=float), predict


def free_constants(expr: Expr) -> tuple[float, ...]:
    """The float constants in the order of a walk."""
    return tuple(
        node.value for node in expr.walk() if isinstance(node, Const) and isinstance(node.value, float)
    )


def with_constants(expr: Expr, values: tuple[Number, ...]) -> Expr:
    """The formula with its float constants replaced, in the order of `free_constants`."""
    stream = iter(values)

    def walk(node: Expr) -> Expr:
        if isinstance(node, Const):
            return Const(next(stream)) if isinstance(node.value, float) else node
        if isinstance(node, Op):
            return Op(node.name, tuple(walk(argument) for argument in node.args))
        return node

    return walk(expr)


def _snap_constants(
    solve: Callable[[Mapping[int, Number]], np.ndarray],
    predict: Callable[[np.ndarray], np.ndarray],
    jacobian: Callable[[np.ndarray], np.ndarray],
    y: np.ndarray,
    tolerance: float,
    noise: float,
) -> tuple[Number, ...]:
    """Fix constants one after another, the most convincing first, refitting the others."""
    current = solve({})
    count = len(current)
    residual = y - predict(current)
    worst, rms = float(np.max(np.abs(residual))), float(np.sqrt(np.mean(residual**2)))
    if not (math.isfinite(worst) and np.all(np.isfinite(current))):
        # a formula that is undefined on some rows cannot be judged, so nothing is changed
        return tuple(Const(float(v)).value for v in current)
    freedom = max(len(y) - count, 1)
    sigma = max(float(np.sqrt(np.sum(residual**2) / freedom)), noise)
    allowed_worst = max(tolerance, worst * 1.1) + 1e-12 * float(np.max(np.abs(y), initial=0.0))
    allowed_rms = max(rms * (1.0 + 3.0 / math.sqrt(len(y))), 0.5 * tolerance, noise)

    def good(c: np.ndarray) -> bool:
        r = y - predict(c)
        return bool(np.max(np.abs(r)) <= allowed_worst and np.sqrt(np.mean(r**2)) <= allowed_rms)

    fixed: dict[int, Number] = {}
    stubborn: set[int] = set()
    while len(fixed) + len(stubborn) < count:
        free = [j for j in range(count) if j not in fixed]
        J = jacobian(current)[:, free]
        slack = max(tolerance - float(np.max(np.abs(y - predict(current)))), 0.0)
        options: list[tuple[float, int, Number]] = []
        for place, j in enumerate(free):
            if j in stubborn:
                continue
            own = _own_direction(J, place)
            length = float(np.linalg.norm(own))
            if not math.isfinite(length) or length < 1e-300:
                options.append((-99.0, j, 0 if current[j] == 0 else simplest(float(current[j]), 1e300)))
                continue
            error = sigma / length
            band = max(4.0 * error, slack / float(np.max(np.abs(own))))
            choice = simplest(float(current[j]), band, error)
            distance = max(abs(float(choice) - current[j]), error, 1e-10 * abs(current[j]), 1e-300)
            options.append((number_cost(choice) + math.log10(distance / max(band, 1e-300)), j, choice))
        _, j, choice = min(options, key=lambda option: option[:2])
        trial = solve({**fixed, j: choice})
        if good(trial):
            fixed[j] = choice
            current = trial
        else:
            stubborn.add(j)
    result: list[Number] = [float(v) for v in current]
    for j, v in fixed.items():
        result[j] = v
    return tuple(Const(v).value for v in result)


def _own_direction(J: np.ndarray, place: int) -> np.ndarray:
    """What a constant changes that the other free constants cannot make good."""
    own = J[:, place]
    others = np.delete(J, place, axis=1)
    if others.shape[1] == 0 or not np.all(np.isfinite(J)):
        return own
    left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
    return left if np.linalg.norm(left) > 1e-9 * np.linalg.norm(own) else own


def _jacobian(predict: Callable[[np.ndarray], np.ndarray], c: np.ndarray) -> np.ndarray:
    columns = []
    for j in range(len(c)):
        step = 1e-6 * max(abs(c[j]), 1e-3)
        up, down = c.copy(), c.copy()
        up[j] += step
        down[j] -= step
        columns.append((predict(up) - predict(down)) / (2 * step))
    return np.nan_to_num(np.stack(columns, axis=1), nan=0.0, posinf=0.0, neginf=0.0)


def _levenberg(
    predict: Callable[[np.ndarray], np.ndarray], start: np.ndarray, y: np.ndarray, free: list[int]
) -> np.ndarray:
    """Levenberg-Marquardt on the free constants; small enough here that scipy would only add start-up."""
    c = start.copy()
    if not free:
        return c
    loss = float(np.sum((predict(c) - y) ** 2))
    damping = 1e-3
    for _ in range(60):
        residual = y - predict(c)
        J = _jacobian(predict, c)[:, free]
        gram, gradient = J.T @ J, J.T @ residual
        if not (np.isfinite(gram).all() and np.isfinite(gradient).all()):
            break  # the squares overflow: no step can be told from another
        improved = False
        for _ in range(8):
            matrix = gram + damping * np.diag(np.diag(gram) + 1e-12)
            step = np.linalg.lstsq(matrix, gradient, rcond=None)[0]
            trial = c.copy()
            trial[free] += step
            trial_loss = float(np.sum((predict(trial) - y) ** 2))
            if math.isfinite(trial_loss) and trial_loss < loss:
                gain = loss - trial_loss
                c, loss, damping, improved = trial, trial_loss, max(damping / 5, 1e-15), True
                break
            damping = min(damping * 5, 1e12)
        if not improved or gain <= 1e-15 * max(loss, 1e-300):
            break
    return c
