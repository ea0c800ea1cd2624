"""Explicit simplification: many candidates, one judge.

Every step is the same: suggest other forms of the expression or of a part of it (terms multiplied out, the
table of rewritings), keep the cheapest that is equal on the check set of the domain, repeat until nothing is
cheaper. What is cheap is said in `cost`, what is equal in
`equality`; nothing is trusted because of where it came from. (Design, "Extraction", step 5.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial

from weights2code.effort import TimeUp, check_time
from weights2code.language import BITS, Const, Domain, Expr, Op, Var
from weights2code.simplify.cost import cost
from weights2code.simplify.equality import CheckSet, check_set
from weights2code.simplify.forms import arranged, collect
from weights2code.simplify.table import suggestions

MOST_ROUNDS = 40
MOST_NODES = 120
#: A candidate that costs more than this, times what there is, is not arranged to see whether it becomes less.
ROOM = 1.6

Bits = frozenset[Expr]


def simplify(expr: Expr, domains: Mapping[Var, Domain]) -> Expr:
    """The cheapest form found that has the same value everywhere on the domain; the same, if the time is up.

    Parameters
    ----------
    expr
        What to simplify.
    domains
        The domain of every variable in it.
    """
    variables = expr.variables()
    missing = [str(variable) for variable in variables if variable not in domains]
    if missing:
        raise ValueError(f"no domain is given for {', '.join(missing)}")
    try:
        return _simplified(expr, tuple((variable, domains[variable]) for variable in variables))
    except TimeUp:
        return expr


@lru_cache(maxsize=512)
def _simplified(expr: Expr, domains: tuple[tuple[Var, Domain], ...]) -> Expr:
    """Remembered, because recurrences are simplified in several passes."""
    numbers = [float(node.value) for node in expr.walk() if isinstance(node, Const)]
    check = check_set(dict(domains), list(dict.fromkeys(numbers)))
    bits = frozenset(variable for variable, domain in domains if domain == BITS)
    best, better = expr, _arrange(expr) if check.equal(expr, _arrange(expr)) else expr
    for _ in range(MOST_ROUNDS):
        if better is None:
            break
        best, better = better, _improved(better, expr, check, bits)
    return best


def _improved(expr: Expr, original: Expr, check: CheckSet, bits: Bits) -> Expr | None:
    """The cheapest strictly cheaper candidate that is equal."""
    limit = cost(expr) - 1e-9
    candidates = set()
    for candidate in dict.fromkeys(put(new) for node, put in places(expr) for new in suggestions(node, bits)):
        check_time()
        if cost(candidate) < ROOM * limit and check.may_equal(original, candidate):
            candidates.add(_arrange(candidate))
    prices = ((cost(candidate), candidate) for candidate in candidates)
    cheaper = sorted(((p, str(c), c) for p, c in prices if p < limit), key=lambda item: item[:2])
    return next((candidate for *_, candidate in cheaper if check.equal(original, candidate)), None)


@lru_cache(maxsize=4096)
def _arrange(expr: Expr) -> Expr:
    """One reading order: arguments of symmetric operators, then the terms of every sum."""
    return collect(expr.transform(arranged)) if expr.size() <= MOST_NODES else expr


def places(expr: Expr) -> Iterator[tuple[Expr, Callable[[Expr], Expr]]]:
    """Every node with the function that puts another in its place, outermost first."""
    yield expr, lambda replacement: replacement
    if isinstance(expr, Op):
        for index, argument in enumerate(expr.args):
            for node, put in places(argument):
                yield node, partial(_put, expr, index, put)


def _put(expr: Op, index: int, inside: Callable[[Expr], Expr], new: Expr) -> Expr:
    """The operation with a new part somewhere inside of one of its arguments."""
    return Op(expr.name, (*expr.args[:index], inside(new), *expr.args[index + 1 :]))
