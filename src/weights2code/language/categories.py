"""Texts in formulas: which names hold them, whether formulas use them as texts, and how they read.

A text is computed with as its number, which means nothing but which text it is. So it may be handed on,
chosen, looked up and compared for equality with texts of the same kind; it may not be added, nor compared for
size. `speaks` tells whether a recurrence keeps to that, and `spoken` puts the texts in the places of numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from weights2code.language.domain import Category, Domain, quoted
from weights2code.language.expression import Const, Expr, Number, Op, Var
from weights2code.language.recurrence import (
    Count,
    Definition,
    OverAll,
    Recurrence,
    Retrieval,
    Selection,
    Step,
    expression_of,
    with_formula,
)

#: The texts that a name may hold, numbered from 1 on.
Texts = tuple[Category, ...]
#: Those of every name that holds texts.
Categories = Mapping[str, Texts]
_EQUALITY = ("eq", "ne")


@dataclass(frozen=True, slots=True)
class Label(Const):
    """The number of a text, which is written as that text; None is what lies before the start."""

    text: Category | None = None

    def __str__(self) -> str:
        return quoted(self.text)


def categories_of(names: Sequence[str], domains: Sequence[Domain]) -> dict[str, Texts]:
    """The texts of the names that hold texts."""
    pairs = zip(names, domains, strict=True)
    return {name: domain.categories for name, domain in pairs if domain.categories}


def label(value: Number | str, categories: Texts) -> Label:
    """A number as the text that it stands for."""
    code = int(float(value))
    return Label(code, categories[code - 1] if 0 < code <= len(categories) else None)


def with_locals(recurrence: Recurrence, known: Categories) -> dict[str, Texts]:
    """The texts of every name, those of steps that are neither inputs nor outputs found out."""
    types = dict(known)
    before = -1
    while before < len(types):
        before = len(types)
        for step in recurrence.steps:
            found = type_of(step.definition, types)
            if found:
                types.setdefault(step.name, found)
            if isinstance(step.definition, Expr):
                for part, texts in _places(step.definition, types.get(step.name, ()), types):
                    if isinstance(part, Var) and texts:
                        types.setdefault(part.name, texts)
    return types


def type_of(definition: Definition, types: Categories) -> Texts:
    """The texts that a formula gives; none if it gives numbers, or does not say."""
    if isinstance(definition, Retrieval):
        return types.get(definition.value, ())
    if isinstance(definition, Var):
        return types.get(definition.name, ())
    if isinstance(definition, Op) and definition.name == "where":
        return type_of(definition.args[1], types) or type_of(definition.args[2], types)
    return ()


def _places(expr: Expr, texts: Texts, types: Categories) -> Iterator[tuple[Expr, Texts]]:
    """Every part of a formula, and what it should give: texts, or numbers if there are none."""
    yield expr, texts
    if isinstance(expr, Op):
        for argument, wanted in zip(expr.args, _wanted(expr, texts, types), strict=True):
            yield from _places(argument, wanted, types)


def _wanted(expr: Op, texts: Texts, types: Categories) -> tuple[Texts, ...]:
    """What each argument should give: texts, or numbers."""
    if expr.name == "where":
        return ((), texts, texts)
    if expr.name in _EQUALITY:
        return (type_of(expr.args[0], types) or type_of(expr.args[1], types),) * 2
    return ((),) * len(expr.args)


def speaks(recurrence: Recurrence, known: Categories) -> bool:
    """Whether texts are only handed on, chosen, looked up and compared for equality."""
    types = with_locals(recurrence, known)
    for step in recurrence.steps:
        made, texts = step.definition, types.get(step.name, ())
        keys = types.get(made.key, ()) if isinstance(made, OverAll) else ()
        if (
            isinstance(made, Selection)  # scores are numbers
            or (isinstance(made, Retrieval) and types.get(made.value, ()) != texts)
            or (isinstance(made, Count) and keys and made.relation != "eq")
            or not fits(expression_of(made), keys if isinstance(made, OverAll) else texts, types)
        ):
            return False
    starts = ((name, start) for name, start in recurrence.start.items() if not isinstance(start, str))
    return all(_is_code(start, types[name]) for name, start in starts if name in types)


def fits(expr: Expr, texts: Texts, types: Categories) -> bool:
    """Whether a formula gives such texts (numbers, if there are none) by what may be done with texts."""
    for part, wanted in _places(expr, texts, types):
        if isinstance(part, Var):
            fit = types.get(part.name, ()) == wanted
        elif isinstance(part, Const):
            fit = not wanted or _is_code(part.value, wanted)
        else:
            fit = not wanted or (isinstance(part, Op) and part.name == "where")
        if not fit:
            return False
    return True


def _is_code(value: Number, texts: Texts) -> bool:
    return float(value).is_integer() and 0 <= value <= len(texts)


def spoken(recurrence: Recurrence, known: Categories) -> tuple[Recurrence, dict[str, Texts]]:
    """The recurrence with the texts in their places, and the texts of every name."""
    if not known:
        return recurrence, {}
    types = with_locals(recurrence, known)
    steps = []
    for step in recurrence.steps:
        name = step.definition.key if isinstance(step.definition, OverAll) else step.name
        change = partial(_labelled, texts=types.get(name, ()), types=types)
        steps.append(Step(step.name, with_formula(step.definition, change)))
    return replace(recurrence, steps=tuple(steps)), types


def _labelled(expr: Expr, texts: Texts, types: Categories) -> Expr:
    if isinstance(expr, Const) and texts and _is_code(expr.value, texts):
        return label(expr.value, texts)
    if not isinstance(expr, Op):
        return expr
    wanted = _wanted(expr, texts, types)
    parts = zip(expr.args, wanted, strict=True)
    return Op(expr.name, tuple(_labelled(argument, part, types) for argument, part in parts))


def encoded(column: np.ndarray, categories: Texts) -> np.ndarray:
    """The numbers of texts; a text that is none of them is -1."""
    codes = {category: float(code) for code, category in enumerate(categories, start=1)}
    return np.array([codes.get(value, -1.0) for value in column.ravel().tolist()]).reshape(column.shape)


def decoded(column: np.ndarray, categories: Texts) -> np.ndarray:
    """The texts of numbers, as objects; what is no number of a text is None."""
    named = [None, *categories, None]
    codes = np.nan_to_num(np.asarray(column, float), nan=0.0, posinf=0.0, neginf=0.0)
    places = np.clip(np.round(codes), 0, len(categories) + 1).astype(int)
    found = np.empty(len(named), object)
    found[:] = named
    return found[places]


def truths_of(column: np.ndarray) -> np.ndarray:
    """Truth values of bits; where some are no numbers, objects with None in their place."""
    found = np.asarray(column, float)
    known: np.ndarray = found >= 0.5
    if np.isnan(found).any():
        known = known.astype(object)
        known[np.isnan(found)] = None
    return known


def in_words(
    values: np.ndarray, names: Sequence[str], categories: Categories, truths: Collection[str] = ()
) -> np.ndarray:
    """Values (..., names) with their texts and truth values, then all of them objects; as they are without
    any, and as truth values if there is nothing else."""
    if not set(names) & {*categories, *truths}:
        return values
    if set(names) <= {*truths}:
        return truths_of(values)
    result = np.asarray(values).astype(object)
    for i, name in enumerate(names):
        if name in categories:
            result[..., i] = decoded(values[..., i], categories[name])
        elif name in truths:
            result[..., i] = truths_of(values[..., i])
    return result
