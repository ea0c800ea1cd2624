"""Commands of `w2c` that are disturbed, each in a process of its own: nothing is lost, and nothing differs.

*kills*: killed at a random moment of what it takes when it is left alone, once or more, alone as the system
does when memory runs out or with everything that it started; the same command goes on to the same result.
*interrupts*: Ctrl-C at a random moment, imports included, once or twice: one line, 130, and it can go on. The
moments before the interpreter has begun to run this package are not ours, and are counted by themselves.
*repeats*: the same command under other hash seeds, threads, locales, time zones, working directories and
priorities, every second time beside two busy processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from case import Result

from chance import Chance
from weights2code.effort import THREADS

#: Seconds after which a command is taken to hang.
PATIENCE = 400.0
#: What may differ between two runs of one command: how long it took, when, where, and in how many goes.
FREE = re.compile(r"seconds$|^(date|folder|files|command|load|tries|resumed|machine|commit|src|version.*)$")
TASKS = ("sum_last2", "bitwise_xor", "parity", "abs", "diff_last2", "Prev2", "Add_Mod_4", "Evens_Detector")
QUICK = TASKS[:6]
#: The rules of the files' targets; the last takes a long search.
RULES = {
    "sum": lambda x, z: np.cumsum(x),
    "largest": lambda x, z: np.maximum.accumulate(x),
    "test": lambda x, z: (x > z) * 1,
    "difference": lambda x, z: 3 * x - 2 * np.concatenate([[0], z[:-1]]),
    "products": lambda x, z: (x * z > np.concatenate([[0], (x * z)[:-1]])) * 1,
}
HARD = "products"
RUN_FILES = ("program.py", "program_raw.py", "program.tex", "certificate.json", "graph.json")
#: Share of the interrupts that come within so many seconds, when most is still to be imported.
EARLY, IMPORTING = 0.4, 0.5
INTERRUPTED = 130
LOCALES = ("C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "POSIX")
ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command without its folder; `files` are those that must come out the same."""

    kind: str
    arguments: tuple[str, ...]
    files: tuple[str, ...]

    def started(self, out: Path, **options: Any) -> subprocess.Popen[str]:
        """Under way, heard by Ctrl-C even where this process is not, in a session of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "weights2code", *self.arguments, "--out", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            **options,
        )

    def run(self, out: Path, environment: Mapping[str, str] | None = None, **options: Any) -> Ended:
        """From its start to its end."""
        return ended(self.started(out, env={**os.environ, **(environment or {})}, **options))


def draw(rng: np.random.Generator, folder: Path, kinds: tuple[str, ...]) -> Command:
    """Some command of one of these kinds; a file that it reads is written to the folder."""
    c = Chance(rng)
    kind = c.among(kinds)
    seed = ("--seed", str(c.between(0, 2)), "--json")
    if kind in ("fit", HARD):
        name = HARD if kind == HARD else c.among([name for name in RULES if name != HARD])
        path = str(write(folder, name, rng))
        more = ("--time-limit", "600") if kind == HARD else ()
        fit = ("fit", path, "--inputs", "x,z", "--targets", "y", "--sequence", "s", *seed, *more)
        return Command(f"fit {name}", fit, RUN_FILES)
    if kind == "bench":
        names = rng.choice(QUICK, 2, replace=False).tolist()
        return Command("bench", ("bench", *names, "--jobs", "2", "--json"), ("bench.json",))
    files = ("model.safetensors", "metrics.jsonl") if kind == "train" else RUN_FILES
    return Command(kind, (kind, c.among(TASKS), *seed), files)


def write(folder: Path, name: str, rng: np.random.Generator) -> Path:
    """A file whose target follows the named rule."""
    lines = ["s,x,z,y"]
    for sequence in range(120):
        x, z = rng.integers(0, 10, (2, 20))
        y = RULES[name](x, z)
        lines += [f"{sequence},{a},{b},{c}" for a, b, c in zip(x, z, y, strict=True)]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


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
        plain = {name: tensor.tobytes() for name, tensor in tensors.items()}
        return plain, without_free(header)
    return path.read_bytes()


def without_free(value: Any) -> Any:
    """JSON data without what may differ."""
    if isinstance(value, dict):
        return {key: without_free(item) for key, item in value.items() if not FREE.search(key)}
    return [without_free(item) for item in value] if isinstance(value, list) else value


# -- attacks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A command, what it does when it is left alone, and how to disturb it."""

    number: int
    c: Chance
    folder: Path
    command: Command
    alone: Ended
    #: How long it takes alone.
    seconds: float

    def compared(self, kind: str, outcome: str, last: Ended, said: str = "") -> Result:
        """What is wrong with the result that it came to in the end."""
        detail = f"{' '.join(self.command.arguments)} {said}"
        if last.code != self.alone.code:
            failure = f"exit code {last.code}, alone {self.alone.code}: {last.err[-500:]}"
        else:
            failure = difference(self.command, self.folder / "alone", self.folder / "other")
        return Result(kind, outcome, failure, detail)


