"""Progress: a bar with loss, temperature and time left on a terminal, a few plain lines elsewhere.

It goes to stderr, so that a pipe sees only results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: What a stage calls as it goes: stage, steps done, steps in all, best hard loss, temperature.
Progress = Callable[[str, int, int, float, float], None]

#: Seconds between two plain lines of one stage.
PLAIN_INTERVAL = 5.0


@contextmanager
def reporter(silent: bool) -> Iterator[Progress | None]:
    """The progress to hand to a stage: None if nothing is to be said."""
    if silent:
        yield None
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield PlainLines()


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


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.1e}  temperature {task.fields[temperature]:.2g}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        rows: dict[str, int] = {}

        def progress(stage: str, done: int, total: int, loss: float, temperature: float) -> None:
            if stage not in rows:
                for row in rows.values():
                    bar.stop_task(row)  # type: ignore[arg-type]
                rows[stage] = bar.add_task(stage, total=total, loss=loss, temperature=temperature)
            bar.update(
                rows[stage],  # type: ignore[arg-type]
                completed=done,
                total=total,
                loss=loss,
                temperature=temperature,
            )

        yield progress
