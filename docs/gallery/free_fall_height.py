import numpy as np
from numpy.typing import ArrayLike

__all__ = ["free_fall_height"]


def free_fall_height(x: ArrayLike) -> np.ndarray:
    """y[t] = 4.9*x[t]**2

    Input: one sequence, shape (T,) or (T, 1), any length T; x: reals 0..1.
    Output: y, shape (T,).
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in reals 0..1: induction
        over the positions with z3 (first 1 checked one by one, then step by step), in exact
        arithmetic; the text rounds by at most 2e-15 a position; it stayed within 1e-6 (relative) in
        all tests. It was also run on 774 sequences of length 10, 40, 100; the largest error is 0.
    Network: Within 0.00011 of the program one step ahead, for inputs in reals 0..1: the largest
        difference over all these values, by branch and bound over the linear pieces, errors of
        float64 arithmetic included; on its own past outputs it was off by up to 0.000101 in 390
        sequences of length 10, 40, 100. It was wired for the rule and trained with the program's
        outputs after the program was found.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = x.ravel()
    y = np.zeros(T)
    for t in range(T):
        y[t] = 4.9*x[t]**2
    return y
