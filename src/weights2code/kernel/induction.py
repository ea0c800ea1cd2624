"""Induction over the positions, as questions for a solver: what must have no answer for a claim to hold.

Both machines run side by side (`language.product`). From the start, with symbols for inputs, the first
positions are right; after them the invariant holds; and from any state in which it holds, one more position
is right and the invariant holds again. Each of these is one SMT-LIB 2.6 text that asks for a counterexample:
it holds if a solver answers `unsat`. z3 is asked here, on the text itself; anybody may ask another one.

Whole numbers are integers, others reals, constants the fractions that they print as: the proof is about exact
arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from weights2code.language import Expr, Op, Var, exact_number
from weights2code.language.kinds import whole_names
from weights2code.language.product import Product, depth
from weights2code.language.sums import Unwritten
from weights2code.language.z3_form import Translator

#: The past after some position: `Var(n, k)` is what the next position reads as n, k steps back.
State = Mapping[Var, Any]
#: Megabytes that z3 may use.
MEMORY = 2000


@dataclass(frozen=True, slots=True)
class Advanced:
    """The state after one more position, and whether outputs agree and everything is defined."""

    state: State
    correct: Any


@dataclass(frozen=True, slots=True)
class Question:
    """What must not be: `assumptions` and not all of the `goals`; `meaning` says so in words."""

    meaning: str
    assumptions: tuple[Any, ...]
    goals: tuple[Any, ...]

    def text(self) -> str:
        """The question in SMT-LIB 2.6."""
        import z3

        solver = z3.Solver()
        solver.add(*self.assumptions, z3.Or(*(z3.Not(goal) for goal in self.goals)))
        return f"; {self.meaning}; `unsat` means that there is none.\n(set-logic ALL)\n{solver.to_smt2()}"


class Transition:
    """Both machines at one position, symbolically; outputs agree if they differ by at most `eps`, which is
    asked while no value of the past is beyond `limit`."""

    def __init__(self, joint: Product, eps: Fraction = Fraction(0), limit: int | None = None) -> None:
        self.translator = Translator()
        self.z3 = self.translator.z3
        self.joint, self.machine, self.eps, self.limit = joint, joint.machine, eps, limit
        self.variables = self.machine.state()
        self.base = max(1, depth(self.machine))
        self.whole = whole_names(joint.machine, joint.domains, infinities=True)
        self._domain = dict(zip(self.machine.inputs, joint.domains, strict=True))

    def inputs(self, tag: str) -> tuple[dict[Var, Any], Any]:
        """Fresh inputs of one position, and the condition that they lie in their domains."""
        made = {
            Var(name): self.translator.variable(f"{name}@{tag}", domain)
            for name, domain in self._domain.items()
        }
        return {v: symbol for v, (symbol, _) in made.items()}, self.z3.And(*(c for _, c in made.values()))

    def any_state(self) -> tuple[dict[Var, Any], list[Any]]:
        """A state of symbols, and what holds of its inputs once all of them have been read."""
        state, conditions = {}, []
        for variable in self.variables:
            name = f"{variable.name}[-{variable.lag}]"
            if variable.name in self._domain:
                state[variable], condition = self.translator.variable(name, self._domain[variable.name])
                conditions.append(condition)
            else:
                make = self.z3.Int if variable.name in self.whole else self.z3.Real
                state[variable] = make(name)
                if self.limit is not None and (
                    variable.name.startswith("r.") or variable.name in self.joint.own
                ):
                    conditions += [state[variable] <= self.limit, state[variable] >= -self.limit]
        return state, conditions

    def start(self, first: Mapping[Var, Any]) -> dict[Var, Any]:
        """The state before the first position, whose inputs "first" starts repeat."""
        state = {}
        for variable in self.variables:
            value = self.machine.start_of(variable.name)
            state[variable] = first[Var(variable.name)] if value == "first" else exact_number(value)
        return state

    def advance(self, state: State, inputs: Mapping[Var, Any]) -> Advanced:
        """One more position."""
        env: dict[Var, Any] = {**state, **inputs}
        known: dict[Var, Any] = {}
        conditions = []
        for step in self.machine.steps:
            assert isinstance(step.definition, Expr), "retrievals are expanded before"
            env[Var(step.name)], defined = self.translator.translate(step.definition, env, known)
            if defined is not True:
                known[Var(step.name)] = defined
                conditions.append(defined)
        for right, answer in self.joint.pairs:
            conditions.append(self._near(env[Var(right)], env[Var(answer)]))
        following = {v: env[Var(v.name, v.lag - 1)] for v in self.variables}
        return Advanced(following, self.z3.And(*conditions))

    def _near(self, one: Any, other: Any) -> Any:
        translator = self.translator
        if not self.eps:
            return translator.equal(one, other)
        apart = translator.sum(one, translator.negative(other))
        bounds = translator.relation("le", apart, self.eps), translator.relation("ge", apart, -self.eps)
        return self.z3.And(*map(translator.formula, bounds))

    # -- questions -------------------------------------------------------------------------------------------

    def unrolled(self) -> Iterator[tuple[list[Any], list[dict[Var, Any]], Advanced]]:
        """From the start on, position by position: what is assumed of the inputs, these, and what is
        there."""
        inside: list[Any] = []
        tape: list[dict[Var, Any]] = []
        state: State = {}
        while True:
            inputs, known = self.inputs(f"t{len(tape)}")
            state = state if tape else self.start(inputs)
            tape.append(inputs)
            inside.append(known)
            advanced = self.advance(state, inputs)
            state = advanced.state
            if len(tape) >= self.base and any(isinstance(value, float) for value in state.values()):
                raise Unwritten("an infinite value stays in the state")  # symbols stand for numbers only
            yield list(inside), list(tape), advanced

    def window(self, invariant: Iterable[Expr], steps: int) -> tuple[list[Any], Advanced]:
        """`steps` positions from any state in which the invariant holds; all but the last are right."""
        invariant = list(invariant)
        start, assumptions = self.any_state()
        state: State = self._with_relations(start, invariant)
        for k in range(steps):
            assumptions += [self.holds(claim, state) for claim in invariant]
            inputs, inside = self.inputs(f"k{k}")
            assumptions.append(inside)
            advanced = self.advance(state, inputs)
            if k + 1 < steps:
                assumptions.append(advanced.correct)
                state = advanced.state
        return assumptions, advanced

    def _with_relations(self, state: Mapping[Var, Any], invariant: list[Expr]) -> dict[Var, Any]:
        """Variables that the invariant defines are replaced by that, which turns many goals into
        identities."""
        replaced = dict(state)
        for claim in invariant:
            found = relation_of(claim)
            if found is None or found[0] not in state:
                continue
            value = self.translator.number(self.translator.translate(found[1], state)[0])
            # An integer cannot be replaced by a fraction: that it is whole would be forgotten.
            if self.z3.is_int(value) or not self.z3.is_int(state[found[0]]):
                replaced[found[0]] = value
        return replaced

    def holds(self, claim: Expr, state: State) -> Any:
        """What a claim says about a state."""
        found = relation_of(claim)
        if found is not None:
            value = self.translator.number(self.translator.translate(found[1], state)[0])
            return self.translator.equal(state[found[0]], value)
        return self.translator.condition(claim, state)

    def questions(self, invariant: tuple[Expr, ...], steps: int) -> Iterator[Question]:
        """Everything that must be answered with `unsat` for the outputs to agree at every length."""
        last = self.base - 1 + steps
        for position, (inside, _, advanced) in enumerate(self.unrolled(), start=1):
            where = f"inputs for which position {position} is wrong"
            yield Question(where, tuple(inside), (advanced.correct,))
            if position >= self.base and invariant:
                goals = tuple(self.holds(claim, advanced.state) for claim in invariant)
                what = f"inputs after which the invariant does not hold at position {position}"
                yield Question(what, tuple(inside), goals)
            if position == last:
                break
        assumptions, advanced = self.window(invariant, steps)
        after = f"a state in which the invariant holds, {steps} position{'s' * (steps > 1)} on"
        if invariant:
            goals = tuple(self.holds(claim, advanced.state) for claim in invariant)
            yield Question(f"{after}, after which it does not", tuple(assumptions), goals)
        yield Question(f"{after}, with a wrong output", tuple(assumptions), (advanced.correct,))


def relation_of(claim: Expr) -> tuple[Var, Expr] | None:
    """The variable and its value, if a claim says what one is."""
    if isinstance(claim, Op) and claim.name == "eq" and isinstance(claim.args[0], Var):
        return claim.args[0], claim.args[1]
    return None


def unsatisfiable(text: str, steps: int) -> bool:
    """Whether z3 answers `unsat` to a text, within so many of its steps."""
    import z3

    solver = z3.Solver()
    solver.set("rlimit", steps)
    solver.set("max_memory", MEMORY)
    solver.from_string(text)
    return solver.check() == z3.unsat
