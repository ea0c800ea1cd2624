"""One position of the joint machine as a z3 transition: state and inputs in, outputs and next state out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Var
from weights2code.verify.exact import exact_number
from weights2code.verify.product import Product
from weights2code.verify.z3_form import Translator

_KEEP_WHOLE = {"add", "sub", "mul", "neg", "abs", "relu", "max", "min", "clip", "mod"}

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
        self.whole = whole_names(joint)
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
        conditions = []
        for step in self.machine.steps:
            assert isinstance(step.definition, Expr), "retrievals are expanded before"
            env[Var(step.name)], defined = self.translator.translate(step.definition, env)
            if defined is not True:
                conditions.append(defined)
        for right, answer in self.joint.pairs:
            conditions.append(self.translator.equal(env[Var(right)], env[Var(answer)]))
        following = {v: env[Var(v.name, v.lag - 1)] for v in self.variables}
        return Advanced(following, self.z3.And(*conditions))


def whole_names(joint: Product) -> set[str]:
    """The names that only ever hold whole numbers: assume it of all, and drop what does not follow."""
    machine: Recurrence = joint.machine
    inputs = {name for name, domain in zip(machine.inputs, joint.domains, strict=True) if domain.discrete}
    steps = {step.name for step in machine.steps if _whole_start(machine, step.name)}
    while True:
        known = inputs | steps
        kept = {
            step.name
            for step in machine.steps
            if step.name in steps and isinstance(step.definition, Expr) and _is_whole(step.definition, known)
        }
        if kept == steps:
            return known
        steps = kept


def _whole_start(machine: Recurrence, name: str) -> bool:
    start = machine.start_of(name)
    return start in (float("inf"), float("-inf")) or float(start).is_integer()


def _is_whole(expr: Expr, known: set[str]) -> bool:
    if isinstance(expr, Const):
        return isinstance(exact_number(expr.value), int) or expr.value in (float("inf"), float("-inf"))
    if isinstance(expr, Var):
        return expr.name in known
    assert isinstance(expr, Op)
    if OPERATORS[expr.name].boolean or expr.name == "floor":
        return True
    if expr.name == "where":
        return all(_is_whole(argument, known) for argument in expr.args[1:])
    if expr.name == "pow":
        exponent = expr.args[1]
        natural = isinstance(exponent, Const) and isinstance(exponent.value, int) and exponent.value >= 0
        return natural and _is_whole(expr.args[0], known)
    return expr.name in _KEEP_WHOLE and all(_is_whole(argument, known) for argument in expr.args)
