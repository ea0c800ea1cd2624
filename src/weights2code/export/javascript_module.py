"""A program as a module of JavaScript, for Node.js and browsers; numbers are the same doubles there."""

from __future__ import annotations

import json

from weights2code.data import FileSource
from weights2code.export.loops import Language, helpers
from weights2code.export.rules import Rule, comment_lines
from weights2code.program import Program

_LANGUAGE = Language(
    column="javascript",
    keywords="""
    arguments async await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for function if implements import in instanceof interface let new null
    package private protected public return static super switch this throw true try typeof undefined var void
    while with yield
    """,
    helpers=helpers("helpers.mjs"),
    frame="export function rows const out for let t length Number number truth push return",
    infinity="Infinity",
    nan="NaN",
    value="const {0} = {1};",
    past="const {0}_past = new Array({1}).fill({2});",
    shift="{0}_past.unshift({0}), {0}_past.pop();",
    table="const {0}_table = new Map();",
    keep="{0}_table.set({1}, {2});",
    find="find({0}_table, {1}, {2})",
    seen="const {0}_table = [];",
    insort="{0}_table.splice(bisect({0}_table, {1}, 1), 0, {1});",
    bisect="bisect({0}_table, {1}, {2})",
    size="{0}_table.length",
)


def write(program: Program, source: FileSource | None = None) -> str:
    """The text of `program.mjs`."""
    rule, lines = function(program)
    inputs, outputs = rule.recurrence.inputs, rule.recurrence.outputs
    given, gives = ("true or false" if names[0] in rule.truths else "a number" for names in (inputs, outputs))
    given = f"{given}, or an array of one" if len(inputs) == 1 else f"[{', '.join(inputs)}]"
    gives = gives if len(outputs) == 1 else f"[{', '.join(outputs)}]"
    return "\n".join(
        [
            *(f"// {line}".rstrip() for line in comment_lines(program)),
            "",
            *(f"{code}\n" for code in _LANGUAGE.needed(lines)),
            "// " + " ".join(f"`rows` is one sequence, each row {given}; each answer is {gives}.".split()),
            f"export {lines[0]}",
            *lines[1:],
            "",
        ]
    )


def closure(program: Program) -> str:
    """The function as an expression, with what it calls."""
    _, lines = function(program)
    return "\n".join(["(() => {", *_LANGUAGE.needed(lines), f"return {lines[0]}", *lines[1:], "})()"])


def function(program: Program) -> tuple[Rule, list[str]]:
    """A function of the rows of a sequence, and the rule that it follows."""
    rule, texts = _LANGUAGE.rule(program), program.categories
    inputs, outputs = rule.recurrence.inputs, rule.recurrence.outputs

    def cell(row: str, name: str) -> str:
        found = row if len(inputs) == 1 else f"{row}[{inputs.index(name)}]"
        if name in texts:
            return f"number({json.dumps(list(texts[name]))}, {found})"
        return f"truth({found})" if name in rule.truths else f"Number({found})"

    def answer(name: str) -> str:
        value = rule.names[name]
        if name in texts:
            return f"{json.dumps(list(texts[name]))}[{value} - 1]"
        return f"{value} !== 0" if name in rule.truths else value

    answers = ", ".join(map(answer, outputs))
    inside = _LANGUAGE.inside(rule, lambda name: cell("rows[t]", name))
    inside.append(f"out.push({answers if len(outputs) == 1 else f'[{answers}]'});")
    body = [
        *_LANGUAGE.before(rule, lambda name: f"rows.length ? {cell('rows[0]', name)} : 0"),
        "const out = [];",
        "for (let t = 0; t < rows.length; t++) {",
        *(f"  {line}" for line in inside),
        "}",
        "return out;",
    ]
    return rule, [f"function {rule.function}(rows) {{", *(f"  {line}" for line in body), "}"]
