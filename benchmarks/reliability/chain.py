"""One change in one file of a finished run: `w2c verify` finds it and names the file.

The links of the chain are checked from the files alone. A case takes the run folder of a small task and
changes one live weight of the network that equals the program (`model.safetensors` or `taught.safetensors`),
one number in `program_raw.py`, one symbol in `program.py` or one number of a live node in `graph.json`. The
command must end with 1 or 2 and say which file it is; a weight that does not matter may be changed, and a
folder as it was left is verified.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import tempfile
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from case import Result
from weights import folder_of

from weights2code.cli import main
from weights2code.data import Problem
from weights2code.graph import to_dict
from weights2code.graph.from_model import graph_of
from weights2code.run_folder import CERTIFICATE, GRAPH, MODEL, PROGRAM, PROGRAM_RAW, TAUGHT, read_config
from weights2code.source import problem_of
from weights2code.training.search import Trained

WHOLE = 400
SECONDS = 60.0
#: Small tasks of several kinds of networks, whose programs are proved.
TASKS = ("sum_last2", "parity", "div_3", "Max_Seen", "bitwise_xor", "retrieve_value_by_key", "freebody")
Random = np.random.Generator


@dataclass(frozen=True)
class Base:
    """A finished run, as its files."""

    name: str
    files: dict[str, bytes]
    problem: Problem

    @property
    def weights(self) -> str:
        """The file of the network that equals the program."""
        return TAUGHT if TAUGHT in self.files else MODEL

    @property
    def member(self) -> int:
        """Its place there."""
        return json.loads(self.files[CERTIFICATE])["network"]["member"] if self.weights == MODEL else 0


@functools.cache
def base(name: str) -> Base:
    place = folder_of(name)
    files = {file.name: file.read_bytes() for file in place.iterdir() if file.is_file()}
    return Base(name, files, problem_of(*read_config(place)))


def prepare() -> None:
    """Once for all cases."""
    for name in TASKS:
        base(name)


def attack(number: int, seed: int) -> Result:
    """One change, and what the command says."""
    rng = np.random.default_rng([seed, number, 2])
    return attacked(base(TASKS[number // len(WAYS) % len(TASKS)]), list(WAYS)[number % len(WAYS)], rng)


def attacked(found: Base, way: str, rng: Random) -> Result:
    name, change = WAYS[way]
    name = found.weights if name == MODEL else name
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        folder.mkdir()
        for file, data in found.files.items():
            (folder / file).write_bytes(data)
        for _ in range(50):
            made = change(found, rng)
            if made is not None:
                break
        else:
            return Result(way, "nothing to change")
        data, what, matters = made
        if name:
            (folder / name).write_bytes(data)
        code, said = verified(folder)
    detail = f"{found.name}: {what}; exit {code}: {said.strip()[-400:]}"
    if not matters:
        return Result(way, f"exit {code}, does not matter", "" if code == 0 else "refused", detail)
    if code not in (1, 2):
        return Result(way, f"exit {code}", "a change was not found", detail)
    return Result(way, f"exit {code}", "" if name in said else f"{name} is not named", detail)


def verified(folder: Path) -> tuple[int, str]:
    """Exit code of `w2c verify`, and the sentence that it gives as the reason."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(["verify", str(folder), "--json"])
    text = out.getvalue().replace(str(folder), "run")
    with contextlib.suppress(ValueError):
        text = json.loads(text)["message"]
    return code, text


Made = tuple[bytes, str, bool]


def one_weight(found: Base, rng: Random) -> Made | None:
    """One entry of one tensor of the member that is meant; it matters if the discrete network is another."""
    from safetensors.numpy import load, save

    data = found.files[found.weights]
    tensors = load(data)
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    member = found.member
    before = _network(data, member, found.problem)
    floats = [
        name
        for name, values in tensors.items()
        if values.dtype.kind == "f" and values.ndim and len(values) > member and values[member].size
    ]
    name = str(rng.choice(sorted(floats)))
    values = tensors[name].copy()
    place = tuple(int(rng.integers(size)) for size in values[member].shape)
    amount = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 1))
    values[(member, *place)] += amount
    changed = save({**tensors, name: values}, header)
    if np.array_equal(values, tensors[name]):
        return None
    matters = _network(changed, member, found.problem) != before
    if not matters and rng.random() < 0.9:
        return None
    return changed, f"{name}[{(member, *place)}] by {amount:.3g}", matters


