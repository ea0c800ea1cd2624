"""Weights with which the largest error is small: least squares, with more weight where the error is large.

Levenberg and Marquardt's steps for all weights at once, and plain least squares for those that the outputs
are linear in. What counts is the largest error, so rows that are wrong get more weight from round to round
(Lawson), and the best vector of all rounds is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.effort import Effort
from weights2code.network.tuning.weights import Rows, Weights

#: Multiplications a second of a usual machine, for what is spent.
SPEED = 8e9
#: Damping at first, relative to the mean curvature, and how it changes with a step that fails or succeeds.
DAMPING, HARDER, EASIER = 1e-3, 5.0, 0.3
LEAST_DAMPING, MOST_DAMPING = 1e-13, 1e6
#: Steps without a gain of this share end a round.
GAIN = 1e-3
PATIENCE = 3
#: A descent that has not the effort for so many steps is not begun.
LEAST_STEPS = 4
#: Rows have at least this share of the largest weight.
LEAST_WEIGHT = 0.02
#: Weights beyond this only magnify rounding, and what lies between the rows.
LARGEST = 1e3
#: Shares of the largest singular value below which a direction counts less and less, the firmest first.
FIRMNESS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10)


@dataclass(slots=True)
class Search:
    """A vector under way: the best one so far, and its largest error, as a share of what counts.

    `units` are the errors of the scaled outputs that count as 1.
    """

    weights: Weights
    rows: Rows
    units: np.ndarray
    effort: Effort
    vector: np.ndarray
    worst: float
    largest_weight: float

    @staticmethod
    def of(
        weights: Weights, rows: Rows, units: np.ndarray, effort: Effort, largest_weight: float = LARGEST
    ) -> Search:
        found = Search(weights, rows, units, effort, weights.vector(), np.inf, largest_weight)
        found.worst = found.largest(found.errors(found.vector))
        return found

    def errors(self, vector: np.ndarray) -> np.ndarray:
        """The error of every scored output, outputs last: (scored * outputs)."""
        with np.errstate(all="ignore"):
            outputs = self.weights.outputs(vector, self.rows)
        return self._relative(outputs)

    def _relative(self, outputs: np.ndarray) -> np.ndarray:
        return ((outputs - self.rows.wanted)[self.rows.scored] / self.units).ravel()

    @staticmethod
    def largest(errors: np.ndarray) -> float:
        return float(np.abs(errors).max(initial=0.0)) if np.isfinite(errors).all() else np.inf

    def keep(self, vector: np.ndarray, errors: np.ndarray) -> None:
        worst = self.largest(errors)
        if worst < self.worst:
            self.vector, self.worst = vector, worst

    def jacobian(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outputs, jacobian = self.weights.derivatives(vector, self.rows)
        self.effort.spend(12 * jacobian.size / SPEED * max(len(self.weights.moving), 1))
        count = len(jacobian) // len(self.units)
        return self._relative(outputs), jacobian / np.tile(self.units, count)[:, None]

    def linear_jacobian(self) -> tuple[np.ndarray, np.ndarray]:
        """Errors of the best vector, and what the weights that outputs are linear in do to them."""
        outputs, jacobian = self.weights.linear_derivatives(self.vector, self.rows)
        self.effort.spend(12 * jacobian.size / SPEED)
        count = len(jacobian) // len(self.units)
        return self._relative(outputs), jacobian / np.tile(self.units, count)[:, None]

    def solve(self, enough: float, importance: np.ndarray | None = None) -> None:
        """Least squares for weights that the outputs are linear in, and no larger ones than are needed."""
        if not np.isfinite(self.worst):
            return
        chosen = self.weights.linear()
        errors, columns = self.linear_jacobian()
        if importance is not None:
            errors, columns = errors * importance, columns * importance[:, None]
        size = np.linalg.norm(columns, axis=0)
        size = np.where(size > 0, size, np.inf)  # units that never fire stay as they are
        self.effort.spend(8 * columns.size * min(columns.shape) / SPEED)
        left, values, right = np.linalg.svd(columns / size, full_matrices=False)
        start, along = self.vector, -(left.T @ errors)
        for firmness in FIRMNESS:
            if self.worst <= enough:
                return
            damped = values / (values**2 + (firmness * values[0]) ** 2 + 1e-300)
            vector = start.copy()
            vector[chosen] += right.T @ (damped * along) / size
            if np.abs(vector).max() <= self.largest_weight:
                self.keep(vector, self.errors(vector))

    def solve_largest(self, enough: float, rounds: int = 12) -> None:
        """The same for the largest error in place of the mean one."""
        self.solve(enough)
        importance = np.ones(int(self.rows.scored.sum()) * len(self.units))
        for _ in range(rounds):
            if self.worst <= enough or self.effort.spent():
                return
            before = self.worst
            errors = np.abs(self.errors(self.vector))
            importance = _heavier(importance, errors)
            self.solve(enough, importance)
            if self.worst > before * (1 - GAIN):
                return

    def descend(
        self, enough: float, steps: int, rounds: int, chosen: np.ndarray | slice = slice(None)
    ) -> None:
        """All weights at once, or the chosen ones, from the best vector on."""
        importance = np.ones(int(self.rows.scored.sum()) * len(self.units))
        for turn in range(rounds):
            before = self.worst
            self._descend(importance, enough, steps, chosen)
            if self.worst <= enough or self.effort.spent():
                return
            if turn and self.worst > before * (1 - 5 * GAIN):
                return
            importance = _heavier(importance, np.abs(self.errors(self.vector)))

    def _descend(self, importance: np.ndarray, enough: float, steps: int, chosen: np.ndarray | slice) -> None:
        vector, damping, idle = self.vector, DAMPING, 0
        count = int(self.rows.scored.sum()) * len(self.units)
        if _cost(count, self.weights.size) * LEAST_STEPS > self.effort.left:
            return
        errors, jacobian = self.jacobian(vector)
        loss = float(np.sum((importance * errors) ** 2))
        for _ in range(steps):
            if self.worst <= enough or self.effort.spent() or idle >= PATIENCE or damping > MOST_DAMPING:
                return
            tried = vector.copy()
            tried[chosen] += self._step(
                jacobian[:, chosen] * importance[:, None], importance * errors, damping
            )
            found = self.errors(tried) if np.abs(tried).max() <= self.largest_weight else np.array([np.inf])
            after = float(np.sum((importance * found) ** 2)) if len(found) == len(errors) else np.inf
            if not after < loss:
                damping *= HARDER
                continue
            idle = idle + 1 if after > loss * (1 - GAIN) else 0
            vector, loss, damping = tried, after, max(damping * EASIER, LEAST_DAMPING)
            self.keep(vector, found)
            errors, jacobian = self.jacobian(vector)

    def _step(self, jacobian: np.ndarray, errors: np.ndarray, damping: float) -> np.ndarray:
        rows, columns = jacobian.shape
        self.effort.spend(_cost(rows, columns))
        if columns <= rows:
            gram = jacobian.T @ jacobian
            gram[np.diag_indices_from(gram)] += damping * np.trace(gram) / len(gram) + 1e-300
            return -np.linalg.solve(gram, jacobian.T @ errors)
        gram = jacobian @ jacobian.T
        gram[np.diag_indices_from(gram)] += damping * np.trace(gram) / len(gram) + 1e-300
        return -jacobian.T @ np.linalg.solve(gram, errors)


def _cost(rows: int, columns: int) -> float:
    """What a step takes."""
    least = min(rows, columns)
    return (rows * columns * least + least**3) / SPEED


def _heavier(importance: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """More weight for rows with large errors; the square of it is what least squares sees."""
    share = errors / max(float(errors.max(initial=0.0)), 1e-300)
    heavier = importance * np.sqrt(share + 1e-3)
    return np.maximum(heavier / heavier.max(initial=1e-300), LEAST_WEIGHT)
