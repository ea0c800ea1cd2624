"""Two texts are the same program if they do the same, letter for letter, in the same order."""

import pytest

from weights2code.program.same_text import first_difference

TEXT = '''"""About it."""
import numpy as np


def f(x):
    """Twice."""
    y = x * 2.0
    return y + 0.0
'''


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("Twice", "Three times"),
        TEXT.replace('"""About it."""\n', ""),
        TEXT.replace('    """Twice."""\n', ""),
        TEXT.replace("x * 2.0", "(x*2.0)  # twice"),
    ],
)
def test_words_and_layout_do_not_count(other: str):
    assert first_difference(TEXT, other) is None
    assert first_difference(other, TEXT) is None


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("2.0", "2", 7),
        ("* 2.0", "+ 2.0", 7),
        ("+ 0.0", "+ -0.0", 8),
        ("return y", "if x > 9:\n        y = 1\n    return y", 8),
        ("    y = x * 2.0\n", "    y = x * 2.0\n    y = y\n", 8),
        ("def f(x)", "def f(x, z=1)", 5),
        ("import numpy as np", "import numpy", 2),
        ("y + 0.0\n", "y + 0.0\n\n\ndef g(x):\n    return x\n", 11),
    ],
)
def test_everything_else_counts(old: str, new: str, line: int):
    changed = TEXT.replace(old, new)
    assert changed != TEXT
    assert first_difference(changed, TEXT) == line
    assert first_difference(TEXT, changed) is not None


def test_long_sums_are_compared():
    long = "def f(x):\n    return " + " + ".join(["x"] * 300) + "\n"
    assert first_difference(long, long) is None
    assert first_difference(long, long.replace("x + x", "x - x", 1)) == 2
