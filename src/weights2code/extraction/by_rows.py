"""Rules that are exact, from views that the rows show: each output on its own, all of them together at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from weights2code.data import Problem, Sequences
from weights2code.effort import time_is_up
from weights2code.errors import NotExtracted
from weights2code.language import Recurrence, Step
from weights2code.rules.between_outputs import in_order, read_now
from weights2code.rules.from_leaves import CANDIDATES, Regression, needed_leaves, settle_start
from weights2code.simplify.cost import cost, recurrence_cost
from weights2code.symbolic.engine import Candidate
from weights2code.views.agenda import Agenda, Asked
from weights2code.views.features import View
from weights2code.views.rows import Features, Rows

#: A rule of this cost is short: nothing shorter is looked for. Else what waits no further back than this.
SHORT, FURTHER = 16.0, 4.0
#: Views that are asked for something shorter.
SHORTER = 4
TALK = False


@dataclass(slots=True, eq=False)
class Output:
    """One output: the views that wait for it, and what was found."""

    row: int
    name: str
    agenda: Agenda
    asked: Asked | None = None
    found: list[Candidate] = field(default_factory=list)
    reads: Features = ()
    cost: float = 0.0
    place: float = 0.0
    further: int = 0


@dataclass(slots=True, eq=False)
class Search:
    """Rules of a problem, one after the other; each later one is shorter, or what came before was refuted."""

    problem: Problem
    outputs: list[Output] = field(init=False)

    def __post_init__(self) -> None:
        pairs = zip(self.problem.outputs, Rows.of(self.problem), strict=True)
        self.outputs = [Output(row, name, Agenda(rows)) for row, (name, rows) in enumerate(pairs)]

    def refuted(self, problem: Problem, more: Sequences) -> None:
        """The problem with more sequences, on which the last rule was wrong."""
        self.problem = problem
        for output in self.outputs:
            output.agenda.rows.learn(more)
            output.found = []

    def rules(self) -> Iterator[tuple[str, Recurrence]]:
        """Exact on the rows; what goes on after one looks for a shorter one."""
        best = float("inf")
        while not time_is_up():
            waiting = [output for output in self.outputs if not output.found]
            if not waiting:
                waiting = [output for output in self.outputs if self.worth_more(output)]
            if not waiting:
                return
            output = min(waiting, key=lambda output: (output.place, output.row))
            asked = output.agenda.take()
            if asked is None:
                if not output.found:
                    return
                output.further = SHORTER
                continue
            output.place = asked.place
            if output.found and asked.place > output.asked.place + FURTHER:
                output.further = SHORTER
                continue
            if self.ask(output, asked) and all(output.found for output in self.outputs):
                for recurrence in self.together():
                    total = recurrence_cost(recurrence)
                    if total < best:
                        best = total
                        yield output.asked.name, recurrence
                        if not output.found:
                            best = float("inf")
                    break

    def worth_more(self, output: Output) -> bool:
        return output.cost > SHORT and output.further < SHORTER

    def ask(self, output: Output, asked: Asked) -> bool:
        """Ask the engine for an output of a view; whether it gave something shorter than what was known."""
        view = View.of(self.problem, [asked.features if o is output else o.reads for o in self.outputs])
        effort = asked.effort
        if output.found:
            output.further += 1
            effort = min(effort, 0.5)
        try:
            leaves = needed_leaves(view, self.problem, output.row)
            found = Regression(view, self.problem, output.row, effort).itself(leaves)
        except NotExtracted as e:
            if TALK: print('      ', repr(e)[:100])
            return False
        if TALK: print('   ', f'{asked.place:.1f} {asked.effort}', str(asked)[:200], found and str(found[0].expr)[:100])
        if not found:
            return False
        used = {v.name for c in found[:1] for v in c.expr.variables()}
        total = cost(found[0].expr) + sum(f.cost for f in asked.features if f.steps)
        if output.found and total >= output.cost:
            return False
        output.found, output.reads, output.cost, output.asked = found, asked.features, total, asked
        return True

    def together(self) -> Iterator[Recurrence]:
        """The rules of all outputs, with what lies before the start."""
        view = View.of(self.problem, [output.reads for output in self.outputs])
        listed = []
        for output in self.outputs:
            told = dict(zip(output.view_leaves, view.leaves[output.row], strict=True)) if False else {}
            listed.append([Step(output.name, c.expr) for c in output.found[:CANDIDATES]])
        for steps in product(*listed):
            settled = settle_start(view.recurrence(in_order(steps)), self.problem, view)
            if settled is not None:
                yield settled


def rules(problem: Problem) -> Iterator[tuple[str, Recurrence]]:
    yield from Search(problem.uncut or problem).rules()
