"""What a symbolic regression engine takes and gives (paper, "Symbolic Regression for Numerical MLP").

An engine searches formulas for one scalar function of a few scalars and returns a front of candidates,
ordered by complexity, each more accurate than the ones before. `pick` marks the one to use. Which formula
wins is decided by one documented order (`preference`), because on small domains many forms coincide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Protocol, TypedDict, Unpack

import numpy as np

from weights2code.language import OPERATORS, Const, Domain, Expr, Number, Op, Var

Kind = Literal["formula", "piecewise"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One formula of the front.

    Parameters
    ----------
    expr
        The formula.
    complexity
        Number of nodes of `expr`.
    max_error, rmse
        Largest and root mean square deviation from the data, over all distinct rows.
    score
        Fall of log(mean square error) per node added since the candidate before it on the front.
    kind
        "formula", or "piecewise", a list that repeats the rows.
    exact
        Whether the deviation stays within `tolerance` on every row; for whole-number targets also
        whether every value is the right whole number.
    tolerance
        The tolerance that `exact` refers to: the caller's, or the one estimated from the data.
    """

    expr: Expr
    complexity: int
    max_error: float
    rmse: float
    score: float = 0.0
    kind: Kind = "formula"
    exact: bool = False
    tolerance: float = 0.0

    def __str__(self) -> str:
        return f"{self.expr}  (complexity {self.complexity}, max error {self.max_error:.3g})"


class Options(TypedDict, total=False):
    """What a search may be told beside its rows.

    Parameters
    ----------
    tolerance
        The largest deviation that counts as exact. None: estimated from the data.
    weights
        Weight of each row, all one by default.
    effort
        After so much work the search stops with what it has: seconds of a usual machine, 5 by default.
        The native engine counts what it does, the engines of others look at the clock.
    operators
        Names of the operators of the language that may be used; None is all that suit the domain.
        Sums, differences and products with constants are always available.
    max_complexity
        Formulas with more nodes are not reported.
    random_state
        Seed of engines that draw random numbers; the native engine draws none.
    """

    tolerance: float | None
    weights: np.ndarray | None
    effort: float
    operators: frozenset[str] | None
    max_complexity: int | None
    random_state: int


#: What a search may do where nothing was said.
EFFORT = 5.0


class Engine(Protocol):
    """Anything that can search: the native engine, Operon, PySR."""

    name: str

    def search(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        variables: tuple[Var, ...],
        domains: tuple[Domain, ...],
        **options: Unpack[Options],
    ) -> tuple[Candidate, ...]:
        """The Pareto front, ordered by complexity.

        Parameters
        ----------
        X, y
            Rows (n, k) and targets (n,).
        variables, domains
            The name and the domain of each column; the domain decides which operators make sense.
        """
        ...


#: Digits that a number may have before each further one counts as half a node.
_PLAIN = 4.0


def preference(expr: Expr) -> tuple[float, ...]:
    """Sort key of formulas that fit equally well: the smallest is preferred.

    1. fewer nodes (from the fifth on, two digits of a number count as one more); 2. fewer variables read;
    3. operators of lower rank in their table (the highest one decides); 4. fewer digits in the
    constants; 5. lower ranks all in all. So XOR of two bits is `[a != b]` (3 nodes), not `|a - b|`
    (4), `(a + b) % 2` (5) or `a + b - 2*a*b` (9).
    """
    nodes = list(expr.walk())
    ranks = [OPERATORS[node.name].rank for node in nodes if isinstance(node, Op)]
    costs = [number_cost(node.value) for node in nodes if isinstance(node, Const)]
    digits, length = sum(costs), len(nodes) + sum(0.5 * max(0.0, cost - _PLAIN) for cost in costs)
    reads = sum(isinstance(node, Var) for node in nodes)
    return (length, reads, max(ranks, default=0), round(digits, 3), sum(ranks))


def number_cost(value: Number) -> float:
    """Roughly the digits needed to write a number: 0 for zero, 0.5 for one, then one a digit."""
    if isinstance(value, Fraction):
        return 0.5 + number_cost(value.numerator) + number_cost(value.denominator)
    if value == 0:
        return 0.0
    sign = 0.1 if value < 0 else 0.0
    if abs(value) == 1:
        return 0.5 + sign
    text = repr(abs(value))
    if "e" in text:
        mantissa, exponent = text.split("e")
        return sign + len(mantissa.replace(".", "").strip("0")) + len(exponent)
    if isinstance(value, int):
        # 100 and 2000 are as easy to read as 1 and 2
        return (
            sign
            + len(text.rstrip("0"))
            + 0.3 * (len(text) - len(text.rstrip("0")))
            + 0.02 * min(abs(value), 9)
        )
    return sign + 0.5 + len(text.replace(".", "").strip("0"))


def front_of(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The candidates that no simpler one equals or beats, with their scores."""
    front: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (preference(c.expr), c.rmse)):
        gains_exactness = candidate.exact and not any(other.exact for other in front)
        if gains_exactness or not front or candidate.rmse < 0.999 * min(other.rmse for other in front):
            if front and front[-1].complexity == candidate.complexity:
                if gains_exactness or (candidate.rmse < front[-1].rmse and not front[-1].exact):
                    front[-1] = candidate
                continue
            front.append(candidate)
    scored = []
    for position, candidate in enumerate(front):
        score = 0.0
        if position:
            before = front[position - 1]
            drop = math.log(max(before.rmse, 1e-12)) - math.log(max(candidate.rmse, 1e-12))
            score = 2.0 * drop / (candidate.complexity - before.complexity)
        scored.append(replace(candidate, score=score))
    return tuple(scored)


def pick(front: Sequence[Candidate], tolerance: float | None = None) -> Candidate:
    """The candidate to use.

    The simplest one that is exact (within `tolerance`, when given, instead of the search's own). If none
    is, the one with the highest score among those whose error is at most 1.5 times the smallest.
    """
    if not front:
        raise ValueError("the front is empty")
    for candidate in front:
        if candidate.exact if tolerance is None else candidate.max_error <= tolerance:
            return candidate
    smallest = min(candidate.rmse for candidate in front)
    near = [candidate for candidate in front if candidate.rmse <= 1.5 * smallest]
    return max(near, key=lambda candidate: (candidate.score, -candidate.complexity))
