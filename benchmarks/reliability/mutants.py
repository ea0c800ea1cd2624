"""Mutants of all built-in programs: does any verdict say more, or less, than is so?

Programs are the reference machines of the built-in tasks, as they are and simplified; each is changed in
one place: a constant (also by one unit in the last place), an offset, an operator, a comparison, a start
value; or a term is added that matters only for rare inputs, at late positions, for large values, or only in
float64. Some changes leave the program right, and then it must not be called wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import inf, nextafter
from typing import Any

import numpy as np
from case import Result, shown
from truth import Case, Rows, judged

from chance import Chance, Random
from weights2code.language import Const, Expr, Op, Recurrence, Retrieval, Start, Step, Var, op, where
from weights2code.simplify import simplify_recurrence
from weights2code.simplify.expressions import places
from weights2code.tasks import all_tasks
from weights2code.tasks.task import Task

#: Operators that are taken for each other.
SWAPS = {
    "add": ("sub", "max", "mul"), "sub": ("add", "min"), "mul": ("add", "div"), "div": ("mul", "mod"),
    "mod": ("sub", "div"), "max": ("min", "add"), "min": ("max", "sub"), "abs": ("neg", "relu"),
    "relu": ("abs", "neg"), "floor": ("neg", "abs"), "ge": ("gt", "eq"), "gt": ("ge", "lt"),
    "le": ("lt", "eq"), "lt": ("le", "gt"), "eq": ("ne", "ge"), "ne": ("eq", "lt"),
    "and": ("or",), "or": ("and",),
}  # fmt: skip
#: A changed program; with sequences that may show it, if it takes some.
Mutant = Recurrence | tuple[Recurrence | None, list[Rows]] | None
CHANGES: dict[str, tuple[Callable[[Subject], Mutant], bool]] = {}


@cache
def prepare() -> tuple[tuple[Task, Recurrence], ...]:
    """Every built-in task with each of its programs, once for all cases."""
    found = []
    for task in all_tasks("all"):
        shorter = simplify_recurrence(task.machine, task.domains)
        found += [(task, program) for program in dict.fromkeys((task.machine, shorter))]
    return tuple(found)


def case_of(rng: Random) -> tuple[Task, Case] | None:
    """One mutant and the task that it is to be equal to; None if no change applies."""
    c = Chance(rng)
    task, program = c.among(prepare())
    for _ in range(50):
        kind = c.among(list(CHANGES))
        change, right = CHANGES[kind]
        try:
            made = change(Subject(task, program, c))
        except ValueError:  # reads what is not computed yet
            continue
        mutant, telling = made if isinstance(made, tuple) else (made, [])
        if mutant is not None:
            telling, whole = tuple(telling), task.integer_outputs
            return task, Case(kind, mutant, task.machine, task.domains, whole, task.length, telling, right)
    return None


def attack(number: int, seed: int) -> Result:
    """One mutant, certified and judged."""
    rng = np.random.default_rng([seed, number])
    made = case_of(rng)
    if made is None:
        return Result("none", "no change applies")
    task, case = made
    certificate, failure = judged(case, rng, sampler=task.draw, seed=number, time_limit=1.0, count=64)
    detail = f"{task.name}: {shown(case.program)}; {certificate.method}"
    return Result(case.kind, certificate.verdict, failure, detail)


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to be changed, and by which choices."""

    task: Task
    program: Recurrence
    c: Chance

    @property
    def input(self) -> Var:
        return Var(self.program.inputs[0])

    @property
    def whole(self) -> bool:
        return self.task.integer_outputs and all(domain.discrete for domain in self.task.domains)

    def row(self) -> list[float]:
        return self.task.draw(self.c.rng, 1, 1)[0, 0].tolist()

    def run(self, length: int) -> Rows:
        return self.task.draw(self.c.rng, 1, length)[0].tolist()

    def somewhere(self, wanted: Callable[[Any], bool], change: Callable[[Any], Expr]) -> Recurrence | None:
        """One wanted part of a formula changed."""
        found = [
            (step, node, put)
            for step in self.program.steps
            if isinstance(step.definition, Expr)
            for node, put in places(step.definition)
            if wanted(node)
        ]
        if not found:
            return None
        changed, node, put = self.c.among(found)
        return self.with_step(changed, Step(changed.name, put(change(node))))

    def output(self, change: Callable[[Expr], Expr], *more: Step) -> Recurrence | None:
        """The first output changed by a formula, which may read some more steps before it."""
        for step in self.program.steps:
            if step.name == self.program.outputs[0] and isinstance(step.definition, Expr):
                return self.with_step(step, *more, Step(step.name, change(step.definition)))
        return None

    def with_step(self, old: Step, *new: Step) -> Recurrence:
        place = self.program.steps.index(old)
        steps = (*self.program.steps[:place], *new, *self.program.steps[place + 1 :])
        return Recurrence(self.program.inputs, steps, self.program.outputs, self.program.start)


