"""Progress of a run and of a sweep: a bar with the time left on a terminal, plain lines elsewhere.

It goes to stderr, so that a pipe sees only results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from weights2code.experiments.jobs import DONE, Row
from weights2code.progress import Progress, plain_lines


@contextmanager
def reporter(silent: bool) -> Iterator[Progress | None]:
    """The progress to hand to a stage: None if nothing is to be said."""
    if silent:
        yield None
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        with plain_lines() as lines:
            yield lines


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskID,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        rows: dict[str, TaskID] = {}

        def progress(stage: str, done: int, total: int, detail: str = "") -> None:
            if stage not in rows:
                for row in rows.values():
                    bar.stop_task(row)
                rows[stage] = bar.add_task(stage, detail=detail)
            bar.update(rows[stage], completed=done, total=total, detail=detail)

        yield progress


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
    clock = Clock(total, before)
    if silent:
        yield None
    elif sys.stderr.isatty():
        with _sweep_bar(clock, describe) as on_row:
            yield on_row
    else:
        if before:
            print(f"{before} of {total} runs are done already", file=sys.stderr, flush=True)
        yield _sweep_lines(clock, describe)


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


def _sweep_lines(clock: Clock, describe: Describe) -> Callable[[Row], None]:
    width = len(str(clock.total))

    def on_row(row: Row) -> None:
        well, text = describe(row)
        clock.count(well)
        mark = "ok  " if well else "MISS"
        place = f"[{clock.done:{width}d}/{clock.total}, {clock.left()}]"
        print(f"{place} {mark} {text}", file=sys.stderr, flush=True)

    return on_row


@contextmanager
def _sweep_bar(clock: Clock, describe: Describe) -> Iterator[Callable[[Row], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left, as of now."""

        def render(self, task: Task) -> Text:
            missed = f"  {clock.badly} missed" if clock.badly else ""
            return Text(f"{clock.left()}{missed}")

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        Left(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        whole = bar.add_task("runs", total=clock.total, completed=clock.before)

        def on_row(row: Row) -> None:
            well, text = describe(row)
            clock.count(well)
            bar.update(whole, completed=clock.done)
            if not well:  # what went well is only counted
                bar.console.print(Text(f"MISS {text}"), style="red", highlight=False)

        yield on_row
