"""Programs in other languages compute what the text of `program.py` computes: each is run by the real thing.

One table of cases, found wrong once or made by chance over all operators, goes to every language. Whatever is
not sine, power or the like must be equal to the last bit, also of infinities and of what is no number.
"""

from __future__ import annotations

import csv
import ctypes
import html
import io
import json
import operator
import re
import shutil
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.cli.parser import EXPORTS
from weights2code.data import FileSource, file_source
from weights2code.errors import InputError
from weights2code.export import ALIASES, FORMATS, format_of
from weights2code.language import (
    OPERATORS,
    Const,
    Count,
    Definition,
    Domain,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    integers,
    op,
    reals,
    texts,
    where,
)
from weights2code.language.domain import TRUTHS
from weights2code.language.formula_reading import read_recurrence
from weights2code.language.operators import order_name
from weights2code.language.recurrence import RELATIONS
from weights2code.program import Program
from weights2code.roles import Roles

INEXACT = {"pow", "exp", "log", "sin", "cos"}
NAMES = [
    "S", "s", "rowid", "_rowid_", "sum", "Number", "failed", "value", "at_", "t_", "row", "answer", "index",
    "round", "while", "class", "select", "linux", "M_PI", "key", "find", "list", "mod", "out", "length",
    "k", "w_", "d_", "b_", "a0", "v", "rows_", "run_", "NULL", "int", "größe", "x_past", "y_table",
    "known_", "sequence_", "truth", "fmod", "table", "put",
]  # fmt: skip
WHOLE = (0, 1, 2, 3, 5, 9, -1, -2, -7, 2**53, -(2**53) - 2, 1e17)
REAL = (0.0, 0.1, 0.7, 2.5, 3.0, -0.5, -2.25, -1e-20, 1e300, 5e-324, 2.0**53 + 2, np.inf, -np.inf)
SMALL, REALS, X, Y = integers(-9, 9), reals(-1.0, 1.0), Var("x"), Var("y", 1)


class Case(NamedTuple):
    program: Program
    rows: np.ndarray
    truth: np.ndarray


def exported(program: Program, name: str, source: FileSource | None = None) -> bytes:
    return format_of(name).write(program, source)


def truth_of(program: Program, rows: np.ndarray) -> np.ndarray:
    """What the text gives; it is our own, so it runs here, which is faster than the sandbox."""
    space: dict[str, Any] = {}
    exec(program.source(), space)
    with np.errstate(all="ignore"):
        return space[program.name](rows).reshape(len(rows), -1)


def case(name: str, inputs: dict[str, Domain], steps: dict[str, Definition], rows: Any, **more: Any) -> Case:
    made = tuple(Step(step, definition) for step, definition in steps.items())
    outputs = more.get("outputs", tuple(steps)[-1:])
    rule = Recurrence(tuple(inputs), made, outputs, more.get("start", {}))
    program = Program(name, rule, tuple(inputs.values()))
    array = np.array(rows, float).reshape(len(rows), -1)
    return Case(program, array, truth_of(program, array))


def chosen(name: str, *steps: str, rows: Any = (3, 0, -1, 7, 2, -6), **start: Start) -> Case:
    """A rule of x that is written as formulas."""
    rule = read_recurrence(["x"], "\n".join(steps), [steps[-1].partition("[")[0]], start)
    program, array = Program(name, rule, (SMALL,)), np.array(rows, float)[:, None]
    return Case(program, array, truth_of(program, array))


def looked_up(gap: int) -> Case:
    found = Retrieval("k", "v", Var("key") % 3, gap, -1.0)
    steps = {"k": Var("key") % 3, "found": found, "y": Var("found") + Y / 2}
    return case(f"lookup{gap}", {"key": SMALL, "v": SMALL}, steps, [[i % 5 - 2, i] for i in range(12)])


