"""Commands of `w2c` to be disturbed, each in a process of its own, and how two results are compared."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Seconds after which a command is taken to hang.
PATIENCE = 400.0
#: What may differ between two runs of one command: how long it took, when, where, and in how many goes.
FREE = re.compile(r"seconds$|^(date|folder|files|command|load|tries|resumed|machine|commit|src|version.*)$")
TASKS = ("sum_last2", "bitwise_xor", "parity", "abs", "diff_last2", "Prev2", "Add_Mod_4", "Evens_Detector")
QUICK = TASKS[:6]
#: The rules of the files' targets.
RULES = {
    "sum": lambda x, z: np.cumsum(x),
    "largest": lambda x, z: np.maximum.accumulate(x),
    "test": lambda x, z: (x > z) * 1,
    "difference": lambda x, z: 3 * x - 2 * np.concatenate([[0], z[:-1]]),
}
#: A rule that takes a long search: products of both columns, now and one step earlier, compared.
HARD = "products"


@dataclass(frozen=True, slots=True)
class Command:
    """A command without its folder; `files` are those that must come out the same."""

    kind: str
    arguments: tuple[str, ...]
    files: tuple[str, ...]


RUN_FILES = ("program.py", "program_raw.py", "program.tex", "certificate.json", "graph.json")


def draw(rng: np.random.Generator, folder: Path, kinds: tuple[str, ...]) -> Command:
    """Some command of one of these kinds; a file that it reads is written to the folder."""
    kind = str(rng.choice(kinds))
    seed = ("--seed", str(rng.integers(3)), "--json")
    if kind == "fit":
        name = str(rng.choice(list(RULES)))
        return Command(f"fit {name}", (*_fit(write(folder, name, rng)), *seed), RUN_FILES)
    if kind == HARD:
        arguments = (*_fit(write(folder, HARD, rng)), *seed, "--time-limit", "600")
        return Command(f"fit {HARD}", arguments, RUN_FILES)
    if kind == "bench":
        names = rng.choice(QUICK, 2, replace=False).tolist()
        return Command("bench", ("bench", *names, "--jobs", "2", "--json"), ("bench.json",))
    task = str(rng.choice(TASKS))
    files = ("model.safetensors", "metrics.jsonl") if kind == "train" else RUN_FILES
    return Command(kind, (kind, task, *seed), files)


def _fit(path: Path) -> tuple[str, ...]:
    return ("fit", str(path), "--inputs", "x,z", "--targets", "y", "--sequence", "s")


def write(folder: Path, name: str, rng: np.random.Generator) -> Path:
    """A file whose target follows the named rule."""
    lines = ["s,x,z,y"]
    for sequence in range(120):
        x, z = rng.integers(0, 10, (2, 20))
        if name == HARD:
            before = np.concatenate([[0], (x * z)[:-1]])
            y = (x * z > before) * 1
        else:
            y = RULES[name](x, z)
        lines += [f"{sequence},{a},{b},{c}" for a, b, c in zip(x, z, y, strict=True)]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def started(
    command: Command, out: Path, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """The command under way, heard by Ctrl-C even where this process is not, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "weights2code", *command.arguments, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def ended(process: subprocess.Popen[str]) -> Ended:
    """Wait for its end; what hangs is killed, and its code says so."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        end_all(process)
        out, err = process.communicate()
        return Ended(-signal.SIGALRM, out, f"it hangs; {err}")
    return Ended(process.returncode, out, err)


def end_all(process: subprocess.Popen[str]) -> None:
    """End the command and everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def run(command: Command, out: Path, environment: Mapping[str, str] | None = None, **options: Any) -> Ended:
    """The command from its start to its end."""
    return ended(started(command, out, environment, **options))


def difference(command: Command, one: Path, other: Path) -> str:
    """What differs between the results in two folders, in words; empty if nothing that may not."""
    leftovers = [str(path) for path in other.rglob("*.part")]
    if leftovers:
        return f"left behind: {', '.join(leftovers)}"
    for name in command.files:
        first, second = one / name, other / name
        if first.exists() != second.exists():
            return f"{name} is only in {one.name if first.exists() else other.name}"
        if first.exists() and _content(first) != _content(second):
            return f"{name} differs"
    return ""


def _content(path: Path) -> Any:
    """What must be equal of a file."""
    if path.suffix == ".json":
        return without_free(json.loads(path.read_text()))
    if path.suffix == ".jsonl":
        return [without_free(json.loads(line)) for line in path.read_text().splitlines()]
    if path.suffix == ".safetensors":  # the header says how long it took
        from weights2code.training.storage import read_tensors

        tensors, header = read_tensors(path)
        plain = {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}
        return plain, without_free(header)
    return path.read_bytes()


def without_free(value: Any) -> Any:
    """JSON data without what may differ."""
    if isinstance(value, dict):
        return {key: without_free(item) for key, item in value.items() if not FREE.search(key)}
    return [without_free(item) for item in value] if isinstance(value, list) else value
