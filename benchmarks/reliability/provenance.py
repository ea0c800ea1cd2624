"""How a run came about, forged in its folder: does any command repeat what no file can show?

How a rule was found and how a network was made are known to the process that did it, and written down. A
case takes the folder of an honest run, writes something else there, and gives it to `w2c verify`, `report`
or `run`. None of that may stand in what is printed, in the page, or in any file that the command writes.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from case import Result, called, finished, unpacked

from weights2code.program import Origin, Program
from weights2code.verify.links import MADE, Made

#: A network that is as it was trained, and one that was made for the rule.
TASKS = ("parity_last2", "Max_Seen")
SAMPLES = ("--samples", "512")
#: Nodes, names and numbers that stand in no honest file.
WORD, NUMBER = "forged", 87654321
TEXTS = ("certificate.json", "program.py", "program.tex", "report.html")
COMMANDS: dict[str, tuple[str, ...]] = {
    "verify": ("verify", "run"),
    "verify in JSON": ("verify", "run", "--json"),
    "report": ("report", "run"),
    "run again": ("run", "TASK", *SAMPLES, "--out", "run"),
}


@functools.cache
def prepare() -> dict[str, dict[str, bytes]]:
    """The folders, once a process; those that it starts have them too."""
    return {task: finished("run", task, *SAMPLES) for task in TASKS}


def _networks(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [data[name] for name in ("network", "taught") if data.get(name)]


def _of_networks(key: str, value: Callable[[random.Random], Any]) -> Callable[..., None]:
    def forge(data: dict[str, Any], rng: random.Random) -> None:
        for network in _networks(data):
            network[key] = value(rng)

    return forge


def _of_run(**parts: Callable[[dict[str, Any], random.Random], Any]) -> Callable[..., None]:
    def forge(data: dict[str, Any], rng: random.Random) -> None:
        data.update({key: value(data, rng) for key, value in parts.items()})

    return forge


def _member(data: dict[str, Any], rng: random.Random) -> None:
    data["network"]["member"] = rng.choice((0, 1, 2, NUMBER))


def _origin(data: dict[str, Any], rng: random.Random) -> None:
    data["program"]["origin"] = data["origin"] = rng.choice((WORD, f"{WORD} by hand", *Origin))


FORGERIES: dict[str, Callable[[dict[str, Any], random.Random], None]] = {
    "made": _of_networks("made", lambda rng: rng.choice(get_args(Made))),
    "trained_on": _of_networks("trained_on", lambda rng: NUMBER + rng.randrange(9)),
    "read": _of_networks("read", lambda rng: rng.choice((0, 1, NUMBER))),
    "member": _member,
    "rule": _of_run(
        rule=lambda _, rng: {
            "cut": rng.choice((0, 1, 3, NUMBER)),
            "nodes": [f"V{NUMBER}_{WORD}"] * rng.randrange(3),
            "explanation": WORD,
        }
    ),
    "origin": _origin,
    "attempts": _of_run(
        attempts=lambda data, rng: (
            [one | {"rung": f"{WORD} {rng.randrange(9)}"} for one in data["attempts"]] * 2
        )
    ),
    "model_fits": _of_run(model_fits=lambda _, rng: rng.random() < 0.3),
    "notes": _of_run(notes=lambda *_: [f"{WORD}; the rule was regressed from the values that it {WORD}"]),
}


def attack(number: int, seed: int) -> Result:
    """Forge, run one command, look for what was forged; after `verify`, the page once more."""
    rng = random.Random(f"{seed}:{number}")
    first = list(FORGERIES)[number % len(FORGERIES)]
    task, command = rng.choice(TASKS), rng.choice(list(COMMANDS))
    names = {first, *rng.sample(list(FORGERIES), rng.choice((0, 1, 3)))}
    with unpacked(prepare()[task]) as folder:
        data = json.loads((folder / "certificate.json").read_bytes())
        for name in sorted(names):
            FORGERIES[name](data, rng)
        (folder / "certificate.json").write_text(json.dumps(data))
        if rng.random() < 0.7:
            (folder / "program.py").write_text(Program.from_dict(data["program"]).source())
        (folder / "report.html").write_text(WORD)
        outcome, failure = _told(COMMANDS[command], task, folder)
        if not failure and outcome in ("exit 0", "exit 1") and command.startswith("verify"):
            failure = _told(COMMANDS["report"], task, folder)[1]
    detail = f"{task}: {command}: {', '.join(sorted(names))}"
    return Result(first, outcome, failure, detail)


def _told(arguments: tuple[str, ...], task: str, folder: Path) -> tuple[str, str]:
    """How a command ended, and what it repeats."""
    before = {name: (folder / name).stat().st_mtime_ns for name in TEXTS}
    ended = called(*(task if word == "TASK" else word for word in arguments))
    if ended.crash:
        return "traceback", ended.crash
    if ended.code == 2:  # refused: what cannot be, such as a member that is not there
        return "exit 2", ended.not_plain
    texts = {"what is printed": ended.out + ended.err}
    for name in TEXTS:
        if (folder / name).stat().st_mtime_ns != before[name]:  # else it was left as it is
            texts[name] = (folder / name).read_text()
    found = (said for name, text in texts.items() if (said := repeated(name, text)))
    return f"exit {ended.code}", next(found, "")


def repeated(name: str, text: str) -> str:
    """What a text says that only the run could know; empty if nothing."""
    flat = " ".join(text.split())
    words = [WORD, f"V{NUMBER}", *MADE.values(), *Origin, "read from the trained", "Origin:"]
    words += ["another member than", "the rule was regressed from", "does not fit"]
    for word in words:
        if word in flat:
            return f"{name} says {word!r}"
    if re.search(rf"(?<!\d){str(NUMBER)[:-1]}\d(?!\d)", flat):
        return f"{name} holds a forged number"
    if name == "certificate.json":
        data = json.loads(text)
        for network in _networks(data):
            known = [key for key in ("made", "trained_on", "read") if network[key] is not None]
            if known:
                return f"{name} says {known[0]} of a network"
        for key in ("rule", "model_fits", "attempts"):
            if data[key]:
                return f"{name} says {key}"
    return ""