def change(kind: str, *, right: bool = False) -> Any:
    """Declares the change that follows; with `right` it leaves a program right."""

    def declare(change: Callable[[Subject], Mutant]) -> None:
        CHANGES[kind] = change, right

    return declare


def _is_number(expr: Expr) -> bool:
    return isinstance(expr, Const)


@change("constant")
def _constant(on: Subject) -> Mutant:
    shift = on.c.pick(1, -1, 0.5, 2, -7)
    return on.somewhere(_is_number, lambda e: Const(e.value + shift))


@change("constant, last digit")
def _last_digit(on: Subject) -> Mutant:
    up = inf if on.c.of(0.5) else -inf
    return on.somewhere(_is_number, lambda e: Const(nextafter(float(e.value), up)))


@change("a tiny term")
def _slightly(on: Subject) -> Mutant:
    tiny = float(10 ** on.c.rng.uniform(-18, -2)) * (1 if on.c.of(0.5) else -1)
    return on.somewhere(lambda e: True, lambda e: e + tiny)


@change("offset")
def _offset(on: Subject) -> Mutant:
    by = 1 if on.c.of(0.6) else -1
    return on.somewhere(lambda e: isinstance(e, Var), lambda e: Var(e.name, max(0, e.lag + by)))


@change("operator")
def _operator(on: Subject) -> Mutant:
    return on.somewhere(
        lambda e: isinstance(e, Op) and e.name in SWAPS, lambda e: Op(on.c.among(SWAPS[e.name]), e.args)
    )


@change("comparison")
def _comparison(on: Subject) -> Mutant:
    by = on.c.pick(1, -1, 0.5, 1e-9, -1e-9, 2.0**-52)
    return on.somewhere(
        lambda e: isinstance(e, Op) and e.name in ("ge", "gt", "le", "lt", "eq", "ne"),
        lambda e: Op(e.name, (e.args[0], e.args[1] + by)),
    )


@change("start value")
def _start(on: Subject) -> Mutant:
    names = list(on.program.depths())
    if not names:
        return None
    name = on.c.among(names)
    choices: list[Start] = [1.0, -1.0, 2.0, 0.5, 1e-9, 1e-5, 1e16, 1e300, 3.0]
    value = on.c.among([*choices, "first"] if name in on.program.inputs else choices)
    return replace(on.program, start={**on.program.start, name: value})


@change("lookup")
def _table(on: Subject) -> Mutant:
    """A lookup with another gap, default, key or value."""
    lookups = [step for step in on.program.steps if isinstance(step.definition, Retrieval)]
    if not lookups:
        return None
    old: Any = lookups[0].definition
    made = on.c.pick(
        replace(old, gap=old.gap + 1),
        replace(old, default=old.default + 1),
        replace(old, key=old.value, value=old.key),
    )
    return on.with_step(lookups[0], Step(lookups[0].name, made))


@change("rare inputs")
def _rare(on: Subject) -> Mutant:
    """One more where the last few inputs are just so."""
    rows = [on.row() for _ in range(on.c.between(1, 5))]
    test: Expr | None = None
    for lag, row in enumerate(reversed(rows)):
        for name, value in zip(on.program.inputs, row, strict=True):
            one = Var(name, lag).equals(int(value) if float(value).is_integer() else value)
            test = one if test is None else op("and", test, one)
    assert test is not None
    amount = on.c.pick(1, 1e-7, 1000)
    telling = [rows, [on.row() for _ in range(on.task.length)] + rows, rows * 4]
    return on.output(lambda e: e + where(test, amount, 0)), telling


@change("late positions")
def _late(on: Subject) -> Mutant:
    """One more after many positions."""
    when, clock = on.c.between(1, 2999), Var("clock")
    test = clock > when if on.c.of(0.5) else clock.equals(when)
    telling = [on.run(when + 5)]
    return on.output(lambda e: e + where(test, 1, 0), Step("clock", Var("clock", 1) + 1)), telling


