import numpy as np
from numpy.typing import ArrayLike

__all__ = ["damped_harmonic_oscillator"]


def damped_harmonic_oscillator(x: ArrayLike) -> np.ndarray:
    """y[t] = 0.25*x[t] + 1.6*y[t-1] - 0.85*y[t-2]

    Every value before the start is 0.
    Input: one sequence, shape (T,) or (T, 1), any length T; x: reals -1..1.
    Output: y, shape (T,).
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in reals -1..1: induction
        over the positions with z3 (first 2 checked one by one, then step by step), in exact
        arithmetic; the text rounds by at most 8e-15 a position while no value exceeds 8.35; it
        stayed within 1e-6 (relative) in all tests. It was also run on 774 sequences of length 10,
        40, 100; the largest error is 3.11e-15.
    Network: Within 5.5e-15 of the program one step ahead, for inputs in reals -1..1 and past values
        of y between -1.18 and 1.39, which at the first positions, and from one position to the
        next, stay within what 384 sequences of length 10 show: the largest difference over all
        these values, by branch and bound over the linear pieces, errors of float64 arithmetic
        included; on its own past outputs it was off by up to 2.08e-14 in 390 sequences of length
        10, 40, 100.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = x.ravel()
    y = np.zeros(T + 2)  # y[-1], y[-2] = 0
    for t in range(T):
        y[t] = 0.25*x[t] + 1.6*y[t-1] - 0.85*y[t-2]
    return y[:T]
