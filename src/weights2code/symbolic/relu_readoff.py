"""The exact formula of a small ReLU network: always faithful, never pretty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.language import Const, Expr, Number, Var, op
from weights2code.symbolic.notation import weighted_sum

#: Terms of one sum.
MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Hinges:
    """An affine function, `slope` times the inputs plus `offset`, and one hinge for every unit.

    A unit is (factor, weights, bias): factor * relu(weights times the inputs + bias).
    """

    slope: tuple[float, ...]
    offset: float
    units: tuple[tuple[float, tuple[float, ...], float], ...]

    def apply(self, u: np.ndarray) -> np.ndarray:
        """Values for inputs (..., k)."""
        total = u @ np.array(self.slope) + self.offset
        for factor, weights, bias in self.units:
            total = total + factor * np.maximum(u @ np.array(weights) + bias, 0.0)
        return total


def hinges(W1: np.ndarray, b1: np.ndarray, W2: np.ndarray, b2: float, box: np.ndarray) -> Hinges:
    """A network with one hidden ReLU layer, on a box of inputs, which may be unbounded.

    Parameters
    ----------
    W1, b1
        Hidden weights (hidden, k) and biases (hidden,).
    W2, b2
        Output weights (hidden,) and bias.
    box
        Lowest and highest value of each input, shape (k, 2). A unit that is never positive on the box is
        dropped, one that is never negative is linear there; the sample is not asked.
    """
    W1, b1 = np.atleast_2d(np.asarray(W1, dtype=float)), np.asarray(b1, dtype=float).reshape(-1)
    W2, box = np.asarray(W2, dtype=float).reshape(-1), np.asarray(box, dtype=float)
    hidden, k = W1.shape
    if b1.shape != (hidden,) or W2.shape != (hidden,) or box.shape != (k, 2):
        raise ValueError(
            f"shapes do not go together: W1 {W1.shape}, b1 {b1.shape}, W2 {W2.shape}, box {box.shape}"
        )
    with np.errstate(invalid="ignore"):  # 0 times an infinite end
        ends = [np.where(W1 == 0, 0.0, W1 * box[:, end]) for end in (0, 1)]
    high, low = b1 + np.maximum(*ends).sum(axis=1), b1 + np.minimum(*ends).sum(axis=1)
    alive = (high > 0) & (W2 != 0)
    linear = alive & (low >= 0)
    slope, offset = np.zeros(k), float(np.asarray(b2).reshape(-1)[0])
    for i in np.flatnonzero(linear):  # in order, so that every machine gives the same digits
        slope, offset = slope + W2[i] * W1[i], offset + float(W2[i] * b1[i])
    units = tuple(
        (float(W2[i]), tuple(W1[i].tolist()), float(b1[i])) for i in np.flatnonzero(alive & ~linear)
    )
    return Hinges(tuple(slope.tolist()), offset, units)


def piecewise_readoff(
    W1: np.ndarray,
    b1: np.ndarray,
    W2: np.ndarray,
    b2: float,
    box: np.ndarray,
    variables: tuple[Var, ...] | None = None,
) -> Expr:
    """The same as an expression: an affine function plus a hinge for every unit that changes sign on the box.

    `variables` are the names of the inputs, `x0`, `x1`, ... by default.
    """
    found = hinges(W1, b1, W2, b2, box)
    names = variables or tuple(Var(f"x{j}") for j in range(len(found.slope)))
    terms: list[tuple[Number, Expr]] = []
    for factor, weights, bias in found.units:
        inner = weighted_sum([(_number(w), v) for w, v in zip(weights, names, strict=True)], _number(bias))
        terms.append((_number(factor), op("relu", inner)))
    affine: list[tuple[Number, Expr]] = [(_number(w), v) for w, v in zip(found.slope, names, strict=True)]
    total = weighted_sum([*affine, *terms[:MOST_TERMS]], _number(found.offset))
    for first in range(MOST_TERMS, len(terms), MOST_TERMS):  # one sum of all would be nested too deeply
        total = total + weighted_sum(terms[first : first + MOST_TERMS], 0)
    return total


def _number(value: float) -> Number:
    return Const(float(value)).value
