"""A program as one query for SQLite and DuckDB: window functions for earlier inputs, recursion for the rest.

What a rule remembers goes from row to row as columns of a recursive table, so their number is fixed: lookups
among all earlier rows are refused. What is no number is NULL, as SQLite has it, and the texts of the
operators take NULL for that; DuckDB has such a value too, but finds it equal to itself, so that
`NULLIF(..., 'nan')` makes it NULL before anything is compared. SQLite itself is asked whether it takes the
query.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import NamedTuple

from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.export.rules import (
    Rule,
    comment_lines,
    number_text,
    printable,
    refuse_lookups,
    rule_of,
    template,
)
from weights2code.language import Const, Expr, Op, Var, is_boolean
from weights2code.language.categories import Categories
from weights2code.language.domain import Category
from weights2code.language.product import inlined
from weights2code.program import Program
from weights2code.roles import Roles

#: Characters of the longest query: SQLite takes no more than a million.
LONGEST = 200_000
#: Characters of an argument that are written again where its value is needed again; longer ones get a name.
AGAIN = 100
_TAKEN = frozenset({"t_", "at_", "sequence_", "known_"})


#: Where rows are if nothing is said: in one sequence, in the order in which they were stored.
_TABLE = FileSource("data", 0, "", Roles())


def write(program: Program, source: FileSource | None = None) -> str:
    """The text of `program.sql`, for a table that is called and ordered as the file was."""
    table = source or _TABLE
    rule = rule_of(program, _TAKEN.__contains__, str.casefold)
    refuse_lookups(rule, "sql")
    try:
        query = "\n".join(_query(rule, table, program.categories))
    except MemoryError:
        query = " " * (LONGEST + 1)
    if len(query) > LONGEST:
        raise InputError(
            "sql cannot hold this program: its steps, each written out in terms of the row before, are a "
            f"query of more than {LONGEST} characters; choose c, javascript or spreadsheet."
        )
    _try(query, table, rule.recurrence.inputs)
    columns = ", ".join(_quoted(name) for name in rule.recurrence.inputs)
    roles = table.roles
    order = f"sorted by {_quoted(roles.order)}" if roles.order else "in the order in which they were stored"
    apart = f"{_quoted(roles.sequence)} tells sequences apart" if roles.sequence else "one sequence"
    head = [
        *comment_lines(program),
        "",
        printable(f"It reads {columns} of the table {_quoted(table.name)}: rows {order}, {apart}."),
        "For SQLite 3.39 or later, and DuckDB. NULL stands for what is no number, as 0/0.",
    ]
    if any(name in rule.truths or name in program.categories for name in rule.recurrence.inputs):
        head.append("A sequence with a text or truth value that is unknown has no answers.")
    if rule.truths:
        head.append("TRUE and FALSE are 1 and 0 in SQLite.")
    return "\n".join([*(f"-- {line}".rstrip() for line in head), query, ""])


def _try(query: str, table: FileSource, inputs: tuple[str, ...]) -> None:
    """Ask SQLite whether it can read the query, on a table without rows."""
    columns = dict.fromkeys((*inputs, *(name for name in (table.roles.sequence, table.roles.order) if name)))
    database = sqlite3.connect(":memory:")
    try:
        database.execute(f"CREATE TABLE {_quoted(table.name)} ({', '.join(map(_quoted, columns))})")
        database.execute(f"EXPLAIN {query}")
    except sqlite3.Error as error:
        if "no such function" not in str(error):  # this SQLite was built without mathematics; others were not
            raise InputError(
                f"sql cannot hold this program: SQLite says {' '.join(str(error).split())}; choose c, "
                "javascript or spreadsheet."
            ) from None
    finally:
        database.close()


def _query(rule: Rule, table: FileSource, texts: Categories) -> list[str]:
    """Rows with their earlier inputs, then a table that walks through them."""
    recurrence = rule.recurrence
    formulas = inlined(recurrence)
    kept = {name: lag for name, lag in rule.lags.items() if name not in recurrence.inputs}
    given, walk = (f"{name}_" if name == table.name.casefold() else name for name in ("rows_", "run_"))
    sequence = f"d_.{_quoted(table.roles.sequence)}" if table.roles.sequence else "0"
    order = f"d_.{_quoted(table.roles.order)}" if table.roles.order else _stored(recurrence.inputs)
    selected, known = ["ROW_NUMBER() OVER w_ AS t_"], []
    for name in recurrence.inputs:
        column = _given(name, texts, rule.truths)
        known += [f"{column} IS NULL"] if name in texts or name in rule.truths else []
        selected.append(f"{column} AS {_label(rule, name)}")
        for lag in range(1, rule.lags.get(name, 0) + 1):
            before = f"LAG({column}, {lag}, {_number(rule.start(name))}) OVER w_"
            if rule.first(name):
                first = f"FIRST_VALUE({column}) OVER w_"
                before = f"CASE WHEN ROW_NUMBER() OVER w_ > {lag} THEN {before} ELSE {first} END"
            selected.append(f"{before} AS {_label(rule, name, lag)}")
    if known:
        test = f"CASE WHEN {' OR '.join(known)} THEN 0 ELSE 1 END"
        selected.append(f"MIN({test}) OVER (PARTITION BY {sequence}) AS known_")
    own = ["sequence_", "at_", "t_", *(["known_"] if known else [])]
    lines = [
        f"WITH {'RECURSIVE ' if kept else ''}{given} AS (",
        f"  SELECT {sequence} AS sequence_, {order} AS at_,",
        *(f"    {item}," for item in selected[:-1]),
        f"    {selected[-1]}",
        f"  FROM {_quoted(table.name)} AS d_ WINDOW w_ AS (PARTITION BY {sequence} ORDER BY {order})",
        ")",
    ]

    def row(start: bool, names: list[str]) -> list[str]:
        """Steps at one row, in terms of the row and of the walk before it."""

        def read(variable: Var) -> str:
            name, lag = variable.name, variable.lag
            if name in recurrence.inputs:
                return f"{given}.{_label(rule, name, lag)}"
            return _number(rule.start(name)) if start else f"{walk}.{_label(rule, name, lag - 1)}"

        items = [f"{_part(formulas[name], read):n} AS {_label(rule, name)}" for name in names]
        for name, lag in kept.items():
            for back in range(1, lag):
                items.append(f"{read(Var(name, back))} AS {_label(rule, name, back)}")
        return items

    steps = [step.name for step in recurrence.steps if step.name in {*kept, *recurrence.outputs}]
    carried = ", ".join(f"{given}.{name}" for name in own)
    lines[-1] = "),"
    lines += [f"{walk} AS (", ",\n    ".join([f"  SELECT {carried}", *row(True, steps)]), f"  FROM {given}"]
    if kept:
        lines += [f"  WHERE {given}.t_ = 1", "  UNION ALL"]
        lines.append(",\n    ".join([f"  SELECT {carried}", *row(False, steps)]))
        match = f"{given}.sequence_ IS NOT DISTINCT FROM {walk}.sequence_ AND {given}.t_ = {walk}.t_ + 1"
        lines.append(f"  FROM {walk} JOIN {given} ON {match}")
    shown = [f"{walk}.sequence_ AS {_quoted(table.roles.sequence)}"] if table.roles.sequence else []
    shown.append(f"{walk}.at_ AS {_quoted(table.roles.order or 'row')}")
    for name in recurrence.outputs:
        value = _answer(f"{walk}.{_label(rule, name)}", name, texts, rule.truths)
        value = f"CASE WHEN {walk}.known_ = 1 THEN {value} END" if known else value
        shown.append(f"{value} AS {_quoted(name)}")
    order_by = f"{walk}.sequence_, {walk}.t_"
    return [*lines, ")", f"SELECT {', '.join(shown)}", f"FROM {walk} ORDER BY {order_by};"]


class _Part(NamedTuple):
    """A written argument; where a template compares it (`n`), what was computed may be no number: NULL."""

    text: str
    computed: bool

    def __format__(self, kind: str) -> str:
        return f"NULLIF({self.text}, 'nan')" if kind and self.computed else self.text


def _part(expr: Expr, read: Callable[[Var], str]) -> _Part:
    return _Part(_text(expr, read), isinstance(expr, Op) and not is_boolean(expr))


def _text(expr: Expr, read: Callable[[Var], str]) -> str:
    """An expression; long arguments whose value is needed more than once are columns of an inner query."""
    if isinstance(expr, Const):
        return _number(float(expr.value))
    if isinstance(expr, Var):
        return read(expr)
    assert isinstance(expr, Op)
    form, parts, named = template(expr, "sql"), list[_Part](), list[str]()
    for place, argument in enumerate(expr.args):
        part = _part(argument, read)
        if form.count(f"{{{place}") > 1 and len(part.text) > AGAIN:
            named.append(f"{part:n} AS a{place}")
            part = _Part(f"b_.a{place}", computed=False)
        parts.append(part)
    found = form.format(*parts)
    return f"(SELECT {found} FROM (SELECT {', '.join(named)}) AS b_)" if named else found


def _stored(inputs: tuple[str, ...]) -> str:
    """What tells the order in which rows were stored, under a name that is no column's."""
    taken = {name.casefold() for name in inputs}
    free = [name for name in ("rowid", "_rowid_", "oid") if name not in taken]
    if not free:
        raise InputError(
            "sql cannot hold this program: rowid, _rowid_ and oid are all columns of it, so nothing is left "
            "to tell the order of the rows by; choose c or javascript, or fit with --order."
        )
    return f"d_.{free[0]}"


