"""A program against a plain function: explored where the function's states are finite, tested where not.

The function was walked through once (`StepFunction.walk`): a table of what every state answers to every row
and where it leads. Program and table are then explored together, every pair of a state of the table and a
history of the program, as two recurrences are (`exploration`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.effort import Effort
from weights2code.errors import InputError
from weights2code.language import Const, Domain, Recurrence, Var
from weights2code.language import Step as RecurrenceStep
from weights2code.tasks.step_function import StepFunction, Walk
from weights2code.verify.exploration import Exploration, Refused, Search
from weights2code.verify.product import Product, expand_retrievals, product

#: The state of the function, as a name that no step has.
_STATE = "r.state"


def explore_with(
    program: Recurrence,
    function: StepFunction,
    domains: tuple[Domain, ...],
    *,
    whole: bool,
    time_limit: float,
) -> Exploration:
    """Every state that the function and the program reach together, or why they cannot be walked through."""
    if not all(domain.discrete for domain in domains):
        return Exploration("inconclusive", 0, 0, "the inputs are reals, which no enumeration covers")
    walk = function.walk()
    if walk is None:
        reason = "the states of the step function have no end, or more than can be walked through"
        return Exploration("inconclusive", 0, 0, reason)
    plain = expand_retrievals(_joined(program, function, domains))
    if plain is None:
        return Exploration("inconclusive", 0, 0, "a retrieval has keys that are not a small set of inputs")
    search = _Search(plain, whole, Effort(time_limit), walk, len(function.outputs))
    try:
        with np.errstate(all="ignore"):
            found = search.run()
    except Refused as refusal:
        found = Exploration("inconclusive", search.count, search.transitions, str(refusal))
    return replace(found, effort=time_limit - search.effort.left)


def _joined(program: Recurrence, function: StepFunction, domains: tuple[Domain, ...]) -> Product:
    """The program beside a stand-in for the function: one variable that is kept, and an output each."""
    names = [f"y{i}" for i in range(len(function.outputs))]
    stand_in = Recurrence(
        function.inputs,
        (
            RecurrenceStep("state", Var("state", 1)),
            *(RecurrenceStep(name, Var("state") + Const(0)) for name in names),
        ),
        tuple(names),
    )
    return product(stand_in, program, domains)


class _Search(Search):
    """Exploration in which the stand-in's values are looked up in the function's table."""

    def __init__(self, joint: Product, whole: bool, effort: Effort, walk: Walk, outputs: int) -> None:
        super().__init__(joint, whole, effort)
        self.walk = walk
        if not np.array_equal(self.inputs, walk.rows):  # both count through the domains in the same order
            raise InputError("the rows of a step function are not those of its columns.")
        self.answers = [Var(f"r.y{i}") for i in range(outputs)]

    def _step(self, codes: np.ndarray, picked: np.ndarray) -> dict[Var, np.ndarray]:
        values = super()._step(codes, picked)
        before = values[Var(_STATE, 1)].astype(np.int64)
        values[Var(_STATE)] = self.walk.moves[before, picked].astype(float)
        for i, answer in enumerate(self.answers):
            values[answer] = self.walk.answers[before, picked, i]
        return values
