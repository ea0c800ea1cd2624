"""Lookups without detours: what was stored one step late is looked up where it was.

A head sees the last output one step late, so a lookup of outputs has its key one step late too. Both can be
read where they are: `y[s] at the last s < t with x[s] == x[t]` in the place of copies of both. What is added
to a value before it is stored can be added when it is found. These are proposals, as in `passes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from weights2code.language import Const, Definition, Expr, Recurrence, Retrieval, Start, Step, Var, where
from weights2code.language import definition_variables as read_by
from weights2code.simplify.passes import before_start, valid
from weights2code.simplify.patterns import matches, read_pattern

Definitions = dict[str, Definition]
Starts = dict[str, Start]


def _rewritten(
    recurrence: Recurrence, change: Callable[[Step, Definitions, Starts, Var], list[Step]]
) -> Recurrence:
    """Every step as the steps that `change` makes of it; a name that says nothing is free for one of them."""
    definitions = {step.name: step.definition for step in recurrence.steps}
    start, steps = dict(recurrence.start), []
    for step in recurrence.steps:
        names = (f"v{number}" for number in count(1))
        free = next(name for name in names if name not in {*definitions, *recurrence.inputs})
        made = change(step, definitions, start, Var(free))
        definitions |= {other.name: other.definition for other in made}
        steps += made
    found = valid(recurrence, steps, start)
    return recurrence if found is None else found.live()


def without_delay(recurrence: Recurrence) -> Recurrence:
    """Lookups in the place of lookups of delayed copies; start values are dropped that say no more than that
    nothing was there."""

    def change(step: Step, definitions: Definitions, start: Starts, free: Var) -> list[Step]:
        made = step.definition
        key, value = (definitions.get(getattr(made, name, "")) for name in ("key", "value"))
        if not isinstance(made, Retrieval) or not isinstance(key, Var) or not isinstance(value, Expr):
            return [step]
        found = next(matches(read_pattern("a + c"), value, {}), {Var("a"): value, Var("c"): Const(0)})
        value, added = found[Var("a")], found[Var("c")]
        if not isinstance(value, Var) or not isinstance(added, Const) or not value.lag == key.lag >= 1:
            return [step]
        names = {"key": key.name, "value": value.name, "gap": made.gap + key.lag}
        lookup = replace(made, **names, default=made.default - float(added.value))
        if isinstance(start.get(key.name), float):
            del start[key.name]
        if not added.value:
            return [Step(step.name, lookup)]
        return [Step(free.name, lookup), Step(step.name, free + added)]

    return _rewritten(recurrence, change)


def without_query(recurrence: Recurrence) -> Recurrence:
    """A lookup that always asks for the same is a value that is kept until the next: `last = a if found else
    last[t-1]`."""

    def change(step: Step, definitions: Definitions, start: Starts, free: Var) -> list[Step]:
        made = step.definition
        query = made.query if isinstance(made, Retrieval) else None
        if isinstance(query, Var) and query.lag == 0:
            query = definitions.get(query.name)
        if not isinstance(made, Retrieval) or not isinstance(query, Const):
            return [step]
        if made.default:
            start[step.name] = made.default
        found = Var(made.key, made.gap).equals(query)
        return [Step(step.name, where(found, Var(made.value, made.gap), Var(step.name, 1)))]

    return _rewritten(recurrence, change)


def of_one_value(recurrence: Recurrence) -> Recurrence:
    """A formula of several things that are looked up at one place is looked up there itself."""

    def change(step: Step, definitions: Definitions, start: Starts, free: Var) -> list[Step]:
        made = step.definition
        lookups = {v: None if v.lag else definitions.get(v.name) for v in read_by(made)}
        first = next(iter(lookups.values()), None)
        if not isinstance(made, Expr) or len(lookups) < 2 or not isinstance(first, Retrieval):
            return [step]
        found = {v: one for v, one in lookups.items() if isinstance(one, Retrieval)}
        if len(found) < len(lookups) or any(
            replace(one, value="") != replace(first, value="") for one in found.values()
        ):
            return [step]
        nothing = made.substitute(dict.fromkeys(found, Const(first.default)))
        default = before_start(recurrence, nothing)
        assert default is not None
        lookup = replace(first, value=free.name, default=default)
        inner = made.substitute({v: Var(one.value) for v, one in found.items()})
        return [Step(free.name, inner), Step(step.name, lookup)]

    return _rewritten(recurrence, change)
