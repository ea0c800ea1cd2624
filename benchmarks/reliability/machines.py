"""Hand-made machines: pairs of a program and a specification that are equal, near, or equal for long.

Each family aims at one way in which a proof could claim too much, or refuse what is right: numbers beyond
2**53, quotients that round alike, binary places that grow, counters that wrap late, values that are undefined
where nobody looks, infinite and repeated start values, lookups, decimals, signs of remainders. A family is
filled with other numbers for every case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np
from case import Result
from truth import Case, Rows, wrong_verdict

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
from weights2code.verify import certify

WHOLE = 300
SECONDS = 120.0
x, x1, x2, y1, y2 = Var("x"), Var("x", 1), Var("x", 2), Var("y", 1), Var("y", 2)
n, n1, s, s1, z = Var("n"), Var("n", 1), Var("s"), Var("s", 1), Var("z")
Random = np.random.Generator


def machine(output: Definition, *, start: Any = None, **steps: Any) -> Recurrence:
    """One input x, one output y, other steps before it."""
    return _machine(("x",), output, start, steps)


def _machine(
    inputs: tuple[str, ...],
    output: Definition,
    start: Mapping[str, Start] | None,
    steps: Mapping[str, Definition],
) -> Recurrence:
    made = (*(Step(name, definition) for name, definition in steps.items()), Step("y", output))
    return Recurrence(inputs, made, ("y",), start or {})


def _case(
    kind: str,
    program: Recurrence,
    reference: Recurrence,
    *domains: Domain,
    whole: bool = True,
    telling: tuple[Rows, ...] = (),
    right: bool = False,
) -> Case:
    return Case(kind, program, reference, domains, whole, 10, telling, right)


def attack(number: int, seed: int) -> Result:
    """One pair of machines, certified and judged."""
    rng = np.random.default_rng([seed, number])
    case = FAMILIES[number % len(FAMILIES)](rng)
    certificate = certify(
        case.program,
        reference=case.reference,
        domains=case.domains,
        length=case.length,
        integer_outputs=case.whole,
        seed=number,
    )
    failure = wrong_verdict(case, certificate, rng)
    if not failure and case.right and certificate.verdict == "failed":
        failure = "failed, although the machines are equal"
    assert isinstance(case.reference, Recurrence)  # no family has a plain function
    shown = [
        "; ".join(f"{step.name} = {step.definition}" for step in one.steps) + f" from {dict(one.start)}"
        for one in (case.program, case.reference)
    ]
    return Result(
        case.kind, certificate.verdict, failure, f"{shown[0]}  |  {shown[1]}  |  {certificate.method}"
    )


def _beyond_exact(rng: Random) -> Case:
    large = 2 ** int(rng.integers(50, 62)) + int(rng.integers(0, 5))
    value = maximum(x, x1)
    domain = integers(0, int(rng.integers(1, 100)))
    if rng.random() < 0.5:
        return _case("numbers beyond 2**53", machine(z - large, z=value + large), machine(value), domain)
    return _case("numbers beyond 2**53", machine((value + large) - large), machine(value), domain)


def _large_product(rng: Random) -> Case:
    factor = 3 ** int(rng.integers(20, 40))
    domain = integers(-int(rng.integers(1, 50)), int(rng.integers(1, 50)))
    return _case("large products", machine((x * factor) / factor), machine(1 * x), domain)


def _wide_domain(rng: Random) -> Case:
    top = 2 ** int(rng.integers(20, 33)) - 1
    program = [machine(x * x - x * x + x), machine(x + x1 - x1), machine(where(x > x1, x, x1))]
    reference = [machine(1 * x), machine(1 * x), machine(maximum(x, x1))]
    i = int(rng.integers(3))
    return _case("wide domains", program[i], reference[i], integers(0, top))


def _close_quotients(rng: Random) -> Case:
    """Quotients that differ by less than float64 can tell."""
    top = 2 ** int(rng.integers(20, 31))
    a = float(top - 1)
    telling: Rows = [[a], [a - 1]]
    program = machine((x1 / (x + 1)).equals((x1 - 1) / x), start={"x": 1.0})
    reference = machine((x1 * x).equals((x1 - 1) * (x + 1)), start={"x": 1.0})
    return _case("close quotients", program, reference, integers(1, top), telling=(telling,))


def _means(rng: Random) -> Case:
    share = int(rng.integers(2, 6))
    steps = {"s": s1 + x, "n": n1 + 1}
    program = machine((s / n) > Const(1) / share, **steps)
    reference = machine((share * s) > n, **steps)
    return _case("means", program, reference, BITS)


def _shifted_means(rng: Random) -> Case:
    steps = {"s": s1 + x, "n": n1 + 1}
    shift = int(rng.integers(1, 4))
    program = machine((s / n + shift - shift).equals(s / n), **steps)
    return _case("shifted means", program, machine(x * 0 + 1), BITS)


def _growing_places(rng: Random) -> Case:
    """Binary places that grow at every position, until float64 has lost them."""
    power = int(rng.integers(1, 4))
    half = 2.0**-power
    decay = {"s": s1 * half + x}
    program = machine(where(op("ne", s, (s1 * half + x)), 1, op("ne", s, 0)), **decay)
    reference = machine(maximum(y1, op("ne", x, 0)))
    ones: Rows = [[1.0], *([[0.0]] * 1500)]
    return _case("growing binary places", program, reference, BITS, telling=(ones,))


def _late_counter(rng: Random) -> Case:
    when = int(rng.integers(50, 5000))
    program = machine(where(n >= when, 1 - x, x), n=where(n1 >= when, n1, n1 + 1))
    return _case("late counters", program, machine(1 * x), BITS, telling=([[1.0]] * (when + 2),))


def _wrapping_counter(rng: Random) -> Case:
    turn = int(rng.integers(30, 400))
    program = machine((n * (turn + 1)) % turn, n=where(n1 >= turn - 1, 0, n1 + 1))
    reference = machine(Var("m"), m=(Var("m", 1) + 1) % turn)
    off = machine(where(Var("m").equals(turn - 1), 0, Var("m")), m=(Var("m", 1) + 1) % turn)
    wrong = rng.random() < 0.5
    return _case(
        "wrapping counters", off if wrong else program, reference, BITS, telling=([[0.0]] * (2 * turn + 3),)
    )


def _large_total(rng: Random) -> Case:
    bound = int(rng.integers(1000, 200_000))
    top = int(rng.integers(50, 200))
    program = machine(where(s > bound, s + 1, s), s=s1 + x)
    telling: Rows = [[float(top)]] * (bound // top + 3)
    return _case("large totals", program, machine(s, s=s1 + x), integers(0, top), telling=(telling,))


def _doubling(rng: Random) -> Case:
    """Exponential growth, with the same value by another way."""
    base = int(rng.integers(2, 11))
    program = machine(((base + 1) * y1 - y1) + x)
    return _case("exponential growth", program, machine(base * y1 + x), integers(0, base - 1))


def _untaken_branch(rng: Random) -> Case:
    low = int(rng.integers(-3, 1))
    ways: list[tuple[Expr, dict[str, Definition]]] = [
        (where(x.equals(0), 0, x * (1 / x)), {}),
        (
            where(
                op("and", op("ne", x, 0), (6 / x) >= 1),
                x,
                minimum(x, 0) + maximum(x - 6, 0) + where(x > 6, 6, 0),
            ),
            {},
        ),
        (where(x.equals(0), 0, z * x), {"z": 1 / x}),
        (op("or", x.equals(0), (x / x).equals(1)), {}),
        (where(x.equals(0), 0, (z % x) * 0 + x), {"z": x}),
    ]
    references = [op("ne", x, 0), 1 * x, op("ne", x, 0), x * 0 + 1, 1 * x]
    i = int(rng.integers(len(ways)))
    output, steps = ways[i]
    top = int(rng.integers(1, 7))
    return _case(
        "undefined, not taken",
        machine(output, **steps),
        machine(references[i]),
        integers(low, top),
        right=i != 0,
    )


def _undefined(rng: Random) -> Case:
    """A division by zero that is reached."""
    low = int(rng.integers(-2, 1))
    program = machine(op("floor", (x * x) / x))
    return _case("undefined, taken", program, machine(1 * x), integers(low, 5), telling=([[0.0]],))


def _infinite_start(rng: Random) -> Case:
    top = int(rng.integers(1, 20))
    wrong = rng.random() < 0.4
    start: dict[str, Start] = {"y": float(top - 1) if wrong else inf}
    return _case(
        "infinite starts",
        machine(minimum(y1, x), start=start),
        machine(minimum(x, y1), start={"y": inf}),
        integers(0, top),
    )


def _first_start(rng: Random) -> Case:
    wrong = rng.random() < 0.5
    program = machine(maximum(x, x1), start={"x": 0.0 if wrong else "first"})
    reference = machine(maximum(x1, x), start={"x": "first"})
    return _case("repeated first input", program, reference, integers(-int(rng.integers(1, 4)), 3))


def _fractional_start(rng: Random) -> Case:
    value = [0.5, 1e-5, 1e16, 0.1, -0.25, 1e-300, 2.0**-30][int(rng.integers(7))]
    program = machine(x + op("floor", x1) - op("floor", x1), start={"x": value})
    other = machine(x + op("floor", s1) * 0 + (s1 - s1), s=x, start={"s": value})
    return _case(
        "fractional starts", program if rng.random() < 0.5 else other, machine(1 * x), integers(0, 5)
    )


def _lookup(rng: Random) -> Case:
    top = int(rng.integers(1, 12))
    way = int(rng.integers(4))
    reference = machine(Retrieval("x", "n", x, 1, 0.0), n=n1 + 1)
    program = [
        reference,
        machine(Retrieval("x", "n", x + 0, 1, 0.0), n=n1 + 1),
        machine(Retrieval("x", "n", x, 1, 1.0), n=n1 + 1),
        machine(Retrieval("x", "n", x, 2, 0.0), n=n1 + 1),
    ][way]
    return _case("lookups", program, reference, integers(0, top))


def _decimals(rng: Random) -> Case:
    a, b = (int(rng.integers(1, 9)) / 10 for _ in range(2))
    total = round(a + b, 1)
    program = machine(where((a * x + b * x).equals(total * x), 1, 0))
    return _case("decimals that meet", program, machine(x * 0 + 1), integers(0, int(rng.integers(3, 300))))


def _thirds(rng: Random) -> Case:
    k = int(rng.integers(3, 100))
    program = [
        machine((x / k) * k),
        machine(op("floor", (x / k) * k)),
        machine(k * (x / k) - x + x),
        machine(op("floor", x * (1 / Const(k)) * k + 0.5)),
    ][int(rng.integers(4))]
    return _case(
        "quotients multiplied back", program, machine(1 * x), integers(0, int(rng.integers(10, 2000)))
    )


def _remainders(rng: Random) -> Case:
    k = int(rng.integers(2, 9)) * (1 if rng.random() < 0.5 else -1)
    low = -int(rng.integers(1, 30))
    program = machine(x - k * op("floor", x / k))
    wrong = machine(where(x >= 0, x % k, -((-x) % k)))
    return _case(
        "signs of remainders", wrong if rng.random() < 0.4 else program, machine(x % k), integers(low, 30)
    )


def _near(rng: Random) -> Case:
    tiny = float(10 ** rng.uniform(-17, -1))
    return _case(
        "near, not equal", machine(x + tiny), machine(1 * x), BITS if rng.random() < 0.5 else integers(0, 99)
    )


def _near_reals(rng: Random) -> Case:
    tiny = float(10 ** rng.uniform(-14, -1))
    ways = [
        machine(x + tiny),
        machine(x * (1 + tiny)),
        machine(where(x > 1 - tiny, x + 1, x)),
        machine((x + 1e16) - 1e16),
    ]
    i = int(rng.integers(4))
    telling = ([[1 - tiny / 2]],) if i == 2 else ()
    return _case("near, on reals", ways[i], machine(1 * x), reals(0.0, 1.0), whole=False, telling=telling)


def _real_rules(rng: Random) -> Case:
    a = round(float(rng.uniform(0.1, 0.9)), 2)
    pairs = [
        (machine(a * x + (1 - a) * y1), machine(y1 + a * (x - y1))),
        (machine((x + y1) * (x - y1)), machine(x * x - y1 * y1)),
        (machine(where(x > 0.5, x, x1)), machine(x1 + (x - x1) * (x > 0.5))),
        (machine(x / (1 + x * x)), machine(x * (1 / (1 + x * x)))),
    ]
    program, reference = pairs[int(rng.integers(4))]
    return _case("rules on reals", program, reference, reals(-1.0, 1.0), whole=False)


def _rare_input(rng: Random) -> Case:
    top = int(rng.integers(20, 400))
    a, b, c = (int(v) for v in rng.integers(0, top, 3))
    test = op("and", op("and", x.equals(a), x1.equals(b)), x2.equals(c))
    telling: Rows = [[float(c)], [float(b)], [float(a)]]
    return _case(
        "rare inputs", machine(where(test, x + 1, x)), machine(1 * x), integers(0, top), telling=(telling,)
    )


def _two_columns(rng: Random) -> Case:
    wrong = rng.random() < 0.5
    a, b = Var("a"), Var("b")
    inputs = ("a", "b")
    carry = {"s": op("floor", (a + b + s1) / 2)}
    reference = _machine(inputs, (a + b + s1) % 2, None, carry)
    other: Expr = a + b + s1 - 2 * s
    if wrong:
        other = where(op("and", a.equals(1), op("and", b.equals(1), Var("s", 3).equals(1))), 1 - other, other)
    program = _machine(inputs, other, None, carry)
    return _case("carries", program, reference, BITS, BITS)


def _parity_by_counting(rng: Random) -> Case:
    k = int(rng.integers(2, 6))
    program = machine(s % k, s=s1 + x)
    return _case("counting without end", program, machine((y1 + x) % k), integers(0, k - 1))


def _minus_zero(rng: Random) -> Case:
    program = machine(where((-x).equals(0), 1, where((1 - x).equals(0), 0, 2)))
    reference = machine(where(x.equals(0), 1, where(x.equals(1), 0, 2)))
    return _case("minus zero", program, reference, integers(0, int(rng.integers(1, 5))), right=True)


FAMILIES: tuple[Callable[[Random], Case], ...] = (
    _beyond_exact,
    _large_product,
    _wide_domain,
    _close_quotients,
    _means,
    _shifted_means,
    _growing_places,
    _late_counter,
    _wrapping_counter,
    _large_total,
    _doubling,
    _untaken_branch,
    _undefined,
    _infinite_start,
    _first_start,
    _fractional_start,
    _lookup,
    _decimals,
    _thirds,
    _remainders,
    _near,
    _near_reals,
    _real_rules,
    _rare_input,
    _two_columns,
    _parity_by_counting,
    _minus_zero,
)
