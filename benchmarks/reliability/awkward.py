"""Awkward numbers: no number at all, infinities, powers, thousands of digits, decimals, halves, dead steps.

Exact numbers, NumPy and the text of a program part where numbers are not small and whole: inf - inf is no
number, 10**400 has digits that no float has, 0.1*3 is 0.3 in decimals alone, and a step that nobody reads can
stop the text. A family makes pairs of a program and a specification from other numbers for every case, right,
wrong for one rare input, or wrong in float64 alone; random formulas come with them. The specification runs on
exact numbers, the program as its text; where the specification is no number itself, nothing is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from case import Result
from machines import machine
from truth import Case, Interpreter, Rows, wrong_verdict

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
from weights2code.verify import certify

WHOLE = 500
SECONDS = 120.0
LENGTH = 10
x, x1, s, s1, y1 = Var("x"), Var("x", 1), Var("s"), Var("s", 1), Var("y", 1)
Random = np.random.Generator
Made = tuple[Recurrence, Recurrence, Domain, tuple[Rows, ...], bool]


def attack(number: int, seed: int) -> Result:
    """One pair, certified and judged."""
    rng = np.random.default_rng([seed, number])
    kind = list(FAMILIES)[number % len(FAMILIES)]
    program, reference, domain, telling, right = FAMILIES[kind](rng)
    case = Case(kind, program, reference, (domain,), True, LENGTH, telling, right)
    try:
        certificate = certify(
            program,
            reference=reference,
            domains=(domain,),
            length=LENGTH,
            integer_outputs=True,
            seed=number,
            time_limit=1.0,
            count=64,
        )
    except OverflowError:  # a constant that no float holds: nothing is claimed
        return Result(kind, "no verdict")
    failure = wrong_verdict(case, certificate, rng)
    if certificate.verdict == "failed" and certificate.counterexample:
        rows = [list(row) for row in certificate.counterexample]
        if not (has_values(program, rows) and has_values(reference, rows)):
            failure = ""  # what has no value is wrong, whatever the text makes of it
    if not failure and right and certificate.verdict == "failed":
        failure = "failed, although text and specification are equal"
    shown = [
        "; ".join(f"{step.name} = {step.definition}" for step in one.steps) + f" from {dict(one.start)}"
        for one in (program, reference)
    ]
    detail = f"{shown[0]}  |  {shown[1]}  |  {domain}  |  {certificate.method}"
    return Result(kind, certificate.verdict, failure, detail)


def has_values(machine: Recurrence, rows: Rows) -> bool:
    """Whether everything on the way is a number, and one that float64 counts to."""
    interpreter = Interpreter(machine)
    try:
        for row in rows:
            interpreter.step(row)
    except (ArithmeticError, ValueError):
        return False
    return not interpreter.undefined and interpreter.largest < 2**53


def _pick(rng: Random, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _rare(rng: Random) -> tuple[Domain, int]:
    """A wide domain, and a value of it that tests hardly meet."""
    top = int(_pick(rng, 9, 400, 19_000, 30_000, 10**6))
    return integers(0, top), int(rng.integers(top // 2, top + 1))


def _no_number(rng: Random) -> Made:
    """Infinities that meet before the start of what is remembered."""
    c, start = int(rng.integers(1, 9)), float(_pick(rng, inf, -inf))
    none = _pick(rng, s1 - s1, 0 * s1, s1 / s1, s1 + (-1) * s1, s1 % 3, (s1 * s1) - abs(s1), x + s1 - s1)
    way: Expr = _pick(
        rng,
        maximum(Const(c), none) >= c - 1,
        minimum(Const(c), none) <= c,
        none.equals(none),
        op("ne", none, none),
        where(none, Const(1), Const(0)),
        where(none >= 0, Const(1), Const(0)),
        op("and", none >= 0, Const(1)),
        op("or", none, x >= 0),
        op("floor", none).equals(0),
        abs(none) < 1,
    )
    kept: Definition = _pick(rng, x, maximum(s1, x), minimum(s1, x), Const(0) * x)
    other: Expr = _pick(rng, Const(1) + 0 * x, Const(0) * x, Var("f", 1) * 1, 1 - Var("f", 1))
    program = Recurrence(("x",), (Step("y", way), Step("s", kept)), ("y",), {"s": start})
    reference = machine(other, f=Const(1) + 0 * x)
    return program, reference, BITS if rng.random() < 0.5 else integers(-2, 3), (), False


def _infinite(rng: Random) -> Made:
    """Infinities that mean something: the least and the largest so far."""
    start, least = (inf, True) if rng.random() < 0.5 else (-inf, False)
    best = minimum(s1, x) if least else maximum(s1, x)
    c = int(rng.integers(0, 6))
    output = _pick(
        rng, s, s > c, (s - s).equals(0), where(s1.equals(start), x, s), s1 < inf, (1 / s1).equals(0)
    )
    other = _pick(rng, output, s, s >= c, Const(1) + 0 * x)
    program = machine(output, start={"s": float(start)}, s=best)
    return program, machine(other, start={"s": float(start)}, s=best), integers(0, 5), (), False


def _powers(rng: Random) -> Made:
    """Powers with negative exponents, compared with what they are in decimals."""
    base, at = int(_pick(rng, 2, 3, 7, 10, 10, 10)), int(_pick(rng, *range(-9, 0), -5, -5, -5))
    bound = float(f"1e{at}") if base == 10 else float(base) ** at
    pair = _pick(rng, ("lt", "le"), ("gt", "ge"), ("lt", "le"), ("gt", "ge"), ("eq", "eq"))
    program = machine(op(_pick(rng, *pair), op("pow", Const(base), x), Const(bound)))
    exact = op(_pick(rng, *pair), x, Const(at))
    return program, machine(exact), integers(-9, 9), tuple([[float(i)]] for i in range(-9, 10)), False


def _roots(rng: Random) -> Made:
    """Powers with fractions as exponents."""
    k, top = int(_pick(rng, 2, 3, 4)), int(_pick(rng, 30, 1000, 20_000))
    low = int(_pick(rng, 0, 0, 1, -3))
    root = op("pow", x, Const(1) / k) if rng.random() < 0.5 else op("pow", x, Const(1 / k))
    power = op("pow", x, Const(k))
    back = op("pow", power, Const(1) / k)
    program = _pick(
        rng,
        machine(op("floor", op("pow", root, Const(k)) + 0.5)),
        machine(op("floor", op("pow", root, Const(k)))),
        machine(op("pow", root, Const(k)).equals(x) * x),
        machine(op("floor", back)),
        machine(back),
    )
    telling = tuple(
        [[float(i)]] for i in dict.fromkeys((low, -1, 0, 1, 8, 27, 64, 125, top)) if low <= i <= top
    )
    return program, machine(1 * x), integers(low, top), telling, False


def _great_powers(rng: Random) -> Made:
    """Powers that float64 cannot hold, and what is left of them."""
    k, m, top = int(rng.integers(2, 70)), int(rng.integers(2, 12)), int(rng.integers(2, 100))
    reference: Expr = x % m
    for _ in range(k - 1):
        reference = (reference * x) % m
    program = op("pow", x, Const(k)) % m
    if rng.random() < 0.3:
        program, reference = op("pow", x, Const(0)), Const(1) + 0 * x
    domain = integers(int(_pick(rng, 0, 0, -5)), top)
    return machine(program), machine(reference), domain, ([[float(top)]], [[float(top - 1)]]), False


def _digits(rng: Random) -> Made:
    """Hundreds of digits, for some inputs alone, that cancel in exact numbers."""
    at, digits = int(rng.integers(1, 9)), int(_pick(rng, 20, 100, 300, 308, 309, 400, 700))
    big = op("pow", Const(10), digits * (x > at))
    if rng.random() < 0.3:
        big = where(x > at, Const(10**digits), Const(1))
    one, same = Const(1) + 0 * x, 1 * x
    program, reference = _pick(
        rng,
        ((big / big).equals(1), x <= at),
        ((big / big).equals(1), one),
        ((big - big).equals(0), x <= at),
        ((big - big).equals(0), one),
        ((big + x - big).equals(x), x <= at),
        ((big + x - big).equals(x), one),
        (big * big > big, x > at),
        (op("floor", (x * big) / big), same),
        (((big + 1) % big).equals(1), x > at),
        (where(big > 1, Const(1), Const(0)), x > at),
        (where(big.equals(10**digits), Const(1), Const(0)), x > at),
    )
    telling = tuple([[float(i)]] for i in range(10))
    return machine(program), machine(reference), integers(0, 9), telling, False


def _dead_step(rng: Random) -> Made:
    """A step that nobody reads, and that has no value for one rare input."""
    domain, rare = _rare(rng)
    off = x - rare
    dead: Expr = _pick(
        rng,
        Const(1) / op("ne", x, rare),
        1 / off,
        x % off,
        op("pow", off, Const(-1)),
        op("pow", Const(10), 400 * x.equals(rare)),
        op("pow", -abs(off) - 1, Const(0.5)),
        op("floor", op("pow", Const(10.0), 400 * x.equals(rare))),
        x / (x1 - rare),
    )
    output = _pick(rng, 1 * x, maximum(x, x1), x % 7, x + 0 * Var("d", 2))
    program = Recurrence(("x",), (Step("d", dead), Step("y", output)), ("y",))
    if rng.random() < 0.3:  # not dead, but without effect
        program = Recurrence(("x",), (Step("d", dead), Step("y", output + 0 * Var("d"))), ("y",))
    reference = machine(1 * x if "d[" in str(output) else output)
    telling: Rows = [[0.0], [float(rare)], [1.0], [2.0]]
    return program, reference, domain, (telling, [[float(rare)]]), False


def _decimals(rng: Random) -> Made:
    """Decimals that meet in exact numbers and not in float64, or the other way round."""
    k, at = int(_pick(rng, 10, 100, 1000)), int(rng.integers(1, 60))
    a, b = round(int(rng.integers(1, 9)) / k, 4), round(int(rng.integers(1, 9)) / k, 4)
    domain = integers(0, int(_pick(rng, 9, 99, 19_000, 30_000)))
    meets = (a * x).equals(round(a * at, 6))
    sums = (a * x + b * x).equals(round(a + b, 4) * x)
    plain, always, never = x.equals(at), Const(1) + 0 * x, Const(0) * x
    program, reference = _pick(
        rng,
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
    telling = tuple([[float(i)]] for i in (at, 3, 6, 7, min(domain.high, 3 * at)) if i <= domain.high)
    return machine(program), machine(reference), domain, telling, False


def _decimal_sums(rng: Random) -> Made:
    """Decimals that are added up along the sequence."""
    k, turn = int(_pick(rng, 10, 5, 100)), int(rng.integers(2, 40))
    a = 1 / k
    below = s1 < (turn - 1) * a if rng.random() < 0.5 else op("ne", s1, Const(round((turn - 1) * a, 6)))
    program = machine(op("floor", s * k + _pick(rng, 0, 0, 0.5)), s=where(below, s1 + a, Const(0)))
    reference = machine(Var("n"), n=(Var("n", 1) + 1) % turn)
    return program, reference, BITS, ([[0.0]] * (3 * turn),), False


def _halves(rng: Random) -> Made:
    """A half, or less, that appears after one rare sequence, and that rounding hides."""
    length = int(rng.integers(1, 19))
    code = rng.integers(0, 2, length).tolist()
    hit: Expr = x.equals(code[0])
    for i, bit in enumerate(code[1:], 1):
        hit = op("and", hit, Var("x", i).equals(bit))
    part = float(_pick(rng, 0.5, -0.5, 0.25, 0.4, 0.499, 1e-3, 1e-9))
    base = _pick(rng, 1 * x, 2 * x, (y1 + x) % 2 if part == 1e-9 else x + x1)
    program, reference = machine(base), machine(where(hit, base + part, base))
    if rng.random() < 0.5:
        program, reference = reference, program
    telling: Rows = [[float(bit)] for bit in reversed(code)]
    return program, reference, BITS, (telling, [*telling, [0.0], [1.0]]), False


#: Leaves of random formulas.
NUMBERS = (0, 1, 2, 3, 10, -1, 0.5, 0.1, 0.2, 0.3, 1e-5, 2.5, 1 / 3, 400, 2**53, 1e16, 10**30)

OPERATORS = (
    *("add", "add", "sub", "mul", "mul", "div", "mod", "pow", "min", "max", "abs", "floor", "where"),
    *("eq", "ge", "lt", "and", "or"),
)


def _formula(rng: Random, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.15:
        return _pick(rng, x, x, x, x1, s1, Const(_pick(rng, *NUMBERS)))
    name = str(_pick(rng, *OPERATORS))
    if name in ("abs", "floor"):
        return op(name, _formula(rng, depth - 1))
    if name == "where":
        return where(*(_formula(rng, depth - 1) for _ in range(3)))
    if name == "pow":
        exponent = Const(_pick(rng, -2, -1, 0, 0.5, 2, 3, 0.1)) if rng.random() < 0.8 else _formula(rng, 0)
        return op(name, _formula(rng, depth - 1), exponent)
    return op(name, _formula(rng, depth - 1), _formula(rng, depth - 1))


def _random(rng: Random) -> Made:
    """Random formulas: against themselves, or a plainer one."""
    inner = _formula(rng, int(rng.integers(1, 4)))
    bound = Const(_pick(rng, *NUMBERS))
    output = _pick(
        rng, inner >= bound, inner.equals(bound), inner < bound, op("floor", inner), op("ne", inner, inner)
    )
    start = float(_pick(rng, 0.0, inf, -inf, 0.1, 1e16))
    kept = _pick(rng, x, maximum(s1, x), (s1 + x) % 3)
    program = machine(output, start={"s": start}, s=kept)
    other = _pick(rng, output, Const(0) * x, Const(1) + 0 * x, where(x.equals(3), 1 - output, output))
    reference = machine(other, start={"s": start}, s=kept)
    domain = _pick(rng, BITS, integers(0, 9), integers(-3, 3), integers(0, 19_000))
    return program, reference, domain, tuple([[float(i)]] for i in (0, 1, 3, 6) if i <= domain.high), False


def _rewritten(rng: Random) -> Made:
    """The same small whole numbers in another way: these must not be called wrong."""
    k = int(rng.integers(2, 9))
    program, reference = _pick(
        rng,
        (op("pow", x, Const(2)), x * x),
        (op("floor", x / k) * k + x % k, 1 * x),
        (where(op("ne", x, 0), op("pow", maximum(x, 1), Const(-1)) * 0 + x, x), 1 * x),
        (0.5 * x + 0.5 * x, 1 * x),
        (op("floor", 0.25 * (4 * x)), 1 * x),
        (minimum(x, Const(10**9)), 1 * x),
    )
    return machine(program), machine(reference), integers(0, 20), (), True


FAMILIES: dict[str, Callable[[Random], Made]] = {
    "no number": _no_number,
    "infinite": _infinite,
    "negative powers": _powers,
    "roots": _roots,
    "great powers": _great_powers,
    "hundreds of digits": _digits,
    "dead steps": _dead_step,
    "decimals that meet": _decimals,
    "sums of decimals": _decimal_sums,
    "halves": _halves,
    "random formulas": _random,
    "rewritten": _rewritten,
}
