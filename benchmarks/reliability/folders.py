"""Tampered run folders: nothing in one is executed, nothing hangs, and no wrong program is called right.

A few real run folders are made once; a case takes one of them, tampers with it (`tampering`) and gives it to
`w2c verify`, `extract`, `report`, `run` or `fit`. Whatever lies there, the command ends with 0, 1, 2 or 3 and
no traceback, says one sentence where it ends with 2, and writes nothing outside the folder. Where it ends
with 0, `program.py` is run against the rule that the data were made with, also on the sequences that a
tampered program was made to get wrong, and its certificate claims no more than that of the untouched folder.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from case import Called, Result, called, finished, unpacked
from tampering import STRENGTH, TASKS, WAYS, Base, Case

from weights2code import tasks
from weights2code.experiments.bench import bench_jobs
from weights2code.experiments.engines import Finished
from weights2code.experiments.jobs import perform
from weights2code.experiments.stores import Folders
from weights2code.experiments.sweep import row_of
from weights2code.language import Recurrence

SAMPLES = ("--samples", "512")
#: What a command may take that finds nothing in its folder to go on with.
LIMIT = ("--quiet", "--time-limit", "10")
SWEEP = ("bench", "sum_last2", "--seeds", "0", "--jobs", "1", "--quiet")
OWN = "own"


@functools.cache
def prepare() -> dict[str, Base]:
    """Make the folders, once a process; those that it starts have them too."""
    made = {}
    for name in TASKS:
        task, again = tasks.get(name), ("run", name, *SAMPLES)
        made[name] = Base(finished(*again), (*again, *LIMIT), task.machine.run, task.draw)
    again = ("fit", "own.csv", "--inputs", "in0,in1", "--targets", "out", "--sequence", "series")
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        Path("own.csv").write_bytes(own_data())
        files = finished(*again)
        files["config.json"] = files["config.json"].replace(str(Path.cwd()).encode(), b"PLACE")
    made[OWN] = Base(files, (*again, *LIMIT), own_rule, own_inputs, {"own.csv": own_data()})
    swept()
    return made


@functools.cache
def swept() -> dict[str, bytes]:
    """The files of a sweep of one run, by their places in its folder."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        store = Folders(out)
        for job in bench_jobs(SWEEP[1:2], [0], {}):
            store.keep(job, row_of(Finished(job.key, perform(job, store.begin(job))), 1))
        (out / "sweep.json").write_text('{"seconds": 1.0}')
        return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*.json")}


def own_rule(x: np.ndarray) -> np.ndarray:
    before = np.concatenate([np.zeros_like(x[:, :1, 1]), x[:, :-1, 1]], 1)
    return (2 * x[:, :, 0] + before)[..., None]


def own_inputs(rng: np.random.Generator, count: int, length: int) -> np.ndarray:
    return np.stack([rng.integers(0, 10, (count, length)), rng.integers(0, 5, (count, length))], -1) * 1.0


def own_data() -> bytes:
    x = own_inputs(np.random.default_rng(3), 60, 12)
    rows = ["series,in0,in1,out"]
    for number, (inputs, outputs) in enumerate(zip(x, own_rule(x), strict=True)):
        rows += [f"{number},{a:g},{b:g},{y:g}" for (a, b), (y,) in zip(inputs, outputs, strict=True)]
    return "\n".join(rows).encode() + b"\n"


def attack(number: int, seed: int) -> Result:
    """Tamper, run one command, look at what it did."""
    rng = random.Random(f"{seed}:{number}")
    name = rng.choice((*TASKS, OWN))
    base, way = prepare()[name], list(WAYS)[number % len(WAYS)]
    with unpacked({}) as folder:
        for file, data in {**base.files, **base.beside}.items():
            where = folder.parent if file in base.beside else folder
            (where / file).write_bytes(data.replace(b"PLACE", str(folder.parent).encode()))
        case = Case(base, folder, rng, swept())
        case.command = rng.choice(("verify", "verify", "extract", "report", "again"))
        WAYS[way](case)
        if isinstance(case.now, str) and case.now in TASKS:  # the folder is one of that task from now on
            case.base = replace(prepare()[case.now], again=base.again)
        before = set(os.listdir(folder.parent))
        ended = called(*arguments(case))
        failure = ended.crash or judged(case, ended, before)
        detail = f"{name}: {way}: {case.command}: {case.detail}; {ended.err.strip()[-300:]}"
        return Result(way, f"exit {ended.code}", failure, detail if failure else "")


