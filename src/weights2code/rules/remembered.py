"""Regressions are remembered: rungs of a ladder often lead to the same values of the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from weights2code.effort import time_is_up
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.engine import Candidate


@dataclass(slots=True)
class RememberingEngine:
    """The native engine, asked once for the same rows with the same options."""

    name: str = "native"
    _found: dict[Any, tuple[Candidate, ...]] = field(default_factory=dict)

    def search(self, X: np.ndarray, y: np.ndarray, **options: Any) -> tuple[Candidate, ...]:
        """See `Engine.search`."""
        content = blake2b(np.ascontiguousarray(X).tobytes())
        content.update(np.ascontiguousarray(y).tobytes())
        key = (content.digest(), X.shape, *sorted(options.items(), key=lambda item: item[0]))
        if key not in self._found:
            found = NativeEngine().search(X, y, **options)
            if time_is_up():  # it may have been cut short
                return found
            self._found[key] = found
        return self._found[key]
