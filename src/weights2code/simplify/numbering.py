"""The numbering of intermediate variables: of all s' = alpha*s + beta, the one that reads shortest.

An intermediate variable means only what its readers make of it. A network numbers it as it likes,
`s = 3 - 2*((a + b) % 7)` with `(3 - s)/2` in its readers; scale, offset and sign are free, and a bit may as
well be its opposite. What the constants in the definition and the sums that it is read in suggest is
proposed, of every variable in order: so factors and offsets go along the chain of readers to the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import isfinite

from weights2code.language import Const, Expr, Op, Recurrence, Start, Step, Var, exact_number, expression_of
from weights2code.simplify.cost import cost, recurrence_cost
from weights2code.simplify.forms import tidied
from weights2code.simplify.passes import must_stay, with_formulas
from weights2code.simplify.sums import ARITHMETIC, Sum, content, has_decimals, polynomial

#: The new variable is alpha times the old one, plus beta.
Numbering = tuple[Fraction, Fraction]

_MOST_DENOMINATOR = 10**6
_MOST_OFFSETS = 3


def numbered(recurrence: Recurrence) -> Iterator[Recurrence]:
    """Every variable, in order, with the numbering that makes its own definition shortest, or the whole."""
    for price in (_own_cost, lambda draft, name: recurrence_cost(draft)):
        draft = with_formulas(recurrence, tidied)
        for step in recurrence.steps:
            if _is_free(draft, step.name):
                drafts = (draft, *_drafts(draft, step.name))
                draft = min(drafts, key=lambda made, name=step.name, price=price: price(made, name))
        yield draft


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
    return replace(made, steps=steps, start=start | ({name: after} if after else {}))


def _is_free(recurrence: Recurrence, name: str) -> bool:
    """Whether a step is nobody's but its formulas': no output, no lookup nor count, nor what those search."""
    local = any(step.name == name and isinstance(step.definition, Expr) for step in recurrence.steps)
    return local and not must_stay(recurrence, name)


def _definition(recurrence: Recurrence, name: str) -> Expr:
    return expression_of(next(step.definition for step in recurrence.steps if step.name == name))


def _own_cost(recurrence: Recurrence, name: str) -> float:
    return cost(_definition(recurrence, name)) + (recurrence.start.get(name, 0) != 0)


def _drafts(recurrence: Recurrence, name: str) -> list[Recurrence]:
    """The recurrence in other numberings of `name`; what counts in whole numbers goes on doing so."""
    numberings = [*_from_definition(recurrence, name)]
    for step in recurrence.steps:
        numberings += _from_reader(expression_of(step.definition), name)
    short = [n for n in dict.fromkeys(numberings) if n != (1, 0) and _is_short(n)]
    drafts = [renumbered(recurrence, name, numbering) for numbering in short]
    broken = _broken(recurrence, name)
    return [draft for draft in drafts if broken or not _broken(draft, name)]


def _is_short(numbering: Numbering) -> bool:
    """Whether anybody would write these numbers."""
    return max(number.denominator for number in numbering) < _MOST_DENOMINATOR


def _broken(recurrence: Recurrence, name: str) -> bool:
    """Whether fractions are written in the definition, or it divides."""
    nodes = [*_definition(recurrence, name).walk()]
    numbers = [node.value for node in nodes if isinstance(node, Const)] + [float(recurrence.start_of(name))]
    divides = any(isinstance(node, Op) and node.name == "div" for node in nodes)
    return divides or not all(n == int(n) for n in numbers if isfinite(n))


def _affine(expr: Expr, numbering: Numbering) -> Expr:
    """alpha*expr + beta, inside the branches of a choice."""
    if isinstance(expr, Op) and expr.name == "where":
        return Op("where", (expr.args[0], *(_affine(branch, numbering) for branch in expr.args[1:])))
    alpha, beta = numbering
    return (polynomial(expr) * alpha + {(): beta}).written(has_decimals(expr))


def _branches(definition: Expr) -> Iterator[Expr]:
    if isinstance(definition, Op) and definition.name == "where":
        for branch in definition.args[1:]:
            yield from _branches(branch)
    else:
        yield definition


def _from_definition(recurrence: Recurrence, name: str) -> Iterator[Numbering]:
    """Without the common factor and the constant of the sums that the variable is."""
    added, offsets = [], [Fraction(0)]
    for branch in _branches(_definition(recurrence, name)):
        terms = polynomial(branch)
        new = terms.where(lambda key, value: not _read(key, name))
        past = sum(value for key, value in terms.items() if len(key) == 1 and _read(key, name))
        # s = k*s[t-1] + ... + c has no constant when it is counted from where it would rest
        if past != 1:
            offsets.append(Fraction(new.get((), 0)) / (1 - Fraction(past)))
        added.append(new.varying())
    start = float(recurrence.start_of(name))
    if isfinite(start):
        offsets.append(Fraction(exact_number(start)))
    factors = [Fraction(value) for terms in added for value in terms.values()]
    first = abs(factors[0]) if factors else Fraction(1)
    for scale in dict.fromkeys((Fraction(1), content(*added), first)):
        for sign in (1, -1) if factors and all(factor < 0 for factor in factors) else (1,):
            for offset in list(dict.fromkeys(offsets))[: _MOST_OFFSETS + 1]:
                yield sign / scale, -sign * offset / scale


def _from_reader(rule: Expr, name: str) -> Iterator[Numbering]:
    """The sums that readers make of it: if all read 3 - 2*s, that is the better variable."""
    for node in rule.walk():
        terms = polynomial(node) if isinstance(node, Op) and node.name in ARITHMETIC else Sum()
        for key, value in terms.items():
            if _read(key, name):
                factor, constant = Fraction(value), Fraction(terms.get((), 0))
                yield factor, constant
                yield factor, Fraction(0)
                yield factor / abs(factor), constant / abs(factor)


def _read(key: tuple[Expr, ...], name: str) -> bool:
    """Whether a term has the variable as a factor."""
    return any(isinstance(factor, Var) and factor.name == name for factor in key)
