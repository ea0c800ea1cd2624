"""Tampered run folders: nothing in one is executed, nothing hangs, and no wrong program is called right.

A few real run folders are made once; a case takes one of them, tampers with it and gives it to `w2c verify`,
`extract`, `report`, `run` or `fit`. Whatever lies there, the command ends with 0, 1, 2 or 3 and no traceback,
says one sentence where it ends with 2, and writes nothing outside the folder. Where it ends with 0,
`program.py` is run against the rule that the data were made with, also on the sequences that a tampered
program was made to get wrong, and its certificate claims no more than that of the untouched folder.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import os
import random
import re
import socket
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from case import Result

from weights2code import tasks
from weights2code.cli import main
from weights2code.experiments.bench import bench_jobs
from weights2code.experiments.engines import Finished
from weights2code.experiments.jobs import perform, write_job, write_result
from weights2code.experiments.sweep import row_of
from weights2code.language import Recurrence
from weights2code.program import Program
from weights2code.verify.certificate import Verdict

WHOLE = 2000

#: Built-in tasks of every kind of program: a sum, a test, a lookup, running totals.
TASKS = ("sum_last2", "parity_last2", "retrieve_value_by_key", "prefix_mean")
SAMPLES = ("--samples", "512", "--quiet")
#: What a command may take that finds nothing in its folder to go on with.
LIMIT = ("--time-limit", "10")
SWEEP = ("bench", "sum_last2", "--seeds", "0", "--jobs", "1", "--quiet")
OWN = "own"
TEXTS = ("program.py", "program_raw.py", "program.tex", "report.html")
JSONS = ("config.json", "certificate.json", "graph.json")
EVERY = (*JSONS, *TEXTS, "metrics.jsonl", "model.safetensors", "taught.safetensors")
#: From the weakest to the strongest.
STRENGTH: tuple[str, ...] = get_args(Verdict)[::-1]


# -- folders to tamper with ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """A run folder as it should be, the command that made it, and the rule behind its data."""

    files: dict[str, bytes]
    again: tuple[str, ...]
    rule: Callable[[np.ndarray], np.ndarray]
    sample: Callable[[np.random.Generator, int, int], np.ndarray]
    beside: dict[str, bytes] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        return json.loads(self.files["certificate.json"])["verdict"]

    @property
    def domain(self) -> Any:
        return json.loads(self.files["certificate.json"])["program"]["domains"]


@functools.cache
def prepare() -> dict[str, Base]:
    """Make the folders, once a process; those that it starts have them too."""
    made = {}
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), silence():
        for name in TASKS:
            task, again = tasks.get(name), ("run", name, *SAMPLES)
            assert main([*again, "--out", name]) == 0
            made[name] = Base(content(Path(name)), (*again, *LIMIT), task.machine.run, task.draw)
        Path("own.csv").write_bytes(own_data())
        again = ("fit", "own.csv", "--inputs", "in0,in1", "--targets", "out", "--sequence", "series")
        assert main([*again, "--quiet", "--out", OWN]) == 0
        files = content(Path(OWN))
        files["config.json"] = files["config.json"].replace(str(Path.cwd()).encode(), b"PLACE")
        swept()
        made[OWN] = Base(files, (*again, "--quiet", *LIMIT), own_rule, own_inputs, {"own.csv": own_data()})
    return made


@functools.cache
def swept() -> dict[str, bytes]:
    """The files of a sweep of one run, by their places in its folder."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        for job in bench_jobs(SWEEP[1:2], [0], {}):
            folder = write_job(job, out)
            write_result(job, out, row_of(Finished(job.key, perform(job, folder)), 1))
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


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@contextlib.contextmanager
def silence():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


# -- one case ------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A folder to tamper with, and where; `triggers` are inputs that a tampered program gets wrong."""

    base: Base
    folder: Path
    rng: random.Random
    command: str = ""
    detail: str = ""
    triggers: list[np.ndarray] = field(default_factory=list)

    @property
    def canary(self) -> Path:
        return self.folder.parent / "canary"

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_bytes())

    def write(self, name: str, data: Any) -> None:
        sys.setrecursionlimit(20_000)  # for what is nested deeper than JSON can usually be written
        text = data if isinstance(data, (str, bytes)) else json.dumps(data)
        sys.setrecursionlimit(1_000)
        (self.folder / name).write_bytes(text.encode() if isinstance(text, str) else text)

    def rewrite_program(self) -> None:
        """`program.py` as the tampered recurrence gives it, where it gives one."""
        with contextlib.suppress(Exception):
            self.write("program.py", Program.from_dict(self.read("certificate.json")["program"]).source())


