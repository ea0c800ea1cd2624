"""The training stage in a run folder: climb, keep the record, keep the best rung.

`rungs_of` trains one rung after the other, and the caller decides when to stop: `w2c train` at the first that
fits, `w2c run` at the first whose program is verified. `train` leaves the model of the rung that fits, which
is all of `w2c train`.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress

import torch

from weights2code.data import Problem
from weights2code.effort import TimeUp, charge, within, work
from weights2code.progress import Progress
from weights2code.run_folder import METRICS, MODEL, RunFolder
from weights2code.settings import Settings
from weights2code.training.ladder import ladder_of
from weights2code.training.search import pick_device, train_rung
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
    noisy, done = measured(problem), False
    with within(settings.cut_after()) as limit:
        for trained in rungs_of(problem, settings, folder, progress):
            found.append(trained)
            if done := trained.fitted or (noisy and at_the_floor(found)):
                break
    chosen = best(found, 1 / LOWER if noisy else CLEARLY_BETTER)
    chosen.save(folder.file(MODEL))
    if done or (len(found) == len(ladder_of(problem, settings)) and not limit.cut):
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


def best(found: Sequence[Trained], clearly: float = CLEARLY_BETTER) -> Trained:
    """The rung to keep: one that fits, else the smallest whose loss no other makes so many times smaller."""
    chosen = found[0]
    for trained in found[1:]:
        if trained.fitted > chosen.fitted or (
            trained.fitted == chosen.fitted and trained.losses[0] * clearly < chosen.losses[0]
        ):
            chosen = trained
    return chosen


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
    """Train rung by rung, smallest first, until the caller has enough.

    Where the rows were asked before, fixed wirings have nothing to add: they look at what the rows show.
    Where a window fits, a wider one has nothing to add. With a folder, `metrics.jsonl` follows, finished
    rungs are kept in its checkpoint, which the caller drops, and unfinished ones resume. The time limit
    counts what earlier commands spent on them. A rung that it cuts short goes on under a larger one; it is
    given out as it is if there is no other.
    """
    torch.set_num_threads(THREADS)
    keep_freed_memory()
    done: list[Epoch] = []

    def record(under_way: Sequence[Epoch]) -> None:
        if folder:
            write_metrics(folder, [*done, *under_way])

    some = window_fits = False
    began, device = work(), pick_device(settings.device)
    for index, rung in enumerate(ladder_of(problem, settings)):
        if index and work() - began > settings.time_limit:
            return
        if window_fits and rung.kind == "window" and not settings.asked_for():
            continue
        if after_rows and rung.option not in AFTER_ROWS:
            continue
        finished, current = (
            folder and folder.checkpoint / f"{name}.safetensors" for name in (f"rung{index}", "current")
        )
        if finished and finished.exists():
            trained = Trained.load(finished, problem)
            charge(trained.work)
        else:
            try:
                trained = train_rung(rung, problem, settings, device, current, progress, record, some=some)
            except TimeUp:
                return
            if folder and finished and current:
                if trained.unfinished:
                    folder.checkpoint.mkdir(parents=True, exist_ok=True)  # there is something to go on with
                else:
                    trained.save(finished)
                    current.unlink(missing_ok=True)
        done += trained.history
        record(())
        yield trained
        if trained.unfinished:
            return
        some = True
        window_fits |= rung.kind == "window" and trained.fitted


def write_metrics(folder: RunFolder, epochs: Sequence[Epoch]) -> None:
    """A line an epoch. The agreement A(e) compares with the end, so a rung under way has none yet."""
    lines = (json.dumps(epoch.line(), allow_nan=False) for epoch in epochs)
    folder.write(METRICS, "".join(f"{line}\n" for line in lines))
