"""A discrete network that runs by itself: on its own past outputs, rounded where those are whole numbers.

What is run is the network's recurrence (`graph.machine`), in float64, so any length is possible.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from weights2code.graph import DiscreteGraph
from weights2code.graph.machine import machine_of, token_machine_of


def rounded(values: np.ndarray) -> np.ndarray:
    """The nearest whole numbers, floor(y + 1/2): halves go up."""
    return np.floor(values + 0.5)


def free_running(
    graph: DiscreteGraph, x: Float[np.ndarray, "sequence pos input"], *, whole: bool
) -> Float[np.ndarray, "sequence pos output"]:
    """Outputs in the user's units; with `whole` they are rounded, and so is what is fed back.

    What grows beyond all numbers is infinite or none.
    """
    length = x.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if graph.layout.name != "concat":
            return machine_of(graph, whole=whole).run(x)
        # all inputs come first, and the last of them gives the first output
        tokens = np.zeros((len(x), max(2 * length - 1, 0), x.shape[2] + 1))
        tokens[:, :length, :-1], tokens[:, length:, -1] = x, 1.0
        return token_machine_of(graph, whole=whole).run(tokens)[:, -length:]
