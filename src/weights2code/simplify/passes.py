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
    Const,
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
from weights2code.simplify.patterns import matches, read_pattern

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


def merge_equal(recurrence: Recurrence) -> Recurrence:
    """Later steps with the same definition and start as an earlier one are read from there.

    What a step reads of its own past is compared as such: two counters of the same thing are one.
    """
    first: dict[tuple[Definition, Start], str] = {}
    aliases: dict[str, str] = {}
    for step in recurrence.steps:
        own = {step.name: _ITSELF}
        key = (renamed(renamed(step.definition, aliases), own), recurrence.start_of(step.name))
        if key in first and step.name not in recurrence.outputs:
            aliases[step.name] = first[key]
        else:
            first.setdefault(key, step.name)
    return with_names(recurrence, aliases, without=aliases).live()


def absorb_aliases(recurrence: Recurrence) -> Recurrence:
    """A local step whose present value is an output becomes that output."""
    depths = recurrence.depths()
    for step in recurrence.steps:
        source = step.definition
        if step.name not in recurrence.outputs or not isinstance(source, Var) or source.lag:
            continue
        if source.name in (*recurrence.inputs, *recurrence.outputs):
            continue
        if step.name not in depths or recurrence.start_of(step.name) == recurrence.start_of(source.name):
            return absorb_aliases(with_names(recurrence, {source.name: step.name}, without={step.name}))
    return recurrence


def without_delay(recurrence: Recurrence) -> Recurrence:
    """Lookups in the place of lookups of delayed copies; start values are dropped that say no more than that
    nothing was there.

    A head sees the last output one step late, so a lookup of outputs has its key one step late too. Both can
    be read where they are, and what is added to a value before it is stored can be added when it is found.
    """
    definitions = {step.name: step.definition for step in recurrence.steps}
    for index, step in enumerate(recurrence.steps):
        made = step.definition
        key, value = (definitions.get(getattr(made, name, "")) for name in ("key", "value"))
        if not isinstance(made, Retrieval) or not isinstance(key, Var) or not isinstance(value, Expr):
            continue
        found = next(matches(read_pattern("x + c"), value, {}), {Var("x"): value, Var("c"): Const(0)})
        value, added = found[Var("x")], found[Var("c")]
        letters = free_letters(recurrence)
        if not isinstance(value, Var) or not isinstance(added, Const) or not letters:
            continue
        if not value.lag == key.lag >= 1:
            continue
        names = {"key": key.name, "value": value.name, "gap": made.gap + key.lag}
        lookup = replace(made, **names, default=made.default - float(added.value))
        new = [Step(letters[0], lookup), Step(step.name, Var(letters[0]) + added)]
        new = new if added.value else [Step(step.name, lookup)]
        start = dict(recurrence.start)
        if isinstance(start.get(key.name), float):
            del start[key.name]
        draft = valid(recurrence, [*recurrence.steps[:index], *new, *recurrence.steps[index + 1 :]], start)
        return recurrence if draft is None else without_delay(draft.live())
    return recurrence


def inlined(recurrence: Recurrence) -> Iterator[Recurrence]:
    """Each local step written where it is read, unless that grows too long."""
    for step in recurrence.steps:
        rule = step.definition
        if isinstance(rule, OverAll) or must_stay(recurrence, step.name):
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


def must_stay(recurrence: Recurrence, name: str) -> bool:
    """Whether `name` is an output, or a retrieval or a count looks into its history."""
    return name in recurrence.outputs or any(
        name in searched_by(step.definition) for step in recurrence.steps
    )


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
