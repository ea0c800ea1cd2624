"""`w2c experiment NAME`: one table or figure of the paper, beside its own numbers."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from weights2code.cli.parser import add_option
from weights2code.errors import InputError
from weights2code.experiments.experiment import Options
from weights2code.settings import SETTINGS

EXAMPLES = """\
examples:
  w2c experiment --list
  w2c experiment table1 --out results/table1
  w2c experiment robustness --tasks spring --seeds 0 --jobs 2
  w2c experiment table1 --recipe paper --device cuda

The same command with the same --out continues where it stopped. `fast` runs on a laptop; `paper` is the
paper's own recipe, all seeds of a task as one batched program, and wants a GPU.
"""

#: Numbers of the recipe that a command may override, for a quick look.
NUMBERS = ("members", "epochs", "samples", "time_limit")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Everything but the options of engines and of output."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="an experiment; --list lists them")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--out", metavar="DIR", help="folder; default w2c-runs/experiment-NAME-RECIPE")
    parser.add_argument("--tasks", metavar="A,B", help="only these of its tasks")
    parser.add_argument("--seeds", metavar="N,N", default="0,1,2", help="such as 0,1,2 (default) or 0-4")
    parser.add_argument(
        "--models",
        metavar="DIR",
        help="take the models that an experiment of the paper's recipe left in DIR: this one, or protocol",
    )
    add_option(parser, "recipe", SETTINGS["recipe"], default="fast")
    add_option(parser, "layout", SETTINGS["layout"], default="auto", help="default: the experiment's own")
    add_option(parser, "device", SETTINGS["device"], default="cpu")
    group = parser.add_argument_group("numbers of the recipe, for a quick look")
    for name in NUMBERS:
        add_option(group, name, SETTINGS[name])


def options_from(options: argparse.Namespace) -> Options:
    """What the command asks of the experiment; task names may be those of any suite."""
    from weights2code.cli.engine_options import seeds_of
    from weights2code.source import canonical

    numbers = {name: getattr(options, name) for name in NUMBERS if getattr(options, name) is not None}
    asked = [name.strip() for name in (options.tasks or "").split(",") if name.strip()]
    return Options(
        recipe=options.recipe,
        layout=options.layout,
        device=options.device,
        seeds=tuple(seeds_of(options.seeds)),
        tasks=tuple(canonical(name) for name in asked),
        models=str(Path(options.models).resolve()) if options.models else "",
        numbers=numbers,
    )


def list_experiments(as_json: bool) -> int:
    from weights2code.experiments.registry import every

    rows = [{"name": found.name, "reproduces": found.reproduces} for found in every()]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        width = max(len(row["name"]) for row in rows)
        print("\n".join(f"{row['name']:{width}}  {row['reproduces']}" for row in rows))
    return 0


def experiment(options: argparse.Namespace) -> int:
    """Run one experiment; the exit code says whether every run came to an end, not how well."""
    if options.list:
        return list_experiments(options.json)
    if options.name is None:
        raise InputError("name an experiment; `w2c experiment --list` lists them.")
    from weights2code.cli.engine_options import engine_from
    from weights2code.cli.progress import sweep_reporter
    from weights2code.experiments import registry, reproduce
    from weights2code.experiments.jobs import plain
    from weights2code.experiments.stores import Folders

    found = registry.get(options.name)
    asked = options_from(options)
    engine = engine_from(options)
    out = Path(options.out or Path("w2c-runs") / f"experiment-{found.name}-{asked.recipe}")
    jobs = found.jobs(asked)
    silent = options.quiet or options.json
    with sweep_reporter(len(jobs), len(Folders(out).rows(jobs)), silent) as on_row:
        record, table = reproduce.reproduce(found, asked, out, engine, options.command_line, on_row)
    if options.json:
        said = record.head | {"options": record.asked, "table": asdict(table)}
        print(json.dumps(plain(said), indent=2))
    else:
        print((out / "table.md").read_text(encoding="utf-8"), end="")
        print(f"files: {out}: {', '.join(sorted(path.name for path in out.iterdir()))}")
    return 1 if record.head["failed"] else 0
