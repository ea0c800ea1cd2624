"""A program in C99: one function over arrays of doubles, with no more memory than the rule looks back.

Only lookups and counts need more: a table that grows with the number of different keys, or all keys.
"""

from __future__ import annotations

import math

from weights2code.data import FileSource
from weights2code.export.rules import Rule, comment_lines, rule_of, words, written
from weights2code.language import OPERATORS, Count, Expr, Retrieval, Var
from weights2code.program import Program

#: Words that mean something else there.
_TAKEN = words(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while main rows length out t k i row mod larger smaller lookup find keep list enlist ranked free
    realloc size_t NULL floor fabs fmod pow exp log sin cos tan sqrt abs INFINITY NAN y0 y1 yn j0 j1 jn gamma
    signal
    """
)

HELPERS = {
    "mod": """static double mod(double a, double b) { /* the remainder has the sign of b */
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}""",
    "larger": "static double larger(double a, double b) { return a > b || a != a ? a : b; }",
    "smaller": "static double smaller(double a, double b) { return a < b || a != a ? a : b; }",
    "ranked": """static double ranked(int place, int count, const double *given) { /* the place-th smallest */
    double best = INFINITY;
    for (int i = 0; i < count; i++) {
        int below = 0;
        for (int k = 0; k < count; k++) below += given[k] <= given[i];
        if (below >= place && given[i] < best) best = given[i];
    }
    return best;
}""",
    "lookup": """typedef struct { double *keys, *values; size_t count, room; } lookup; /* a value a key */

static double find(const lookup *table, double key, double otherwise) {
    for (size_t i = 0; i < table->count; i++)
        if (table->keys[i] == key) return table->values[i];
    return otherwise;
}

static int keep(lookup *table, double key, double value) {
    size_t i = 0;
    while (i < table->count && table->keys[i] != key) i++;
    if (i == table->room) {
        size_t room = 2 * table->room + 16;
        double *keys = realloc(table->keys, room * sizeof *keys);
        if (keys) table->keys = keys;
        double *values = realloc(table->values, room * sizeof *values);
        if (values) table->values = values;
        if (!keys || !values) return 1;
        table->room = room;
    }
    table->keys[i] = key;
    table->values[i] = value;
    if (i == table->count) table->count++;
    return 0;
}""",
    "list": """typedef struct { double *keys; size_t count, room; } list; /* all keys so far */

static int enlist(list *all, double key) {
    if (all->count == all->room) {
        size_t room = 2 * all->room + 16;
        double *keys = realloc(all->keys, room * sizeof *keys);
        if (!keys) return 1;
        all->keys = keys;
        all->room = room;
    }
    all->keys[all->count++] = key;
    return 0;
}""",
}


def write(program: Program, source: FileSource | None = None) -> str:
    """The text of `program.c`."""
    rule = rule_of(program, _TAKEN)
    body = _body(rule)
    text = "\n".join(body)
    helpers = [code for name, code in HELPERS.items() if f"{name}(" in text or f"{name} " in text]
    includes = ["#include <math.h>", "#include <stddef.h>"]
    if rule.recurrence.retrieves():
        includes.append("#include <stdlib.h>")
    columns, outputs = len(rule.recurrence.inputs), len(rule.recurrence.outputs)
    comment = [f" * {line}".rstrip() for line in comment_lines(program, numbered=True, bits=True)]
    return "\n".join(
        [
            "/*",
            *comment,
            " */",
            *includes,
            "#pragma STDC FP_CONTRACT OFF",
            "",
            *(f"{code}\n" for code in helpers),
            f"/* `rows` holds {columns} numbers a row, `out` gets {outputs}, in the order of the fit.",
            "   Returns 0, or 1 if there is not enough memory. */",
            f"int {rule.function}(const double *rows, size_t length, double *out) {{",
            *(f"    {line}" for line in body),
            "}",
            "",
        ]
    )


def _body(rule: Rule) -> list[str]:
    recurrence = rule.recurrence
    columns, outputs = len(recurrence.inputs), len(recurrence.outputs)
    tables = [step.name for step in recurrence.steps if isinstance(step.definition, Retrieval)]
    lines = [line for name in rule.lags for line in _past(rule, name)]
    lines += [f"lookup {rule.names[name]}_table = {{0}};" for name in tables]
    counts = [step.name for step in recurrence.steps if isinstance(step.definition, Count)]
    lines += [f"list {rule.names[name]}_table = {{0}};" for name in counts]
    kept = [*tables, *counts]
    lines += ["int failed = 0;"] if kept else []
    lines.append(f"for (size_t t = 0; {'!failed && ' if kept else ''}t < length; t++) {{")
    inside = [f"const double *row = rows + {columns} * t;"]
    used = rule.used()
    for place, name in enumerate(recurrence.inputs):
        if name in used:
            inside.append(f"double {rule.names[name]} = row[{place}];")
    for step in recurrence.steps:
        definition, name = step.definition, rule.names[step.name]
        if isinstance(definition, Retrieval):
            look = f"find(&{name}_table, {_text(definition.query, rule)}, {_number(definition.default)})"
            if definition.gap == 0:
                inside += _keep(rule, step.name, definition, 0)
            inside.append(f"double {name} = {look};")
        elif isinstance(definition, Count):
            holds = OPERATORS[definition.relation].c.format(f"{name}_table.keys[i]", f"{name}_key")
            inside += [
                f"failed |= enlist(&{name}_table, {rule.names[definition.key]});",
                f"double {name} = 0.0, {name}_key = {_text(definition.query, rule)};",
                f"for (size_t i = 0; i < {name}_table.count; i++) {name} += {holds};",
            ]
        else:
            inside.append(f"double {name} = {_text(definition, rule)};")
    for step in recurrence.steps:
        if isinstance(step.definition, Retrieval) and step.definition.gap:
            inside += _keep(rule, step.name, step.definition, step.definition.gap - 1)
    for name, lag in rule.lags.items():
        past = f"{rule.names[name]}_past"
        if lag > 1:
            inside.append(f"for (size_t k = {lag - 1}; k > 0; k--) {past}[k] = {past}[k - 1];")
        inside.append(f"{past}[0] = {rule.names[name]};")
    for place, name in enumerate(recurrence.outputs):
        inside.append(f"out[{outputs} * t + {place}] = {rule.names[name]};")
    lines += [f"    {line}" for line in inside]
    lines.append("}")
    for name in kept:
        lines.append(f"free({rule.names[name]}_table.keys);")
        lines += [f"free({rule.names[name]}_table.values);"] if name in tables else []
    lines.append("return failed;" if kept else "return 0;")
    return lines


def _past(rule: Rule, name: str) -> list[str]:
    """What is kept of a name, the newest first."""
    lag, past = rule.lags[name], f"{rule.names[name]}_past"
    if rule.first(name):
        place = rule.recurrence.inputs.index(name)
        loop = (
            f"for (size_t k = 0; length && k < {lag}; k++) {past}[k] = rows[{place}]; /* the first value */"
        )
        return [f"double {past}[{lag}] = {{0}};", loop]
    value = _number(rule.start(name))
    if rule.start(name) == 0:
        return [f"double {past}[{lag}] = {{0}};"]
    return [f"double {past}[{lag}];", f"for (size_t k = 0; k < {lag}; k++) {past}[k] = {value};"]


def _keep(rule: Rule, step: str, definition: Retrieval, lag: int) -> list[str]:
    key, value = (rule.read(Var(name, lag)) for name in (definition.key, definition.value))
    line = f"failed |= keep(&{rule.names[step]}_table, {key}, {value});"
    return [f"if (t >= {lag}) {line}" if lag else line]


def _text(expr: Expr, rule: Rule) -> str:
    return written(expr, "c", rule.read, _number)


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text
