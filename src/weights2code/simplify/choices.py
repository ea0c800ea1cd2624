"""Sums of products of bits as choices: `b - 2*a*b` is `-b if a else b`, `y + c*r - r*y` is `c if r else y`.

A network multiplies by bits where a person says if and else. Whatever a sum is once a bit in it is 1 and once
it is 0 are the two branches; what else is known in a branch (`x < 2` is false where `x > 6`) is tried too.
These are suggestions, as in `rewrites`: nothing here is trusted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator

from weights2code.language import OPERATORS, Const, Expr, Op, op
from weights2code.simplify.collect import Polynomial, add, build, has_decimals

#: More truth values in one sum than this are taken one at a time.
_MOST_TRUTHS = 4
#: Tests whose opposite may read better.
_NEGATIVE = ("not", "ne", "ge", "le")


def negated(node: Expr) -> Expr:
    """The opposite truth value."""
    opposite = OPERATORS[node.name].opposite if isinstance(node, Op) else None
    if isinstance(node, Op) and opposite:
        return Op(opposite, node.args)
    if isinstance(node, Op) and node.name == "not":
        return node.args[0]
    return op("not", node)


def choices_of_sum(terms: Polynomial, node: Expr, bits: Collection[Expr]) -> Iterator[Expr]:
    """The sum as a choice by each truth value that is a factor in it, and pairs of them as one."""
    truths = [factor for factor in _factors(terms) if factor in bits or _is_truth(factor)]
    decimals = has_decimals(node)

    def written(result: Polynomial) -> Expr:
        return build(result, decimals=decimals)

    for truth in truths:
        yes, no = ({**_known(terms, truth, value)} for value in (1, 0))
        for first in _branches(yes, truths, truth, written):
            for second in _branches(no, truths, truth, written):
                yield op("where", truth, first, second)
                if isinstance(truth, Op) and truth.name in _NEGATIVE:
                    yield op("where", negated(truth), second, first)
    for key, value in terms.items():
        if len(key) == 1 and isinstance(key[0], Op) and key[0].name == "where":
            condition, *branches = key[0].args
            rest = add(terms, {key: -value})
            sums = [
                _branches(add(rest, {(branch,): value}), truths, condition, written) for branch in branches
            ]
            yield from (op("where", condition, *pair) for pair in itertools.product(*sums))
    for first, second in itertools.combinations([t for t in truths if _is_truth(t)], 2):
        both: Polynomial = {}
        for key, value in terms.items():
            if first in key and second in key:
                rest = tuple(factor for factor in key if factor not in (first, second))
                key = (*rest, op("and", first, second))
            both = add(both, {key: value})
        yield written(both)


def _branches(
    terms: Polynomial, truths: list[Expr], chosen: Expr, written: Callable[[Polynomial], Expr]
) -> list[Expr]:
    """What a branch may be: as it is, or with another truth value settled by the choice."""
    others = [t for t in truths if t != chosen and any(t in key for key in terms)]
    found = [written(terms)]
    for other in others[:_MOST_TRUTHS]:
        no, yes = (written(_known(terms, other, value)) for value in (0, 1))
        found += [no, yes, op("where", other, yes, no)]
    for key, value in terms.items():
        inner = key[0] if len(key) == 1 else None
        if isinstance(inner, Op) and inner.name == "where":
            found += [written(add(add(terms, {key: -value}), {(b,): value})) for b in inner.args[1:]]
    return list(dict.fromkeys(found))


def _known(terms: Polynomial, truth: Expr, value: int) -> Polynomial:
    """The sum where a truth value is known."""
    opposite = negated(truth) if _is_truth(truth) else None
    result: Polynomial = {}
    for key, coefficient in terms.items():
        if (truth in key and not value) or (opposite in key and value):
            continue
        kept = tuple(factor for factor in key if factor not in (truth, opposite))
        result = add(result, {kept: coefficient})
    return result


def choices_of_choice(node: Op) -> Iterator[Expr]:
    """Other ways to write `yes if condition else no`."""
    condition, yes, no = node.args
    yield negated(condition)
    if isinstance(condition, Op) and condition.name in _NEGATIVE:
        yield op("where", negated(condition), no, yes)
    for name in ("max", "min"):
        yield op(name, yes, no)
    yield op("and", condition, yes)
    yield op("and", negated(condition), no)
    yield op("or", condition, no)
    yield op("or", negated(condition), yes)
    yield op("mul", condition, yes)
    yield op("ne", condition, no)
    yield op("eq", condition, yes)
    yield op("relu", yes)
    yield op("abs", yes)
    yield op("abs", no)
    yield from _within(node)
    yield from _same_branches(node)


def _within(node: Op) -> Iterator[Expr]:
    """The condition is known inside the branches, and so is a variable that it equals."""
    condition = node.args[0]
    for branch, value in ((1, 1), (2, 0)):
        known: dict[Expr, Expr] = {condition: Const(value)}
        if _is_truth(condition):
            known[negated(condition)] = Const(1 - value)
        if isinstance(condition, Op) and condition.name == ("eq" if value else "ne"):
            known[condition.args[0]] = condition.args[1]
        arguments = list(node.args)
        arguments[branch] = arguments[branch].transform(lambda part, known=known: known.get(part, part))
        if arguments[branch] != node.args[branch]:
            yield Op("where", tuple(arguments))
        inner = node.args[branch]
        if isinstance(inner, Op) and inner.name == "where":  # one of the inner branches is never met
            for kept in inner.args[1:]:
                arguments[branch] = kept
                yield Op("where", tuple(arguments))


def _same_branches(node: Op) -> Iterator[Expr]:
    """Nested choices with a branch in common: `u if p else u if q else v` is `u if p or q else v`."""
    condition, yes, no = node.args
    if isinstance(no, Op) and no.name == "where":
        test, second, third = no.args
        if second == yes:
            yield op("where", op("or", condition, test), yes, third)
        if third == yes:
            yield op("where", op("or", condition, negated(test)), yes, second)
    if isinstance(yes, Op) and yes.name == "where":
        test, first, second = yes.args
        if second == no:
            yield op("where", op("and", condition, test), first, no)
        if first == no:
            yield op("where", op("and", condition, negated(test)), second, no)


def _factors(terms: Polynomial) -> list[Expr]:
    return list(dict.fromkeys(factor for key in terms for factor in key))


def _is_truth(expr: Expr) -> bool:
    return isinstance(expr, Op) and OPERATORS[expr.name].boolean
