"""The front door: parse, run one command, turn every failure into one sentence and an exit code.

Exit codes (design: "Contract"): 0 done, and for `run`, `extract` and `verify` the program is verified; 1 the
program misses its specification; 2 bad input or usage; 3 not extracted; 130 stopped by the user,
143 ended from outside.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from weights2code.cli.interrupts import INTERRUPTED, STOPPED, name_command
from weights2code.cli.parser import build_parser
from weights2code.errors import Weights2CodeError

#: Commands that have a module of their own.
OWN_MODULE = ("bench", "decompile", "experiment")

BROKEN_PIPE = 141

#: One thread: the arrays are small, so threads wait for each other more than they compute, and results do not
#: depend on the number of cores. Libraries read these when they are first imported.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

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
    except Weights2CodeError as error:
        return _fail(options.command, str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail(options.command, STOPPED, INTERRUPTED)
    except BrokenPipeError:  # the reader of a pipe left: nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        hint = "; check its permissions" if isinstance(error, PermissionError) else ""
        reason = (error.strerror or str(error)).lower()
        return _fail(options.command, f"{_place(error)}{reason}{hint}.", 2)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "memory" in str(error):
            return _fail(options.command, "there is not enough memory for these sizes; make them smaller.", 2)
        raise


def _place(error: OSError) -> str:
    """The file that an error is about; of one that was to replace another, the other."""
    path = error.filename2 or error.filename
    if not path:
        return ""
    folder, name = os.path.split(os.fsdecode(path))
    found = re.fullmatch(r"\.(.+)\.\d+\.part", name)
    return f"{os.path.join(folder, found[1] if found else name)}: "


def _fail(command: str, sentence: str, code: int) -> int:
    """Say it on one line that somebody can read, whatever a file or a name in it holds."""
    line = " ".join(sentence.splitlines())
    line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."
    print(f"w2c {command}: {line}", file=sys.stderr)
    return code