FIXED = [
    chosen("while", "y[t] = 2*x[t] - 3"),
    chosen("window", "y[t] = max(x[t], x[t-1], x[t-3]) - x[t-2]"),
    chosen("remainder", "y[t] = (x[t] - 2*y[t-1]) % 7 - x[t] % -3"),
    chosen("quotients", "y[t] = floor(m[t-1]/3)", "m[t] = 5*m[t-1] + x[t] + y[t]", rows=range(1, 40)),
    chosen("zero", "y[t] = min(1/x[t], 5) + [x[t]/x[t] != 1] + [x[t] == 0 or 1/x[t] > 0]"),
    chosen("signs", "z[t] = -1/(x[t] % -3)", "y[t] = max(z[t], -4) + [1/(-x[t]) < 0]"),
    chosen("grows", "y[t] = y[t-1]*y[t-1] + x[t]", rows=[2] * 14, y=2.0),
    chosen("beyond", "y[t] = y[t-1]*3 + x[t]", rows=[1] * 45, y=1.0),
    chosen("first", "y[t] = abs(x[t] - x[t-2])", x="first"),
    chosen("low", "y[t] = min(x[t], y[t-1])", y=np.inf),
    chosen("once", "y[t] = x[t] - x[t-2]", rows=[5], x="first"),
    chosen("median", "y[t] = median(x[t], x[t-1], x[t-2], x[t-3], x[t-4], x[t-5], x[t-6])"),
    chosen("deep", "y[t] = max(max(max(max(x[t]-y[t-1], 1) % 5, x[t-1]) - 2, x[t-2]) % 4, x[t-3]*y[t-2])"),
    case("m", {"x": REALS}, {"y": (X % 0.3) + (X % 3) * 0.5 + (X % 0.5).equals(0.1)}, [0.1, -1e-20, 0.7]),
    case("round", {"s": SMALL}, {"S": Var("S", 1) * 2 + Var("s"), "y": Var("S") - Var("s", 1)}, [1, 2, 3]),
    case("exp2", {"x": SMALL}, {"y": Y + X, "Y": Var("Y", 1) + 1}, [1, 2, 3], outputs=("y", "Y")),
    case("index", {"rowid": SMALL, "at_": SMALL}, {"t_": Var("at_") - Var("rowid", 1)}, [[3, 9], [1, 5]]),
    case("fused", {"x": REALS}, {"y": (X * X - Var("x", 1)).equals(0)}, [0.1 * 0.1, 0.1, 0.3 * 0.3, 0.3]),
    *(looked_up(gap) for gap in (0, 1, 3)),
]  # fmt: skip


def by_chance(seed: int, *, whole: bool, size: int = 14) -> Case:
    """A program over all operators; one that its own text cannot run on its rows is made anew."""
    rng = np.random.default_rng(seed)
    while True:
        made = _by_chance(rng, whole, size, seed)
        try:
            return made._replace(truth=truth_of(made.program, made.rows))
        except (ZeroDivisionError, OverflowError, TypeError):
            continue


