"""One position of the joint machine as a z3 transition: state and inputs in, outputs and next state out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weights2code.language import Expr, Var, exact_number
from weights2code.language.kinds import whole_names
from weights2code.verify.evaluation import stopping_steps
from weights2code.verify.product import Product
from weights2code.verify.z3_form import Translator

#: The past after some position: `Var(n, k)` is what the next position reads as n, k steps back.
State = Mapping[Var, Any]


@dataclass(frozen=True, slots=True)
class Advanced:
    """The state after one more position, and whether outputs are equal and everything is defined."""

    state: State
    correct: Any


class Transition:
    """The joint machine, symbolically."""

    def __init__(self, joint: Product) -> None:
        self.translator = Translator()
        self.z3 = self.translator.z3
        self.joint, self.machine = joint, joint.machine
        self.variables = self.machine.state()
        self.needed = stopping_steps(self.machine) | set(self.machine.depths())
        self.needed |= {name for pair in joint.pairs for name in pair}
        self.whole = whole_names(joint.machine, joint.domains, infinities=True)
        self._domain = dict(zip(self.machine.inputs, joint.domains, strict=True))

    def inputs(self, tag: str) -> tuple[dict[Var, Any], Any]:
        """Fresh inputs of one position, and the condition that they lie in their domains."""
        made = {
            Var(name): self.translator.variable(f"{name}@{tag}", domain)
            for name, domain in self._domain.items()
        }
        return {v: symbol for v, (symbol, _) in made.items()}, self.z3.And(*(c for _, c in made.values()))

    def any_state(self) -> tuple[dict[Var, Any], Any]:
        """A state of symbols, and what holds of its inputs once all of them have been read."""
        state, conditions = {}, [self.z3.BoolVal(True)]
        for variable in self.variables:
            name = f"{variable.name}[-{variable.lag}]"
            if variable.name in self._domain:
                state[variable], condition = self.translator.variable(name, self._domain[variable.name])
                conditions.append(condition)
            else:
                make = self.z3.Int if variable.name in self.whole else self.z3.Real
                state[variable] = make(name)
        return state, self.z3.And(*conditions)

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
                if step.name in self.needed:
                    conditions.append(defined)
        for right, answer in self.joint.pairs:
            conditions.append(self.translator.equal(env[Var(right)], env[Var(answer)]))
        following = {v: env[Var(v.name, v.lag - 1)] for v in self.variables}
        return Advanced(following, self.z3.And(*conditions))
