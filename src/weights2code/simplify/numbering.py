"""The numbering of intermediate variables: of all s' = alpha*s + beta, the one that reads shortest.

An intermediate variable means only what its readers make of it. A network numbers it as it likes,
`s = 3 - 2*((a + b) % 7)` with `(3 - s)/2` in its readers; scale, offset and sign are free, and a bit may as
well be its opposite. What the constants in the definition, the levels of the variable and the sums that it is
read in suggest is proposed: the shortest definition of every variable at once, which pushes factors and
offsets along the chain of readers to the outputs, or one variable at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import isfinite, isinf

from weights2code.language import (
    Const,
    Expr,
    Op,
    Recurrence,
    Start,
    Step,
    Var,
    exact_number,
    expression_of,
)
from weights2code.simplify.sums import ARITHMETIC, Sum, content, has_decimals, polynomial
from weights2code.simplify.cost import cost, recurrence_cost
from weights2code.simplify.forms import tidied
from weights2code.simplify.passes import must_stay, with_formulas

#: The new variable is alpha times the old one, plus beta.
Numbering = tuple[Fraction, Fraction]
#: The values of the names that take few, of a recurrence.
Levels = Callable[[Recurrence], Mapping[str, tuple[float, ...]]]

#: Numberings that are worked out for one variable, of those whose first look is promising.
MOST_TRIED = 2
#: What a common factor in a definition costs: nobody counts in fours.
_UNNATURAL = 2.5
_MOST_DENOMINATOR = 10**6


def pushed(recurrence: Recurrence, levels: Levels) -> Recurrence:
    """Every free variable, in order, with the numbering that makes its own definition shortest."""
    recurrence = with_formulas(recurrence, tidied)
    for step in recurrence.steps:
        if is_free(recurrence, step.name):
            proposals = [*_from_definition(recurrence, step.name)]
            if proposals:
                proposals += _from_levels(levels(recurrence).get(step.name, ()))

            def own(draft: Recurrence, name: str = step.name) -> float:
                return cost(_definition(draft, name)) + (draft.start.get(name, 0) != 0)

            recurrence = min((recurrence, *_drafts(recurrence, step.name, proposals)), key=own)
    return recurrence


def renumberings(recurrence: Recurrence, name: str, levels: Levels) -> list[Recurrence]:
    """The recurrence with `name` numbered otherwise, where that looks cheaper: the cheapest few."""
    if not is_free(recurrence, name):
        return []
    recurrence = with_formulas(recurrence, tidied)
    proposals = [*_from_definition(recurrence, name)]
    for step in recurrence.steps:
        proposals += _from_reader(expression_of(step.definition), name)
    proposals += _from_levels(levels(recurrence).get(name, ()))

    def price(draft: Recurrence) -> float:
        return recurrence_cost(draft) + unnatural(draft, name)

    limit = price(recurrence)
    cheaper = [draft for draft in _drafts(recurrence, name, proposals) if price(draft) < limit]
    return sorted(cheaper, key=price)[:MOST_TRIED]


def is_free(recurrence: Recurrence, name: str) -> bool:
    """Whether a step is nobody's but its formulas': no output, no lookup nor count, nor what those search."""
    local = any(step.name == name and isinstance(step.definition, Expr) for step in recurrence.steps)
    return local and not must_stay(recurrence, name)


def renumbered(recurrence: Recurrence, name: str, numbering: Numbering) -> Recurrence:
    """The same recurrence with alpha*name + beta in place of `name`, tidied."""
    alpha, beta = numbering

    def read(rule: Expr) -> Expr:
        own = [variable for variable in rule.variables() if variable.name == name]
        old = {v: (Sum() + {(v,): 1 / alpha, (): -beta / alpha}).written() for v in own}
        return tidied(rule.substitute(old)) if own else rule

    made = with_formulas(recurrence, read)
    own = Step(name, tidied(_affine(_definition(made, name), numbering)))
    start: dict[str, Start] = {n: value for n, value in recurrence.start.items() if n != name}
    after = float(alpha * exact_number(recurrence.start_of(name)) + beta)
    steps = tuple(own if step.name == name else step for step in made.steps)
    return replace(made, steps=steps, start=start | ({name: after} if after else {})).live()


def unnatural(recurrence: Recurrence, name: str) -> float:
    """A variable that is all multiples of a number is worth more trouble in its readers: nobody counts so."""
    added = [_added(branch, name) for branch in _branches(_definition(recurrence, name))]
    return 0.0 if content(*added) == 1 else _UNNATURAL


def _drafts(recurrence: Recurrence, name: str, numberings: Iterable[Numbering]) -> list[Recurrence]:
    """The recurrence in each of these numberings; what counts in whole numbers goes on doing so."""
    found = [renumbered(recurrence, name, n) for n in dict.fromkeys(numberings) if _is_short(n)]
    broken = _broken(recurrence, name)
    return [draft for draft in found if broken or not _broken(draft, name)]


def _is_short(numbering: Numbering) -> bool:
    """Whether it changes anything, by numbers that anybody would write."""
    return numbering != (1, 0) and max(number.denominator for number in numbering) < _MOST_DENOMINATOR


def _broken(recurrence: Recurrence, name: str) -> bool:
    """Whether fractions are written in the definition, or it divides."""
    nodes = [*_definition(recurrence, name).walk()]
    numbers = [node.value for node in nodes if isinstance(node, Const)] + [float(recurrence.start_of(name))]
    divides = any(isinstance(node, Op) and node.name == "div" for node in nodes)
    return divides or not all(isinf(n) or n == int(n) for n in numbers)


def _affine(expr: Expr, numbering: Numbering) -> Expr:
    """alpha*expr + beta, inside the branches of a choice."""
    if isinstance(expr, Op) and expr.name == "where":
        return Op("where", (expr.args[0], *(_affine(branch, numbering) for branch in expr.args[1:])))
    alpha, beta = numbering
    return (polynomial(expr) * alpha + {(): beta}).written(has_decimals(expr))


def _definition(recurrence: Recurrence, name: str) -> Expr:
    return expression_of(next(step.definition for step in recurrence.steps if step.name == name))


def _from_definition(recurrence: Recurrence, name: str) -> Iterator[Numbering]:
    """Without the common factor and the constant of the sums that the variable is."""
    branches = [*_branches(_definition(recurrence, name))]
    terms = [_added(branch, name) for branch in branches]
    factors = [Fraction(value) for s in terms for key, value in s.items() if key]
    # s = k*s[t-1] + ... + c has no constant when it is counted from where it would rest
    offsets = []
    for branch, s in zip(branches, terms, strict=True):
        own = polynomial(branch)
        past = sum(value for key, value in own.items() if len(key) == 1 and _reads(key[0], name))
        if past != 1:
            offsets.append(Fraction(s.get((), 0)) / (1 - Fraction(past)))
    start = float(recurrence.start_of(name))
    if start and isfinite(start):
        offsets.append(Fraction(exact_number(start)))
    if not factors and not any(offsets):
        return
    first = abs(factors[0]) if factors else Fraction(1)
    for scale in dict.fromkeys((Fraction(1), content(*(s.varying() for s in terms)), first)):
        for sign in (1, -1) if factors and all(factor < 0 for factor in factors) else (1,):
            for offset in dict.fromkeys((Fraction(0), *offsets[:3])):
                yield sign / scale, -sign * offset / scale


def _branches(definition: Expr) -> Iterator[Expr]:
    if isinstance(definition, Op) and definition.name == "where":
        for branch in definition.args[1:]:
            yield from _branches(branch)
    else:
        yield definition


def _added(expr: Expr, name: str) -> Sum:
    """What a running sum adds, without what it had."""
    return polynomial(expr).where(lambda key, value: not any(_reads(factor, name) for factor in key))


def _reads(expr: Expr, name: str) -> bool:
    return isinstance(expr, Var) and expr.name == name


def _from_levels(values: tuple[float, ...]) -> Iterator[Numbering]:
    """Few levels at equal distances as 0, 1, 2, ..., from below or from above."""
    exact = [Fraction(exact_number(value)) for value in values if isfinite(value)]
    gaps = {second - first for first, second in pairwise(exact)}
    if len(gaps) == 1 and len(exact) == len(values):
        gap = gaps.pop()
        yield 1 / gap, -exact[0] / gap
        yield -1 / gap, exact[-1] / gap


def _from_reader(rule: Expr, name: str) -> Iterator[Numbering]:
    """The sums that readers make of it: if all read 3 - 2*s, that is the better variable."""
    for node in rule.walk():
        terms = polynomial(node) if isinstance(node, Op) and node.name in ARITHMETIC else Sum()
        for key, value in terms.items():
            if any(_reads(factor, name) for factor in key):
                factor, constant = Fraction(value), Fraction(terms.get((), 0))
                yield factor, constant
                yield factor, Fraction(0)
                yield factor / abs(factor), constant / abs(factor)
