"""Other rules that fit as well, or nearly: shorter or longer ones, as a front beside the one that was chosen.

They are what the search met on its way, and what the engine says of the values that the chosen rule reads.
All are judged alike, by the sequences to judge by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from weights2code.data import Problem
from weights2code.extraction.values import Extraction
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import any_number
from weights2code.language import Expr, Op, Recurrence, Step, Var, expression_of, infer
from weights2code.rules.from_leaves import TOLERANCE, sensible_operators
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.verify.residuals import answers
from weights2code.views.rows import some_of

#: Effort for each output, in seconds of a usual machine, and positions that are asked about.
EFFORT, POSITIONS = 2.0, 3000
#: Operators that are left out of a formula at a time, and formulas that this gives.
LEFT_OUT, MOST = 2, 80
#: A loss that is nearly another.
NEARLY = 1.1


@dataclass(frozen=True, slots=True)
class Alternative:
    """A rule in words, its nodes, its loss on the sequences to judge by (the mean squared error; of texts and
    whole numbers the share that is wrong), and whether it is the one that was chosen."""

    equation: str
    complexity: int
    loss: Annotated[float, any_number]
    chosen: bool = False

    def __str__(self) -> str:
        return f"{'>>>' if self.chosen else '   '} {self.complexity:4d}  {self.loss:9.3g}  {self.equation}"

    def to_dict(self) -> dict[str, Any]:
        return to_fields(self)

    @staticmethod
    def from_dict(data: Any) -> Alternative:
        """Inverse of `to_dict`."""
        return from_fields(Alternative, data, "an alternative")


def alternatives(
    found: Extraction, met: Sequence[Recurrence], problem: Problem, most: int
) -> tuple[Alternative, ...]:
    """The front: the chosen rule and at most so many others, the shortest first."""
    chosen = found.program.recurrence
    known: dict[str, Alternative] = {}
    for rule in (chosen, *met, *_near(chosen, problem)):
        if set(rule.inputs) <= set(problem.inputs) and set(problem.asked.outputs) <= set(rule.outputs):
            made = _judged(found, replace(rule, outputs=problem.asked.outputs).live(), problem)
            known.setdefault(made.equation, replace(made, chosen=not known))
    pick, *others = known.values()
    others = [other for other in others if np.isfinite(other.loss)]
    rated = sorted([pick, *others], key=lambda one: (one.complexity, one.loss))
    front = [
        one
        for place, one in enumerate(rated)
        if one.loss <= NEARLY * pick.loss or all(one.loss < other.loss for other in rated[:place])
    ]
    best = sorted((one for one in front if not one.chosen), key=lambda one: (one.loss, one.complexity))[:most]
    return tuple(sorted([pick, *best], key=lambda one: (one.complexity, one.loss)))


def _judged(found: Extraction, rule: Recurrence, problem: Problem) -> Alternative:
    asked = problem.asked
    part = (asked.held_out or asked.validation) if asked.reference is None else asked.validation
    read = [asked.inputs.index(name) for name in rule.inputs]
    given = replace(part, x=part.x[..., read])
    with np.errstate(all="ignore"):
        error = (answers(rule, given, one_step=found.certificate.one_step) - part.y)[part.scored]
    losses = np.abs(error) >= 0.5 if asked.integer_outputs else error**2
    program = replace(found.program, recurrence=rule, domains=tuple(asked.domains[i] for i in read))
    size = sum(expression_of(step.definition).size() for step in rule.steps)
    return Alternative("; ".join(program.formula().splitlines()), size, float(np.mean(losses)))


def _near(chosen: Recurrence, problem: Problem) -> Iterator[Recurrence]:
    """What the engine says of what each output is computed from, and of the present inputs."""
    part = some_of(problem.training, POSITIONS)
    read = [problem.inputs.index(name) for name in chosen.inputs]
    known = part.y if chosen.outputs == problem.outputs else None
    with np.errstate(all="ignore"):
        values = chosen.trace(part.x[..., read], known, part.lengths if known is not None else 0)
    declared = dict(zip(problem.inputs, problem.domains, strict=True))
    for place, step in enumerate(chosen.steps):
        if step.name not in problem.outputs or not isinstance(step.definition, Expr):
            continue
        row, length = problem.outputs.index(step.name), part.x.shape[1]
        leaves = tuple(dict.fromkeys([*step.definition.variables(), *map(Var, chosen.inputs)]))
        rows = part.scored & (np.arange(length) >= max((leaf.lag for leaf in leaves), default=0))
        padded = [np.pad(values[leaf.name], ((0, 0), (leaf.lag, 0)))[:, :length][rows] for leaf in leaves]
        domains = (declared.get(v.name) or infer(column) for v, column in zip(leaves, padded, strict=True))
        target, answer = part.y[..., row][rows], problem.output_domains[row]
        front = search_over_texts(
            np.stack(padded, 1) if padded else np.zeros((int(rows.sum()), 0)),
            target,
            variables=leaves,
            domains=tuple(domains),
            answer=answer,
            tolerance=TOLERANCE * (1.0 if answer.discrete else max(float(np.std(target)), 1e-12)),
            effort=EFFORT,
            operators=sensible_operators(problem, row),
        )
        for expr in (*(candidate.expr for candidate in front), *_shorter(step.definition)):
            steps = list(chosen.steps)
            steps[place] = Step(step.name, expr)
            yield replace(chosen, steps=tuple(steps))


def _shorter(expr: Expr) -> list[Expr]:
    """The formula with one or two of its operators left out, each for one of its operands."""
    found: dict[Expr, None] = {expr: None}
    for _ in range(LEFT_OUT):
        for one in list(found):
            for node in dict.fromkeys(one.walk()):
                for operand in node.args if isinstance(node, Op) else ():
                    if len(found) >= MOST:
                        break
                    found.setdefault(
                        one.transform(lambda e, node=node, operand=operand: operand if e == node else e)
                    )
    return list(found)
