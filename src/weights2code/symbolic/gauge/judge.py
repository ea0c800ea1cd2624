"""Is a variable v a function of a formula e, and of which kind?

The values of an intermediate variable are a gauge g of a quantity that means something: v = g(e). Three
gauges are told apart, the plainest first: an affine map; levels, where e takes few values and v is constant
on each; and a monotone function. All of them hold within the tolerance, but for a small share of the rows.
A variable of two values on real operands has rows on the ramp between them: they are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import log2
from typing import Literal

import numpy as np

from weights2code.effort import Effort
from weights2code.language import Const, Domain, Expr, Op, Var, compile_numpy, evaluate
from weights2code.symbolic.engine import preference
from weights2code.symbolic.notation import clipped, tidy
from weights2code.symbolic.search.costs import COSTS

Kind = Literal["affine", "levels", "monotone"]

#: Share of the weight that may be off; on reals a test may be wrong on this share, near its threshold.
_OFF, _OFF_NEAR = 0.005, 0.02
#: A formula of more values than this, or than this share of the rows unless they are few, says nothing as
#: levels.
_MOST_LEVELS, _SHARE_OF_ROWS, _FEW_ROWS = 64, 0.75, 16
#: Share of the weight that must be near one of two levels if v is two-valued.
_NEAR_LEVELS = 0.85
#: What counts like so many nodes: a gauge that is less plain, each level beyond two, twice as many levels as
#: needed, as many as rows, the error in tolerances, the share of wrong labels in what is allowed.
_GAUGE: dict[Kind, float] = {"affine": 0.0, "levels": 0.5, "monotone": 7.0}
_LEVEL, _FINER, _NOTHING, _ERROR, _WRONG = 0.7, 3.0, 4.0, 1.0, 3.0
#: What a good gauge adds to the nodes.
_USUAL = 4.0
#: On reals v may have up to so many levels, each of at least this share, with ramps between them.
_MOST_RAMPED, _LEAST_LEVEL = 6, 0.03


@dataclass(frozen=True, slots=True)
class Form:
    """A formula that a variable is a function of.

    Parameters
    ----------
    expr
        The formula e.
    kind
        What the variable is of it: an affine map, one value for each of its levels, a monotone function.
    error
        Largest deviation from the best such function, but for the small share of rows that may be off.
    levels
        How many values the formula takes on the rows; 0 for reals.
    cost
        What forms are sorted by: nodes, and what its gauge, levels beyond need and the error add.
    """

    expr: Expr
    kind: Kind
    error: float
    levels: int
    cost: float

    def __str__(self) -> str:
        return f"{self.expr}  ({self.kind}, {self.levels} levels, error {self.error:.3g})"


@dataclass
class Judge:
    """The rows of one variable, and the forms found so far."""

    X: np.ndarray
    v: np.ndarray
    weights: np.ndarray
    variables: tuple[Var, ...]
    domains: tuple[Domain, ...]
    tolerance: float
    effort: Effort
    found: dict[tuple[Kind, bytes], Form] = field(default_factory=dict)
    asked: set[Expr] = field(default_factory=set)

    @cached_property
    def discrete(self) -> bool:
        return all(domain.discrete for domain in self.domains)

    @cached_property
    def share(self) -> np.ndarray:
        """The weight of each row, one in all."""
        return self.weights / self.weights.sum()

    @cached_property
    def known(self) -> np.ndarray:
        """Rows that count: all, but on reals those on the ramps between a few levels of v."""
        everything = np.ones(len(self.v), bool)
        if self.discrete:
            return everything
        order = np.argsort(self.v)
        v = self.v[order]
        ends = np.searchsorted(v, v + 2 * self.tolerance, side="right")
        near, weights = np.zeros(len(v), bool), []
        while len(weights) <= _MOST_RAMPED:
            # the window that holds most of what no other holds
            fresh = np.concatenate([[0.0], np.cumsum(np.where(near, 0.0, self.share[order]))])
            held = fresh[ends] - fresh[:-1]
            best = int(np.argmax(held))
            if held[best] < _LEAST_LEVEL:
                break
            near[best : ends[best]] = True
            weights.append(float(held[best]))
        rest = 1.0 - sum(weights)
        if not 2 <= len(weights) <= _MOST_RAMPED or rest > min(1 - _NEAR_LEVELS, 0.5 * min(weights)):
            return everything
        inside = np.flatnonzero(near)
        near[: inside[0]] = near[inside[-1] :] = True  # a ramp leads from one level to another
        known = np.zeros(len(v), bool)
        known[order[near]] = True
        return known

    @cached_property
    def labels(self) -> np.ndarray | None:
        """0 or 1 for each row if v has two values, -1 on the ramp between them; None if it has not."""
        v, known = self.v, self.known
        middle = 0.5 * (v.min() + v.max())
        low, high = known & (v <= middle), known & (v > middle)
        if not low.any() or not high.any():
            return None
        bottom, top = _median(v[low], self.share[low]), _median(v[high], self.share[high])
        if top - bottom <= 2 * self.tolerance:
            return None
        labels = np.full(len(v), -1)
        labels[np.abs(v - bottom) <= self.tolerance] = 0
        labels[np.abs(v - top) <= self.tolerance] = 1
        shares = [float(self.share[labels == label].sum()) for label in (0, 1)]
        off = max(_OFF, min(1 - _NEAR_LEVELS, 0.5 * min(shares)) if not self.discrete else 0.0)
        return labels if min(shares) > 0 and 1 - sum(shares) <= off else None

    def values(self, expr: Expr) -> np.ndarray:
        self.effort.spend(COSTS["values"] + COSTS["cells"] * len(self.X) * expr.size())
        with np.errstate(all="ignore"):
            result = compile_numpy(expr, self.variables)(*self.X.T)
        return np.broadcast_to(np.asarray(result, dtype=float), (len(self.X),))

    def best(self, most: int) -> list[Form]:
        """The plainest forms; one that is longer than another of its gauge must say more, or fit better."""
        kept: list[Form] = []
        for form in sorted(self.found.values(), key=lambda form: (form.cost, preference(form.expr))):
            if len(kept) < most and not any(_says_as_much(other, form) for other in kept):
                kept.append(form)
        return kept

    def limit(self) -> float:
        """The cost of the best form so far."""
        return min((form.cost for form in self.found.values()), default=np.inf)

    def enough(self) -> float:
        """Nodes beyond which no form is of interest: one more than the best has, or what its gauge costs."""
        best = min(self.found.values(), key=lambda form: form.cost, default=None)
        if best is None:
            return np.inf
        return min(best.cost, best.expr.size() + 1 + max(0.0, best.cost - best.expr.size() - _USUAL))

    def offer_all(self, exprs: Iterable[Expr]) -> None:
        for expr in exprs:
            self.offer(expr)

    def offer(self, expr: Expr) -> Form | None:
        """Judge a formula on all rows; for each gauge, of those that tell the same rows apart one is kept."""
        expr = clipped(tidy(expr.transform(_folded)))
        if expr in self.asked:
            return None
        self.asked.add(expr)
        values = self.values(expr)
        if not np.all(np.isfinite(values)) or np.ptp(values) <= 1e-9:
            return None
        form = self.form_of(expr, np.round(values, 9))
        if form is None:
            return None
        _, first, parts = np.unique(np.round(values, 6), return_index=True, return_inverse=True)
        # parts are numbered in the order in which they appear
        mark = (form.kind, np.argsort(np.argsort(first))[parts.reshape(-1)].astype(np.int32).tobytes())
        if mark not in self.found or form.cost < self.found[mark].cost:
            self.found[mark] = form
        return form

    def form_of(self, expr: Expr, values: np.ndarray) -> Form | None:
        self.effort.spend(COSTS["sorted cells"] * 4 * len(values))
        length = preference(expr)[0]
        distinct, parts = np.unique(values, return_inverse=True)
        parts = parts.reshape(-1)
        finite = len(distinct) <= max(_MOST_LEVELS, len(values) // 4)
        levels = len(distinct) if finite else 0
        found: list[Form] = []

        def add(kind: Kind, error: float, extra: float = 0.0) -> None:
            cost = length + _GAUGE[kind] + extra + _ERROR * error / self.tolerance
            found.append(Form(expr, kind, error, levels, round(cost, 3)))

        if len(distinct) == 2 and self.labels is not None:
            judged = self.tested(parts)
            if judged is not None:
                add("affine", judged[0], _WRONG * judged[1])
            return found[0] if found else None
        error = self.affine(values)
        if error is not None:
            add("affine", error)
        if len(distinct) <= min(_MOST_LEVELS, self.most_levels(expr)):
            centres, error = self.levels(parts, len(distinct))
            if error is not None:
                needed = self.needed(centres)
                extra = _LEVEL * max(0, needed - 2) + _FINER * log2(len(distinct) / needed)
                add("levels", error, extra + (_NOTHING if len(distinct) == len(values) else 0.0))
        elif not found and self.labels is None:
            error = self.monotone(values)
            if error is not None:
                add("monotone", error)
        return min(found, key=lambda form: form.cost, default=None)

    def most_levels(self, expr: Expr) -> float:
        """Levels that still say something: clearly fewer than rows, fewer where they are few; an operand."""
        if isinstance(expr, Var):
            return len(self.v)
        return max(_SHARE_OF_ROWS * len(self.v), len(self.v) - 1 if len(self.v) <= _FEW_ROWS else 0)

    def within(self, deviation: np.ndarray, off: float = _OFF) -> float | None:
        """The largest deviation but for the rows that may be off; None if too many are."""
        wrong = (deviation > self.tolerance * (1 + 1e-9)) & self.known
        if float(self.share[wrong].sum()) > off:
            return None
        return float(deviation[~wrong & self.known].max(initial=0.0))

    def tested(self, parts: np.ndarray) -> tuple[float, float] | None:
        """The deviation of v from two values that a test tells apart, and the share of what may be wrong.

        Rows on the ramp are left out.
        """
        labels, share = self.labels, self.share
        assert labels is not None
        right = parts == labels
        wrong = min(float(share[(labels >= 0) & right].sum()), float(share[(labels >= 0) & ~right].sum()))
        rarer = min(float(share[labels == label].sum()) for label in (0, 1))
        allowed = min(_OFF if self.discrete else _OFF_NEAR, 0.1 * rarer)
        if wrong > allowed:
            return None
        spread = [np.ptp(self.v[labels == level]) for level in (0, 1)]
        return 0.5 * float(max(spread)), wrong / allowed

    def affine(self, values: np.ndarray) -> float | None:
        """The deviation from the best affine function of the values, rows that are far off left out."""
        share, v = self.share, self.v
        for _ in range(3):
            total = share.sum()
            x = values - (share @ values) / total
            y = v - (share @ v) / total
            square = share @ (x * x)
            if square <= 1e-12 * (1e-12 + float(np.max(np.abs(values))) ** 2):
                return None
            slope = (share @ (x * y)) / square
            deviation = np.abs(y - slope * x)
            if abs(slope) * np.ptp(values) <= 2 * self.tolerance:
                return None
            error = self.within(deviation)
            if error is not None:
                return error
            near = deviation <= 2 * self.tolerance
            if float(self.share[~near].sum()) > 4 * _OFF:
                return None
            share = np.where(near, self.share, 0.0)
        return None

    def levels(self, parts: np.ndarray, count: int) -> tuple[np.ndarray, float | None]:
        """The middle of v on each level of a formula, and the deviation from it."""
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(low, parts[self.known], self.v[self.known])
        np.maximum.at(high, parts[self.known], self.v[self.known])
        if np.any(high < low):  # a level that is all ramp
            return low, None
        middle = 0.5 * (low + high)
        error = self.within(np.abs(self.v - middle[parts]))
        if error is None and np.count_nonzero(high - low > 2 * self.tolerance) <= max(2, count // 4):
            for part in np.flatnonzero(high - low > 2 * self.tolerance):
                rows = (parts == part) & self.known
                middle[part] = _median(self.v[rows], self.share[rows])
            error = self.within(np.abs(self.v - middle[parts]))
        if error is not None and np.ptp(middle) <= 2 * self.tolerance:
            error = None
        return middle, error

    def needed(self, centres: np.ndarray) -> int:
        """How many levels there are, those within the tolerance of each other counted once."""
        ordered, count, start = np.sort(centres), 0, -np.inf
        for centre in ordered:
            if centre > start + self.tolerance:
                count, start = count + 1, centre
        return count

    def monotone(self, values: np.ndarray) -> float | None:
        """The deviation of v from the best monotone function of the values."""
        order = np.argsort(values, kind="stable")
        sign = np.sign((self.share * (values - self.share @ values)) @ (self.v - self.share @ self.v))
        e, v = values[order], sign * self.v[order]
        starts = np.flatnonzero(np.concatenate([[True], np.diff(e) > 0]))
        top = np.maximum.reduceat(v, starts)
        bottom = np.minimum.reduceat(v, starts)
        above = np.maximum.accumulate(top)
        below = np.minimum.accumulate(bottom[::-1])[::-1]
        error = 0.5 * float(np.max(above - below))
        return error if error <= self.tolerance else None


def _says_as_much(one: Form, longer: Form) -> bool:
    """Whether a form leaves nothing to a longer one of the same gauge."""
    if one.kind != longer.kind or preference(longer.expr)[0] <= preference(one.expr)[0] + 0.5:
        return False
    if one.kind == "affine":
        return longer.error >= 0.9 * one.error
    return longer.levels >= one.levels


def _folded(node: Expr) -> Expr:
    """Numbers that stand together are one."""
    if isinstance(node, Op) and all(isinstance(argument, Const) for argument in node.args):
        with np.errstate(all="ignore"):
            value = float(evaluate(node, {}))
        return Const(value) if np.isfinite(value) else node
    return node


def _median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, 0.5 * total[-1])])
