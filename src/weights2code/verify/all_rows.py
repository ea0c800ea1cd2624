"""A program over all rows of own data that it can be judged by.

From the true start of a sequence it runs by itself. A piece that begins after a gap has a past that nobody
knows: there the program reads the values that are given, and is judged from where it needs none before them.
What it remembers and no row shows may be any of its states, until all that have said the right thing so far
say the same; where they do not, nobody can say what the program says, and the row is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Rows
from weights2code.data.parts import CONTEXT, Piece, batches, stretched
from weights2code.kernel.claims import rows_of
from weights2code.kernel.closing import Unsuited, Written, close
from weights2code.language import Domain, Recurrence, Var, definition_variables, expression_of
from weights2code.language.machine_text import machine_text
from weights2code.language.sums import Unwritten

#: Values of the variables that carry the past, a row a state.
States = dict[Var, np.ndarray]
#: Transitions that are gone through to find the states of a program.
TRANSITIONS = 100_000
#: Values of all states along a piece that are computed at most.
MOST_VALUES = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What a program says about rows.

    Parameters
    ----------
    answers : its outputs, `nan` where nobody can say.
    judged : the rows that it is judged by.
    lost : how many are not, since what it remembers there is not known.
    seen, transitions : of what it may do next, by what it remembers and what it reads, how much the rows
        show, and how much there is; 0 if it remembers nothing, or without end.
    """

    answers: np.ndarray
    judged: np.ndarray
    lost: int
    seen: int = 0
    transitions: int = 0


def reachable_states(
    machine: Recurrence, domains: tuple[Domain, ...], most: int = TRANSITIONS
) -> States | None:
    """What every variable of the past may hold after some inputs, a row a state; None if that has no end in
    sight, or looks something up."""
    if machine.retrieves():
        return None
    try:
        rows = rows_of(domains)
        alone = Written(machine_text(replace(machine, outputs=()), floats=True))
        found = close(alone, alone, rows, 0, most)
    except (Unsuited, Unwritten, TypeError):
        return None
    if found.outcome != "closed":
        return None
    table = np.array([state for state, _ in found.states], dtype=float).reshape(len(found.states), -1)
    return dict(zip(machine.state(), table.T, strict=True))


def over_all(
    program: Recurrence,
    rows: Rows,
    domains: tuple[Domain, ...],
    *,
    near: float,
    cut: bool = False,
    one_step: bool = False,
) -> Told:
    """Run a program over all rows.

    Parameters
    ----------
    near : answers that are off by less than this are right.
    cut : long pieces may be run in stretches, each from its given past.
    one_step : give the true past outputs at every position, instead of its own.
    """
    program = program.live()
    hidden = tuple(name for name in program.depths() if name not in (*program.inputs, *program.outputs))
    remembers, depth = bool(hidden) or program.retrieves(), max(program.depths().values(), default=0)
    states = reachable_states(program, domains) if hidden else None
    wider = replace(program, outputs=(*program.outputs, *hidden))
    known = replace(rows, y=np.pad(rows.y, ((0, 0), (0, len(hidden)))))
    found, judged, lost = np.full(known.y.shape, np.nan), np.zeros(len(known.y), bool), 0
    pieces = []
    for i, (length, begins) in enumerate(zip(rows.lengths.tolist(), rows.begins.tolist(), strict=True)):
        piece = Piece(i, 0, length, 0 if begins else min(depth, length))
        pieces += stretched(piece, max(depth, CONTEXT)) if cut and not remembers else [piece]
    with np.errstate(all="ignore"):
        for places, part in batches(known, [p for p in pieces if not remembers or rows.begins[p.sequence]]):
            scored = part.scored
            machine, until = (program, part.lengths) if one_step else (wider, part.given)
            answers = machine.run(part.x, part.y, until)
            here = places[scored[part.valid]]
            found[here, : answers.shape[2]], judged[here] = answers[scored], True
        for piece in (p for p in pieces if remembers and not rows.begins[p.sequence]):
            ((places, part),) = batches(known, [piece])
            if states is None:
                lost += max(0, len(places) - depth)
                continue
            answers, there = _from_any_state(wider, hidden, states, part.x[0], part.y[0], depth, near)
            found[places[there]], judged[places[there]] = answers[there], True
            lost += max(0, len(places) - depth - int(there.sum()))
    told = Told(found[:, : rows.y.shape[1]], judged, lost)
    if states is None:
        return told
    seen, transitions = _transitions(program, hidden, states, replace(known, y=found), domains)
    return replace(told, seen=seen, transitions=transitions)


