"""What lies before the start: usual values, simplest first, or unusual ones, which the data call for.

A balance begins at what was in the account, a forecast with the first value itself. The data show both: the
first outputs of true starts. A number is solved for, and rounded as far as the data allow; several at once,
or those of inputs, are looked for among round numbers, by how many of the first outputs come out. Where no
number will do, the first outputs may follow a formula of the first inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count, islice, product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Const, Domain, Expr, Op, Recurrence, Start, Step, Var, op
from weights2code.rules.assembly import Assembly
from weights2code.rules.same_at_lags import as_lines
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.verify.residuals import rounding

#: Whole-number outputs with at most this many values are tried one after the other.
MOST_VALUES = 64
#: Of a variable inside a rule, so many values are tried before the start.
MOST_LEVELS = 8
#: What was not computed yet is one of these; a test that stands for 1 or -1 is neither half way.
DELAYED = (0.0, 1.0, -1.0, 0.5)
#: Steps of the secant method, and the digits and the relative error that what it finds may have.
SECANT_STEPS = 8
MOST_DIGITS = 12
EXACT = 1e-9
#: Values that are tried at a time of each variable before the start, how often all of them are gone through,
#: and how often the steps between them are made ten times finer.
TRIED, ROUNDS, FINER = 100, 3, 3
#: Of real outputs, the share of their spread that may be missed.
NEAR = 1e-3
#: True starts that a formula of the first position needs, and seconds to find it.
FEWEST_STARTS = 8
MOST_STARTS = 500
EFFORT = 1.0


def usual_starts(draft: Recurrence, problem: Problem, assembly: Assembly) -> Iterator[Recurrence]:
    """The draft with usual values before the start for all that it looks back at, simplest first."""
    names = sorted(set(draft.depths()) & {*problem.inputs, *problem.outputs, *assembly.crystallised()})
    copied = copied_outputs(draft) & {*problem.output_categories}
    choices = [
        # no text before the start would be an answer where it is copied, so that comes last
        enumerate(sorted(start_candidates(name, problem, assembly), key=lambda v: name in copied and v == 0))
        for name in names
    ]
    for trial in sorted(product(*choices), key=lambda trial: sum(i for i, _ in trial)):
        yield started(draft, {name: value for name, (_, value) in zip(names, trial, strict=True)})


def copied_outputs(draft: Recurrence) -> set[str]:
    """Outputs that may say again what one of them said before."""

    def answers(expr: Expr) -> Iterator[Expr]:
        if isinstance(expr, Op) and expr.name == "where":
            yield from answers(expr.args[1])
            yield from answers(expr.args[2])
        else:
            yield expr

    return {
        said.name
        for step in draft.steps
        if step.name in draft.outputs and isinstance(step.definition, Expr)
        for said in answers(step.definition)
        if isinstance(said, Var) and said.lag
    }


def start_candidates(name: str, problem: Problem, assembly: Assembly) -> list[Start]:
    """Zero, the first value repeated, one, nothing at all, what training found, the ends of the domain."""
    if name in assembly.crystallised():
        return crisp_starts(name, problem, assembly)
    found: list[Start] = [0.0]
    if name in problem.inputs:
        found.append("first")
    known = problem.categories.get(name)
    if known:
        return [*found, *_texts_of(name, problem)[:MOST_VALUES]]
    found += [1.0, math.inf, -math.inf]
    learned = assembly.start.get(name, 0.0)
    if isinstance(learned, float) and math.isfinite(learned):
        found += [float(round(learned)), round(learned, 3)]
    if name in problem.inputs:
        domain = problem.domains[problem.inputs.index(name)]
    else:
        domain = problem.output_domains[problem.outputs.index(name)]
    found += [-1.0, *_round_ends(domain), float(domain.low), float(domain.high)]
    return list(dict.fromkeys(found))


def _round_ends(domain: Domain) -> list[float]:
    """Of reals the round numbers next to the ends that were seen: a draw hardly ever is the end itself."""
    if domain.discrete or not 0 < domain.high - domain.low < math.inf:
        return []
    digits = -math.floor(math.log10(NEAR * (domain.high - domain.low)))
    return [round(float(end), max(0, digits - 1)) for end in (domain.low, domain.high)]


def _texts_of(name: str, problem: Problem) -> list[float]:
    """The texts that a column holds: those that it shares a list with hold others too."""
    part = problem.training
    held = part.x if name in problem.inputs else part.y
    row = (problem.inputs if name in problem.inputs else problem.outputs).index(name)
    return [float(code) for code in np.unique(held[..., row][part.valid])]


def crisp_starts(name: str, problem: Problem, assembly: Assembly) -> list[Start]:
    """Zero, what the formula gives where there is nothing, and the values that it takes, near ones first."""
    recurrence = Recurrence(problem.inputs + problem.outputs, tuple(assembly.steps), ())
    nothing = np.zeros((1, 1, len(recurrence.inputs)))
    sequences = problem.validation.take(slice(0, MOST_STARTS))
    with np.errstate(all="ignore"):
        empty = recurrence.trace(nothing)[name]
        taken = np.unique(recurrence.trace(np.concatenate([sequences.x, sequences.y], 2))[name])
    levels = sorted(taken, key=abs)[:MOST_LEVELS] if len(taken) <= MOST_VALUES else []
    return list(dict.fromkeys(float(value) for value in (0.0, *empty[0], *levels)))


def likeliest_start(
    draft: Recurrence,
    problem: Problem,
    assembly: Assembly,
    error: Callable[[Recurrence], float],
    *,
    enough: float = 0.0,
    most: int,
) -> Recurrence:
    """The first usual start whose error is `enough`, else the one with the least of at most so many."""
    best: tuple[float, Recurrence] | None = None
    for candidate in islice(usual_starts(draft, problem, assembly), most):
        found = error(candidate)
        if best is None or found < best[0]:
            best = found, candidate
        if found <= enough:
            break
    return draft if best is None else best[1]


def unusual_start(
    draft: Recurrence, problem: Problem, check: Callable[[Recurrence], bool]
) -> Recurrence | None:
    """The draft with start values of its outputs, or a first position, that pass the check; None if none."""
    looks_back = [name for name in (*problem.outputs, *problem.inputs) if name in draft.depths()]
    early = problem.training.take(np.flatnonzero(problem.training.given == 0)[:MOST_STARTS])
    if not looks_back or not len(early):
        return None
    outputs = [name for name in looks_back if name in problem.outputs]
    for candidate in _with_numbers(draft, problem, early, outputs):
        if check(candidate):
            return candidate
    candidate = numbers_together(draft, problem, early, looks_back)
    if candidate is not None and check(candidate):
        return candidate
    if not outputs:
        return None
    candidate = with_first_rule(draft, problem, early)
    return candidate if candidate is not None and check(candidate) else None


def delayed_starts(draft: Recurrence, problem: Problem) -> Iterator[Recurrence]:
    """The draft with what it computes from the past alone as steps that have start values of their own.

    What was computed some positions ago was not computed at all before the start: then it is zero, or another
    usual number, whatever the formula would give. So with a line that is summed up at several lags
    (`same_at_lags`).
    """
    early = problem.training.take(np.flatnonzero(problem.training.given == 0)[:MOST_STARTS])
    yield from as_lines(draft, early)
    delayed = with_delayed_parts(draft)
    names = {step.name for step in delayed.steps} - {step.name for step in draft.steps}
    if not names:
        return
    back = sorted(set(delayed.depths()) & {*problem.inputs, *problem.outputs})
    for value in DELAYED:
        for rest in (0.0, 1.0):
            yield started(delayed, dict.fromkeys(back, rest) | dict.fromkeys(names, value))


def with_delayed_parts(draft: Recurrence) -> Recurrence:
    """Every largest part that reads nothing of the present is a step of its own, read some positions back."""
    taken = {*draft.inputs, *(step.name for step in draft.steps)}
    parts: dict[Expr, str] = {}

    def lagged(node: Expr) -> Expr:
        back = min((variable.lag for variable in node.variables()), default=0)
        if isinstance(node, Op) and back and not {v.name for v in node.variables()} & {*draft.outputs}:
            now = node.shift(-back)
            parts.setdefault(now, next(f"d{i}" for i in count() if f"d{i}" not in taken | {*parts.values()}))
            return Var(parts[now], back)
        return Op(node.name, tuple(map(lagged, node.args))) if isinstance(node, Op) else node

    steps: list[Step] = []
    for step in draft.steps:
        if step.name in draft.outputs and isinstance(step.definition, Expr):
            step = Step(step.name, lagged(step.definition))
        steps.append(step)
    own = [Step(name, part) for part, name in parts.items()]
    first = next((i for i, step in enumerate(steps) if step.name in draft.outputs), len(steps))
    return replace(draft, steps=(*steps[:first], *own, *steps[first:]))


def started(draft: Recurrence, values: Mapping[str, Start]) -> Recurrence:
    """The draft with other start values; zero needs no mention."""
    start = {**draft.start, **values}
    return replace(draft, start={name: value for name, value in start.items() if value != 0})


def _with_numbers(
    draft: Recurrence, problem: Problem, early: Sequences, names: list[str]
) -> Iterator[Recurrence]:
    """Start values of the outputs: every whole number that occurs, or what the first outputs call for."""
    domains = [problem.output_domains[problem.outputs.index(name)] for name in names]
    for name, domain in zip(names, domains, strict=True):
        if domain.discrete and domain.high - domain.low < MOST_VALUES:
            yield from (started(draft, {name: float(value)}) for value in domain.values())
    many = [d for d in zip(names, domains, strict=True) if not d[1].discrete or d[1].size > MOST_VALUES]
    solved = {name: (_solve(draft, problem, early, name), domain.discrete) for name, domain in many}
    values = {name: (value, whole) for name, (value, whole) in solved.items() if value is not None}
    if values:
        yield started(draft, {n: round(v) if w else _rounded(v, early.y) for n, (v, w) in values.items()})
        yield started(draft, {name: value for name, (value, _) in values.items()})


def numbers_together(
    draft: Recurrence, problem: Problem, early: Sequences, names: list[str]
) -> Recurrence | None:
    """The draft with start values, one variable after the other, that make the first outputs right.

    Each gets the value with which most of them are: of texts and few whole numbers any, else round numbers of
    its range, and then finer ones around the best. None if some stay wrong.
    """
    deepest = min(max(draft.depths().values()), early.x.shape[1])
    early = replace(early, x=early.x[:, :deepest], y=early.y[:, :deepest])
    scored = early.scored[:, :deepest]
    near = NEAR * np.maximum(np.std(problem.training.y[problem.training.scored], axis=0), 1e-9)
    near = np.where([domain.discrete for domain in problem.output_domains], NEAR, near)
    wanted = int(scored.sum()) * len(problem.outputs)

    def right(trial: Mapping[str, Start]) -> int:
        with np.errstate(all="ignore"):
            missed = np.abs(started(draft, trial).run(early.x) - early.y)
        return int((missed <= near)[scored].sum())

    domains = dict(
        zip((*problem.inputs, *problem.outputs), (*problem.domains, *problem.output_domains), strict=True)
    )
    found: dict[str, Start] = {name: draft.start.get(name, 0.0) for name in names}
    best = right(found)
    for _ in range(ROUNDS):
        before = best
        for name in names:
            domain = domains[name]
            step, values = _spread(domain)
            for _ in range(FINER):
                for value in values:
                    count = right(found | {name: value})
                    if count > best:
                        best, found = count, found | {name: value}
                step /= 10
                at = found[name]
                if best == wanted or isinstance(at, str) or (step < 1 and domain.discrete):
                    break
                values = [round(at + i * step, MOST_DIGITS) for i in range(-9, 10) if i]
        if best == wanted:
            return started(draft, found)
        if best == before:
            break
    return None


def _spread(domain: Domain) -> tuple[float, list[float]]:
    """The distance of round numbers in a domain, and these numbers, the roundest first."""
    low, high = float(domain.low), float(domain.high)
    if domain.discrete and domain.size <= TRIED:
        return 1.0, [float(value) for value in domain.values()]
    step = 10.0 ** (math.ceil(math.log10(max(high - low, 1e-300))) - 2)
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    ordered = sorted(places, key=lambda place: (place % 10 != 0, abs(place)))
    return step, [round(place * step, MOST_DIGITS) for place in ordered]


def _rounded(value: float, outputs: np.ndarray) -> float:
    """The value with as few digits as the digits of the data let it have."""
    spread = float(np.std(outputs))
    unsure = max(rounding(outputs.ravel(), spread), EXACT * max(abs(value), spread))
    for digits in range(MOST_DIGITS):
        short = float(f"{value:.{digits}e}")
        if abs(short - value) <= unsure:
            return short
    return value


def _solve(draft: Recurrence, problem: Problem, early: Sequences, name: str) -> float | None:
    """The start value from which the first outputs come out, by the secant method on their median."""
    row = problem.outputs.index(name)
    wanted = early.y[:, 0, row]

    def error(value: float) -> float:
        with np.errstate(all="ignore"):
            return float(np.median(started(draft, {name: value}).run(early.x[:, :1])[:, 0, row] - wanted))

    before, now = 0.0, float(np.median(wanted)) or 1.0
    wrong_before, wrong = error(before), error(now)
    for _ in range(SECANT_STEPS):
        if not np.isfinite(wrong) or wrong == wrong_before:
            break
        before, now, wrong_before = now, now - wrong * (now - before) / (wrong - wrong_before), wrong
        wrong = error(now)
    return now if np.isfinite(now) and np.isfinite(wrong) else None


def with_first_rule(draft: Recurrence, problem: Problem, early: Sequences) -> Recurrence | None:
    """The draft with formulas of the first inputs for the first outputs."""
    if len(early) < FEWEST_STARTS:
        return None
    taken = {*draft.inputs, *(step.name for step in draft.steps)}
    counter = next(name for name in ("n", "position", "steps_so_far") if name not in taken)
    steps: list[Step] = [Step(counter, Var(counter, 1) + 1)]
    for step in draft.steps:
        if step.name not in problem.outputs or not isinstance(step.definition, Expr):
            steps.append(step)
            continue
        first = _first_formula(problem, early, problem.outputs.index(step.name))
        if first is None:
            return None
        steps.append(Step(step.name, op("where", Var(counter) > 1, step.definition, first)))
    return replace(draft, steps=tuple(steps))


def _first_formula(problem: Problem, early: Sequences, row: int) -> Expr | None:
    target = early.y[:, 0, row]
    if np.ptp(target) == 0:
        return Const(float(target[0]))
    front = search_over_texts(
        NativeEngine(),
        early.x[:, 0],
        target,
        variables=tuple(Var(name) for name in problem.inputs),
        domains=problem.domains,
        answer=problem.output_domains[row],
        tolerance=1e-6 * max(float(np.std(target)), 1e-12),
        effort=EFFORT,
    )
    return next((candidate.expr for candidate in front if candidate.exact), None)