def _network(data: bytes, member: int, problem: Problem) -> str:
    """The live part of the network that weights are, as text."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        Path(file.name).write_bytes(data)
        trained = Trained.load(Path(file.name), problem)
    graph = graph_of(trained.model, member, trained.layout, problem)
    stored = to_dict(graph)
    live = [_used(stored["nodes"][index]) for index in graph.live()]
    return json.dumps([live, stored["head"]])


def _used(node: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in node.items() if value is not None}


def one_listed_number(found: Base, rng: Random) -> Made | None:
    text = found.files.get(PROGRAM_RAW)
    return None if text is None else _one_token(text, rng, (tokenize.NUMBER,))


def one_symbol(found: Base, rng: Random) -> Made | None:
    return _one_token(found.files[PROGRAM], rng, (tokenize.NUMBER, tokenize.OP, tokenize.NAME))


#: What takes the place of a symbol.
OTHER = {
    "+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "//", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "==": "!=", "!=": "==", "**": "*", "max": "min", "min": "max", "and": "or", "or": "and", "True": "False",
    "False": "True", "abs": "float", "maximum": "minimum", "minimum": "maximum",
}  # fmt: skip


def _one_token(text: bytes, rng: Random, kinds: tuple[int, ...]) -> Made | None:
    """One number, operator or name of the code is another; texts and comments are left alone."""
    tokens = list(tokenize.tokenize(io.BytesIO(text).readline))
    some = [
        token
        for token in tokens
        if token.type in kinds and (token.type == tokenize.NUMBER or token.string in OTHER)
    ]
    if not some:
        return None
    token = some[int(rng.integers(len(some)))]
    other = OTHER[token.string] if token.type != tokenize.NUMBER else _other_number(token.string, rng)
    lines = text.decode().splitlines(keepends=True)
    (row, begin), (_, end) = token.start, token.end
    lines[row - 1] = lines[row - 1][:begin] + other + lines[row - 1][end:]
    return "".join(lines).encode(), f"line {row}: {token.string} became {other}", True


def _other_number(text: str, rng: Random) -> str:
    """A number that is not the same: by one, or in its last digits."""
    if "." not in text and "e" not in text.lower():
        return str(int(text) + 1)
    value = float(text)
    changed = value + float(rng.choice([1.0, 1e-6, -1e-3])) * max(1.0, abs(value))
    return repr(changed)


def one_number_of_the_graph(found: Base, rng: Random) -> Made | None:
    """A number of a node that matters, or of the head."""
    data = json.loads(found.files[GRAPH])
    network = json.loads(_network(found.files[found.weights], found.member, found.problem))[0]
    live = {node["name"] for node in network}
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)):
            item = value[key]
            if isinstance(item, (dict, list)):
                walk(item)
            elif isinstance(item, float):
                places.append((value, key))

    for node in data["nodes"]:
        if node["name"] in live:
            walk({name: value for name, value in node.items() if isinstance(value, (dict, list))})
    walk(data["head"])
    if not places:
        return None
    container, key = places[int(rng.integers(len(places)))]
    before = container[key]
    container[key] = before + float(rng.choice([1.0, 1e-9, -0.3])) * max(1.0, abs(before))
    return json.dumps(data).encode(), f"{before} became {container[key]}", True


def nothing(found: Base, rng: Random) -> Made | None:
    return b"", "nothing", False


#: The file that is changed, and how.
WAYS: dict[str, tuple[str, Callable[[Base, Random], Made | None]]] = {
    "one weight": (MODEL, one_weight),
    "one number of the listing": (PROGRAM_RAW, one_listed_number),
    "one symbol of the program": (PROGRAM, one_symbol),
    "one number of the graph": (GRAPH, one_number_of_the_graph),
    "nothing": ("", nothing),
}