def _by_chance(rng: np.random.Generator, whole: bool, size: int, seed: int) -> Case:
    def pick(items: Sequence[Any]) -> Any:
        return items[int(rng.integers(len(items)))]

    some = list(
        dict.fromkeys(name for name in rng.permutation(NAMES).tolist() if name not in ("S", "_rowid_"))
    )
    inputs, names = some[:2], ["S", *some[2:7]]
    numbers = (1, 2, 3, -3, 5) if whole else (0.5, 0.1, -1.5, 3, 2.0**53, np.inf)

    def leaf(now: list[str]) -> Expr:
        kind = rng.integers(8)
        if kind < 2:
            return Const(pick(numbers))
        return Var(pick(now)) if kind < 5 else Var(pick([*inputs, *names]), int(rng.integers(1, 4)))

    def given() -> Expr:
        return Var(pick(inputs), int(rng.integers(0, 3)))

    def tree(depth: int, now: list[str]) -> Expr:
        if depth == 0:
            return leaf(now)
        name = pick([*(set(OPERATORS) - INEXACT), order_name(2, 3), order_name(2, 4)])
        if name.startswith("order"):
            return Op(name, tuple(given() for _ in range(OPERATORS[name].arity)))
        parts = [tree(depth - 1, now) for _ in range(OPERATORS[name].arity)]
        if name == "div":  # zeros that are Python's own whole numbers have no sign; nothing else has them
            parts[1] = pick([given(), -given(), given() - pick(numbers), given() % -3])
        if name == "floor":  # of a whole number of Python's own NumPy makes one of 64 bits
            parts[0] = parts[0] + given()
        return op(name, *parts)

    steps, known = [], list(inputs)
    for place, name in enumerate(names):
        definition: Definition = tree(int(rng.integers(1, 4)), known)
        if seed % 3 == 0 and place == 1:
            definition = Retrieval(pick(inputs), pick(known), given(), int(rng.integers(0, 4)), 1.5)
        elif seed % 3 == 0 and place == 2:
            definition = Count(pick(inputs), tree(1, known), pick(RELATIONS))
        elif whole and place == 3:
            definition = op("floor", tree(1, known) / pick([3, -7, given()]))
        steps.append(Step(name, definition))
        known.append(name)
    if not whole:
        inexact = pick(sorted(INEXACT))
        parts = [given(), Const(pick((0.5, 2, -1, 0)))][: OPERATORS[inexact].arity]
        steps.append(Step("inexact", op(inexact, *parts)))
    outputs = (pick(names), names[-1], *([] if whole else ["inexact"]))
    start: dict[str, Start] = {inputs[0]: "first"} if rng.integers(2) else {inputs[1]: 3.0}
    start |= {pick(names): pick([1.0, np.inf, -np.inf] if not whole else [1.0, -2.0])}
    rule = Recurrence(tuple(inputs), tuple(steps), tuple(dict.fromkeys(outputs)), start)
    domain = integers(-1000, 1000) if whole else reals(-1000.0, 1000.0)
    rows = np.array([[pick(WHOLE if whole else REAL) for _ in inputs] for _ in range(size)], float)
    return Case(Program(f"p{seed}", rule, (domain, domain)), rows, rows)


def reading(item: Case) -> Case:
    """The case with the columns that its rule reads: exports ask for no others."""
    program = item.program.reading()
    kept = [item.program.recurrence.inputs.index(name) for name in program.recurrence.inputs]
    return Case(program, item.rows[:, kept], item.truth)


CASES = [*map(reading, FIXED), *(reading(by_chance(seed, whole=seed % 2 == 0)) for seed in range(120))]


def compare(cases: list[Case], answers: list[np.ndarray]) -> None:
    for (program, rows, truth), found in zip(cases, answers, strict=True):
        for place, name in enumerate(program.recurrence.outputs):
            said = f"{program.name}\n{program.formula()}\n{program.source()}\n{rows.tolist()}"
            tolerance = 1e-12 if name == "inexact" else 0
            left, right = found.reshape(truth.shape)[:, place], truth[:, place]
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=0, err_msg=said)


def fixed(cases: list[Case]) -> list[Case]:
    return [item for item in cases if not item.program.recurrence.retrieves()]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("flags", [["-std=c99", "-O0"], ["-O2", "-march=native"]])
