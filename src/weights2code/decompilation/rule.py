"""From answers of a model to rules: the search is the one for own data, and description length decides.

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
from weights2code.errors import InputError
from weights2code.language import Const, Domain, Expr, Op, Recurrence, Step, op
from weights2code.language.python_source import formula_lines
from weights2code.program import Program
from weights2code.settings import Settings
from weights2code.simplify.expressions import places
from weights2code.verify import Certificate

#: Where programs come from.
ORIGIN = "found in the answers of a model"


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Sequences of any lengths with the model's outputs and margins."""

    x: tuple[np.ndarray, ...] = ()
    y: tuple[np.ndarray, ...] = ()
    margins: tuple[np.ndarray, ...] = ()

    def __len__(self) -> int:
        return len(self.x)

    def with_(self, x: np.ndarray, y: np.ndarray, margins: np.ndarray) -> Answers:
        """And these, (n, T, ...)."""
        return Answers((*self.x, *x), (*self.y, *y), (*self.margins, *margins))

    def beginnings(self, length: int) -> Answers:
        """The first positions of each."""
        parts = ((item[:length] for item in part) for part in (self.x, self.y, self.margins))
        return Answers(*map(tuple, parts))

    def trusted(self, share: float) -> Answers:
        """Cut before the first position of which the model is among its `share` least sure."""
        border = np.quantile(np.concatenate(self.margins), share)
        ends = [int(np.argmax(m <= border)) if (m <= border).any() else len(m) for m in self.margins]
        kept = [i for i, end in enumerate(ends) if end]
        cut = [tuple(part[i][: ends[i]] for i in kept) for part in (self.x, self.y, self.margins)]
        return Answers(*cut)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A program that was found, and how it was judged on answers that were held out.

    `wrong` is the share of sequences that part; `exceptions` counts those that part before the `horizon`, to
    which the rule is to hold; `bits` describe all of it.
    """

    program: Program
    certificate: Certificate | None
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
    from weights2code import pipeline

    names = tuple(columns)
    everything = np.concatenate(answers.y)
    if not np.ptp(everything, axis=0).any():
        return _constant(everything[0], columns, outputs, name, whole=whole)
    try:
        problem = from_lists(answers.x, answers.y, names, tuple(outputs), seed, name, "the model's answers")
    except InputError:
        return None
    known = dict(zip(problem.inputs, problem.domains, strict=True)) | columns
    problem = replace(problem, domains=tuple(known[column] for column in problem.inputs))
    outcome = pipeline.search(problem, Settings(seed=seed, time_limit=seconds))
    if outcome.program is None:
        return None
    if whole and outcome.program.under_noise:  # what is read as whole numbers has no noise
        return None
    machine = replace(outcome.program.recurrence, inputs=names)  # columns that are not read were left out
    program = Program(name, machine, tuple(columns.values()), whole, ORIGIN, outcome.program.regime)
    return Rule(program, outcome.certificate)


def _constant(
    row: np.ndarray, columns: dict[str, Domain], outputs: Sequence[str], name: str, *, whole: bool
) -> Rule:
    steps = tuple(Step(output, Const(float(value))) for output, value in zip(outputs, row, strict=True))
    machine = Recurrence(tuple(columns), steps, tuple(outputs))
    return Rule(Program(name, machine, tuple(columns.values()), whole, ORIGIN), None)


def left_out(program: Program) -> Iterator[Program]:
    """The program with one part of a formula in place of what it is a part of, and with a bound less."""
    machine = program.recurrence
    for i, step in enumerate(machine.steps):
        if not isinstance(step.definition, Expr):
            continue
        for part, put in places(step.definition):
            for way in _ways(part):
                steps = (*machine.steps[:i], Step(step.name, put(way)), *machine.steps[i + 1 :])
                with suppress(ValueError):
                    yield replace(program, recurrence=replace(machine, steps=steps).live())


def _ways(part: Expr) -> list[Expr]:
    if not isinstance(part, Op):
        return []
    bounded = (
        [op("max", *part.args[:2]), op("min", part.args[0], part.args[2])] if part.name == "clip" else []
    )
    return [*part.args, *bounded]