def attack(number: int, seed: int) -> Result:
    """Tamper, run one command, look at what it did."""
    rng = random.Random(f"{seed}:{number}")
    name = rng.choice((*TASKS, OWN))
    base = prepare()[name]
    way = list(WAYS)[number % len(WAYS)]
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        case = Case(base, Path("run").absolute(), rng)
        case.folder.mkdir()
        for file, data in {**base.files, **base.beside}.items():
            where = case.folder.parent if file in base.beside else case.folder
            (where / file).write_bytes(data.replace(b"PLACE", str(case.folder.parent).encode()))
        case.command = rng.choice(("verify", "verify", "extract", "report", "again"))
        WAYS[way](case)
        before = set(os.listdir(case.folder.parent))
        code, error, crash = called(case)
        failure = crash or judged(case, code, error, before)
        detail = f"{name}: {way}: {case.command}: {case.detail}; {error.strip()[-300:]}"
        return Result(way, f"exit {code}", failure, detail if failure else "")


def called(case: Case) -> tuple[int | None, str, str]:
    """Exit code, stderr and traceback of the command, with whatever its libraries print."""
    arguments = [case.command, "run", "--quiet"]
    if case.command == "report":
        arguments = ["report", "run", *(["--plots", "svg"] if case.rng.random() < 0.3 else [])]
    if case.command == "again":
        arguments = [*case.base.again, "--out", "run"]
    if case.command == "bench":
        arguments = [*SWEEP, "--out", "sweep"]
    code, crash = None, ""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = [os.dup(1), os.dup(2)]
        streams = sys.stdout, sys.stderr
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            with open(1, "w", closefd=False) as sys.stdout, open(2, "w", closefd=False) as sys.stderr:
                code = main(arguments)
        except BaseException:
            crash = traceback.format_exc()[-2000:]
        finally:
            sys.stdout, sys.stderr = streams
            for number, handle in enumerate(kept, 1):
                os.dup2(handle, number)
                os.close(handle)
        err.seek(0)
        return code, err.read(1 << 20).decode(errors="replace"), crash


def judged(case: Case, code: int | None, error: str, before: set[str]) -> str:
    """What is wrong with how a command ended; empty if nothing."""
    if case.canary.exists():
        return "something in the folder was executed"
    if set(os.listdir(case.folder.parent)) != before:
        return "something was written outside the folder"
    if code not in (0, 1, 2, 3):
        return f"exit code {code}"
    if "Traceback" in error or "Error:" in error:
        return "a traceback was printed"
    if code == 2 and (error.count("\n") != 1 or len(error) > 2000):
        return f"not one sentence: {error[:500]!r}"
    if "not enough memory" in error:
        return "it wanted too much memory"
    if case.command == "report":
        return wrong_page(case) if code == 0 else ""
    return wrong_program(case) if code == 0 and case.command != "bench" else ""


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
    if STRENGTH.index(certificate["verdict"]) > STRENGTH.index(case.base.verdict):
        return f"{certificate['verdict']} is claimed, where {case.base.verdict} is known"
    if certificate["program"]["domains"] != case.base.domain:
        return "the certificate speaks about another domain"
    kept = json.loads(case.base.files["certificate.json"])["domain"]
    if certificate["domain"] != kept:
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
    right, longest = True, max(json.loads(case.base.files["certificate.json"])["lengths"])
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


# -- ways to tamper ------------------------------------------------------------------------------------------

