"""Decompile models and say what came of it: rule, departure, questions, seconds.

    python benchmarks/decompile/measure.py [--part gallery|damaged|mistaken|others] [--models DIR]

Models of the gallery, and those that are damaged, are trained if they are not there. Mistaken ones are
functions that are wrong 1 in 100 times, without a pattern. Those of others lie in DIR, where `models.json`
says their rules.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from models import DAMAGED, GALLERY, MISTAKEN, drawn, make, mistaken, rule_of

from weights2code.decompilation.driver import decompile
from weights2code.decompilation.files import ranges
from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row

OWN = {"gallery": GALLERY, "damaged": DAMAGED}
#: Sequences that a program is compared with its rule on.
COMPARED = 300


def cases(options: Options) -> dict[str, Row]:
    folder = Path(options.models or Path("runs/decompile") / options.part)
    found: list[Row]
    if options.part == "others":
        index = json.loads((folder / "models.json").read_text(encoding="utf-8"))
        found = [theirs(folder, name, known) for name, known in index.items()]
    elif options.part == "mistaken":
        found = [
            {"name": name, "path": mistaken(name, inputs), "rule": rule_of(name), "inputs": inputs}
            | {"length": length}
            for name, inputs, length in MISTAKEN
        ]
    else:
        made = make(OWN[options.part], folder)
        found = [{**row, "path": folder / row["file"], "rule": rule_of(row["task"])} for row in made]
    return {model["name"]: model for model in found}


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


def told(row: Row) -> str:
    return f"{row['key']}: {row['error'] or row['formula']} ({row['seconds']:.1f} s)"


if __name__ == "__main__":
    own = {"part": ["gallery", "damaged", "mistaken", "others"], "models": ""}
    run(__file__, __doc__, cases, measure, record=lambda asked: asked.part, show=told, processes=1, **own)
