"""A program as a query for SQLite: window functions for earlier inputs, recursion for what is computed.

What a rule remembers goes from row to row as columns of a recursive table, so their number is fixed: lookups
among all earlier rows are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.export.rules import Rule, comment_lines, printable, refuse_lookups, rule_of, written
from weights2code.language import Expr, Var
from weights2code.language.categories import Categories
from weights2code.language.domain import Category
from weights2code.program import Program
from weights2code.verify.product import inlined

#: Characters of the longest query: SQLite takes no more than a million.
LONGEST = 200_000
_TAKEN = frozenset({"rows_", "run_", "t_", "sequence_"})


@dataclass(frozen=True, slots=True)
class Table:
    """Where the rows are: without a column to sort by, they come in the order in which they were stored."""

    name: str = "data"
    sequence: str | None = None
    order: str | None = None

    def words(self) -> str:
        order = f"sorted by {_quoted(self.order)}" if self.order else "in the order in which they were stored"
        apart = f", {_quoted(self.sequence)} tells sequences apart" if self.sequence else ", one sequence"
        return f"{_quoted(self.name)}: rows {order}{apart}."


def write(program: Program, source: FileSource | None = None) -> str:
    """The text of `program.sql`, for a table that is called and ordered as the file was."""
    table = Table() if source is None else Table(source.name, source.sequence, source.order)
    rule = rule_of(program, _TAKEN)
    refuse_lookups(rule, "sql")
    try:
        query = "\n".join(_query(rule, table, program.categories))
    except MemoryError:
        query = " " * (LONGEST + 1)
    if len(query) > LONGEST:
        raise InputError(
            "sql cannot hold this program: its steps, each written out in terms of the row before, are a "
            f"query of more than {LONGEST} characters; choose c, javascript or excel."
        )
    columns = ", ".join(_quoted(name) for name in rule.recurrence.inputs)
    head = [
        *comment_lines(program),
        "",
        printable(f"It reads {columns} of the table {table.words()}"),
        *(["TRUE and FALSE are 1 and 0 in SQLite."] if rule.truths else []),
    ]
    return "\n".join([*(f"-- {line}".rstrip() for line in head), query, ""])


def _query(rule: Rule, table: Table, texts: Categories) -> list[str]:
    """Rows with their earlier inputs, then a table that walks through them."""
    recurrence = rule.recurrence
    formulas = inlined(recurrence)
    kept = {name: lag for name, lag in rule.lags.items() if name not in recurrence.inputs}
    selected = []
    for name in recurrence.inputs:
        column = _number_of(name, texts[name]) if name in texts else f"CAST({_quoted(name)} AS REAL)"
        column = _truth_of(name) if name in rule.truths else column
        selected.append(f"{column} AS {_quoted(name)}")
        for lag in range(1, rule.lags.get(name, 0) + 1):
            start = f"FIRST_VALUE({column}) OVER w_" if rule.first(name) else _number(rule.start(name))
            before = f"COALESCE(LAG({column}, {lag}) OVER w_, {start})"
            selected.append(f"{before} AS {_quoted(_before(name, lag))}")
    outputs = [_answer(name, _quoted(name), texts, rule) for name in recurrence.outputs]
    sequence = _quoted(table.sequence) if table.sequence else "0"
    order = _quoted(table.order) if table.order else "rowid"
    shown = f"sequence_ AS {sequence}, " if table.sequence else ""
    shown += f"at_ AS {order if table.order else _quoted('row')}"
    lines = [
        f"WITH {'RECURSIVE ' if kept else ''}rows_ AS (",
        f"  SELECT {sequence} AS sequence_, {order} AS at_,",
        "    ROW_NUMBER() OVER w_ AS t_,",
        *(f"    {item}," for item in selected[:-1]),
        f"    {selected[-1]}",
        f"  FROM {_quoted(table.name)} WINDOW w_ AS (PARTITION BY {sequence} ORDER BY {order})",
        ")",
    ]
    if not kept:
        answers = [
            _answer(name, _text(formulas[name], rule, None), texts, rule) for name in recurrence.outputs
        ]
        return [
            *lines,
            f"SELECT {shown}, {', '.join(answers)}",
            "FROM rows_ ORDER BY sequence_, t_;",
        ]
    steps = [step.name for step in recurrence.steps if step.name in {*kept, *recurrence.outputs}]
    lines[-1] = "),"
    lines += ["run_ AS (", f"  SELECT {_row(rule, formulas, kept, steps, start=True)}"]
    lines += ["  FROM rows_ WHERE rows_.t_ = 1", "  UNION ALL"]
    lines.append(f"  SELECT {_row(rule, formulas, kept, steps, start=False)}")
    lines += ["  FROM run_ JOIN rows_ ON rows_.sequence_ IS run_.sequence_ AND rows_.t_ = run_.t_ + 1", ")"]
    lines.append(f"SELECT {shown}, {', '.join(outputs)}")
    lines.append("FROM run_ ORDER BY sequence_, t_;")
    return lines


def _row(
    rule: Rule, formulas: dict[str, Expr], kept: dict[str, int], steps: list[str], *, start: bool
) -> str:
    """What the walk has at one row: the steps, and those of earlier rows that later ones need."""
    items = ["rows_.sequence_", "rows_.at_", "rows_.t_"]
    items += [f"{_text(formulas[name], rule, start)} AS {_quoted(name)}" for name in steps]
    for name, lag in kept.items():
        for back in range(1, lag):
            value = _number(rule.start(name)) if start else f"run_.{_quoted(_before(name, back - 1))}"
            items.append(f"{value} AS {_quoted(_before(name, back))}")
    return ",\n    ".join(items)


def _text(expr: Expr, rule: Rule, start: bool | None) -> str:
    """An expression in terms of a row and the walk before it; None is a rule without a walk."""

    def read(variable: Var) -> str:
        name, lag = variable.name, variable.lag
        if name in rule.recurrence.inputs:
            return f"rows_.{_quoted(_before(name, lag))}"
        if start:
            return _number(rule.start(name))
        return f"run_.{_quoted(_before(name, lag - 1))}"

    return written(expr, "sql", read, _number)


def _number_of(name: str, texts: tuple[Category, ...]) -> str:
    """The number of a text in a column."""
    cases = " ".join(f"WHEN {_literal(text)} THEN {code}.0" for code, text in enumerate(texts, start=1))
    return f"CASE {_quoted(name)} {cases} END"


def _truth_of(name: str) -> str:
    """A column of truth values, as files and databases write them, as 1 and 0; anything else is NULL."""
    words = {"true": 1, "1": 1, "1.0": 1, "false": 0, "0": 0, "0.0": 0}
    cases = " ".join(f"WHEN '{word}' THEN {bit}.0" for word, bit in words.items())
    return f"CASE LOWER(TRIM({_quoted(name)})) {cases} END"


def _answer(name: str, value: str, texts: Categories, rule: Rule) -> str:
    """An output under its name, as the text that it stands for, or TRUE and FALSE, if it is one."""
    if name in rule.truths:
        value = f"({value}) <> 0"
    if name in texts:
        cases = [f"WHEN {code}.0 THEN {_literal(text)}" for code, text in enumerate(texts[name], start=1)]
        value = f"CASE {value} {' '.join(cases)} END"
    return value if value == _quoted(name) else f"{value} AS {_quoted(name)}"


def _literal(text: Category) -> str:
    escaped = str(text).replace("'", "''")
    return str(text) if isinstance(text, int) else f"'{escaped}'"


def _before(name: str, lag: int) -> str:
    return f"{name}[-{lag}]" if lag else name


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _number(value: float) -> str:
    if math.isinf(value):
        return "9e999" if value > 0 else "(-9e999)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text
