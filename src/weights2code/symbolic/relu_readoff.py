"""The exact formula of a small ReLU network: always faithful, never pretty."""

from __future__ import annotations

import numpy as np

from weights2code.language import Const, Expr, Number, Var, op
from weights2code.symbolic.notation import weighted_sum


def piecewise_readoff(
    W1: np.ndarray,
    b1: np.ndarray,
    W2: np.ndarray,
    b2: float,
    box: np.ndarray,
    variables: tuple[Var, ...] | None = None,
) -> Expr:
    """The exact formula of a network with one hidden ReLU layer, on a box of inputs.

    Parameters
    ----------
    W1, b1
        Hidden weights (hidden, k) and biases (hidden,).
    W2, b2
        Output weights (hidden,) and bias.
    box
        Lowest and highest value of each input, shape (k, 2). A unit that is never positive on the box is
        dropped, one that is never negative is linear there; the sample is not asked.
    variables
        Names of the inputs, `x0`, `x1`, ... by default.

    Returns
    -------
    Expr
        An affine function plus one hinge for every unit that changes sign on the box.
    """
    W1, b1 = np.atleast_2d(np.asarray(W1, dtype=float)), np.asarray(b1, dtype=float).reshape(-1)
    W2, box = np.asarray(W2, dtype=float).reshape(-1), np.asarray(box, dtype=float)
    hidden, k = W1.shape
    if b1.shape != (hidden,) or W2.shape != (hidden,) or box.shape != (k, 2):
        raise ValueError(
            f"shapes do not go together: W1 {W1.shape}, b1 {b1.shape}, W2 {W2.shape}, box {box.shape}"
        )
    names = variables or tuple(Var(f"x{j}") for j in range(k))
    high = b1 + np.maximum(W1 * box[:, 0], W1 * box[:, 1]).sum(axis=1)
    low = b1 + np.minimum(W1 * box[:, 0], W1 * box[:, 1]).sum(axis=1)
    slope, offset = np.zeros(k), float(np.asarray(b2).reshape(-1)[0])
    terms: list[tuple[Number, Expr]] = []
    for i in range(hidden):
        if high[i] <= 0 or W2[i] == 0:
            continue
        if low[i] >= 0:
            slope = slope + W2[i] * W1[i]
            offset += float(W2[i] * b1[i])
            continue
        inner = weighted_sum(
            [(_number(w), v) for w, v in zip(W1[i], names, strict=True)], _number(float(b1[i]))
        )
        terms.append((_number(float(W2[i])), op("relu", inner)))
    affine: list[tuple[Number, Expr]] = [(_number(w), v) for w, v in zip(slope, names, strict=True)]
    return weighted_sum([*affine, *terms], _number(offset))


def _number(value: float) -> Number:
    return Const(float(value)).value
