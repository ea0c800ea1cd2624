"""Decompile models and say what came of it: rule, departure, questions, seconds, beside AALpy where it can.

    python benchmarks/decompile/measure.py [--part gallery|damaged|mistaken|others] [--models DIR]

Models of the gallery, and those that are damaged, are trained if they are not there. Mistaken ones are
functions that are wrong 1 in 100 times, without a pattern. Those of others lie in DIR, where `models.json`
says their rules.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from meant import RULES, mistaken
from networks import columns_of, drawn, make
from recipes import DAMAGED, GALLERY, MISTAKEN

from weights2code.decompilation.driver import decompile, host_of
from weights2code.decompilation.files import ranges
from weights2code.decompilation.model import Asking, introduced
from weights2code.errors import InputError
from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row
from weights2code.tasks.task import read_columns

OWN = {"gallery": GALLERY, "damaged": DAMAGED}
#: Sequences that a program is compared with its rule on, and rows that AALpy may read.
COMPARED, MOST_LETTERS = 300, 12


def cases(options: Options) -> dict[str, Row]:
    folder = Path(options.models or Path("runs/decompile") / options.part)
    found: list[Row]
    if options.part == "others":
        found = [theirs(folder, name, known) for name, known in read(folder).items()]
    elif options.part == "mistaken":
        found = [
            {"name": name, "path": mistaken(RULES[name], inputs), "rule": RULES[name], "inputs": inputs}
            | {"length": length}
            for name, inputs, length in MISTAKEN
        ]
    else:
        made = make(OWN[options.part], RULES, folder)
        found = [{**row, "path": folder / row["file"], "rule": RULES[row["task"]]} for row in made]
    ways = () if options.part in ("damaged", "mistaken") else ("L*", "KV")
    return {model["name"]: model | {"ways": ways} for model in found}


def read(folder: Path) -> Row:
    return json.loads((folder / "models.json").read_text(encoding="utf-8"))


def theirs(folder: Path, name: str, known: Row) -> Row:
    """A model of others: its rule is a text that defines `rule(xs)` for one sequence."""
    space: dict[str, Any] = {}
    exec(known["source"], space)

    def rule(x: np.ndarray) -> np.ndarray:
        plain = x[..., 0] if x.shape[2] == 1 else x
        return np.array([space["rule"](row.tolist()) for row in plain], float)

    inputs = ",".join(f"{column}={a}..{b}" for column, (a, b) in known["inputs"].items())
    shortest = min((one["length"] for one in known["departures"] or ()), default=None)
    row = {"name": name, "path": folder / known["file"], "rule": rule, "inputs": inputs}
    return row | {"length": known["length"], "known": shortest}


def measure(model: Row) -> Row:
    """What came of a model."""
    began, cpu = time.monotonic(), time.process_time()
    found = decompile(model["path"], ranges(model["inputs"]), model["length"])
    row: Row = {"name": model["name"], "length": model["length"], "known": model.get("known")}
    row |= {"seconds": round(time.monotonic() - began, 1), "cpu": round(time.process_time() - cpu, 1)}
    row |= {way: learned(model, way) for way in model["ways"]}
    if found.program is None or found.model is None:
        return {**row, "right": False, "formula": None}
    return {
        **row,
        "right": is_meant(found.program.recurrence, model),
        "formula": found.program.formula(),
        "verdict": found.model.verdict,
        "departs": None if found.shortest is None else len(found.shortest.inputs),
        "proven": found.model.proven_shortest,
        "agreement": {str(n): share for n, share in found.agreement.items()},
        "queries": found.model.queries,
        "rule_seconds": round(found.rule_seconds, 2),
        "rule_queries": found.rule_queries,
        "states": found.states,
    }


def is_meant(program: Any, model: Row) -> bool:
    """Whether the program is the rule, on fresh sequences of two lengths."""
    rng, near = np.random.default_rng(99), 0.5 if model.get("classes", 1) else 0.02
    for length in (model["length"], 3 * model["length"]):
        x = drawn(rng, model["inputs"], COMPARED, length)
        if np.abs(program.run(x)[..., 0] - model["rule"](x)).max() > near:
            return False
    return True


def learned(model: Row, way: str, seconds: float = 15.0) -> Row | None:
    """The same model by AALpy: questions, seconds and states; None if its rows are many or no numbers."""
    from aalpy.base import SUL
    from aalpy.learning_algs import run_KV, run_Lstar
    from aalpy.oracles import RandomWMethodEqOracle

    columns = columns_of(model["inputs"])
    if np.prod([b - a + 1 if whole else 1e9 for a, b, whole in columns]) > MOST_LETTERS:
        return None
    host = host_of(str(model["path"]))
    try:
        asked = introduced(host, read_columns(ranges(model["inputs"])), Asking(model["length"]))
        asked.queries, began = 0, time.monotonic()
        grids = np.meshgrid(*(np.arange(a, b + 1) for a, b, _ in columns), indexing="ij")
        rows = np.stack([grid.reshape(-1) for grid in grids], -1)

        class Answers(SUL):
            def pre(self) -> None:
                self.word: list[int] = []

            def post(self) -> None:
                pass

            def step(self, letter: int) -> float:
                self.word.append(letter)
                return self.query(self.word)[-1]

            def query(self, word: Any) -> list[float]:
                if time.monotonic() - began > seconds:
                    raise TimeoutError
                return asked(rows[list(word)][None])[0][0, :, 0].tolist() if len(word) else []

        random.seed(0)
        system, alphabet = Answers(), list(range(len(rows)))
        oracle = RandomWMethodEqOracle(alphabet, system, walks_per_state=50, walk_len=model["length"] // 2)
        learn, said = (
            {"L*": run_Lstar, "KV": run_KV}[way],
            {"cache_and_non_det_check": False, "print_level": 0},
        )
        try:
            states = len(learn(alphabet, system, oracle, "mealy", **said).states)
        except (TimeoutError, InputError):  # it asks for longer sequences than the model takes
            states = None
        took = round(time.monotonic() - began, 2)
        return {"queries": asked.queries, "seconds": took, "states": states}
    finally:
        host.close()


def told(row: Row) -> str:
    return f"{row['key']}: {row['error'] or row['formula']} ({row['seconds']:.1f} s)"


if __name__ == "__main__":
    own = {"part": ["gallery", "damaged", "mistaken", "others"], "models": ""}
    run(__file__, __doc__, cases, measure, record=lambda asked: asked.part, show=told, processes=1, **own)
