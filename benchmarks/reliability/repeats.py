"""Give the same command again under other circumstances: the results are the same but for how long they took.

Other hash seeds, threads, locales, time zones, working directories and priorities; every second time beside
two busy processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from case import Result
from commands import HARD, difference, draw, run

WHOLE = 100
SECONDS = 900.0
MEMORY = 0
KINDS = ("run", "fit", "run", "fit", "train", "run", "fit", "run", "fit", HARD)
LOCALES = ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "POSIX")
ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns")
BUSY = "while True: pass"


def attack(number: int, seed: int) -> Result:
    rng = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(prefix="repeats") as place:
        folder = Path(place)
        command = draw(rng, folder, (KINDS[number % len(KINDS)],))
        threads = str(rng.choice([1, 2, 4]))
        changed = {
            "PYTHONHASHSEED": str(rng.integers(2**32)),
            "LC_ALL": str(rng.choice(LOCALES)),
            "TZ": str(rng.choice(ZONES)),
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads),
        }
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        lower = int(rng.choice([0, 10]))
        busy = number // len(KINDS) % 2 == 1 or (number % 2 == 1 and command.kind != f"fit {HARD}")
        first = run(command, folder / "first", {"PYTHONHASHSEED": "0"})
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2 if busy else 0)]
        try:
            os.nice(lower)  # of this process, which is the case's own, and so of what it starts
            second = run(command, folder / "second", changed, cwd=elsewhere)
        finally:
            for other in others:
                other.kill()
                other.wait()
        said = f"{' '.join(command.arguments)} with {changed}, nice {lower}"
        kind = f"{command.kind}{', beside others' if busy else ''}"
        if first.code != second.code:
            return Result(kind, f"{first.code}, {second.code}", f"other exit code: {second.err[-500:]}", said)
        return Result(
            kind, f"exit code {first.code}", difference(command, folder / "first", folder / "second"), said
        )
