"""From answers of a model to a rule: the search is the one for own data, by the rows alone.

A rule is worth its own length and what it gets wrong: a short one with exceptions is better than a machine of
many states that copies a model's mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from weights2code.data.own_problem import from_lists
from weights2code.effort import TimeUp, within
from weights2code.errors import InputError, NotExtracted
from weights2code.extraction.from_rows import from_rows
from weights2code.extraction.values import Extraction, Log
from weights2code.language import Const, Domain, Expr, Op, Recurrence, Step, op
from weights2code.language.python_source import formula_lines
from weights2code.program import Program
from weights2code.simplify.expressions import places

#: Where programs come from.
ORIGIN = "found in the answers of a model"
#: Sequences, each (T, columns), with the outputs (T, outputs).
Answers = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A program that was found, and how it was judged on answers that were held out.

    `wrong` is the share of sequences that part; `exceptions` counts those that part before the `horizon`, to
    which the rule is to hold; `bits` describe all of it.
    """

    program: Program
    wrong: float = 0.0
    exceptions: float = 0.0
    horizon: int = 0
    bits: float = 0.0

    @property
    def recurrence(self) -> Recurrence:
        return self.program.recurrence

    @property
    def size(self) -> int:
        """Words and signs of the formula."""
        lines = formula_lines(self.recurrence, categories=self.program.categories)
        return len(re.findall(r"\w+|[^\s\w]", "\n".join(lines)))


def rule_from(
    answers: Answers,
    columns: dict[str, Domain],
    outputs: Sequence[str],
    seed: int,
    seconds: float,
    name: str,
    *,
    whole: bool,
) -> Rule | None:
    """The program that a search finds in answers; None if it finds none. The one door to the search."""
    x, y = zip(*answers, strict=True)
    if not np.ptp(np.concatenate(y), axis=0).any():
        steps = tuple(Step(o, Const(float(value))) for o, value in zip(outputs, y[0][0], strict=True))
        machine = Recurrence(tuple(columns), steps, tuple(outputs))
        return Rule(Program(name, machine, tuple(columns.values()), whole, ORIGIN))
    best: Extraction | None = None
    # the search raises where rows are no problem for it; a rule that it found before stands
    with within(seconds), suppress(InputError, NotExtracted, TimeUp):
        problem = from_lists(x, y, tuple(columns), tuple(outputs), seed, name, "the model's answers")
        known = dict(zip(problem.inputs, problem.domains, strict=True)) | columns
        problem = replace(problem, domains=tuple(known[column] for column in problem.inputs))
        for found in from_rows(problem, Log(seed)):
            best = found if found.better_than(best) else best
            if found.certificate.verified:
                break
    if best is None or (whole and best.program.under_noise):  # what is read as whole numbers has no noise
        return None
    machine = replace(best.program.recurrence, inputs=tuple(columns))  # those not read were left out
    program = Program(name, machine, tuple(columns.values()), whole, ORIGIN, best.program.regime)
    return Rule(program)


def left_out(program: Program) -> Iterator[Program]:
    """The program with one part of a formula in place of what it is a part of, and with a bound less."""
    machine = program.recurrence
    for i, step in enumerate(machine.steps):
        for part, put in places(step.definition) if isinstance(step.definition, Expr) else ():
            ways = list(part.args) if isinstance(part, Op) else []
            if isinstance(part, Op) and part.name == "clip":
                ways += [op("max", *part.args[:2]), op("min", part.args[0], part.args[2])]
            for way in ways:
                steps = (*machine.steps[:i], Step(step.name, put(way)), *machine.steps[i + 1 :])
                with suppress(ValueError):
                    yield replace(program, recurrence=replace(machine, steps=steps).live())
