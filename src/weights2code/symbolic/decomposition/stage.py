"""Functional decomposition as a stage of the search: y = F(s(A), rest), one step of a rule at a time.

Splits of the variables say which of them act through few levels, separators write those levels as a short
formula, and what is left of y in the new variables is asked at a glance and split again. What is a function
of some variables is often the same function at other lags: then it replaces them there too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.effort import Effort
from weights2code.language import OPERATORS, Expr, Var
from weights2code.symbolic.decomposition.copies import copied
from weights2code.symbolic.decomposition.outer_steps import OuterStep, outer_steps
from weights2code.symbolic.decomposition.separators import Separator, separators
from weights2code.symbolic.decomposition.splits import examples, numbered, outermost, splits
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.idle_operators import without_idle
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import GLANCE, Search

#: Variables and steps of a rule, at most.
_MOST_VARIABLES, _DEEPEST = 9, 4
#: Splits whose formulas are looked for, as many at a time; formulas of each; formulas followed of each batch.
_SPLITS, _BATCH, _EACH, _FOLLOWED = 12, 6, 2, 3
#: A formula misses nothing if it could merge no more than so many bits; a short one has so many nodes.
_MISSING, _SHORT = 0.2, 6
#: What the last step of all counts for, in nodes: it merges most, whatever it is.
_LAST = 5.0
#: Shares of the effort that is left: for all chains of steps, for what follows from one step, and for the
#: formulas of one split.
_CHAINS, _FOLLOW, _FORMULAS = 0.6, 0.5, 0.06
#: The same for what a last step leaves.
_UNDONE = 0.7
#: Without a variable that does not matter at most this share of the rows is left.
_FEWER = 0.7
#: With less effort nothing is begun; the least for the formulas of a split.
_LEAST, _LEAST_FORMULAS = 0.02, 0.08
#: What steps are not made of: a rounded root tells small numbers apart in any way at all.
_NOT_IN_STEPS = frozenset({"sqrt"})
#: What ends a chain at a glance.
_GLANCE = frozenset({*GLANCE, "trees of 5 nodes", "comparisons of trees"})
_ONE = frozenset({*_GLANCE, "extrema of two", "branches", "table"})


@dataclass(frozen=True, slots=True)
class Step:
    """New variables, what they stand for, and the variables that stay beside them."""

    parts: dict[Var, Expr]
    kept: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """What some steps leave of the problem, and what its variables stand for in those of the whole."""

    problem: Problem
    meaning: dict[Var, Expr]


@dataclass
class Decomposition:
    """All chains of steps that were tried on one problem."""

    search: Search
    seen: set[frozenset[Expr]] = field(default_factory=set)

    def explore(self, chain: Chain, depth: int) -> bool:
        """Whether one more step, or several, led to something exact.

        Functions that occur at several lags are told by the rows: a glance at each comes before all else.
        """
        if self.undo(chain, outer_steps(chain.problem, 1.0), depth):
            return True
        alike, done = self.copies(chain)
        if done or any(self.follow(chain, new, depth, glance=False) for new in alike):
            return True
        for step in _steps(chain.problem):
            effort = chain.problem.effort
            if effort.left < _LEAST or effort.spent():
                return False
            new = self.after(chain, step)
            if new is not None and self.follow(chain, new, depth):
                return True
        return False

    def undo(self, chain: Chain, steps: Iterator[OuterStep], depth: int) -> bool:
        """Whether a last step could be taken off, and what it leaves be written."""
        for step in steps:
            written: list[Expr] = []
            for problem in step.problems:
                effort = chain.problem.effort
                if effort.left < _LEAST or effort.spent():
                    return False
                expr = self.written(problem, _UNDONE * effort.left, depth)
                effort.spend(_UNDONE * effort.left - max(problem.effort.left, 0.0))
                if expr is None:
                    break
                written.append(expr)
            else:
                expr = step.whole(*written).substitute(chain.meaning)
                candidate = self.search.collector.offer(without_idle(self.search.problem, expr))
                if candidate is not None and candidate.exact:
                    return True
        return False

    def written(self, problem: Problem, effort: float, depth: int) -> Expr | None:
        """What a last step left, at a glance or in further steps."""
        problem.effort.left = effort
        found = Collector(problem)
        below = Decomposition(Search(problem, found, self.search.stages))
        chain = Chain(problem, {name: name for name in problem.variables})
        if not below.glance(chain) and depth < _DEEPEST and _suits(problem):
            below.explore(chain, depth + 1)
        return found.exact.expr if found.exact is not None and found.exact.kind == "formula" else None

    def copies(self, chain: Chain) -> tuple[list[Chain], bool]:
        """What functions at several lags leave, and whether one of them was written at a glance."""
        steps = _copies(chain.problem)
        alike = [new for step in steps if (new := self.after(chain, step)) is not None]
        written = [self.follow(chain, new, _DEEPEST) for new in alike]  # all: the shortest is wanted
        return alike, any(written)

    def after(self, chain: Chain, step: Step) -> Chain | None:
        """What a step leaves; None if it was tried before, or the rows contradict it."""
        meaning = {name: expr.substitute(chain.meaning) for name, expr in step.parts.items()}
        meaning |= {name: chain.meaning[name] for name in step.kept}
        mark = frozenset(meaning.values())
        if mark in self.seen:
            return None
        self.seen.add(mark)
        problem = _reduced(chain.problem, step, _FOLLOW * chain.problem.effort.left)
        return None if problem is None else Chain(problem, meaning)

    def follow(self, chain: Chain, new: Chain, depth: int, glance: bool = True) -> bool:
        """Whether what a step left can be written, at a glance or in further steps."""
        if chain.problem.effort.spent():
            return False
        allowed = new.problem.effort.left
        done = glance and self.glance(new)
        if not done and depth < _DEEPEST and _suits(new.problem):
            done = self.explore(new, depth + 1)
        chain.problem.effort.spend(allowed - max(new.problem.effort.left, 0.0))
        return done

    def glance(self, chain: Chain) -> bool:
        problem, found = chain.problem, Collector(chain.problem)
        self.search.some(problem, found, _ONE if len(problem.variables) == 1 else _GLANCE)
        return self.offer(chain, found)

    def offer(self, chain: Chain, found: Collector) -> bool:
        if found.exact is None:
            return False
        # a table of one variable holds all that it can be asked for
        kind = "formula" if len(chain.problem.variables) == 1 else found.exact.kind
        whole = self.search.problem
        expr = without_idle(whole, found.exact.expr.substitute(chain.meaning))
        candidate = self.search.collector.offer(expr, kind)
        return candidate is not None and candidate.exact


def decomposition_stage(search: Search) -> None:
    """Chains of steps that end at a glance; the first that leads to something exact is enough."""
    whole = search.problem
    if not _suits(whole):
        return
    allowed = _CHAINS * whole.effort.left
    operators = (frozenset(OPERATORS) if whole.operators is None else whole.operators) - _NOT_IN_STEPS
    problem = replace(whole, effort=Effort(allowed), operators=operators)
    Decomposition(search).explore(Chain(problem, {name: name for name in whole.variables}), 1)
    whole.effort.spend(allowed - max(problem.effort.left, 0.0))


def _suits(problem: Problem) -> bool:
    return 2 <= len(problem.variables) <= _MOST_VARIABLES


def _copies(problem: Problem) -> Iterator[Step]:
    """One function in place of its variables at several lags."""
    for copies in copied(problem):
        parts = {_new(problem, lag): expr for lag, expr in zip(copies.lags, copies.exprs, strict=True)}
        yield Step(parts, _without(problem, set(copies.gone)))


def _steps(problem: Problem) -> Iterator[Step]:
    """Steps to go on with, the most promising first; before all others, to leave out what does not matter."""
    for variable in problem.variables:
        fewer = Step({}, _without(problem, {variable}))
        left = _reduced(problem, fewer, 1.0)
        if left is not None and len(left.X) <= _FEWER * len(problem.X):
            yield fewer
            return
    found = splits(problem)
    single = [split for split in found if len(split.inner) == 1]
    others = [split for split in found if len(split.inner) > 1][: _SPLITS - 1]
    last = outermost(problem)
    if last is not None:
        others.insert(min(2, len(others)), last)
    share = max(_FORMULAS * problem.effort.left, _LEAST_FORMULAS)
    alone = {split.inner: separators(problem, split, share, 1) for split in single}
    short = [formulas[0] for formulas in alone.values() if formulas and formulas[0].missing < _MISSING]
    together = sum(separator.cost for separator in short) if len(short) > 1 else np.inf
    waiting = [formulas[0] for formulas in alone.values() if formulas]
    # variables that a short formula replaces need not be shared
    whole: set[tuple[int, ...]] = set()
    for start in range(0, max(len(others), 1), _BATCH):
        for split in others[start : start + _BATCH]:
            if split.inner in whole:
                continue
            formulas = separators(problem, split, share, _EACH)
            if any(f.missing < _MISSING and f.expr.size() <= _SHORT for f in formulas) and not split.shared:
                whole.add(split.inner)
            waiting += formulas
        waiting.sort(key=lambda separator: separator.cost + _LAST * (separator.split is last))
        for separator in waiting[:_FOLLOWED]:
            if together <= separator.cost:
                yield _together(problem, short)
                together = np.inf
            yield _with_copies(problem, separator)
        waiting = waiting[_FOLLOWED:]
    for separator in waiting[:_FOLLOWED]:
        yield _with_copies(problem, separator)


def _together(problem: Problem, short: list[Separator]) -> Step:
    """Several variables at once, each through its levels; one name for one function at several lags."""
    parts: dict[Var, Expr] = {}
    names: dict[Expr, str] = {}
    for separator in short:
        (variable,) = separator.expr.variables()
        now = separator.expr.substitute({variable: Var(variable.name, 0)})
        name = names.setdefault(now, _new(problem, 0, len(names)).name)
        parts[Var(name, variable.lag)] = separator.expr
    return Step(parts, _without(problem, {v for s in short for v in s.expr.variables()}))


def _with_copies(problem: Problem, separator: Separator) -> Step:
    """The step at all lags at which its variables occur and y is a function of it."""
    expr, variables = separator.expr, separator.expr.variables()
    shared = {problem.variables[j] for j in separator.split.shared}
    lag = min(variable.lag for variable in variables)
    parts, gone = {_new(problem, lag): expr}, set(variables) - shared
    for shift in range(-lag, max(variable.lag for variable in problem.variables) + 1):
        moved = {v: Var(v.name, v.lag + shift) for v in variables}
        leaving = {moved[v] for v in variables if v not in shared}
        if shift and set(moved.values()) <= set(problem.variables) and not leaving & gone:
            trial = Step(
                {**parts, _new(problem, lag + shift): expr.substitute(moved)},
                _without(problem, gone | leaving),
            )
            if _reduced(problem, trial, 1.0) is not None:
                parts, gone = trial.parts, gone | leaving
    return Step(parts, _without(problem, gone))


def _without(problem: Problem, gone: set[Var]) -> tuple[Var, ...]:
    return tuple(variable for variable in problem.variables if variable not in gone)


def _new(problem: Problem, lag: int, further: int = 0) -> Var:
    """A variable that the problem does not have at any lag."""
    names = {variable.name for variable in problem.variables}
    free = [i for i in range(len(names) + 1 + further) if f"part{i}" not in names]
    return Var(f"part{free[further]}", lag)


def _reduced(problem: Problem, step: Step, effort: float) -> Problem | None:
    """The problem in the variables of a step; None if they do not determine y, or say no less."""
    values = [problem.values(expr) for expr in step.parts.values()]
    kept = [problem.X[:, problem.variables.index(variable)] for variable in step.kept]
    X = np.stack([*values, *kept], axis=1)
    if not np.all(np.isfinite(X)):
        return None
    problem.spend("sorted cells", 2 * X.size)
    code = numbered(X)
    first = examples(code)
    if len(first) == len(code) or np.any(problem.y[first[code]] != problem.y):
        return None
    return derived(problem, X[first], problem.y[first], (*step.parts, *step.kept), effort)
