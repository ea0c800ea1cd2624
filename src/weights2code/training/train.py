"""The training stage in a run folder: climb, keep the record, keep the best rung.

`climb` trains one rung after the other, and the caller decides when to stop: `w2c train` at the first that
fits, `w2c run` at the first whose program is verified. `rungs_of` is the climb with everything that belongs
on disk; `train` leaves the model of the rung that fits, which is all of `w2c train`.
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from weights2code.data import Problem
from weights2code.effort import TimeUp, charge, within, work
from weights2code.progress import Progress
from weights2code.run_folder import METRICS, MODEL, RunFolder
from weights2code.settings import Settings
from weights2code.training.ladder import ladder_of
from weights2code.training.search import Record, pick_device, train_rung
from weights2code.training.storage import Epoch, Trained

#: One thread: the tensors are small, so threads wait for each other more than they compute, and results do
#: not depend on the number of cores.
THREADS = 1

#: Parameters of glibc's `mallopt`.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

#: A larger rung that does not fit either is preferred only if its loss is this many times smaller.
CLEARLY_BETTER = 10.0
#: Measured targets have a floor of noise. A rung that does not lower the loss by this share does no better;
#: after so many such rungs in a row the floor is reached.
LOWER = 0.95
RUNGS_AT_THE_FLOOR = 2
#: What may find a rule that rows do not show: of 328 recorded runs no other rung did.
AFTER_ROWS = ("linear", "pairs")


def train(
    problem: Problem, settings: Settings, folder: RunFolder, progress: Progress | None = None
) -> Trained:
    """Climb until a rung fits, and leave its record and its model in the folder.

    If none fits, the best is left. Training that stopped at the time limit keeps its checkpoint, so the
    same command with a larger limit climbs on; otherwise the checkpoint goes and the folder is complete.
    """
    if folder.trained:
        return Trained.load(folder.file(MODEL), problem)
    found: list[Trained] = []
    with within(settings.cut_after()) as limit:
        for trained in rungs_of(problem, settings, folder, progress):
            found.append(trained)
            if trained.fitted or (measured(problem) and at_the_floor(found)):
                break
    chosen = smallest_at_the_floor(found) if measured(problem) else best(found)
    chosen.save(folder.file(MODEL))
    whole = len(found) == len(ladder_of(problem, settings)) and not limit.cut
    if chosen.fitted or (measured(problem) and at_the_floor(found)) or whole:
        folder.drop_checkpoint()
    return chosen


def measured(problem: Problem) -> bool:
    """Whether the targets may hold noise: real numbers without a machine that specifies them."""
    return problem.reference is None and not problem.integer_outputs


def at_the_floor(found: Sequence[Trained]) -> bool:
    """Whether the last rungs did no better than the best before them, which explains something."""
    if len(found) <= RUNGS_AT_THE_FLOOR:
        return False
    before = min(trained.losses[0] for trained in found[:-RUNGS_AT_THE_FLOOR])
    return before < LOWER and all(t.losses[0] > LOWER * before for t in found[-RUNGS_AT_THE_FLOOR:])


def smallest_at_the_floor(found: Sequence[Trained]) -> Trained:
    """The first rung that no later one beats noticeably; one that fits is always preferred."""
    lowest = min(trained.losses[0] for trained in found)
    return next(t for t in found if t.fitted or t.losses[0] * LOWER <= lowest)


def keep_freed_memory() -> None:
    """Ask glibc to keep what is freed: every step allocates the same blocks again, and getting them from
    the kernel each time costs a tenth to a quarter of a step (`benchmarks/training`). No-op elsewhere."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_TRIM_THRESHOLD, 1 << 30)
        libc.mallopt(_MMAP_THRESHOLD, 1 << 30)


def rungs_of(
    problem: Problem,
    settings: Settings,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
    *,
    after_rows: bool = False,
) -> Iterator[Trained]:
    """Train rung by rung, smallest first; with a folder, `metrics.jsonl` follows and a broken climb goes on.

    Where the rows were asked before, fixed wirings have nothing to add: they look at what the rows show. The
    caller decides when to stop, saves the model of its choice, and drops the folder's checkpoint.
    """
    torch.set_num_threads(THREADS)
    keep_freed_memory()
    done: list[Epoch] = []

    def record(under_way: Sequence[Epoch]) -> None:
        if folder:
            write_metrics(folder, [*done, *under_way])

    checkpoint = folder.checkpoint if folder else None
    for trained in climb(problem, settings, checkpoint, progress, record, after_rows=after_rows):
        done += trained.history
        record(())
        yield trained


def climb(
    problem: Problem,
    settings: Settings,
    folder: Path | None = None,
    progress: Progress | None = None,
    record: Record | None = None,
    *,
    after_rows: bool = False,
) -> Iterator[Trained]:
    """What each rung found. With a folder, finished rungs are kept there and unfinished ones resume.

    The time limit counts what earlier commands spent on the rungs that are found in the folder. A rung that
    the time limit cuts short goes on under a larger one; it is given out as it is if there is no other. Where
    a window fits, a wider one has nothing to add.
    """
    some = window_fits = False
    began = work()
    device = pick_device(settings.device)
    for index, rung in enumerate(ladder_of(problem, settings)):
        if index and work() - began > settings.time_limit:
            return
        if window_fits and rung.kind == "window" and not settings.asked_for():
            continue
        if after_rows and rung.option not in AFTER_ROWS:
            continue
        finished, current = (
            folder and folder / f"{name}.safetensors" for name in (f"rung{index}", "current")
        )
        if finished and finished.exists():
            trained = Trained.load(finished, problem)
            charge(trained.work)
        else:
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


def best(found: Sequence[Trained]) -> Trained:
    """The rung to keep: one that fits, else the smallest that no other beats clearly."""
    chosen = found[0]
    for trained in found[1:]:
        if trained.fitted > chosen.fitted or (
            trained.fitted == chosen.fitted and trained.losses[0] * CLEARLY_BETTER < chosen.losses[0]
        ):
            chosen = trained
    return chosen


def write_metrics(folder: RunFolder, epochs: Sequence[Epoch]) -> None:
    """A line an epoch. The agreement A(e) compares with the end, so a rung under way has none yet."""
    lines = (json.dumps(_finite(epoch.to_dict()), allow_nan=False) for epoch in epochs)
    folder.write(METRICS, "".join(f"{line}\n" for line in lines))


def _finite(value: Any) -> Any:
    """JSON has no infinities: a loss that is not a number becomes null."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value if not isinstance(value, float) or math.isfinite(value) else None
