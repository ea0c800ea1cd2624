"""Climbing the ladder: train one rung after the other, smallest first.

`climb` yields what each rung found; the caller decides when to stop (`w2c train` at the first rung that
fits, `w2c run` at the first whose program is verified).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from weights2code.data import Problem
from weights2code.effort import TimeUp, now
from weights2code.settings import Settings
from weights2code.training.ladder import ladder_of
from weights2code.training.search import Progress, Record, Trained, pick_device, train_rung


def climb(
    problem: Problem,
    settings: Settings,
    folder: Path | None = None,
    progress: Progress | None = None,
    record: Record | None = None,
) -> Iterator[Trained]:
    """Train rung by rung. With a folder, finished rungs are kept there and unfinished ones resume.

    The time limit counts what earlier commands spent on the rungs that are found in the folder. A rung that
    the time limit cuts short goes on under a larger one; it is given out as it is if there is no other. Where
    a window fits, a wider one has nothing to add.
    """
    some = window_fits = False
    began = now()
    device = pick_device(settings.device)
    for index, rung in enumerate(ladder_of(problem, settings)):
        if index and now() - began > settings.time_limit:
            return
        if window_fits and rung.kind == "window" and not settings.asked_for():
            continue
        finished = folder / f"rung{index}.safetensors" if folder else None
        if finished and finished.exists():
            trained = Trained.load(finished, problem)
            began -= trained.seconds
        else:
            current = folder / "current.safetensors" if folder else None
            try:
                trained = train_rung(rung, problem, settings, device, current, progress, record, some=some)
            except TimeUp:
                return
            if trained.unfinished:
                if folder:
                    folder.mkdir(parents=True, exist_ok=True)  # there is something to go on with
                yield trained
                return
            if finished and current:
                trained.save(finished)
                current.unlink(missing_ok=True)
        some = True
        window_fits |= rung.kind == "window" and trained.fitted
        yield trained
