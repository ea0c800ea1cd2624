"""A network goes back to training: its choices stay, its weights are solved for again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Sequences
from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph


def retuned(graph: DiscreteGraph, learned: Sequences, *, effort: Effort, whole: bool) -> DiscreteGraph:
    """The same network with its head solved again in float64."""
    channels, targets, scored = graph.encode(learned)
    stream, wanted = graph.stream(channels)[scored], targets[scored]
    head = np.zeros_like(graph.head)
    for row, own in enumerate(graph.head):
        used = [*np.flatnonzero(own[:-1]).tolist(), len(own) - 1]
        design = np.column_stack([stream, np.ones(len(stream))])[:, used]
        head[row, used] = np.linalg.lstsq(design, wanted[:, row], rcond=None)[0]
    return replace(graph, head=head)
