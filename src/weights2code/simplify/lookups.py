"""Lookups without detours: what was stored one step late is looked up where it was.

A head sees the last output one step late, so a lookup of outputs has its key one step late too. Both can be
read where they are: `y[s] at the last s < t with x[s] == x[t]` in the place of copies of both. What is added
to a value before it is stored can be added when it is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from weights2code.language import (
    Const,
    Definition,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Step,
    Var,
    definition_variables,
    evaluate,
    where,
)


def without_delay(recurrence: Recurrence) -> Recurrence:
    """The recurrence with every lookup of delayed copies in place of the copies; start values are dropped
    that say no more than that nothing was there. Whether that is the same is for the caller to see."""
    definitions = {step.name: step.definition for step in recurrence.steps}
    steps: list[Step] = []
    start = dict(recurrence.start)
    for step in recurrence.steps:
        found = _nearer(step.definition, definitions)
        if found is None:
            steps.append(step)
            continue
        lookup, added = found
        if isinstance(start.get(lookup.key), float):
            del start[lookup.key]
        if not added:
            steps.append(Step(step.name, lookup))
            continue
        name = _unused(definitions, recurrence)
        steps += [Step(name, lookup), Step(step.name, Var(name) + added)]
    return replace(recurrence, steps=tuple(steps), start=start).live()


def without_query(recurrence: Recurrence) -> Recurrence:
    """The recurrence in which a lookup that always asks for the same is a value that is kept until the next:
    `last = a if found else last[t-1]`. Whether that is the same is for the caller to see."""
    definitions = {step.name: step.definition for step in recurrence.steps}
    steps: list[Step] = []
    start = dict(recurrence.start)
    for step in recurrence.steps:
        made = step.definition
        query = made.query if isinstance(made, Retrieval) else None
        if isinstance(query, Var) and query.lag == 0:
            query = definitions.get(query.name)
        if isinstance(made, Retrieval) and isinstance(query, Const):
            found = Var(made.key, made.gap).equals(query)
            steps.append(Step(step.name, where(found, Var(made.value, made.gap), Var(step.name, 1))))
            if made.default:
                start[step.name] = made.default
        else:
            steps.append(step)
    return replace(recurrence, steps=tuple(steps), start=start).live()


def of_one_value(recurrence: Recurrence) -> Recurrence:
    """The recurrence in which a formula of several things that are looked up at one place is looked up there
    itself. Whether that is the same is for the caller to see."""
    definitions = {step.name: step.definition for step in recurrence.steps}
    steps: list[Step] = []
    for step in recurrence.steps:
        made = step.definition
        lookups = [definitions.get(v.name) if not v.lag else None for v in definition_variables(made)]
        first = lookups[0] if lookups else None
        if not isinstance(made, Expr) or len(lookups) < 2 or not isinstance(first, Retrieval):
            steps.append(step)
            continue
        table: dict[Var, Expr] = {}
        for variable, lookup in zip(made.variables(), lookups, strict=True):
            if isinstance(lookup, Retrieval) and lookup == replace(first, value=lookup.value):
                table[variable] = Var(lookup.value)
        if len(table) < len(lookups):
            steps.append(step)
            continue
        name = _unused(definitions, recurrence)
        definitions[name] = made
        default = float(np.ravel(evaluate(made, dict.fromkeys(table, np.array([first.default]))))[0])
        steps.append(Step(name, made.substitute(table)))
        steps.append(Step(step.name, replace(first, value=name, default=default)))
    try:
        return replace(recurrence, steps=tuple(steps)).live()
    except ValueError:
        return recurrence  # a value is known only later


def _unused(definitions: Mapping[str, object], recurrence: Recurrence) -> str:
    """A name that says nothing, and gives way to a word."""
    number = 1
    while (name := f"v{number}") in definitions or name in recurrence.inputs:
        number += 1
    return name


def _nearer(made: Definition, definitions: dict[str, Definition]) -> tuple[Retrieval, float] | None:
    """A lookup of the sequences that both copies are of, and what is added to what it finds."""
    if not isinstance(made, Retrieval):
        return None
    key, value = definitions.get(made.key), definitions.get(made.value)
    if not isinstance(key, Var) or key.lag < 1 or not isinstance(value, Expr):
        return None
    added = 0.0
    if isinstance(value, Op) and value.name == "add":
        (value, number) = value.args if isinstance(value.args[1], Const) else value.args[::-1]
        if not isinstance(number, Const):
            return None
        added = float(number.value)
    if not isinstance(value, Var) or value.lag != key.lag:
        return None
    found = replace(
        made, key=key.name, value=value.name, gap=made.gap + key.lag, default=made.default - added
    )
    return found, added
