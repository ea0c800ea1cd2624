"""Hand-made machines: pairs of a program and a specification that are equal, near, or equal for long.

Each family aims at one way in which a proof could claim too much, or refuse what is right: numbers beyond
2**53, quotients that round alike, binary places that grow, counters that wrap late, values that are undefined
where nobody looks, infinite and repeated start values, lookups, decimals, signs of remainders. A family is
filled with other numbers for every case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from case import Result, shown
from truth import Case, Rows, judged

from chance import Chance, Random
from weights2code.language import (
    BITS,
    Const,
    Definition,
    Domain,
    Expr,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)

x, x1, x2, y1, y2 = Var("x"), Var("x", 1), Var("x", 2), Var("y", 1), Var("y", 2)
n, n1, s, s1, z = Var("n"), Var("n", 1), Var("s"), Var("s", 1), Var("z")
always, never = Const(1) + 0 * x, Const(0) * x
LENGTH = 10
FAMILIES: dict[str, Callable[[Random], Case]] = {}


def family(kind: str, into: dict[str, Callable[[Random], Case]] = FAMILIES) -> Any:
    """Declares the family that follows: what it makes of choices."""

    def declare(make: Callable[[Chance], Case]) -> None:
        into[kind] = lambda rng: replace(make(Chance(rng)), kind=kind)

    return declare


def machine(output: Definition, *, start: Any = None, inputs: str = "x", **steps: Any) -> Recurrence:
    """One output y, other steps before it."""
    made = (*(Step(name, definition) for name, definition in steps.items()), Step("y", output))
    return Recurrence(tuple(inputs), made, ("y",), start or {})


def pair(
    program: Recurrence | Expr,
    reference: Recurrence | Expr,
    *domains: Domain,
    whole: bool = True,
    telling: tuple[Rows, ...] = (),
    right: bool = False,
) -> Case:
    left, right_hand = (machine(one) if isinstance(one, Expr) else one for one in (program, reference))
    return Case("", left, right_hand, domains, whole, LENGTH, telling, right)


def attack(number: int, seed: int) -> Result:
    """One pair of machines, certified and judged."""
    rng = np.random.default_rng([seed, number])
    case = list(FAMILIES.values())[number % len(FAMILIES)](rng)
    certificate, failure = judged(case, rng, seed=number)
    detail = f"{shown(case.program, case.reference)}  |  {certificate.method}"
    return Result(case.kind, certificate.verdict, failure, detail)


@family("numbers beyond 2**53")
def _beyond_exact(c: Chance) -> Case:
    large = 2 ** c.between(50, 61) + c.between(0, 4)
    value = maximum(x, x1)
    domain = integers(0, c.between(1, 99))
    through = machine(z - large, z=value + large) if c.of(0.5) else (value + large) - large
    return pair(through, value, domain)


@family("large products")
def _large_product(c: Chance) -> Case:
    factor = 3 ** c.between(20, 39)
    return pair((x * factor) / factor, 1 * x, integers(-c.between(1, 49), c.between(1, 49)))


@family("wide domains")
def _wide_domain(c: Chance) -> Case:
    domain = integers(0, 2 ** c.between(20, 32) - 1)
    ways = (x * x - x * x + x, 1 * x), (x + x1 - x1, 1 * x), (where(x > x1, x, x1), maximum(x, x1))
    return pair(*c.among(ways), domain)


@family("close quotients")
def _close_quotients(c: Chance) -> Case:
    """Quotients that differ by less than float64 can tell."""
    top = 2 ** c.between(20, 30)
    telling: Rows = [[float(top - 1)], [float(top - 2)]]
    program = machine((x1 / (x + 1)).equals((x1 - 1) / x), start={"x": 1.0})
    reference = machine((x1 * x).equals((x1 - 1) * (x + 1)), start={"x": 1.0})
    return pair(program, reference, integers(1, top), telling=(telling,))


@family("means")
def _means(c: Chance) -> Case:
    share = c.between(2, 5)
    steps: dict[str, Any] = {"s": s1 + x, "n": n1 + 1}
    return pair(machine((s / n) > Const(1) / share, **steps), machine((share * s) > n, **steps), BITS)


@family("shifted means")
def _shifted_means(c: Chance) -> Case:
    shift = c.between(1, 3)
    return pair(machine((s / n + shift - shift).equals(s / n), s=s1 + x, n=n1 + 1), x * 0 + 1, BITS)


@family("growing binary places")
def _growing_places(c: Chance) -> Case:
    """Binary places that grow at every position, until float64 has lost them."""
    half = 2.0 ** -c.between(1, 3)
    program = machine(where(op("ne", s, (s1 * half + x)), 1, op("ne", s, 0)), s=s1 * half + x)
    ones: Rows = [[1.0], *([[0.0]] * 1500)]
    return pair(program, maximum(y1, op("ne", x, 0)), BITS, telling=(ones,))


@family("late counters")
def _late_counter(c: Chance) -> Case:
    when = c.between(50, 4999)
    program = machine(where(n >= when, 1 - x, x), n=where(n1 >= when, n1, n1 + 1))
    return pair(program, 1 * x, BITS, telling=([[1.0]] * (when + 2),))


@family("wrapping counters")
def _wrapping_counter(c: Chance) -> Case:
    turn, m = c.between(30, 399), Var("m")
    right = machine((n * (turn + 1)) % turn, n=where(n1 >= turn - 1, 0, n1 + 1))
    off = machine(where(m.equals(turn - 1), 0, m), m=(Var("m", 1) + 1) % turn)
    reference = machine(m, m=(Var("m", 1) + 1) % turn)
    return pair(off if c.of(0.5) else right, reference, BITS, telling=([[0.0]] * (2 * turn + 3),))


@family("large totals")
def _large_total(c: Chance) -> Case:
    bound, top = c.between(1000, 199_999), c.between(50, 199)
    telling: Rows = [[float(top)]] * (bound // top + 3)
    program = machine(where(s > bound, s + 1, s), s=s1 + x)
    return pair(program, machine(s, s=s1 + x), integers(0, top), telling=(telling,))


@family("exponential growth")
def _doubling(c: Chance) -> Case:
    """Exponential growth, with the same value by another way."""
    base = c.between(2, 10)
    return pair(((base + 1) * y1 - y1) + x, base * y1 + x, integers(0, base - 1))


@family("undefined, not taken")
def _untaken_branch(c: Chance) -> Case:
    low = c.between(-3, 0)
    clipped = minimum(x, 0) + maximum(x - 6, 0) + where(x > 6, 6, 0)
    ways: tuple[tuple[Expr, dict[str, Any], Expr], ...] = (
        (where(x.equals(0), 0, x * (1 / x)), {}, op("ne", x, 0)),
        (where(op("and", op("ne", x, 0), (6 / x) >= 1), x, clipped), {}, 1 * x),
        (where(x.equals(0), 0, z * x), {"z": 1 / x}, op("ne", x, 0)),
        (op("or", x.equals(0), (x / x).equals(1)), {}, x * 0 + 1),
        (where(x.equals(0), 0, (z % x) * 0 + x), {"z": x}, 1 * x),
    )
    output, steps, reference = way = c.among(ways)
    return pair(machine(output, **steps), reference, integers(low, c.between(1, 6)), right=way is not ways[0])


@family("undefined, taken")
def _undefined(c: Chance) -> Case:
    """A division by zero that is reached."""
    return pair(op("floor", (x * x) / x), 1 * x, integers(c.between(-2, 0), 5), telling=([[0.0]],))


@family("infinite starts")
def _infinite_start(c: Chance) -> Case:
    top = c.between(1, 19)
    start: dict[str, Start] = {"y": float(top - 1) if c.of(0.4) else inf}
    reference = machine(minimum(x, y1), start={"y": inf})
    return pair(machine(minimum(y1, x), start=start), reference, integers(0, top))


@family("repeated first input")
def _first_start(c: Chance) -> Case:
    program = machine(maximum(x, x1), start={"x": 0.0 if c.of(0.5) else "first"})
    reference = machine(maximum(x1, x), start={"x": "first"})
    return pair(program, reference, integers(-c.between(1, 3), 3))


@family("fractional starts")
def _fractional_start(c: Chance) -> Case:
    value = c.pick(0.5, 1e-5, 1e16, 0.1, -0.25, 1e-300, 2.0**-30)
    program = machine(x + op("floor", x1) - op("floor", x1), start={"x": value})
    other = machine(x + op("floor", s1) * 0 + (s1 - s1), s=x, start={"s": value})
    return pair(program if c.of(0.5) else other, 1 * x, integers(0, 5))


@family("lookups")
def _lookup(c: Chance) -> Case:
    top = c.between(1, 11)
    query, gap, default = c.pick((x, 1, 0.0), (x + 0, 1, 0.0), (x, 1, 1.0), (x, 2, 0.0))
    reference = machine(Retrieval("x", "n", x, 1, 0.0), n=n1 + 1)
    return pair(machine(Retrieval("x", "n", query, gap, default), n=n1 + 1), reference, integers(0, top))


@family("decimals that meet")
def _decimals(c: Chance) -> Case:
    a, b = (c.between(1, 8) / 10 for _ in range(2))
    test = where((a * x + b * x).equals(round(a + b, 1) * x), 1, 0)
    return pair(test, x * 0 + 1, integers(0, c.between(3, 299)))


@family("quotients multiplied back")
def _thirds(c: Chance) -> Case:
    k = c.between(3, 99)
    program = c.pick(
        (x / k) * k, op("floor", (x / k) * k), k * (x / k) - x + x, op("floor", x * (1 / Const(k)) * k + 0.5)
    )
    return pair(program, 1 * x, integers(0, c.between(10, 1999)))


@family("signs of remainders")
def _remainders(c: Chance) -> Case:
    k = c.between(2, 8) * (1 if c.of(0.5) else -1)
    low = -c.between(1, 29)
    wrong = where(x >= 0, x % k, -((-x) % k))
    return pair(wrong if c.of(0.4) else x - k * op("floor", x / k), x % k, integers(low, 30))


@family("near, not equal")
def _near(c: Chance) -> Case:
    tiny = float(10 ** c.rng.uniform(-17, -1))
    return pair(x + tiny, 1 * x, BITS if c.of(0.5) else integers(0, 99))


@family("near, on reals")
def _near_reals(c: Chance) -> Case:
    tiny = float(10 ** c.rng.uniform(-14, -1))
    program, telling = c.pick(
        (x + tiny, ()),
        (x * (1 + tiny), ()),
        (where(x > 1 - tiny, x + 1, x), ([[1 - tiny / 2]],)),
        ((x + 1e16) - 1e16, ()),
    )
    return pair(program, 1 * x, reals(0.0, 1.0), whole=False, telling=telling)


@family("rules on reals")
def _real_rules(c: Chance) -> Case:
    a = round(float(c.rng.uniform(0.1, 0.9)), 2)
    both = c.pick(
        (a * x + (1 - a) * y1, y1 + a * (x - y1)),
        ((x + y1) * (x - y1), x * x - y1 * y1),
        (where(x > 0.5, x, x1), x1 + (x - x1) * (x > 0.5)),
        (x / (1 + x * x), x * (1 / (1 + x * x))),
    )
    return pair(*both, reals(-1.0, 1.0), whole=False)


@family("rare inputs")
def _rare_input(c: Chance) -> Case:
    top = c.between(20, 399)
    last, before, first = (int(v) for v in c.rng.integers(0, top, 3))
    test = op("and", op("and", x.equals(last), x1.equals(before)), x2.equals(first))
    telling: Rows = [[float(first)], [float(before)], [float(last)]]
    return pair(where(test, x + 1, x), 1 * x, integers(0, top), telling=(telling,))


@family("carries")
def _two_columns(c: Chance) -> Case:
    a, b = Var("a"), Var("b")
    carry = op("floor", (a + b + s1) / 2)
    other: Expr = a + b + s1 - 2 * s
    if c.of(0.5):
        other = where(op("and", a.equals(1), op("and", b.equals(1), Var("s", 3).equals(1))), 1 - other, other)
    reference = machine((a + b + s1) % 2, inputs="ab", s=carry)
    return pair(machine(other, inputs="ab", s=carry), reference, BITS, BITS)


@family("counting without end")
def _parity_by_counting(c: Chance) -> Case:
    k = c.between(2, 5)
    return pair(machine(s % k, s=s1 + x), (y1 + x) % k, integers(0, k - 1))


@family("minus zero")
def _minus_zero(c: Chance) -> Case:
    program = where((-x).equals(0), 1, where((1 - x).equals(0), 0, 2))
    reference = where(x.equals(0), 1, where(x.equals(1), 0, 2))
    return pair(program, reference, integers(0, c.between(1, 4)), right=True)
