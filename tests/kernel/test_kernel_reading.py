"""Texts are read back as what they were printed from, or refused; random ones stand in `test_properties`."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from case_table import DOMAINS, PROGRAMS, A, B, positions, rows, rule, x
from weights2code.kernel.closing import Text, Unsuited, Written
from weights2code.kernel.reading import read_text
from weights2code.language import Count, Recurrence, Retrieval, Start, Var, integers
from weights2code.language.machine_text import machine_text
from weights2code.language.python_source import python_source
from weights2code.program.sandbox import run_program

SMALL = (integers(0, 3),)
MACHINES = {
    "formula": rule(y=x + 1),
    "lookup": rule(y=Retrieval("x", "x", x)),
    "late": rule(z=x + Var("z", 2) % 2, y=Retrieval("z", "z", x, gap=3)),
    "times": rule(y=Count("x", x, "eq")),
    "rank": rule(y=Count("x", x, "lt")),
}
SOURCES = {name: python_source(machine, SMALL, "program") for name, machine in MACHINES.items()}
SEEN, PUT = "        seen[x[t]] = seen.get(x[t], 0) + 1\n", "            table[z[t-2]] = z[t-2]\n"
#: Texts that do something else, and would be proved wrongly if they were read as these machines.
OTHERWISE = [
    ("formula", "    return y", "        if t >= 2:\n            y[t] = 5\n    return y"),
    ("formula", "        y[t] = x", "        y = x"),
    ("lookup", "        table[x[t]] = x[t]\n", "        if t >= 2:\n            table[x[t]] = x[t]\n"),
    ("lookup", "        table[x[t]] = x[t]\n", "        y[t] = table[x[t]] = x[t]\n"),
    ("lookup", "        table[x[t]] = x[t]\n", "        table[x[t]] = z = x[t]\n"),
    ("lookup", "        table[x[t]] = x[t]\n", "        if x[t]:\n            table[x[t]] = x[t]\n"),
    ("late", "if t >= 2:", "if t >= 3:"),
    ("late", PUT, f"{PUT}        else:\n            table[z[t]] = z[t]\n"),
    ("late", PUT, f"{PUT}            y[t] = 5\n"),
    ("times", SEEN, SEEN + SEEN),
    ("times", SEEN, f"        if t >= 2:\n    {SEEN}"),
    ("times", f"{SEEN}        y[t] = seen.get(x[t], 0)\n", f"        y[t] = seen.get(x[t], 0)\n{SEEN}"),
    ("times", "y[t] = seen.get(x[t], 0)", "y[t] = seen.get(x[t], 5)"),
    ("rank", "        insort(seen, x[t])\n", "        insort(seen, x[t])\n        insort(seen, x[t])\n"),
    ("rank", "bisect_left(seen, x[t])", "bisect_left(seen, x[t], 2)"),
]


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_written_is_read(name: str) -> None:
    read = read_text(Text(SOURCES[name]), ("x",), SMALL)
    assert (read.steps, read.outputs) == (MACHINES[name].steps, ("y",))


@pytest.mark.parametrize(("name", "old", "new"), OTHERWISE)
def test_what_does_something_else_is_refused(name: str, old: str, new: str) -> None:
    assert SOURCES[name].count(old) == 1, SOURCES[name]
    with pytest.raises(Unsuited):
        read_text(Text(SOURCES[name].replace(old, new)), ("x",), SMALL)


@pytest.mark.parametrize("start", [0.0, 3.0, -0.5, inf, -inf, "first"])
def test_starts_are_read_back(start: Start) -> None:
    machine = rule({"a": start}, "a b", y=Var("a", 2) + B)
    found = read_text(Text(python_source(machine, DOMAINS, "program")), machine.inputs, DOMAINS)
    assert found.start_of("a") == start
    assert found.steps == machine.steps


def test_a_text_is_executed_as_it_runs() -> None:
    """A subprocess runs the file as users do."""
    for name in ("starts", "lookup1", "count_lt", "median"):
        program = PROGRAMS[name]
        sequences = [rows(program.domains, length, seed=length) for length in (9, 1)]
        for sequence, right in zip(sequences, run_program(program.source(), sequences), strict=True):
            assert np.array(positions(Text(program.source()), sequence), float).tobytes() == right.tobytes()


def test_no_name_stands_for_another() -> None:
    """`u`, one step back, and a name that looks so."""
    after = Var("u", 1) + Var("table") + Var("u_2")
    machine = rule(None, "a b", u_2=0 * A + 5, u=A, table=B, y=after)
    sequence = rows(DOMAINS, 6)
    assert np.array_equal(positions(Written(machine_text(machine)), sequence), machine.run(sequence[None])[0])
    named: Recurrence = rule(None, "x x_1 x_1_", y=Var("x", 2) + Var("x_1") - Var("x_1_", 1))
    wide = rows((DOMAINS[0],) * 3, 6)
    text = Text(python_source(named, (DOMAINS[0],) * 3, "program"))
    assert np.array_equal(positions(text, wide), named.run(wide[None])[0])
