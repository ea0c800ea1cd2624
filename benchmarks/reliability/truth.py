"""The truth about a program, found without the code that certifies: exact numbers, the text, many runs.

The specification runs on fractions, by an interpreter of its own, or is called at one position after another
if it is a plain function; the program runs as its text, which is what a user gets. Runs are all short
sequences where there are few, long random ones, runs at the ends of the domain, and the sequences that
whoever made the program says are telling.
"""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import inf, isfinite
from typing import Any

import numpy as np

from weights2code.language import Const, Count, Domain, Expr, Op, Recurrence, Retrieval, Var
from weights2code.language.operators import OPERATORS
from weights2code.program import Program
from weights2code.tasks.step_function import StepFunction
from weights2code.verify import Certificate, certify

#: Short sequences that are run, the length of long ones, and how many.
SHORT, LONG, LONG_RUNS = 200, 1500, 3
#: Real outputs may be off by this share of the largest target: rounding that adds up along a run.
ROUNDING = 1e-6
#: A program that differs on so many random sequences cannot have passed tests.
OFTEN = 0.2

Rows = list[list[float]]


@dataclass(frozen=True)
class Case:
    """A program, what it is to be equal to, and sequences that may show that it is not."""

    kind: str
    program: Recurrence
    reference: Recurrence | StepFunction
    domains: tuple[Domain, ...]
    whole: bool
    length: int
    telling: tuple[Rows, ...] = ()
    #: Equal by construction, as the text computes it.
    right: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


def exact(value: Any) -> Any:
    """A number as what it prints as."""
    if isinstance(value, (int, Fraction)):
        return value
    return Fraction(repr(float(value))) if isfinite(value) else float(value)


class Interpreter:
    """One recurrence on exact numbers, position by position; `largest` is the largest value met so far, and
    `undefined` whether one of them is no number."""

    def __init__(self, machine: Recurrence) -> None:
        self.machine, self.past = machine, {name: [] for name in machine.inputs}
        self.past |= {step.name: [] for step in machine.steps}
        self.largest: Any = 0
        self.undefined = False

    def step(self, row: Iterable[float]) -> list[Any]:
        """The outputs after one more row of inputs."""
        for name, value in zip(self.machine.inputs, row, strict=True):
            self.past[name].append(exact(value))
        t = len(self.past[self.machine.inputs[0]]) - 1
        for step in self.machine.steps:
            definition = step.definition
            if isinstance(definition, Retrieval):
                query = self.value(definition.query, t)
                keys = self.past[definition.key][: t - definition.gap + 1]
                found = [s for s, key in enumerate(keys) if key == query]
                value = self.past[definition.value][found[-1]] if found else exact(definition.default)
            elif isinstance(definition, Count):
                query, holds = self.value(definition.query, t), getattr(operator, definition.relation)
                value = exact(sum(bool(holds(key, query)) for key in self.past[definition.key][: t + 1]))
            else:
                assert isinstance(definition, Expr), "programs select nothing by scores"
                value = self.value(definition, t)
            self.past[step.name].append(value)
        return [self.past[name][t] for name in self.machine.outputs]

    def value(self, expr: Expr, t: int) -> Any:
        if isinstance(expr, Const):
            result = exact(expr.value)
        elif isinstance(expr, Var):
            result = self.read(expr, t)
        elif not isinstance(expr, Op):
            raise TypeError(expr)
        elif expr.name == "where":
            condition, yes, no = expr.args
            result = self.value(yes if self.value(condition, t) != 0 else no, t)
        elif expr.name in ("and", "or"):
            left = self.value(expr.args[0], t) != 0
            result = int(left if left == (expr.name == "or") else self.value(expr.args[1], t) != 0)
        else:
            result = OPERATORS[expr.name].exact(*(self.value(argument, t) for argument in expr.args))
        if not isinstance(result, float) or isfinite(result):
            self.largest = max(self.largest, abs(result))
        self.undefined |= result != result
        return result

    def read(self, variable: Var, t: int) -> Any:
        values, start = self.past[variable.name], self.machine.start_of(variable.name)
        if t >= variable.lag:
            return values[t - variable.lag]
        return values[0] if start == "first" else exact(start)


