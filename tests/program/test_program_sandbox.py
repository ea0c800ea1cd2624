"""The sandbox: what is not arithmetic is refused, and what runs is limited."""

import os
from pathlib import Path

import numpy as np
import pytest

from weights2code.errors import InputError
from weights2code.program import check_source, run_program, sandbox

HEAD = 'import numpy as np\n__all__ = ["f"]\n'
GOOD = HEAD + "def f(x):\n    return np.asarray(x) * 2.0\n"


def body(*lines, head=HEAD):
    return head + "def f(x):\n" + "".join(f"    {line}\n" for line in lines)


REFUSED = {
    "import of os": body("return x", head='import os\n__all__ = ["f"]\n'),
    "import inside": body("import subprocess", "return x"),
    "from import": body("from os import system", "return x"),
    "relative import": body("from . import secrets", "return x"),
    "star import": body("from numpy import *", "return x"),
    "loader of numpy": body("from numpy import load", "return x"),
    "file through numpy": body("return np.load('secret.npy')"),
    "file written by an array": body("x.tofile('out')", "return x"),
    "numpy internals": body("return np.lib.npyio.os.system('true')"),
    "ctypes": body("return np.ctypeslib"),
    "open": body("return open('secret')"),
    "eval": body("return eval('1')"),
    "exec": body("exec('1')", "return x"),
    "getattr": body("return getattr(x, 'shape')"),
    "import function": body("return __import__('os')"),
    "globals": body("return globals()"),
    "dunder attribute": body("return x.__class__"),
    "subclasses": body("return ().__class__.__base__.__subclasses__()"),
    "dunder in a format": body("return f'{x.__class__}'"),
    "format method": body("return '{0.__class__}'.format(x)"),
    "renamed module": body("return q.load('s')", head='import numpy as q\n__all__ = ["f"]\n'),
    "alias with underscores": body("return x", head='import numpy as __np\n__all__ = ["f"]\n'),
    "lambda": body("return (lambda: x)()"),
    "while": body("while True:", "    pass"),
    "class": body("class A:", "    pass", "return x"),
    "decorator": HEAD + "@staticmethod\ndef f(x):\n    return x\n",
    "with": body("with x:", "    pass", "return x"),
    "try": body("try:", "    return x", "except ValueError:", "    return x"),
    "global": body("global np", "return x"),
    "delete": body("del x", "return 1"),
    "generator": body("yield x"),
    "async": HEAD + "async def f(x):\n    return x\n",
    "walrus": body("return (y := x)"),
    "code at the top": GOOD + "f([1])\n",
    "no public name": "def f(x):\n    return x\n",
    "two public names": '__all__ = ["f", "g"]\ndef f(x):\n    return x\ndef g(x):\n    return x\n',
    "a public name that is not defined": '__all__ = ["g"]\ndef f(x):\n    return x\n',
    "a computed public name": '__all__ = ["f" + ""]\ndef f(x):\n    return x\n',
    "not python": "def f(x:\n",
    "null byte": "x = '\0'",
    "deep nesting": HEAD + "def f(x):\n    return " + "(" * 5000 + "x" + ")" * 5000 + "\n",
}


def test_a_plain_program_passes():
    assert check_source(GOOD) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_on_the_list_is_refused(name):
    assert check_source(REFUSED[name]) != []


def test_refusal_comes_before_anything_runs(tmp_path):
    trace = tmp_path / "trace"
    with pytest.raises(InputError, match=r"refused.*open"):
        run_program(body(f"open({str(trace)!r}, 'w')", "return x"), [np.zeros(2)])
    assert not trace.exists()


def test_many_sequences_in_one_call_from_a_file(tmp_path):
    path = Path(tmp_path / "program.py")
    path.write_text(GOOD, encoding="utf-8")
    sequences = [np.zeros(0), np.array([1.5, np.inf]), np.zeros((3, 2))]
    results = run_program(path, sequences)
    assert [result.shape for result in results] == [(0,), (2,), (3, 2)]
    assert np.array_equal(results[1], [3.0, np.inf])


def test_numbers_come_back_bit_for_bit():
    values = np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(-50, 50)
    result = run_program(body("return np.asarray(x)"), [values])[0]
    assert result.tobytes() == values.tobytes()


def test_errors_of_the_program_are_said():
    with pytest.raises(InputError, match="ValueError: too short"):
        run_program(body('raise ValueError("too short")'), [np.zeros(2)])


def test_a_program_that_does_not_end_is_stopped():
    endless = body("for t in range(10 ** 12):", "    x = x + 1", "return x")
    with pytest.raises(InputError, match=r"did not finish within 0\.5 s"):
        run_program(endless, [np.zeros(1)], timeout=0.5)


def test_a_program_that_wants_too_much_memory_is_stopped():
    with pytest.raises(InputError, match="fails"):
        run_program(body("return np.zeros(10 ** 12)"), [np.zeros(1)])


def test_a_program_that_returns_too_much_is_stopped():
    with pytest.raises(InputError, match="more numbers than a program has outputs"):
        run_program(body("return np.zeros(10 ** 7)"), [np.zeros(1)])


def test_a_number_that_nobody_waits_for():
    with pytest.raises(InputError, match=r"did not finish|was stopped|fails"):
        run_program(body("return 10 ** 10 ** 10 + len(x)"), [np.zeros(1)], timeout=0.5)


@pytest.mark.parametrize("text", ["one\\ntwo", "x" * 100_000])
def test_an_error_is_one_short_sentence(text: str):
    with pytest.raises(InputError) as caught:
        run_program(body(f'raise ValueError("{text}")'), [np.zeros(2)])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "statement",
    ["open('made', 'w')", "import socket; socket.socket()", "import subprocess; subprocess.run(['true'])"],
)
def test_behind_the_first_wall_stands_a_second(statement: str, monkeypatch, tmp_path):
    """What a text would meet if the allow-list let it pass, with all of Python at hand."""
    monkeypatch.setattr(sandbox, "check_source", lambda text: [])
    free = sandbox._RUNNER.replace('{**allowed, "__import__": limited_import}', "builtins.__dict__")
    assert free != sandbox._RUNNER
    monkeypatch.setattr(sandbox, "_RUNNER", free)
    with pytest.raises(InputError, match=r"fails: (OSError|ImportError|ModuleNotFoundError|BlockingIOError)"):
        run_program(body(statement, "return x"), [np.zeros(2)])


def test_a_program_file_must_be_a_plain_one(tmp_path):
    os.mkfifo(tmp_path / "program.py")
    with pytest.raises(InputError, match="not a plain file"):
        run_program(tmp_path / "program.py", [np.zeros(2)])
