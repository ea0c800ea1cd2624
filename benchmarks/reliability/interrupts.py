"""Interrupt `w2c` at a random moment, imports included, once or twice: one line, 130, and it can go on.

The moments before the interpreter has begun to run this package are not ours, and are counted by themselves.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from case import Result
from commands import Command, Ended, difference, draw, ended, run, started, without_free

WHOLE = 100
SECONDS = 600.0
MEMORY = 0
KINDS = ("run", "fit", "train", "bench")
#: Share of the interrupts that come within so many seconds, when most is still to be imported.
EARLY, IMPORTING = 0.4, 0.5
INTERRUPTED = 130


def attack(number: int, seed: int) -> Result:
    rng = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(prefix="interrupts") as place:
        folder = Path(place)
        command = draw(rng, folder, (KINDS[number % len(KINDS)],))
        began = time.monotonic()
        undisturbed = run(command, folder / "undisturbed")
        duration = time.monotonic() - began
        early = rng.random() < EARLY
        moment = float(rng.uniform(0.0, IMPORTING if early else duration))
        again = float(rng.uniform(0.0, 0.05)) if rng.random() < 0.3 else None
        kind = f"{command.kind}, {'at first' if early else 'later'}{', twice' if again is not None else ''}"
        said = f"{' '.join(command.arguments)} interrupted after {moment:.3f} s"
        process = started(command, folder / "stopped")
        outcome, last = interrupted(process, moment, again)
        failure = wrong(command, outcome, last, undisturbed)
        if failure:
            return Result(kind, outcome, failure, said)
        goes_on = run(command, folder / "stopped")
        if goes_on.code != undisturbed.code:
            return Result(kind, outcome, f"then exit code {goes_on.code}: {goes_on.err[-500:]}", said)
        return Result(kind, outcome, difference(command, folder / "undisturbed", folder / "stopped"), said)


def interrupted(process: subprocess.Popen[str], moment: float, again: float | None) -> tuple[str, Ended]:
    """Send the signal, perhaps twice; what it met, and how the command ended."""
    try:
        process.wait(moment)
        return "over before", ended(process)
    except subprocess.TimeoutExpired:
        met = "stopped" if is_watched(process.pid) else "not begun"
    process.send_signal(signal.SIGINT)
    if again is not None:
        time.sleep(again)
        process.send_signal(signal.SIGINT)
    return met, ended(process)


def is_watched(pid: int) -> bool:
    """Whether the process has taken over Ctrl-C: it is blocked for the main thread."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    blocked = next((line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")), "0")
    return bool(int(blocked, 16) >> (signal.SIGINT - 1) & 1)


def wrong(command: Command, met: str, last: Ended, undisturbed: Ended) -> str:
    """What is wrong with an end, in words."""
    if met == "not begun":  # the interpreter itself is starting, and this package has not been asked yet
        return "" if "weights2code/cli" not in last.err else f"traceback: {last.err[-800:]}"
    if last.code not in (INTERRUPTED, undisturbed.code):
        return f"exit code {last.code}: {last.err[-800:]}"
    if last.code == INTERRUPTED and (last.err.count("\n") != 1 or not last.err.startswith("w2c")):
        return f"more or less than one line: {last.err[-800:]}"
    if last.code == INTERRUPTED and "stopped" not in last.err:
        return f"another line: {last.err}"
    if last.out:
        try:
            said = without_free(json.loads(last.out))
        except ValueError:
            return f"half a result: {last.out[-300:]}"
        if "exit_code" in said and said != without_free(json.loads(undisturbed.out)):
            return "another result"
    elif last.code != INTERRUPTED:
        return "no result"
    return ""
