"""`w2c decompile MODEL`: the program of a model that exists, and where the model leaves it."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from weights2code.cli.interrupts import whole_output
from weights2code.errors import InputError
from weights2code.run_folder import CONFIG, RunFolder, begin
from weights2code.settings import Settings

#: A range: two whole numbers, or two numbers of which one has a point or an exponent.
RANGE = re.compile(r"([-+]?[\d.]+(?:e[-+]?\d+)?)\.\.([-+]?[\d.]+(?:e[-+]?\d+)?)", re.IGNORECASE)
#: Options of the command that say how the model is asked.
ASKED = ("length", "longest", "read", "at", "one_hot", "time_first", "queries", "against")


def decompile(options: argparse.Namespace) -> int:
    from weights2code.decompilation.driver import QUERIES, SECONDS
    from weights2code.decompilation.driver import decompile as decompile_model
    from weights2code.decompilation.files import leave

    inputs, seed = ranges(options.inputs), options.seed or 0
    limit = SECONDS if options.time_limit is None else options.time_limit
    settings = Settings(seed=seed, time_limit=limit)
    name = Path(options.model).name
    place = name.replace(":", "-").removesuffix(".onnx").replace(".py", "")
    options.queries = QUERIES if options.queries is None else options.queries
    asked = {key: getattr(options, key) for key in ASKED}
    silent = options.quiet or options.json

    def say(line: str) -> None:
        if not silent:
            print(line, file=sys.stderr, flush=True)

    told = {"model": options.model, "inputs": options.inputs, **asked}
    with begin(options.out or Path("w2c-runs") / f"{place}-decompiled", name, settings) as folder:
        before = folder.read_json(CONFIG).get("decompiled", told)
        if before != told:
            raise InputError(f"{folder.path} holds what other options gave; choose another --out.")
        found = decompile_model(options.model, inputs, **asked, seed=seed, time_limit=limit, say=say)
        leave(found, folder, told)
        _show(found, folder, options)
    return found.exit_code


def ranges(text: str) -> dict[str, tuple[float, float]]:
    """Columns with their ranges out of `x=0..1,v=0.0..1.0`."""
    found: dict[str, tuple[float, float]] = {}
    for part in text.split(","):
        name, _, given = part.strip().partition("=")
        ends = RANGE.fullmatch(given.strip())
        try:
            if ends is None or not name.strip():
                raise ValueError
            whole = not re.search(r"[.e]", "".join(ends.groups()), re.IGNORECASE)
            found[name.strip()] = tuple(map(int if whole else float, ends.groups()))  # type: ignore[assignment]
        except ValueError:
            raise InputError(
                f"--inputs must be columns with ranges, such as x=0..1 or v=0.0..1.0, got {part.strip()!r}."
            ) from None
    return found


def _show(found: object, folder: RunFolder, options: argparse.Namespace) -> None:
    from weights2code.decompilation.driver import Decompiled
    from weights2code.decompilation.files import as_dict, facts

    assert isinstance(found, Decompiled)
    formula = found.program.formula().splitlines() if found.program else []
    with whole_output():
        if options.json:
            print(json.dumps(as_dict(found, folder), indent=2))
        elif options.quiet:
            print("\n".join([*formula, found.model.verdict if found.model else found.message]))
        else:
            print("\n".join([*formula, *(f"{word}: {text}" for word, text in facts(found, folder))]))
