"""Many small pieces of work on a few processes, each piece with a limit, none able to spoil another.

Processes are forked from this one, so what it has imported and drawn is there at once. A process works off a
batch and answers item by item; one that dies or hangs costs the item that it was at, and the rest of its
batch is given to another.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

Answer = dict[str, Any]


def work_off(
    items: Sequence[Any], work: Callable[[Any], Answer], processes: int, *, batch: int, limit: float
) -> Iterator[tuple[Any, Answer]]:
    """Each item with its answer as it comes; `limit` is the seconds that one item may take by the clock."""
    context = mp.get_context("fork")
    waiting = [list(items[at : at + batch]) for at in range(0, len(items), batch)][::-1]
    running: dict[Connection, tuple[Any, list[Any], float]] = {}
    while waiting or running:
        while waiting and len(running) < processes:
            todo = waiting.pop()
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_batch, args=(work, todo, theirs))
            process.start()
            theirs.close()
            running[ours] = process, todo, time.monotonic()
        ready = wait(list(running), timeout=1.0)
        for ours, (process, todo, began) in list(running.items()):
            if ours in ready:
                try:
                    answer = ours.recv()
                except EOFError:
                    process.join()
                    answer = {"error": f"the process ended with code {process.exitcode}"}
            elif time.monotonic() - began > limit:
                process.kill()
                answer = {"error": "ended by force: far beyond its limit"}
            else:
                continue
            yield todo[0], answer
            rest = todo[1:]
            if rest and "error" not in answer:
                running[ours] = process, rest, time.monotonic()
                continue
            process.kill()
            process.join()
            ours.close()
            del running[ours]
            if rest:
                waiting.append(rest)


def _batch(work: Callable[[Any], Answer], items: list[Any], answers: Connection) -> None:
    for item in items:
        try:
            answers.send(work(item))
        except Exception as error:
            answers.send({"error": f"{type(error).__name__}: {error}"})
            break  # a fresh process for the rest
    answers.close()
    os._exit(0)  # nothing of the parent's is cleaned up twice
