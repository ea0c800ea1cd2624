import numpy as np
from numpy.typing import ArrayLike

__all__ = ["bitwise_and"]


def bitwise_and(data: ArrayLike) -> np.ndarray:
    """y[t] = a[t]*b[t]

    Input: one sequence, shape (T, 2), any length T; a: bits; b: bits.
    Output: y, shape (T,), whole numbers.
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in bits: complete
        exploration of the 1 states that reference and program reach together (8 transitions), in
        the program's own float64 arithmetic. It was also run on 798 sequences of length 10, 40,
        100; the largest error is 0.
    """
    data = np.asarray(data, dtype=float)
    if data.shape[1:] != (2,) and data.shape != (0,):
        raise ValueError(f"expected shape (T, 2), got {data.shape}")
    T = len(data)
    a, b = data.reshape(-1, 2).T
    y = np.zeros(T)
    for t in range(T):
        y[t] = a[t]*b[t]
    return y
