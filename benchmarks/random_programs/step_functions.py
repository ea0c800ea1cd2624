"""Random step functions: a few lines of Python with registers, timers, modes, tables, as people write them.

The grammar (`step_statements`) knows nothing of what a search can find; it is another measure than the trees
of `generate`. A program is its text: `def step(state, row)` with its start and its tables, which is run as it
stands. The size counts assignments and conditions (if, elif, conditional expressions), and one for an output
that is not just a name: `SIZES` says which count is which size. Unpacking state and row does not count. The
family is an idiom that the program must have; all come as often. The tags are all idioms that it has.

What is degenerate is refused: an output that is nearly always the same, at the start or later, one that grows
without bounds, one that is a column, and a program any part of which can be left out. Each statement is
removed, each condition made true and false, each operation replaced by one of its operands, each table entry
by another one and each value that is read by a constant; the output must change at one position in a hundred.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import permutations
from textwrap import indent
from typing import Any

import numpy as np
from checks import Drawn
from step_expressions import Value
from step_mutants import kept_in, mutants
from step_statements import IDIOMS, Writer

from weights2code import Task
from weights2code.language import Domain, integers, reals, uniform
from weights2code.tasks import StepFunction

#: Assignments and conditions of each size, at least and at most.
SIZES = {1: (1, 4), 2: (5, 6), 3: (7, 9), 4: (10, 13)}
#: Sequences on which programs and mutants are compared, and the length to which a program must go on.
SEQUENCES, LONG = 80, 100
#: Sequences on which what happens rarely must not raise an error.
MANY = 1000
#: The largest number that it may give on the way.
LARGEST = 1e5
#: Least share of positions that a part must matter for, and that the rarer value of two must have.
MATTERS, BALANCED = 0.01, 0.05
#: Largest share of the most common value where there are more than two.
COMMON = 0.9
#: Kinds of idiom by the role of a register.
TAGS = {
    "flag": "mode",
    "timer": "timer",
    "mode": "mode",
    "past": "past",
    "output": "past",
    "window": "window",
}
Range = tuple[float, float]
Rows = list[list[dict[str, float]]]


@dataclass(frozen=True)
class StepProgram(Drawn):
    """A step function as text, with the ranges of the columns that it reads."""

    name: str
    family: str
    size: int
    source: str
    inputs: tuple[tuple[str, Range], ...]
    length: int
    tags: tuple[str, ...]

    #: What must be kept is known for programs of the other generator only.
    memory = "-"

    @property
    def start(self) -> Any:
        return deepcopy(compiled(self.source)["START"])

    @property
    def step(self) -> Callable[[Any, dict[str, float]], tuple[Any, float]]:
        return compiled(self.source)["step"]

    @property
    def task(self) -> Task:
        """The program as the specification of a task."""
        return _task(self)

    @property
    def domains(self) -> tuple[Domain, ...]:
        return self.task.domains

    @property
    def machine(self) -> StepFunction:
        """The specification."""
        found = self.task.specification
        assert isinstance(found, StepFunction)
        return found

    def run(self, x: np.ndarray) -> np.ndarray:
        """Outputs of shape (n, T, 1) for inputs of shape (n, T, columns)."""
        return answers(compiled(self.source), rows_of(self.inputs, x))

    def text(self) -> str:
        return self.source


@lru_cache(8)
def _task(program: StepProgram) -> Task:
    """Made once, for a task walks through its states once."""
    columns, length = dict(program.inputs), program.length
    return Task(columns, start=program.start, step=program.step, length=length, name=program.name)


@lru_cache(256)
def compiled(source: str) -> dict[str, Any]:
    """The names that a text defines."""
    names: dict[str, Any] = {}
    exec(source, names)
    return names


def rows_of(inputs: Sequence[tuple[str, Range]], x: np.ndarray) -> Rows:
    """Sequences as what a step function is given: a dictionary a position."""
    names = [name for name, _ in inputs]
    columns = [
        (x[:, :, i].astype(int) if isinstance(low, int) else x[:, :, i]).tolist()
        for i, (_, (low, _)) in enumerate(inputs)
    ]
    return [
        [dict(zip(names, values, strict=True)) for values in zip(*sequence, strict=True)]
        for sequence in zip(*columns, strict=True)
    ]


def answers(names: dict[str, Any], rows: Rows) -> np.ndarray:
    """What a step function answers, called at every position; shape (n, T, 1)."""
    step, start = names["step"], names["START"]
    y: list[list[float]] = []
    for sequence in rows:
        state, given = (dict(start) if isinstance(start, dict) else start), []
        for row in sequence:
            state, out = step(state, row)
            given.append(out)
        y.append(given)
    return np.array(y, dtype=float)[:, :, None]


def domains_of(inputs: Sequence[tuple[str, Range]]) -> tuple[Domain, ...]:
    return tuple(
        reals(low, high) if isinstance(low, float) else integers(low, int(high)) for _, (low, high) in inputs
    )


# Writing


class _Placed(ast.NodeTransformer):
    """Names read from where they are kept: `row["speed"]`, `state["timer"]`."""

    def __init__(self, kept: dict[str, str]) -> None:
        self.kept = kept

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.kept:
            return node
        return ast.Subscript(ast.Name(self.kept[node.id]), ast.Constant(node.id), node.ctx)


def source_of(writer: Writer, body: Sequence[str], out: str) -> str:
    """The text of a program, with its state and its rows in one of the ways that people keep them."""
    registers, columns = ([value.text for value in kind] for kind in (writer.registers, writer.columns))
    as_dictionary = bool(registers) and writer.of(0.2 if len(registers) == 1 else 0.5)
    unpacked = writer.of(0.5)
    start: object = tuple(register.start for register in writer.registers)
    before, after, state = [f"{', '.join(registers)} = state"], f"({', '.join(registers)})", "state"
    kept = {} if unpacked else dict.fromkeys(columns, "row")
    if as_dictionary:
        kept |= dict.fromkeys(registers, "state")
        start, before, after = {register.text: register.start for register in writer.registers}, [], "state"
    elif len(registers) < 2:
        start = writer.registers[0].start if registers else None
        state, before = registers[0] if registers else "state", []
        after = state
    if unpacked:
        before.append(f"{', '.join(columns)} = {', '.join(f'row[{name!r}]' for name in columns)}")
    placed = [ast.unparse(_Placed(kept).visit(ast.parse(text))) for text in ("\n".join(body), out)]
    given = f"({placed[1]})" if " if " in placed[1] else placed[1]
    lines = "\n".join((*before, placed[0], f"return {after}, {given}"))
    function = f"def step({state}, row):\n{indent(lines, '    ')}\n"
    tables = [f"{name} = {table}\n" for name, table in writer.tables.items() if name in function]
    return f"{''.join(tables)}START = {start!r}\n\n\n{function}"


def weight(source: str) -> int:
    """Assignments, conditions, and one for an output that is not just a name."""
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    counted = [
        node
        for node in ast.walk(function)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.If, ast.IfExp)) and not _unpacks(node)
    ]
    given = function.body[-1]
    assert isinstance(given, ast.Return)
    assert isinstance(given.value, ast.Tuple)
    shown = given.value.elts[1]
    return len(counted) + (not isinstance(shown, (ast.Name, ast.IfExp)) and not kept_in(shown))


def _unpacks(node: ast.AST) -> bool:
    """Whether a statement only gives names to the state or to the columns of the row."""
    if not isinstance(node, ast.Assign):
        return False
    if ast.unparse(node.value) == "state":
        return True
    names, values = (
        part.elts if isinstance(part, ast.Tuple) else [part] for part in (node.targets[0], node.value)
    )
    return all(kept_in(value) == ast.unparse(name) for name, value in zip(names, values, strict=False))


def tags_of(source: str, registers: Sequence[Value], columns: Sequence[Value]) -> tuple[str, ...]:
    """The idioms of a program: by the roles of its registers, and by what stands in its text."""
    found = {TAGS.get(value.role, "register"): None for value in registers}
    tree = ast.parse(source)
    names = {column.text for column in columns}
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and any(isinstance(inner, ast.If) for inner in node.body):
            found["nested"] = None
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.Slice)):
            found["table"] = None
        if isinstance(node, ast.BinOp):
            read = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            read |= {str(kept_in(part)) for part in ast.walk(node)}
            found |= {"arithmetic": None} if len(read & names) > 1 else {}
    if any(value.words for value in registers):
        found["string mode"] = None
    return tuple(found)


def written(family: str, size: int, rng: np.random.Generator) -> StepProgram | None:
    """One attempt at a program of an idiom and a size, not judged yet; it has no name."""
    writer = Writer(rng)
    least, most = SIZES[size]
    body, out = writer.body(family, int(rng.integers(least, most + 1)) - 1)
    read = set(re.findall(r"\w+", " ".join((*body, out))))
    writer.columns = [column for column in writer.columns if column.text in read]
    if not writer.columns:
        return None
    source = source_of(writer, body, out)
    tags = tags_of(source, writer.registers, writer.columns)
    if not least <= weight(source) <= most or family not in tags:
        return None
    length = int(rng.integers(12, 21)) if "timer" in tags else int(rng.integers(10, 13))
    inputs = tuple((column.text, (column.low, column.high)) for column in writer.columns)
    return StepProgram("", family, size, source, inputs, length, tags)


# Judging


def faults(program: StepProgram) -> str | None:
    """Why the program does not count, or None."""
    rng = np.random.default_rng(0)
    domains = domains_of(program.inputs)
    x = uniform(rng, domains, SEQUENCES, program.length)
    longer = uniform(rng, domains, SEQUENCES // 2, LONG)
    try:
        y = program.run(x)
        found = unbalanced(y) or _far(program.run(longer)) or _copy(x, y) or idle(program, x, y)
        if found is None:
            program.run(uniform(rng, domains, MANY, LONG // 2))
    except (ArithmeticError, LookupError, NameError, TypeError, ValueError) as error:
        return f"raises {type(error).__name__}"
    return found


def _far(y: np.ndarray) -> str | None:
    """What goes wrong far from the start."""
    within = np.isfinite(y).all() and np.abs(y).max() <= LARGEST
    return unbalanced(y[:, LONG // 2 :]) if within else "grows too fast"


def _copy(x: np.ndarray, y: np.ndarray) -> str | None:
    return "a copy" if (x == y).all(axis=(0, 1)).any() else None


def unbalanced(y: np.ndarray) -> str | None:
    _, counts = np.unique(y, return_counts=True)
    shares = counts / counts.sum()
    if len(shares) == 1:
        return "constant"
    rare = shares.min() < BALANCED if len(shares) == 2 else shares.max() > COMMON
    return "one value nearly always" if rare else None


def idle(program: StepProgram, x: np.ndarray, y: np.ndarray) -> str | None:
    """A part that the output hardly needs."""
    rows = rows_of(program.inputs, x)
    for what, mutant in mutants(program.source, program.inputs, program.start):
        names: dict[str, Any] = {}
        try:
            exec(compile(mutant, "mutant", "exec"), names)
            other = answers(names, rows)
        except Exception:
            continue  # without it nothing works
        if (other != y).mean() < MATTERS:
            return f"does not need {what}"
    return None


def signature(program: StepProgram) -> str:
    """Equal for programs that compute the same, whatever their columns are called and in which order."""
    found = []
    for order in permutations(range(len(program.inputs))):
        inputs = [program.inputs[i] for i in order]
        ranges = [values for _, values in inputs]
        if ranges == sorted(ranges):
            x = uniform(np.random.default_rng(1), domains_of(inputs), SEQUENCES, LONG // 4)
            y = answers(compiled(program.source), rows_of(inputs, x))
            found.append(sha256(repr(ranges).encode() + y.tobytes()).hexdigest())
    return min(found)


def draw(count: int, seed: int, sizes: Sequence[int] = (1, 2, 3, 4)) -> list[StepProgram]:
    """Programs s000, s001, ... of the sizes in turn; the same for the same seed, however many there are."""
    programs: list[StepProgram] = []
    met: set[str] = set()
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        family = str(rng.choice(IDIOMS))
        while True:
            program = written(family, sizes[i % len(sizes)], rng)
            if program is not None and faults(program) is None and (mark := signature(program)) not in met:
                break
        met.add(mark)
        programs.append(replace(program, name=f"s{i:03d}"))
    return programs
