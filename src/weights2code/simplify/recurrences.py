"""Simplification of whole recurrences: fewer steps, shorter formulas, readable names.

Dead steps go, equal steps merge, trivial ones are written where they are read; every formula is simplified
on the values that its variables can take; what repeats or grows too long gets a line and a name of its own.
The result is compared with the original on sequences of several lengths before it is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from weights2code.language import (
    BITS,
    OPERATORS,
    Definition,
    Domain,
    Expr,
    Op,
    OverAll,
    Recurrence,
    Start,
    Step,
    Var,
    evaluate,
    expression_of,
    formula,
    integers,
    reals,
    renamed,
    searched_by,
    uniform,
    with_formula,
)
from weights2code.language.categories import Categories
from weights2code.language.kinds import Kinds, kinds_of
from weights2code.simplify.cost import cost, recurrence_cost
from weights2code.simplify.expressions import simplify
from weights2code.simplify.gauge import choose_numberings
from weights2code.simplify.lookups import of_one_value, without_delay, without_query
from weights2code.simplify.names import free_letters, in_reading_order, name_counters, rename_locals
from weights2code.simplify.repeats import name_repeats

#: A formula longer, or with brackets nested deeper, is worth a second line.
LONG = 64
DEEP = 2
_TRIVIAL = 3.5
_REPEATED = 4.0
_UNBOUNDED = 1000
_ITSELF = "\0itself"
_PARTS = {"mod", "floor", "max", "min", "clip", "relu", "abs", "where", "div"}


def simplify_recurrence(recurrence: Recurrence, domains: Sequence[Domain]) -> Recurrence:
    """The same outputs on the domain, in fewer and shorter steps.

    Parameters
    ----------
    recurrence
        What to simplify.
    domains
        One domain an input.
    """
    result = recurrence

    same = _same_outputs(recurrence, domains)

    def short(candidate: Recurrence) -> Recurrence:
        return _simplify_steps(candidate, domains, same)

    def numbered(candidate: Recurrence) -> Recurrence:
        return choose_numberings(candidate, lambda r: kinds_of(r, domains).values, short, same)

    def better(candidate: Recurrence) -> Recurrence:
        """With or without steps of their own for what is short but read more than once."""
        merged = merge_equal(candidate)
        both = [short(way).live() for way in dict.fromkeys((inline(merged), inline_single(merged)))]
        return min((c for c in both if same(c)), key=recurrence_cost, default=candidate)

    def with_words(candidate: Recurrence) -> Recurrence:
        parts = name_parts(name_repeats(candidate))
        new = {step.name for step in parts.steps} - {step.name for step in candidate.steps}
        return rename_locals(in_reading_order(parts), new)

    passes: tuple[Callable[[Recurrence], Recurrence], ...] = (
        Recurrence.live,
        merge_equal,
        without_delay,
        without_query,
        of_one_value,
        without_copies,
        inline_single,
        numbered,
        better,
        absorb_aliases,
        with_words,
    )
    for step in passes:
        candidate = step(result)
        if candidate != result and same(candidate):
            result = candidate
    return result


def without_repeats(recurrence: Recurrence, domains: Sequence[Domain], categories: Categories) -> Recurrence:
    """The same outputs in fewer steps with readable names; formulas stay what they are."""
    same = _same_outputs(recurrence, domains)

    def named(candidate: Recurrence) -> Recurrence:
        return name_counters(rename_locals(in_reading_order(candidate)), categories)

    result = recurrence
    for step in (Recurrence.live, merge_equal, inline_single, absorb_aliases, named):
        candidate = step(result)
        if candidate != result and same(candidate):
            result = candidate
    return result


def grouped_as_read(recurrence: Recurrence, domains: Sequence[Domain]) -> Recurrence:
    """Sums and products of whole numbers grouped from the left, as Python reads them without parentheses.

    In exact arithmetic that is the same; what is certified is then what the text computes, bit for bit.
    """
    kinds = kinds_of(recurrence, domains)

    def regroup(node: Expr) -> Expr:
        if not (isinstance(node, Op) and node.name in ("add", "mul") and kinds.is_integer(node)):
            return node
        left, right = node.args
        follows = ("add", "sub") if node.name == "add" else ("mul",)
        if not (isinstance(right, Op) and right.name in follows):
            return node
        return Op(right.name, (regroup(Op(node.name, (left, right.args[0]))), right.args[1]))

    steps = [
        Step(step.name, with_formula(step.definition, lambda expr: expr.transform(regroup)))
        for step in recurrence.steps
    ]
    return replace(recurrence, steps=tuple(steps))


def merge_equal(recurrence: Recurrence) -> Recurrence:
    """Later steps with the same definition and start as an earlier one are read from there.

    What a step reads of its own past is compared as such: two counters of the same thing are one.
    """
    first: dict[tuple[Definition, object], str] = {}
    aliases: dict[str, str] = {}
    for step in recurrence.steps:
        own = {step.name: _ITSELF}
        key = (renamed(renamed(step.definition, aliases), own), recurrence.start_of(step.name))
        if key in first and step.name not in recurrence.outputs:
            aliases[step.name] = first[key]
        else:
            first.setdefault(key, step.name)
    steps = tuple(Step(s.name, renamed(s.definition, aliases)) for s in recurrence.steps)
    return replace(recurrence, steps=steps).live()


def without_copies(recurrence: Recurrence) -> Recurrence:
    """The recurrence in which a local step that is only another one, with something else before the start, is
    that step, which starts as the copy does. Whether that is the same is for the caller to see."""
    for step in recurrence.steps:
        made = step.definition
        if not isinstance(made, Var) or made.lag or made.name in recurrence.inputs:
            continue
        if _must_stay(recurrence, step.name) or recurrence.start_of(step.name) == recurrence.start_of(
            made.name
        ):
            continue
        steps = tuple(
            Step(other.name, renamed(other.definition, {step.name: made.name}))
            for other in recurrence.steps
            if other.name != step.name
        )
        start = {name: value for name, value in recurrence.start.items() if name != step.name}
        return replace(
            recurrence, steps=steps, start=start | {made.name: recurrence.start_of(step.name)}
        ).live()
    return recurrence


def inline_single(recurrence: Recurrence) -> Recurrence:
    """Local steps that are read once and short, or that are only another name, go where they are read."""
    return inline(recurrence, trivial=1.0)


def inline(recurrence: Recurrence, trivial: float = _TRIVIAL) -> Recurrence:
    """Local steps that are trivial, or read once and short, are written where they are read."""
    for step in recurrence.steps:
        definition = step.definition
        if isinstance(definition, OverAll) or _must_stay(recurrence, step.name):
            continue
        everything = [v for other in recurrence.steps for v in _all_variables(other.definition)]
        reads = [variable for variable in everything if variable.name == step.name]
        if any(variable.name == step.name for variable in definition.variables()):
            continue
        worth = cost(definition) <= trivial or len(reads) == 1
        lagged = any(variable.lag for variable in reads)
        if not worth or (lagged and not _starts_agree(recurrence, step.name, definition)):
            continue
        candidate = _substituted(recurrence, step.name, definition)
        if candidate is not None:
            return inline(candidate, trivial)
    return recurrence


def _substituted(recurrence: Recurrence, name: str, definition: Expr) -> Recurrence | None:
    steps = []
    for step in recurrence.steps:
        if step.name == name:
            continue
        table = {v: definition.shift(v.lag) for v in _all_variables(step.definition) if v.name == name}
        replaced = with_formula(step.definition, lambda expr, table=table: expr.substitute(table))
        heavy = isinstance(replaced, Expr) and _is_heavy(replaced)
        if table and heavy and cost(definition) > _TRIVIAL:
            return None
        steps.append(Step(step.name, replaced))
    start: dict[str, Start] = {key: value for key, value in recurrence.start.items() if key != name}
    try:
        return Recurrence(recurrence.inputs, tuple(steps), recurrence.outputs, start)
    except ValueError:
        return None  # the definition reads something that is computed later


def _simplify_steps(
    recurrence: Recurrence, domains: Sequence[Domain], same: Callable[[Recurrence], bool]
) -> Recurrence:
    """Each formula on the values that its variables can take; where that is too bold, one at a time."""
    kinds = kinds_of(recurrence, domains)
    inputs = dict(zip(recurrence.inputs, domains, strict=True))
    steps = []
    for step in recurrence.steps:
        table = {v: _domain(v.name, kinds, inputs) for v in expression_of(step.definition).variables()}
        short = with_formula(step.definition, lambda expr, table=table: simplify(expr, table))
        steps.append(Step(step.name, short))
    together = replace(recurrence, steps=tuple(steps))
    if together == recurrence or same(together):
        return together
    for index, step in enumerate(steps):
        one = replace(recurrence, steps=(*recurrence.steps[:index], step, *recurrence.steps[index + 1 :]))
        if one != recurrence and same(one):
            recurrence = one
    return recurrence


def _domain(name: str, kinds: Kinds, inputs: Mapping[str, Domain]) -> Domain:
    values = kinds.values.get(name)
    finite = [value for value in values or () if np.isfinite(value)]
    if finite:
        low, high = min(finite), max(finite)
        if name in kinds.integers:
            return BITS if low >= 0 and high <= 1 else integers(int(low), int(high))
        return reals(low, high)
    if name in inputs:
        return inputs[name]
    return integers(-_UNBOUNDED, _UNBOUNDED) if name in kinds.integers else reals(-_UNBOUNDED, _UNBOUNDED)


def name_parts(recurrence: Recurrence) -> Recurrence:
    """Sub-expressions that repeat, and parts of formulas that are too long, become steps of their own."""
    free = free_letters(recurrence)
    while free:
        part = _repeated_part(recurrence) or _long_part(recurrence)
        if part is None:
            return recurrence
        name = free.pop(0)
        steps: list[Step] = []
        placed = False
        for step in recurrence.steps:
            replaced = _replaced(step.definition, part, Var(name))
            if replaced != step.definition and not placed:
                steps.append(Step(name, part))
                placed = True
            steps.append(Step(step.name, replaced))
        recurrence = replace(recurrence, steps=tuple(steps))
    return recurrence


def _parts(definition: Definition) -> list[Op]:
    """The operations of a formula; of a retrieval, those inside its query."""
    expr = expression_of(definition)
    whole = isinstance(definition, Expr)
    return [node for node in expr.walk() if isinstance(node, Op) and (whole or node != expr)]


def _repeated_part(recurrence: Recurrence) -> Expr | None:
    counts = Counter(node for step in recurrence.steps for node in _parts(step.definition))
    repeated = [node for node, count in counts.items() if count > 1 and cost(node) >= _REPEATED]
    # a step that is the part already has a name
    named = {step.definition for step in recurrence.steps if isinstance(step.definition, Expr)}
    return max((n for n in repeated if n not in named), key=lambda n: (cost(n), str(n)), default=None)


def _long_part(recurrence: Recurrence) -> Expr | None:
    for step in recurrence.steps:
        definition = step.definition
        if isinstance(definition, OverAll) or not _is_heavy(definition):
            continue
        most = 0.75 * cost(definition)
        fitting = [n for n in _parts(definition) if _names_well(n) and 5 <= cost(n) <= most]
        if fitting:
            return max(fitting, key=lambda n: (cost(n), str(n)))
    return None


def _is_heavy(expr: Expr) -> bool:
    depth = deepest = 0
    for character in formula(expr, lambda variable: variable.name):
        depth += (character in "([") - (character in ")]")
        deepest = max(deepest, depth)
    return deepest > DEEP or len(str(expr)) > LONG


def _names_well(node: Op) -> bool:
    """A remainder, a choice or a test is one thought; an arbitrary piece of a sum is not."""
    return node.name in _PARTS or OPERATORS[node.name].boolean


def _replaced(definition: Definition, part: Expr, name: Var) -> Definition:
    return with_formula(definition, lambda expr: expr.transform(lambda node: name if node == part else node))


def absorb_aliases(recurrence: Recurrence) -> Recurrence:
    """A local step whose present value is an output becomes that output."""
    for step in recurrence.steps:
        source = step.definition
        if step.name not in recurrence.outputs or not isinstance(source, Var) or source.lag:
            continue
        if source.name in (*recurrence.inputs, *recurrence.outputs):
            continue
        depths = recurrence.depths()
        if step.name in depths and recurrence.start_of(step.name) != recurrence.start_of(source.name):
            continue
        table = {source.name: step.name}
        steps = tuple(
            Step(table.get(s.name, s.name), renamed(s.definition, table))
            for s in recurrence.steps
            if s is not step
        )
        start: dict[str, Start] = {
            table.get(name, name): value for name, value in recurrence.start.items() if name != step.name
        }
        return absorb_aliases(Recurrence(recurrence.inputs, steps, recurrence.outputs, start))
    return recurrence


def _all_variables(definition: Definition) -> list[Var]:
    """Every reading of a variable in the formula or query, repetitions included."""
    return [node for node in expression_of(definition).walk() if isinstance(node, Var)]


def _must_stay(recurrence: Recurrence, name: str) -> bool:
    """Whether `name` is an output, or a retrieval or a count looks into its history."""
    return name in recurrence.outputs or any(
        name in searched_by(step.definition) for step in recurrence.steps
    )


def _starts_agree(recurrence: Recurrence, name: str, definition: Expr) -> bool:
    """Whether the formula, fed with what lies before the start, gives the start value of `name`."""
    starts = {v: recurrence.start_of(v.name) for v in definition.variables()}
    if any(isinstance(value, str) for value in starts.values()):
        return False
    with np.errstate(all="ignore"):
        return bool(evaluate(definition, starts) == recurrence.start_of(name))


def _same_outputs(recurrence: Recurrence, domains: Sequence[Domain]) -> Callable[[Recurrence], bool]:
    """Tells whether another gives the same outputs on random sequences; rounding may differ on reals."""
    x = uniform(np.random.default_rng(0), domains, 256, 24)
    with np.errstate(all="ignore"):
        expected = recurrence.run(x)

    @lru_cache
    def same(other: Recurrence) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.allclose(expected, other.run(x), rtol=1e-9, atol=1e-9, equal_nan=True))

    return same
