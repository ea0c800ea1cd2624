"""Random step functions: a few lines of Python with registers, timers, modes, tables, as people write them.

A program is its text: `def step(state, row)` with its start, which is run as it stands. The size counts
assignments and conditions (if, elif, conditional expressions): `SIZES` says which count is which size. The
family is what its first statement is about; all come as often.

What is degenerate is refused: an output that is nearly always the same, at the start or later, one that grows
without bounds, one that is a column, and a program any part of which can be left out. Each statement is
removed, each condition made true and false, each operation replaced by one of its operands, each table entry
by another one and each value that is read by a constant; the output must change at one position in a hundred.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import indent
from typing import Any

import numpy as np
from grammar import IDIOMS, ROLES, Writer

from weights2code import Task

#: Assignments and conditions of each size, at least and at most.
SIZES = {1: (1, 4), 2: (5, 6), 3: (7, 9), 4: (10, 13)}
#: Sequences on which programs and mutants are compared, and the length to which a program must go on.
SEQUENCES, LONG = 80, 100
#: The largest number that it may give on the way.
LARGEST = 1e5
#: Least share of positions that a part must matter for, and that the rarer value of two must have.
MATTERS, BALANCED = 0.01, 0.05
#: Largest share of the most common value where there are more than two.
COMMON = 0.9
#: Names that are no values.
FIXED = frozenset({"row", "state", "min", "max", "abs", "sum", "int"})
COUNTED = (ast.Assign, ast.AugAssign, ast.If, ast.IfExp)


@dataclass(frozen=True)
class StepProgram:
    """A step function as text, with the ranges of the columns that it reads."""

    name: str
    family: str
    size: int
    source: str
    inputs: tuple[tuple[str, tuple[float, float]], ...]
    length: int

    @property
    def task(self) -> Task:
        """The program as the specification of a task."""
        return task_of(self)


@lru_cache(8)
def task_of(program: StepProgram) -> Task:
    """Made once, for a task walks through its states once."""
    names = defined(program.source)
    start, columns = deepcopy(names["START"]), dict(program.inputs)
    return Task(columns, start=start, step=names["step"], length=program.length, name=program.name)


def defined(source: str | ast.Module) -> dict[str, Any]:
    """The names that a text defines."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():  # a mutant may ask for a part of a number
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(source, "program", "exec"), names)
    return names


def drawn(program: StepProgram, seed: int, count: int, length: int) -> np.ndarray:
    """Inputs, uniform on the ranges of the columns."""
    rng, columns = np.random.default_rng(seed), []
    for _, (low, high) in program.inputs:
        real, shape = isinstance(low, float), (count, length)
        columns.append(
            rng.uniform(low, high, shape) if real else rng.integers(int(low), int(high) + 1, shape)
        )
    return np.stack([column.astype(object) for column in columns], 2)


def answers(source: str | ast.Module, program: StepProgram, x: np.ndarray) -> np.ndarray:
    """What a step function answers, called at every position; shape (n, T)."""
    names, columns = defined(source), [name for name, _ in program.inputs]
    y = []
    for sequence in x.tolist():
        state, given = deepcopy(names["START"]), []
        for row in sequence:
            state, out = names["step"](state, dict(zip(columns, row, strict=True)))
            given.append(out)
        y.append(given)
    return np.array(y, dtype=float)


# -- writing -------------------------------------------------------------------------------------------------


def written(family: str, size: int, rng: np.random.Generator) -> StepProgram | None:
    """One attempt at a program that begins with an idiom, not judged yet; it has no name."""
    writer = Writer(rng).begin()
    least, most = SIZES[size]
    body = [writer.statement(family)]
    wanted = int(rng.integers(least, most + 1))
    while weight("\n".join([*body, *writer.ending])) < wanted - 1:
        body.append(writer.statement(writer.among(ROLES)))
    out = writer.output()
    if any(line.endswith(" = out") for line in writer.ending):
        body, out = [*body, f"out = {out}"], "out"
    lines = "\n".join([*body, *writer.ending])
    read = set(re.findall(r"\w+", f"{lines} {out}"))
    columns = [column for column in writer.columns if column.name in read]
    if not columns or not least <= weight(f"{lines}\n{out}") <= most:
        return None
    names = [register.name for register in writer.registers]
    start: Any = tuple(register.start for register in writer.registers)
    state, before = f"({', '.join(names)})", [f"{', '.join(names)} = state"]
    if len(names) < 2:
        start, state = (*start, None)[0], "".join(names) or "state"
        before = [f"{name} = state" for name in names]
    elif writer.of(0.5):
        start = dict(zip(names, start, strict=True))
        state = f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}"
        before = [f"{name} = state[{name!r}]" for name in names]
    before += [f"{column.name} = row[{column.name!r}]" for column in columns]
    function = indent("\n".join([*before, lines, f"return {state}, {out}"]), "    ")
    source = ast.unparse(ast.parse(f"START = {start!r}\n\ndef step(state, row):\n{function}\n"))
    length = int(rng.integers(12, 21)) if "timer" in source else int(rng.integers(10, 13))
    inputs = tuple((column.name, (column.low, column.high)) for column in columns)
    return StepProgram("", family, size, source, inputs, length)


