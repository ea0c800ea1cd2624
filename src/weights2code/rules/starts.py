"""What lies before the start: usual values, simplest first, or unusual ones, which the data call for.

A balance begins at what was in the account, a forecast with the first value itself. The data show both: the
first outputs of true starts. A number is solved for, or looked for among round ones, by how many of the first
outputs come out. Where no number will do, the first outputs may follow a formula of the first inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Const, Domain, Expr, Op, Recurrence, Start, Step, Var, op
from weights2code.language.recurrence import expression_of
from weights2code.rules.assembly import Reads
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.symbolic.snapping import simplest
from weights2code.verify.residuals import rounding

#: Whole-number outputs with at most this many values are tried one after the other.
MOST_VALUES = 64
#: Of a variable inside a rule, so many values are tried before the start.
MOST_LEVELS = 8
#: Steps of the secant method, and the relative error that what it finds may have.
SECANT_STEPS, EXACT = 8, 1e-9
#: Values that are tried at a time of each variable before the start, how often all of them are gone through,
#: how often the steps between them are made ten times finer, and the digits that they have at most.
TRIED, ROUNDS, FINER, MOST_DIGITS = 100, 3, 3, 12
#: Of real outputs, the share of their spread that may be missed.
NEAR = 1e-3
#: True starts that a formula of the first position needs, and the effort to find it.
FEWEST_STARTS, MOST_STARTS, EFFORT = 8, 500, 1.0


def known_domains(problem: Problem) -> dict[str, Domain]:
    """What outputs and inputs may hold."""
    names = (*problem.outputs, *problem.inputs)
    return dict(zip(names, (*problem.output_domains, *problem.domains), strict=True))


# -- usual values --------------------------------------------------------------------------------------------


def usual_starts(draft: Recurrence, problem: Problem, assembly: Reads) -> Iterator[Recurrence]:
    """The draft with usual values before the start for all that it looks back at, simplest first."""
    names = sorted(set(draft.depths()) & {*problem.inputs, *problem.outputs, *assembly.crystallised()})
    copied = {
        said.name
        for step in draft.steps
        for node in expression_of(step.definition).walk()
        if step.name in problem.output_categories and isinstance(node, Op) and node.name == "where"
        for said in node.args[1:]
        if isinstance(said, Var) and said.lag
    }
    choices = [
        # no text before the start would be an answer where it is copied, so that comes last
        enumerate(sorted(start_candidates(name, problem, assembly), key=lambda v: name in copied and v == 0))
        for name in names
    ]
    for trial in sorted(product(*choices), key=lambda trial: sum(i for i, _ in trial)):
        yield started(draft, {name: value for name, (_, value) in zip(names, trial, strict=True)})


def started(draft: Recurrence, values: Mapping[str, Start]) -> Recurrence:
    """The draft with other start values; zero needs no mention."""
    start = {**draft.start, **values}
    return replace(draft, start={name: value for name, value in start.items() if value != 0})


def start_candidates(name: str, problem: Problem, assembly: Reads) -> list[Start]:
    """Zero, the first value repeated, one, nothing at all, what training found, the ends of the domain; of
    what an operator stands for, what its formula gives where there is nothing, and what it takes."""
    if name in assembly.crystallised():
        return _crisp_starts(name, problem, assembly)
    domain, learned = known_domains(problem)[name], assembly.start.get(name, 0.0)
    found: list[Start] = [0.0, "first"] if name in problem.inputs else [0.0]
    if problem.categories.get(name):  # those that it shares a list with hold other texts too
        rows, part = (problem.inputs if name in problem.inputs else problem.outputs), problem.training
        held = (part.x if name in problem.inputs else part.y)[..., rows.index(name)]
        return [*found, *np.unique(held[part.valid])[:MOST_VALUES].tolist()]
    found += [1.0, math.inf, -math.inf]
    if isinstance(learned, float) and math.isfinite(learned):
        found += [float(round(learned)), round(learned, 3)]
    found.append(-1.0)
    if not domain.discrete and 0 < domain.high - domain.low < math.inf:
        # a draw hardly ever is the end itself, which is a round number next to it
        digits = -math.floor(math.log10(NEAR * (domain.high - domain.low)))
        found += [round(float(end), max(0, digits - 1)) for end in (domain.low, domain.high)]
    return list(dict.fromkeys([*found, float(domain.low), float(domain.high)]))


def _crisp_starts(name: str, problem: Problem, assembly: Reads) -> list[Start]:
    recurrence = Recurrence(problem.inputs + problem.outputs, tuple(assembly.steps), ())
    sequences = problem.validation.take(slice(0, MOST_STARTS))
    with np.errstate(all="ignore"):
        empty = recurrence.trace(np.zeros((1, 1, len(recurrence.inputs))))[name]
        taken = np.unique(recurrence.trace(np.concatenate([sequences.x, sequences.y], 2))[name])
    levels = sorted(taken, key=abs)[:MOST_LEVELS] if len(taken) <= MOST_VALUES else []
    return list(dict.fromkeys(float(value) for value in (0.0, *empty[0], *levels)))


# -- unusual values ------------------------------------------------------------------------------------------


def unusual_starts(draft: Recurrence, problem: Problem) -> Iterator[Recurrence]:
    """The draft with start values that the first outputs call for, or with a first position of its own."""
    early = problem.training.take(np.flatnonzero(problem.training.given == 0)[:MOST_STARTS])
    if not len(early) or not draft.depths():
        return
    near = NEAR * np.maximum(np.std(problem.training.y[problem.training.scored], axis=0), 1e-9)
    near = np.where([domain.discrete for domain in problem.output_domains], NEAR, near)
    yield from numbers_together(draft, known_domains(problem), early, near)
    if any(name in problem.outputs for name in draft.depths()):
        yield from with_first_rule(draft, problem, early)


def numbers_together(
    draft: Recurrence, domains: Mapping[str, Domain], early: Sequences, near: np.ndarray
) -> Iterator[Recurrence]:
    """The draft with start values, one variable after the other, that make the first outputs right.

    Each gets the value with which most of them are: what they call for, of texts and few whole numbers any,
    else round numbers of its range, and then finer ones around the best. None if some stay wrong.
    """
    depths = draft.depths()
    deepest = min(max(depths.values()), early.x.shape[1])
    scored = early.scored[:, :deepest]
    wanted = int(scored.sum()) * len(draft.outputs)

    def missed(trial: Mapping[str, Start], positions: int) -> np.ndarray:
        with np.errstate(all="ignore"):
            return started(draft, trial).run(early.x[:, :positions]) - early.y[:, :positions]

    def right(trial: Mapping[str, Start]) -> int:
        return int((np.abs(missed(trial, deepest)) <= near)[scored].sum())

    def called_for(trial: Mapping[str, Start], name: str) -> Iterator[float]:
        """What makes the first of each output right, rounded as far as the digits of the data allow."""
        for row in [draft.outputs.index(name)] if name in draft.outputs else range(len(draft.outputs)):
            given = early.y[..., row]
            solved = _solve(
                lambda value, row=row: float(np.median(missed({**trial, name: value}, 1)[:, 0, row])),
                float(np.median(given[:, 0])) or 1.0,
            )
            if solved is not None:
                spread = float(np.std(given))
                unsure = max(rounding(given.ravel(), spread), EXACT * max(abs(solved), spread))
                yield float(round(solved) if domains[name].discrete else simplest(solved, unsure))
                yield solved

    found: dict[str, Start] = {name: draft.start.get(name, 0.0) for name in domains if name in depths}
    best, before = right(found), -1
    for _ in range(ROUNDS):
        if best == before:
            return
        before = best
        for name in found:
            domain = domains[name]
            solved = [] if domain.categories else [*called_for(found, name)]
            step, values = _spread(domain)
            few = domain.discrete and domain.size <= TRIED
            values = [*values, *solved] if few else [*solved, *values]
            for _ in range(1 if few else FINER):
                for value in values:
                    count = right(found | {name: value})
                    if count > best:
                        best, found = count, found | {name: value}
                step, at = step / 10, found[name]
                if best == wanted or isinstance(at, str) or (domain.discrete and step < 1):
                    break
                values = [round(at + i * step, MOST_DIGITS) for i in range(-9, 10) if i]
            if best == wanted:
                yield started(draft, found)
                return


def _spread(domain: Domain) -> tuple[float, list[float]]:
    """The distance of round numbers in a domain, and these numbers, the roundest first."""
    low, high = float(domain.low), float(domain.high)
    if domain.discrete and domain.size <= TRIED:
        return 1.0, [float(value) for value in domain.values()]
    step = 10.0 ** (math.ceil(math.log10(max(high - low, 1e-300))) - 2)
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    ordered = sorted(places, key=lambda place: (place % 10 != 0, abs(place)))
    return step, [round(place * step, MOST_DIGITS) for place in ordered]


def _solve(error: Callable[[float], float], now: float) -> float | None:
    """Where an error vanishes, by the secant method."""
    before, wrong_before, wrong = 0.0, error(0.0), error(now)
    for _ in range(SECANT_STEPS):
        if not np.isfinite(wrong) or wrong == wrong_before:
            break
        before, now, wrong_before = now, now - wrong * (now - before) / (wrong - wrong_before), wrong
        wrong = error(now)
    return now if math.isfinite(wrong) else None


def with_first_rule(draft: Recurrence, problem: Problem, early: Sequences) -> Iterator[Recurrence]:
    """The draft with formulas of the first inputs for the first outputs, if there are."""
    if len(early) < FEWEST_STARTS:
        return
    taken = {*draft.inputs, *(step.name for step in draft.steps)}
    counter = next(name for name in ("n", "position", "steps_so_far") if name not in taken)
    steps: list[Step] = [Step(counter, Var(counter, 1) + 1)]
    for step in draft.steps:
        definition = step.definition
        if step.name in problem.outputs and isinstance(definition, Expr):
            first = _first_formula(problem, early, problem.outputs.index(step.name))
            if first is None:
                return
            definition = op("where", Var(counter) > 1, definition, first)
        steps.append(Step(step.name, definition))
    yield replace(draft, steps=tuple(steps))


def _first_formula(problem: Problem, early: Sequences, row: int) -> Expr | None:
    target = early.y[:, 0, row]
    if np.ptp(target) == 0:
        return Const(float(target[0]))
    front = search_over_texts(
        early.x[:, 0],
        target,
        variables=tuple(Var(name) for name in problem.inputs),
        domains=problem.domains,
        answer=problem.output_domains[row],
        tolerance=1e-6 * max(float(np.std(target)), 1e-12),
        effort=EFFORT,
    )
    return next((candidate.expr for candidate in front if candidate.exact), None)