def test_c(flags: list[str], tmp_path: Path):
    sources = [exported(item.program, "c").decode() for item in CASES]
    for place, text in enumerate(sources):
        (tmp_path / f"{place}.c").write_text(text)
    files = [f"{place}.c" for place in range(len(sources))]
    strict = ("-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    command = ["gcc", *flags, *strict, "-o", "all.so", *files, "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    library, pointer, answers = ctypes.CDLL(str(tmp_path / "all.so")), ctypes.POINTER(ctypes.c_double), []
    for (_, rows, truth), text in zip(CASES, sources, strict=True):
        (name,) = re.findall(r"^int (run_\w+)\(", text, re.M)
        given, out = np.ascontiguousarray(rows), np.zeros(truth.shape)
        for length in (0, len(rows)):
            arrays = given.ctypes.data_as(pointer), ctypes.c_size_t(length), out.ctypes.data_as(pointer)
            assert getattr(library, name)(*arrays) == 0
        answers.append(out)
    compare(CASES, answers)
    (tmp_path / "fast.c").write_text(sources[0])
    fast = subprocess.run(
        ["gcc", "-c", "-ffast-math", "fast.c"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "no -ffast-math" in fast.stderr


def in_node(folder: Path, programs: list[Program], rows: list[Any]) -> list[Any]:
    """The answers of each, or what its error says."""
    for place, program in enumerate(programs):
        (folder / f"{place}.mjs").write_bytes(exported(program, "javascript"))
    (folder / "run.mjs").write_text(
        "import { readFileSync } from 'node:fs';\nconst all = [];\n"
        "for (const [place, rows] of JSON.parse(readFileSync(0)).entries()) {\n"
        "  const [run] = Object.values(await import(`./${place}.mjs`));\n"
        "  if (run([]).length) throw new Error('rows out of nothing');\n"
        "  try { all.push(run(rows)); } catch (error) { all.push(error.message); }\n}\n"
        "const plain = (key, cell) => typeof cell === 'number' && !isFinite(cell) ? String(cell) : cell;\n"
        "console.log(JSON.stringify(all, plain));\n"
    )
    done = subprocess.run(
        ["node", "run.mjs"], input=json.dumps(rows), capture_output=True, text=True, cwd=folder, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_javascript(tmp_path: Path):
    rows = [
        np.where(np.isfinite(item.rows), item.rows.astype(object), item.rows.astype(str)) for item in CASES
    ]
    lists = [(array[:, 0] if array.shape[1] == 1 else array).tolist() for array in rows]
    spelled = json.loads(json.dumps(lists).replace('"inf"', '"Infinity"').replace('"-inf"', '"-Infinity"'))
    found = in_node(tmp_path, [item.program for item in CASES], spelled)
    compare(CASES, [np.array(answers, float) for answers in found])


def database(name: str) -> Any:
    if name == "duckdb":
        return pytest.importorskip("duckdb", reason="duckdb is not installed (extra: dev)").connect()
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("SELECT floor(1.5), power(2, 3), mod(5, 3)")
    except sqlite3.OperationalError:
        pytest.skip("this SQLite was built without its mathematical functions")
    return connection


def queried(
    name: str, query: str, columns: dict[str, str], rows: list[Any], table: str = "data"
) -> list[Any]:
    """The answers to a query on a table with these columns."""
    with database(name) as made:
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        made.execute(f'CREATE TABLE "{table}" ({listed})')
        made.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(columns))})', rows)
        return made.execute(query).fetchall()


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_sql(name: str):
    """Shuffled rows of two sequences, told apart and sorted as a file says; NULL is what is no number."""
    held, answers = [], []
    for item in fixed(CASES):
        inputs = item.program.recurrence.inputs
        if name == "duckdb" and {"rowid", "_rowid_"} & set(inputs):
            continue
        source = FileSource("/my log.csv", 0, "", Roles(inputs, ("y",), "id no", "the time"))
        try:
            query = exported(item.program, "sql", source).decode()
        except InputError:  # too deep for SQLite's parser
            continue
        rows = [(key, t, *row) for key in ("a", "b") for t, row in enumerate(item.rows.tolist())]
        columns = {"id no": "TEXT", "the time": "INTEGER"} | dict.fromkeys(inputs, "DOUBLE")
        shuffled = np.random.default_rng(0).permutation(np.array(rows, object)).tolist()
        found = queried(name, query, columns, shuffled, "my log")
        assert [row[:2] for row in found] == [row[:2] for row in rows]
        values = np.array([row[2:] for row in found], float)
        held += [item, item]
        answers += [values[: len(item.rows)], values[len(item.rows) :]]
    assert len(held) > 1.5 * len(fixed(CASES))
    compare(held, answers)


def test_onnx():
    pytest.importorskip("onnx", reason="the package onnx is not installed (extra: onnx)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra: onnx)")
    answers = []
    for program, rows, _ in fixed(CASES):
        session = runtime.InferenceSession(exported(program, "onnx"), providers=["CPUExecutionProvider"])
        answers.append(session.run(None, {"rows": rows})[0])
    compare(fixed(CASES), answers)


class Number(float):
    """A cell's number; NaN is an error, which every formula that reads it passes on."""

    def __neg__(self) -> Number:
        return Number(-float(self))


class Column(tuple[Number, ...]):
    """Cells below each other; what is done to them is done to each."""

    __slots__ = ()

    def __neg__(self) -> Column:
        return Column(-cell for cell in self)


def _passing(name: str, compute: Callable[[float, float], float]) -> None:
    def value(left: Any, right: Any) -> Any:
        if isinstance(left, Column) or isinstance(right, Column):
            one, other = ((v if isinstance(v, Column) else repeat(v)) for v in (left, right))
            return Column(value(a, b) for a, b in zip(one, other, strict=False))
        error = np.isnan(left) or np.isnan(right) or (name == "truediv" and right == 0)
        return Number(np.nan if error else compute(float(left), float(right)))

    for kind in (Number, Column):
        setattr(kind, f"__{name}__", value)
        setattr(kind, f"__r{name}__", lambda right, left: value(left, right))


for _name in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne"):
    _passing(_name, getattr(operator, _name))


def _sheet_function(compute: Callable[..., float]) -> Callable[..., Number]:
    def value(*cells: float) -> Number:
        plain = [float(cell) for cell in cells]
        with np.errstate(all="ignore"):
            found = np.nan if np.isnan(plain).any() else compute(*plain)
        return Number(found if np.isfinite(found) else np.nan)

    return value


def _last_match(one: float, keys: Column, values: Column) -> Number | None:
    return next((value for key, value in zip(keys[::-1], values[::-1], strict=True) if float(key) == 1), None)


FUNCTIONS: dict[str, Any] = {
    **{name: _sheet_function(f) for name, f in {"MAX": max, "MIN": min, "ABS": abs, "INT": np.floor,
        "MOD": np.mod, "POWER": np.power, "SQRT": np.sqrt, "MEDIAN": lambda *v: np.median(v)}.items()},
    "IF": lambda test, yes, no: Number(np.nan) if np.isnan(test) else yes if test else no,
    "CHOOSE": lambda numbers, *cells: cells, "SMALL": lambda cells, place: sorted(cells)[int(place) - 1],
    "LOOKUP": _last_match, "IFNA": lambda found, other: other if found is None else found,
    "SUMPRODUCT": lambda counted: Number(sum(map(float, counted))), "N": Number, "Number": Number,
}  # fmt: skip


def sheet_of(program: Program) -> tuple[np.ndarray, np.ndarray, str]:
    """Inputs and outputs of the exported sheet, computed as a spreadsheet does, and its XML."""
    with zipfile.ZipFile(io.BytesIO(exported(program, "spreadsheet"))) as book:
        xml = book.read("xl/worksheets/sheet1.xml").decode()
    cells: dict[str, Number] = {}

    def ranges(column: str, top: float, bottom: float) -> Column:
        return Column(cells[f"{column}{i}"] for i in range(int(top), int(bottom) + 1))

    python = {r"(?<![<>])=": "==", "<>": "!=", r"([A-Z]+)\$(\d+):[A-Z]+(\d+)": r"cells_('\1', \2, \3)",
        r"(?<!['A-Z$])([A-Z]+\d+)": r"cell_['\1']",
        r"(?<![\w'.])(\d+(\.\d+)?(E-?\d+)?)(?!['\w])": r"Number(\1)",
        r"\{(.*?)\}": r"(\1)"}  # fmt: skip
    for place, number, formula in re.findall(r'<c r="([A-Z]+\d+)"[^>]*>(?:<v>(.*?)</v>|<f>(.*?)</f>)', xml):
        text = html.unescape(formula)
        for found, put in python.items():
            text = re.sub(found, put, text)
        space = FUNCTIONS | {"cell_": cells, "cells_": ranges}
        cells[place] = Number(number) if number else Number(eval(text, space))
    names = re.findall(r"preserve\">(.*?)</t>", xml)
    rows = len({place.lstrip("ABCDEFGHIJKLM") for place in cells})
    table = np.array([float(value) for value in cells.values()]).reshape(rows, -1)
    inputs = len(program.recurrence.inputs)
    places = [names.index(name) for name in program.recurrence.outputs]
    return table[:, :inputs], table[:, places], xml


def test_spreadsheet():
    """A number is right or an error: there is neither infinity nor what is no number."""
    same = []
    for made in [item.program for item in CASES if item.program.domains[0].discrete]:
        program = replace(made, domains=(SMALL,) * len(made.domains))
        try:
            inputs, found, _ = sheet_of(program)
            truth = truth_of(program, inputs)
        except (InputError, ZeroDivisionError):
            continue
        right = found == truth
        assert (right | np.isnan(found)).all(), program.source()
        same.append(right.mean())
    assert np.mean(same) > 0.7
    assert len(same) > 60


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_spreadsheet_in_libreoffice(tmp_path: Path):
    """All sheets in one go: starting LibreOffice is what takes its time."""
    programs = {f"sheet{place}": item.program for place, item in enumerate(FIXED)}
    for file, program in programs.items():
        (tmp_path / f"{file}.xlsx").write_bytes(exported(program, "spreadsheet"))
    digits = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false"
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", digits]
    files = [f"{file}.xlsx" for file in programs]
    subprocess.run([*command, *files], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    for file, program in programs.items():
        header, *rows = list(csv.reader((tmp_path / f"{file}.csv").read_text().splitlines()))
        inputs = np.array([row[: len(program.recurrence.inputs)] for row in rows], float)
        places = [header.index(output) for output in program.recurrence.outputs]
        found = [
            [np.nan if row[place][:1] in "#E" else float(row[place]) for place in places] for row in rows
        ]
        right = np.isclose(found, truth_of(program, inputs), rtol=1e-9, atol=1e-9)
        assert (right | np.isnan(found)).all(), program.formula()


#: Truth values that are compared, added and counted, beside a number.
TRUE_OR_FALSE = Program(
    "rule",
    read_recurrence(
        ["a", "b", "x"],
        "y[t] = [a[t] == 1 and b[t-1] != y[t-1]]\nn[t] = n[t-1] + a[t] - b[t]*x[t]",
        ["y", "n"],
        {"b": "first"},
    ),
    (TRUTHS, TRUTHS, integers(0, 3)),
    output_truths=("y",),
)
BITS = [[1, 0, 2], [1, 1, 1], [0, 1, 3], [1, 0, 0], [0, 0, 1], [1, 1, 2]]
#: The same bits as files, databases and languages write them.
SPELLINGS: list[Callable[[float], object]] = [
    bool,
    float,
    lambda bit: str(bool(bit)),
    lambda bit: f" {str(bool(bit)).upper()}",
]
SPELLED = [[[spell(a), spell(b), x] for a, b, x in BITS] for spell in SPELLINGS]
STATES, EVENTS = ("open", "closed"), ("push", "pull", "it's")


def gate() -> Program:
    """A door: pushed while closed it opens, pulled while open it closes; `'` is a text like others."""
    event, state = Var("event"), Var("state", 1)
    opens = op("and", event.equals(1), op("ne", state, 1))
    closes = op("and", event.equals(2), state.equals(1))
    rule = where(opens, 1, where(closes, 2, where(state.equals(0), 2, state)))
    made = Recurrence(("event", "x"), (Step("state", rule), Step("y", X + Y)), ("state", "y"))
    return Program("gate", made, (texts(EVENTS), integers(0, 9)), output_categories={"state": STATES})


ROWS = [["pull", 1], ["push", 2], ["it's", 3], ["push", 4], ["pull", 5]]
ANSWERS = [["closed", 1], ["open", 3], ["open", 6], ["open", 10], ["closed", 15]]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_texts_and_truth_values_in_javascript(tmp_path: Path):
    rows = [*SPELLED, [["maybe", True, 1]], ROWS, [["slam", 1]]]
    *answers, refused, words, unknown = in_node(tmp_path, [TRUE_OR_FALSE] * 5 + [gate()] * 2, rows)
    right = TRUE_OR_FALSE.run(np.array(BITS, float)).tolist()
    assert answers == [right] * len(SPELLED)
    assert isinstance(answers[0][0][0], bool)
    assert (refused, unknown) == ("maybe is neither true nor false", "slam is none of push,pull,it's")
    assert words == ANSWERS == gate().run(np.array(ROWS, dtype=object)).tolist()


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_texts_and_truth_values_in_sql(name: str):
    """What is unknown has no answers, rather than wrong ones."""
    right = TRUE_OR_FALSE.run(np.array(BITS, float)).tolist()
    query, kinds = exported(TRUE_OR_FALSE, "sql").decode(), ("TEXT", "BOOLEAN", "DOUBLE")
    for rows, kind in ((rows, kind) for rows in SPELLED for kind in kinds):
        if name == "sqlite" or (isinstance(rows[0][0], str)) == (kind == "TEXT"):
            found = queried(name, query, {"a": kind, "b": kind, "x": "INTEGER"}, rows)
            assert [list(row[1:]) for row in found] == right
    found = queried(name, query, {"a": "TEXT", "b": "TEXT", "x": "INTEGER"}, [["maybe", "true", 1], *BITS])
    assert {row[1:] for row in found} == {(None, None)}
    columns = {"event": "TEXT", "x": "DOUBLE"}
    found = queried(name, exported(gate(), "sql").decode(), columns, ROWS)
    assert [list(row[1:]) for row in found] == ANSWERS
    found = queried(name, exported(gate(), "sql").decode(), columns, [*ROWS, ["slam", 1]])
    assert {row[1:] for row in found} == {(None, None)}


def test_numbers_and_formulas_say_what_they_stand_for():
    said = 'Texts are numbers here: of event, 1 is "push", 2 is "pull", 3 is "it\'s".'
    assert said in exported(gate(), "c").decode()
    assert b"True is 1 and False is 0 here: of a, b, y." in exported(TRUE_OR_FALSE, "c")
    inputs, found, xml = sheet_of(TRUE_OR_FALSE)
    np.testing.assert_array_equal(found, TRUE_OR_FALSE.run(inputs).astype(float))
    assert '<c r="A2" t="b">' in xml


def test_columns_that_the_rule_does_not_read_are_not_asked_for():
    rule = Recurrence(("unread", "x", "event"), (Step("y", X + Y),), ("y",))
    made = Program("total", rule, (REALS, SMALL, texts(EVENTS)))
    for name in ("c", "javascript", "sql", "spreadsheet", "latex"):
        content = exported(made, name)
        if name == "spreadsheet":
            with zipfile.ZipFile(io.BytesIO(content)) as book:
                content = b"".join(map(book.read, book.namelist()))
        assert b"unread" not in content, name
        assert b"event" not in content, name
    assert b"double x = row[0];" in exported(made, "c")


def test_a_spreadsheet_has_the_texts_and_rows_of_the_user(tmp_path: Path):
    path = tmp_path / "door.csv"
    rows = np.array(ROWS * 9, object)
    table = [",".join(map(str, (*row, *said))) for row, said in zip(rows, gate().run(rows), strict=True)]
    path.write_text("\n".join(["event,x,state,y", *table, ""]))
    source = file_source(path, ["event", "x"], ["state", "y"])
    with zipfile.ZipFile(io.BytesIO(exported(gate(), "excel", source))) as book:
        sheet, about = (html.unescape(book.read(f"xl/worksheets/sheet{i}.xml").decode()) for i in (1, 2))
    assert re.findall(r'"A\d+".*?preserve">(.*?)</t>', sheet)[:6] == ["event", *(row[0] for row in ROWS)]
    assert [float(x) for x in re.findall(r'"B\d+"><v>(.*?)</v>', sheet)][:5] == [row[1] for row in ROWS]
    assert 'IF(A3="push",1,0)' in sheet
    assert 'C2<>"open"' in sheet
    assert "Texts are numbers" not in about
    alike = replace(gate(), output_categories={"state": ("Open", "open")})
    with zipfile.ZipFile(io.BytesIO(exported(alike, "excel"))) as book:
        assert b"Texts are numbers" in book.read("xl/worksheets/sheet2.xml")


def test_comments_of_long_rules_stay_short():
    tests = " + ".join(f"{i}*[x[t-{i}] == {i * i}]" for i in range(1, 90))
    text = exported(chosen("long", f"y[t] = {tests}").program, "c").decode()
    comment = text.partition("*/")[0].splitlines()
    assert max(map(len, comment)) <= 104
    assert len(comment) < 20
    assert "program.py has the whole rule" in text


def refused(program: Program, name: str) -> str:
    if name == "onnx":
        pytest.importorskip("onnx", reason="the package onnx is not installed (extra: onnx)")
    with pytest.raises(InputError) as error:
        exported(program, name)
    return str(error.value)


def test_what_a_language_cannot_hold_is_refused_with_the_reason():
    for name in ("sql", "onnx"):
        said = refused(looked_up(1).program, name)
        assert f"{name} cannot hold this program: found is looked up among all earlier" in said
    doubling = [f"s{i + 1}[t] = s{i}[t]*s{i}[t] % 9" for i in range(14)]
    said = refused(chosen("long", "s0[t] = x[t] + y[t-1]", *doubling, "y[t] = s14[t]").program, "sql")
    assert "sql cannot hold this program: its steps" in said
    deep = "x[t]"
    for _ in range(70):
        deep = f"abs({deep} - 1)"
    said = refused(chosen("deep", f"y[t] = {deep}").program, "spreadsheet")
    assert "a spreadsheet cannot hold this program: the formula of y" in said
    assert "infinite start" in refused(chosen("up", "y[t] = x[t] + y[t-1]", y=np.inf).program, "excel")
    alike = case("alike", {"s": SMALL, "S": SMALL}, {"y": Var("s") - Var("S")}, [[1, 2]])
    assert "duplicate column name" in refused(alike.program, "sql")
    assert refused(alike.program, "cobol").startswith("there is no format 'cobol'; choose one of c, ")


def test_nothing_in_a_name_or_a_verdict_becomes_code():
    odd = 'x\ny */ "; DROP'
    verdict = "ends */ here\n\\ and -- goes on\u2028alert(1)"
    made = Program("p", read_recurrence([odd], {"y": Var(odd, 1)}, ["y"]), (TRUTHS,), verdict=verdict)
    assert exported(made, "c").decode().split("*/")[0].count("alert(1)") == 1
    for language, mark in (("c", " *"), ("javascript", "//"), ("sql", "--")):
        lines = exported(made, language).decode().splitlines()
        assert all(line.startswith(mark) for line in lines[1:7])
        assert sum("alert(1)" in line for line in lines) == 1
    found = queried("sqlite", exported(made, "sql").decode(), {odd.replace('"', '""'): ""}, [[1], [0]])
    assert found == [(1, 0.0), (2, 1.0)]


def test_the_command_writes_files(
    tmp_path: Path,
    made_folder: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    assert (*FORMATS, *ALIASES, "proof") == EXPORTS
    monkeypatch.chdir(tmp_path)
    made_folder(Path("out"), "sum", chosen("sum", "y[t] = x[t] + y[t-1]").program)
    for name in ("c", "javascript", "sql", "excel", "latex"):
        assert main(["export", "out", "--to", name]) == 0
        file = FORMATS[ALIASES.get(name, name)].file
        assert f"out/{file}: " in capsys.readouterr().out
        assert Path("out", file).stat().st_size
    assert main(["export", "out", "--to", "c", "--out", "other.c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "other.c"
    assert Path("other.c").read_bytes() == Path("out/program.c").read_bytes()
    assert main(["export", "out", "--to", "sql", "--out", "-"]) == 0
    assert capsys.readouterr().out == Path("out/program.sql").read_text()
    made_folder(Path("lookup"), "sum", looked_up(1).program)
    assert main(["export", "lookup", "--to", "sql"]) == 2
    said = capsys.readouterr().err
    assert "sql cannot hold this program" in said
    assert said.count("\n") == 1
    assert not Path("lookup/program.sql").exists()
    assert main(["export", "out", "--to", "cobol"]) == 2
