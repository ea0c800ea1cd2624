"""A recurrence as JavaScript, so that the page computes what `program.py` computes.

Numbers are the same IEEE doubles in both languages, and every operator is applied in the order of the tree,
so values agree bit for bit; only exp, log, sin, cos and pow may differ in their last digit. Names never
become code: a variable is its place in a list.
"""

from __future__ import annotations

import json
from typing import Any

from weights2code.export.loops import helpers
from weights2code.export.rules import number_text, written
from weights2code.language import (
    OPERATORS,
    Count,
    Definition,
    Domain,
    Expr,
    Number,
    Recurrence,
    Retrieval,
    Var,
    formula,
)
from weights2code.language.categories import Categories, spoken

#: Marks the place of a variable in the text of a step: between two of these stand its index and lag.
MARK = "\x01"


def machine(recurrence: Recurrence, domains: tuple[Domain, ...], categories: Categories | None = None) -> str:
    """A JavaScript object literal: names, start values, and one function a step.

    A step is called with `r`, the reader of a variable by index and lag, `find`, the retrieval, and `count`.
    Texts are computed with as their numbers; `texts` has them by name, and null for names of numbers.
    """
    names = _names(recurrence)
    recurrence, types = spoken(recurrence, categories or {})
    steps = ",\n".join(
        f"  {{text: {literal(step_text(recurrence, index))}, "
        f"value: (r, find, count) => {_definition(step.definition, names)}}}"
        for index, step in enumerate(recurrence.steps)
    )
    facts = {
        "names": names,
        "inputs": len(recurrence.inputs),
        "outputs": [names.index(name) for name in recurrence.outputs],
        "texts": [[*map(str, types[name])] if name in types else None for name in names],
        "domains": [{"words": str(d), "discrete": d.discrete, "low": d.low, "high": d.high} for d in domains],
    }
    starts = ", ".join(_start(recurrence, name) for name in names)
    return f"{{...{literal(facts)},\nstart: [{starts}],\nsteps: [\n{steps}\n]}}"


def operators() -> str:
    """What operators call, as exported modules have it."""
    called = " ".join(entry.javascript for entry in OPERATORS.values())
    return "\n".join(code for word, code in helpers("helpers.mjs").items() if f"{word}(" in called)


def literal(value: Any) -> str:
    """JSON that may stand inside a script element, whatever the names are."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def expression(expr: Expr, names: list[str]) -> str:
    """The value of an expression; `r(index, lag)` reads a variable."""
    return written(expr, "javascript", lambda v: f"r({names.index(v.name)}, {v.lag})", _number)


def step_text(recurrence: Recurrence, index: int) -> str:
    """The formula of a step with a marked place for each variable, for showing it with numbers put in."""
    names = _names(recurrence)

    def place(variable: Var) -> str:
        return f"{MARK}{names.index(variable.name)},{variable.lag}{MARK}"

    definition = recurrence.steps[index].definition
    if isinstance(definition, Expr):
        return formula(definition, place)
    if isinstance(definition, Count):
        words = f"how many {definition.key} so far are {definition.sign}"
        return f"{words} {formula(definition.query, place)}"
    return f"the last {definition.value} whose {definition.key} equals {formula(definition.query, place)}"


def _names(recurrence: Recurrence) -> list[str]:
    return [*recurrence.inputs, *(step.name for step in recurrence.steps)]


def _definition(definition: Definition, names: list[str]) -> str:
    if isinstance(definition, Expr):
        return expression(definition, names)
    if isinstance(definition, Count):
        holds = OPERATORS[definition.relation].javascript.format("key", expression(definition.query, names))
        return f"count({names.index(definition.key)}, (key) => {holds})"
    assert isinstance(definition, Retrieval), definition
    table = f"{names.index(definition.key)}, {names.index(definition.value)}"
    query = expression(definition.query, names)
    return f"find({table}, {query}, {definition.gap}, {_number(definition.default)})"


def _start(recurrence: Recurrence, name: str) -> str:
    start = recurrence.start_of(name)
    return '"first"' if isinstance(start, str) else _number(start)


def _number(value: Number) -> str:
    return number_text(float(value), "Infinity", "NaN", decimals=False)
