import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Sum_Last5"]


def Sum_Last5(x: ArrayLike) -> np.ndarray:
    """y[t] = x[t] + y[t-1] - x[t-5]

    Every value before the start is 0.
    Input: one sequence, shape (T,) or (T, 1), any length T; x: integers 0..99.
    Output: y, shape (T,), whole numbers.
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in integers 0..99:
        induction over the positions with z3 (first 5 checked one by one, then step by step), in
        exact arithmetic, which the text follows. It was also run on 798 sequences of length 20, 80,
        200; the largest error is 0.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = np.append(x, [0] * 5)  # x[-1], x[-2], ... = 0
    y = np.zeros(T + 1)  # y[-1] = 0
    for t in range(T):
        y[t] = x[t] + y[t-1] - x[t-5]
    return y[:T]
