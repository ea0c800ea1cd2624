"""The smallest machine of a reference: its states explored, those that nothing tells apart made one.

What a reference keeps may be far more than what its outputs show of it. If what it keeps is finite, all of it
is walked through, every symbol in every state at once; then states are told apart by their answers, and by
where they lead, until nothing more is (Moore's algorithm). So the result is equal to the reference and has
the fewest states.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem
from weights2code.effort import time_is_up
from weights2code.language import Expr, Recurrence, Var, compile_numpy, uniform
from weights2code.memory.machine import Machine
from weights2code.tasks import StepFunction

#: States of a reference that are walked through, and transitions, at most.
MOST_EXPLORED = 3000
MOST_TRANSITIONS = 300_000
#: Rows of real inputs that stand for all.
DRAWN = 500


def explored(problem: Problem) -> Machine | None:
    """The smallest machine that gives what the reference does, for inputs in their domains; None if what the
    reference keeps has no end, or is too much. Of real inputs some rows stand for all."""
    reference = problem.reference
    if reference is None or not problem.integer_outputs:
        return None
    symbols = _symbols(problem)
    if isinstance(reference, StepFunction):
        discrete = all(domain.discrete for domain in problem.domains)
        walk = reference.walk() if discrete else reference.walk_over(symbols)
        found = None if walk is None or len(walk.moves) > MOST_EXPLORED else (walk.moves, walk.answers)
    else:
        found = None if reference.retrieves() else _walk(reference.live(), symbols)
    if found is None:
        return None
    moves, answers = _smallest(*found)
    reads = tuple((column, 0) for column in range(len(problem.inputs)))
    return Machine(reads, symbols, moves, answers, np.ones(moves.shape, int))


def _symbols(problem: Problem) -> np.ndarray:
    """Every row of inputs, or where there are reals some that are drawn."""
    if not all(domain.discrete for domain in problem.domains):
        drawn = uniform(np.random.default_rng(0), problem.domains, DRAWN, 1)
        return np.unique(drawn[:, 0], axis=0)
    grids = np.meshgrid(*(domain.values() for domain in problem.domains), indexing="ij")
    return np.stack([grid.reshape(-1) for grid in grids], -1).astype(float)


def _walk(reference: Recurrence, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Every state that is reached: the next for each symbol, and the outputs."""
    kept = reference.state()
    if not kept:
        return None  # nothing is kept
    compiled = [
        (step.name, step.definition.variables(), compile_numpy(step.definition, step.definition.variables()))
        for step in reference.steps
        if isinstance(step.definition, Expr)
    ]
    known: dict[bytes, int] = {b"start": 0}
    moves: list[np.ndarray] = []
    answers: list[np.ndarray] = []
    count = len(symbols)
    start = [reference.start_of(variable.name) for variable in kept]
    first = [
        symbols[:, reference.inputs.index(v.name)] for v in kept if reference.start_of(v.name) == "first"
    ]
    layer = np.empty((1, count, len(kept)))
    for place, value in enumerate(start):
        layer[0, :, place] = first.pop(0) if value == "first" else value
    while len(layer):
        if (len(known)) * count > MOST_TRANSITIONS or len(known) > MOST_EXPLORED or time_is_up():
            return None
        env: dict[Var, np.ndarray] = {v: layer[..., place] for place, v in enumerate(kept)}
        shape = (len(layer), count)
        env |= {Var(n): np.broadcast_to(symbols[:, i], shape) for i, n in enumerate(reference.inputs)}
        with np.errstate(all="ignore"):
            for name, variables, function in compiled:
                env[Var(name)] = np.broadcast_to(function(*(env[v] for v in variables)), shape)
        after = np.stack([env[Var(v.name, v.lag - 1)] for v in kept], -1) if kept else np.zeros((*shape, 0))
        after = after + 0.0  # one zero, not two
        given = np.stack([env[Var(name)] for name in reference.outputs], -1)
        if not (np.isfinite(after).all() and np.isfinite(given).all()):
            return None
        answers.append(given)
        rows, which = np.unique(after.reshape(len(layer) * count, -1), axis=0, return_inverse=True)
        numbers, new = [], []
        for row in rows:
            key = row.tobytes()
            if key not in known:
                known[key] = len(known)
                new.append(row)
            numbers.append(known[key])
        moves.append(np.array(numbers)[which.reshape(shape)])
        layer = np.broadcast_to(np.array(new)[:, None], (len(new), count, len(kept))) if new else layer[:0]
    return np.concatenate(moves), np.concatenate(answers)


def _smallest(moves: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same machine with states that nothing tells apart made one, numbered as a walk comes to them."""
    classes = np.unique(answers.reshape(len(moves), -1), axis=0, return_inverse=True)[1].reshape(-1)
    while True:
        rows = np.concatenate([classes[:, None], classes[moves]], 1)
        finer = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        if finer.max() == classes.max():
            break
        classes = finer
    member = {int(classes[0]): 0}  # class -> a state of it
    order = [int(classes[0])]
    for number in order:
        for after in moves[member[number]]:
            if int(classes[after]) not in member:
                member[int(classes[after])] = int(after)
                order.append(int(classes[after]))
    place = {number: index for index, number in enumerate(order)}
    states = [member[number] for number in order]
    smaller = np.vectorize(lambda state: place[int(classes[state])], otypes=[int])(moves[states])
    return smaller, answers[states]
