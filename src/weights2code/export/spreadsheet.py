"""A program as a sheet of formulas, `.xlsx`: inputs on the left, a column a step, filled down.

The first rows look back to before the start, so their formulas have the start values in them; from then on
all rows are alike, and the last one can be filled down. What stands in the input columns is an example: put
other numbers there. A spreadsheet has neither infinity nor "no number": where `program.py` has one, the cell
holds an error, and so does every cell that reads it.
"""

from __future__ import annotations

import io
import math
import zipfile
from contextlib import suppress
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

import numpy as np

from weights2code.data import FileSource, from_file
from weights2code.errors import InputError
from weights2code.export.rules import Rule, comment_lines, number_text, printable, rule_of, written
from weights2code.language import Const, Count, Definition, Expr, Op, Retrieval, Step, Var, uniform
from weights2code.language.categories import Categories, categories_of, in_words, label, spoken
from weights2code.language.domain import Category
from weights2code.program import Program

#: Rows of the sheet, and of formulas that look back further than that at least as many again.
ROWS = 100
#: What a spreadsheet allows a formula: characters, and functions inside each other.
LONGEST, DEEPEST = 8192, 60
FIRST_ROW = 2
_NOTES = (
    "A spreadsheet computes with 15 digits: numbers that differ only beyond them count as equal there, and",
    "remainders of numbers that are not whole may differ in the last digits.",
    "A division by zero, a number beyond 1E308 and what is no number are errors, also where they are read.",
)
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATION = f'<Relationship Id="rId{{0}}" Type="{_OFFICE}/{{1}}" Target="{{2}}"/>'
_OVERRIDE = f'<Override PartName="/xl/{{}}.xml" ContentType="{_TYPES}.{{}}+xml"/>'
_SHEET = ("worksheets/sheet1", "worksheets/sheet2")
#: The files that are the same in every workbook.
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f"{_OVERRIDE.format('workbook', 'sheet.main')}"
    f"{''.join(_OVERRIDE.format(sheet, 'worksheet') for sheet in _SHEET)}</Types>",
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f"{_RELATION.format(1, 'officeDocument', 'xl/workbook.xml')}</Relationships>",
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="program" sheetId="1" r:id="rId1"/><sheet name="about" sheetId="2" r:id="rId2"/></sheets>'
    '<calcPr fullCalcOnLoad="1"/></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    + "".join(_RELATION.format(i, "worksheet", f"{sheet}.xml") for i, sheet in enumerate(_SHEET, start=1))
    + "</Relationships>",
}
#: How a cell holds a number, a truth value, a formula or a text.
_CELLS = {
    "number": '<c r="{}"><v>{}</v></c>',
    "truth": '<c r="{}" t="b"><v>{}</v></c>',
    "formula": '<c r="{}"><f>{}</f></c>',
    "text": '<c r="{}" t="inlineStr"><is><t xml:space="preserve">{}</t></is></c>',
}
_Cell = tuple[str, str]


def write(program: Program, source: FileSource | None = None) -> bytes:
    """The content of `program.xlsx`."""
    rule = rule_of(program)
    apart = all(
        len({str(t).casefold() for t in texts}) == len(texts) for texts in program.categories.values()
    )
    recurrence, types = spoken(rule.recurrence, program.categories if apart else {})  # "A" equals "a" there
    rule = replace(rule, recurrence=recurrence)
    rows = max(ROWS, 2 * max(rule.lags.values(), default=0))
    inputs, steps = rule.recurrence.inputs, rule.recurrence.steps
    cells = [[("text", printable(name)) for name in (*inputs, *(step.name for step in steps))]]
    for t, given in enumerate(_example(program, source, rows).tolist()):
        values = [_given(value, name, rule, types) for name, value in zip(inputs, given, strict=True)]
        row = _Row(rule, t, types)
        cells.append([*values, *(("formula", row.formula(step)) for step in steps)])
    notes = [[("text", line)] for line in (*comment_lines(program, numbered=not types), *_NOTES)]
    return _workbook(cells, notes)


def _example(program: Program, source: FileSource | None, rows: int) -> np.ndarray:
    """The first rows of the user's own table, if it is where it was; else random ones."""
    inputs = program.recurrence.inputs
    with suppress(InputError, OSError, ValueError):
        problem = source and from_file(source, 0)
        if problem and problem.rows:
            places = [problem.inputs.index(name) for name in inputs]
            first = problem.rows.x[: min(rows, int(problem.rows.lengths[0])), places]
            known = categories_of(inputs, [problem.domains[place] for place in places])
            return program.encode(in_words(first, inputs, known)).reshape(first.shape)
    return uniform(np.random.default_rng(0), program.domains, 1, rows)[0]


