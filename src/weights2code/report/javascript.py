"""A recurrence as JavaScript, so that the page computes what `program.py` computes.

Numbers are the same IEEE doubles in both languages, and every operator is applied in the order of the tree,
so values agree bit for bit; only exp, log, sin, cos and pow may differ in their last digit. Names never
become code: a variable is its place in a list.
"""

from __future__ import annotations

import json
import math
from typing import Any

from weights2code.language import Const, Domain, Expr, Number, Op, Recurrence, Retrieval, Var, formula

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_RELATIONS = {"eq": "===", "ne": "!==", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_MATH = {"abs", "max", "min", "floor", "sqrt", "exp", "log", "sin", "cos", "pow"}

#: Marks the place of a variable in the text of a step: between two of these stand its index and lag.
MARK = "\x01"


def machine(recurrence: Recurrence, domains: tuple[Domain, ...]) -> str:
    """A JavaScript object literal: names, start values, and one function a step.

    A step is called with `r`, the reader of a variable by index and lag, and `find`, the retrieval.
    """
    names = _names(recurrence)
    steps = ",\n".join(
        f"  {{text: {literal(step_text(recurrence, index))}, "
        f"value: (r, find) => {_definition(step.definition, names)}}}"
        for index, step in enumerate(recurrence.steps)
    )
    facts = {
        "names": names,
        "inputs": len(recurrence.inputs),
        "outputs": [names.index(name) for name in recurrence.outputs],
        "domains": [{"words": str(d), "discrete": d.discrete, "low": d.low, "high": d.high} for d in domains],
    }
    starts = ", ".join(_start(recurrence, name) for name in names)
    return f"{{...{literal(facts)},\nstart: [{starts}],\nsteps: [\n{steps}\n]}}"


def literal(value: Any) -> str:
    """JSON that may stand inside a script element, whatever the names are."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def expression(expr: Expr, names: list[str]) -> str:
    """The value of an expression; `r(index, lag)` reads a variable."""
    if isinstance(expr, Const):
        return _number(expr.value)
    if isinstance(expr, Var):
        return f"r({names.index(expr.name)}, {expr.lag})"
    assert isinstance(expr, Op)
    arguments = [expression(argument, names) for argument in expr.args]
    if expr.name in _BINARY:
        return f"({arguments[0]} {_BINARY[expr.name]} {arguments[1]})"
    if expr.name in _RELATIONS:
        return f"({arguments[0]} {_RELATIONS[expr.name]} {arguments[1]} ? 1 : 0)"
    if expr.name in _MATH:
        return f"Math.{expr.name}({', '.join(arguments)})"
    first, *rest = arguments
    match expr.name:
        case "neg":
            return f"(-{first})"
        case "mod":
            return f"mod({first}, {rest[0]})"
        case "relu":
            return f"Math.max({first}, 0)"
        case "clip":
            return f"Math.min(Math.max({first}, {rest[0]}), {rest[1]})"
        case "and":
            return f"({first} !== 0 && {rest[0]} !== 0 ? 1 : 0)"
        case "or":
            return f"({first} !== 0 || {rest[0]} !== 0 ? 1 : 0)"
        case "not":
            return f"({first} === 0 ? 1 : 0)"
        case "where":
            return f"({first} !== 0 ? {rest[0]} : {rest[1]})"
    raise ValueError(f"JavaScript has no word for {expr.name}")


def step_text(recurrence: Recurrence, index: int) -> str:
    """The formula of a step with a marked place for each variable, for showing it with numbers put in."""
    names = _names(recurrence)

    def place(variable: Var) -> str:
        return f"{MARK}{names.index(variable.name)},{variable.lag}{MARK}"

    definition = recurrence.steps[index].definition
    if isinstance(definition, Expr):
        return formula(definition, place)
    return f"the last {definition.value} whose {definition.key} equals {formula(definition.query, place)}"


def _names(recurrence: Recurrence) -> list[str]:
    return [*recurrence.inputs, *(step.name for step in recurrence.steps)]


def _definition(definition: Expr | Retrieval, names: list[str]) -> str:
    if isinstance(definition, Expr):
        return expression(definition, names)
    table = f"{names.index(definition.key)}, {names.index(definition.value)}"
    query = expression(definition.query, names)
    return f"find({table}, {query}, {definition.gap}, {_number(definition.default)})"


def _start(recurrence: Recurrence, name: str) -> str:
    start = recurrence.start_of(name)
    return '"first"' if isinstance(start, str) else _number(start)


def _number(value: Number) -> str:
    plain = float(value)
    if math.isnan(plain):
        return "NaN"
    if math.isinf(plain):
        return "Infinity" if plain > 0 else "(-Infinity)"
    text = repr(plain).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text
