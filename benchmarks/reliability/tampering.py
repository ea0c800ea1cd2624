"""Ways to tamper with a run folder: values, bytes, texts, claims, kinds of files, something to execute."""

from __future__ import annotations

import ast
import contextlib
import functools
import json
import os
import random
import re
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
from case import places

from weights2code.program import Program
from weights2code.verify.certificate import Verdict

#: Built-in tasks of every kind of program: a sum, a test, a lookup, running totals.
TASKS = ("sum_last2", "parity_last2", "retrieve_value_by_key", "prefix_mean")
TEXTS = ("program.py", "program_raw.py", "program.tex", "report.html")
JSONS = ("config.json", "certificate.json", "graph.json")
EVERY = (*JSONS, *TEXTS, "metrics.jsonl", "model.safetensors", "taught.safetensors")
#: From the weakest to the strongest.
STRENGTH: tuple[str, ...] = get_args(Verdict)[::-1]


@dataclass(frozen=True)
class Base:
    """A run folder as it should be, the command that made it, and the rule behind its data."""

    files: dict[str, bytes]
    again: tuple[str, ...]
    rule: Callable[[np.ndarray], np.ndarray]
    sample: Callable[[np.random.Generator, int, int], np.ndarray]
    beside: dict[str, bytes] = field(default_factory=dict)

    @property
    def certificate(self) -> dict[str, Any]:
        return json.loads(self.files["certificate.json"])


@dataclass
class Case:
    """A folder to tamper with, and where; `triggers` are inputs that a tampered program gets wrong."""

    base: Base
    folder: Path
    rng: random.Random
    swept: dict[str, bytes]
    command: str = ""
    detail: str = ""
    #: The task that the folder is said to be of now.
    now: Any = None
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

    def certify(self, data: Any) -> None:
        """Another certificate, and `program.py` as its recurrence gives it, where it gives one."""
        self.write("certificate.json", data)
        self.rewrite_program()

    def rewrite_program(self) -> None:
        with contextlib.suppress(Exception):
            self.write("program.py", Program.from_dict(self.read("certificate.json")["program"]).source())


# -- ways to tamper ------------------------------------------------------------------------------------------

#: Each has its turn.
WAYS: dict[str, Callable[[Case], None]] = {}


def way(name: str) -> Any:
    """Declares the way that follows."""

    def declare(tamper: Callable[[Case], None]) -> Callable[[Case], None]:
        WAYS[name] = tamper
        return tamper

    return declare


NESTED: Any = functools.reduce(lambda inner, _: [inner], range(300), [])

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


@way("values of a JSON file")
def change_json(case: Case) -> None:
    name = case.rng.choice((*JSONS, "certificate.json"))
    data = case.read(name)
    for _ in range(case.rng.choice((1, 1, 1, 2, 5))):
        data, words = mutate(data, case.rng)
        case.detail += f"{name}: {words}; "
    case.write(name, data)
    if case.rng.random() < 0.5:
        case.rewrite_program()


@way("the recurrence, with its text")
def change_recurrence(case: Case) -> None:
    """Another rule, and the text that belongs to it."""
    data = case.read("certificate.json")
    for _ in range(case.rng.choice((1, 1, 2))):
        data["program"]["recurrence"], words = mutate(data["program"]["recurrence"], case.rng)
        case.detail += f"{words}; "
    case.certify(data)


@way("bytes of a file")
def damage_bytes(case: Case) -> None:
    """Bytes lost, changed, doubled or added."""
    rng = case.rng
    name = rng.choice([name for name in EVERY if (case.folder / name).exists()])
    data = (case.folder / name).read_bytes()
    at = rng.randrange(len(data))
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 3, 20))):
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    inserted = rng.choice((b"\x00", b"\xff\xfe", b'"', b"}" * 9, b"[" * 5000, b"NaN", b"-", b"9" * 9000))
    kinds = {
        "cut": data[:at],
        "flip": bytes(flipped),
        "empty": b"",
        "zeros": data[:at] + bytes(50) + data[at + 50 :],
        "insert": data[:at] + inserted + data[at:],
        "double": data * 2,
        "noise": rng.randbytes(len(data)),
    }
    kind = rng.choice(("flip", *kinds))
    case.detail = f"{name}: {kind} at {at}"
    case.write(name, kinds[kind])


@way("the domain, with its text")
def change_domain(case: Case) -> None:
    """What inputs may be, wider or narrower, in all places that say it; the text follows."""
    case.command = case.rng.choice(("verify", "again", "report"))
    data = case.read("certificate.json")
    low, high = case.rng.choice(((0, 1), (0, 3), (-5, 5), (0, 10**6), (3, 3), (0.0, 1.0)))
    kind = case.rng.choice(("bits", "integers", "reals"))
    domains = data["program"]["domains"]
    data["program"]["domains"] = [{"kind": kind, "low": low, "high": high} for _ in domains]
    if case.rng.random() < 0.5:
        data["domain"] = [f"{kind} {low}..{high}" for _ in data["domain"]]
    if case.rng.random() < 0.3:
        data["program"]["integer_outputs"] = not data["program"]["integer_outputs"]
    case.detail = f"{kind} {low}..{high}"
    case.certify(data)


