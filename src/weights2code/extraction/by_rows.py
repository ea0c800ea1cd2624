"""Rules that are exact, of views that the rows show: each output on its own, all together at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf

from weights2code.data import Problem, Sequences
from weights2code.effort import time_is_up
from weights2code.errors import NotExtracted, Reason
from weights2code.extraction.values import Log
from weights2code.language import Recurrence, Step, Var, renamed
from weights2code.progress import at
from weights2code.rules.between_outputs import in_order
from weights2code.rules.from_leaves import CANDIDATES, Regression, needed_leaves, settle_start
from weights2code.simplify.cost import cost, recurrence_cost
from weights2code.symbolic.engine import Candidate
from weights2code.views.agenda import Agenda, Asked
from weights2code.views.features import View
from weights2code.views.rows import Features, Rows

#: A rule of this cost is short: nothing shorter is looked for. Else what waits no further back than this, and
#: of a long one than that.
SHORT, FURTHER, FAR = 16.0, 4.0, 12.0
#: Views that are asked for something shorter, and the effort for each.
SHORTER, QUICK = 4, 0.5
#: Sequences to judge by that a rule that is wrong on them learns from.
JUDGED = 200
#: Effort for all views, in seconds of a usual machine.
EFFORT = 60.0


@dataclass(slots=True, eq=False)
class Output:
    """One output: the views that wait for it, and what was found."""

    row: int
    name: str
    agenda: Agenda
    asked: Asked | None = None
    found: list[Candidate] = field(default_factory=list)
    reads: Features = ()
    #: What the formulas call what they read.
    leaves: tuple[Var, ...] = ()
    cost: float = 0.0
    place: float = 0.0
    further: int = 0

    @property
    def limit(self) -> float:
        """Where what comes waits too far back to be shorter than what was found."""
        if not self.found or self.asked is None:
            return inf
        return self.asked.place + max(FURTHER, min(self.cost - SHORT, FAR))

    @property
    def worth_more(self) -> bool:
        return self.cost > SHORT and self.further < SHORTER


@dataclass(slots=True, eq=False)
class Search:
    """Rules of a problem, one after the other; each later one is shorter, or what came before was refuted."""

    problem: Problem
    log: Log
    effort: float = EFFORT
    outputs: list[Output] = field(init=False)
    #: Whether rows to judge by were learned from too.
    judged: bool = False

    def __post_init__(self) -> None:
        pairs = zip(self.problem.outputs, Rows.of(self.problem), strict=True)
        self.outputs = [Output(row, name, Agenda(rows)) for row, (name, rows) in enumerate(pairs)]

    def refuted(self, more: Sequences) -> None:
        """The last rule was wrong, on these sequences if there are any: then its views are asked again."""
        if len(more):
            self.problem = replace(self.problem, training=self.problem.training.beside(more))
        for output in self.outputs:
            if len(more):
                output.agenda.rows.learn(more)
                if output.found and output.asked:
                    output.agenda.again(output.asked)
            output.found = []

    def rules(self) -> Iterator[tuple[str, Recurrence]]:
        """Exact on the rows, with what they read in words; what goes on after one looks for a shorter one."""
        best = inf
        while self.effort > 0 and not time_is_up():
            missing = [output for output in self.outputs if not output.found]
            waiting = missing or [output for output in self.outputs if output.worth_more]
            if not waiting:
                return
            output = min(waiting, key=lambda output: (output.place, output.row))
            if output.agenda.hungry and output.agenda.next_family <= output.limit:
                output.agenda.open()
                continue
            asked = output.agenda.take()
            if asked is None or asked.place > output.limit:
                if not output.found:
                    return
                output.further = SHORTER
                continue
            output.place = asked.place
            at("", f"{output.name} from {', '.join(str(f.read) for f in asked.features)}")
            if not self._ask(output, asked) or not all(output.found for output in self.outputs):
                continue
            best = inf if missing else best
            recurrence = next(self._together(), None)
            if recurrence is None:  # it is another rule on rows that it was not made of, or at the start
                self.refuted(self.problem.validation.take(slice(0, 0 if self.judged else JUDGED)))
                self.judged = True
            elif recurrence_cost(recurrence) < best:
                best = recurrence_cost(recurrence)
                yield str(output.asked), recurrence

    def _ask(self, output: Output, asked: Asked) -> bool:
        """Ask the engine for an output of a view; whether it gave something shorter than what was known."""
        view = View.of(self.problem, [asked.features if o is output else o.reads for o in self.outputs])
        effort = asked.effort
        if output.found:
            output.further += 1
            effort = min(effort, QUICK)
        self.effort -= effort
        try:
            leaves = needed_leaves(view, self.problem, output.row)
            found = Regression(view, self.problem, output.row, effort).itself(leaves)
            if not found:
                raise NotExtracted("no formula of it is exact.")
        except NotExtracted as error:
            self.log.note(str(asked), error)
            if error.reason is Reason.UNDETERMINED:
                output.agenda.drop(asked)
                self.effort += effort
            return False
        total = cost(found[0].expr) + sum(feature.cost for feature in asked.features if feature.steps)
        if output.found and total >= output.cost:
            return False
        output.found, output.reads, output.leaves = found, asked.features, view.leaves[output.row]
        output.cost, output.asked = total, asked
        return True

    def _together(self) -> Iterator[Recurrence]:
        """The rules of all outputs, with what lies before the start."""
        view = View.of(self.problem, [output.reads for output in self.outputs])
        listed = []
        for output in self.outputs:
            called = {
                then.name: now.name for then, now in zip(output.leaves, view.leaves[output.row], strict=True)
            }
            listed.append([Step(output.name, renamed(c.expr, called)) for c in output.found[:CANDIDATES]])
        for steps in product(*listed):
            settled = settle_start(view.recurrence(in_order(steps)), self.problem, view)
            if settled is not None:
                yield settled
