"""Awkward numbers: no number at all, infinities, powers, thousands of digits, decimals, halves, dead steps.

Exact numbers, NumPy and the text of a program part where numbers are not small and whole: inf - inf is no
number, 10**400 has digits that no float has, 0.1*3 is 0.3 in decimals alone, and a step that nobody reads can
stop the text. A family makes pairs of a program and a specification from other numbers for every case, right,
wrong for one rare input, or wrong in float64 alone; random formulas come with them. The specification runs on
exact numbers, the program as its text; where the specification is no number itself, nothing is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np
from case import Result, shown
from machines import always, family, machine, never, pair, s, s1, x, x1, y1
from truth import Case, Interpreter, Rows, judged

from chance import Chance, Random
from weights2code.language import (
    BITS,
    Const,
    Definition,
    Domain,
    Expr,
    Recurrence,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    where,
)

FAMILIES: dict[str, Callable[[Random], Case]] = {}
family = partial(family, into=FAMILIES)


def attack(number: int, seed: int) -> Result:
    """One pair, certified and judged."""
    rng = np.random.default_rng([seed, number])
    case = list(FAMILIES.values())[number % len(FAMILIES)](rng)
    try:
        certificate, failure = judged(case, rng, seed=number, time_limit=1.0, count=64)
    except OverflowError:  # a constant that no float holds: nothing is claimed
        return Result(case.kind, "no verdict")
    if certificate.verdict == "failed" and not case.right and certificate.counterexample:
        rows = [list(row) for row in certificate.counterexample]
        if not (has_values(case.program, rows) and has_values(case.reference, rows)):
            failure = ""  # what has no value is wrong, whatever the text makes of it
    detail = f"{shown(case.program, case.reference)}  |  {case.domains[0]}  |  {certificate.method}"
    return Result(case.kind, certificate.verdict, failure, detail)


def has_values(machine: Any, rows: Rows) -> bool:
    """Whether everything on the way is a number, and one that float64 counts to."""
    interpreter = Interpreter(machine)
    try:
        for row in rows:
            interpreter.step(row)
    except (ArithmeticError, ValueError):
        return False
    return not interpreter.undefined and interpreter.largest < 2**53


def _rare(c: Chance) -> tuple[Domain, int]:
    """A wide domain, and a value of it that tests hardly meet."""
    top = c.pick(9, 400, 19_000, 30_000, 10**6)
    return integers(0, top), c.between(top // 2, top)


def _singles(*values: float, within: Domain | None = None) -> tuple[Rows, ...]:
    """Sequences of one row, of those values that a domain has."""
    return tuple([[float(i)]] for i in values if within is None or within.low <= i <= within.high)


@family("no number")
def _no_number(c: Chance) -> Case:
    """Infinities that meet before the start of what is remembered."""
    k, start = c.between(1, 8), c.pick(inf, -inf)
    none = c.pick(s1 - s1, 0 * s1, s1 / s1, s1 + (-1) * s1, s1 % 3, (s1 * s1) - abs(s1), x + s1 - s1)
    way = c.pick(
        maximum(Const(k), none) >= k - 1,
        minimum(Const(k), none) <= k,
        none.equals(none),
        op("ne", none, none),
        where(none, Const(1), Const(0)),
        where(none >= 0, Const(1), Const(0)),
        op("and", none >= 0, Const(1)),
        op("or", none, x >= 0),
        op("floor", none).equals(0),
        abs(none) < 1,
    )
    kept: Definition = c.pick(x, maximum(s1, x), minimum(s1, x), never)
    other: Expr = c.pick(always, never, Var("f", 1) * 1, 1 - Var("f", 1))
    program = Recurrence(("x",), (Step("y", way), Step("s", kept)), ("y",), {"s": start})
    return pair(program, machine(other, f=always), BITS if c.of(0.5) else integers(-2, 3))


@family("infinite")
def _infinite(c: Chance) -> Case:
    """Infinities that mean something: the least and the largest so far."""
    start, best = (inf, minimum(s1, x)) if c.of(0.5) else (-inf, maximum(s1, x))
    k = c.between(0, 5)
    output = c.pick(s, s > k, (s - s).equals(0), where(s1.equals(start), x, s), s1 < inf, (1 / s1).equals(0))
    other = c.pick(output, s, s >= k, always)
    program, reference = (machine(one, start={"s": start}, s=best) for one in (output, other))
    return pair(program, reference, integers(0, 5))


@family("negative powers")
def _powers(c: Chance) -> Case:
    """Powers with negative exponents, compared with what they are in decimals."""
    base, at = c.pick(2, 3, 7, 10, 10, 10), c.pick(*range(-9, 0), -5, -5, -5)
    bound = float(f"1e{at}") if base == 10 else float(base) ** at
    signs = c.pick(("lt", "le"), ("gt", "ge"), ("lt", "le"), ("gt", "ge"), ("eq", "eq"))
    program = op(c.pick(*signs), op("pow", Const(base), x), Const(bound))
    exact = op(c.pick(*signs), x, Const(at))
    return pair(program, exact, integers(-9, 9), telling=_singles(*range(-9, 10)))


@family("roots")
def _roots(c: Chance) -> Case:
    """Powers with fractions as exponents."""
    k, top = c.pick(2, 3, 4), c.pick(30, 1000, 20_000)
    low = c.pick(0, 0, 1, -3)
    root = op("pow", x, Const(1) / k) if c.of(0.5) else op("pow", x, Const(1 / k))
    again = op("pow", root, Const(k))
    back = op("pow", op("pow", x, Const(k)), Const(1) / k)
    program = c.pick(
        op("floor", again + 0.5), op("floor", again), again.equals(x) * x, op("floor", back), back
    )
    domain = integers(low, top)
    numbers = dict.fromkeys((low, -1, 0, 1, 8, 27, 64, 125, top))
    return pair(program, 1 * x, domain, telling=_singles(*numbers, within=domain))


@family("great powers")
def _great_powers(c: Chance) -> Case:
    """Powers that float64 cannot hold, and what is left of them."""
    k, m, top = c.between(2, 69), c.between(2, 11), c.between(2, 99)
    reference: Expr = x % m
    for _ in range(k - 1):
        reference = (reference * x) % m
    program = op("pow", x, Const(k)) % m
    if c.of(0.3):
        program, reference = op("pow", x, Const(0)), always
    return pair(program, reference, integers(c.pick(0, 0, -5), top), telling=_singles(top, top - 1))


@family("hundreds of digits")
def _digits(c: Chance) -> Case:
    """Hundreds of digits, for some inputs alone, that cancel in exact numbers."""
    at, digits = c.between(1, 8), c.pick(20, 100, 300, 308, 309, 400, 700)
    big = op("pow", Const(10), digits * (x > at))
    if c.of(0.3):
        big = where(x > at, Const(10**digits), Const(1))
    both = c.pick(
        ((big / big).equals(1), x <= at),
        ((big / big).equals(1), always),
        ((big - big).equals(0), x <= at),
        ((big - big).equals(0), always),
        ((big + x - big).equals(x), x <= at),
        ((big + x - big).equals(x), always),
        (big * big > big, x > at),
        (op("floor", (x * big) / big), 1 * x),
        (((big + 1) % big).equals(1), x > at),
        (where(big > 1, Const(1), Const(0)), x > at),
        (where(big.equals(10**digits), Const(1), Const(0)), x > at),
    )
    return pair(*both, integers(0, 9), telling=_singles(*range(10)))


@family("dead steps")
def _dead_step(c: Chance) -> Case:
    """A step that nobody reads, and that has no value for one rare input."""
    domain, rare = _rare(c)
    off = x - rare
    dead: Expr = c.pick(
        Const(1) / op("ne", x, rare),
        1 / off,
        x % off,
        op("pow", off, Const(-1)),
        op("pow", Const(10), 400 * x.equals(rare)),
        op("pow", -abs(off) - 1, Const(0.5)),
        op("floor", op("pow", Const(10.0), 400 * x.equals(rare))),
        x / (x1 - rare),
    )
    output = c.pick(1 * x, maximum(x, x1), x % 7, x + 0 * Var("d", 2))
    shown = output + 0 * Var("d") if c.of(0.3) else output  # not dead, but without effect
    program = Recurrence(("x",), (Step("d", dead), Step("y", shown)), ("y",))
    telling: Rows = [[0.0], [float(rare)], [1.0], [2.0]]
    reference = 1 * x if "d[" in str(output) else output
    return pair(program, reference, domain, telling=(telling, [[float(rare)]]))


@family("decimals that meet")
def _decimals(c: Chance) -> Case:
    """Decimals that meet in exact numbers and not in float64, or the other way round."""
    k, at = c.pick(10, 100, 1000), c.between(1, 59)
    a, b = round(c.between(1, 8) / k, 4), round(c.between(1, 8) / k, 4)
    domain = integers(0, c.pick(9, 99, 19_000, 30_000))
    meets, plain = (a * x).equals(round(a * at, 6)), x.equals(at)
    sums = (a * x + b * x).equals(round(a + b, 4) * x)
    both = c.pick(
        (never, meets),
        (plain, meets),
        (meets, plain),
        (meets, meets),
        (meets, never),
        (sums, always),
        (always, sums),
        (sums, sums),
        (op("floor", a * x * k), op("floor", x * round(a * k))),
        (op("floor", x / at * at), 1 * x),
        (1 * x, op("floor", x / at * at)),
    )
    telling = _singles(at, 3, 6, 7, min(int(domain.high), 3 * at), within=domain)
    return pair(*both, domain, telling=telling)


@family("sums of decimals")
def _decimal_sums(c: Chance) -> Case:
    """Decimals that are added up along the sequence."""
    k, turn = c.pick(10, 5, 100), c.between(2, 39)
    a = 1 / k
    below = s1 < (turn - 1) * a if c.of(0.5) else op("ne", s1, Const(round((turn - 1) * a, 6)))
    program = machine(op("floor", s * k + c.pick(0, 0, 0.5)), s=where(below, s1 + a, Const(0)))
    reference = machine(Var("n"), n=(Var("n", 1) + 1) % turn)
    return pair(program, reference, BITS, telling=([[0.0]] * (3 * turn),))


@family("halves")
def _halves(c: Chance) -> Case:
    """A half, or less, that appears after one rare sequence, and that rounding hides."""
    code = c.rng.integers(0, 2, c.between(1, 18)).tolist()
    hit: Expr = x.equals(code[0])
    for i, bit in enumerate(code[1:], 1):
        hit = op("and", hit, Var("x", i).equals(bit))
    part = c.pick(0.5, -0.5, 0.25, 0.4, 0.499, 1e-3, 1e-9)
    base = c.pick(1 * x, 2 * x, (y1 + x) % 2 if part == 1e-9 else x + x1)
    both = base, where(hit, base + part, base)
    telling: Rows = [[float(bit)] for bit in reversed(code)]
    program, reference = both[::-1] if c.of(0.5) else both
    return pair(program, reference, BITS, telling=(telling, [*telling, [0.0], [1.0]]))


#: Leaves of random formulas, and what stands above them.
NUMBERS = (0, 1, 2, 3, 10, -1, 0.5, 0.1, 0.2, 0.3, 1e-5, 2.5, 1 / 3, 400, 2**53, 1e16, 10**30)
OPERATORS = (
    *("add", "add", "sub", "mul", "mul", "div", "mod", "pow", "min", "max", "abs", "floor", "where"),
    *("eq", "ge", "lt", "and", "or"),
)


def _formula(c: Chance, depth: int) -> Expr:
    if depth == 0 or c.of(0.15):
        return c.pick(x, x, x, x1, s1, Const(c.among(NUMBERS)))
    name = c.among(OPERATORS)
    if name == "pow":
        exponent = Const(c.pick(-2, -1, 0, 0.5, 2, 3, 0.1)) if c.of(0.8) else _formula(c, 0)
        return op(name, _formula(c, depth - 1), exponent)
    count = {"abs": 1, "floor": 1, "where": 3}.get(name, 2)
    return op(name, *(_formula(c, depth - 1) for _ in range(count)))


@family("random formulas")
def _random(c: Chance) -> Case:
    """Random formulas: against themselves, or a plainer one."""
    inner = _formula(c, c.between(1, 3))
    bound = Const(c.among(NUMBERS))
    output = c.pick(
        inner >= bound, inner.equals(bound), inner < bound, op("floor", inner), op("ne", inner, inner)
    )
    start = {"s": float(c.pick(0.0, inf, -inf, 0.1, 1e16))}
    kept = c.pick(x, maximum(s1, x), (s1 + x) % 3)
    other = c.pick(output, never, always, where(x.equals(3), 1 - output, output))
    domain = c.pick(BITS, integers(0, 9), integers(-3, 3), integers(0, 19_000))
    program, reference = (machine(one, start=start, s=kept) for one in (output, other))
    return pair(
        program, reference, domain, telling=tuple([[float(i)]] for i in (0, 1, 3, 6) if i <= domain.high)
    )


@family("rewritten")
def _rewritten(c: Chance) -> Case:
    """The same small whole numbers in another way: these must not be called wrong."""
    k = c.between(2, 8)
    both = c.pick(
        (op("pow", x, Const(2)), x * x),
        (op("floor", x / k) * k + x % k, 1 * x),
        (where(op("ne", x, 0), op("pow", maximum(x, 1), Const(-1)) * 0 + x, x), 1 * x),
        (0.5 * x + 0.5 * x, 1 * x),
        (op("floor", 0.25 * (4 * x)), 1 * x),
        (minimum(x, Const(10**9)), 1 * x),
    )
    return pair(*both, integers(0, 20), right=True)
