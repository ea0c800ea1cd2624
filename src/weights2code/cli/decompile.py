"""`w2c decompile MODEL`: the program of a model that exists, and where the model leaves it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from weights2code.cli.interrupts import whole_output
from weights2code.errors import InputError
from weights2code.run_folder import CONFIG, RunFolder, begin
from weights2code.settings import Settings

if TYPE_CHECKING:
    from weights2code.decompilation.driver import Decompiled

#: Options of the command that say how the model is asked.
ASKED = ("length", "longest", "read", "at", "one_hot", "time_first", "queries", "against")


def decompile(options: argparse.Namespace) -> int:
    from weights2code.decompilation.driver import SECONDS
    from weights2code.decompilation.driver import decompile as decompile_model
    from weights2code.decompilation.files import leave, ranges
    from weights2code.decompilation.model import QUERIES

    inputs, seed = ranges(options.inputs), options.seed or 0
    limit = SECONDS if options.time_limit is None else options.time_limit
    settings = Settings(seed=seed, time_limit=limit)
    name = Path(options.model).name
    place = name.replace(":", "-").removesuffix(".onnx").replace(".py", "")
    options.queries = QUERIES if options.queries is None else options.queries
    asked = {key: getattr(options, key) for key in ASKED}
    told = {"model": options.model, "inputs": options.inputs, **asked}
    with begin(options.out or Path("w2c-runs") / f"{place}-decompiled", name, settings) as folder:
        before = folder.read_json(CONFIG).get("decompiled", told)
        if before != told:
            raise InputError(f"{folder.path} holds what other options gave; choose another --out.")
        found = decompile_model(
            options.model, inputs, **asked, seed=seed, time_limit=limit, say=teller(options)
        )
        leave(found, folder, told)
        return show(found, folder, options)


def teller(options: argparse.Namespace) -> Callable[[str], None]:
    """Says what is being done, unless nobody wants to know."""

    def say(line: str) -> None:
        if not (options.quiet or options.json):
            print(line, file=sys.stderr, flush=True)

    return say


def show(found: Decompiled, folder: RunFolder, options: argparse.Namespace) -> int:
    """What came of it, on standard output; its exit code."""
    from weights2code.decompilation.files import as_dict, facts

    formula = found.program.formula().splitlines() if found.program else []
    with whole_output():
        if options.json:
            print(json.dumps(as_dict(found, folder), indent=2))
        elif options.quiet:
            print("\n".join([*formula, found.model.verdict if found.model else found.message]))
        else:
            print("\n".join([*formula, *(f"{word}: {text}" for word, text in facts(found, folder))]))
    return found.exit_code
