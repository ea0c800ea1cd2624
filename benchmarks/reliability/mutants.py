"""Mutants of all built-in programs: does any verdict say more, or less, than is so?

Programs are the reference machines of the built-in tasks, as they are and simplified; each is changed in
one place: a constant (also by one unit in the last place), an offset, an operator, a comparison, a start
value; or a term is added that matters only for rare inputs, at late positions, for large values, or only in
float64. Some changes leave the program right, and then it must not be called wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf, nextafter

import numpy as np
from case import Result
from truth import Case, Rows, wrong_verdict

from weights2code.language import (
    Const,
    Definition,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    op,
    where,
)
from weights2code.simplify import simplify_recurrence
from weights2code.tasks import all_tasks
from weights2code.tasks.task import Task
from weights2code.verify import certify

WHOLE = 10_000
SECONDS = 120.0
#: Operators that are taken for each other.
SWAPS = {
    "add": ("sub", "max", "mul"), "sub": ("add", "min"), "mul": ("add", "div"), "div": ("mul", "mod"),
    "mod": ("sub", "div"), "max": ("min", "add"), "min": ("max", "sub"), "abs": ("neg", "relu"),
    "relu": ("abs", "neg"), "floor": ("neg", "abs"), "ge": ("gt", "eq"), "gt": ("ge", "lt"),
    "le": ("lt", "eq"), "lt": ("le", "gt"), "eq": ("ne", "ge"), "ne": ("eq", "lt"),
    "and": ("or",), "or": ("and",),
}  # fmt: skip
Random = np.random.Generator


@cache
def programs() -> tuple[tuple[Task, Recurrence], ...]:
    """Every built-in task with each of its programs."""
    found = []
    for task in all_tasks("all"):
        found.append((task, task.machine))
        shorter = simplify_recurrence(task.machine, task.domains)
        if shorter != task.machine:
            found.append((task, shorter))
    return tuple(found)


def prepare() -> None:
    """Once for all cases."""
    programs()


def case_of(rng: Random) -> tuple[Task, Case] | None:
    """One mutant and the task that it is to be equal to; None if no change applies."""
    task, program = programs()[int(rng.integers(len(programs())))]
    changes = list(CHANGES.items())
    for _ in range(50):
        kind, change = changes[int(rng.integers(len(changes)))]
        try:
            made = change(task, program, rng)
        except ValueError:  # reads what is not computed yet
            continue
        if made is not None:
            break
    else:
        return None
    mutant, telling, right = made
    return task, Case(
        kind, mutant, task.machine, task.domains, task.integer_outputs, task.length, tuple(telling), right
    )


def attack(number: int, seed: int) -> Result:
    """One mutant, certified and judged."""
    rng = np.random.default_rng([seed, number])
    made = case_of(rng)
    if made is None:
        return Result("none", "no change applies")
    task, case = made
    certificate = certify(
        case.program,
        reference=task.machine,
        domains=task.domains,
        length=task.length,
        integer_outputs=task.integer_outputs,
        sampler=task.draw,
        seed=number,
        time_limit=1.0,
        count=64,
    )
    failure = wrong_verdict(case, certificate, rng)
    if not failure and case.right and certificate.verdict == "failed":
        failure = "failed, although the change leaves the program right"
    detail = f"{task.name}: " + "; ".join(f"{s.name} = {s.definition}" for s in case.program.steps)
    detail += f"; start {dict(case.program.start)}; {certificate.method}"
    return Result(case.kind, certificate.verdict, failure, detail)


Mutant = tuple[Recurrence, list[Rows], bool]
Change = Callable[[Task, Recurrence, Random], Mutant | None]


def _places(program: Recurrence, wanted: Callable[[Expr], bool]) -> list[tuple[int, tuple[int, ...]]]:
    """Where sub-expressions stand that are wanted: step, and the way down from its root."""
    found = []

    def walk(expr: Expr, step: int, way: tuple[int, ...]) -> None:
        if wanted(expr):
            found.append((step, way))
        for i, argument in enumerate(expr.args if isinstance(expr, Op) else ()):
            walk(argument, step, (*way, i))

    for number, step in enumerate(program.steps):
        if isinstance(step.definition, Expr):
            walk(step.definition, number, ())
    return found


def _replaced(
    program: Recurrence, place: tuple[int, tuple[int, ...]], change: Callable[[Expr], Expr]
) -> Recurrence:
    def walk(expr: Expr, way: tuple[int, ...]) -> Expr:
        if not way:
            return change(expr)
        assert isinstance(expr, Op)
        i = way[0]
        return Op(expr.name, (*expr.args[:i], walk(expr.args[i], way[1:]), *expr.args[i + 1 :]))

    number, way = place
    step = program.steps[number]
    assert isinstance(step.definition, Expr)
    changed = Step(step.name, walk(step.definition, way))
    steps = (*program.steps[:number], changed, *program.steps[number + 1 :])
    return Recurrence(program.inputs, steps, program.outputs, program.start)


def _somewhere(
    program: Recurrence, rng: Random, wanted: Callable[[Expr], bool], change: Callable[[Expr], Expr]
) -> Recurrence | None:
    places = _places(program, wanted)
    return _replaced(program, places[int(rng.integers(len(places)))], change) if places else None


def _plain(
    mutant: Recurrence | None, right: bool = False, telling: list[Rows] | None = None
) -> Mutant | None:
    return None if mutant is None else (mutant, telling or [], right)


def _constant(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    shift = [1, -1, 0.5, 2, -7][int(rng.integers(5))]
    return _plain(_somewhere(program, rng, _is_number, lambda e: Const(e.value + shift)))  # type: ignore[attr-defined]


def _last_digit(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    up = inf if rng.random() < 0.5 else -inf
    return _plain(
        _somewhere(program, rng, _is_number, lambda e: Const(nextafter(float(e.value), up)))  # type: ignore[attr-defined]
    )


def _slightly(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    tiny = float(10 ** rng.uniform(-18, -2)) * (1 if rng.random() < 0.5 else -1)
    return _plain(_somewhere(program, rng, lambda e: True, lambda e: e + tiny))


def _offset(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    by = 1 if rng.random() < 0.6 else -1

    def moved(expr: Expr) -> Expr:
        assert isinstance(expr, Var)
        return Var(expr.name, max(0, expr.lag + by))

    return _plain(_somewhere(program, rng, lambda e: isinstance(e, Var), moved))


def _operator(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    def swapped(expr: Expr) -> Expr:
        assert isinstance(expr, Op)
        choices = SWAPS[expr.name]
        return Op(choices[int(rng.integers(len(choices)))], expr.args)

    return _plain(_somewhere(program, rng, lambda e: isinstance(e, Op) and e.name in SWAPS, swapped))


def _comparison(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    by = [1, -1, 0.5, 1e-9, -1e-9, 2.0**-52][int(rng.integers(6))]
    return _plain(
        _somewhere(
            program,
            rng,
            lambda e: isinstance(e, Op) and e.name in ("ge", "gt", "le", "lt", "eq", "ne"),
            lambda e: Op(e.name, (e.args[0], e.args[1] + by)),  # type: ignore[attr-defined]
        )
    )


def _start(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    names = list(program.depths())
    if not names:
        return None
    name = names[int(rng.integers(len(names)))]
    choices: list[Start] = [1.0, -1.0, 2.0, 0.5, 1e-9, 1e-5, 1e16, 1e300, 3.0]
    if name in program.inputs:
        choices.append("first")
    value = choices[int(rng.integers(len(choices)))]
    return _plain(Recurrence(program.inputs, program.steps, program.outputs, {**program.start, name: value}))


def _table(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """A lookup with another gap, default, key or value."""
    lookups = [(i, s) for i, s in enumerate(program.steps) if isinstance(s.definition, Retrieval)]
    if not lookups:
        return None
    i, step = lookups[0]
    old = step.definition
    assert isinstance(old, Retrieval)
    way = int(rng.integers(3))
    made: Definition = [
        Retrieval(old.key, old.value, old.query, old.gap + 1, old.default),
        Retrieval(old.key, old.value, old.query, old.gap, old.default + 1),
        Retrieval(old.value, old.key, old.query, old.gap, old.default),
    ][way]
    steps = (*program.steps[:i], Step(step.name, made), *program.steps[i + 1 :])
    return _plain(Recurrence(program.inputs, steps, program.outputs, program.start))


def _with_output(program: Recurrence, change: Callable[[Expr], Expr], *more: Step) -> Recurrence | None:
    """The first output changed by a formula, which may read some more steps before it."""
    for i, step in enumerate(program.steps):
        if step.name == program.outputs[0] and isinstance(step.definition, Expr):
            steps = (
                *program.steps[:i],
                *more,
                Step(step.name, change(step.definition)),
                *program.steps[i + 1 :],
            )
            return Recurrence(program.inputs, steps, program.outputs, program.start)
    return None


def _row(task: Task, rng: Random) -> list[float]:
    return task.draw(rng, 1, 1)[0, 0].tolist()


def _rare(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """One more where the last few inputs are just so."""
    span = int(rng.integers(1, 6))
    rows = [_row(task, rng) for _ in range(span)]
    test: Expr | None = None
    for lag, row in enumerate(reversed(rows)):
        for name, value in zip(program.inputs, row, strict=True):
            one = Var(name, lag).equals(int(value) if float(value).is_integer() else value)
            test = one if test is None else op("and", test, one)
    assert test is not None
    amount = [1, 1e-7, 1000][int(rng.integers(3))]
    telling = [rows, [_row(task, rng) for _ in range(task.length)] + rows, rows * 4]
    return _plain(_with_output(program, lambda e: e + where(test, amount, 0)), telling=telling)


def _late(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """One more after many positions."""
    when = int(rng.integers(1, 3000))
    clock = Step("clock", Var("clock", 1) + 1)
    test = Var("clock") > when if rng.random() < 0.5 else Var("clock").equals(when)
    telling = [task.draw(rng, 1, when + 5)[0].tolist()]
    return _plain(_with_output(program, lambda e: e + where(test, 1, 0), clock), telling=telling)


def _large(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """One more where a total is large."""
    steps = int(rng.integers(20, 2000))
    name = program.inputs[0]
    high = task.domains[0].high
    bound = int(high * steps * 0.9)
    total = Step("total", Var("total", 1) + Var(name))
    row = [float(domain.high) for domain in task.domains]
    return _plain(
        _with_output(program, lambda e: e + where(Var("total") > bound, 1, 0), total), telling=[[row] * steps]
    )


def _through_large_numbers(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """The same in exact arithmetic, by numbers that float64 does not hold."""
    power = int(rng.integers(30, 64))
    large = 2**power + int(rng.integers(0, 3))
    way = int(rng.integers(5))
    if way == 0:
        return _plain(_with_output(program, lambda e: (e + large) - large))
    if way == 1:
        return _plain(_with_output(program, lambda e: Var("z") - large, Step("z", _output(program) + large)))
    if way == 2:
        return _plain(_with_output(program, lambda e: (e * large) / large))
    if way == 3:
        return _plain(_with_output(program, lambda e: where(e.equals(e + large - large), e, e + 1)))
    return _plain(_somewhere(program, rng, lambda e: True, lambda e: (e + large) - large))


def _output(program: Recurrence) -> Expr:
    definition = next(step.definition for step in program.steps if step.name == program.outputs[0])
    if not isinstance(definition, Expr):
        raise ValueError("a lookup has no formula")
    return definition


def _drift(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """An error that adds up: tiny at first, an output in the end."""
    tiny = (
        float(2.0 ** -int(rng.integers(3, 60))) if rng.random() < 0.5 else float(10 ** rng.uniform(-12, -1))
    )
    drift = Step("drift", Var("drift", 1) + tiny)
    change = (lambda e: e + op("floor", Var("drift"))) if rng.random() < 0.7 else (lambda e: e + Var("drift"))
    steps = min(4000, int(1.5 / tiny) + 5)
    return _plain(_with_output(program, change, drift), telling=[task.draw(rng, 1, steps)[0].tolist()])


def _decimal_decision(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """A decision that is settled in exact arithmetic and falls otherwise in float64."""
    name = Var(program.inputs[0])
    one, other = (float(rng.integers(1, 30)) / 10 for _ in range(2))
    total = round(one + other, 1)
    test = (one * name + other * name).equals(total * name)
    return _plain(_with_output(program, lambda e: where(test, e, e + 1)))


def _quotient_decision(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """Quotients that are equal in exact arithmetic, and not in float64 once something is added."""
    name, divisor = Var(program.inputs[0]), int(rng.integers(3, 60))
    test = [
        ((name / divisor) * divisor).equals(name),
        (name / divisor + 1 - 1).equals(name / divisor),
        op("floor", name / divisor * divisor).equals(name),
        ((name + divisor) / divisor).equals(name / divisor + 1),
    ][int(rng.integers(4))]
    return _plain(_with_output(program, lambda e: where(test, e, e + 1)))


def _rewritten(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """Another way to write the same, in any arithmetic that holds the values of the task."""
    small = int(rng.integers(1, 100))
    name = Var(program.inputs[0])
    whole = task.integer_outputs and all(domain.discrete for domain in task.domains)
    if not whole:
        return None
    ways = [
        lambda e: e + small - small,
        lambda e: where(name > small, e, e),
        lambda e: op("max", e, e),
        lambda e: where(op("not", name.equals(small)), e, e),
        lambda e: (2 * e) / 2,
        lambda e: e - (name - name),
    ]
    return _plain(_with_output(program, ways[int(rng.integers(len(ways)))]), right=True)


def _untaken(task: Task, program: Recurrence, rng: Random) -> Mutant | None:
    """A division by zero in a branch that is not taken, or in a value that is not used."""
    name = Var(program.inputs[0])
    if not (task.integer_outputs and all(domain.discrete for domain in task.domains)):
        return None
    zero = int(task.domains[0].low) if rng.random() < 0.5 else 0
    shifted = name - zero
    way = int(rng.integers(4))
    if way == 0:
        return _plain(
            _with_output(program, lambda e: where(shifted.equals(0), e, e + (1 / shifted) * 0)), right=True
        )
    if way == 1:
        test = op("and", op("ne", shifted, 0), (1 / shifted) > 5)
        return _plain(_with_output(program, lambda e: where(test, e, e)), right=True)
    if way == 2:
        step = Step("share", 1 / shifted)
        return _plain(
            _with_output(program, lambda e: where(shifted.equals(0), e, e + Var("share") * 0), step),
            right=True,
        )
    test = op("or", shifted.equals(0), (shifted % shifted).equals(0))
    return _plain(_with_output(program, lambda e: where(test, e, e + 1)), right=True)


def _is_number(expr: Expr) -> bool:
    return isinstance(expr, Const)


CHANGES: dict[str, Change] = {
    "constant": _constant,
    "constant, last digit": _last_digit,
    "a tiny term": _slightly,
    "offset": _offset,
    "operator": _operator,
    "comparison": _comparison,
    "start value": _start,
    "lookup": _table,
    "rare inputs": _rare,
    "late positions": _late,
    "large totals": _large,
    "through large numbers": _through_large_numbers,
    "drift": _drift,
    "decision on decimals": _decimal_decision,
    "decision on quotients": _quotient_decision,
    "rewritten": _rewritten,
    "division by zero, not taken": _untaken,
}
