"""Other forms of a whole recurrence: fewer steps, or steps with a name for what repeats or is too long.

Each pass proposes. Whether the outputs stay the same and whether it is worth it is seen in one place,
`recurrences.settled`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from weights2code.language import (
    OPERATORS,
    Definition,
    Expr,
    Op,
    OverAll,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    evaluate,
    expression_of,
    formula,
    renamed,
    searched_by,
    with_formula,
)
from weights2code.simplify.cost import cost, recurrence_cost

#: A formula longer, or with brackets nested deeper, is worth a second line.
LONG = 64
DEEP = 2
_TRIVIAL = 3.5
#: Parts that cost less are as quickly read twice, and how much cheaper a line of their own must be.
_LEAST, _GAIN = 3.0, 1.0
_ITSELF = "\0itself"
#: A remainder, a choice or a test is one thought; an arbitrary piece of a sum is not.
_PARTS = {"mod", "floor", "max", "min", "clip", "relu", "abs", "where", "div"} | {
    name for name, entry in OPERATORS.items() if entry.boolean
}
_LETTERS = ["r", "s", "u", "v", "w", "p", "q", "h", "g", "m", "n", "k", "d", "e"]


def with_names(recurrence: Recurrence, names: Mapping[str, str], without: Collection[str] = ()) -> Recurrence:
    """The same steps under other names, some left out."""
    steps = tuple(
        Step(names.get(step.name, step.name), renamed(step.definition, names))
        for step in recurrence.steps
        if step.name not in without
    )
    start = {names.get(n, n): value for n, value in recurrence.start.items() if n not in without}
    return replace(recurrence, steps=steps, start=start)


def with_formulas(recurrence: Recurrence, change: Callable[[Expr], Expr]) -> Recurrence:
    """The same steps with every formula changed."""
    steps = tuple(Step(step.name, with_formula(step.definition, change)) for step in recurrence.steps)
    return replace(recurrence, steps=steps)


def free_letters(recurrence: Recurrence) -> list[str]:
    """Letters that name nothing yet."""
    taken = {*recurrence.inputs, *(step.name for step in recurrence.steps)}
    return [name for name in _LETTERS if name not in taken]


def merge_equal(recurrence: Recurrence) -> Iterator[Recurrence]:
    """Each later step with the same definition and start as an earlier one is read from there.

    What a step reads of its own past is compared as such: two counters of the same thing are one.
    """
    first: dict[tuple[Definition, Start], str] = {}
    for step in recurrence.steps:
        key = renamed(step.definition, {step.name: _ITSELF}), recurrence.start_of(step.name)
        if key in first and step.name not in recurrence.outputs:
            yield with_names(recurrence, {step.name: first[key]}, without={step.name}).live()
        first.setdefault(key, step.name)


def absorb_aliases(recurrence: Recurrence) -> Iterator[Recurrence]:
    """A local step whose present value is an output becomes that output."""
    depths = recurrence.depths()
    for step in recurrence.steps:
        source = step.definition
        if step.name not in recurrence.outputs or not isinstance(source, Var) or source.lag:
            continue
        if source.name in (*recurrence.inputs, *recurrence.outputs):
            continue
        if step.name not in depths or recurrence.start_of(step.name) == recurrence.start_of(source.name):
            yield with_names(recurrence, {source.name: step.name}, without={step.name})


def without_delay(recurrence: Recurrence) -> Iterator[Recurrence]:
    """Lookups in the place of lookups of delayed copies; start values are dropped that say no more than that
    nothing was there.

    A head sees the last output one step late, so a lookup of outputs has its key one step late too. Both can
    be read where they are.
    """
    definitions = {step.name: step.definition for step in recurrence.steps}
    for index, step in enumerate(recurrence.steps):
        made = step.definition
        key, value = (definitions.get(getattr(made, name, "")) for name in ("key", "value"))
        if not (isinstance(made, Retrieval) and isinstance(key, Var) and isinstance(value, Var)):
            continue
        if value.lag == key.lag >= 1:
            lookup = replace(made, key=key.name, value=value.name, gap=made.gap + key.lag)
            steps = [*recurrence.steps[:index], Step(step.name, lookup), *recurrence.steps[index + 1 :]]
            start = dict(recurrence.start)
            if start.get(key.name) != "first":
                start.pop(key.name, None)
            draft = valid(recurrence, steps, start)
            if draft is not None:
                yield draft.live()


def inlined(recurrence: Recurrence) -> Iterator[Recurrence]:
    """Each local step written where it is read, unless that grows too long."""
    read_whole = {name for step in recurrence.steps for name in searched_by(step.definition)}
    for step in recurrence.steps:
        rule = step.definition
        if isinstance(rule, OverAll) or step.name in {*recurrence.outputs, *read_whole}:
            continue
        variables = [v for other in recurrence.steps for v in expression_of(other.definition).variables()]
        delayed = any(v.name == step.name and v.lag for v in variables)
        itself = any(variable.name == step.name for variable in rule.variables())
        if itself or (delayed and before_start(recurrence, rule) != recurrence.start_of(step.name)):
            continue
        candidate = _substituted(recurrence, step.name, rule)
        if candidate is not None:
            yield candidate


def _substituted(recurrence: Recurrence, name: str, rule: Expr) -> Recurrence | None:
    steps = []
    for step in recurrence.steps:
        variables = expression_of(step.definition).variables()
        table = {v: rule.shift(v.lag) for v in variables if v.name == name}
        replaced = with_formula(step.definition, lambda expr, table=table: expr.substitute(table))
        if table and cost(rule) > _TRIVIAL and isinstance(replaced, Expr) and _is_heavy(replaced):
            return None
        if step.name != name:
            steps.append(Step(step.name, replaced))
    start: dict[str, Start] = {key: value for key, value in recurrence.start.items() if key != name}
    return valid(recurrence, steps, start)


def valid(recurrence: Recurrence, steps: list[Step], start: Mapping[str, Start]) -> Recurrence | None:
    """The recurrence with these steps; None if something is read that is computed later."""
    try:
        return replace(recurrence, steps=tuple(steps), start=dict(start))
    except ValueError:
        return None


def before_start(recurrence: Recurrence, rule: Expr) -> float | None:
    """What a formula gives when it is fed with what lies before the start; None if that is not known."""
    starts = {v: recurrence.start_of(v.name) for v in rule.variables()}
    if any(isinstance(value, str) for value in starts.values()):
        return None
    with np.errstate(all="ignore"):
        return float(evaluate(rule, starts))


def name_repeats(recurrence: Recurrence) -> Recurrence:
    """With a step for every part that is computed more than once, where that makes the whole cheaper.

    `(x - min(x, 5)) - (x[t-2] - min(x[t-2], 5))` says the same thing at t and at t-2.
    """
    found: dict[Expr, list[int]] = defaultdict(list)
    for step in recurrence.steps:
        for node in _parts(step.definition):
            found[node.shift(-_latest(node))].append(_latest(node))
    often = [part.shift(min(lags)) for part, lags in found.items() if len(lags) > 1 and cost(part) >= _LEAST]
    named = [candidate for part in often if (candidate := _named(recurrence, part)) is not None]
    best = min(named, key=recurrence_cost, default=recurrence)
    cheaper = recurrence_cost(best) <= recurrence_cost(recurrence) - _GAIN
    return name_repeats(best) if cheaper else recurrence


def name_parts(recurrence: Recurrence) -> Recurrence:
    """Parts that repeat, and parts of formulas that are too long, become steps of their own."""
    recurrence = name_repeats(recurrence)
    for step in recurrence.steps:
        rule = step.definition
        if isinstance(rule, Expr) and _is_heavy(rule):
            fitting = [n for n in _parts(rule) if n.name in _PARTS and 5 <= cost(n) <= 0.75 * cost(rule)]
            part = max(fitting, key=lambda n: (cost(n), str(n)), default=None)
            named = None if part is None else _named(recurrence, part)
            if named is not None:
                return name_parts(named)
    return recurrence


def _parts(definition: Definition) -> list[Op]:
    """The operations of a formula; of a retrieval, those inside its query."""
    expr = expression_of(definition)
    whole = isinstance(definition, Expr)
    return [node for node in expr.walk() if isinstance(node, Op) and (whole or node != expr)]


def _latest(expr: Expr) -> int:
    """The least lag that is read."""
    return min((variable.lag for variable in expr.variables()), default=0)


def _is_heavy(expr: Expr) -> bool:
    depth = deepest = 0
    for character in formula(expr, lambda variable: variable.name):
        depth += (character in "([") - (character in ")]")
        deepest = max(deepest, depth)
    return deepest > DEEP or len(str(expr)) > LONG


def _named(recurrence: Recurrence, part: Expr) -> Recurrence | None:
    """The recurrence with `part` as a step, read wherever the part stands, now or some steps ago."""
    letters, before = free_letters(recurrence), before_start(recurrence, part)
    if not letters or any(step.definition == part for step in recurrence.steps):
        return None
    name = letters[0]

    def read(node: Expr) -> Expr:
        """From the top, and not inside of what is read."""
        if not isinstance(node, Op):
            return node
        lag = _latest(node) - _latest(part)
        if node.name == getattr(part, "name", None) and lag >= 0 and node == part.shift(lag):
            return Var(name, lag) if before is not None or not lag else node
        return Op(node.name, tuple(read(argument) for argument in node.args))

    steps: list[Step] = []
    for step in recurrence.steps:
        rule = with_formula(step.definition, read)
        if rule != step.definition and all(other.name != name for other in steps):
            steps.append(Step(name, part))
        steps.append(Step(step.name, rule))
    start: dict[str, Start] = {**recurrence.start, **({name: before} if before else {})}
    found = valid(recurrence, steps, start)
    return None if found is None else found.live()