Place = tuple[Any, Any]
NESTED: Any = []
for _ in range(300):
    NESTED = [NESTED]

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 10**9, -(10**9), 2**53 + 1, 10**18, 10**400, -(10**400), 0.5, -0.0,
    1e-320, 1e300, -1e300, float("nan"), float("inf"), float("-inf"), "", "0", "1.5", "nan", "inf", "-1", "x",
    "y", "first", "__import__('os').system('touch canary')",
    "a\nb", "\u0000", "\ud800", "é" * 50, "x" * 100_000,
    "../canary", "/dev/zero", [], {}, [[]], [None], [0] * 5000, {"": 0}, {"op": "add", "args": []}, NESTED,
    ["fraction", 1, 0], ["fraction", 1, -3], ["fraction", "1", 3], ["fraction", 10**400, 3],
    {"var": "x", "lag": -1}, {"var": "x", "lag": 10**9}, {"var": "nothing", "lag": 1}, {"var": 3, "lag": 1},
    {"op": "exec", "args": ["x"]}, {"kind": "bits", "low": 1, "high": 0},
    {"kind": "integers", "low": 0.5, "high": 3}, "proved", "exhaustive", "failed", "noisy", "with mistakes",
    "rounded", "tagging", "concat", "autoregressive",
)  # fmt: skip


def places(data: Any) -> list[Place]:
    """Every place of a JSON value, as the container and the key in it."""
    found: list[Place] = []
    keys = data.keys() if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        found += [(data, key), *places(data[key])]
    return found


def mutate(data: Any, rng: random.Random) -> tuple[Any, str]:
    """One change of a JSON value, and in words."""
    everywhere = places(data)
    if not everywhere:
        return rng.choice(STRANGE), "all"
    holder, key = rng.choice(everywhere)
    old = holder[key]
    kind = rng.choice(("strange", "strange", "drop", "copy", "swap", "text", "scale", "twice", "extra"))
    if kind == "strange":
        holder[key] = rng.choice(STRANGE)
    elif kind == "drop":
        del holder[key]
    elif kind in ("copy", "swap"):
        other, place = rng.choice(everywhere)
        try:
            there = json.loads(json.dumps(other[place]))
            if kind == "swap":
                other[place] = json.loads(json.dumps(old))
            holder[key] = there
        except (KeyError, IndexError):
            pass
    elif kind == "text":
        holder[key] = json.dumps(old) if not isinstance(old, str) else [old]
    elif kind == "scale" and isinstance(old, (int, float)):
        holder[key] = rng.choice((-old, old + 1, old * 10, old * 1e30, old / 3, int(old) << 40))
    elif kind == "twice" and isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(old)))
    elif isinstance(holder, dict):
        holder[f"{key}_"] = old
    return data, f"{kind} at {key!r}, was {str(old)[:60]}"


def change_json(case: Case) -> None:
    name = case.rng.choice((*JSONS, "certificate.json"))
    data = case.read(name)
    for _ in range(case.rng.choice((1, 1, 1, 2, 5))):
        data, words = mutate(data, case.rng)
        case.detail += f"{name}: {words}; "
    case.write(name, data)
    if case.rng.random() < 0.5:
        case.rewrite_program()


def change_recurrence(case: Case) -> None:
    """Another rule, and the text that belongs to it."""
    data = case.read("certificate.json")
    for _ in range(case.rng.choice((1, 1, 2))):
        data["program"]["recurrence"], words = mutate(data["program"]["recurrence"], case.rng)
        case.detail += f"{words}; "
    case.write("certificate.json", data)
    case.rewrite_program()


def change_metrics(case: Case) -> None:
    case.command = "report"
    lines = [json.loads(line) for line in (case.folder / "metrics.jsonl").read_text().splitlines()]
    data, case.detail = mutate(lines, case.rng)
    rows = data if isinstance(data, list) else [data]
    case.write("metrics.jsonl", "\n".join(json.dumps(row) for row in rows))