def weight(lines: str) -> int:
    """Assignments and conditions."""
    return sum(isinstance(node, COUNTED) for node in ast.walk(ast.parse(lines)))


# -- judging -------------------------------------------------------------------------------------------------


def faults(program: StepProgram) -> str | None:
    """Why the program does not count, or None."""
    x = drawn(program, 0, SEQUENCES, program.length)
    try:
        y = answers(program.source, program, x)
        found = unbalanced(y) or ("a copy" if (x == y[:, :, None]).all(axis=(0, 1)).any() else None)
        if found := found or idle(program, x, y):
            return found
        longer = answers(program.source, program, drawn(program, 1, SEQUENCES, LONG))
    except (ArithmeticError, LookupError, NameError, TypeError, ValueError) as error:
        return f"raises {type(error).__name__}"
    if not (np.isfinite(longer).all() and np.abs(longer).max() <= LARGEST):
        return "grows too fast"
    return unbalanced(longer[:, LONG // 2 :])


def unbalanced(y: np.ndarray) -> str | None:
    _, counts = np.unique(y, return_counts=True)
    shares = counts / counts.sum()
    if len(shares) == 1:
        return "constant"
    rare = shares.min() < BALANCED if len(shares) == 2 else shares.max() > COMMON
    return "one value nearly always" if rare else None


def idle(program: StepProgram, x: np.ndarray, y: np.ndarray) -> str | None:
    """A part that the output hardly needs."""
    for what, mutant in mutants(program):
        try:
            other = answers(mutant, program, x)
        except Exception:
            continue  # without it nothing works
        if (other != y).mean() < MATTERS:
            return f"does not need {what}"
    return None


def mutants(program: StepProgram) -> Iterator[tuple[str, ast.Module]]:
    """Which part of a program is changed, and the program with it changed; it holds until the next one."""
    tree = ast.parse(program.source)
    for node in ast.walk(tree.body[-1]):
        for field, held in ast.iter_fields(node):
            children = held if isinstance(held, list) else [held]
            for i, child in enumerate(children):
                for other in _alternatives(child) if isinstance(child, ast.AST) else ():
                    new = [*children[:i], other, *children[i + 1 :]]
                    setattr(node, field, new if isinstance(held, list) else other)
                    yield ast.unparse(child), ast.fix_missing_locations(tree)
                    setattr(node, field, held)


def _alternatives(node: ast.AST) -> list[ast.AST]:
    """What a part is replaced by, to see whether it matters."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name not in FIXED:
            return [ast.Constant(0), ast.Constant(1)]
        case ast.If():
            return [ast.Pass(), *(ast.If(ast.Constant(b), node.body, node.orelse) for b in (True, False))]
        case ast.Assign() | ast.AugAssign():
            return [ast.Pass()]
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.BinOp():
            return [node.left, node.right]
        case ast.BoolOp():
            return [*node.values]
        case ast.Call(func=ast.Name(id="min" | "max" | "abs")):
            return [*node.args]
        case ast.Compare(ops=[one, other]):
            first, second = node.comparators
            return [ast.Compare(node.left, [one], [first]), ast.Compare(first, [other], [second])]
        case ast.Compare(ops=[ast.In()], comparators=[ast.Tuple(elts=some)]):
            return [ast.Compare(node.left, [ast.Eq()], [one]) for one in some]
        case ast.List(elts=values) if len(values) > 1:
            return [ast.List(new, ast.Load()) for new in _others(values)]
        case ast.Dict(keys=keys, values=[ast.Constant(), *_] as values):
            return [ast.Dict(keys, new) for new in _others(values)]
    return []


def _others(values: Sequence[ast.expr]) -> Iterator[list[ast.expr]]:
    """The entries of a table, one of them replaced by another that differs."""
    for i, value in enumerate(values):
        different = [one for one in values if ast.dump(one) != ast.dump(value)]
        yield [*values[:i], *(different[:1] or [ast.Constant(0)]), *values[i + 1 :]]


def draw(count: int, seed: int, sizes: Sequence[int] = tuple(SIZES)) -> list[StepProgram]:
    """Programs s000, s001, ... of the sizes in turn; the same for the same seed, however many there are."""
    programs: list[StepProgram] = []
    met: set[bytes] = set()  # what was computed, of columns of such ranges
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        family = str(rng.choice(IDIOMS))
        while True:
            program = written(family, sizes[i % len(sizes)], rng)
            if program is not None and faults(program) is None:
                y = answers(program.source, program, drawn(program, 2, SEQUENCES, LONG // 4))
                mark = repr([values for _, values in program.inputs]).encode() + y.tobytes()
                if mark not in met:
                    break
        met.add(mark)
        programs.append(replace(program, name=f"s{i:03d}"))
    return programs
