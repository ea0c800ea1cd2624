"""Invariants for induction: guessed from exact runs, then cut down to what is inductive.

As long as some guess does not survive one more position, it is dropped (the method known as Houdini). What is
left is offered to the kernel, which asks its own questions; nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import islice
from typing import Any

from weights2code.effort import Effort, TimeUp, check_time, seconds_left
from weights2code.kernel.claims import Inductive, Refuted, Rejected
from weights2code.kernel.induction import MEMORY, State, Transition, relation_of
from weights2code.language import Expr
from weights2code.language.product import Product, depth
from weights2code.language.sums import Unwritten
from weights2code.verify.facts import affine_relations, conditional_guesses, guesses, observe
from weights2code.verify.links import Sequence

_MOST_DEPTH = 12
_MOST_GUESSES = 400
_SINGLE_GOAL, _LIMIT_GOAL = 0.1, 0.2
#: Steps that z3 takes in a second on a usual machine (its `rlimit`), and what asking it costs.
_STEPS = 4e6
_QUESTION = 1e-3
#: Times the seconds that its steps should take, after which a question is given up all the same.
_PATIENCE = 5.0


#: What is guessed, and over how many positions the induction reaches, cheapest first.
_STAGES = (("relations", 1), ("bounds", 1), ("conditions", 1), ("longer", 2), ("longer", 3))


def _steps_of(solver: Any) -> int:
    """The steps that z3 has taken so far."""
    counts = solver.statistics()
    return counts.get_key_value("rlimit count") if "rlimit count" in counts.keys() else 0  # noqa: SIM118


def _first(facts: Iterable[Expr]) -> list[Expr]:
    return list(islice(dict.fromkeys(facts), _MOST_GUESSES))


class _GaveUp(Exception):
    """The effort is spent."""


class _Undecided(Exception):
    """z3 cannot answer this question."""


def invariant_for(
    joint: Product,
    effort: Effort,
    *,
    eps: Fraction = Fraction(0),
    limit: int | None = None,
    seed: int = 0,
    stages: int = len(_STAGES),
) -> Inductive | Refuted | Rejected:
    """An invariant that keeps the outputs of the joint machine within `eps` of each other, a sequence after
    which they are not, or why there is neither.

    Parameters
    ----------
    joint
        Both machines side by side, without lookups.
    effort
        In seconds of a usual machine, counted in the solver's steps; without an answer by then there is none.
    limit
        No value of the past that has no bound is larger than this.
    seed
        Of the runs that the invariant is guessed from.
    stages
        How many kinds of guesses are tried.
    """
    if depth(joint.machine) > _MOST_DEPTH:
        return Rejected(f"the machines look back more than {_MOST_DEPTH} positions")
    import z3

    try:
        return _Prover(Transition(joint, eps, limit), effort).prove(seed, stages)
    except _Undecided:
        return Rejected("z3 cannot decide the first positions")
    except (Unwritten, _GaveUp, TimeUp, ArithmeticError) as obstacle:
        return Rejected(str(obstacle))
    except z3.Z3Exception as obstacle:
        return Rejected(f"z3: {obstacle}")


def largest_limit(joint: Product, effort: Effort, eps: Fraction, seed: int = 0) -> int | None:
    """The largest power of two such that outputs seem to stay within `eps` of each other while no value of
    the past is larger: one question each, by bisection; None if there is none."""
    import z3

    try:
        relations = affine_relations(observe(joint, seed))
        low, high = 0, 54
        while high - low > 1 and not effort.spent():
            power = (low + high) // 2
            prover = _Prover(Transition(joint, eps, 1 << power), effort)
            assumptions, last = prover.transition.window(relations, 1)
            holds = prover.follows(assumptions, last.correct, _LIMIT_GOAL)
            low, high = (power, high) if holds else (low, power)
    except (Unwritten, _GaveUp, TimeUp, ArithmeticError, z3.Z3Exception):
        return None
    return (1 << low) if low else None


class _Prover:
    def __init__(self, transition: Transition, effort: Effort) -> None:
        self.transition, self.effort, self.z3 = transition, effort, transition.z3
        self.base = transition.base
        self.positions = transition.unrolled()
        self.inside: list[Any] = []
        self.states: list[State] = []

    def prove(self, seed: int, stages: int) -> Inductive | Refuted | Rejected:
        runs = observe(self.transition.joint, seed)
        claims = affine_relations(runs)
        for stage, steps in _STAGES[:stages]:
            wrong = self._unroll(self.base - 1 + steps)
            if wrong is not None:
                return Refuted(wrong, "outputs differ")
            relations = [claim for claim in claims if relation_of(claim)]
            if stage == "bounds":
                claims += _first(guesses(self.transition.joint, runs, relations))
            elif stage == "conditions":
                claims += _first(conditional_guesses(runs, relations))
            for state in self.states[self.base - 1 : self.base - 1 + steps]:
                claims = self._cut(self.inside, claims, state)
            kept = self._inductive(claims, steps)
            if kept is not None:
                return Inductive(tuple(kept), steps)
        return Rejected("no invariant that was tried is enough")

    def _unroll(self, positions: int) -> Sequence | None:
        """Check that many positions from the start; the inputs of a wrong one, or None."""
        while len(self.states) < positions:
            self.inside, tape, advanced = next(self.positions)
            self.states.append(advanced.state)
            model = self._counterexample(self.inside, [advanced.correct])
            if model is not None:
                return tuple(tuple(self._value(model, symbol) for symbol in row.values()) for row in tape)
        return None

    def _inductive(self, claims: list[Expr], steps: int) -> list[Expr] | None:
        """The largest part of the guesses that is inductive, if it forces the outputs to be equal."""
        while True:
            assumptions, last = self.transition.window(claims, steps)
            kept = self._cut(assumptions, claims, last.state)
            if len(kept) == len(claims):
                break
            claims = kept
        return claims if self.follows(assumptions, last.correct) else None

    def _cut(self, assumptions: list[Any], claims: list[Expr], state: State) -> list[Expr]:
        """Drop guesses until the rest follows from the assumptions in the given state."""
        goals = {claim: self.z3.simplify(self.transition.holds(claim, state), som=True) for claim in claims}
        left = {claim: goal for claim, goal in goals.items() if not self.z3.is_true(goal)}
        dropped: set[Expr] = set()
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
                false = {c for c, g in left.items() if not self.follows(assumptions, g, _SINGLE_GOAL)}
                return [claim for claim in claims if claim not in dropped | false]
            dropped |= false
            left = {claim: goal for claim, goal in left.items() if claim not in false}
        return [claim for claim in claims if claim not in dropped]

    def follows(self, assumptions: list[Any], goal: Any, effort: float | None = None) -> bool:
        """Whether a goal is seen to follow from the assumptions."""
        try:
            return self._counterexample(assumptions, [goal], effort) is None
        except _Undecided:
            return False

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
        solver.set("max_memory", MEMORY)
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