def damage_bytes(case: Case) -> None:
    """Bytes lost, changed, doubled or added."""
    name = case.rng.choice([name for name in EVERY if (case.folder / name).exists()])
    data = bytearray((case.folder / name).read_bytes())
    kind = case.rng.choice(("cut", "flip", "flip", "empty", "zeros", "insert", "double", "noise"))
    at = case.rng.randrange(len(data))
    if kind == "cut":
        del data[at:]
    elif kind == "flip":
        for _ in range(case.rng.choice((1, 3, 20))):
            data[case.rng.randrange(len(data))] ^= 1 << case.rng.randrange(8)
    elif kind == "empty":
        data.clear()
    elif kind == "zeros":
        data[at : at + 50] = bytes(50)
    elif kind == "insert":
        data[at:at] = case.rng.choice(
            (b"\x00", b"\xff\xfe", b'"', b"}" * 9, b"[" * 5000, b"NaN", b"-", b"9" * 9000)
        )
    elif kind == "double":
        data *= 2
    else:
        data = bytearray(case.rng.randbytes(len(data)))
    case.detail = f"{name}: {kind} at {at}"
    case.write(name, bytes(data))


def other_kind(case: Case) -> None:
    """A pipe, a link, a socket, a folder, or gigabytes in the place of a file."""
    name = case.rng.choice((*EVERY, "checkpoint", "plots", "checkpoint/current.safetensors"))
    file = case.folder / name
    if file.exists():
        file.unlink()
    file.parent.mkdir(exist_ok=True)
    kind = case.rng.choice(
        ("pipe", "zero", "full", "out", "dangling", "folder", "socket", "sparse", "itself")
    )
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        (file / "deeper").mkdir(parents=True)
    elif kind == "socket":
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(file))
    elif kind == "sparse":
        with open(file, "wb") as made:
            made.truncate(5 << 30)
    else:
        target = {
            "zero": "/dev/zero",
            "full": "/dev/full",
            "dangling": "/nowhere/at/all",
            "itself": file.name,
        }
        outside = case.folder.parent / "outside"
        outside.mkdir()
        original = case.base.files.get(name)
        if kind == "out" and original is not None:
            (outside / name).write_bytes(original)
        os.symlink(target.get(kind, str(outside / name) if original is not None else outside), file)
    case.detail = f"{name}: {kind}"


def change_tensors(case: Case) -> None:
    """The weights: their header, their sizes, their types, their values."""
    case.command = case.rng.choice(("extract", "extract", "again"))
    if case.command == "again":
        (case.folder / "certificate.json").unlink()
    data, case.detail = tampered_tensors((case.folder / "model.safetensors").read_bytes(), case.rng)
    case.write("model.safetensors", data)