@way("the text")
def change_text(case: Case) -> None:
    """A program that differs where nobody looks: long sequences, late positions, large or rare values."""
    case.command = case.rng.choice(("verify", "verify", "again"))
    text = (case.folder / "program.py").read_text()
    head, _, body = text.rpartition('"""')
    wrong = ast.unparse(ast.parse(text).body[-1].body[-1].value)  # type: ignore[attr-defined]
    first = re.search(r"def \w+\((\w+)", text)[1]  # type: ignore[index]
    *lines, last = body.rstrip().splitlines(keepends=True)
    inserted = {
        "long": f"    if T > 1000:\n        return 1 + {wrong}\n",
        "longer": f"    if T > 10 ** 6:\n        return 1 + {wrong}\n",
        "large": f"    if np.max(np.abs({first}), initial=0) > 10 ** 9:\n        return 1 + {wrong}\n",
        "rare": f"    if T == 37 and np.sum({first}) == 0:\n        return 1 + {wrong}\n",
        "tiny": f"    return {wrong} + 1e-12\n",
        "default": f"    T = T\n    return {wrong}\n",
    }
    signs = case.rng.choice(((" + ", " - "), ("==", "!="), ("t-1", "t-2"), ("range(T)", "range(T-1)")))
    count = case.rng.choice((1, 2, 3))
    changed = {
        "constant": re.sub(r"\d+", lambda found: str(int(found[0]) + 1), body, count=count),
        "sign": body.replace(*signs),
        "comment": body.replace("\n", "  # proved\n", 3),
        "name": body + f"\n\ndef extra({first}):\n    return {first}\n",
    } | {kind: "".join([*lines, more, last, "\n"]) for kind, more in inserted.items()}
    case.detail = case.rng.choice(list(changed))
    case.triggers.append(np.zeros((37, len(case.base.sample(np.random.default_rng(0), 1, 1)[0][0]))))
    case.write("program.py", f'{head}"""{changed[case.detail]}')


@way("the claim")
def change_claim(case: Case) -> None:
    """Stronger words than were earned, here over a rule that may be wrong."""
    rng = case.rng
    case.command = rng.choice(("verify", "again", "report"))
    data = case.read("certificate.json")
    data["verdict"] = rng.choice(STRENGTH)
    data["method"] = rng.choice((data["method"], "trust me", "induction over everything"))
    data["domain"] = rng.choice((data["domain"], [], ["reals -1e+09..1e+09"]))
    data["model_fits"] = rng.random() < 0.5
    data["program"]["regime"] = rng.choice(("exact", "exact", "noisy", "rounded", "with mistakes"))
    data["notes"] = rng.choice((data["notes"], ["proved for all numbers"]))
    if rng.random() < 0.5:
        machine = data["program"]["recurrence"]
        name = rng.choice((rng.choice(machine["steps"])["name"], machine["inputs"][0]))
        machine["start"][name] = rng.choice(("1", "1e-05", "inf"))
    case.certify(data)


@way("another kind of file")
def other_kind(case: Case) -> None:
    """A pipe, a link, a socket, a folder, or gigabytes in the place of a file."""
    name = case.rng.choice((*EVERY, "checkpoint", "plots", "checkpoint/current.safetensors"))
    file, outside = case.folder / name, case.folder.parent / "outside"
    file.unlink(missing_ok=True)
    file.parent.mkdir(exist_ok=True)
    original = case.base.files.get(name)
    links = {"zero": "/dev/zero", "full": "/dev/full", "dangling": "/nowhere/at/all", "itself": file.name}
    links["out"] = str(outside if original is None else outside / name)
    kind = case.rng.choice(("pipe", "folder", "socket", "sparse", *links))
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
        outside.mkdir()
        if kind == "out" and original is not None:
            (outside / name).write_bytes(original)
        os.symlink(links[kind], file)
    case.detail = f"{name}: {kind}"


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


@way("something to execute")
def inject(case: Case) -> None:
    """Something to execute, in a text or in the words of a file."""
    payload = case.rng.choice(PAYLOADS).replace("CANARY", str(case.canary))
    where = case.rng.choice(("top", "body", "default", "annotation", "raw", "words"))
    case.detail = f"{where}: {payload[:60]}"
    if where == "words":
        data = case.read("certificate.json")
        for key in ("name", "origin", "verdict"):
            data["program"][key] = f'"""\n{payload}\n"""'
        data["method"] = f'"""\n    {payload}'
        data["notes"] = [f"<script>{payload}</script>"]
        case.certify(data)
        return
    name = "program_raw.py" if where == "raw" else "program.py"
    text = (case.folder / name).read_text()
    new = {
        "body": text.replace("    return ", f"    {payload}\n    return "),
        "default": text.replace("ArrayLike)", f"ArrayLike, extra=({payload}))", 1),
        "annotation": text.replace("-> np.ndarray", f"-> ({payload})"),
    }
    case.write(name, new.get(where, f"{payload}\n{text}"))


