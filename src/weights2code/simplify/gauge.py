"""The numbering of intermediate variables: of all s' = alpha*s + beta, the one that reads shortest.

An intermediate variable means only what its readers make of it. A network numbers it as it likes,
`s = 3 - 2*((a + b) % 7)` with `(3 - s)/2` in its readers; scale, offset and sign are free, and a bit may as
well be its opposite. The numbering is chosen by what the definition, all readers and the start value cost
together. What the constants in the definition, the levels of the variable and the sums that it is read in
suggest is tried: first the shortest definition of every variable at once, which pushes factors and offsets
along the chain of readers to the outputs, then one variable at a time, the most promising first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import isfinite, isinf

from weights2code.language import (
    OPERATORS,
    Const,
    Expr,
    Op,
    OverAll,
    Recurrence,
    Start,
    Step,
    Var,
    exact_number,
    expression_of,
    searched_by,
    with_formula,
)
from weights2code.simplify.collect import Polynomial, build, has_decimals, polynomial
from weights2code.simplify.cost import cost, recurrence_cost
from weights2code.simplify.identities import content, tidied

#: The new variable is alpha times the old one, plus beta.
Numbering = tuple[Fraction, Fraction]
#: The values of the names that take few, of a recurrence.
Levels = Callable[[Recurrence], Mapping[str, tuple[float, ...]]]

#: Numberings that are worked out for one variable, of those whose first look is promising.
MOST_TRIED = 2
#: What a common factor in a definition costs: nobody counts in fours.
_UNNATURAL = 2.5
_MOST_DENOMINATOR = 10**6
_NEGATIVE = ("not", "ne", "le", "ge", "where")
_SUMS = ("add", "sub", "mul", "div", "neg")


def choose_numberings(
    recurrence: Recurrence,
    levels: Levels,
    simplified: Callable[[Recurrence], Recurrence],
    accepted: Callable[[Recurrence], bool],
) -> Recurrence:
    """The same outputs, with every local variable numbered so that the whole is as cheap as possible.

    `levels` gives the values of the names that take few, `simplified` shortens formulas, `accepted` checks.
    Numberings are tried on the formulas as they came, before they are shortened for the numbers that they
    have, and then once more on what has become of them.
    """
    best = simplified(recurrence)
    if not any(is_free(recurrence, step.name) for step in recurrence.steps):
        return best
    draft = _tidied(recurrence)
    pushed = _pushed(draft, levels)
    if pushed != draft:
        candidate = simplified(pushed)
        if recurrence_cost(candidate) < recurrence_cost(best) - 1e-9 and accepted(candidate):
            draft, best = pushed, candidate
    for _ in range(2):
        for step in draft.steps:
            if is_free(draft, step.name):
                draft, best = _numbered(draft, best, step.name, levels, simplified, accepted)
        draft = best
    return best


def _pushed(recurrence: Recurrence, levels: Levels) -> Recurrence:
    """Every free variable, in order, with the numbering that makes its own definition shortest."""
    for step in recurrence.steps:
        if not is_free(recurrence, step.name):
            continue
        definition = _definition(recurrence, step.name)
        proposals = [*_from_definition(definition, recurrence, step.name)]
        if proposals:
            proposals += _from_levels(levels(recurrence).get(step.name, ()))
        drafts = _drafts(recurrence, step.name, proposals)

        def own(draft: Recurrence, name: str = step.name) -> float:
            return cost(_definition(draft, name)) + (draft.start.get(name, 0) != 0)

        recurrence = min((recurrence, *drafts), key=own)
    return recurrence


def _tidied(recurrence: Recurrence) -> Recurrence:
    steps = tuple(Step(step.name, with_formula(step.definition, tidied)) for step in recurrence.steps)
    return replace(recurrence, steps=steps)


def is_free(recurrence: Recurrence, name: str) -> bool:
    """Whether a step is nobody's but its formulas': no output, no lookup nor count, nor what those search."""
    if name in recurrence.outputs:
        return False
    for step in recurrence.steps:
        rule = step.definition
        if isinstance(rule, OverAll) and name in (step.name, *searched_by(rule)):
            return False
    return True


def renumbered(recurrence: Recurrence, name: str, numbering: Numbering) -> Recurrence:
    """The same recurrence with alpha*name + beta in place of `name`, tidied."""
    alpha, beta = numbering

    def old(variable: Var) -> Expr:
        return build({(variable,): 1 / alpha, (): -beta / alpha} if beta else {(variable,): 1 / alpha})

    steps = []
    for step in recurrence.steps:
        read = [v for v in expression_of(step.definition).variables() if v.name == name]
        definition = step.definition
        if read:
            table: dict[Var, Expr] = {variable: old(variable) for variable in read}
            definition = with_formula(definition, lambda rule, table=table: tidied(rule.substitute(table)))
        if step.name == name:
            assert isinstance(definition, Expr)
            definition = tidied(_affine(definition, numbering))
        steps.append(Step(step.name, definition))
    start: dict[str, Start] = dict(recurrence.start)
    before = float(recurrence.start_of(name))
    if isfinite(before):
        start[name] = float(alpha * exact_number(before) + beta)
    else:
        start[name] = before if alpha > 0 else -before
    if not start[name]:
        del start[name]
    return replace(recurrence, steps=tuple(steps), start=start).live()


def _drafts(recurrence: Recurrence, name: str, numberings: Iterable[Numbering]) -> list[Recurrence]:
    """The recurrence in each of these numberings; what counts in whole numbers goes on doing so."""
    found = [renumbered(recurrence, name, n) for n in dict.fromkeys(numberings) if _is_short(n)]
    broken = _broken(_definition(recurrence, name), recurrence.start_of(name))
    return [d for d in found if broken or not _broken(_definition(d, name), d.start_of(name))]


def _broken(definition: Expr, start: Start) -> bool:
    """Whether fractions are written in it, or it divides."""
    numbers = [node.value for node in definition.walk() if isinstance(node, Const)]
    divides = any(isinstance(node, Op) and node.name == "div" for node in definition.walk())
    return divides or not all(isinf(n) or n == int(n) for n in (*numbers, float(start)))


def _affine(expr: Expr, numbering: Numbering) -> Expr:
    """alpha*expr + beta, inside the branches of a choice."""
    if isinstance(expr, Op) and expr.name == "where":
        return Op("where", (expr.args[0], *(_affine(branch, numbering) for branch in expr.args[1:])))
    alpha, beta = numbering
    terms = {key: alpha * value for key, value in polynomial(expr, expand=False).items()}
    constant = terms.pop((), Fraction(0)) + beta
    return build({**terms, **({(): constant} if constant else {})}, decimals=has_decimals(expr))


def _numbered(
    draft: Recurrence,
    best: Recurrence,
    name: str,
    levels: Levels,
    simplified: Callable[[Recurrence], Recurrence],
    accepted: Callable[[Recurrence], bool],
) -> tuple[Recurrence, Recurrence]:
    """The draft with `name` numbered anew and what it comes to, where that is better than `best`."""
    limit = recurrence_cost(draft) + _unnatural(draft, name)
    others = _drafts(draft, name, _proposals(draft, name, levels))
    extra = [_unnatural(other, name) for other in others]
    priced = sorted((recurrence_cost(other) + extra[i], i) for i, other in enumerate(others))
    least, chosen = recurrence_cost(best) + _unnatural(draft, name), draft
    for price, index in priced[:MOST_TRIED]:
        if price < limit:
            candidate = simplified(others[index])
            price = recurrence_cost(candidate) + extra[index]
            if price < least - 1e-9 and accepted(candidate):
                chosen, best, least = others[index], candidate, price
    return chosen, best


def _unnatural(recurrence: Recurrence, name: str) -> float:
    """A variable that is all multiples of a number is worth more trouble in its readers: nobody counts so."""
    sums = [polynomial(branch, expand=False) for branch in _branches(_definition(recurrence, name))]
    factors = [
        value for terms in sums for key, value in terms.items() if not any(_reads(f, name) for f in key)
    ]
    return 0.0 if content(factors) == 1 else _UNNATURAL


def _definition(recurrence: Recurrence, name: str) -> Expr:
    return expression_of(next(step.definition for step in recurrence.steps if step.name == name))


def _proposals(recurrence: Recurrence, name: str, levels: Levels) -> Iterator[Numbering]:
    definition = _definition(recurrence, name)
    rules = [expression_of(step.definition) for step in recurrence.steps]
    readers = [rule for rule in rules if any(v.name == name for v in rule.variables())]
    found = [*_from_definition(definition, recurrence, name)]
    found += [numbering for rule in readers for numbering in _from_reader(rule, name)]
    negative = isinstance(definition, Op) and definition.name in _NEGATIVE
    if found or negative or any(_asks_opposite(node, name) for rule in readers for node in rule.walk()):
        found += _from_levels(levels(recurrence).get(name, ()))
    yield from found


def _is_short(numbering: Numbering) -> bool:
    """Whether it changes anything, by numbers that anybody would write."""
    return numbering != (1, 0) and max(number.denominator for number in numbering) < _MOST_DENOMINATOR


def _from_definition(definition: Expr, recurrence: Recurrence, name: str) -> Iterator[Numbering]:
    """Without the common factor and the constant of the sums that the variable is."""
    sums = [polynomial(branch, expand=False) for branch in _branches(definition)]
    past = [sum(v for key, v in s.items() if len(key) == 1 and _reads(key[0], name)) for s in sums]
    terms = [_without_itself(s, name) for s in sums]
    factors = [Fraction(value) for s in terms for key, value in s.items() if key]
    constants = [Fraction(s.get((), 0)) for s in terms]
    # s = k*s[t-1] + ... + c has no constant when it is counted from where it would rest
    offsets = [c / (1 - Fraction(k)) for c, k in zip(constants, past, strict=True) if k != 1]
    start = float(recurrence.start_of(name))
    if start and isfinite(start):
        offsets.append(Fraction(exact_number(start)))
    if not factors and not any(offsets):
        return
    first = abs(factors[0]) if factors else Fraction(1)
    for scale in dict.fromkeys((Fraction(1), content(factors), first)):
        for sign in (1, -1) if factors and all(factor < 0 for factor in factors) else (1,):
            for offset in dict.fromkeys((Fraction(0), *offsets[:3])):
                yield sign / scale, -sign * offset / scale


def _branches(definition: Expr) -> Iterator[Expr]:
    if isinstance(definition, Op) and definition.name == "where":
        for branch in definition.args[1:]:
            yield from _branches(branch)
    else:
        yield definition


def _without_itself(terms: Polynomial, name: str) -> Polynomial:
    """What a running sum adds, without what it had."""
    return {key: value for key, value in terms.items() if not any(_reads(factor, name) for factor in key)}


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
        if not (isinstance(node, Op) and node.name in _SUMS):
            continue
        terms = polynomial(node, expand=False)
        for key, value in terms.items():
            if any(_reads(factor, name) for factor in key):
                factor, constant = Fraction(value), Fraction(terms.get((), 0))
                yield factor, constant
                yield factor, Fraction(0)
                yield factor / abs(factor), constant / abs(factor)


def _asks_opposite(node: Expr, name: str) -> bool:
    """Whether a reader asks for the opposite of a truth value: not s, [s == 0]."""
    if not isinstance(node, Op) or not _reads(node.args[0], name):
        return False
    compares = OPERATORS[node.name].compares and isinstance(node.args[1], Const)
    return node.name == "not" or compares
