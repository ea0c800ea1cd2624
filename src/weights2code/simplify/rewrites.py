"""Candidate rewritings of one node. They are suggestions: `simplify` checks each on the domain.

Because nothing here is trusted, the rules can be bold: a node may always be its own argument or a constant,
and piecewise-linear sums are tried as maximum, minimum, absolute value and clip.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from weights2code.language import OPERATORS, Const, Expr, Number, Op, evaluate, op
from weights2code.simplify.choices import choices_of_choice, choices_of_sum, negated
from weights2code.simplify.collect import (
    Monomial,
    Polynomial,
    add,
    build,
    has_decimals,
    polynomial,
    scale,
    sort_key,
)

#: The six tests.
COMPARISONS = tuple(name for name, entry in OPERATORS.items() if entry.compares)


def suggestions(node: Expr, bits: Collection[Expr] = ()) -> Iterator[Expr]:
    """Expressions that may equal `node` and may be simpler; `bits` are variables that are 0 or 1."""
    if not isinstance(node, Op):
        return
    yield from node.args
    yield Const(0)
    yield Const(1)
    if node.name in ("add", "sub", "mul", "div", "neg"):
        yield from _sums(node, bits)
    elif node.name in COMPARISONS:
        yield from _comparisons(node)
    elif node.name in ("max", "min", "clip", "relu", "abs"):
        yield from _extrema(node)
    elif node.name in ("and", "or", "not"):
        yield from _logic(node)
    elif node.name == "where":
        yield from _choices(node)
    elif node.name in ("mod", "floor"):
        yield from _remainders(node)


def arranged(node: Expr) -> Expr:
    """Arguments of symmetric operators in reading order: the present before the past, numbers last.

    A choice asks for what is, not for what is not.
    """
    if not isinstance(node, Op):
        return node
    entry = OPERATORS[node.name]
    if entry.associative and node.name not in ("add", "mul"):  # those are arranged as polynomials
        first, *others = sorted(_chain(node, node.name), key=sort_key)
        return reduce(lambda left, right: Op(node.name, (left, right)), others, first)
    if entry.compares and entry.mirror:
        left, right = node.args
        swap = isinstance(left, Const) or (entry.commutative and sort_key(right) < sort_key(left))
        return Op(entry.mirror, (right, left)) if swap else node
    condition = node.args[0]
    if node.name == "where" and isinstance(condition, Op):
        _, yes, no = node.args
        number_first = isinstance(yes, Const) and not isinstance(no, (Const, Op))
        if condition.name in ("ne", "not") or (condition.name in ("le", "ge") and number_first):
            return Op("where", (negated(condition), no, yes))
    if node.name == "abs" and isinstance(node.args[0], Op) and node.args[0].name == "sub":
        return Op("abs", (Op("sub", tuple(sorted(node.args[0].args, key=sort_key))),))
    return node


def _chain(node: Expr, name: str) -> Iterator[Expr]:
    """The operands of a chain such as a and b and c, however it is nested."""
    if isinstance(node, Op) and node.name == name:
        for argument in node.args:
            yield from _chain(argument, name)
    else:
        yield node


def _sums(node: Op, bits: Collection[Expr]) -> Iterator[Expr]:
    terms, decimals = polynomial(node, expand=False), has_decimals(node)

    def written(result: Polynomial) -> Expr:
        return build(result, decimals=decimals)

    yield from _factored(terms, decimals)
    yield from choices_of_sum(terms, node, bits)
    for key, value in terms.items():
        atom = key[0] if len(key) == 1 else None
        if not isinstance(atom, Op):
            continue
        rest = add(terms, {key: -value})
        if atom.name in ("relu", "abs"):
            for replacement in _pieces(atom):
                yield written(add(rest, scale(replacement, value)))
        for other, other_value in rest.items():
            partner = other[0] if len(other) == 1 else None
            if isinstance(partner, Op):
                remaining = add(rest, {other: -other_value})
                for joined in _joined(atom, value, partner, other_value):
                    yield written(add(remaining, joined))
        if OPERATORS[atom.name].boolean:  # 1 - [a > b]
            yield written(add(rest, add({(): value}, {(negated(atom),): -value})))
        if atom.name == "floor" and isinstance(atom.args[0], Op) and atom.args[0].name == "div":
            # u - m*floor(u/m) is the remainder
            top, bottom = atom.args[0].args
            quotient = add(rest, scale(polynomial(top, expand=False), _ratio(value, bottom)))
            yield written(add(quotient, {(op("mod", top, bottom),): -_ratio(value, bottom)}))
    if len(terms) == 2 and all(len(key) == 1 for key in terms):
        for name in ("or", "ne", "max", "gt", "lt"):
            yield op(name, *(atom for (atom,) in terms))


def _ratio(value: Number, bottom: Expr) -> Number:
    if isinstance(bottom, Const) and bottom.value and not isinstance(bottom.value, float):
        return Fraction(value) / Fraction(bottom.value)
    return 1


def _factored(terms: Polynomial, decimals: bool) -> Iterator[Expr]:
    """A common number or a common factor pulled out of the sum."""
    values = [Fraction(value) for value in terms.values()]
    if len(values) > 1:
        content = _content(values)
        inner = build(scale(terms, 1 / content), decimals=decimals)
        yield build({(inner,): content}, decimals=decimals)
    factors = {factor for key in terms for factor in key}
    for factor in sorted(factors, key=sort_key):
        inside: Polynomial = {_without(key, factor): v for key, v in terms.items() if factor in key}
        outside: Polynomial = {key: v for key, v in terms.items() if factor not in key}
        if len(inside) > 1 and set(outside) <= {()}:
            product = (factor, build(inside, decimals=decimals))
            yield build(add(outside, {product: 1}), decimals=decimals)


def _content(values: list[Fraction]) -> Fraction:
    return Fraction(
        gcd(*(value.numerator for value in values)), lcm(*(value.denominator for value in values))
    )


def _without(key: Monomial, factor: Expr) -> Monomial:
    index = key.index(factor)
    return key[:index] + key[index + 1 :]


def _sides(terms: Polynomial) -> tuple[Polynomial, Polynomial]:
    """u = a - b with only positive terms in a and b."""
    return {k: v for k, v in terms.items() if v > 0}, {k: -v for k, v in terms.items() if v < 0}


def _pieces(atom: Op) -> Iterator[Polynomial]:
    """Other ways to write relu(a - b) and abs(a - b)."""
    a, b = _sides(polynomial(atom.args[0], expand=True))
    left, right = build(a), build(b)
    larger: Polynomial = {(op("max", left, right),): 1}
    smaller: Polynomial = {(op("min", left, right),): 1}
    difference = add(a, scale(b, -1))
    if atom.name == "relu":
        yield add(larger, scale(b, -1))
        yield add(a, scale(smaller, -1))
        yield add(difference, {(op("relu", build(scale(difference, -1))),): 1})
        yield add(scale(difference, Fraction(1, 2)), {(op("abs", build(difference)),): Fraction(1, 2)})
    else:
        yield add(scale(larger, 2), scale(add(a, b), -1))
        yield add(add(a, b), scale(smaller, -2))
        yield add({(op("relu", build(difference)),): 2}, scale(difference, -1))


def _joined(first: Op, u: Number, second: Op, v: Number) -> Iterator[Polynomial]:
    """Two atoms of a sum as one: relu(w) - relu(w - c) is clip(w, 0, c)."""
    if first.name == second.name == "relu":
        a, b = (polynomial(atom.args[0], expand=True) for atom in (first, second))
        gap = add(a, scale(b, -1))
        if u == -v and set(gap) == {()} and gap[()] > 0:
            yield {(op("clip", first.args[0], 0, build(gap)),): u}
        if not add(a, b):  # relu(w) and relu(-w)
            yield add({(op("abs", first.args[0]),): u}, {(second,): v - u})
    if first.name == "max" and second.name == "min" and set(first.args) == set(second.args):
        p, q = (polynomial(argument, expand=False) for argument in first.args)
        if u == v:
            yield scale(add(p, q), u)
        yield add({(op("abs", op("sub", *first.args)),): u}, {(second,): u + v})


def _comparisons(node: Op) -> Iterator[Expr]:
    """Positive terms left, negative terms right, no common factor; the strict and the closed form.

    Of a choice among numbers: the conditions under which it is one of those for which the comparison holds.
    """
    chosen = [_of_choice(argument, node, place) for place, argument in enumerate(node.args)]
    yield from (truth for truth in chosen if isinstance(truth, Op))
    difference = polynomial(Op("sub", node.args), expand=True)
    values = [Fraction(value) for key, value in difference.items() if key]
    if not values:
        return
    decimals = has_decimals(node)
    difference = scale(difference, 1 / _content(values))
    mirror = OPERATORS[node.name].mirror or node.name
    for terms, name in ((difference, node.name), (scale(difference, -1), mirror)):
        left, right = _sides(terms)
        a, b = build(left, decimals=decimals), build(right, decimals=decimals)
        yield op(name, a, b)
        bound = right.get((), -left.get((), 0))
        body = {key: value for key, value in terms.items() if key}
        yield op(name, build(body, decimals=decimals), Const(bound))
        if mirror != node.name:
            close = OPERATORS[OPERATORS[name].opposite or name].mirror or name  # with the border, or without
            # on whole numbers u > c is u >= c + 1; fractions between whole numbers round
            for whole in (bound - 1, bound + 1, Fraction(bound) // 1, -(-Fraction(bound) // 1)):
                for relation in (name, close, "eq", "ne"):
                    yield op(relation, build(body, decimals=decimals), Const(whole))
        if len(left) == len(right) == 1 and () not in left and () not in right:
            yield op("and", a, op("sub", 1, b))
    yield from _logic_of_comparison(node)


def _of_choice(chosen: Expr, node: Op, place: int) -> Expr | bool | None:
    """Whether a comparison holds that has a choice among numbers on one side; None if that is no short
    condition."""
    other = node.args[1 - place]
    if isinstance(chosen, Const) and isinstance(other, Const):
        sides = (chosen, other) if place == 0 else (other, chosen)
        return bool(evaluate(Op(node.name, sides), {}))
    if not isinstance(chosen, Op) or chosen.name != "where":
        return None
    condition, *branches = chosen.args
    yes, no = (_of_choice(branch, node, place) for branch in branches)
    if yes is None or no is None or not (isinstance(yes, bool) or isinstance(no, bool)):
        return None
    if isinstance(yes, bool) and isinstance(no, bool):
        return yes if yes == no else condition if yes else negated(condition)
    if isinstance(yes, bool):
        return op("or", condition, no) if yes else op("and", negated(condition), no)
    return op("or", negated(condition), yes) if no else op("and", condition, yes)


def _logic_of_comparison(node: Op) -> Iterator[Expr]:
    truths = [
        argument for argument in node.args if isinstance(argument, Op) and OPERATORS[argument.name].boolean
    ]
    for truth in truths:
        yield negated(truth)
        if node.name in ("eq", "ne") and truth.name in ("eq", "ne"):
            # a chain of differences of bits is a parity
            other = node.args[1] if truth is node.args[0] else node.args[0]
            total = op("add", op("add", *truth.args), other)
            yield op("mod", total if node.name == truth.name else op("add", total, 1), 2)
    yield op("sub", 1, node.args[0])


def _extrema(node: Op) -> Iterator[Expr]:
    if node.name == "abs":
        inner = polynomial(node.args[0], expand=True)
        yield op("abs", build(scale(inner, -1)))
        yield build(scale(inner, -1))
    if node.name == "relu":
        a, b = _sides(polynomial(node.args[0], expand=True))
        yield op("max", node.args[0], 0)
        yield build(add({(op("max", build(a), build(b)),): 1}, scale(b, -1)))
    if node.name in ("max", "min"):
        first, second = (polynomial(argument, expand=True) for argument in node.args)
        common: Polynomial = {k: v for k, v in first.items() if second.get(k) == v}
        if common:
            inner = op(node.name, build(add(first, scale(common, -1))), build(add(second, scale(common, -1))))
            yield build(add({(inner,): 1}, common))
        values = [Fraction(value) for value in (*first.values(), *second.values())]
        content = _content(values) if values else Fraction(1)
        if content not in (0, 1):
            pair = [build(scale(terms, 1 / content)) for terms in (first, second)]
            yield build({(op(node.name, *pair),): content})
        for index in (0, 1):
            yield from _nested_extremum(node.name, node.args[index], node.args[1 - index])
    if node.name == "clip":
        value, low, high = node.args
        yield op("max", value, low)
        yield op("min", value, high)
        yield op("gt", value, low)
        yield op("ge", value, high)


def _nested_extremum(name: str, inner: Expr, bound: Expr) -> Iterator[Expr]:
    other = "min" if name == "max" else "max"
    if isinstance(inner, Op) and inner.name in (name, other):
        for i in (0, 1):
            limit, value = inner.args[i], inner.args[1 - i]
            yield op(name, value, bound)
            if inner.name == other:
                low, high = (limit, bound) if name == "min" else (bound, limit)
                if isinstance(low, Const) and isinstance(high, Const) and low.value <= high.value:
                    yield op("clip", value, low, high)
    if isinstance(inner, Op) and inner.name == "relu":
        if name == "min" and isinstance(bound, Const) and bound.value >= 0:
            yield op("clip", inner.args[0], 0, bound)
        yield op(name, inner.args[0], bound)


def _logic(node: Op) -> Iterator[Expr]:
    if node.name == "not":
        yield negated(node.args[0])
        yield op("sub", 1, node.args[0])
        inner = node.args[0]
        if isinstance(inner, Op) and inner.name in ("and", "or"):
            yield op("or" if inner.name == "and" else "and", *(negated(argument) for argument in inner.args))
        return
    a, b = node.args
    yield op("mul" if node.name == "and" else "max", a, b)
    for relation in COMPARISONS:
        yield op(relation, a, b)
    if all(isinstance(part, Op) and part.name in COMPARISONS for part in (a, b)):
        assert isinstance(a, Op)
        assert isinstance(b, Op)
        for relation in COMPARISONS:
            yield Op(relation, a.args)
            yield Op(relation, b.args)


def _choices(node: Op) -> Iterator[Expr]:
    condition, yes, no = node.args
    yield from choices_of_choice(node)
    # where(c, u + d, u) is u + d*c
    difference = add(polynomial(yes, expand=True), scale(polynomial(no, expand=True), -1))
    yield build(add(polynomial(no, expand=False), {(condition, build(difference)): 1}))
    if set(difference) == {()}:
        yield build(add(polynomial(no, expand=False), {(condition,): difference[()]}))


def _remainders(node: Op) -> Iterator[Expr]:
    inner = node.args[0]
    if node.name == "floor":
        terms = polynomial(inner, expand=True)
        whole = {key: value for key, value in terms.items() if Fraction(value).denominator == 1}
        if whole and len(whole) < len(terms):
            rest = add(terms, scale(whole, -1))
            values = [Fraction(value) for value in rest.values()]
            bottom = lcm(*(value.denominator for value in values))
            floored = op("floor", op("div", build(scale(rest, bottom)), bottom))
            yield build(add(whole, {(floored,): 1}))
        return
    modulus = node.args[1]
    if isinstance(inner, Op) and inner.name == "mod":
        yield op("mod", inner.args[0], modulus)
    if not isinstance(modulus, Const) or isinstance(modulus.value, float) or modulus.value == 0:
        return
    terms = polynomial(inner, expand=True)
    reduced: Polynomial = {}
    for key, value in terms.items():
        value = Fraction(value) % Fraction(modulus.value)
        if len(key) == 1 and isinstance(key[0], Op) and key[0].name == "mod" and key[0].args[1] == modulus:
            reduced = add(reduced, scale(polynomial(key[0].args[0], expand=True), value))
        elif value:
            reduced = add(reduced, {key: value})
    yield op("mod", build(reduced), modulus)
    centred = {key: v - modulus.value if 2 * v > modulus.value else v for key, v in reduced.items()}
    yield op("mod", build(centred), modulus)
