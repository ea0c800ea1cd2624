"""What a stage says as it goes, and the plain lines that show it where there is no terminal for a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

#: What a stage calls as it goes: stage, steps done, steps in all, best hard loss, temperature.
Progress = Callable[[str, int, int, float, float], None]

#: Seconds between two plain lines of one stage.
PLAIN_INTERVAL = 5.0


class PlainLines:
    """A line when a stage begins, one every few seconds, one when it ends."""

    def __init__(self) -> None:
        self._stage = ""
        self._spoke = 0.0

    def __call__(self, stage: str, done: int, total: int, loss: float, temperature: float) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage = stage
        elif now - self._spoke < PLAIN_INTERVAL and done < total:
            return
        self._spoke = now
        print(f"{stage}: {done}/{total}, loss {loss:.2e}, temperature {temperature:.2g}", file=sys.stderr)
        sys.stderr.flush()