def text_function(case: Case) -> Callable[[Any], np.ndarray]:
    """The program as a user runs it."""
    source = Program("program", case.program, case.domains, case.whole).source()
    space: dict[str, Any] = {}
    exec(compile(source, "program.py", "exec"), space)
    return space["program"]


def sequences(case: Case, rng: np.random.Generator, long: int = LONG) -> Iterator[Rows]:
    """What is run: telling sequences first, then short ones, then long ones."""
    yield from case.telling
    values = [_choices(domain, rng) for domain in case.domains]
    rows = [list(row) for row in product(*values)]
    length = 1
    while len(rows) ** (length + 1) <= SHORT and length < 8:
        length += 1
    if len(rows) ** length <= SHORT:
        yield from ([list(row) for row in rows_] for rows_ in product(rows, repeat=length))
    for _ in range(SHORT // 8):
        yield [[_draw(domain, rng) for domain in case.domains] for _ in range(case.length)]
    for end in ("low", "high"):
        yield [[float(getattr(domain, end)) for domain in case.domains]] * long
    for _ in range(LONG_RUNS):
        yield [[_draw(domain, rng) for domain in case.domains] for _ in range(long)]


def _choices(domain: Domain, rng: np.random.Generator) -> list[float]:
    if domain.discrete and domain.high - domain.low < 8:
        return [float(value) for value in range(int(domain.low), int(domain.high) + 1)]
    return [float(domain.low), float(domain.high), *(_draw(domain, rng) for _ in range(2))]


def _draw(domain: Domain, rng: np.random.Generator) -> float:
    if domain.discrete:
        return float(rng.integers(int(domain.low), int(domain.high), endpoint=True))
    return float(rng.uniform(domain.low, domain.high))


@dataclass(frozen=True)
class Difference:
    """A position at which the text and the specification differ, and by how much."""

    rows: Rows
    position: int
    by: float
    #: Whether that is a wrong output, not the last digits of one.
    wrong: bool
    #: Of the targets along the sequence.
    scale: float


def difference(case: Case, function: Callable[[Any], np.ndarray], rows: Rows) -> Difference | None:
    """The worst difference on one sequence; None if text and specification are equal there."""
    try:
        right = _specified(case, rows)
    except (ArithmeticError, ValueError):
        return None  # the specification itself has no value there
    x = np.array(rows, dtype=float)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = function(x[:, 0] if x.shape[1] == 1 else x).reshape(len(rows), -1)
        except (ArithmeticError, TypeError, ValueError):  # the root of a negative number is none to compare
            return Difference(rows, 0, inf, True, 0.0)
    judged = len(right)
    exact_answers = [[_number(value) for value in row] for row in answer[:judged].tolist()]
    worst = None
    scale = max((abs(float(v)) for row in right for v in row), default=0.0)
    for t, (row, answers) in enumerate(zip(right, exact_answers, strict=True)):
        for target, found in zip(row, answers, strict=True):
            by = inf if isinstance(found, float) else float(abs(found - target))
            if case.whole and not _rounds_to(found, target):
                return Difference(rows[: t + 1], t, by, True, scale)
            if by > (worst.by if worst else 0.0) and (case.whole or by > 1e-12 * max(1.0, scale)):
                wrong = not case.whole and by > ROUNDING * max(1.0, scale)
                worst = Difference(rows[: t + 1], t, by, wrong, scale)
    return worst


def _rounds_to(found: Any, target: Any) -> bool:
    """Whether an output is right after rounding, whichever way halves go; a target that is not whole is no
    whole number's."""
    if isinstance(found, float) or target != round(target):
        return found == target
    return 2 * abs(found - target) < 1


def _number(value: float) -> Any:
    return Fraction(value) if isfinite(value) else value


def _specified(case: Case, rows: Rows) -> list[list[Any]]:
    """The right outputs, exactly; real ones in float64 where fractions would grow without end."""
    if isinstance(case.reference, StepFunction):
        return _called(case.reference, rows)
    if all(domain.discrete for domain in case.domains) and case.whole:
        machine = Interpreter(case.reference)
        outputs = []
        for row in rows:
            found = machine.step(row)
            outgrown = machine.largest >= 2**53 or any(isinstance(value, float) for value in found)
            if outgrown or machine.undefined:
                break  # the specification outgrows float64, or has no finite output
            outputs.append(found)
        return outputs
    with np.errstate(all="ignore"):
        found = case.reference.run(np.array([rows], dtype=float))[0]
    finite = np.isfinite(found).all(axis=1)
    return [[exact(v) for v in row] for row in found[: len(finite) if finite.all() else int(finite.argmin())]]


def _called(function: StepFunction, rows: Rows) -> list[list[Any]]:
    """What a plain function answers when it is called at one position after another."""
    state, answers = deepcopy(function.start), []
    for row in rows:
        given = zip(function.inputs, function.domains, row, strict=True)
        state, answer = function.step(state, {name: int(v) if d.discrete else v for name, d, v in given})
        answers.append([exact(value) for value in (answer if isinstance(answer, tuple) else (answer,))])
    return answers


def judged(case: Case, rng: np.random.Generator, **asked: Any) -> tuple[Certificate, str]:
    """What is said of a pair, and what is wrong with that; empty if nothing is."""
    certificate = certify(
        case.program,
        reference=case.reference,
        domains=case.domains,
        length=case.length,
        integer_outputs=case.whole,
        **asked,
    )
    failure = wrong_verdict(case, certificate, rng)
    if not failure and case.right and certificate.verdict == "failed":
        failure = "failed, although both are equal"
    return certificate, failure


def wrong_verdict(case: Case, certificate: Certificate, rng: np.random.Generator) -> str:
    """What is wrong with a verdict, in words; empty if nothing is."""
    function = text_function(case)
    if certificate.verdict == "failed":
        return wrongly_failed(case, certificate, function)
    allowed = re.search(r"within (\S+) times the largest target", certificate.method)
    tolerance = float(allowed[1]) if allowed else 0.0
    random_runs, scale = 0, 0.0
    wrong: list[Difference] = []
    for rows in sequences(case, rng):
        found = difference(case, function, rows)
        random_runs += len(rows) == case.length
        if found is None:
            continue
        scale = max(scale, found.scale)
        if contradiction := contradicted(case, certificate, found):
            return contradiction
        if found.wrong and len(rows) == case.length:
            wrong.append(found)
    differing = sum(found.by > tolerance * scale for found in wrong)
    if certificate.verdict == "tested" and random_runs and differing > OFTEN * random_runs:
        return f"tested, but {differing} of {random_runs} random sequences show a difference"
    return ""


def contradicted(case: Case, certificate: Certificate, found: Difference) -> str:
    """In words, how one difference shows that more is claimed than is so; empty if it does not."""
    shown = f"after {found.position + 1} inputs {found.rows[-6:]} it is off by {found.by:.3g}"
    if certificate.verdict == "proved":
        if not case.whole and not found.wrong:
            return ""  # rounding, which the sentence names
        limit = re.search(r"as long as no value reaches 2\*\*(\d+)", certificate.method)
        beyond = limit and _largest(case.program, found.rows) >= 2 ** int(limit[1])
        return "" if beyond else f"proved, but {shown}"
    if certificate.verdict == "bounded" and found.by > (certificate.error or 0.0) * (1 + 1e-9):
        return f"bounded by {certificate.error}, but {shown}"
    covered = re.search(r"lengths 1 to (\d+)", certificate.covers)
    longest = int(covered[1]) if covered else 0
    if certificate.verdict == "exhaustive" and found.wrong and found.position < longest:
        return f"exhaustive, but {shown}"
    return ""


def wrongly_failed(case: Case, certificate: Certificate, function: Callable[[Any], np.ndarray]) -> str:
    if certificate.counterexample is None:
        return "failed, but no counterexample is given"
    rows = [list(row) for row in certificate.counterexample]
    found = difference(case, function, rows)
    if found is None or not found.wrong:
        return f"failed, but the counterexample {rows[-6:]} shows no wrong output"
    return ""


def _largest(machine: Recurrence, rows: Rows) -> Any:
    """The largest value on the way through a sequence, in exact arithmetic."""
    interpreter = Interpreter(machine)
    try:
        for row in rows:
            interpreter.step(row)
    except (ArithmeticError, ValueError):
        return inf
    return interpreter.largest