@way("more than any program has")
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
    case.certify(data)


@way("the configuration")
def change_config(case: Case) -> None:
    """Sizes, seeds and sources of a run that was another one."""
    data, rng = case.read("config.json"), case.rng
    name = rng.choice(list(data["settings"]))
    value = rng.choice((*STRANGE, 10**6, 10**7, 10**12, 2**31, 64, 10_000, 2.5))
    where = rng.choice(("settings", "settings", "source", "file"))
    if where == "settings":
        data["settings"][name] = value
    elif where == "source":
        value = data["source"] = case.now = rng.choice((*STRANGE, *TASKS))
    else:
        pipe = case.folder.parent / "pipe"
        os.mkfifo(pipe)
        value = rng.choice(("/dev/zero", "/dev/full", "/dev/stdin", str(pipe), "/", "/etc/passwd", "own.csv"))
        data["source"] = {"file": value, "size": 0, "sha256": "0", "inputs": ["a"], "targets": ["b"]}
    case.detail = f"{where} {name} {str(value)[:60]}"
    case.write("config.json", data)


@way("the weights")
def change_tensors(case: Case) -> None:
    """The weights: their header, their sizes, their types, their values."""
    case.command = case.rng.choice(("extract", "extract", "again"))
    if case.command == "again":
        (case.folder / "certificate.json").unlink()
    data, case.detail = tampered_tensors(case.base.files["model.safetensors"], case.rng)
    case.write("model.safetensors", data)


@way("a checkpoint")
def change_checkpoint(case: Case) -> None:
    """Training that seems to be under way."""
    case.command = "again"
    for name in ("certificate.json", *(["model.safetensors"] if case.rng.random() < 0.5 else [])):
        (case.folder / name).unlink()
    (case.folder / "checkpoint").mkdir()
    name = case.rng.choice(("rung0.safetensors", "rung1.safetensors", "current.safetensors"))
    data, case.detail = tampered_tensors(case.base.files["model.safetensors"], case.rng)
    case.write(f"checkpoint/{name}", data)


def tampered_tensors(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    kind = rng.choice(
        ("about", "about", "about", "header", "length", "type", "shape", "values", "drop", "gap")
    )
    words = kind
    chosen = header[name := rng.choice([name for name in header if name != "__metadata__"])]
    if kind == "about":
        about, words = mutate(json.loads(header["__metadata__"]["weights2code"]), rng)
        header["__metadata__"]["weights2code"] = json.dumps(about)
    elif kind == "header":
        header, words = mutate(header, rng)
    elif kind == "type":
        chosen["dtype"] = rng.choice(("F16", "I64", "BOOL", "F64", "BF16", "U8", "X9"))
    elif kind == "shape":
        chosen["shape"] = rng.choice(([], [0], [10**12], [-1], [1, 1], chosen["shape"][::-1]))
    elif kind == "values":
        strange = struct.pack("<d", rng.choice((float("nan"), float("inf"), 1e300, -1e300, 5e-324)))
        for at in range(0, len(body) - 8, 8):
            if rng.random() < 0.3:
                body[at : at + 8] = strange
    elif kind == "drop":
        del header[name]
    elif kind == "gap":
        chosen["data_offsets"] = [0, rng.choice((0, 8, 10**15))]
    text = json.dumps(header).encode()
    length = rng.choice((0, 2**63, len(text) * 2, 10**9)) if kind == "length" else len(text)
    return struct.pack("<Q", length) + text + bytes(body), f"{kind}: {words}"


@way("the metrics")
def change_metrics(case: Case) -> None:
    case.command = "report"
    lines = [json.loads(line) for line in (case.folder / "metrics.jsonl").read_text().splitlines()]
    data, case.detail = mutate(lines, case.rng)
    rows = data if isinstance(data, list) else [data]
    case.write("metrics.jsonl", "\n".join(json.dumps(row) for row in rows))


@way("rows of a sweep")
def change_rows(case: Case) -> None:
    """What a sweep keeps of its runs."""
    case.command = "bench"
    for place, data in case.swept.items():
        file = case.folder.parent / "sweep" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    names = [place for place in case.swept if place.endswith(("result.json", "job.json", "sweep.json"))]
    name = case.rng.choice(names)
    data, case.detail = mutate(json.loads(case.swept[name]), case.rng)
    if isinstance(data, dict) and data.get("status") == "failed":
        data["status"] = "lost"  # else the run would be made again, in a process of its own
    case.write(f"../sweep/{name}", data)
