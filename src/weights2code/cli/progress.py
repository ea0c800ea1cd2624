"""Progress of a run and of a sweep: a bar with the time left on a terminal, plain lines elsewhere.

It goes to stderr, so that a pipe sees only results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from weights2code.experiments.jobs import DONE, Row
from weights2code.progress import Progress, plain_lines


@contextmanager
def reporter(silent: bool) -> Iterator[Progress | None]:
    """The progress to hand to a stage: None if nothing is to be said."""
    with nullcontext() if silent else _bar() if sys.stderr.isatty() else plain_lines() as progress:
        yield progress


@contextmanager
def _bar() -> Iterator[Bar]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        yield Bar(bars)


class Bar:
    """A bar for each stage, of which the last one moves."""

    def __init__(self, bars: Any) -> None:
        self.bars, self.rows = bars, {}

    def __call__(self, stage: str, done: int, total: int, detail: str = "") -> None:
        if stage not in self.rows:
            for row in self.rows.values():
                self.bars.stop_task(row)
            self.rows[stage] = self.bars.add_task(stage, detail=detail)
        self.bars.update(self.rows[stage], completed=done, total=total, detail=detail)

    def say(self, line: str) -> None:
        """A line above the bars."""
        self.bars.console.print(line, style="red", highlight=False, markup=False)


# -- a sweep ------------------------------------------------------------------------------------------------

#: Says how a run went, in one line, and whether well.
Describe = Callable[[Row], tuple[bool, str]]


def described(row: Row) -> tuple[bool, str]:
    """A row in one line, where nothing better is known."""
    well = row["status"] == DONE
    return well, f"{row['key']}: {row['seconds']:.1f} s" if well else f"{row['key']}: {row['error']}"


@contextmanager
def sweep_reporter(
    total: int, before: int, silent: bool, describe: Describe = described
) -> Iterator[Callable[[Row], None] | None]:
    """What to hand to `run_sweep` as `on_row`; None if nothing is to be said.

    Parameters
    ----------
    total : runs of the sweep.
    before : how many of them were done before it began.
    silent : whether to say nothing.
    describe : a row as one line, and whether the run went well.
    """
    clock, width = Clock(total, before), len(str(total))
    with nullcontext() if silent or not sys.stderr.isatty() else _bar() as bar:

        def on_row(row: Row) -> None:
            well, text = describe(row)
            clock.count(well)
            if bar is None:
                place = f"[{clock.done:{width}d}/{clock.total}, {clock.left()}]"
                print(f"{place} {'ok  ' if well else 'MISS'} {text}", file=sys.stderr, flush=True)
                return
            missed = f"  {clock.badly} missed" if clock.badly else ""
            bar("runs", clock.done, clock.total, f"{clock.done}/{clock.total}  {clock.left()}{missed}")
            if not well:  # what went well is only counted
                bar.say(f"MISS {text}")

        if bar is not None:
            bar("runs", before, total)
        elif before and not silent:
            print(f"{before} of {total} runs are done already", file=sys.stderr, flush=True)
        yield None if silent else on_row


@dataclass(slots=True)
class Clock:
    """Counts runs and knows how long the others will take, if they are like those so far."""

    total: int
    before: int
    done: int = field(init=False)
    badly: int = 0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.done, self.began = self.before, time.monotonic()

    def count(self, well: bool) -> None:
        self.done += 1
        self.badly += not well

    def left(self) -> str:
        """The time left, in words."""
        made = self.done - self.before
        if not made:
            return "time left unknown"
        return f"{duration((time.monotonic() - self.began) / made * (self.total - self.done))} left"


def duration(seconds: float) -> str:
    """Seconds as people say them: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
