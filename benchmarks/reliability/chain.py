"""One change in one file of a finished run: `w2c verify` finds it and names the file.

The links of the chain are checked from the files alone. A case takes the run folder of a small task and
changes one live weight of the network that equals the program (`model.safetensors` or `taught.safetensors`),
one number in `program_raw.py`, one symbol in `program.py` or one number of a live node in `graph.json`. The
command must end with 1 or 2 and say which file it is; a weight that does not matter may be changed, and a
folder as it was left is verified.
"""

from __future__ import annotations

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
import weights
from case import Result, called, content, places, unpacked

from chance import Chance, Random
from weights2code.data import Problem
from weights2code.graph import to_dict
from weights2code.graph.from_model import graph_of
from weights2code.run_folder import CERTIFICATE, GRAPH, MODEL, PROGRAM, PROGRAM_RAW, TAUGHT
from weights2code.training.storage import Trained

#: Small tasks of several kinds of networks, whose programs are proved.
TASKS = ("sum_last2", "parity", "div_3", "Max_Seen", "bitwise_xor", "retrieve_value_by_key", "freebody")
#: The new content of a file, what was changed, and whether it matters; None if there was nothing to change.
Made = tuple[bytes, str, bool] | None


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

    def network(self, data: bytes) -> tuple[list[Any], Any]:
        """The live nodes and the head of the network that weights are."""
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            Path(file.name).write_bytes(data)
            trained = Trained.load(Path(file.name), self.problem)
        graph = graph_of(trained.weights, self.member, trained.layout, self.problem)
        stored = to_dict(graph)
        nodes = [stored["nodes"][index].items() for index in graph.live()]
        return [{key: value for key, value in node if value is not None} for node in nodes], stored["head"]


@functools.cache
def base(name: str) -> Base:
    return Base(name, content(weights.folder_of(name)), weights.base(name).problem)


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
    made = next((made for _ in range(50) if (made := change(found, Chance(rng))) is not None), None)
    if made is None:
        return Result(way, "nothing to change")
    data, what, matters = made
    with unpacked({**found.files, name: data} if name else found.files) as folder:
        ended = called("verify", "run", "--json")
        said = (ended.out + ended.err + ended.crash).replace(str(folder), "run")
    code = ended.code
    if said.startswith("{"):
        said = json.loads(said)["message"]
    failure = ""
    if not matters:
        failure = "" if code == 0 else "refused"
    elif code not in (1, 2):
        failure = "a change was not found"
    elif name not in said:
        failure = f"{name} is not named"
    detail = f"{found.name}: {what}; exit {code}: {said.strip()[-400:]}"
    return Result(way, f"exit {code}{'' if matters else ', does not matter'}", failure, detail)


def one_weight(found: Base, c: Chance) -> Made:
    """One entry of one tensor of the member that is meant; it matters if the discrete network is another."""
    from safetensors.numpy import load, save

    data, member = found.files[found.weights], found.member
    tensors = load(data)
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    name = c.among(
        sorted(
            name
            for name, values in tensors.items()
            if values.dtype.kind == "f" and values.ndim and len(values) > member and values[member].size
        )
    )
    values = tensors[name].copy()
    place = (member, *(c.between(0, size - 1) for size in values[member].shape))
    amount = c.pick(-1, 1) * 10 ** c.rng.uniform(-6, 1)
    values[place] += amount
    changed = save({**tensors, name: values}, header)
    if np.array_equal(values, tensors[name]):
        return None
    matters = found.network(changed) != found.network(data)
    return (changed, f"{name}[{place}] by {amount:.3g}", matters) if matters or not c.of(0.9) else None


def one_listed_number(found: Base, c: Chance) -> Made:
    text = found.files.get(PROGRAM_RAW)
    return None if text is None else _one_token(text, c, (tokenize.NUMBER,))


def one_symbol(found: Base, c: Chance) -> Made:
    return _one_token(found.files[PROGRAM], c, (tokenize.NUMBER, tokenize.OP, tokenize.NAME))


#: What takes the place of a symbol.
OTHER = {
    "+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "//", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "==": "!=", "!=": "==", "**": "*", "max": "min", "min": "max", "and": "or", "or": "and", "True": "False",
    "False": "True", "abs": "float", "maximum": "minimum", "minimum": "maximum",
}  # fmt: skip


def _one_token(text: bytes, c: Chance, kinds: tuple[int, ...]) -> Made:
    """One number, operator or name of the code is another; texts and comments are left alone."""
    some = [
        token
        for token in tokenize.tokenize(io.BytesIO(text).readline)
        if token.type in kinds and (token.type == tokenize.NUMBER or token.string in OTHER)
    ]
    if not some:
        return None
    token = c.among(some)
    other = OTHER[token.string] if token.type != tokenize.NUMBER else _other_number(token.string, c)
    lines = text.decode().splitlines(keepends=True)
    (row, begin), (_, end) = token.start, token.end
    lines[row - 1] = lines[row - 1][:begin] + other + lines[row - 1][end:]
    return "".join(lines).encode(), f"line {row}: {token.string} became {other}", True


def _other_number(text: str, c: Chance) -> str:
    """A number that is not the same: by one, or in its last digits."""
    if "." not in text and "e" not in text.lower():
        return str(int(text) + 1)
    return repr(_moved(float(text), c.pick(1.0, 1e-6, -1e-3)))


def _moved(value: float, share: float) -> float:
    return value + share * max(1.0, abs(value))


def one_number_of_the_graph(found: Base, c: Chance) -> Made:
    """A number of a node that matters, or of the head."""
    data = json.loads(found.files[GRAPH])
    live = {node["name"] for node in found.network(found.files[found.weights])[0]}
    nodes = [value for node in data["nodes"] if node["name"] in live for value in node.values()]
    parts = [part for part in (*nodes, data["head"]) if isinstance(part, (dict, list))]
    numbers = [(one, key) for one, key in places(parts) if isinstance(one[key], float)]
    if not numbers:
        return None
    container, key = c.among(numbers)
    before = container[key]
    container[key] = _moved(before, c.pick(1.0, 1e-9, -0.3))
    return json.dumps(data).encode(), f"{before} became {container[key]}", True


#: The file that is changed, and how.
WAYS: dict[str, tuple[str, Callable[[Base, Chance], Made]]] = {
    "one weight": (MODEL, one_weight),
    "one number of the listing": (PROGRAM_RAW, one_listed_number),
    "one symbol of the program": (PROGRAM, one_symbol),
    "one number of the graph": (GRAPH, one_number_of_the_graph),
    "nothing": ("", lambda found, c: (b"", "nothing", False)),
}
