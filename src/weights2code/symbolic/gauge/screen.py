"""Thousands of formulas at once, on a few rows: which may v be a function of?

Rows whose values of v are clearly apart must not share a value of the formula; along a formula of which v is
a monotone function they stand in order. Formulas with few ties are asked otherwise: along them v must not
jump up and down.
"""

from __future__ import annotations

import numpy as np

from weights2code.symbolic.gauge.judge import Judge

ROWS = 160
_PAIRS, _FIRST, _WRONG_PAIRS = 80, 16, 1
_WRONG_ROWS = 0.03
#: Share of the rows that must be tied with another, one at least where there are few.
_TIES, _FEW_ROWS = 0.25, 16
#: How far v may go up and down in all along a formula, in spans of v, noise not counted.
_VARIATION = 4.0


class Screen:
    """Some rows of a variable, in the order of its values, and pairs of them that are clearly apart."""

    def __init__(self, judge: Judge, rows: np.ndarray | None = None) -> None:
        self.judge = judge
        rng = np.random.default_rng(4)
        if rows is None:
            rows = rng.permutation(len(judge.v))[:ROWS]
        self.rows = rows[np.argsort(judge.v[rows], kind="stable")]
        self.v = judge.v[self.rows]
        tolerance = judge.tolerance
        low, high = np.nonzero(self.v[None, :] - self.v[:, None] > 2.2 * tolerance)
        chosen = rng.permutation(len(low))[:_PAIRS]
        self.low, self.high = low[chosen], high[chosen]

    def pairs(self, values: np.ndarray, places: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Which formulas, given as values (m, rows), tell the pairs apart; along which they are in order.

        `places` says in which column each row of the screen stands, if not in its own. A few pairs are asked
        first.
        """
        low, high = (self.low, self.high) if places is None else (places[self.low], places[self.high])
        apart = ordered = np.arange(len(values))
        for part in (slice(0, _FIRST), slice(0, None)):
            rows = apart if part.stop is None else slice(None)
            some = values[rows]
            difference = some[:, high[part]] - some[:, low[part]]
            up, down = np.sum(difference > 1e-9, axis=1), np.sum(difference < -1e-9, axis=1)
            least = difference.shape[1] - _WRONG_PAIRS
            ordered = apart[np.maximum(up, down) >= least]
            apart = apart[up + down >= least]
        return apart, ordered

    def levels(self, values: np.ndarray) -> np.ndarray:
        """Formulas with many ties on each of which v is constant."""
        count = values.shape[1]
        order = np.argsort(values, axis=1, kind="stable")
        e, v = np.take_along_axis(values, order, 1), self.v[order]
        fresh = np.ones(values.shape, bool)
        fresh[:, 1:] = np.diff(e, axis=1) > 1e-9
        places = np.arange(count)
        start = np.maximum.accumulate(np.where(fresh, places, 0), axis=1)
        last = np.ones(values.shape, bool)
        last[:, :-1] = fresh[:, 1:]
        end = np.minimum.accumulate(np.where(last, places, count)[:, ::-1], axis=1)[:, ::-1]
        total = np.concatenate([np.zeros((len(v), 1)), np.cumsum(v, axis=1)], axis=1)
        mean = (np.take_along_axis(total, end + 1, 1) - np.take_along_axis(total, start, 1)) / (
            end - start + 1
        )
        wrong = np.sum(np.abs(v - mean) > 1.3 * self.judge.tolerance, axis=1)
        most = max((1 - _TIES) * count, count - 1 if count <= _FEW_ROWS else 0)
        return (wrong <= _WRONG_ROWS * count) & (fresh.sum(axis=1) <= most)

    def curves(self, values: np.ndarray) -> np.ndarray:
        """Formulas along which v goes up and down only a few times."""
        # not in the order of v among equals
        mixed = np.random.default_rng(9).permutation(values.shape[1])
        v = self.v[mixed[np.argsort(values[:, mixed], axis=1, kind="stable")]]
        steps = np.abs(np.diff(v, axis=1))
        noise = np.minimum(steps, self.judge.tolerance).sum(axis=1)
        return steps.sum(axis=1) - noise <= _VARIATION * np.ptp(self.v)

    def lines(self, values: np.ndarray) -> np.ndarray:
        """Root mean square deviation from the best affine function of each formula."""
        x = values - values.mean(axis=1, keepdims=True)
        y = self.v - self.v.mean()
        square = np.einsum("ij,ij->i", x, x)
        with np.errstate(all="ignore"):
            left = y @ y - (x @ y) ** 2 / square
        return np.sqrt(np.where(square > 1e-12, np.maximum(left, 0.0), np.inf) / len(y))
