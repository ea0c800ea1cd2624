"""Kill `w2c` at a random moment, once or more, and give the same command again: nothing is lost or different.

The moment is a random share of what the command takes when it is left alone. Either the command alone is
killed, as the system does when memory runs out, or everything that it started with it.
"""

from __future__ import annotations

import signal
import tempfile
import time
from pathlib import Path

import numpy as np
from case import Result
from commands import difference, draw, end_all, ended, run, started

WHOLE = 200
SECONDS = 600.0
MEMORY = 0
KINDS = ("train", "run", "fit", "bench")


def attack(number: int, seed: int) -> Result:
    rng = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(prefix="kills") as place:
        folder = Path(place)
        command = draw(rng, folder, (KINDS[number % len(KINDS)],))
        began = time.monotonic()
        undisturbed = run(command, folder / "undisturbed")
        duration = time.monotonic() - began
        if undisturbed.code not in (0, 1):
            return Result(command.kind, "undisturbed", f"exit code {undisturbed.code}: {undisturbed.err}")
        killed = 0
        for _ in range(int(rng.integers(1, 4))):
            process = started(command, folder / "killed")
            try:
                process.wait(float(rng.uniform(0.0, 1.05)) * duration)
            except Exception:
                killed += 1
                process.kill() if rng.random() < 0.5 else end_all(process)
            ended(process)
        last = run(command, folder / "killed")
        said = " ".join(command.arguments)
        if last.code != undisturbed.code:
            failure = f"exit code {last.code}, undisturbed {undisturbed.code}: {last.err[-500:]}"
            return Result(command.kind, "other code", failure, said)
        failure = difference(command, folder / "undisturbed", folder / "killed")
        return Result(command.kind, f"{signal.SIGKILL.name}: {killed} times", failure, said)
