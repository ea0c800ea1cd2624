"""The search: one agenda, best first by the nodes that a formula has so far and what is left to explain.

A task is a goal on a table. Its steps (lines, layers of the bank, sums, pieces, reductions) wait on one
heap, each at the length of formula that it can lead to; what a reduction leaves is a task of its own.
Nothing is asked twice of the same rows, and effort is counted in work, so the same data give the same
answer on any machine. An exact formula ends all that could only be longer, and what is shorter is looked
for only so long.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from weights2code.language import Const, Expr
from weights2code.symbolic.engine import Candidate, preference
from weights2code.symbolic.search import columns, linear, near, pieces, reductions
from weights2code.symbolic.search.bank import Bank, Block
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.families import families
from weights2code.symbolic.search.noise_floor import noise_floor
from weights2code.symbolic.search.readings import Reader
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.table import Goal, Left, Table, left_to_say, room
from weights2code.symbolic.snapping import simplest

#: The largest cost of entries of the bank, and steps of a rule.
LARGEST, DEEPEST = 5, 6
Ask = Callable[[Reader, Bank, Goal], Iterable[Expr | Left]]
#: Nodes that a formula has at least that a step leads to, beyond those around its task, and what it asks:
#: so steps wait. Pieces of reals are cheap beside a bank of reals.
STEPS: dict[str, tuple[float, Ask]] = {
    "choices": (3.8, pieces.choices),
    "planes": (4.2, pieces.pieces),
    "parts": (4.5, columns.parted),
    "compared": (5.8, linear.compared),
    "sums": (6.5, linear.sums),
    "pieces": (6.5, pieces.pieces),
    "families": (6.6, families),
}
#: The same for what is around a goal and for sums of columns.
AROUND, WEIGHTED = 1, 3.5
#: The same for reductions that have an entry of at most a cost in them.
REDUCE = {3: 4.1, LARGEST: 5.5}
#: What reductions are called.
REDUCTIONS = ("bounds", "remainder", "residue", "function", "inverse", "put", "near", "along", "choice",
              "part")  # fmt: skip
#: Steps and reductions that are not taken, to measure what each earns.
left_out: frozenset[str] = frozenset()
#: Effort for a shorter formula, as a share of what the first one took, and at least.
SHORTER, AT_LEAST = 0.2, 0.03
#: Seconds of a usual machine for a step, whatever it does.
STEP = 2.2e-4
#: Nodes that a step of a rule counts for beyond its own, and that a bit of what is left is expected to take.
LATER, BIT = 1.0, 1.5
#: The share of the effort that is kept for a list where nothing else is found, and at least.
RESERVE, LEAST_RESERVE = 0.2, 0.15
#: Nodes of a row of a table.
TABLE = 2
#: Nodes of a formula for which it is worth as much to look for a shorter one.
SHORT = 12


@dataclass(eq=False)
class Task:
    """A goal on a table, what becomes of a formula that meets it, the nodes around it, and steps so far."""

    table: Table
    goal: Goal
    problem: Problem
    finish: Callable[[Expr], Expr] = lambda expr: expr
    cost: float = 0.0
    depth: int = 0
    step: str = ""
    #: Nodes of parts that are found, which do not count where what is left waits.
    sure: float = 0.0
    #: The task whose first part this is, or is a step of, and the one that it is a part of.
    first: Task | None = None
    above: Task | None = None
    then: Callable[[Expr], Left] | None = None

    @cached_property
    def reader(self) -> Reader:
        outermost = self.depth == 0 or (self.depth == 1 and self.step in ("function", "near"))
        near = outermost and self.problem.estimated and not self.problem.whole
        goal = self.goal if len(self.table.few) == len(self.table.X) else self.goal.at(self.table.few)
        return Reader(self.problem, self.table, goal, beside=True, near=near, inner=self.depth > 0)


@dataclass
class Search:
    """One walk over the agenda."""

    problem: Problem
    collector: Collector
    heap: list[tuple[float, int, float, Task, Callable[[Task], None]]] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    banks: dict[int, Bank] = field(default_factory=dict)
    ticket: itertools.count = field(default_factory=itertools.count)
    least: float = -np.inf
    told: tuple[int, ...] = ()
    floor: float | None = None
    #: The smallest table that the rows were found to say the same in.
    smallest: Task | None = None

    def run(self) -> None:
        problem = self.problem
        tolerance = problem.accuracy * (1 + 1e-9)
        rows = problem.rows
        told = tuple(int(i) for i in np.searchsorted(rows, self.told)) if len(self.told) else ()
        table = Table(problem.variables, problem.domains, problem.X[rows], told)
        goal = Goal(problem.y[rows] - tolerance, problem.y[rows] + tolerance)
        kept = max(RESERVE * problem.effort.left, min(LEAST_RESERVE, 0.4 * problem.effort.left))
        problem.effort.left -= kept
        self.began = problem.effort.left
        root = Task(table, goal, problem)
        self.rough(root)
        self.start(root)
        self.walk()
        problem.effort.left += kept
        if self.collector.exact is None and self.floor is None:
            self.last(root)

    def rough(self, task: Task) -> None:
        """Something to show in any case: a constant, a column, the nearest linear functions."""
        y, reader, offer = self.problem.ys, task.reader, self.collector.offer
        for middle in (0.5 * float(y.min() + y.max()), float(y.mean())):
            offer(Const(simplest(middle, self.problem.accuracy)))
        for variable in self.problem.variables:
            offer(variable)
        near = Reader(self.problem, task.table, reader.goal, beside=False, near=True)
        for chosen in linear.fewer(near):
            fitted = near.fit([self.problem.variables[j] for j in chosen], reader.X[:, chosen])
            if fitted is not None:
                offer(fitted)

    def walk(self) -> None:
        """The steps, best first, until none can lead to anything shorter."""
        problem = self.problem
        judged: Candidate | None = None
        while self.heap:
            nearest = self.collector.nearest()
            if nearest is not judged and self.collector.exact is None:
                self.floor, judged = noise_floor(problem, self.collector), nearest
                if self.floor is not None:
                    return
            _, _, least, task, step = heapq.heappop(self.heap)
            if least >= self.collector.limit() or (task.first is not None and task.first.then is None):
                continue
            if problem.expired() or problem.effort.left < self.least:
                return
            problem.effort.spend(STEP)
            step(task)

    def push(self, task: Task, name: str, nodes: float, step: Callable[[Task], None]) -> None:
        """A step that adds so many nodes waits behind all that seem to lead to shorter formulas."""
        if name in left_out:
            return
        expected = task.cost - task.sure + LATER * task.depth + BIT * left_to_say(task.table, task.goal)
        heapq.heappush(self.heap, (expected + nodes, next(self.ticket), task.cost + nodes, task, step))

    def start(self, task: Task) -> None:
        """The steps of a task, unless it was met before."""
        mark = task.goal.key() + task.table.X.tobytes()
        if mark in self.seen or task.cost + 1 >= self.collector.limit():
            return
        self.seen.add(mark)
        constant = task.reader.constant()
        if constant is not None:
            self.offer(task, [constant])
            if len(task.goal.known) == len(task.goal.low) or task.depth:
                return
        for expr in linear.linear(task.reader):
            self.offer(task, [expr])
        if task.depth == 0 and self.collector.exact is not None:
            return
        whole = task.step == "put" and len(task.goal.known) == len(task.table.X)
        if whole and (self.smallest is None or room(task.table) < room(self.smallest.table)):
            self.smallest = task
        for cost in range(1, LARGEST + 1):
            self.push(task, "layer", cost, partial(self.layer, cost=cost))
        for cost, nodes in REDUCE.items():
            self.push(task, "reduce", nodes, partial(self.reduce, cost=cost))
        self.push(task, "around", AROUND, self.around)
        self.push(task, "weighted", WEIGHTED, self.weighted)
        for name, (nodes, ask) in STEPS.items():
            if self.suits(task, name):
                self.push(task, name, nodes, partial(self.propose, ask=ask))

    def suits(self, task: Task, name: str) -> bool:
        """Whether a step has anything to say of a task."""
        real = not (task.table.discrete and task.goal.whole)
        if name in ("pieces", "planes"):
            return real == (name == "planes")
        if name == "families":
            return task.depth == 0 and not task.table.discrete
        if name == "sums":
            return task.goal.modulus is None
        return name != "compared" or task.reader.two

    def offer(self, task: Task, exprs: Iterable[Expr]) -> None:
        for expr in exprs:
            before, left = self.collector.limit(), self.problem.effort.left
            if task.cost + expr.size() > before + 2:
                continue
            whole = task.finish(expr)
            if task.first is not None:
                self.first_part(task.first, whole)
                continue
            # what is longer than the table says no more than the table
            self.collector.offer(
                whole, "formula" if whole.size() <= TABLE * len(self.problem.X) else "piecewise"
            )
            if before > 10**8 and self.collector.exact is not None:
                long = self.collector.limit() / SHORT
                self.least = left - AT_LEAST - SHORTER * max(long, 1.0) ** 3 * (self.began - left)

    def first_part(self, task: Task, expr: Expr) -> None:
        """A formula for the first part of a rule: what is left is the other part."""
        above, then = task.above, task.then
        if above is not None and then is not None and task.goal.met(_finite(task.table.values(expr))):
            task.then = None
            self.follow(above, then(expr))

    def below(self, task: Task, lefts: Iterable[Expr | Left]) -> None:
        """Formulas are offered, and what is left becomes tasks."""
        for left in lefts:
            if isinstance(left, Left):
                self.follow(task, left)
            else:
                self.offer(task, [left])
            if self.problem.expired():
                return

    def follow(self, task: Task, left: Left) -> None:
        if task.depth >= DEEPEST or not len(left.goal.known) or left.step in left_out:
            return
        left = columns.dropped(self.problem, left)
        outer, inner = task.finish, left.finish
        cost, depth = task.cost + left.cost, task.depth + 1
        found = Task(left.table, left.goal, self.problem, lambda e: outer(inner(e)), cost, depth, left.step)
        found.sure, found.first = task.sure + left.sure, task.first
        if left.then is not None:
            found.finish, found.first, found.above, found.then = left.finish, found, task, left.then
        self.start(found)

    def bank(self, task: Task) -> Bank:
        key = id(task.table)
        if key not in self.banks:
            y = task.goal.middle[task.goal.known]
            ends = [float(y.min()), float(y.max()), float(y.max()) + 1] if task.goal.whole and len(y) else []
            self.banks[key] = Bank(task.table, self.problem, ends, task.goal.whole)
        return self.banks[key]

    def last(self, task: Task) -> None:
        """Always faithful, never pretty: a long list of pieces, labelled as what it is."""
        for some in (self.smallest, task):
            if some is not None and not self.problem.expired():
                for expr in pieces.listed(some.reader, self.bank(some)):
                    self.collector.offer(some.finish(expr), kind="piecewise")

    # ------------------------------------------------------------------------------------------------ steps

    def layer(self, task: Task, cost: int) -> None:
        """Readings of the entries of a cost."""
        bank = self.bank(task)
        if bank.grown >= cost:
            self.look(task, bank.kept(cost))
        for larger in range(bank.grown + 1, cost + 1):
            bank.grow(larger, lambda block: self.look(task, block))

    def look(self, task: Task, block: Block) -> None:
        if task.cost + block.cost < self.collector.limit():
            self.offer(task, sorted(task.reader.read(block), key=preference))

    def weighted(self, task: Task) -> None:
        """Readings of sums of columns."""
        bank = self.bank(task)
        if bank.summed:
            places = np.flatnonzero((bank.recipe[:, 0] < 0) & (bank.cost > 1))
            self.look(task, Block(bank.values[places], lambda i: bank.expr(int(places[i])), 3))
        else:
            bank.add_sums(lambda block: self.look(task, block))

    def propose(self, task: Task, ask: Ask) -> None:
        self.below(task, ask(task.reader, self.bank(task), task.goal))

    def around(self, task: Task) -> None:
        """What stands inside bounds, a remainder, a function of one argument."""
        if task.step != "bounds":
            self.propose(task, reductions.bounds)
        step = {"functions": task.step != "function" and task.depth <= 1, "remainder": task.step != "bounds"}
        self.below(task, reductions.undone(task.reader, task.goal, **step))

    def reduce(self, task: Task, cost: int) -> None:
        """What is left when a step is undone that has an entry of at most a cost in it."""
        self.propose(task, partial(columns.put, cost=cost))
        self.propose(task, partial(reductions.inverses, cost=cost))
        if cost < LARGEST:
            self.propose(task, partial(near.near, cost=cost))
            self.propose(task, columns.periods)
        else:
            self.propose(task, columns.along)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, 1e300)
