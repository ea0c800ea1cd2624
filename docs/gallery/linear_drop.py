import numpy as np
from numpy.typing import ArrayLike

__all__ = ["linear_drop"]


def linear_drop(x: ArrayLike) -> np.ndarray:
    """y[t] = 2*y[t-1] - y[t-2] - 0.1*x[t]*(y[t-1] - y[t-2]) + 0.098

    Every value before the start is 0.
    Input: one sequence, shape (T,) or (T, 1), any length T; x: reals 0..1.
    Output: y, shape (T,).
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in reals 0..1: induction
        over the positions with z3 (first 2 checked one by one, then step by step), in exact
        arithmetic; the text rounds by at most 3e-12 a position while no value exceeds 1.98e+03; it
        stayed within 1e-6 (relative) in all tests. It was also run on 774 sequences of length 10,
        40, 100; the largest error is 3.24e-12.
    Network: Within 0.00012 of the program one step ahead, for inputs in reals 0..1 and past values
        of y between 0.098 and 4.22, which at the first positions, and from one position to the
        next, stay within what 384 sequences of length 10 show: the largest difference over all
        these values, by branch and bound over the linear pieces, errors of float64 arithmetic
        included; on its own past outputs it was off by up to 34.3 in 390 sequences of length 10,
        40, 100. It was wired for the rule and trained with the program's outputs after the program
        was found.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = x.ravel()
    y = np.zeros(T + 2)  # y[-1], y[-2] = 0
    for t in range(T):
        y[t] = 2*y[t-1] - y[t-2] - 0.1*x[t]*(y[t-1] - y[t-2]) + 0.098
    return y[:T]
