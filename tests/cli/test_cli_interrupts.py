"""Ctrl-C ends a command at any moment with one line and 130; nothing surfaces as an exception."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

#: Ctrl-C is heard even where the tests run in the background, for whose children it is ignored.
HEARD = "import os, signal, sys, threading\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
IGNORED = HEARD.replace("default_int_handler", "SIG_IGN")
MAIN = "from weights2code.cli import main\nsys.argv[1:] = ['tasks']\nsys.exit(main())"
#: The process interrupts itself when a module is about to be imported.
IMPORTING = """
class Finder:
    def find_spec(name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{signal})
            os.kill(os.getpid(), signal.{signal})
            threading.Event().wait()
sys.meta_path.insert(0, Finder)
"""
#: In the place of a command.
COMMAND = """
from weights2code.cli import commands
def tasks(options):
{body}
commands.tasks = tasks
"""
SWALLOWS = """
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        try:
            threading.Event().wait()
        except BaseException:
            pass
"""
WRITES = """
    from weights2code.cli.interrupts import whole_output
    with whole_output():
        print("first half")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGINT)
        while signal.SIGINT in signal.sigpending():
            pass
        print("second half")
    threading.Event().wait()
"""
BACKGROUND = "    os.kill(os.getpid(), signal.SIGINT)\n    return 0\n"
STOPPED = "stopped; the same command with the same --out continues.\n"
ENDED = "w2c: ended from outside; the same command with the same --out continues.\n"


@pytest.mark.parametrize(
    ("code", "exit_code", "out", "err"),
    [
        *((HEARD + IMPORTING.format(module=name, signal="SIGINT"), 130, "", STOPPED)
          for name in ("argparse", "weights2code.cli.dispatch", "weights2code.tasks")),
        (HEARD + IMPORTING.format(module="weights2code.cli.dispatch", signal="SIGTERM"), 143, "", ENDED),
        (HEARD + COMMAND.format(body=SWALLOWS), 130, "", f"w2c tasks: {STOPPED}"),
        (HEARD + COMMAND.format(body=WRITES), 130, "first half\nsecond half\n", f"w2c tasks: {STOPPED}"),
        (IGNORED + COMMAND.format(body=BACKGROUND), 0, "", ""),
    ],
    ids=["argparse", "dispatch", "tasks", "ended", "swallowed", "written whole", "in the background"],
)  # fmt: skip
def test_signals_are_one_line_at_any_moment(code: str, exit_code: int, out: str, err: str):
    found = subprocess.run(
        [sys.executable, "-c", code + MAIN], capture_output=True, text=True, check=False, timeout=60
    )
    assert (found.returncode, found.stdout) == (exit_code, out)
    assert found.stderr.endswith(err)
    assert found.stderr.count("\n") == bool(err)
    assert found.stderr.startswith("w2c" if err else "")
