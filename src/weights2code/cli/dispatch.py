"""The front door: parse, run one command, turn every failure into one sentence and an exit code.

Exit codes (design: "Contract"): 0 done, and for `run`, `extract` and `verify` the program is verified; 1 the
program misses its specification; 2 bad input or usage; 3 not extracted; 130 stopped by the user,
143 ended from outside.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from weights2code.cli.interrupts import INTERRUPTED, STOPPED, name_command
from weights2code.cli.parser import build_parser, flags_of
from weights2code.effort import THREADS
from weights2code.errors import TOO_FAR, Weights2CodeError

#: Commands that have a module of their own.
OWN_MODULE = ("bench", "decompile", "experiment")

BROKEN_PIPE = 141

#: Characters of what an error says.
LONGEST_LINE = 1000


def dispatch(arguments: Sequence[str] | None = None) -> int:
    """See `main`."""
    parser = build_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as leaving:  # argparse leaves after --help and after its own errors
        return int(leaving.code or 0)
    name_command(options.command)
    given = sys.argv[1:] if arguments is None else arguments
    options.command_line = shlex.join(["w2c", *given])
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    module = options.command if options.command in OWN_MODULE else "commands"
    command = getattr(import_module(f"weights2code.cli.{module}"), options.command)
    try:
        code = command(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of a pipe left: nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        said = _sentence(error)
        if said is None:
            raise
        return _fail(options, *said)


def _sentence(error: BaseException) -> tuple[str, int] | None:
    """What to say of an error, and the exit code; None of one that is a mistake of ours."""
    if isinstance(error, Weights2CodeError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return STOPPED, INTERRUPTED
    if isinstance(error, OSError):
        hint = "; check its permissions" if isinstance(error, PermissionError) else ""
        return f"{_place(error)}{(error.strerror or str(error)).lower()}{hint}.", 2
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "memory" in str(error)):
        return "there is not enough memory for these sizes; make them smaller.", 2
    if type(error).__name__ == "LinAlgError":
        return TOO_FAR, 2
    return None


def _place(error: OSError) -> str:
    """The file that an error is about; of one that was to replace another, the other."""
    path = error.filename2 or error.filename
    if not path:
        return ""
    folder, name = os.path.split(os.fsdecode(path))
    found = re.fullmatch(r"\.(.+)\.\d+\.part", name)
    return f"{os.path.join(folder, found[1] if found else name)}: "


def _elsewhere(sentence: str, command: str) -> str:
    """Which commands have the options that a sentence names, where its own has not.

    Of a file the same is said wherever it is read.
    """
    own, others = flags_of(command), {name: flags_of(name) for name in ("fit", "run")}
    named = dict.fromkeys(re.findall(r"(?<![\w`-])--[a-z][a-z-]+", re.sub(r"`[^`]*`", "", sentence)))
    for name, flags in others.items():
        if found := [flag for flag in named if flag in flags - own]:
            return f" ({' and '.join(found)}: options of `w2c {name}`)"
    return ""


def _fail(options: argparse.Namespace, sentence: str, code: int) -> int:
    """Say it on one line that somebody can read, whatever a name in it holds; as JSON too, if asked."""
    line = " ".join(sentence.splitlines()) + _elsewhere(sentence, options.command)
    line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."
    print(f"w2c {options.command}: {line}", file=sys.stderr)
    if getattr(options, "json", False):
        print(json.dumps({"exit_code": code, "error": line}, indent=2))
    return code