def tampered_tensors(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    kind = rng.choice(
        ("about", "about", "about", "header", "length", "type", "shape", "values", "drop", "gap")
    )
    words = kind
    names = [name for name in header if name != "__metadata__"]
    chosen = rng.choice(names)
    if kind == "about":
        about = json.loads(header["__metadata__"]["weights2code"])
        about, words = mutate(about, rng)
        header["__metadata__"]["weights2code"] = json.dumps(about)
    elif kind == "header":
        header, words = mutate(header, rng)
    elif kind == "type":
        header[chosen]["dtype"] = rng.choice(("F16", "I64", "BOOL", "F64", "BF16", "U8", "X9"))
    elif kind == "shape":
        header[chosen]["shape"] = rng.choice(([], [0], [10**12], [-1], [1, 1], header[chosen]["shape"][::-1]))
    elif kind == "values":
        strange = struct.pack("<d", rng.choice((float("nan"), float("inf"), 1e300, -1e300, 5e-324)))
        for at in range(0, len(body) - 8, 8):
            if rng.random() < 0.3:
                body[at : at + 8] = strange
    elif kind == "drop":
        del header[chosen]
    elif kind == "gap":
        header[chosen]["data_offsets"] = [0, rng.choice((0, 8, 10**15))]
    text = json.dumps(header).encode()
    length = rng.choice((0, 2**63, len(text) * 2, 10**9)) if kind == "length" else len(text)
    return struct.pack("<Q", length) + text + bytes(body), f"{kind}: {words}"


def change_checkpoint(case: Case) -> None:
    """Training that seems to be under way."""
    case.command = "again"
    for name in ("certificate.json", *(["model.safetensors"] if case.rng.random() < 0.5 else [])):
        (case.folder / name).unlink()
    (case.folder / "checkpoint").mkdir()
    name = case.rng.choice(("rung0.safetensors", "rung1.safetensors", "current.safetensors"))
    data, case.detail = tampered_tensors(case.base.files["model.safetensors"], case.rng)
    case.write(f"checkpoint/{name}", data)


def change_domain(case: Case) -> None:
    """What inputs may be, wider or narrower, in all places that say it; the text follows."""
    case.command = case.rng.choice(("verify", "again", "report"))
    data = case.read("certificate.json")
    low, high = case.rng.choice(((0, 1), (0, 3), (-5, 5), (0, 10**6), (3, 3), (0.0, 1.0)))
    kind = case.rng.choice(("bits", "integers", "reals"))
    data["program"]["domains"] = [
        {"kind": kind, "low": low, "high": high} for _ in data["program"]["domains"]
    ]
    if case.rng.random() < 0.5:
        data["domain"] = [f"{kind} {low}..{high}" for _ in data["domain"]]
    if case.rng.random() < 0.3:
        data["program"]["integer_outputs"] = not data["program"]["integer_outputs"]
    case.detail = f"{kind} {low}..{high}"
    case.write("certificate.json", data)
    case.rewrite_program()


def change_claim(case: Case) -> None:
    """Stronger words than were earned, here over a rule that may be wrong."""
    case.command = case.rng.choice(("verify", "again", "report"))
    data = case.read("certificate.json")
    data["verdict"] = case.rng.choice(STRENGTH)
    data["method"] = case.rng.choice((data["method"], "trust me", "induction over everything"))
    data["domain"] = case.rng.choice((data["domain"], [], ["reals -1e+09..1e+09"]))
    data["model_fits"] = case.rng.random() < 0.5
    data["program"]["regime"] = case.rng.choice(("exact", "exact", "noisy", "rounded", "with mistakes"))
    data["notes"] = case.rng.choice((data["notes"], ["proved for all numbers"]))
    if case.rng.random() < 0.5:
        start = data["program"]["recurrence"]["start"]
        step = case.rng.choice(data["program"]["recurrence"]["steps"])["name"]
        start[case.rng.choice((step, data["program"]["recurrence"]["inputs"][0]))] = case.rng.choice(
            ("1", "1e-05", "inf")
        )
    case.write("certificate.json", data)
    case.rewrite_program()


def change_text(case: Case) -> None:
    """A program that differs where nobody looks: long sequences, late positions, large or rare values."""
    case.command = case.rng.choice(("verify", "verify", "again"))
    text = (case.folder / "program.py").read_text()
    head, _, body = text.rpartition('"""')
    wrong = ast.unparse(ast.parse(text).body[-1].body[-1].value)  # type: ignore[attr-defined]
    first = re.search(r"def \w+\((\w+)", text)[1]  # type: ignore[index]
    hidden = {
        "long": f"    if T > 1000:\n        return 1 + {wrong}\n",
        "longer": f"    if T > 10 ** 6:\n        return 1 + {wrong}\n",
        "large": f"    if np.max(np.abs({first}), initial=0) > 10 ** 9:\n        return 1 + {wrong}\n",
        "rare": f"    if T == 37 and np.sum({first}) == 0:\n        return 1 + {wrong}\n",
        "tiny": f"    return {wrong} + 1e-12\n",
        "default": f"    T = T\n    return {wrong}\n",
    }
    kind = case.rng.choice((*hidden, "constant", "sign", "comment", "name"))
    if kind in hidden:
        lines = body.rstrip().splitlines(keepends=True)
        body = "".join([*lines[:-1], hidden[kind], lines[-1]]) + "\n"
    elif kind == "constant":
        body = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), body, count=case.rng.choice((1, 2, 3)))
    elif kind == "sign":
        body = body.replace(
            *case.rng.choice(((" + ", " - "), ("==", "!="), ("t-1", "t-2"), ("range(T)", "range(T-1)")))
        )
    elif kind == "comment":
        body = body.replace("\n", "  # proved\n", 3)
    else:
        body += f"\n\ndef extra({first}):\n    return {first}\n"
    case.triggers.append(np.zeros((37, len(case.base.sample(np.random.default_rng(0), 1, 1)[0][0]))))
    case.detail = kind
    case.write("program.py", f'{head}"""{body}')


