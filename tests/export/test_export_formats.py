"""Programs in other languages compute what `program.py` computes: each is run by the real thing."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.export import FORMATS, exported
from weights2code.language import (
    BITS,
    OPERATORS,
    Count,
    Definition,
    Domain,
    Op,
    Recurrence,
    Retrieval,
    Step,
    Var,
    expression_of,
    integers,
    op,
    reals,
    texts,
    uniform,
    where,
)
from weights2code.language.domain import TRUTHS
from weights2code.language.formula_reading import read_recurrence
from weights2code.program import Program

LENGTH = 40


def program(
    inputs: dict[str, Domain], formulas: str, outputs: list[str] | None = None, start: dict | None = None
) -> Program:
    rule = read_recurrence(list(inputs), formulas, outputs or ["y"], start)
    return Program("rule", rule, tuple(inputs.values()))


def looking_up(gap: int, computed: bool) -> Program:
    """The last value beside an equal key; the key may be computed, and the table begin `gap` rows back."""
    steps = [Step("k", Var("key") % 3)] if computed else []
    steps.append(Step("found", Retrieval("k" if computed else "key", "x", Var("key") % 3, gap, -1.0)))
    steps.append(Step("y", Var("found") + Var("y", 1) * 0.5))
    return Program("rule", Recurrence(("key", "x"), tuple(steps), ("y",)), (integers(0, 4), integers(0, 9)))


SMALL = {"x": integers(0, 9)}
PROGRAMS: dict[str, Program] = {
    "present": program(SMALL, "y[t] = 2*x[t] - 3"),
    "window": program(SMALL, "y[t] = max(x[t], x[t-1], x[t-3]) - x[t-2]"),
    "sum": program(SMALL, "y[t] = x[t] + y[t-1]", start={"y": 10}),
    "remainder": program({"x": integers(-9, 9)}, "y[t] = (x[t] - 2*y[t-1]) % 7 - x[t] % -3"),
    "branches": program(
        {"temperature": integers(15, 26), "window": BITS},
        "y[t] = 0 if window[t] else [temperature[t] < 22] if y[t-1] else [temperature[t] < 19]",
    ),
    "logic": program(
        {"a": BITS, "b": BITS},
        "y[t] = [a[t] == 1 and (b[t-1] or not y[t-1])] + [a[t] != b[t]] + [not a[t-1]]",
    ),
    "steps": program(
        SMALL, "s[t] = (x[t] + 2*s[t-1]) % 5\nz[t] = s[t] - s[t-2]\ny[t] = z[t]*z[t-1]", start={"s": 3}
    ),
    "outputs": program(
        {"a": integers(0, 3), "b": reals(-1.0, 1.0)},
        "low[t] = min(a[t], low[t-1])\nlevel[t] = 0.5*level[t-1] + b[t]",
        ["low", "level"],
        {"low": float("inf")},
    ),
    "first": program(SMALL, "y[t] = abs(x[t] - x[t-2])", start={"x": "first"}),
    "reals": program({"x": reals(0.5, 4.0)}, "y[t] = floor(x[t]*3)/(x[t-1] + 1) + x[t]**2", start={"x": 1.0}),
    "curves": program(
        {"x": reals(0.5, 4.0)}, "y[t] = sqrt(x[t]) + exp(-x[t]) + log(x[t])*sin(x[t]) - cos(x[t])"
    ),
    "clipped": program({"x": reals(-4.0, 4.0)}, "y[t] = clip(x[t] + y[t-1], -2, 3) + relu(x[t])"),
    "names": Program(
        "while",
        read_recurrence(
            ["int", "größe", "y_past"],
            {"select": Var("int") + Var("größe", 1), "y": Var("select", 1) + Var("y_past", 1)},
            ["y"],
        ),
        (BITS, integers(0, 9), integers(-9, 0)),
    ),
    "order": program(
        SMALL,
        "y[t] = median(x[t], x[t-1], x[t-2], x[t-3], x[t-4]) + largest_2(x[t], x[t-1], x[t-2], y[t-1]) % 5",
    ),
    "lookup": looking_up(1, False),
    "lookup of the present": looking_up(0, True),
    "lookup from far back": looking_up(3, True),
    "rank": Program(
        "rule",
        Recurrence(
            ("a", "b"),
            (
                Step("k", Var("a") % 4),
                Step("below", Count("a", Var("b"), "lt")),
                Step("not_below", Count("k", Var("b") - 1, "ge")),
                Step("y", Var("below") - 2 * Var("not_below", 1)),
                Step("same", Count("b", Var("b"), "eq")),
            ),
            ("y", "same"),
        ),
        (integers(0, 9), integers(-3, 9)),
    ),
}
FIXED = [name for name, made in PROGRAMS.items() if not made.recurrence.retrieves()]


def sequences(made: Program, count: int = 3) -> np.ndarray:
    return uniform(np.random.default_rng(1), made.domains, count, LENGTH)


def same(made: Program, x: np.ndarray, answers: np.ndarray) -> None:
    right = made.recurrence.run(x)
    exact = not {"sqrt", "exp", "log", "sin", "cos"} & {
        node.name for step in made.recurrence.steps for node in _nodes(step.definition)
    }
    if exact:
        np.testing.assert_array_equal(answers.reshape(right.shape), right)
    else:
        np.testing.assert_allclose(answers.reshape(right.shape), right, rtol=1e-14, atol=1e-14)


def _nodes(definition: Definition) -> list[Op]:
    return [node for node in expression_of(definition).walk() if isinstance(node, Op)]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_c(name: str, tmp_path: Path):
    made, x = PROGRAMS[name], sequences(PROGRAMS[name])
    (tmp_path / "program.c").write_bytes(exported(made, "c"))
    function = "while_" if name == "names" else "rule"
    columns, outputs = x.shape[2], len(made.recurrence.outputs)
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        f"int {function}(const double *, size_t, double *);\n"
        "int main(void) {\n"
        f"  static double rows[{LENGTH * columns}], out[{LENGTH * outputs}];\n"
        f"  for (int s = 0; s < {len(x)}; s++) {{\n"
        f'    for (int i = 0; i < {LENGTH * columns}; i++) if (scanf("%la", &rows[i]) != 1) return 2;\n'
        f"    if ({function}(rows, {LENGTH}, out) || {function}(rows, 0, out)) return 1;\n"
        f'    for (int i = 0; i < {LENGTH * outputs}; i++) printf("%a\\n", out[i]);\n'
        "  }\n  return 0;\n}\n"
    )
    command = ["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
    subprocess.run([*command, "main.c", "program.c", "-o", "run", "-lm"], cwd=tmp_path, check=True)
    given = "\n".join(float(value).hex() for value in x.ravel())
    done = subprocess.run([tmp_path / "run"], input=given, capture_output=True, text=True, check=True)
    same(made, x, np.array([float.fromhex(line) for line in done.stdout.split()]))


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_javascript(name: str, tmp_path: Path):
    made, x = PROGRAMS[name], sequences(PROGRAMS[name])
    (tmp_path / "program.mjs").write_bytes(exported(made, "javascript"))
    (tmp_path / "run.mjs").write_text(
        "import * as made from './program.mjs';\n"
        "import { readFileSync } from 'node:fs';\n"
        "const [run] = Object.values(made);\n"
        "const all = JSON.parse(readFileSync(0)).map(rows => run(rows));\n"
        "if (run([]).length) throw new Error('rows out of nothing');\n"
        "console.log(JSON.stringify(all));\n"
    )
    given = json.dumps((x[..., 0] if x.shape[2] == 1 else x).tolist())
    done = subprocess.run(
        ["node", "run.mjs"], input=given, capture_output=True, text=True, cwd=tmp_path, check=True
    )
    same(made, x, np.array(json.loads(done.stdout), dtype=float))


@pytest.mark.parametrize("name", FIXED)
def test_sql(name: str):
    made, x = PROGRAMS[name], sequences(PROGRAMS[name])
    with sqlite3.connect(":memory:") as database:
        try:
            database.execute("SELECT floor(1.5), power(2, 3), mod(5, 3)")
        except sqlite3.OperationalError:
            pytest.skip("this SQLite was built without its mathematical functions")
        columns = ", ".join(f'"{column}"' for column in made.recurrence.inputs)
        database.execute(f'CREATE TABLE "my log" ("id no", "at", {columns})')
        rows = [(f"s{s}", t, *x[s, t].tolist()) for s in range(len(x)) for t in range(LENGTH)]
        shuffled = np.random.default_rng(0).permutation(len(rows))
        marks = ", ".join("?" * len(rows[0]))
        database.executemany(f'INSERT INTO "my log" VALUES ({marks})', [rows[i] for i in shuffled])
        source = FileSource("/my log.csv", 0, "", made.recurrence.inputs, ("y",), "id no", "at")
        found = database.execute(exported(made, "sql", source).decode()).fetchall()
    assert [row[:2] for row in found] == [row[:2] for row in rows]
    same(made, x, np.array([row[2:] for row in found], dtype=float))


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
#: The same bits as files, databases and languages write them.
SPELLINGS: dict[str, Callable[[float], object]] = {
    "truth values": bool,
    "numbers": float,
    "True": lambda bit: str(bool(bit)),
    "TRUE": lambda bit: str(bool(bit)).upper(),
    " true": lambda bit: f" {str(bool(bit)).lower()}",
}


def spelled(x: np.ndarray, spell: Callable[[float], object]) -> list[list[object]]:
    return [[spell(a), spell(b), number] for a, b, number in x.tolist()]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_javascript_takes_and_gives_truth_values(tmp_path: Path):
    x = sequences(TRUE_OR_FALSE, 1)[0]
    right = TRUE_OR_FALSE.run(x)
    (tmp_path / "program.mjs").write_bytes(exported(TRUE_OR_FALSE, "javascript"))
    one = Program("one", read_recurrence(["a"], "y[t] = 1 - a[t]", ["y"]), (TRUTHS,), output_truths=("y",))
    (tmp_path / "one.mjs").write_bytes(exported(one, "javascript"))
    (tmp_path / "run.mjs").write_text(
        "import { rule } from './program.mjs';\nimport { one } from './one.mjs';\n"
        "import { readFileSync } from 'node:fs';\n"
        "const all = JSON.parse(readFileSync(0)).map(rows => rule(rows));\n"
        "try { rule([['maybe', true, 1]]); } catch (error) { all.push(error.message); }\n"
        "all.push(one([true, 'False', ['True'], [0]]));\nconsole.log(JSON.stringify(all));\n"
    )
    given = json.dumps([spelled(x, spell) for spell in SPELLINGS.values()])
    done = subprocess.run(
        ["node", "run.mjs"], input=given, capture_output=True, text=True, cwd=tmp_path, check=True
    )
    *answers, refused, other = json.loads(done.stdout)
    for answer in answers:
        assert answer == right.tolist()
        assert isinstance(answer[0][0], bool)
    assert refused == "maybe is neither true nor false"
    assert other == [False, True, False, True]


@pytest.mark.parametrize("kind", ["", "TEXT", "BOOLEAN", "REAL"])
def test_sql_takes_truth_values_however_they_are_stored(kind: str):
    x = sequences(TRUE_OR_FALSE, 1)[0]
    right = TRUE_OR_FALSE.run(x).tolist()
    for spell in SPELLINGS.values():
        with sqlite3.connect(":memory:") as database:
            database.execute(f"CREATE TABLE data (a {kind}, b {kind}, x)")
            database.executemany("INSERT INTO data VALUES (?, ?, ?)", spelled(x, spell))
            query = exported(TRUE_OR_FALSE, "sql").decode()
            assert [list(row[1:]) for row in database.execute(query)] == right
            database.execute("UPDATE data SET a = 'maybe'")  # no wrong answer: none
            assert database.execute(query).fetchone()[2] is None


def test_numbers_and_formulas_say_which_truth_values_they_are():
    for language in ("c", "onnx"):
        if language == "onnx":
            pytest.importorskip("onnx", reason="the package onnx is not installed (extra: onnx)")
        assert b"True is 1 and False is 0 here: of a, b, y." in exported(TRUE_OR_FALSE, language)
    with zipfile.ZipFile(io.BytesIO(exported(TRUE_OR_FALSE, "excel"))) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    x = uniform(np.random.default_rng(0), TRUE_OR_FALSE.domains, 1, 100)[0]
    assert [int(bit) for bit in re.findall(r'<c r="A\d+" t="b"><v>([01])</v>', sheet)] == x[:, 0].tolist()
    (formula,) = re.findall(r'<c r="D5"><f>(.*?)</f>', sheet)
    assert formula.endswith(")&lt;&gt;0")
    assert set(re.findall(r"[AB D]\d+", formula)) == {cell[2:-1] for cell in re.findall(r"N\(\w+\)", formula)}


def test_sql_on_rows_as_they_were_stored():
    made = PROGRAMS["sum"]
    x = sequences(made, 1)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE data (x)")
        database.executemany("INSERT INTO data VALUES (?)", x[0].astype(int).tolist())
        found = database.execute(exported(made, "sql").decode()).fetchall()
    same(made, x, np.array([row[1:] for row in found], dtype=float))


def spreadsheet() -> str | None:
    return shutil.which("soffice") or shutil.which("libreoffice")


@pytest.mark.slow
@pytest.mark.skipif(spreadsheet() is None, reason="LibreOffice is not installed")
def test_excel(tmp_path: Path):
    """All sheets in one go: starting LibreOffice is what takes its time."""
    names = {f"sheet{number}": name for number, name in enumerate(PROGRAMS)}
    for file, name in names.items():
        (tmp_path / f"{file}.xlsx").write_bytes(exported(PROGRAMS[name], "excel"))
    command = [
        spreadsheet(),
        f"-env:UserInstallation=file://{tmp_path}/profile",
        "--headless",
        "--convert-to",
    ]
    full_precision = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false"
    files = [str(tmp_path / f"{file}.xlsx") for file in names]
    subprocess.run(
        [*command, full_precision, "--outdir", tmp_path / "csv", *files],  # type: ignore[list-item]
        check=True,
        capture_output=True,
        timeout=300,
    )
    for file, name in names.items():
        made = PROGRAMS[name]
        with open(tmp_path / "csv" / f"{file}.csv", encoding="utf-8") as opened:
            header, *rows = list(csv.reader(opened))
        columns = len(made.recurrence.inputs)
        assert header[:columns] == list(made.recurrence.inputs)
        assert len(rows) == 100
        places = [header.index(output) for output in made.recurrence.outputs]
        x = np.array([row[:columns] for row in rows], dtype=float)
        answers = np.array([[row[place] for place in places] for row in rows], dtype=float)
        np.testing.assert_allclose(
            answers, made.recurrence.run(x[None])[0], rtol=1e-9, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("name", FIXED)
def test_onnx(name: str):
    pytest.importorskip("onnx", reason="the package onnx is not installed (extra: onnx)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra: onnx)")
    made, x = PROGRAMS[name], sequences(PROGRAMS[name])
    session = runtime.InferenceSession(exported(made, "onnx"), providers=["CPUExecutionProvider"])
    same(made, x, np.stack([session.run(None, {"rows": sequence})[0] for sequence in x]))


@pytest.mark.parametrize("name", ["sql", "onnx"])
def test_what_a_language_cannot_hold_is_refused_with_the_reason(name: str):
    if name == "onnx":
        pytest.importorskip("onnx", reason="the package onnx is not installed (extra: onnx)")
    with pytest.raises(
        InputError, match=f"{name} cannot hold this program: found is looked up among all earlier"
    ):
        exported(PROGRAMS["lookup"], name)
    with pytest.raises(InputError, match="below is counted among all earlier rows"):
        exported(PROGRAMS["rank"], name)


@pytest.mark.slow
def test_queries_and_formulas_that_are_too_long_are_refused():
    doubling = "\n".join(f"s{i + 1}[t] = s{i}[t]*s{i}[t] % 9" for i in range(14))
    made = program(SMALL, f"s0[t] = x[t] + y[t-1]\n{doubling}\ny[t] = s14[t]")
    with pytest.raises(InputError, match="sql cannot hold this program: its steps"):
        exported(made, "sql")
    deep = "x[t]"
    for _ in range(70):
        deep = f"abs({deep} - 1)"
    with pytest.raises(InputError, match="a spreadsheet cannot hold this program: the formula of y"):
        exported(program(SMALL, f"y[t] = {deep}"), "excel")
    with pytest.raises(InputError, match="an infinite start value"):
        exported(program(SMALL, "y[t] = x[t] + y[t-1]", start={"y": float("inf")}), "excel")


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_written_in_every_language(name: str):
    entry = OPERATORS[name]
    for language in ("c", "javascript", "sql", "excel"):
        text = getattr(entry, language).format(*(f"<{i}>" for i in range(entry.arity)))
        assert all(f"<{i}>" in text for i in range(entry.arity))


def test_nothing_in_a_name_or_a_verdict_becomes_code():
    rule = read_recurrence(["x"], {"y": Var("x", 1)}, ["y"])
    made = Program("p", rule, (BITS,), verdict="ends */ here\n\\ and -- goes on\u2028alert(1)")
    text = exported(made, "c").decode()
    assert text.count("*/") == 2
    for language, mark in (("c", " *"), ("javascript", "//"), ("sql", "--")):
        lines = exported(made, language).decode().splitlines()
        assert all(line.startswith(mark) for line in lines[1:7])
        assert sum("alert(1)" in line for line in lines) == 1


def test_odd_names_stay_names():
    rule = read_recurrence(['x\ny */ "; DROP'], {"y": Var('x\ny */ "; DROP', 1)}, ["y"])
    made = Program("p", rule, (BITS,))
    assert exported(made, "c").decode().count("*/") == 2
    with sqlite3.connect(":memory:") as database:
        database.execute('CREATE TABLE data ("x\ny */ ""; DROP")')
        database.execute("INSERT INTO data VALUES (1), (0)")
        assert database.execute(exported(made, "sql").decode()).fetchall() == [(1, 0.0), (2, 1.0)]


def test_the_command_writes_files(
    tmp_path: Path,
    made_folder: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    made_folder(Path("out"), "sum", PROGRAMS["sum"])
    for name in ("c", "javascript", "sql", "excel", "latex"):
        assert main(["export", "out", "--to", name]) == 0
        assert f"out/{FORMATS[name].file}: " in capsys.readouterr().out
        assert Path("out", FORMATS[name].file).stat().st_size
    assert main(["export", "out", "--to", "c", "--out", "other.c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "other.c"
    assert Path("other.c").read_bytes() == Path("out/program.c").read_bytes()
    assert main(["export", "out", "--to", "sql", "--out", "-"]) == 0
    assert capsys.readouterr().out == Path("out/program.sql").read_text()
    made_folder(Path("lookup"), "sum", PROGRAMS["lookup"])
    assert main(["export", "lookup", "--to", "sql"]) == 2
    said = capsys.readouterr().err
    assert "sql cannot hold this program" in said
    assert said.count("\n") == 1
    assert not Path("lookup/program.sql").exists()
    assert main(["export", "out", "--to", "cobol"]) == 2


def test_the_parser_knows_the_formats():
    from weights2code.cli.parser import EXPORTS

    assert tuple(FORMATS) == EXPORTS


def gate() -> Program:
    """A door: pushed while closed it opens, pulled while open it closes; `'` is a text like others."""
    events, states = ("push", "pull", "it's"), ("open", "closed")
    event, state = Var("event"), Var("state", 1)
    opens = op("and", event.equals(1), op("ne", state, 1))
    closes = op("and", event.equals(2), state.equals(1))
    rule = where(opens, 1, where(closes, 2, where(state.equals(0), 2, state)))
    made = Recurrence(
        ("event", "x"), (Step("state", rule), Step("y", Var("x") + Var("y", 1))), ("state", "y")
    )
    return Program("gate", made, (texts(events), integers(0, 9)), output_categories={"state": states})


ROWS = [["pull", 1], ["push", 2], ["it's", 3], ["push", 4], ["pull", 5]]
ANSWERS = [["closed", 1], ["open", 3], ["open", 6], ["open", 10], ["closed", 15]]


def test_texts_are_spoken_in_python():
    assert gate().run(np.array(ROWS, dtype=object)).tolist() == ANSWERS


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_texts_in_javascript(tmp_path: Path):
    (tmp_path / "program.mjs").write_bytes(exported(gate(), "javascript"))
    (tmp_path / "run.mjs").write_text(
        "import { gate } from './program.mjs';\n"
        f"console.log(JSON.stringify(gate({json.dumps(ROWS)})));\n"
        "try { gate([['slam', 1]]); } catch (error) { console.log(error.message); }\n"
    )
    done = subprocess.run(["node", "run.mjs"], capture_output=True, text=True, cwd=tmp_path, check=True)
    answers, refused = done.stdout.splitlines()
    assert json.loads(answers) == ANSWERS
    assert refused == "slam is none of push,pull,it's"


def test_texts_in_sql():
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE data (event, x)")
        database.executemany("INSERT INTO data VALUES (?, ?)", ROWS)
        found = database.execute(exported(gate(), "sql").decode()).fetchall()
    assert [list(row[1:]) for row in found] == ANSWERS


def test_texts_are_numbered_where_there_is_no_place_for_them():
    text = exported(gate(), "c").decode()
    assert 'Texts are numbers here: of event, 1 is "push", 2 is "pull", 3 is "it\'s".' in text
