"""How far back a head looks that points by content, as a guess for the kernel to check.

The score of a key is its content score, which depends on the query and the key alone, and a bias by offset,
which is the same for all offsets beyond the window that was learned. On finitely many values both are tables.
If for every query the worst score of some near offset, or of nothing at all, beats the best score of every
offset beyond a window, then what is selected lies inside it.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import Recurrence, Selection, compile_numpy
from weights2code.language.machine_text import Windows
from weights2code.language.scores import Scores


def windows_of(machine: Recurrence, x: np.ndarray) -> Windows:
    """The window of every head that has one, and the keys that it meets, on some sequences (n, T, inputs)."""
    heads = [(step.name, step.definition) for step in machine.steps if isinstance(step.definition, Selection)]
    if not heads:
        return {}
    with np.errstate(all="ignore"):
        trace = machine.trace(x)
    found = {}
    for name, head in heads:
        variables = head.query.variables()
        query = compile_numpy(head.query, variables)(*(trace[v.name] for v in variables))
        queries, keys = np.unique(query), np.unique(trace[head.key])
        window = _window(head.scores, queries, keys)
        if window is not None:
            found[name] = (window, tuple(keys.tolist()))
    return found


def _window(scores: Scores, queries: np.ndarray, keys: np.ndarray) -> int | None:
    beyond = len(scores.bias) - 1  # from here on the bias is always the same
    table = np.stack([_at(scores, queries, keys, back) for back in range(beyond + 1)])  # offset, query, key
    worst, best = table.min(2), table.max(2)
    for window in range(beyond):
        if np.all(np.maximum(worst[: window + 1].max(0), scores.null) > best[window + 1 :].max(0)):
            return window
    return None


def _at(scores: Scores, queries: np.ndarray, keys: np.ndarray, back: int) -> np.ndarray:
    """The scores (queries, keys) of keys so many positions back."""
    columns = [scores.of(queries, np.full((len(queries), back + 1), key))[:, 0] for key in keys]
    return np.stack(columns, axis=1)
