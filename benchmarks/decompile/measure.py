"""Decompile models and say what came of it: rule, departure, questions, seconds, beside AALpy where it can.

python benchmarks/decompile/make.py gallery && python benchmarks/decompile/measure.py gallery
python benchmarks/decompile/measure.py DIR          files of others: DIR/models.json says their rules
python benchmarks/decompile/measure.py --page       writes what is recorded into docs/decompile.md
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from networks import columns_of, drawn

import records
from rules import RULES
from weights2code.cli.decompile import ranges
from weights2code.decompilation.driver import decompile, host_of
from weights2code.decompilation.model import Asking, introduced
from weights2code.errors import InputError
from weights2code.tasks.task import read_columns

ROOT = Path(__file__).parents[2]
RECORDS, FOLDER = Path(__file__).parent / "results", Path("runs/decompile")
PAGE = ROOT / "docs/decompile.md"
#: Sequences that a program is compared with its rule on, and rows that AALpy may read.
COMPARED, MOST_LETTERS = 300, 12


def own(name: str) -> list[dict[str, Any]]:
    """Models of ours, each with its rule as a function of (n, T, columns)."""
    rows = json.loads((FOLDER / name / "models.json").read_text(encoding="utf-8"))
    return [{**row, "path": FOLDER / name / row["file"], "rule": RULES[row["task"]]} for row in rows]


def others(folder: Path) -> list[dict[str, Any]]:
    """Models of others: their rule is a text that defines `rule(xs)` for one sequence."""
    rows = []
    for name, known in json.loads((folder / "models.json").read_text(encoding="utf-8")).items():
        space: dict[str, Any] = {}
        exec(known["source"], space)

        def rule(x: np.ndarray, one: Any = space["rule"]) -> np.ndarray:
            plain = x[..., 0] if x.shape[2] == 1 else x
            return np.array([one(row.tolist()) for row in plain], float)

        inputs = ",".join(f"{column}={a}..{b}" for column, (a, b) in known["inputs"].items())
        departures = known["departures"] or []
        shortest = min((one["length"] for one in departures), default=None)
        rows.append(
            {
                "name": name,
                "path": folder / known["file"],
                "rule": rule,
                "inputs": inputs,
                "length": known["length"],
                "known": shortest,
            }
        )
    return rows


def measured(model: dict[str, Any]) -> dict[str, Any]:
    """One row: what came of a model."""
    began, cpu = time.monotonic(), time.process_time()
    found = decompile(str(model["path"]), ranges(model["inputs"]), model["length"])
    row: dict[str, Any] = {"name": model["name"], "length": model["length"], "known": model.get("known")}
    row |= {"seconds": round(time.monotonic() - began, 1), "cpu": round(time.process_time() - cpu, 1)}
    if found.program is None or found.model is None:
        return {**row, "right": False, "formula": None}
    shortest = found.shortest
    return {
        **row,
        "right": is_meant(found.program.recurrence, model),
        "formula": found.program.formula(),
        "verdict": found.model.verdict,
        "departs": None if shortest is None else len(shortest.inputs),
        "proven": found.model.proven_shortest,
        "agreement": {str(n): share for n, share in found.agreement.items()},
        "queries": found.model.queries,
        "rule_seconds": round(found.rule_seconds, 2),
        "rule_queries": found.rule_queries,
        "states": found.states,
    }


def is_meant(program: Any, model: dict[str, Any]) -> bool:
    """Whether the program is the rule, on fresh sequences of two lengths."""
    rng = np.random.default_rng(99)
    whole = model.get("classes", 1) != 0
    for length in (model["length"], 3 * model["length"]):
        x = drawn(rng, model["inputs"], COMPARED, length)
        apart = np.abs(program.run(x)[..., 0] - model["rule"](x))
        if apart.max() > (0.5 if whole else 0.02):
            return False
    return True


def learned(model: dict[str, Any], way: str, seconds: float = 15.0) -> dict[str, Any] | None:
    """The same model by AALpy: questions, seconds and states; None if its rows are many or no numbers."""
    from aalpy.base import SUL
    from aalpy.learning_algs import run_KV, run_Lstar
    from aalpy.oracles import RandomWMethodEqOracle

    columns = columns_of(model["inputs"])
    count = int(np.prod([b - a + 1 if whole else 1e9 for a, b, whole in columns]))
    if count > MOST_LETTERS:
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
                if not len(word):
                    return []
                return asked(rows[list(word)][None])[0][0, :, 0].tolist()

        random.seed(0)
        system, alphabet = Answers(), list(range(len(rows)))
        oracle = RandomWMethodEqOracle(alphabet, system, walks_per_state=50, walk_len=model["length"] // 2)
        run = {"L*": run_Lstar, "KV": run_KV}[way]
        try:
            machine = run(alphabet, system, oracle, "mealy", cache_and_non_det_check=False, print_level=0)
            states = len(machine.states)
        except (TimeoutError, InputError):  # it asks for longer sequences than the model takes
            states = None
        return {
            "queries": asked.queries,
            "seconds": round(time.monotonic() - began, 2),
            "states": states,
        }
    finally:
        host.close()


def main() -> None:
    given = sys.argv[1:] or ["gallery"]
    if given == ["--page"]:
        write_page()
        return
    name = given[0]
    models = own(name) if name in ("gallery", "damaged") else others(Path(name))
    rows = []
    for model in models:
        row = measured(model)
        if name != "damaged":
            row |= {way: learned(model, way) for way in ("L*", "KV")}
        rows.append(row)
        print(json.dumps(row), flush=True)
    record = RECORDS / f"{name if name in ('gallery', 'damaged') else 'others'}.json"
    command = "python benchmarks/decompile/measure.py " + (name if record.stem != "others" else "DIR")
    records.write_record(record, command, "cpu", rows=rows)


def write_page() -> None:
    """The tables of `docs/decompile.md`, between their marks."""
    text = PAGE.read_text(encoding="utf-8")
    for file in sorted(RECORDS.glob("*.json")):
        begin, end = f"<!-- figures: {file.stem} -->", f"<!-- end of figures: {file.stem} -->"
        if begin in text:
            before, rest = text.split(begin)
            record = json.loads(file.read_text(encoding="utf-8"))
            text = f"{before}{begin}\n\n{_table(record['rows'])}\n\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text, encoding="utf-8")


def _table(rows: list[dict[str, Any]]) -> str:
    beside = any("L*" in row for row in rows)
    head = "| model | rule | departs after | questions for the rule | seconds | in all |"
    line = "|---|---|---:|---:|---:|---:|"
    head += " AALpy L\\*, KV: questions, seconds, states |" if beside else ""
    line += "---|" if beside else ""
    made = [head, line]
    for row in rows:
        departs = row.get("departs")
        where = "" if departs is None else f"{departs}{' (proven)' if row['proven'] else ''}"
        known = f", known {row['known']}" if row.get("known") else ""
        rule = "meant" if row["right"] else "none" if row["formula"] is None else "another"
        cells = [row["name"], rule, where + known, row.get("rule_queries", "")]
        cells += [row.get("rule_seconds", ""), f"{row['seconds']} s"]
        if beside:
            cells.append("; ".join(_of(row[way]) for way in ("L*", "KV") if row.get(way)))
        made.append(f"| {' | '.join(map(str, cells))} |")
    right = sum(row["right"] for row in rows)
    return "\n".join(made) + f"\n\nThe meant rule came out of {right} of {len(rows)} models."


def _of(found: dict[str, Any]) -> str:
    states = "none" if found["states"] is None else found["states"]
    return f"{found['queries']}, {found['seconds']}, {states}"


if __name__ == "__main__":
    main()
