"""One function a command: options in, exit code out. The work is done by the stages."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from weights2code.cli.interrupts import whole_output
from weights2code.cli.parser import settings_from
from weights2code.cli.progress import reporter
from weights2code.data.own import FileSource, described
from weights2code.errors import InputError
from weights2code.roles import ROLES, Roles
from weights2code.run_folder import CONFIG, FREE_SETTINGS, ROWS, RunFolder, begin, open_existing
from weights2code.settings import Settings
from weights2code.tasks.task_file import TaskFile

#: Where `w2c run` puts its folder unless told.
DEFAULT_PARENT = Path("w2c-runs")


def tasks(options: argparse.Namespace) -> int:
    from weights2code import tasks as builtin

    chosen = builtin.all_tasks(options.suite)
    if options.json:
        print(json.dumps(builtin.rows(chosen), indent=2))
    else:
        builtin.render(chosen)
    return 0


def completion(options: argparse.Namespace) -> int:
    from weights2code.cli.completion import completion_script
    from weights2code.cli.parser import build_parser

    print(completion_script(build_parser(), options.shell), end="")
    return 0


def train(options: argparse.Namespace) -> int:
    from weights2code.source import problem_of, task_named

    settings = settings_from(options)
    of_file = options.inputs is not None or options.targets is not None
    source = file_of(options, options.task) if of_file else task_named(options.task)
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
        f"{source} {state}: rung {trained.rung} {fit}, {trained.losses[0]:.2g} of the variance is left, "
        f"{trained.accuracies[0]:.4f} of the outputs are right, in {options.out}"
    )
    if result["cut_short"]:
        sentence += (
            f"; {settings.time_limit:g} s were not enough, the same command with a larger limit climbs on"
        )
    with whole_output():
        print(json.dumps(result, indent=2) if options.json else sentence)
    return 0


def run(options: argparse.Namespace) -> int:
    from weights2code.source import task_named

    return _search(task_named(options.task), options)


def fit(options: argparse.Namespace) -> int:
    from weights2code.cli.standard_input import STANDARD_INPUT, file_or_input

    if options.file != STANDARD_INPUT:
        return _search(file_of(options, options.file), options)
    with file_or_input(options.file) as path:  # it can be read once, so the run folder keeps it
        source = file_of(options, str(path))
        out = Path(options.out or default_folder(source, settings_from(options))).absolute()
        options.out = str(out)
        return _search(replace(source, path=str(out / ROWS)), options, path.read_bytes())


def _search(
    source: str | TaskFile | FileSource, options: argparse.Namespace, rows: bytes | None = None
) -> int:
    settings = settings_from(options)
    with begin(options.out or default_folder(source, settings), source, settings) as folder:
        from weights2code import pipeline

        if rows is not None:
            folder.write(ROWS, rows)
        with reporter(_silent(options)) as progress:
            outcome = pipeline.run(source, settings, folder, progress)
        return _show(outcome, folder, options)


def file_of(options: argparse.Namespace, path: str) -> FileSource:
    """The file that the options describe."""
    if options.targets is None:
        raise InputError(f"--targets is missing; name columns of {path}, separated by commas.")
    return described(path, Roles(**_roles(options)))


def _roles(options: argparse.Namespace) -> dict[str, Any]:
    """The roles of columns that were given."""
    given = {name: getattr(options, name, None) for name in ROLES}
    return {name: value for name, value in given.items() if value is not None}


def extract(options: argparse.Namespace) -> int:
    with _opened(options) as folder:
        from weights2code import pipeline

        return _show(pipeline.extract(folder), folder, options)


def verify(options: argparse.Namespace) -> int:
    with _opened(options, decompiled=True) as folder:
        if is_decompiled(folder):
            from weights2code.cli.decompile import show, teller
            from weights2code.decompilation import files

            return show(files.verify(folder, options.task, teller(options)), folder, options)
        from weights2code import pipeline

        return _show(pipeline.verify(folder), folder, options)


def predict(options: argparse.Namespace) -> int:
    from weights2code.cli.standard_input import file_or_input

    if options.json and options.out is None:
        raise InputError("--json takes the place of the table on standard output; name a file with --out.")
    with open_existing(options.folder, alone=False) as folder, file_or_input(options.file) as path:
        from weights2code.predict import predict as predict_in

        out, wrong = (None if name is None else Path(name) for name in (options.out, options.wrong))
        found = predict_in(folder, path, out, wrong, **_roles(options))
    if options.json:
        print(json.dumps({**found.to_dict(), "file": str(out)}, indent=2))
    elif not options.quiet:
        print("\n".join(f"w2c predict: {line}." for line in found.lines()), file=sys.stderr)
    return found.exit_code


def export(options: argparse.Namespace) -> int:
    if options.to == "proof":
        return _proof(options)
    with open_existing(options.folder, alone=False) as folder:
        from weights2code.export import format_of
        from weights2code.predict import program_in
        from weights2code.run_folder import write_atomically

        program, certificate = program_in(folder)
        source = folder.source if isinstance(folder.source, FileSource) else None
        form = format_of(options.to)
        content = form.write(program, source)
        if options.out == "-":
            sys.stdout.buffer.write(content)
            return 0
        out = folder.file(form.file) if options.out is None else Path(options.out)
        if out.is_dir():
            raise InputError(f"--out {out} is a folder; name a file.")
        write_atomically(out, content)
    verdict = certificate.verdict
    line = f"{out}: {form.holds}; the certificate of the program says: {verdict}"
    return _told(options, {"file": str(out), "to": form.name, "verdict": verdict}, line)


def _proof(options: argparse.Namespace) -> int:
    with _opened(options) as folder:
        from weights2code.export.proof import write_proof
        from weights2code.pipeline import problem_in

        out = folder.file("proof") if options.out is None else Path(options.out)
        if out.is_file() or options.out == "-":
            raise InputError(f"--out {out} is no folder; a proof is several files.")
        made = write_proof(folder, problem_in(folder), out)
    lines = [
        f"{item.name}: {item.sentence}; {'' if item.closed else 'not '}closed by check.py; {item.questions} "
        "questions for solvers"
        for item in made
    ]
    lines.append(f"{out}: {'README.txt says how to check it' if made else 'nothing was proved'}")
    return _told(options, {"folder": str(out), "claims": [asdict(item) for item in made]}, *lines)


def report(options: argparse.Namespace) -> int:
    with _opened(options, decompiled=not options.plots) as folder:
        if is_decompiled(folder):
            from weights2code.decompilation import files

            made, notes = [files.report(folder)], []
        else:
            from weights2code.report import gather, write_plots, write_report

            contents = gather(folder)
            made, notes = [write_report(folder, contents=contents)], list(contents.notes)
            made += write_plots(folder, options.plots) if options.plots else []
    paths = [str(path) for path in made]
    if notes and not (options.quiet or options.json):
        print("\n".join(f"w2c report: {note}" for note in notes), file=sys.stderr)
    options.quiet = False  # where the page is, is the result
    return _told(options, {"folder": str(folder.path), "files": paths, "notes": notes}, *paths)


def _told(options: argparse.Namespace, result: dict[str, Any], *lines: str) -> int:
    """A result, as JSON or in lines."""
    if options.json:
        print(json.dumps(result, indent=2))
    elif not options.quiet:
        print("\n".join(lines))
    return 0


def is_decompiled(folder: RunFolder) -> bool:
    """Whether a folder holds the program of a model that existed."""
    return "decompiled" in folder.read_json(CONFIG)


def _opened(options: argparse.Namespace, *, decompiled: bool = False) -> RunFolder:
    """The run folder that a later stage is about; a task of one's own is run if its file is named."""
    folder = open_existing(options.folder)
    if is_decompiled(folder) and not decompiled:
        folder.close()
        raise InputError(
            f"{folder.path} holds the program of a model that existed, {folder.source}: it can be verified, "
            "reported, exported and used to predict; nothing else was trained there."
        )
    if options.task is None or is_decompiled(folder):
        return folder
    from weights2code.tasks.task_file import task_file

    given, known = task_file(options.task), folder.source
    if not isinstance(known, TaskFile):
        raise InputError(f"{folder.path} holds a run of {known}, which needs no --task.")
    if given != replace(known, path=given.path):
        raise InputError(
            f"{options.task} is not the task in {folder.path}: its name or the content of its file differs."
        )
    folder.source = given
    return folder


def default_folder(source: str | TaskFile | FileSource, settings: Settings) -> Path:
    """`w2c-runs/TASK-seedN`; settings that are not the defaults, and files, add a short digest of theirs."""
    named = (*FREE_SETTINGS, "seed")
    other = {name: value for name, value in settings.changed().items() if name not in named}
    if isinstance(source, FileSource):
        other |= {"source": {**source.to_dict(), "file": source.name}}
    elif isinstance(source, TaskFile):
        other |= {"source": source.sha256}
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
