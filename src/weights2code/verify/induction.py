"""Induction over the positions with z3: for machines whose states never end.

The invariant is guessed from exact runs and then cut down to what is inductive (the method known as
Houdini): as long as some guess does not survive one more position, it is dropped. What is left holds for
ever, and if it forces the outputs to be equal, they are equal at every length. The first positions, where
start values are still read, are checked one by one with symbolic inputs.

Whole-number inputs are z3 integers, reals are z3 reals, constants are the fractions that they print as: the
proof is about exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from weights2code.effort import Effort, TimeUp, check_time, seconds_left
from weights2code.language import Expr, Var
from weights2code.verify import certificate
from weights2code.verify.facts import Relation, affine_relations, conditional_guesses, guesses, observe
from weights2code.verify.product import Product, depth, expand_retrievals
from weights2code.verify.transition import Advanced, State, Transition
from weights2code.verify.z3_form import Unsupported

_MOST_DEPTH = 12
_MOST_GUESSES = 400
_SINGLE_GOAL = 0.1
#: Steps that z3 takes in a second on a usual machine (its `rlimit`), and what asking it costs.
_STEPS = 4e6
_QUESTION = 1e-3
#: Megabytes that z3 may use.
_MEMORY = 2000
#: Times the seconds that its steps should take, after which a question is given up all the same.
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Induction:
    """`equal` is a proof with its invariant, `different` has a counterexample, `unknown` a reason."""

    outcome: Literal["equal", "different", "unknown"]
    reason: str = ""
    base: int = 0
    steps: int = 1
    invariant: tuple[str, ...] = ()
    counterexample: certificate.Sequence | None = None
    #: What it took, in seconds of a usual machine.
    effort: float = 0.0


#: What is guessed, and over how many positions the induction reaches, cheapest first.
_STAGES = (("relations", 1), ("bounds", 1), ("conditions", 1), ("longer", 2), ("longer", 3))


#: A guess about every state.
Claim = Relation | Expr


def _steps_of(solver: Any) -> int:
    """The steps that z3 has taken so far."""
    counts = solver.statistics()
    return counts.get_key_value("rlimit count") if "rlimit count" in counts.keys() else 0  # noqa: SIM118


def _first(facts: Iterable[Expr]) -> list[Expr]:
    return list(islice(dict.fromkeys(facts), _MOST_GUESSES))


def _relations(claims: list[Claim]) -> list[Relation]:
    return [claim for claim in claims if isinstance(claim, Relation)]


class _GaveUp(Exception):
    """The effort is spent."""


class _Undecided(Exception):
    """z3 cannot answer this question."""


def prove_by_induction(joint: Product, *, time_limit: float = 5.0, seed: int = 0) -> Induction:
    """Try to prove that the outputs of the joint machine are equal at every length.

    Parameters
    ----------
    joint
        Reference and program side by side.
    time_limit
        Effort in all, in seconds of a usual machine, counted in the solver's steps; without an answer by
        then the outcome is `unknown`.
    seed
        Of the runs that the invariant is guessed from.
    """
    plain = expand_retrievals(joint)
    if plain is None:
        return Induction("unknown", "a retrieval has keys that are not a small set of inputs")
    if depth(plain.machine) > _MOST_DEPTH:
        return Induction("unknown", f"the machines look back more than {_MOST_DEPTH} positions")
    import z3

    effort = Effort(time_limit)
    try:
        found = _Prover(plain, effort).prove(seed)
    except _Undecided:
        found = Induction("unknown", "z3 cannot decide the first positions")
    except (Unsupported, _GaveUp, TimeUp, ArithmeticError) as obstacle:
        found = Induction("unknown", str(obstacle))
    except z3.Z3Exception as obstacle:
        found = Induction("unknown", f"z3: {obstacle}")
    return replace(found, effort=time_limit - effort.left)


class _Prover:
    def __init__(self, joint: Product, effort: Effort) -> None:
        self.joint, self.effort = joint, effort
        self.transition = Transition(joint)
        self.z3 = self.transition.z3
        self.translator = self.transition.translator
        self.base = max(1, depth(joint.machine))
        self.tape: list[dict[Var, Any]] = []
        self.inside: list[Any] = []
        self.states: list[State] = []

    def prove(self, seed: int) -> Induction:
        runs = observe(self.joint, seed)
        claims: list[Claim] = list(affine_relations(runs))
        for stage, steps in _STAGES:
            wrong = self._unroll(self.base - 1 + steps)
            if wrong is not None:
                return Induction("different", base=self.base, counterexample=wrong)
            if stage == "bounds":
                claims += _first(guesses(self.joint, runs, _relations(claims)))
            elif stage == "conditions":
                claims += _first(conditional_guesses(runs, _relations(claims)))
            for state in self.states[self.base - 1 : self.base - 1 + steps]:
                claims = self._cut(self.inside, claims, state)
            kept = self._inductive(claims, steps)
            if kept is not None:
                invariant = tuple(str(c.as_fact() if isinstance(c, Relation) else c) for c in kept)
                return Induction("equal", base=self.base, steps=steps, invariant=invariant)
        return Induction("unknown", "no invariant that was tried is enough")

    def _unroll(self, positions: int) -> certificate.Sequence | None:
        """Check that many positions from the start; the inputs of a wrong one, or None."""
        while len(self.tape) < positions:
            inputs, inside = self.transition.inputs(f"t{len(self.tape)}")
            before: State = self.states[-1] if self.states else self.transition.start(inputs)
            self.tape.append(inputs)
            self.inside.append(inside)
            advanced = self.transition.advance(before, inputs)
            self.states.append(advanced.state)
            if len(self.tape) >= self.base and any(isinstance(v, float) for v in advanced.state.values()):
                raise Unsupported("an infinite value stays in the state")  # symbols stand for numbers only
            model = self._counterexample(self.inside, [advanced.correct])
            if model is not None:
                return tuple(
                    tuple(self._value(model, symbol) for symbol in row.values()) for row in self.tape
                )
        return None

    def _inductive(self, claims: list[Claim], steps: int) -> list[Claim] | None:
        """The largest part of the guesses that is inductive, if it forces the outputs to be equal."""
        while True:
            assumptions, last = self._window(claims, steps)
            kept = self._cut(assumptions, claims, last.state)
            if len(kept) == len(claims):
                break
            claims = kept
        try:
            enough = self._counterexample(assumptions, [last.correct]) is None
        except _Undecided:
            return None
        return claims if enough else None

    def _window(self, claims: list[Claim], steps: int) -> tuple[list[Any], Advanced]:
        """`steps` positions from any state; all but the last are assumed to be right."""
        start, history = self.transition.any_state()
        state: State = self._with_relations(start, _relations(claims))
        assumptions = [history]
        for k in range(steps):
            assumptions += [self._goal(claim, state) for claim in claims]
            inputs, inside = self.transition.inputs(f"k{k}")
            assumptions.append(inside)
            advanced = self.transition.advance(state, inputs)
            if k + 1 < steps:
                assumptions.append(advanced.correct)
                state = advanced.state
        return assumptions, advanced

    def _with_relations(self, state: Mapping[Var, Any], relations: list[Relation]) -> dict[Var, Any]:
        """Variables that a relation defines are replaced by it, which turns many goals into identities."""
        replaced = dict(state)
        for relation in relations:
            value = self._term(relation.value, state)
            # An integer cannot be replaced by a fraction: that it is whole would be forgotten.
            if self.z3.is_int(value) or not self.z3.is_int(state[relation.variable]):
                replaced[relation.variable] = value
        return replaced

    def _term(self, expr: Expr, state: State) -> Any:
        return self.translator.number(self.translator.translate(expr, state)[0])

    def _goal(self, claim: Claim, state: State) -> Any:
        """What a guess says about a state."""
        if isinstance(claim, Relation):
            return self.translator.equal(state[claim.variable], self._term(claim.value, state))
        return self.translator.condition(claim, state)

    def _cut(self, assumptions: list[Any], claims: list[Claim], state: State) -> list[Claim]:
        """Drop guesses until the rest follows from the assumptions in the given state."""
        goals = {claim: self.z3.simplify(self._goal(claim, state), som=True) for claim in claims}
        left = {claim: goal for claim, goal in goals.items() if not self.z3.is_true(goal)}
        dropped: set[Claim] = set()
        while left:
            try:
                model = self._counterexample(assumptions, list(left.values()))
                if model is None:
                    break
                false = {c for c, g in left.items() if self.z3.is_false(model.eval(g, model_completion=True))}
            except _Undecided:
                false = set()
            if not false:
                # Together they are too hard, or z3 cannot evaluate its model: only what is clear by itself
                # at once is kept.
                dropped |= self._unclear(assumptions, left)
                break
            dropped |= false
            left = {claim: goal for claim, goal in left.items() if claim not in false}
        return [claim for claim in claims if claim not in dropped]

    def _unclear(self, assumptions: list[Any], goals: Mapping[Claim, Any]) -> set[Claim]:
        """The guesses that do not follow from the assumptions, each asked for alone."""
        found = set()
        for claim, goal in goals.items():
            try:
                if self._counterexample(assumptions, [goal], effort=_SINGLE_GOAL) is not None:
                    found.add(claim)
            except _Undecided:
                found.add(claim)
        return found

    def _counterexample(self, assumptions: list[Any], goals: list[Any], effort: float | None = None) -> Any:
        """A model in which the assumptions hold and some goal does not; None if there is none."""
        goals = [goal for goal in goals if not self.z3.is_true(self.z3.simplify(goal, som=True))]
        if not goals:
            return None
        left = self.effort.left
        if left <= 0:
            raise _GaveUp("the effort is spent")
        check_time()
        solver = self.z3.Solver()
        # No single question may use up the effort that easier ones need.
        share = min(left, effort or max(0.5, 0.4 * left))
        solver.set("rlimit", max(1, int(_STEPS * share)))
        solver.set("max_memory", _MEMORY)
        # A limit of the user's holds inside a question too; and some questions hardly count as steps.
        solver.set("timeout", max(1, int(1000 * min(seconds_left(), _PATIENCE * share))))
        solver.add(*assumptions, self.z3.Or(*(self.z3.Not(goal) for goal in goals)))
        before = _steps_of(solver)
        answer = solver.check()
        self.effort.spend(_QUESTION + (_steps_of(solver) - before) / _STEPS)
        if answer == self.z3.unknown:
            self.effort.spend(share)
            raise _Undecided
        return solver.model() if answer == self.z3.sat else None

    def _value(self, model: Any, symbol: Any) -> float:
        value = model.eval(symbol, model_completion=True)
        if self.z3.is_algebraic_value(value):
            value = value.approx(20)
        return float(value.as_fraction()) if self.z3.is_rational_value(value) else float(value.as_long())
