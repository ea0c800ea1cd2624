"""Rewritings in the language's own words, `relu(a - b) -> max(a, b) - b`, and the matcher that finds them.

The letters `c` and `d` stand for numbers, `n` for a natural one, `p` and `q` for truth values, `x` for a
variable, others for anything. A sum is matched as a sum, whatever the order of its terms: what is known
already is taken away, one open letter is what is left, of two in a difference the first has the positive
terms. A sum of functions may be a part of a longer sum, and a multiple of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations

from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, is_boolean
from weights2code.language.formula_reading import read_formula
from weights2code.simplify.forms import tidy
from weights2code.simplify.sums import Sum, polynomial

#: What letters stand for.
Bound = dict[Var, Expr]
_NUMBERS, _TRUTHS = "cdn", "pq"


def read_pattern(text: str) -> Expr:
    """A formula of letters: they need no time."""
    return read_formula(re.sub(r"(?<!\[)\b([a-z])\b(?!\[)", r"\1[t]", text))


def matches(pattern: Expr, node: Expr, bound: Bound) -> Iterator[Bound]:
    """Every way in which `node` is of this form, given what letters stand for already."""
    if isinstance(pattern, Var):
        if pattern in bound:
            if bound[pattern] == node:
                yield bound
        elif _may_be(pattern, node):
            yield {**bound, pattern: node}
    elif not isinstance(pattern, Op):
        if pattern == node:
            yield bound
    elif pattern.name in ("add", "sub", "neg"):
        for found, left, factor in _parts(_terms(pattern), polynomial(node, expand=True), bound, None):
            if factor == 1 and not left:
                yield found
    elif isinstance(node, Op) and node.name == pattern.name:
        yield from _arguments(pattern.args, node.args, bound)
        if OPERATORS[node.name].commutative:
            yield from _arguments(pattern.args, node.args[::-1], bound)


def rewritten(pattern: Expr, replacements: Sequence[Expr], node: Expr, decimals: bool) -> Iterator[Expr]:
    """The replacements of a node, or of some terms of a sum, that is of the pattern's form."""
    if isinstance(pattern, Op) and pattern.name in ("add", "sub"):
        for bound, left, factor in _parts(_terms(pattern), polynomial(node, expand=True), {}, None):
            for replacement in replacements:
                made = polynomial(filled(replacement, bound, decimals))
                yield (left + made * factor).written(decimals)
        return
    for bound in matches(pattern, node, {}):
        for replacement in replacements:
            yield filled(replacement, bound, decimals)


def filled(pattern: Expr, bound: Bound, decimals: bool) -> Expr:
    """The pattern with what its letters stand for, tidied."""
    return pattern.transform(lambda part: bound[part] if isinstance(part, Var) else tidy(part, decimals))


def _arguments(patterns: Sequence[Expr], nodes: Sequence[Expr], bound: Bound) -> Iterator[Bound]:
    if not patterns:
        yield bound
        return
    for found in matches(patterns[0], nodes[0], bound):
        yield from _arguments(patterns[1:], nodes[1:], found)


def _may_be(letter: Var, node: Expr) -> bool:
    if letter.name in _NUMBERS:
        return isinstance(node, Const) and (letter.name != "n" or str(node.value).isdigit())
    if letter.name == "x":
        return isinstance(node, Var)
    return letter.name not in _TRUTHS or is_boolean(node) or isinstance(node, Var)


@cache
def _terms(pattern: Expr) -> tuple[tuple[Expr, Number], ...]:
    """Functions first, since they say what letters stand for; then letters, numbers among them first."""
    items = [(key[0], value) for key, value in polynomial(pattern).items()]
    return tuple(sorted(items, key=lambda item: (isinstance(item[0], Var), str(item[0])[0] not in _NUMBERS)))


def _parts(
    wanted: Sequence[tuple[Expr, Number]], terms: Sum, bound: Bound, factor: Number | None
) -> Iterator[tuple[Bound, Sum, Number]]:
    """What letters of a sum stand for, what is left of the terms, and the factor of the pattern in them."""
    if not wanted or isinstance(wanted[0][0], Var):
        for found, left in _letters(wanted, terms, bound, factor or 1):
            yield found, left, factor or 1
        return
    pattern, weight = wanted[0]
    for key, value in terms.items():
        times = Fraction(value) / Fraction(weight)
        if len(key) == 1 and factor in (None, times):
            for found in matches(pattern, key[0], bound):
                yield from _parts(wanted[1:], terms + {key: -value}, found, times)


def _letters(
    wanted: Sequence[tuple[Expr, Number]], terms: Sum, bound: Bound, factor: Number
) -> Iterator[tuple[Bound, Sum]]:
    """Letters of a sum: known ones are taken away, open ones share what is left."""
    for letter, weight in wanted:
        if isinstance(letter, Var) and letter in bound:
            terms -= polynomial(bound[letter], expand=True) * (weight * factor)
    opened = [(v, Fraction(w * factor)) for v, w in wanted if isinstance(v, Var) and v not in bound]
    if not opened:
        yield bound, terms
        return
    shared: Iterable[Sequence[Sum]] = [[terms]]
    if len(opened) == 2 and opened[1][1] < 0:
        shared, opened = [terms.sides()], [(letter, abs(weight)) for letter, weight in opened]
    elif len(opened) > 1:
        alone = [Sum({key: value}) for key, value in terms.items()]
        shared = permutations(alone) if len(alone) == len(opened) else ()
    for shares in shared:
        if all(shares):
            pairs = zip(opened, shares, strict=True)
            found: Bound = {letter: (share / weight).written() for (letter, weight), share in pairs}
            if all(_may_be(letter, value) for letter, value in found.items()):
                yield {**bound, **found}, Sum()