def _case(value: str, table: Iterable[tuple[str, str]]) -> str:
    return f"CASE {value} {' '.join(f'WHEN {one} THEN {other}' for one, other in table)} END"


def _given(name: str, texts: Categories, truths: frozenset[str]) -> str:
    """A column as numbers: texts as those that stand for them, truth values, as files and databases write
    them, as 1 and 0; others that should be so are NULL."""
    column = f"d_.{_quoted(name)}"
    if name in texts:
        return _case(column, ((_literal(text), f"{code}e0") for code, text in enumerate(texts[name], 1)))
    if name in truths:
        words = {"true": 1, "1": 1, "1.0": 1, "false": 0, "0": 0, "0.0": 0}
        return _case(f"LOWER(TRIM(CAST({column} AS TEXT)))", ((f"'{w}'", f"{b}e0") for w, b in words.items()))
    return f"NULLIF(CAST({column} AS DOUBLE), 'nan')"


def _answer(value: str, name: str, texts: Categories, truths: frozenset[str]) -> str:
    """An output, as the text that it stands for, or TRUE and FALSE, if it is one."""
    if name in truths:
        return f"CASE WHEN {value} = 0 THEN FALSE ELSE TRUE END"
    if name in texts:
        return _case(value, ((f"{code}e0", _literal(text)) for code, text in enumerate(texts[name], 1)))
    return value


def _literal(text: Category) -> str:
    escaped = str(text).replace("'", "''")
    return str(text) if isinstance(text, int) else f"'{escaped}'"


def _label(rule: Rule, name: str, lag: int = 0) -> str:
    """The column of a name, or of an earlier value; no name has brackets."""
    return _quoted(f"{rule.names[name]}[-{lag}]" if lag else rule.names[name])


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _number(value: float) -> str:
    """Numbers with an exponent are doubles to both; others are decimals to DuckDB."""
    text = number_text(value, "1e999", "NULL")
    return text if "e" in text or "N" in text else f"{text.rstrip(')')}e0{')' * text.endswith(')')}"
