"""A program as a sheet of formulas, `.xlsx`: inputs on the left, a column a step, filled down.

The first rows look back to before the start, so their formulas have the start values in them; from then on
all rows are alike, and the last one can be filled down. What stands in the input columns is an example: put
other numbers there.
"""

from __future__ import annotations

import io
import math
import zipfile
from xml.sax.saxutils import escape

import numpy as np

from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.export.rules import Rule, comment_lines, printable, rule_of, written
from weights2code.language import Const, Count, Definition, Expr, Op, Recurrence, Retrieval, Var, uniform
from weights2code.program import Program

#: Rows of the sheet, and of formulas that look back further than that at least as many again.
ROWS = 100
#: What a spreadsheet allows a formula: characters, and functions inside each other.
LONGEST, DEEPEST = 8192, 60
FIRST_ROW = 2
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write(program: Program, source: FileSource | None = None) -> bytes:
    """The content of `program.xlsx`."""
    rule = rule_of(program, ())
    rows = max(ROWS, 2 * max(rule.lags.values(), default=0))
    x = uniform(np.random.default_rng(0), program.domains, 1, rows)[0]
    cells = [_header(rule.recurrence)]
    for t in range(rows):
        values = [
            _value(value, name in rule.truths)
            for name, value in zip(rule.recurrence.inputs, x[t].tolist(), strict=True)
        ]
        cells.append([*values, *(_formula(rule, step.name, t) for step in rule.recurrence.steps)])
    notes = [[("text", line)] for line in comment_lines(program, numbered=True)]
    return _workbook({"program": cells, "about": notes})


#: What a cell holds: a number, a truth value, a text or a formula.
_Cell = tuple[str, str]


def _header(recurrence: Recurrence) -> list[_Cell]:
    names = (*recurrence.inputs, *(step.name for step in recurrence.steps))
    return [("text", printable(name)) for name in names]


def _value(value: float, truth: bool) -> _Cell:
    return ("truth", str(int(value))) if truth else ("number", repr(value))


def _formula(rule: Rule, name: str, t: int) -> _Cell:
    recurrence = rule.recurrence
    definition = next(step.definition for step in recurrence.steps if step.name == name)
    if isinstance(definition, Retrieval):
        text = _lookup(rule, definition, t)
    elif isinstance(definition, Count):
        text = _count(rule, definition, t)
    else:
        text = _text(_without_infinity(_at(definition, rule, t)), rule, t)
    if len(text) > LONGEST or _depth(definition) > DEEPEST:
        raise InputError(
            f"a spreadsheet cannot hold this program: the formula of {name} has {len(text)} characters, and "
            f"{LONGEST} are allowed, or functions too deep inside each other; choose c or javascript."
        )
    return "formula", f"({text})<>0" if name in rule.truths else text


def _at(expr: Expr, rule: Rule, t: int) -> Expr:
    """The expression at one row: what lies before the start is the number that stands there."""
    before = {
        variable: Const(rule.start(variable.name))
        for variable in expr.variables()
        if variable.lag > t and not rule.first(variable.name)
    }
    return expr.substitute(before)


def _without_infinity(expr: Expr) -> Expr:
    """A spreadsheet has no infinity, but the smaller of a number and infinity is the number."""
    if not isinstance(expr, Op):
        return expr
    parts = tuple(_without_infinity(argument) for argument in expr.args)
    if expr.name in ("min", "max"):
        least = math.inf if expr.name == "min" else -math.inf
        left = [part for part in parts if not (isinstance(part, Const) and float(part.value) == least)]
        if len(left) == 1:
            return left[0]
    return Op(expr.name, parts)


def _text(expr: Expr, rule: Rule, t: int) -> str:
    def read(variable: Var) -> str:
        place = 0 if variable.lag > t else t - variable.lag  # the first value stands before the start
        cell = _cell(rule, variable.name, place)
        return f"N({cell})" if variable.name in rule.truths else cell  # TRUE is not equal to 1 there

    return written(expr, "excel", read, _number)


def _lookup(rule: Rule, definition: Retrieval, t: int) -> str:
    """The last match of a key, the classic way: the last number of a list that is no error."""
    default, last = _number(definition.default), t - definition.gap
    if last < 0:
        return default
    keys, values = (
        f"{_cell(rule, name, 0, fixed=True)}:{_cell(rule, name, last)}"
        for name in (definition.key, definition.value)
    )
    query = _text(_at(definition.query, rule, t), rule, t)
    found = f"LOOKUP(2,1/({_numbers(rule, definition.key, keys)}={query}),{values})"
    return f"IFERROR({f'N({found})' if definition.value in rule.truths else found},{default})"


def _numbers(rule: Rule, name: str, cells: str) -> str:
    """Cells of which TRUE and FALSE count as numbers."""
    return f"--{cells}" if name in rule.truths else cells


def _count(rule: Rule, definition: Count, t: int) -> str:
    """How many cells so far compare so with what is asked."""
    keys = f"{_cell(rule, definition.key, 0, fixed=True)}:{_cell(rule, definition.key, t)}"
    keys = _numbers(rule, definition.key, keys)
    sign = "=" if definition.relation == "eq" else definition.sign
    return f"SUMPRODUCT(--({keys}{sign}{_text(_at(definition.query, rule, t), rule, t)}))"


def _cell(rule: Rule, name: str, t: int, *, fixed: bool = False) -> str:
    recurrence = rule.recurrence
    names = (*recurrence.inputs, *(step.name for step in recurrence.steps))
    return f"{_column(names.index(name))}{'$' if fixed else ''}{t + FIRST_ROW}"


def _column(place: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    text = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        text = chr(65 + letter) + text
    return text


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise InputError(
            "a spreadsheet cannot hold this program: an infinite start value is used for more than a largest "
            "or smallest value; choose c or javascript."
        )
    text = repr(value).removesuffix(".0").replace("e", "E")
    return f"({text})" if text.startswith("-") else text


def _depth(definition: Definition) -> int:
    if isinstance(definition, Op):
        return 1 + max(map(_depth, definition.args), default=0)
    return 1


def _workbook(sheets: dict[str, list[list[_Cell]]]) -> bytes:
    """The parts of a workbook, packed; the same cells give the same bytes."""
    numbered = list(enumerate(sheets, start=1))
    content = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPES}.worksheet+xml"/>'
        for number, _ in numbered
    )
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>' for number, name in numbered
    )
    related = "".join(
        f'<Relationship Id="rId{number}" Type="{_RELATIONS}/worksheet" '
        f'Target="worksheets/sheet{number}.xml"/>'
        for number, _ in numbered
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>{content}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets>'
        '<calcPr fullCalcOnLoad="1"/></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{related}'
        "</Relationships>",
    }
    files |= {f"xl/worksheets/sheet{number}.xml": _sheet(sheets[name]) for number, name in numbered}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{text}')
    return made.getvalue()


def _sheet(rows: list[list[_Cell]]) -> str:
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = "".join(_xml(f"{_column(place)}{number}", *cell) for place, cell in enumerate(row))
        lines.append(f'<row r="{number}">{cells}</row>')
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def _xml(place: str, kind: str, text: str) -> str:
    if kind == "number":
        return f'<c r="{place}"><v>{text}</v></c>'
    if kind == "truth":
        return f'<c r="{place}" t="b"><v>{text}</v></c>'
    if kind == "formula":
        return f'<c r="{place}"><f>{escape(text)}</f></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
