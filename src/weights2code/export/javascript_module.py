"""A program as a module of JavaScript, for Node.js and browsers; numbers are the same doubles there."""

from __future__ import annotations

import json
import math

from weights2code.data import FileSource
from weights2code.export.rules import Rule, comment_lines, rule_of, words, written
from weights2code.language import OPERATORS, Count, Expr, Retrieval, Var
from weights2code.language.categories import Categories
from weights2code.program import Program

#: Words that mean something else there.
_TAKEN = words(
    """
    arguments await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for function if implements import in instanceof interface let new null
    package private protected public return static super switch this throw true try typeof undefined var
    void while with yield Math Map Array Infinity NaN rows row t out mod first number truth String
    """
)

_MOD = """const mod = (a, b) => { // the remainder has the sign of b
  const r = a % b;
  return r !== 0 && (r < 0) !== (b < 0) ? r + b : r;
};
"""

_NUMBER = """const number = (texts, text) => { // what a text is computed with
  const found = texts.indexOf(Array.isArray(text) ? text[0] : text) + 1;
  if (!found) throw new RangeError(`${text} is none of ${texts}`);
  return found;
};
"""


_TRUTH = """const truth = (cell) => { // as files write truth values, too
  const found = ['false', 'true', '0', '1'].indexOf(String(cell).trim().toLowerCase());
  if (found < 0) throw new RangeError(`${cell} is neither true nor false`);
  return found % 2;
};
"""


def write(program: Program, source: FileSource | None = None) -> str:
    """The text of `program.mjs`."""
    rule = rule_of(program, _TAKEN)
    body = _body(rule, program.categories)
    columns, outputs = rule.recurrence.inputs, rule.recurrence.outputs
    given, gives = (
        "true or false" if names[0] in rule.truths else "a number" for names in (columns, outputs)
    )
    given = f"{given}, or an array of one" if len(columns) == 1 else f"[{', '.join(columns)}]"
    gives = gives if len(outputs) == 1 else f"[{', '.join(outputs)}]"
    return "\n".join(
        [
            *(f"// {line}".rstrip() for line in comment_lines(program)),
            "",
            *([_MOD] if any("mod(" in line for line in body) else []),
            *([_NUMBER] if program.categories else []),
            *([_TRUTH] if any("truth(" in line for line in body) else []),
            "// " + " ".join(f"`rows` is one sequence, each row {given}; each answer is {gives}.".split()),
            f"export function {rule.function}(rows) {{",
            *(f"  {line}" for line in body),
            "}",
            "",
        ]
    )


def _body(rule: Rule, texts: Categories) -> list[str]:
    recurrence = rule.recurrence
    width = len(recurrence.inputs)

    def cell(row: str, name: str) -> str:
        found = row if width == 1 else f"{row}[{recurrence.inputs.index(name)}]"
        if name in rule.truths:
            return f"truth({found})"
        if name not in texts:
            return f"Number({found})"
        return f"number({json.dumps(list(texts[name]))}, {found})"

    lines = []
    for name, lag in rule.lags.items():
        start = _number(rule.start(name))
        if rule.first(name):
            start = f"rows.length ? {cell('rows[0]', name)} : 0"
        lines.append(f"const {rule.names[name]}_past = new Array({lag}).fill({start});")
    tables = [step.name for step in recurrence.steps if isinstance(step.definition, Retrieval)]
    lines += [f"const {rule.names[name]}_table = new Map();" for name in tables]
    counts = [step.name for step in recurrence.steps if isinstance(step.definition, Count)]
    lines += [f"const {rule.names[name]}_table = [];" for name in counts]
    lines += ["const out = [];", "for (let t = 0; t < rows.length; t++) {"]
    inside = []
    used = rule.used()
    for name in recurrence.inputs:
        if name in used:
            inside.append(f"const {rule.names[name]} = {cell('rows[t]', name)};")
    for step in recurrence.steps:
        definition, name = step.definition, rule.names[step.name]
        if isinstance(definition, Count):
            holds = OPERATORS[definition.relation].javascript.format(
                f"{name}_key", _text(definition.query, rule)
            )
            inside.append(f"{name}_table.push({rule.names[definition.key]});")
            inside.append(f"const {name} = {name}_table.reduce((sum, {name}_key) => sum + {holds}, 0);")
            continue
        if not isinstance(definition, Retrieval):
            inside.append(f"const {name} = {_text(definition, rule)};")
            continue
        if definition.gap == 0:
            inside.append(_keep(rule, step.name, definition, 0))
        query = _text(definition.query, rule)
        inside.append(f"const {name}_key = {query};")
        inside.append(
            f"const {name} = {name}_table.has({name}_key) ? {name}_table.get({name}_key) : "
            f"{_number(definition.default)};"
        )
    for step in recurrence.steps:
        if isinstance(step.definition, Retrieval) and step.definition.gap:
            inside.append(_keep(rule, step.name, step.definition, step.definition.gap - 1))
    for name in rule.lags:
        past = f"{rule.names[name]}_past"
        inside.append(f"{past}.unshift({rule.names[name]}), {past}.pop();")
    outputs = [
        f"{json.dumps(list(texts[name]))}[{rule.names[name]} - 1]"
        if name in texts
        else f"{rule.names[name]}{' !== 0' if name in rule.truths else ''}"
        for name in recurrence.outputs
    ]
    inside.append(f"out.push({outputs[0] if len(outputs) == 1 else '[' + ', '.join(outputs) + ']'});")
    return [*lines, *(f"  {line}" for line in inside), "}", "return out;"]


def _keep(rule: Rule, step: str, definition: Retrieval, lag: int) -> str:
    key, value = (rule.read(Var(name, lag)) for name in (definition.key, definition.value))
    line = f"{rule.names[step]}_table.set({key}, {value});"
    return f"if (t >= {lag}) {line}" if lag else line


def _text(expr: Expr, rule: Rule) -> str:
    return written(expr, "javascript", rule.read, _number)


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "(-Infinity)"
    text = repr(value).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text
