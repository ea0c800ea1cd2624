"""Three models for `w2c decompile`, functions (n, T, columns) -> (n, T, k), and what was meant by one."""

import numpy as np

from weights2code import Task


def parity(x):
    """A recurrent network whose state turns over with each 1, and fades."""
    state, answers = np.ones(len(x)), []
    for t in range(x.shape[1]):
        state = np.tanh(1.2 * np.where(x[:, t, 0] == 1, -state, state) * 0.62)
        answers.append(np.stack([state + 0.02, -state], -1))
    return np.stack(answers, 1)


def average(x):
    """An exponential average that never gets above 0.9."""
    level, answers = np.zeros(len(x)), []
    for t in range(x.shape[1]):
        level = np.minimum(0.8 * level + 0.2 * x[:, t, 0], 0.9)
        answers.append(level)
    return np.stack(answers, 1)


def brackets(x):
    """Open brackets less closed ones, as it was learned where words are balanced."""
    return np.cumsum(2 * x[:, :, 0] - 1, 1)


depth = Task(inputs={"x": (0, 1)}, reference="y[t] = max(y[t-1] + 2*x[t] - 1, 0)", length=12)