def _given(value: float, name: str, rule: Rule, types: Categories) -> _Cell:
    """A cell of an input."""
    if name in rule.truths:
        return "truth", str(int(value))
    category = types[name][int(value) - 1] if name in types else value
    return ("text", category) if isinstance(category, str) else ("number", repr(category))


def _text(category: Category | None) -> str:
    """A text in a formula; an empty one is what lies before the start."""
    if isinstance(category, int):
        return str(category)
    escaped = (category or "").replace('"', '""')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class _Row:
    """Writes the formulas of one row; what lies before the start is the number that stands there."""

    rule: Rule
    t: int
    types: Categories

    def formula(self, step: Step) -> str:
        definition = step.definition
        if isinstance(definition, Retrieval):
            text = self.lookup(definition)
        elif isinstance(definition, Count):
            text = self.count(definition)
        else:
            assert isinstance(definition, Expr), definition
            text = self.text(definition)
        if len(text) > LONGEST or _depth(definition) > DEEPEST:
            raise InputError(
                f"a spreadsheet cannot hold this program: the formula of {step.name} has {len(text)} "
                f"characters, and {LONGEST} are allowed, or functions too deep inside each other; choose c "
                "or javascript."
            )
        return f"({text})<>0" if step.name in self.rule.truths else text

    def text(self, expr: Expr) -> str:
        before: dict[Var, Expr] = {
            variable: label(start, self.types[variable.name]) if variable.name in self.types else Const(start)
            for variable in expr.variables()
            if variable.lag > self.t and not self.rule.first(variable.name)
            for start in [self.rule.start(variable.name)]
        }
        return written(_without_infinity(expr.substitute(before)), "spreadsheet", self.read, _number, _text)

    def read(self, variable: Var) -> str:
        cell = self.cell(variable.name, max(self.t - variable.lag, 0))  # the first value, before the start
        return f"N({cell})" if variable.name in self.rule.truths else cell  # TRUE is not equal to 1 there

    def lookup(self, definition: Retrieval) -> str:
        """The last match of a key, the classic way: the last number of a list that is no error."""
        texts = self.types.get(definition.value)
        default = _text(label(definition.default, texts).text) if texts else _number(definition.default)
        last = self.t - definition.gap
        if last < 0:
            return default
        keys, values = self.cells(definition.key, last), self.cells(definition.value, last, numbers=False)
        query = self.text(definition.query)
        found = f"LOOKUP(2,1/({keys}={query}),{values})"
        found = f"N({found})" if definition.value in self.rule.truths else found
        if texts or definition.key in self.types:
            return f"IFNA({found},{default})"
        return f"IFNA({found},{default}+0*{query})"  # an error in the query stays one

    def count(self, definition: Count) -> str:
        """How many cells so far compare so with what is asked."""
        sign = "=" if definition.relation == "eq" else definition.sign
        keys = self.cells(definition.key, self.t)
        return f"SUMPRODUCT(--({keys}{sign}{self.text(definition.query)}))"

    def cells(self, name: str, last: int, *, numbers: bool = True) -> str:
        """All cells of a column so far, of which TRUE and FALSE count as `numbers`."""
        cells = f"{self.cell(name, 0, fixed='$')}:{self.cell(name, last)}"
        return f"--{cells}" if numbers and name in self.rule.truths else cells

    def cell(self, name: str, t: int, fixed: str = "") -> str:
        recurrence = self.rule.recurrence
        columns = (*recurrence.inputs, *(step.name for step in recurrence.steps))
        return f"{_column(columns.index(name))}{fixed}{t + FIRST_ROW}"


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
    return number_text(value, "", "", decimals=False).replace("e", "E")


def _depth(definition: Definition) -> int:
    if isinstance(definition, Op):
        return 1 + max(map(_depth, definition.args), default=0)
    return 1


def _workbook(*sheets: list[list[_Cell]]) -> bytes:
    """The parts of a workbook, packed; the same cells give the same bytes."""
    made = io.BytesIO()
    files = _PARTS | {f"xl/{name}.xml": _sheet(rows) for name, rows in zip(_SHEET, sheets, strict=True)}
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{text}')
    return made.getvalue()


def _sheet(rows: list[list[_Cell]]) -> str:
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = (
            _CELLS[kind].format(f"{_column(i)}{number}", escape(text)) for i, (kind, text) in enumerate(row)
        )
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