PAYLOADS = (
    "import os; os.system('touch CANARY')",
    "open('CANARY', 'w')",
    "__import__('pathlib').Path('CANARY').touch()",
    "().__class__.__base__.__subclasses__()",
    'exec(\'open("CANARY", "w")\')',
    "np.load.__globals__['os'].system('touch CANARY')",
    "np.asarray([1.0]).tofile('CANARY')",
    'f\'{open("CANARY", "w")}\'',
    "10 ** 10 ** 10",
    "np.zeros(10 ** 12)",
    "np.zeros((10 ** 5, 10 ** 5)).tolist()",
    "[0] * 10 ** 10",
    "print('x' * 10 ** 9)",
    "[t for t in range(10 ** 12)]",
    "(" * 500 + "1" + ")" * 500,
    " + ".join(["1"] * 20_000),
    "-" * 5000 + "1",
)


def inject(case: Case) -> None:
    """Something to execute, in a text or in the words of a file."""
    payload = case.rng.choice(PAYLOADS).replace("CANARY", str(case.canary))
    where = case.rng.choice(("top", "body", "default", "annotation", "raw", "words"))
    case.detail = f"{where}: {payload[:60]}"
    name = "program_raw.py" if where == "raw" else "program.py"
    text = (case.folder / name).read_text()
    if where in ("top", "raw"):
        text = f"{payload}\n{text}"
    elif where == "body":
        text = text.replace("    return ", f"    {payload}\n    return ")
    elif where == "default":
        text = re.sub(r"ArrayLike\)", lambda _: f"ArrayLike, extra=({payload}))", text, count=1)
    elif where == "annotation":
        text = text.replace("-> np.ndarray", f"-> ({payload})")
    else:
        data = case.read("certificate.json")
        for key in ("name", "origin", "verdict"):
            data["program"][key] = f'"""\n{payload}\n"""'
        data["method"] = f'"""\n    {payload}'
        data["notes"] = [f"<script>{payload}</script>"]
        case.write("certificate.json", data)
        case.rewrite_program()
        return
    case.write(name, text)


def too_much(case: Case) -> None:
    """More than any program has: steps, nesting, digits, lags, names."""
    data = case.read("certificate.json")
    machine = data["program"]["recurrence"]
    step, column = machine["steps"][-1], machine["inputs"][0]
    x = {"var": column, "lag": 0}

    def nested(name: str, depth: int) -> Any:
        made: Any = x
        for i in range(depth):
            sides = {"neg": [made], "abs": [made], "where": [x, i, made]}.get(name, [made, i % 3])
            if case.rng.random() < 0.3 and len(sides) == 2:
                sides = sides[::-1]
            made = {"op": name, "args": sides}
        return made

    def put(value: Any) -> Callable[[], None]:
        return lambda: step.update(definition=value)

    def added(*parts: Any) -> Any:
        return functools.reduce(lambda left, right: {"op": "add", "args": [left, right]}, parts)

    def bushy(levels: int) -> Any:
        return added(bushy(levels - 1), bushy(levels - 1)) if levels else x

    def steps(count: int, definition: Callable[[int], Any], at_the_end: bool = True) -> Callable[[], None]:
        made = [{"name": f"s{i}", "definition": definition(i)} for i in range(count)]
        place = len(machine["steps"]) if at_the_end else 0
        return lambda: machine["steps"].__setitem__(slice(place, place), made)

    def read(name: str, lag: int = 0) -> Any:
        return {"var": name, "lag": lag}

    depth = case.rng.choice((20, 60, 99, 150, 190, 205, 300, 480, 900))
    operator = case.rng.choice(("add", "mul", "sub", "where", "max", "neg", "abs", "mod", "pow", "and", "eq"))
    count = case.rng.choice((50, 190, 5_000, 20_000))
    lag = case.rng.choice((100, 900, 9_000, 10**9))
    levels = case.rng.choice((6, 9, 11, 13, 15))
    before = read(step["name"], 1)
    start = case.rng.choice((1e-05, 1e16, "1e-05", "1e16", "inf", "-inf", "nan", [], {}, 10**400, "9" * 5000))
    ways: dict[str, Callable[[], Any]] = {
        f"{operator} nested {depth} times": put(nested(operator, depth)),
        "two deep sides": put(added(nested("add", 150), nested("mul", 150))),
        f"a formula of {2**levels} terms": put(bushy(levels)),
        f"{count} steps": steps(count, lambda i: added(read(column, i % 900), i)),
        f"{count} steps in a chain": steps(
            count, lambda i: added(read(f"s{i - 1}" if i else column), x), False
        ),
        f"{count} steps that remember": steps(count, lambda i: added(read(f"s{i}", 1), x)),
        f"a lag of {lag}": put(added(step["definition"], read(column, lag))),
        f"a memory of {lag}": put(added(x, read(step["name"], lag))),
        "400 digits": put(added(x, 10**400)),
        "300 digits": put(added(x, ["fraction", 10**300 + 1, 10**299 + 7])),
        "a division by zero": put({"op": "div", "args": [x, 0]}),
        "a great power": put({"op": "pow", "args": [added(x, 3), 10**6]}),
        "squares of squares": put({"op": "mul", "args": [added(before, 2), added(before, 2)]}),
        "start: []": lambda: machine.update(start=[]),
        f"a start of {str(start)[:9]}": lambda: machine["start"].update({step["name"]: start}),
        "a name twice": lambda: machine["steps"].append(machine["steps"][0]),
        "a name of 10^5": lambda: step.update(name="n" * 10**5),
        "many notes": lambda: data.update(notes=["note"] * 10**5, invariant=["claim"] * 10**5),
        "many attempts": lambda: data.update(attempts=data["attempts"] * 20_000),
        "a long counterexample": lambda: data.update(counterexample=[[1.0]] * 10**5),
        "a lookup far back": put({"retrieve": column, "key": column, "query": x, "gap": lag, "default": 0.0}),
    }
    case.detail = case.rng.choice((next(iter(ways)), *ways))
    ways[case.detail]()
    case.write("certificate.json", data)
    case.rewrite_program()


