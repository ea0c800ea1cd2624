"""A hidden state that follows a real quantity: by steps of some size, outside a band, or as an extremum that
fades.

The size is a number that nobody knows. States of some sizes are computed, and the one is kept beside which
rows that are near each other have outputs that are the most alike; then others near it.
A formula of the outputs that is right on every row is what decides in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import Effort, time_is_up
from weights2code.graph import shifted
from weights2code.language import Expr, Var, maximum, minimum
from weights2code.memory.hidden import Memory
from weights2code.memory.quantities import Quantity
from weights2code.memory.real_answers import may_hide, unlike, with_answers
from weights2code.memory.updates import Update, followed

#: Rows that sizes are asked of first, and more exactly, and those that a formula is right on.
ROWS, MORE_ROWS, ALL_ROWS = 1_000, 6_000, 40_000
#: Kinds of states, and their sizes as shares of what the quantity ranges over.
KINDS = ("following", "in a band", "fading high", "fading low")
SIZES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
#: How much more alike outputs are beside a state than beside visible values alone, at least.
GAIN = 0.7
#: The same after which no other quantity is looked at; and how much outputs differ where nothing is hidden.
SURE, ENOUGH = 0.3, 0.02
#: How much two sizes that are equally likely may differ in that.
NOISE = 1.15
#: States that are asked more exactly, those that a formula is looked for, and sizes near one.
MOST_ASKED, MOST_TRIED, FINE = 4, 2, 60
#: Effort for quantities and for what follows, in seconds of a usual machine, and for a look at a state.
SCANNED, EFFORT, A_LOOK = 1.5, 3.0, 4e-3


def follower(problem: Problem) -> Memory | None:
    """A hidden state that follows a real quantity, and formulas of the outputs; None if there is none."""
    if len(problem.outputs) > 1 or not may_hide(problem):
        return None
    effort = Effort(EFFORT)
    few = problem.training.take(slice(0, max(1, ROWS // problem.length)))
    visible = _visible(few)
    alone = unlike(visible[few.scored], few.y[..., 0][few.scored])
    if alone <= ENOUGH:
        return None
    scores: list[tuple[float, Quantity, Update]] = []
    scanned = Effort(SCANNED)
    for formula in _quantities(problem):
        quantity = Quantity.of(formula, None, problem.inputs, few.x)
        width = float(np.ptp(quantity.values))
        made = [Update(kind, (share * width,)) for kind in KINDS for share in SIZES]
        if scanned.spent() or time_is_up() or any(one <= SURE * alone for one, _, _ in scores):
            break
        scanned.spend(A_LOOK * len(made))
        found = _scores(few, quantity, made)
        scores += [(one, quantity, update) for one, update in zip(found, made, strict=True)]
    best: dict[tuple[Expr, str], tuple[float, Quantity, Update]] = {}
    for one in sorted(scores, key=lambda one: one[0]):
        best.setdefault((one[1].formula, one[2].kind), one)
    near = [one for one in best.values() if one[0] <= GAIN * alone][:MOST_ASKED]
    exact = sorted((_exact(problem, *one[1:], effort) for one in near), key=lambda one: one[0])
    for _, quantity, update in exact[:MOST_TRIED]:
        memory = with_answers(problem, lambda s, q=quantity, u=update: u.rule(s, q), 0.0, ALL_ROWS, effort)
        if memory is not None or effort.spent() or time_is_up():
            return memory
    return None


def _visible(sequences: Sequences) -> np.ndarray:
    """Inputs now and one step before, and the last outputs."""
    parts = [sequences.x, shifted(sequences.x, 1, 0.0), shifted(sequences.y, 1, 0.0)]
    return np.concatenate(parts, -1)


def _scores(part: Sequences, quantity: Quantity, made: list[Update]) -> list[float]:
    """How unlike outputs are of rows that are near in the state and the present inputs, with the last output
    or without; or in the last few states."""
    scored, target = part.scored, part.y[..., 0][part.scored]
    inputs, last = part.x[scored], shifted(part.y[..., 0], 1, 0.0)[scored]
    found: list[float] = []
    for own in followed(made, quantity):
        states = np.stack([shifted(own, lag, 0.0)[scored] for lag in range(3)], -1)
        ways = [states, np.column_stack([states[:, 0], inputs])]
        ways.append(np.column_stack([ways[-1], last]))
        found.append(min(unlike(rows, target) for rows in ways))
    return found


def _exact(
    problem: Problem, quantity: Quantity, update: Update, effort: Effort
) -> tuple[float, Quantity, Update]:
    """The same with the best size near its own, of the fewest digits where several are as good."""
    part = problem.training.take(slice(0, max(1, MORE_ROWS // problem.length)))
    quantity = quantity.elsewhere(problem.inputs, part.x)
    size = update.numbers[0]
    digits = max(0, 1 - int(np.floor(np.log10(size))))
    unit = 10.0**-digits
    first, last = int(np.floor(0.5 * size / unit)), int(np.ceil(1.7 * size / unit))
    if last - first > FINE:
        unit, first, last = unit * 10, first // 10, last // 10 + 1
    made = [Update(update.kind, (round(n * unit, 9),)) for n in range(max(first, 1), last + 1)]
    effort.spend(A_LOOK * len(made) * MORE_ROWS / ROWS)
    found = _scores(part, quantity, made)
    likely = [place for place, one in enumerate(found) if one <= NOISE * min(found)]
    place = min(likely, key=lambda place: (_digits(made[place].numbers[0]), found[place]))
    return found[place], quantity, made[place]


def _digits(number: float) -> int:
    return len(f"{number:g}".strip("0").replace(".", ""))


def _quantities(problem: Problem) -> Iterator[Expr]:
    """Real inputs and simple functions of them."""
    pairs = list(zip(problem.inputs, problem.domains, strict=True))
    real = [Var(name) for name, domain in pairs if not domain.discrete]
    columns = [Var(name) for name in problem.inputs]
    yield from real
    for a in real:
        yield from (a * a, abs(a)) if any(d.low < 0 for n, d in pairs if n == a.name) else (a * a,)
        yield from (a + Var(a.name, 1), a - Var(a.name, 1))
    for a, b in combinations(columns, 2):
        if a in real or b in real:
            yield from (a + b, a - b, abs(a - b), a * b, maximum(a, b), minimum(a, b))
