import numpy as np
from numpy.typing import ArrayLike

__all__ = ["maximum_prev2"]


def maximum_prev2(x: ArrayLike) -> np.ndarray:
    """y[t] = max(x[t], x[t-1])

    Every value before the start is 0.
    Input: one sequence, shape (T,) or (T, 1), any length T; x: integers 0..99.
    Output: y, shape (T,), whole numbers.
    Origin: regressed from the live leaves.
    Verdict: Proved equal to the specification at every length for inputs in integers 0..99:
        complete exploration of the 100 states that reference and program reach together (10100
        transitions), in the program's own float64 arithmetic. It was also run on 798 sequences of
        length 10, 40, 100; the largest error is 0.
    Network: Proved equal to the program at every length for inputs in integers 0..99: on all 10100
        contexts that the program can reach, outputs stay 0.49 from the nearest rounding border,
        errors of float64 and float32 arithmetic included.
    """
    x = np.asarray(x, dtype=float)
    if x.shape not in ((x.size,), (x.size, 1)):
        raise ValueError(f"expected shape (T,) or (T, 1), got {x.shape}")
    T = len(x)
    x = np.append(x, 0)  # x[-1] = 0
    y = np.zeros(T)
    for t in range(T):
        y[t] = max(x[t], x[t-1])
    return y
