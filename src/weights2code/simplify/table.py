"""The table of rewritings: other forms that a node may have. `simplify` checks each on the domain.

Because nothing here is trusted, the rules can be bold: a node may always be its own argument or a constant,
a choice one of its branches, a sum a choice by any truth value in it. What is arithmetic with numbers (common
factors, remainders of coefficients, borders of comparisons) cannot be said in words and stands below.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from weights2code.language import OPERATORS, Const, Expr, Op, Var, is_boolean, op
from weights2code.simplify.forms import collected, tidy
from weights2code.simplify.patterns import read_pattern, rewritten
from weights2code.simplify.sums import ARITHMETIC, Sum, content, has_decimals, polynomial

#: `R` and `S` are any of the six tests, `|` stands between other forms of one pattern.
TABLE = """
a - b -> a != b
relu(a - b) -> max(a, b) - b | a - min(a, b)
max(a, b) - b -> relu(a - b)
max(a, 0) -> relu(a) | a > 0
min(a, c) -> a >= c
min(a + b, c) -> a or b
abs(a - b) -> a != b
c - abs(a - b) -> a == b
a + b - 2*max(u, 0) -> a != b
a + b - 2*relu(u) -> a != b
relu(a) -> a + relu(-a) | max(a, 0) | abs(a) - relu(-a) | a > 0
relu(a*c) -> c*relu(a)
relu(a) - relu(a - c) -> clip(a, 0, c)
a + b + abs(a - b) -> 2*max(a, b)
a + b - abs(a - b) -> 2*min(a, b)
max(a, b) -> a + b - min(a, b)
min(relu(a), c) -> clip(a, 0, c)
min(max(a, c), d) -> clip(a, c, d)
max(min(a, d), c) -> clip(a, c, d)
p -> 1 - (not p)
not (a and b) -> (not a) or (not b)
not (a or b) -> (not a) and (not b)
a and b -> a*b | a if b else 0
a or b -> 1 if b else a
a > b -> a and 1 - b
a R b -> 1 - a
p R a -> not p
(a + b) % c -> a != b
a + b R c -> a != b | a == b | a*b | a or b
a + b + u R c -> a if a == b else u
clip(u, 0, 1) -> u > 0
(a != b) != u -> (a + b + u) % 2
(a == b) == u -> (a + b + u) % 2
u if a else v -> max(u, v) | min(u, v) | relu(u) | abs(u) | abs(v) | v + a*(u - v) | a != v
u if a else v -> not a | a and u | (not a) and v | a or v | (not a) or u
c if a else d -> -(-c if a else -d)
u if a else u if b else v -> u if a or b else v
u if a else v if b else u -> u if a or not b else v
(u if b else v) if a else v -> u if a and b else v
(v if b else u) if a else v -> u if a and not b else v
"""

_SIGNS = ("==", "!=", ">=", ">", "<=", "<")
_COMPARISONS = tuple(name for name, entry in OPERATORS.items() if entry.compares)
_BOOLEAN = tuple(name for name, entry in OPERATORS.items() if entry.boolean)


def _read() -> dict[str, list[tuple[Expr, list[Expr]]]]:
    """The table by the outermost operator of its patterns."""
    rules: dict[str, list[tuple[Expr, list[Expr]]]] = {}
    for line in TABLE.strip().splitlines():
        for sign in _SIGNS if " R " in line else ("",):
            left, right = line.replace(" R ", f" {sign} ").split(" -> ")
            pattern, replacements = read_pattern(left), [read_pattern(form) for form in right.split(" | ")]
            names = (pattern.name,) if isinstance(pattern, Op) else _BOOLEAN
            for name in ("add", "sub") if names[0] in ("add", "sub") else names:
                rules.setdefault(name, []).append((pattern, replacements))
    return rules


_RULES = _read()


@lru_cache(maxsize=1 << 13)
def suggestions(node: Expr, bits: frozenset[Expr] = frozenset()) -> tuple[Expr, ...]:
    """Expressions that may equal `node` and may be simpler; `bits` are variables that are 0 or 1."""
    if not isinstance(node, Op):
        return ()
    decimals = has_decimals(node)
    found: list[Expr] = [
        *node.args,
        Const(0),
        Const(1),
        tidy(node, decimals),
        collected(node, decimals, True),
    ]
    for pattern, replacements in _RULES.get(node.name, ()):
        found += rewritten(pattern, replacements, node, decimals)
    if node.name in ARITHMETIC:  # the largest common number stands before the sum
        terms = polynomial(node)
        inner = (terms / content(terms)).written(decimals)
        found.append(Sum({(inner,): content(terms)}).written(decimals))
    elif OPERATORS[node.name].compares:
        found += _borders(node, decimals)
    elif node.name == "mod":
        found += _reduced(node, decimals)
    elif node.name == "floor" and isinstance(quotient := tidy(node, decimals), Op):  # 1 from the divisor on
        inner = quotient.args[0]
        if isinstance(inner, Op) and inner.name == "div":
            found.append(op("ge", *inner.args))
    if node.name not in ("and", "or", "not"):
        found += _cases(node, bits, decimals)
    return tuple(dict.fromkeys(found))


def _borders(node: Op, decimals: bool) -> Iterator[Expr]:
    """Other comparisons with the same border, or with whole numbers next to it.

    On whole numbers u > c is u >= c + 1; fractions between whole numbers round.
    """
    plain = tidy(node, decimals)
    if not isinstance(plain, Op):
        return
    difference = polynomial(Op("sub", plain.args), expand=True)
    difference /= content(difference.varying())
    body, bound = difference.varying().written(decimals), -Fraction(difference.get((), 0))
    for level in dict.fromkeys((bound, bound - 1, bound + 1, bound // 1, -(-bound // 1))):
        for name in _COMPARISONS:
            yield op(name, body, Const(level))


def _reduced(node: Op, decimals: bool) -> Iterator[Expr]:
    """Coefficients as their remainders, also as those nearest to zero."""
    inner, modulus = node.args
    if isinstance(modulus, Const) and isinstance(modulus.value, int) and modulus.value > 1:
        for lowest in (0, (1 - modulus.value) // 2):
            terms = polynomial(inner, expand=True).items()
            reduced = Sum({key: (value - lowest) % modulus.value + lowest for key, value in terms})
            yield op("mod", (Sum() + reduced).written(decimals), modulus)


def _cases(node: Op, bits: frozenset[Expr], decimals: bool) -> Iterator[Expr]:
    """A formula as a choice by each truth value in it: what it is where that holds, and where it does not.

    A network multiplies by bits where a person says if and else.
    """
    truths = _truths(node, bits if node.name in ARITHMETIC else frozenset())
    for truth in (node.args[0],) if node.name == "where" else truths:
        yes, no = (_known(node, truth, value, decimals) for value in (1, 0))
        yield tidy(op("where", truth, yes, no), decimals)


def _truths(node: Expr, bits: frozenset[Expr], *, outermost: bool = True) -> list[Expr]:
    """Truth values that are counted with or that choices ask for, not inside of one another."""
    if node in bits or (is_boolean(node) and not outermost):
        return [node]
    inside = node.args if isinstance(node, Op) else ()
    found = (truth for argument in inside for truth in _truths(argument, bits, outermost=False))
    return list(dict.fromkeys(found))


def _known(node: Expr, truth: Expr, value: int, decimals: bool) -> Expr:
    """The formula where a truth value is known, and so is what it says to be equal."""
    known: dict[Expr, Expr] = {truth: Const(value)}
    if isinstance(truth, Op) and truth.name == ("eq" if value else "ne") and isinstance(truth.args[0], Var):
        known[truth.args[0]] = truth.args[1]
    return node.transform(lambda part: known[part] if part in known else tidy(part, decimals))
