"""What the page's box needs of a program: its names, its formulas as texts, and the exported function.

The function is that of `w2c export --to javascript`, of every step and not only of the outputs, so that the
page computes what `program.py` computes. Names never become code: there they are v0, v1, ...
"""

from __future__ import annotations

import json
from typing import Any

from weights2code.export.javascript_module import closure
from weights2code.export.rules import number_text
from weights2code.language import Count, Domain, Expr, Recurrence, Step, Var, formula, integers, renamed
from weights2code.language.categories import Categories, spoken
from weights2code.program import Program

#: Marks the place of a variable in the text of a step: between two of these stand its index and lag.
MARK = "\x01"


def machine(recurrence: Recurrence, domains: tuple[Domain, ...], categories: Categories | None = None) -> str:
    """A JavaScript object literal: names, start values, the text of each step, and what runs all of them.

    Texts are computed with as their numbers; `texts` has them by name, and null for names of numbers.
    """
    names = _names(recurrence)
    shown, types = spoken(recurrence, categories or {})
    facts = {
        "names": names,
        "inputs": len(recurrence.inputs),
        "outputs": [names.index(name) for name in recurrence.outputs],
        "texts": [[*map(str, types[name])] if name in types else None for name in names],
        "domains": [{"words": str(d), "discrete": d.discrete, "low": d.low, "high": d.high} for d in domains],
        "steps": [step_text(shown, index) for index in range(len(shown.steps))],
    }
    starts = ", ".join(_start(recurrence, name) for name in names)
    return f"{{...{literal(facts)},\nstart: [{starts}],\nrun: {running(recurrence, domains)}}}"


def running(recurrence: Recurrence, domains: tuple[Domain, ...]) -> str:
    """The exported function of every step, of numbers alone."""
    plain = {name: f"v{i}" for i, name in enumerate(_names(recurrence))}
    steps = tuple(Step(plain[step.name], renamed(step.definition, plain)) for step in recurrence.steps)
    bare = Recurrence(
        tuple(plain[name] for name in recurrence.inputs),
        steps,
        tuple(step.name for step in steps),
        {plain[name]: value for name, value in recurrence.start.items()},
    )
    numbers = tuple(integers(int(d.low), int(d.high)) if d.discrete else d for d in domains)
    return closure(Program("run", bare, numbers))


def literal(value: Any) -> str:
    """JSON that may stand inside a script element, whatever the names are."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


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


def _start(recurrence: Recurrence, name: str) -> str:
    start = recurrence.start_of(name)
    return (
        '"first"' if isinstance(start, str) else number_text(float(start), "Infinity", "NaN", decimals=False)
    )
