import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Parity_Last4"]


def Parity_Last4(x: ArrayLike) -> np.ndarray:
    """y[t] = (x[t] + y[t-1] + x[t-4]) % 2

    Every value before the start is 0.
    Input: one sequence, shape (T,) or (T, 1), any length T; x: bits.
    Output: y, shape (T,), whole numbers.
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in bits: complete
        exploration of the 16 states that reference and program reach together (34 transitions), in
        the program's own float64 arithmetic. It was also run on 798 sequences of length 10, 40,
        100; the largest error is 0.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = np.append(x, [0] * 4)  # x[-1], x[-2], ... = 0
    y = np.zeros(T + 1)  # y[-1] = 0
    for t in range(T):
        y[t] = (x[t] + y[t-1] + x[t-4]) % 2
    return y[:T]
