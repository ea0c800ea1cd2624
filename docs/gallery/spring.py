import numpy as np
from numpy.typing import ArrayLike

__all__ = ["spring"]


def spring(x: ArrayLike) -> np.ndarray:
    """y[t] = x[t] + y[t-1] - y[t-2]

    Every value before the start is 0.
    Input: one sequence, shape (T,) or (T, 1), any length T; x: integers -10..10.
    Output: y, shape (T,), whole numbers.
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in integers -10..10:
        induction over the positions with z3 (first 2 checked one by one, then step by step), in
        exact arithmetic, which the text follows. It was also run on 798 sequences of length 10, 40,
        100; the largest error is 0.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = x.ravel()
    y = np.zeros(T + 2)  # y[-1], y[-2] = 0
    for t in range(T):
        y[t] = x[t] + y[t-1] - y[t-2]
    return y[:T]