def _from_any_state(
    program: Recurrence,
    hidden: tuple[str, ...],
    states: States,
    x: np.ndarray,
    y: np.ndarray,
    depth: int,
    near: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Answers (T, outputs) after a gap, and where all states that were right so far agree on them.

    The visible past is given; of what is hidden every state is tried that goes with it. Where none is right
    any longer, the last one that was goes on.
    """
    names = (*program.inputs, *program.outputs)
    table = np.concatenate([x, y], 1)
    if len(table) <= depth:
        return y, np.zeros(len(y), bool)
    visible = [states[v] == table[depth - v.lag, names.index(v.name)] for v in states if v.name not in hidden]
    carried = [v for v in states if v.name in hidden]
    fits = np.logical_and.reduce(visible) if visible else np.ones(len(states[carried[0]]), bool)
    fits = fits if fits.any() else np.ones_like(fits)
    begun = np.unique(np.stack([states[v][fits] for v in carried], 1), axis=0)
    end = min(len(y), max(depth, MOST_VALUES // len(begun)))
    known = np.repeat(y[None, :end], len(begun), 0)
    for v, values in zip(carried, begun.T, strict=True):
        known[:, depth - v.lag, program.outputs.index(v.name)] = values
    answers = program.run(np.repeat(x[None, :end], len(begun), 0), known, depth)
    shown = len(program.outputs) - len(hidden)
    right = np.asarray((np.abs(answers - y[None, :end])[..., :shown] < near).all(2))
    right[:, :depth] = True
    so_far = np.logical_and.accumulate(right, 1)
    alive = np.concatenate([np.ones((len(begun), 1), bool), so_far[:, :-1]], 1)
    best = answers[int(so_far.sum(1).argmax())]
    agree = (answers[..., :shown] == best[:, :shown]).all(2)
    there = np.pad((agree | ~alive).all(0)[depth:], (depth, len(y) - end))
    return np.concatenate([best, y[end:]]), there


def _transitions(
    program: Recurrence, hidden: tuple[str, ...], states: States, rows: Rows, domains: tuple[Domain, ...]
) -> tuple[int, int]:
    """How many pairs of what is remembered and what is read the rows show, and how many there are."""
    carried = [v for v in states if v.name in hidden]
    read = {
        variable.name
        for step in program.steps
        for variable in definition_variables(step.definition)
        if variable.lag == 0
    }
    places = [i for i, name in enumerate(program.inputs) if name in read]
    kinds = np.unique(np.stack([states[v] for v in carried], 1), axis=0)
    inputs = int(np.prod([domains[i].size for i in places], dtype=float))
    first = rows.y.shape[1] - len(hidden)
    deepest = max(v.lag for v in carried)
    columns = [np.roll(rows.y[:, first + hidden.index(v.name)], v.lag) for v in carried]
    table = np.stack([*columns, *(rows.x[:, i] for i in places)], 1)
    starts = np.repeat(np.cumsum(rows.lengths) - rows.lengths, rows.lengths)
    later = (np.arange(len(table)) - starts >= deepest) & ~np.isnan(table).any(1)
    return len(np.unique(table[later], axis=0)), len(kinds) * inputs


def size_of(program: Recurrence) -> int:
    """How many parts the formulas of a program have."""
    return sum(expression_of(step.definition).size() for step in program.live().steps)
