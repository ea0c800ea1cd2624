"""Names that say what an intermediate variable is, as far as the outermost operator of its formula tells.

`(a + b) % 7` is a remainder, `max(x, x[t-1])` the larger, `x - x[t-1]` a change, `b if a else -b` signed; a
running sum is a total, a running maximum the highest. Where nothing is known a letter does.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from weights2code.language import (
    Const,
    Count,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Selection,
    Start,
    Step,
    Var,
    definition_variables,
    is_boolean,
    renamed,
)
from weights2code.language.categories import Categories
from weights2code.simplify.collect import polynomial

_LETTERS = ["r", "s", "u", "v", "w", "p", "q", "h", "g", "m", "n", "k", "d", "e"]
#: What a person might have called it; anything else is the name of a node.
_PLAIN = r"[a-z][a-z0-9_]{0,19}"
#: A node, or a head, that was numbered: s6, m7, c0, cm1.
_NUMBERED = r"([a-z]{1,2})(\d+)_*"

_WORDS = {
    "eq": "is_equal",
    "ne": "differs",
    "gt": "above",
    "ge": "above",
    "lt": "below",
    "le": "below",
    "and": "both",
    "or": "either",
    "max": "larger",
    "min": "smaller",
    "relu": "positive_part",
    "clip": "capped",
    "mod": "remainder",
    "mul": "product",
    "div": "ratio",
    "where": "chosen",
}
#: The same with a number on the right.
_WITH_NUMBER = {"max": "at_least", "min": "capped", "mul": None, "div": None, "pow": "power"}


def free_letters(recurrence: Recurrence) -> list[str]:
    """Letters that name nothing yet."""
    taken = {*recurrence.inputs, *(step.name for step in recurrence.steps)}
    return [name for name in _LETTERS if name not in taken]


def rename_locals(recurrence: Recurrence, nameless: Collection[str] = ()) -> Recurrence:
    """Locals called like nodes of a graph (V3_MLP_L0M0, s6) get a word, or a letter; plain words stay.

    `nameless` are further names that mean nothing, which a letter serves as well.
    """
    letters = free_letters(recurrence)
    taken = {*recurrence.inputs, *(step.name for step in recurrence.steps)}
    words: dict[str, str] = {}
    for step in recurrence.steps:
        if step.name not in recurrence.outputs and (step.name in nameless or _is_node(step.name)):
            word = word_for(step)
            if word:
                words[step.name] = word
    table = {}
    for step in recurrence.steps:
        word = words.get(step.name)
        if word:
            alike = [name for name, other in words.items() if other == word]
            chosen = word if len(alike) == 1 else f"{word}{alike.index(step.name) + 1}"
            if chosen not in taken:
                table[step.name] = chosen
        elif step.name not in recurrence.outputs and _is_node(step.name) and letters:
            table[step.name] = letters.pop(0)
    steps = tuple(Step(table.get(s.name, s.name), renamed(s.definition, table)) for s in recurrence.steps)
    start: dict[str, Start] = {table.get(name, name): value for name, value in recurrence.start.items()}
    return Recurrence(recurrence.inputs, steps, recurrence.outputs, start)


def name_counters(recurrence: Recurrence, categories: Categories) -> Recurrence:
    """Steps that count how often a text came up are called after it."""
    taken = {*recurrence.inputs, *(step.name for step in recurrence.steps)}
    table: dict[str, str] = {}
    for step in recurrence.steps:
        for test in step.definition.args if isinstance(step.definition, Op) else ():
            counts = step.definition == Op("add", (Var(step.name, 1), test))
            if not counts or step.name in recurrence.outputs or not isinstance(test, Op) or test.name != "eq":
                continue
            read, code = test.args
            if isinstance(read, Var) and read.name in categories and isinstance(code, Const):
                text = str(categories[read.name][int(code.value) - 1])
                name = "count_" + re.sub(r"\W+", "_", text)
                if name not in taken | {*table.values()}:
                    table[step.name] = name
    steps = tuple(Step(table.get(s.name, s.name), renamed(s.definition, table)) for s in recurrence.steps)
    start: dict[str, Start] = {table.get(name, name): value for name, value in recurrence.start.items()}
    return Recurrence(recurrence.inputs, steps, recurrence.outputs, start)


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
    if isinstance(rule, Retrieval):
        return "found"
    if isinstance(rule, Count):
        return "count"
    if isinstance(rule, Selection):
        return "selected"
    if any(variable.name == step.name for variable in rule.variables()):
        return _running(step.name, rule)
    return _operator(rule)


def _running(name: str, rule: Expr) -> str | None:
    """A sum, a count or an extremum of what has been so far."""
    before = Var(name, 1)
    if isinstance(rule, Op) and rule.name in ("max", "min"):
        return "highest" if rule.name == "max" else "lowest"
    if isinstance(rule, Op) and rule.name == "mod":
        return "remainder"
    if isinstance(rule, Op) and rule.name == "where" and before in rule.args[1:]:
        return "latest"
    terms = polynomial(rule, expand=False)
    if terms.get((before,)) != 1:
        return None
    head = re.fullmatch(_NUMBERED, name)
    if head and head[1] in ("c", "cm"):
        return f"count_{'neg' if head[1] == 'cm' else ''}{head[2]}"
    added = [key for key in terms if key != (before,)]
    one = added[0] if len(added) == 1 and terms[added[0]] == 1 else None
    counts = one == () or (one is not None and len(one) == 1 and is_boolean(one[0]))
    return "count" if counts else "total"


def _operator(rule: Expr) -> str | None:
    if not isinstance(rule, Op):
        return None
    first, last = rule.args[0], rule.args[-1]
    if rule.name in ("add", "sub", "neg"):
        return _sum(rule)
    if rule.name == "eq" and isinstance(first, Var) and isinstance(last, Const):
        number = str(last.value)
        return f"is_{number}" if number.isdigit() else "is_equal"
    if rule.name in ("max", "min") and last == Const(0):
        return "positive_part" if rule.name == "max" else "negative_part"
    if rule.name in ("gt", "ge", "lt", "le") and _same_sequence(first, last):
        return "rises" if rule.name in ("gt", "ge") else "falls"
    if rule.name == "where" and (last == Op("neg", (rule.args[1],)) or rule.args[1] == Op("neg", (last,))):
        return "signed"
    if rule.name == "abs":
        return "distance" if isinstance(first, Op) and first.name == "sub" else "magnitude"
    if rule.name == "floor":
        return "quotient" if isinstance(first, Op) and first.name == "div" else None
    if rule.name == "pow" and last == Const(2):
        return "square"
    if isinstance(last, Const) and rule.name in _WITH_NUMBER:
        return _WITH_NUMBER[rule.name]
    return _WORDS.get(rule.name)


def _sum(rule: Op) -> str | None:
    terms = {key: value for key, value in polynomial(rule, expand=False).items() if key}
    if len(terms) < 2:
        return None
    if all(value > 0 for value in terms.values()):
        return "total"
    if len(terms) > 2 or sum(terms.values()) != 0:
        return None
    (added, _), (taken, _) = sorted(terms.items(), key=lambda item: -item[1])
    return (
        "change" if _same_sequence(*added[:1], *taken[:1]) and len(added) == len(taken) == 1 else "difference"
    )


def _same_sequence(first: Expr, last: Expr) -> bool:
    """The present and the past of one sequence."""
    if not (isinstance(first, Var) and isinstance(last, Var)):
        return False
    return first.name == last.name and first.lag < last.lag