def _attack(
    disturb: Callable[[Disturbed], Result], *kinds: str, **environment: str
) -> Callable[[int, int], Result]:
    def attack(number: int, seed: int) -> Result:
        rng = np.random.default_rng([seed, number])
        with tempfile.TemporaryDirectory(prefix="disturbed") as place:
            folder = Path(place)
            command = draw(rng, folder, (kinds[number % len(kinds)],))
            began = time.monotonic()
            alone = command.run(folder / "alone", environment)
            if alone.code not in (0, 1):
                return Result(command.kind, "alone", f"exit code {alone.code}: {alone.err}")
            seconds = time.monotonic() - began
            return disturb(Disturbed(number, Chance(rng), folder, command, alone, seconds))

    return attack


def _killed(on: Disturbed) -> Result:
    killed = 0
    for _ in range(on.c.between(1, 3)):
        process = on.command.started(on.folder / "other")
        try:
            process.wait(float(on.c.rng.uniform(0.0, 1.05)) * on.seconds)
        except subprocess.TimeoutExpired:
            killed += 1
            process.kill() if on.c.of(0.5) else end_all(process)
        ended(process)
    last = on.command.run(on.folder / "other")
    return on.compared(on.command.kind, f"{signal.SIGKILL.name}: {killed} times", last)


def _interrupted(on: Disturbed) -> Result:
    early = on.c.of(EARLY)
    moment = float(on.c.rng.uniform(0.0, IMPORTING if early else on.seconds))
    again = float(on.c.rng.uniform(0.0, 0.05)) if on.c.of(0.3) else None
    kind = f"{on.command.kind}, {'at first' if early else 'later'}{', twice' if again is not None else ''}"
    said = f"interrupted after {moment:.3f} s"
    met, process = "over before", on.command.started(on.folder / "other")
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        met = "stopped" if is_watched(process.pid) else "not begun"
        process.send_signal(signal.SIGINT)
        if again is not None:
            time.sleep(again)
            process.send_signal(signal.SIGINT)
    if failure := wrong(met, ended(process), on.alone):
        return Result(kind, met, failure, said)
    return on.compared(kind, met, on.command.run(on.folder / "other"), said)


def is_watched(pid: int) -> bool:
    """Whether the process has taken over Ctrl-C: it is blocked for the main thread."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    blocked = next((line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")), "0")
    return bool(int(blocked, 16) >> (signal.SIGINT - 1) & 1)


def wrong(met: str, last: Ended, alone: Ended) -> str:
    """What is wrong with an end, in words."""
    if met == "not begun":  # the interpreter itself is starting, and this package has not been asked yet
        return "" if "weights2code/cli" not in last.err else f"traceback: {last.err[-800:]}"
    if last.code not in (INTERRUPTED, alone.code):
        return f"exit code {last.code}: {last.err[-800:]}"
    if last.code == INTERRUPTED and (last.err.count("\n") != 1 or not last.err.startswith("w2c")):
        return f"more or less than one line: {last.err[-800:]}"
    if last.code == INTERRUPTED and "stopped" not in last.err:
        return f"another line: {last.err}"
    if not last.out:
        return "" if last.code == INTERRUPTED else "no result"
    try:
        said = without_free(json.loads(last.out))
    except ValueError:
        return f"half a result: {last.out[-300:]}"
    other = "exit_code" in said and said != without_free(json.loads(alone.out))
    return "another result" if other else ""


@contextlib.contextmanager
def _beside(busy: int) -> Iterator[None]:
    """So many processes that do nothing but take time."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _repeated(on: Disturbed) -> Result:
    changed = {
        "PYTHONHASHSEED": str(on.c.rng.integers(2**32)),
        "LC_ALL": on.c.among(LOCALES),
        "TZ": on.c.among(ZONES),
        **dict.fromkeys(THREADS, str(on.c.pick(1, 2, 4))),
    }
    elsewhere = on.folder / "elsewhere"
    elsewhere.mkdir()
    lower = on.c.pick(0, 10)
    busy = on.number // len(REPEATED) % 2 == 1 or (on.number % 2 == 1 and on.command.kind != f"fit {HARD}")
    with _beside(2 if busy else 0):
        os.nice(lower)  # of this process, which is the case's own, and so of what it starts
        last = on.command.run(on.folder / "other", changed, cwd=elsewhere)
    kind = f"{on.command.kind}{', beside others' if busy else ''}"
    return on.compared(kind, f"exit code {last.code}", last, f"with {changed}, nice {lower}")


REPEATED = ("run", "fit", "run", "fit", "train", "run", "fit", "run", "fit", HARD)
kills = _attack(_killed, "train", "run", "fit", "bench")
interrupts = _attack(_interrupted, "run", "fit", "train", "bench")
repeats = _attack(_repeated, *REPEATED, PYTHONHASHSEED="0")