def arguments(case: Case) -> tuple[str, ...]:
    if case.command == "report":
        return ("report", "run", *(["--plots", "svg"] if case.rng.random() < 0.3 else []))
    if case.command == "again":
        return (*case.base.again, "--out", "run")
    return (*SWEEP, "--out", "sweep") if case.command == "bench" else (case.command, "run", "--quiet")


def judged(case: Case, ended: Called, before: set[str]) -> str:
    """What is wrong with how a command ended; empty if nothing."""
    if case.canary.exists():
        return "something in the folder was executed"
    if set(os.listdir(case.folder.parent)) != before:
        return "something was written outside the folder"
    if ended.code not in (0, 1, 2, 3):
        return f"exit code {ended.code}"
    if "Traceback" in ended.err or "Error:" in ended.err:
        return "a traceback was printed"
    if ended.code == 2 and ended.not_plain:
        return ended.not_plain
    if "not enough memory" in ended.err:
        return "it wanted too much memory"
    if ended.code or case.command == "bench":
        return ""
    return wrong_page(case) if case.command == "report" else wrong_program(case)


def wrong_program(case: Case) -> str:
    """What a verified folder claims wrongly."""
    text, certificate = (case.folder / "program.py").read_text(), case.read("certificate.json")
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    if case.canary.exists():
        return "program.py executes something else"
    function = space[space["__all__"][0]]
    for x in sequences(case):
        with np.errstate(all="ignore"):
            answer = np.reshape(function(x if x.shape[1] > 1 else x[:, 0]), (len(x), -1))
        if certificate["verdict"] not in ("proved", "bounded") and len(x) > max(certificate["lengths"]):
            continue  # nothing is claimed about these
        if not as_claimed(answer, case.base.rule(x[None])[0], certificate):
            return f"a wrong program is {certificate['verdict']}, on a sequence of length {len(x)}"
    known = case.base.certificate
    if STRENGTH.index(certificate["verdict"]) > STRENGTH.index(known["verdict"]):
        return f"{certificate['verdict']} is claimed, where {known['verdict']} is known"
    if certificate["program"]["domains"] != known["program"]["domains"]:
        return "the certificate speaks about another domain"
    if certificate["domain"] != known["domain"]:
        return "the claim speaks about another domain"
    if " ".join(certificate["explanation"].split()) not in " ".join(text.split()):
        return "program.py says another verdict than its certificate"
    return ""


def as_claimed(answer: np.ndarray, right: np.ndarray, certificate: dict[str, Any]) -> bool:
    """Whether outputs are what a verdict says of them: a proof does not round, a test may (docs/trust.md)."""
    if answer.shape != right.shape:
        return False
    largest = float(np.max(np.abs(right), initial=0.0))
    allowed = {"proved": 1e-9 * largest, "bounded": certificate.get("error")}
    error = allowed.get(certificate["verdict"], 1e-3 * largest)
    return np.allclose(answer, right, rtol=0, atol=error + 1e-9)


def wrong_page(case: Case) -> str:
    """Whether a page shows a program that is wrong, and does not say so."""
    page = (case.folder / "report.html").read_text()
    try:
        machine = Recurrence.from_dict(case.read("certificate.json")["program"]["recurrence"])
    except (OSError, KeyError, ValueError, TypeError):
        return ""
    if "is not checked again" in page or "holds no program" in page:
        return ""
    right, longest = True, max(case.base.certificate["lengths"])
    for x in sequences(case):
        if len(x) > longest:
            continue
        with np.errstate(all="ignore"):
            answer = machine.run(x[None])
        right = right and as_claimed(answer, case.base.rule(x[None]), {"verdict": "tested"})
    if right or "The program is wrong" in page:
        return ""
    return "a page shows a wrong program as a right one"


def sequences(case: Case) -> list[np.ndarray]:
    """Inputs (T, columns) of many lengths, and those that were to be got wrong."""
    rng = np.random.default_rng(case.rng.randrange(2**32))
    drawn = [x for length in (1, 2, 7, 30, 100) for x in case.base.sample(rng, 8, length)]
    return [*drawn, *case.base.sample(rng, 1, 1500), *case.triggers]
