"""Constants as people write them: the simplest rational or shortest decimal that the data allow.

Which simple number is meant is a question of surprise: among the numbers inside the band, the one with
the fewest digits for its distance wins, and no number gets credit for being closer than the data can tell.
Clean data so keep 0.098 where noisy data say 0.1. Constants are snapped one at a time, the surest first,
the others refitted each time, and a step is undone if the formula is no longer as good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from weights2code.language import Const, Expr, Number, Var, evaluate
from weights2code.symbolic.engine import number_cost

_MAX_DENOMINATOR = 64
#: Steps of a fit, the share of the loss that each must gain, and what the damping may change by at each.
STEPS, GAIN = 60, 1e-15
DAMPINGS = np.array([0.01, 1.0, 100.0, 1e4])

#: Rows (sets, n) of a function of its constants, for several sets of them (sets, k).
Predict = Callable[[np.ndarray], np.ndarray]


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
    opened, start = with_free_constants(expr)
    if not len(start):
        return expr
    found = snap_function(_as_function(opened, values, y), start, y, tolerance, noise=noise)
    return opened.substitute(meant(found))


def snap_function(
    predict: Predict, start: np.ndarray, y: np.ndarray, tolerance: float = 0.0, *, noise: float = 0.0
) -> tuple[Number, ...]:
    """Constants of any function of them, refitted to `y` from `start` and snapped as far as `y` allows."""

    def solve(fixed: Mapping[int, Number]) -> np.ndarray:
        c = start.copy()
        for j, v in fixed.items():
            c[j] = float(v)
        return fitted(predict, c, y, [j for j in range(len(c)) if j not in fixed])

    every = range(len(start))
    with np.errstate(all="ignore"):
        return _snap_constants(
            solve, lambda c: predict(c[None])[0], lambda c: _jacobian(predict, c, every), y, tolerance, noise
        )


def refit(expr: Expr, values: Mapping[Var, np.ndarray], y: np.ndarray) -> Expr:
    """The same formula with its float constants fitted jointly by nonlinear least squares."""
    opened, start = with_free_constants(expr)
    with np.errstate(all="ignore"):
        c = fitted(_as_function(opened, values, y), start, y, range(len(start)))
    return opened.substitute(meant(c.tolist()))


def with_free_constants(expr: Expr, before: int = 0) -> tuple[Expr, np.ndarray]:
    """The formula with variables for its float constants, numbered from `before` on, and what these are."""
    found: list[float] = []

    def opened(node: Expr) -> Expr:
        if not (isinstance(node, Const) and isinstance(node.value, float)):
            return node
        found.append(node.value)
        return Var(f"constant {before + len(found) - 1}")

    return expr.transform(opened), np.array(found, dtype=float)


def meant(values: Iterable[Number]) -> dict[Var, Expr]:
    """What the variables of `with_free_constants` stand for."""
    return {Var(f"constant {i}"): Const(value) for i, value in enumerate(values)}


def _as_function(opened: Expr, values: Mapping[Var, np.ndarray], y: np.ndarray) -> Predict:
    def predict(sets: np.ndarray) -> np.ndarray:
        known = {Var(f"constant {i}"): column[:, None] for i, column in enumerate(sets.T)}
        return np.broadcast_to(np.asarray(evaluate(opened, {**values, **known}), float), (len(sets), len(y)))

    return predict


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


def _jacobian(predict: Predict, c: np.ndarray, free: Sequence[int]) -> np.ndarray:
    step = 1e-6 * np.maximum(np.abs(c[free]), 1e-3)
    apart = np.zeros((len(free), len(c)))
    apart[np.arange(len(free)), free] = step
    up, down = np.split(predict(np.concatenate([c + apart, c - apart])), 2)
    return np.nan_to_num(((up - down) / (2 * step[:, None])).T, nan=0.0, posinf=0.0, neginf=0.0)


def fitted(
    predict: Predict,
    start: np.ndarray,
    y: np.ndarray,
    free: Sequence[int],
    steps: int = STEPS,
    gain: float = GAIN,
) -> np.ndarray:
    """Levenberg-Marquardt on the free constants, with several dampings at once."""
    c, damping = start.copy(), 1e-3
    answer = predict(c[None])[0]
    loss = float(np.sum((answer - y) ** 2))
    for _ in range(steps if len(free) else 0):
        J = _jacobian(predict, c, free)
        gram, gradient = J.T @ J, J.T @ (y - answer)
        if not (np.isfinite(gram).all() and np.isfinite(gradient).all()):
            break  # the squares overflow: no step can be told from another
        dampings, diagonal = damping * DAMPINGS, np.diag(np.diag(gram) + 1e-12)
        trials = np.tile(c, (len(dampings), 1))
        trials[:, free] += [np.linalg.lstsq(gram + d * diagonal, gradient, rcond=None)[0] for d in dampings]
        answers = predict(trials)
        losses = np.nan_to_num(np.sum((answers - y) ** 2, 1), nan=np.inf)
        best = int(np.argmin(losses))
        if not losses[best] < loss * (1 - gain):
            break
        c, answer, loss, damping = trials[best], answers[best], float(losses[best]), dampings[best]
    return c
