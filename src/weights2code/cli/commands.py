"""One function a command: options in, exit code out. The work is done by the stages."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from weights2code.cli.interrupts import whole_output
from weights2code.cli.parser import settings_from
from weights2code.cli.progress import reporter
from weights2code.data.own import FileSource, file_source
from weights2code.errors import InputError
from weights2code.run_folder import FREE_SETTINGS, RunFolder, begin, open_existing
from weights2code.settings import Settings

#: Where `w2c run` puts its folder unless told.
DEFAULT_PARENT = Path("w2c-runs")


def tasks(options: argparse.Namespace) -> int:
    from weights2code import tasks as builtin

    chosen = builtin.all_tasks(options.suite)
    if options.json:
        from dataclasses import asdict

        print(json.dumps([asdict(row) for row in builtin.rows(chosen)], indent=2))
    else:
        builtin.render(chosen)
    return 0


def completion(options: argparse.Namespace) -> int:
    from weights2code.cli.completion import completion_script
    from weights2code.cli.parser import build_parser

    print(completion_script(build_parser(), options.shell), end="")
    return 0


def train(options: argparse.Namespace) -> int:
    from weights2code.source import canonical, problem_of

    settings = settings_from(options)
    of_file = options.inputs is not None or options.targets is not None
    source = file_of(options, options.task) if of_file else canonical(options.task)
    with begin(options.out, source, settings) as folder:
        finished_before = folder.trained
        from weights2code.training.train import train as train_in

        with reporter(_silent(options)) as progress:
            trained = train_in(problem_of(source, settings), settings, folder, progress)
        result = {
            "source": str(source),
            "rung": trained.rung,
            "layout": trained.layout.name,
            "fitted": trained.fitted,
            "hard_loss": trained.losses[0],
            "accuracy": trained.accuracies[0],
            "seconds": round(trained.seconds, 3),
            "complete_before": finished_before,
            "cut_short": not folder.trained,
            "folder": str(folder.path),
            "files": folder.files(),
        }
    state = "was complete already" if finished_before else "trained"
    fit = "fits" if trained.fitted else "does not fit the data"
    sentence = (
        f"{source} {state}: rung {trained.rung} {fit}, hard loss {trained.losses[0]:.2g} of the variance, "
        f"rounding accuracy {trained.accuracies[0]:.4f}, in {options.out}"
    )
    if result["cut_short"]:
        sentence += (
            f"; {settings.time_limit:g} s were not enough, the same command with a larger limit climbs on"
        )
    with whole_output():
        print(json.dumps(result, indent=2) if options.json else sentence)
    return 0


def run(options: argparse.Namespace) -> int:
    from weights2code.source import canonical

    return _search(canonical(options.task), options)


def fit(options: argparse.Namespace) -> int:
    return _search(file_of(options, options.file), options)


def _search(source: str | FileSource, options: argparse.Namespace) -> int:
    settings = settings_from(options)
    with begin(options.out or default_folder(source, settings), source, settings) as folder:
        from weights2code import pipeline

        with reporter(_silent(options)) as progress:
            outcome = pipeline.run(source, settings, folder, progress)
        return _show(outcome, folder, options)


def file_of(options: argparse.Namespace, path: str) -> FileSource:
    """The file that the options describe."""
    if options.targets is None:
        raise InputError(f"--targets is missing; name columns of {path}, separated by commas.")
    inputs, targets, categories = (
        None if listed is None else [name.strip() for name in listed.split(",")]
        for listed in (options.inputs, options.targets, options.categories)
    )
    return file_source(
        path, inputs, targets or [], options.sequence, options.order, categories or (), options.missing
    )


def extract(options: argparse.Namespace) -> int:
    with open_existing(options.folder) as folder:
        from weights2code import pipeline

        return _show(pipeline.extract(folder), folder, options)


def verify(options: argparse.Namespace) -> int:
    with open_existing(options.folder) as folder:
        from weights2code import pipeline

        return _show(pipeline.verify(folder), folder, options)


def report(options: argparse.Namespace) -> int:
    with open_existing(options.folder) as folder:
        from weights2code.report import write_plots, write_report

        made = [write_report(folder)]
        if options.plots:
            made += write_plots(folder, options.plots)
    if options.json:
        print(json.dumps({"folder": str(folder.path), "files": [str(path) for path in made]}, indent=2))
    else:
        print("\n".join(str(path) for path in made))
    return 0


def default_folder(source: str | FileSource, settings: Settings) -> Path:
    """`w2c-runs/TASK-seedN`; settings that are not the defaults, and files, add a short digest of theirs."""
    named = (*FREE_SETTINGS, "seed")
    other = {name: value for name, value in settings.changed().items() if name not in named}
    if isinstance(source, FileSource):
        other |= {"source": {**source.to_dict(), "file": source.name}}
    digest = hashlib.sha256(json.dumps(other, sort_keys=True).encode()).hexdigest()[:8]
    return DEFAULT_PARENT / f"{source}-seed{settings.seed}{f'-{digest}' if other else ''}"


def _silent(options: argparse.Namespace) -> bool:
    return options.quiet or options.json


def _show(outcome: Any, folder: RunFolder, options: argparse.Namespace) -> int:
    from weights2code.cli.result import as_dict, plain_lines, show_panel

    with whole_output():
        if options.json:
            print(json.dumps(as_dict(outcome, folder), indent=2))
        elif options.quiet or not sys.stdout.isatty():
            print("\n".join(plain_lines(outcome, folder, brief=options.quiet)))
        else:
            show_panel(outcome, folder)
    return outcome.exit_code
