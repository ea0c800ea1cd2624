"""Hidden states as outputs of the problem: their past is a channel, so a network can hold them.

What a rule remembers that no output shows, and that no head goes over, a network has as one output more: its
past comes back as a channel. So the problem of such a network is the user's with the states as outputs before
its own. What is said about the program in the end is about the user's outputs alone (`Problem.asked`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Problem
from weights2code.data.parts import windows
from weights2code.errors import InputError
from weights2code.language import Expr, Op, Recurrence, Var, definition_variables, infer
from weights2code.run_folder import GRAPH, MEMORY, MODEL, RunFolder
from weights2code.source import problem_of
from weights2code.tasks import Reference
from weights2code.views.families import AROUND


@dataclass(frozen=True, slots=True)
class States:
    """What is remembered: steps of inputs and outputs of the problem, which are its columns here."""

    rule: Recurrence

    @property
    def names(self) -> tuple[str, ...]:
        return self.rule.outputs

    @staticmethod
    def of(program: Recurrence, *, heads: bool = True) -> States | None:
        """The steps of a program that remember, those that no head holds if there are `heads`; None if there
        are none."""
        program = program.live()
        found = tuple(remembering(program, heads=heads))
        if not found:
            return None
        steps = tuple(step for step in program.steps if step.name not in program.outputs)
        columns = (*program.inputs, *program.outputs)
        return States(Recurrence(columns, steps, found, dict(program.start)).live())

    @staticmethod
    def read(folder: RunFolder, problem: Problem) -> States | None:
        """What a run folder remembers of its problem; nothing in it is believed unchecked."""
        if not folder.has(MEMORY):
            return None
        try:
            rule = Recurrence.from_dict(folder.read_json(MEMORY))
            if rule.inputs != (*problem.inputs, *problem.outputs) or not rule.outputs:
                raise ValueError("its columns are not those of the problem")
            return States(rule)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
            raise InputError(
                f"{folder.file(MEMORY)} is damaged ({error}); make it again with another --out."
            ) from None

    def leave(self, folder: RunFolder) -> None:
        folder.write(MEMORY, json.dumps(self.rule.to_dict()) + "\n")

    def beside(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The states (n, T, states) of sequences, and the outputs after them."""
        with np.errstate(all="ignore"):
            return np.concatenate([self.rule.run(np.concatenate([x, y], 2)), y], 2)


def remembering(program: Recurrence, *, heads: bool = True) -> list[str]:
    """Steps that go on from what they were; if there are `heads`, only those that are no sum, no extremum and
    no count of everything so far."""
    hidden = [step for step in program.steps if step.name not in program.outputs]  # outputs are seen
    reads = {step.name: definition_variables(step.definition) for step in hidden}
    found = []
    for step in hidden:
        itself = Var(step.name, 1)
        if step.name in _reached(step.name, reads) and not (
            heads
            and isinstance(step.definition, Expr)
            and _accumulates(step.definition, itself)
            and not any(step.name in _reached(v.name, reads) for v in reads[step.name] if v != itself)
        ):
            found.append(step.name)
    return found


def _reached(name: str, reads: Mapping[str, tuple[Var, ...] | frozenset[Var]]) -> set[str]:
    """What a step reads, by whatever way."""
    found, waiting = set[str](), [name]
    while waiting:
        more = {v.name for v in reads.get(waiting.pop(), ())} - found
        found |= more
        waiting += more
    return found


def _accumulates(expr: Expr, last: Var) -> bool:
    """Whether an expression is its last value and something more, or the larger or smaller of both."""
    if not isinstance(expr, Op) or expr.name not in ("add", "sub", "max", "min"):
        return False
    args = expr.args if expr.name != "sub" else expr.args[:1]
    within = [arg for arg in args if last in arg.variables()]
    return (
        len(within) == 1
        and (within[0] == last or _accumulates(within[0], last))
        and (sum(last in arg.variables() for arg in expr.args) == 1)
    )


def with_states(problem: Problem, states: States) -> Problem:
    """The problem with the states as outputs before its own; what was cut shows those from the true start."""
    if problem.uncut is not None:
        whole = with_states(problem.uncut, states)
        training, validation = windows(whole.training, seed=0)
        return replace(whole, training=training, validation=validation, length=training.x.shape[1])
    parts = {
        name: part and replace(part, y=states.beside(part.x, part.y))
        for name in ("training", "validation", "held_out", "beginnings")
        for part in [getattr(problem, name)]
    }
    count = len(states.names)
    shown = parts["training"].y[parts["training"].valid][:, :count]
    return replace(
        problem,
        outputs=(*states.names, *problem.outputs),
        output_domains=(*(infer(column) for column in shown.T), *problem.output_domains),
        reference=problem.reference and Beside(problem.reference, states),
        original=problem,
        **parts,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """What specifies the outputs, and the states beside it, which follow from its inputs and outputs."""

    reference: Reference
    states: States

    def run(self, x: np.ndarray) -> np.ndarray:
        return self.states.beside(x, self.reference.run(x))


def as_far_back(problem: Problem, program: Recurrence) -> Problem:
    """The problem in windows that hold all that a program looks back to."""
    seasonal = problem.seasonal
    deepest = max(program.depths().values(), default=0)
    far = seasonal is not None and deepest >= min((seasonal.season or 0) - AROUND, problem.length)
    return seasonal if seasonal is not None and far else problem


def problem_in(folder: RunFolder) -> Problem:
    """The problem of a run folder: that of its source, with the states that its network has as outputs."""
    return remembered(problem_of(folder.source, folder.settings), folder)


def remembered(problem: Problem, folder: RunFolder) -> Problem:
    """The problem of the folder's source with what the folder remembers, and as far back as it looks."""
    seasonal = problem.seasonal
    if seasonal is not None and _sees(folder, seasonal):
        problem = seasonal
    states = States.read(folder, problem)
    return problem if states is None else with_states(problem, states)


def _sees(folder: RunFolder, seasonal: Problem) -> bool:
    """Whether what the folder holds, a graph or else a model, looks a season back."""
    if folder.has(GRAPH):
        graph = folder.read_json(GRAPH)
        return isinstance(graph, dict) and graph.get("length") == seasonal.length
    if not folder.has(MODEL):
        return False
    from weights2code.training.storage import Trained

    architecture = Trained.load(folder.file(MODEL), seasonal).weights.architecture
    return seasonal.season is not None and architecture.window > seasonal.season
