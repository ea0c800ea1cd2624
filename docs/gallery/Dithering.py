import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Dithering"]


def Dithering(x: ArrayLike) -> np.ndarray:
    """The rule, for t = 0, 1, 2, ...:

        total[t] = x[t] + total[t-1]
        y[t] = [x[t] > total[t] % 15]

    Every value before the start is 0.
    Input: one sequence, shape (T,) or (T, 1), any length T; x: integers 0..15.
    Output: y, shape (T,), whole numbers.
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in integers 0..15:
        induction over the positions with z3 (first 1 checked one by one, then step by step), in
        exact arithmetic, which the text follows. It was also run on 798 sequences of length 10, 40,
        100; the largest error is 0.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = x.ravel()
    total, y = np.zeros((2, T + 1))  # total[-1] = 0
    for t in range(T):
        total[t] = x[t] + total[t-1]
        y[t] = int(x[t] > total[t] % 15)
    return y[:T]
