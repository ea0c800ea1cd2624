"""One case of an attack: how it is run apart from everything else, and what is said about it.

A case is made from its number and a seed alone, so that cases can run in any order and on any number of
processes, and a sweep that was stopped goes on with the numbers that are missing.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import resource
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

GIBIBYTE = 1 << 30


@dataclass(frozen=True, slots=True)
class Result:
    """What was tried (`kind`), what the system said (`outcome`), and what is wrong with that (`failure`)."""

    kind: str
    outcome: str = ""
    failure: str = ""
    #: What is needed to see the case again: a program, a file, a command.
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


#: (number, seed) -> what happened.
Attack = Callable[[int, int], Result]


def isolated(attack: Attack, number: int, seed: int, *, seconds: float, memory: int) -> tuple[Result, float]:
    """The case in a process of its own: what it does to memory, time or the interpreter is a result too."""
    context = mp.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, attack, number, seed, memory))
    began = time.monotonic()
    process.start()
    send.close()
    result = None
    if receive.poll(seconds):
        try:
            result = receive.recv()
        except EOFError:
            process.join()
            result = Result(
                "", "died", f"the process died with exit code {process.exitcode}", f"number {number}"
            )
    else:
        result = Result("", "hang", f"no answer within {seconds:g} s", f"number {number}")
        process.kill()
    process.join()
    return result, time.monotonic() - began


def _child(send: Connection, attack: Attack, number: int, seed: int, memory: int) -> None:
    os.setpgid(0, 0)
    if memory:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
    try:
        result = attack(number, seed)
    except BaseException:
        result = Result("", "traceback", traceback.format_exc()[-2000:], f"number {number}")
    send.send(result)
