"""A program in C99: one function over arrays of doubles, with no more memory than the rule looks back.

Only lookups and counts need more: a table that grows with the number of different keys, or all keys. All
functions of C share one space of names, so ours is called `run_` and the program's name. Products are not
fused with sums, whatever the compiler is told; what rearranges arithmetic altogether is refused by the text.
"""

from __future__ import annotations

from weights2code.data import FileSource
from weights2code.export.loops import Language, helpers
from weights2code.export.rules import comment_lines
from weights2code.language import OverAll
from weights2code.program import Program

_LANGUAGE = Language(
    column="c",
    keywords="""
    alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern
    false float for goto i386 if inline int linux long nullptr register restrict return short signed sizeof
    static static_assert struct switch thread_local true typedef typeof typeof_unqual union unix unsigned
    void volatile while
    """,
    helpers=helpers("helpers.c"),
    frame="int rows length out t row failed free return",
    infinity="INFINITY",
    nan="NAN",
    value="double {0} = {1};",
    past="double {0}_past[{1}];\nfor (size_t k = 0; k < {1}; k++) {0}_past[k] = {2};",
    shift="for (size_t k = {1} - 1; k > 0; k--) {0}_past[k] = {0}_past[k - 1];\n{0}_past[0] = {0};",
    table="table {0}_table = {{0}};",
    keep="failed |= keep(&{0}_table, {1}, {2});",
    find="find(&{0}_table, {1}, {2})",
    seen="table {0}_table = {{0}};",
    insort="failed |= put(&{0}_table, bisect(&{0}_table, {1}, 1), {1}, 0);",
    bisect="bisect(&{0}_table, {1}, {2})",
    size="{0}_table.count",
)

_HEAD = r"""#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__) \
    || FLT_EVAL_METHOD == 2 || FLT_EVAL_METHOD < 0
#error "this needs arithmetic of doubles as it is written: no -ffast-math, no wider registers"
#endif
#if defined __GNUC__ && !defined __clang__ /* no a*b + c in one rounding */
#pragma GCC optimize ("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""


def write(program: Program, source: FileSource | None = None) -> str:
    """The text of `program.c`."""
    rule = _LANGUAGE.rule(program, macros=True)
    inputs, outputs = rule.recurrence.inputs, rule.recurrence.outputs
    places = {name: place for place, name in enumerate(inputs)}
    kept = [step.name for step in rule.recurrence.steps if isinstance(step.definition, OverAll)]
    body = _LANGUAGE.before(rule, lambda name: f"length ? rows[{places[name]}] : 0")
    body += ["int failed = 0;"] if kept else []
    body += [f"for (size_t t = 0; {'!failed && ' if kept else ''}t < length; t++) {{"]
    inside = [f"const double *row = rows + {len(inputs)} * t;"]
    inside += [] if rule.used() & set(inputs) else ["(void)row;"]
    inside += _LANGUAGE.inside(rule, lambda name: f"row[{places[name]}]")
    for place, name in enumerate(outputs):
        inside.append(f"out[{len(outputs)} * t + {place}] = {rule.names[name]};")
    body += [*(f"    {line}" for line in inside), "}"]
    for name in kept:
        body.append(f"free({rule.names[name]}_table.keys), free({rule.names[name]}_table.values);")
    body.append("return failed;" if kept else "return 0;")
    return "\n".join(
        [
            "/*",
            *(f" * {line}".rstrip() for line in comment_lines(program, numbered=True, bits=True)),
            " */",
            _HEAD,
            *(f"{code}\n" for code in _LANGUAGE.needed(body)),
            f"/* `rows` has {len(inputs)} numbers a row, `out` gets {len(outputs)}, in the order of the fit.",
            "   Returns 0, or 1 if there is not enough memory. */",
            f"int run_{rule.function}(const double *rows, size_t length, double *out) {{",
            *(f"    {line}" for line in body),
            "}",
            "",
        ]
    )