@change("large totals")
def _large(on: Subject) -> Mutant:
    """One more where a total is large."""
    steps = on.c.between(20, 1999)
    bound = int(on.task.domains[0].high * steps * 0.9)
    total = Step("total", Var("total", 1) + on.input)
    row = [float(domain.high) for domain in on.task.domains]
    return on.output(lambda e: e + where(Var("total") > bound, 1, 0), total), [[row] * steps]


@change("through large numbers")
def _through_large_numbers(on: Subject) -> Mutant:
    """The same in exact arithmetic, by numbers that float64 does not hold."""
    large = 2 ** on.c.between(30, 63) + on.c.between(0, 2)
    way = on.c.between(0, 4)
    if way == 1:
        definition = next(s.definition for s in on.program.steps if s.name == on.program.outputs[0])
        if not isinstance(definition, Expr):
            raise ValueError("a lookup has no formula")
        return on.output(lambda e: Var("z") - large, Step("z", definition + large))
    if way == 4:
        return on.somewhere(lambda e: True, lambda e: (e + large) - large)
    ways: dict[int, Callable[[Expr], Expr]] = {
        0: lambda e: (e + large) - large,
        2: lambda e: (e * large) / large,
        3: lambda e: where(e.equals(e + large - large), e, e + 1),
    }
    return on.output(ways[way])


@change("drift")
def _drift(on: Subject) -> Mutant:
    """An error that adds up: tiny at first, an output in the end."""
    small = on.c.of(0.5)
    tiny = float(2.0 ** -on.c.between(3, 59)) if small else float(10 ** on.c.rng.uniform(-12, -1))
    drift = Var("drift")
    added = op("floor", drift) if on.c.of(0.7) else drift
    telling = [on.run(min(4000, int(1.5 / tiny) + 5))]
    return on.output(lambda e: e + added, Step("drift", Var("drift", 1) + tiny)), telling


@change("decision on decimals")
def _decimal_decision(on: Subject) -> Mutant:
    """A decision that is settled in exact arithmetic and falls otherwise in float64."""
    one, other = (float(on.c.between(1, 29)) / 10 for _ in range(2))
    test = (one * on.input + other * on.input).equals(round(one + other, 1) * on.input)
    return on.output(lambda e: where(test, e, e + 1))


@change("decision on quotients")
def _quotient_decision(on: Subject) -> Mutant:
    """Quotients that are equal in exact arithmetic, and not in float64 once something is added."""
    name, divisor = on.input, on.c.between(3, 59)
    test = on.c.pick(
        ((name / divisor) * divisor).equals(name),
        (name / divisor + 1 - 1).equals(name / divisor),
        op("floor", name / divisor * divisor).equals(name),
        ((name + divisor) / divisor).equals(name / divisor + 1),
    )
    return on.output(lambda e: where(test, e, e + 1))


@change("rewritten", right=True)
def _rewritten(on: Subject) -> Mutant:
    """Another way to write the same, in any arithmetic that holds the values of the task."""
    small, name = on.c.between(1, 99), on.input
    if not on.whole:
        return None
    ways: tuple[Callable[[Expr], Expr], ...] = (
        lambda e: e + small - small,
        lambda e: where(name > small, e, e),
        lambda e: op("max", e, e),
        lambda e: where(op("not", name.equals(small)), e, e),
        lambda e: (2 * e) / 2,
        lambda e: e - (name - name),
    )
    return on.output(on.c.among(ways))


@change("division by zero, not taken", right=True)
def _untaken(on: Subject) -> Mutant:
    """A division by zero in a branch that is not taken, or in a value that is not used."""
    if not on.whole:
        return None
    shifted = on.input - (int(on.task.domains[0].low) if on.c.of(0.5) else 0)
    zero = shifted.equals(0)
    safe = op("and", op("ne", shifted, 0), (1 / shifted) > 5)
    either = op("or", zero, (shifted % shifted).equals(0))
    share = Step("share", 1 / shifted)
    ways: tuple[tuple[Callable[[Expr], Expr], tuple[Step, ...]], ...] = (
        (lambda e: where(zero, e, e + (1 / shifted) * 0), ()),
        (lambda e: where(safe, e, e), ()),
        (lambda e: where(zero, e, e + Var("share") * 0), (share,)),
        (lambda e: where(either, e, e + 1), ()),
    )
    change, more = on.c.among(ways)
    return on.output(change, *more)
