"""Ctrl-C ends a command at any moment with one line and 130; nothing surfaces as an exception."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

#: Ctrl-C is heard even where the tests run in the background, for whose children it is ignored.
HEARD = "import os, signal, sys, threading\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
NEVER_ENDS = "threading.Event().wait()"
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
MAIN = "from weights2code.cli import main\nsys.argv[1:] = {arguments}\nsys.exit(main())"


def ended(code: str) -> tuple[int, str, str]:
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    return found.returncode, found.stdout, found.stderr


@pytest.mark.parametrize("module", ["argparse", "weights2code.cli.dispatch", "weights2code.tasks"])
def test_imports_can_be_interrupted_twice(module: str):
    code = HEARD + IMPORTING.format(module=module, signal="SIGINT") + MAIN.format(arguments=["tasks"])
    exit_code, out, err = ended(code)
    assert (exit_code, out) == (130, "")
    assert err.startswith("w2c")
    assert err.endswith("stopped; the same command with the same --out continues.\n")
    assert err.count("\n") == 1


def test_an_end_from_outside_is_one_line_too():
    code = IMPORTING.format(module="weights2code.cli.dispatch", signal="SIGTERM")
    exit_code, out, err = ended(HEARD + code + MAIN.format(arguments=["tasks"]))
    assert (exit_code, out) == (143, "")
    assert err == "w2c: ended from outside; the same command with the same --out continues.\n"


COMMAND = """
from weights2code.cli import commands
def tasks(options):
    {body}
commands.tasks = tasks
"""


def test_nothing_can_swallow_an_interrupt():
    body = f"""
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        try:
            {NEVER_ENDS}
        except BaseException:
            pass
"""
    code = HEARD + COMMAND.format(body=body.strip()) + MAIN.format(arguments=["tasks"])
    assert ended(code) == (130, "", "w2c tasks: stopped; the same command with the same --out continues.\n")


def test_a_result_is_written_whole():
    body = """
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
    code = HEARD + COMMAND.format(body=body.strip()) + MAIN.format(arguments=["tasks"])
    assert ended(code)[:2] == (130, "first half\nsecond half\n")


def test_a_command_in_the_background_does_not_listen():
    body = """
    os.kill(os.getpid(), signal.SIGINT)
    return 0
"""
    ignored = "import os, signal, sys, threading\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    assert ended(ignored + COMMAND.format(body=body.strip()) + MAIN.format(arguments=["tasks"])) == (
        0,
        "",
        "",
    )
