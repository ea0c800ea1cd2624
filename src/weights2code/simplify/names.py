"""Names that say what an intermediate variable is, as far as the outermost operator of its formula tells.

`(a + b) % 7` is a remainder, `max(x, x[t-1])` the larger, `x - x[t-1]` a difference, `b if a else -b` signed;
a running sum is a total, a running maximum the highest. Where nothing is known a letter does.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache

from weights2code.language import (
    Count,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Step,
    Var,
    definition_variables,
    is_boolean,
)
from weights2code.simplify.passes import free_letters, with_names
from weights2code.simplify.patterns import Bound, matches, read_pattern
from weights2code.simplify.sums import polynomial

#: What a person might have called it; anything else is the name of a node.
_PLAIN = r"[a-z][a-z0-9_]{0,19}"
#: A node, or a head, that was numbered: s6, m7, c0, cm1.
_NUMBERED = r"([a-z]{1,2})(\d+)_*"

#: What a step is by its formula: the first that fits says it, and nothing stands for no name.
#: `{1}` is the second argument.
_WORDS = """
positive_part: max(a, 0) | relu(a)
negative_part: min(a, 0)
at_least: max(a, c)
capped: min(a, c) | clip(a, u, v)
larger: max(a, b)
smaller: min(a, b)
remainder: a % b
quotient: floor(a/b)
: a*c | a/c
product: a*b
ratio: a/b
square: a**2
power: a**c
distance: abs(a - b)
magnitude: abs(a)
is_{1}: x == n
is_equal: a == b
differs: a != b
above: a > b | a >= b
below: a < b | a <= b
both: a and b
either: a or b
signed: a if b else -a | -a if b else a
chosen: a if b else u
"""
#: The same of a step that reads its own past, which is `z`.
_RUNNING = """
highest: max(a, b)
lowest: min(a, b)
remainder: a % b
latest: a if b else z[t-1] | z[t-1] if b else a
"""


def rename_locals(recurrence: Recurrence, nameless: Collection[str] = ()) -> Recurrence:
    """Locals called like nodes of a graph (V3_MLP_L0M0, s6) get a word, or a letter; plain words stay.

    `nameless` are further names that mean nothing, which a letter serves as well.
    """
    letters = free_letters(recurrence)
    taken = {*recurrence.inputs, *(step.name for step in recurrence.steps)}
    local = [step for step in recurrence.steps if step.name not in recurrence.outputs]
    words = {s.name: word_for(s) for s in local if s.name in nameless or _is_node(s.name)}
    table = {}
    for name, word in words.items():
        alike = [other for other, same in words.items() if same == word]
        numbered = f"{word}{alike.index(name) + 1}" if len(alike) > 1 else word
        if numbered and word and numbered not in taken:
            table[name] = numbered
        elif not word and _is_node(name) and letters:
            table[name] = letters.pop(0)
    return with_names(recurrence, table)


def in_reading_order(recurrence: Recurrence) -> Recurrence:
    """Each step as late as its readers allow, in the order in which they name what they read."""
    steps = {step.name: step for step in recurrence.steps}
    needed = {v.name for step in recurrence.steps for v in _present(step)}
    placed: dict[str, Step] = {}

    def place(step: Step) -> None:
        for variable in _present(step):
            if variable.name in steps and variable.name not in placed:
                place(steps[variable.name])
        placed[step.name] = step

    for step in recurrence.steps:
        if step.name not in placed and (step.name in recurrence.outputs or step.name not in needed):
            place(step)
    return replace(recurrence, steps=tuple(placed.values()))


def _present(step: Step) -> list[Var]:
    """What a step reads at its own position."""
    return [variable for variable in definition_variables(step.definition) if variable.lag == 0]


def _is_node(name: str) -> bool:
    return re.fullmatch(_NUMBERED, name) is not None or re.fullmatch(_PLAIN, name) is None


def word_for(step: Step) -> str | None:
    """What to call a step; None where its formula has no name of its own."""
    rule = step.definition
    if not isinstance(rule, Expr):
        return "found" if isinstance(rule, Retrieval) else "count" if isinstance(rule, Count) else "selected"
    if any(variable.name == step.name for variable in rule.variables()):
        return _first(_RUNNING, rule, {Var("z", 1): Var(step.name, 1)}) or _running_sum(step.name, rule)
    if isinstance(rule, Op) and rule.name in ("add", "sub", "neg"):
        return _sum(rule)
    return (_first(_WORDS, rule, {}) or "").format(*getattr(rule, "args", ())) or None


def _first(table: str, rule: Expr, bound: Bound) -> str | None:
    fitting = (word for pattern, word in _patterns(table) if any(True for _ in matches(pattern, rule, bound)))
    return next(fitting, "") or None


@lru_cache
def _patterns(table: str) -> list[tuple[Expr, str]]:
    lines = [line.split(": ") for line in table.strip().splitlines()]
    return [(read_pattern(text), word) for word, texts in lines for text in texts.split(" | ")]


def _running_sum(name: str, rule: Expr) -> str | None:
    """A sum or a count of what has been so far."""
    terms = polynomial(rule)
    if terms.pop((Var(name, 1),), 0) != 1:
        return None
    head = re.fullmatch(_NUMBERED, name)
    if head and head[1] in ("c", "cm"):
        return f"count_{'neg' if head[1] == 'cm' else ''}{head[2]}"
    counts = [*terms.values()] == [1] and all(is_boolean(factor) for key in terms for factor in key)
    return "count" if counts else "total"


def _sum(rule: Expr) -> str | None:
    weights = [*polynomial(rule).varying().values()]
    if len(weights) > 1 and min(weights) > 0:
        return "total"
    return "difference" if len(weights) == 2 and sum(weights) == 0 else None