def change_config(case: Case) -> None:
    """Sizes, seeds and sources of a run that was another one."""
    data = case.read("config.json")
    name = case.rng.choice(list(data["settings"]))
    value = case.rng.choice((*STRANGE, 10**6, 10**7, 10**12, 2**31, 64, 10_000, 2.5))
    where = case.rng.choice(("settings", "settings", "source", "file"))
    if where == "settings":
        data["settings"][name] = value
    elif where == "source":
        value = data["source"] = case.rng.choice((*STRANGE, *TASKS))
        if value in TASKS:  # the folder is one of that task from now on
            case.base = replace(prepare()[value], again=case.base.again)
    else:
        pipe = case.folder.parent / "pipe"
        os.mkfifo(pipe)
        path = case.rng.choice(
            ("/dev/zero", "/dev/full", "/dev/stdin", str(pipe), "/", "/etc/passwd", "own.csv")
        )
        data["source"] = {"file": path, "size": 0, "sha256": "0", "inputs": ["a"], "targets": ["b"]}
        value = path
    case.detail = f"{where} {name} {str(value)[:60]}"
    case.write("config.json", data)


def change_rows(case: Case) -> None:
    """What a sweep keeps of its runs."""
    case.command = "bench"
    for place, data in swept().items():
        file = case.folder.parent / "sweep" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    names = [place for place in swept() if place.endswith(("result.json", "job.json", "sweep.json"))]
    name = case.rng.choice(names)
    data, case.detail = mutate(json.loads(swept()[name]), case.rng)
    if isinstance(data, dict) and data.get("status") == "failed":
        data["status"] = "lost"  # else the run would be made again, in a process of its own
    case.write(f"../sweep/{name}", data)


#: Each has its turn.
WAYS: dict[str, Callable[[Case], None]] = {
    "values of a JSON file": change_json,
    "the recurrence, with its text": change_recurrence,
    "bytes of a file": damage_bytes,
    "the domain, with its text": change_domain,
    "the text": change_text,
    "the claim": change_claim,
    "another kind of file": other_kind,
    "something to execute": inject,
    "more than any program has": too_much,
    "the configuration": change_config,
    "the weights": change_tensors,
    "a checkpoint": change_checkpoint,
    "the metrics": change_metrics,
    "rows of a sweep": change_rows,
}
