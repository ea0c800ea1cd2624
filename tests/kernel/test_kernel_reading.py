"""Texts that are read as another program than they are would be proved wrongly: they are refused."""

from __future__ import annotations

import pytest

from weights2code.kernel.closing import Text, Unsuited
from weights2code.kernel.reading import read_text
from weights2code.language import Count, Recurrence, Retrieval, Step, Var, integers
from weights2code.language.python_source import python_source

DOMAINS = (integers(0, 3),)
x = Var("x")
MACHINES = {
    "formula": Recurrence(("x",), (Step("y", x + 1),), ("y",)),
    "lookup": Recurrence(("x",), (Step("y", Retrieval("x", "x", x)),), ("y",)),
    "late": Recurrence(
        ("x",), (Step("z", x + Var("z", 2) % 2), Step("y", Retrieval("z", "z", x, gap=3))), ("y",)
    ),
    "times": Recurrence(("x",), (Step("y", Count("x", x, "eq")),), ("y",)),
    "rank": Recurrence(("x",), (Step("y", Count("x", x, "lt")),), ("y",)),
}
SOURCES = {name: python_source(machine, DOMAINS, "program") for name, machine in MACHINES.items()}
SEEN = "        seen[x[t]] = seen.get(x[t], 0) + 1\n"
OTHERWISE = [
    ("formula", "    return y", "        if t >= 2:\n            y[t] = 5\n    return y"),
    ("formula", "        y[t] = x", "        y = x"),
    ("lookup", "        table[x[t]] = x[t]\n", "        if t >= 2:\n            table[x[t]] = x[t]\n"),
    ("late", "if t >= 2:", "if t >= 3:"),
    (
        "late",
        "            table[z[t-2]] = z[t-2]\n",
        "            table[z[t-2]] = z[t-2]\n            y[t] = 5\n",
    ),
    ("times", SEEN, SEEN + SEEN),
    ("times", SEEN, f"        if t >= 2:\n    {SEEN}"),
    ("times", f"{SEEN}        y[t] = seen.get(x[t], 0)\n", f"        y[t] = seen.get(x[t], 0)\n{SEEN}"),
    ("times", "y[t] = seen.get(x[t], 0)", "y[t] = seen.get(x[t], 5)"),
    ("rank", "        insort(seen, x[t])\n", "        insort(seen, x[t])\n        insort(seen, x[t])\n"),
    ("rank", "bisect_left(seen, x[t])", "bisect_left(seen, x[t], 2)"),
]


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_written_is_read(name: str) -> None:
    read = read_text(Text(SOURCES[name]), ("x",), DOMAINS)
    assert (read.steps, read.outputs) == (MACHINES[name].steps, ("y",))


@pytest.mark.parametrize(("name", "old", "new"), OTHERWISE)
def test_what_does_something_else_is_refused(name: str, old: str, new: str) -> None:
    assert SOURCES[name].count(old) == 1, SOURCES[name]
    with pytest.raises(Unsuited):
        read_text(Text(SOURCES[name].replace(old, new)), ("x",), DOMAINS)
