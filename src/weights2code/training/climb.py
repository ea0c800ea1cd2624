"""Climbing the ladder: train one rung after the other, smallest first.

`climb` yields what each rung found; the caller decides when to stop (`w2c train` at the first rung that
fits, `w2c run` at the first whose program is verified).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from weights2code.data import Problem
from weights2code.effort import TimeUp, now
from weights2code.errors import Reason
from weights2code.settings import Settings
from weights2code.training.few_values import few_values, may_add_up
from weights2code.training.focus import sufficient, with_last_outputs
from weights2code.training.ladder import Rung, ladder_of
from weights2code.training.orders import orders
from weights2code.training.remembering import Memories
from weights2code.training.ruled_out import Skipped, ruled_out
from weights2code.training.search import Progress, Record, Trained, pick_device, train_rung

#: Told of a rung that is about to be trained, and whether it goes over sums; whether the climb ends there.
Before = Callable[[Rung, bool], bool]


def climb(
    problem: Problem,
    settings: Settings,
    folder: Path | None = None,
    progress: Progress | None = None,
    record: Record | None = None,
    skipped: list[Skipped] | None = None,
    before: Before | None = None,
) -> Iterator[Trained]:
    """Train rung by rung. With a folder, finished rungs are kept there and unfinished ones resume.

    The climb ends where `before` says so of a rung that is about to be trained.

    The time limit counts what earlier commands spent on the rungs that are found in the folder. Rungs of the
    ladder that the data rule out join `skipped` in place of being trained. A rung that the time limit cuts
    short goes on under a larger one; it is given out as it is if there is no other.
    """
    some = False
    began = now()
    device = pick_device(settings.device)
    ladder = ladder_of(problem, settings)
    free = not settings.asked_for()
    known = cache(lambda: with_last_outputs(problem, sufficient(problem)))
    memories = {past: Memories(problem, past) for past in (True, False)}
    window_fits = False
    coming, postponed = deque(enumerate(ladder)), set[int]()
    if free and next(orders(problem), None) is not None:  # then nothing else is needed
        coming = deque(sorted(coming, key=lambda item: not _remembers_first(item[1])))
    while coming:
        index, rung = coming.popleft()
        if index and now() - began > settings.time_limit:
            return
        reason = ruled_out(rung, problem, ladder[:index]) if free else None
        if rung.kind == "few":
            enough = known()
            few = few_values(rung, problem, enough)
            smaller = coming[0][1] if free and coming and index not in postponed else None
            if few is None:
                reason = Reason.NOT_EVIDENT
            elif enough is not None and smaller and may_add_up(smaller, problem, enough):
                postponed.add(index)
                coming.insert(1, (index, rung))
                continue
            else:
                rung = few
        if free and window_fits and rung.kind == "window":
            reason = Reason.NOTHING_NEW
        if reason is not None:
            if skipped is not None:
                skipped.append(Skipped(rung.name, reason))
            continue
        if before is not None and before(rung, False):
            return
        place = -1
        kept = memories[any(variant.past for variant in rung.variants)]
        for place, part in enumerate(kept.rungs(rung) if rung.kind == "memory" else [None]):
            if place and now() - began > settings.time_limit:
                return
            finished = folder / f"rung{index}{f'_{place}' * (place > 0)}.safetensors" if folder else None
            if finished and finished.exists():
                trained = Trained.load(finished, problem)
                began -= trained.seconds
            elif part and part.sums and before is not None and before(part.rung, True):
                return
            else:
                current = folder / "current.safetensors" if folder else None
                looking = part.rung if part else rung
                seen_as = part.problem if part else problem
                try:
                    trained = train_rung(
                        looking, seen_as, settings, device, current, progress, record, some=some
                    )
                except TimeUp:
                    return
                if part:
                    trained = replace(trained, **part.kept(trained.model, trained.layout))
                if trained.unfinished:
                    if folder:
                        folder.mkdir(parents=True, exist_ok=True)  # there is something to go on with
                    yield trained
                    return
                if finished and current:
                    trained.save(finished)
                    current.unlink(missing_ok=True)
            some = True
            window_fits |= rung.kind == "window" and not rung.leaves and trained.fitted
            yield trained
        if place < 0 and skipped is not None:
            skipped.append(Skipped(rung.name, Reason.NOT_ASKED_FOR))


def _remembers_first(rung: Rung) -> bool:
    """Whether it is the rung of memories of everything, past outputs included."""
    return rung.kind == "memory" and any(v.past for v in rung.variants)
