"""The exact formula of a small ReLU network: always faithful, never pretty."""

from __future__ import annotations

import numpy as np

from weights2code.language import Const, Expr, Number, Var, op
from weights2code.symbolic.notation import weighted_sum

#: Terms of one sum.
MOST_TERMS = 64


def piecewise_readoff(
    W1: np.ndarray, b1: np.ndarray, W2: np.ndarray, b2: float, box: np.ndarray, variables: tuple[Var, ...]
) -> Expr:
    """A network with one hidden ReLU layer: an affine function plus a hinge for every unit that bends.

    Parameters
    ----------
    W1, b1
        Hidden weights (hidden, k) and biases (hidden,).
    W2, b2
        Output weights (hidden,) and bias.
    box
        Lowest and highest value of each input, shape (k, 2), which may be infinite. A unit that is never
        positive on the box is dropped, one that is never negative is linear there; the sample is not asked.
    variables
        The names of the inputs.
    """
    hidden, k = W1.shape
    if b1.shape != (hidden,) or W2.shape != (hidden,) or box.shape != (k, 2):
        raise ValueError(
            f"shapes do not go together: W1 {W1.shape}, b1 {b1.shape}, W2 {W2.shape}, box {box.shape}"
        )
    with np.errstate(invalid="ignore"):  # 0 times an infinite end
        ends = [np.where(W1 == 0, 0.0, W1 * box[:, end]) for end in (0, 1)]
    high, low = b1 + np.maximum(*ends).sum(axis=1), b1 + np.minimum(*ends).sum(axis=1)
    slope, offset, terms = np.zeros(k), float(b2), list[tuple[Number, Expr]]()
    for i in np.flatnonzero((high > 0) & (W2 != 0)):  # in order, so that every machine gives the same digits
        if low[i] >= 0:
            slope, offset = slope + W2[i] * W1[i], offset + float(W2[i] * b1[i])
        else:
            inner = weighted_sum([*zip(map(_number, W1[i]), variables, strict=True)], _number(b1[i]))
            terms.append((_number(W2[i]), op("relu", inner)))
    affine = zip(map(_number, slope), variables, strict=True)
    total = weighted_sum([*affine, *terms[:MOST_TERMS]], _number(offset))
    for first in range(MOST_TERMS, len(terms), MOST_TERMS):  # one sum of all would be nested too deeply
        total = total + weighted_sum(terms[first : first + MOST_TERMS], 0)
    return total


def _number(value: float) -> Number:
    return Const(float(value)).value
