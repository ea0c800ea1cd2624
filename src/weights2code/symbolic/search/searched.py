"""What the search knows of an operator: a column of the operator table, keyed by its name.

What it computes and how it is written stands in `language.operators`; here is what it weighs in the bank,
which arguments make sense, and its inverse: between which numbers the other argument must lie, given the
goal and one argument. A new operator of the search is one entry. Three are spoken of in one word and
written with several: a distance, a quotient of whole numbers, a rounded root.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, op
from weights2code.symbolic.notation import affine_form, weighted_sum

INF = np.inf
Ends = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class Searched:
    """An operator as the bank and the reductions see it.

    Parameters
    ----------
    name
        Of the operator, or of what is written with several.
    kinds
        Where it makes sense: on "whole" numbers, on "real" ones, on "bits".
    values, written
        Given where the operator table does not say it.
    needs
        Operators of the language that must be allowed; its own unless said.
    cost
        In nodes.
    right
        What the second argument may be: something that "varies" (sums and products with numbers come by
        lines), "any", or a "divisor", a number from 2 on.
    rare
        Nodes that it counts for beyond its own where the likely come first.
    inverse
        Ends of the goal and one argument to the ends of the other, nan where there is none.
    """

    name: str
    kinds: str
    values: Callable[..., np.ndarray] | None = None
    written: Callable[..., Expr] | None = None
    needs: tuple[str, ...] | None = None
    cost: int = 1
    right: Literal["varies", "any", "divisor"] = "varies"
    rare: int = 0
    inverse: Callable[[np.ndarray, np.ndarray, np.ndarray], Ends] | None = None

    @property
    def arity(self) -> int:
        return OPERATORS[self.name].arity if self.written is None else 1 if self.name == "isqrt" else 2

    @property
    def commutes(self) -> bool:
        return self.name == "distance" or (self.written is None and OPERATORS[self.name].commutative)

    def compute(self, *arguments: np.ndarray) -> np.ndarray:
        function = self.values or OPERATORS[self.name].numpy
        with np.errstate(all="ignore"):
            return np.asarray(function(*arguments), dtype=float)

    def write(self, *arguments: Expr) -> Expr:
        if self.written is not None:
            return self.written(*arguments)
        if self.commutes and isinstance(arguments[0], Const):
            arguments = arguments[::-1]
        return op(self.name, *arguments)

    @property
    def needed(self) -> tuple[str, ...]:
        return (self.name,) if self.needs is None else self.needs


def _of_product(low: np.ndarray, high: np.ndarray, v: np.ndarray) -> Ends:
    zero = np.abs(v) < 1e-12
    safe = np.where(zero, 1.0, v)
    one, other = low / safe, high / safe
    fine = np.where((low <= 0) & (high >= 0), INF, np.nan)
    return np.where(zero, -fine, np.minimum(one, other)), np.where(zero, fine, np.maximum(one, other))


def _of_larger(low: np.ndarray, high: np.ndarray, v: np.ndarray) -> Ends:
    beyond = v > high + 1e-9 * (1 + np.abs(v))
    below = np.where(v < low, low, -INF)
    return np.where(beyond, np.nan, below), np.where(beyond, np.nan, np.broadcast_to(high, v.shape))


def _of_smaller(low: np.ndarray, high: np.ndarray, v: np.ndarray) -> Ends:
    below, above = _of_larger(-high, -low, -v)
    return -above, -below


def _of_unequal(low: np.ndarray, high: np.ndarray, v: np.ndarray) -> Ends:
    """Of bits: the goal where this one is 0 and its opposite where it is 1."""
    return np.where(v > 0.5, 1 - high, low), np.where(v > 0.5, 1 - low, high)


def _of_quotient(low: np.ndarray, high: np.ndarray, v: np.ndarray) -> Ends:
    """The dividend, given the divisor."""
    return _of_product(low, high, 1 / np.where(v == 0, np.nan, v))


def _guarded(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A quotient, of no use where the divisor changes its sign or comes near zero."""
    low, high = b.min(axis=-1, keepdims=True), b.max(axis=-1, keepdims=True)
    return np.where((low > 0.01 * (high - low)) | (high < -0.01 * (high - low)), a / b, np.nan)


def modulo(expr: Expr, m: int) -> Expr:
    """The same up to multiples of a number, with small weights."""
    form = affine_form(expr)
    if form is None or any(w != round(w) for w in (*form[0].values(), form[1])):
        return expr
    weights = [(int(w % m) if w % m < max(m - 1, 2) else -1, term) for term, w in form[0].items()]
    shift = int(form[1] % m)
    return weighted_sum([(w, term) for w, term in weights if w], shift - m if shift > m // 2 else shift)


def _remainder(a: Expr, b: Expr) -> Expr:
    return op("mod", modulo(a, int(b.value)) if isinstance(b, Const) else a, b)


# fmt: off
SEARCHED = (
    Searched("add", "whole real", needs=(), inverse=lambda low, high, v: (low - v, high - v)),
    Searched("sub", "whole real", needs=(), inverse=lambda low, high, v: (low + v, high + v)),
    Searched("mul", "whole real", needs=(), inverse=_of_product),
    Searched("max", "whole real", right="any", inverse=_of_larger),
    Searched("min", "whole real", right="any", inverse=_of_smaller),
    Searched("gt", "whole real", right="any"),
    Searched("ge", "whole"),
    Searched("eq", "whole", right="any"),
    Searched("ne", "bits", inverse=_of_unequal),
    Searched("mod", "whole", np.mod, _remainder, ("mod",), right="divisor"),
    Searched("quotient", "whole", lambda a, b: np.floor(a / b), lambda a, b: a // b, ("floor", "div"), 2,
             right="divisor"),
    Searched("div", "real", _guarded, inverse=_of_quotient),
    Searched("distance", "whole real", lambda a, b: np.abs(a - b), lambda a, b: op("abs", op("sub", a, b)),
             ("abs",), 2, right="any"),
    Searched("abs", "whole real"),
    Searched("sqrt", "real"),
    Searched("exp", "real", rare=2),
    Searched("log", "real", rare=2),
    Searched("sin", "real", rare=2),
    Searched("cos", "real", rare=2),
    Searched("isqrt", "whole", lambda a: np.floor(np.sqrt(a)), lambda a: op("floor", op("sqrt", a)),
             ("floor", "sqrt"), 2, rare=1),
)
# fmt: on
#: Functions of one argument that can be undone: where, and how.
UNDONE: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
    "sqrt": (lambda y: y >= 0, np.square),
    "exp": (lambda y: y > 0, np.log),
    "log": (lambda y: y < 30, np.exp),
    "div": (lambda y: y != 0, lambda y: 1 / y),
}
