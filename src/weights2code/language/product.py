"""Reference and program as one machine, the object that every proof is about.

Both read the same inputs side by side; a proof shows that their outputs are equal in every reachable state.
Before that the joint machine is made plain: steps of the reference that no output depends on are dropped
(those of a program may stop it), and retrievals and counts over a finite set of keys become one memory cell a
key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from weights2code.language import (
    Const,
    Count,
    Domain,
    Expr,
    OverAll,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    op,
    renamed,
    where,
)
from weights2code.language.kinds import lags_of

#: A retrieval becomes cells only over this many keys or fewer.
MOST_KEYS = 64


@dataclass(frozen=True, slots=True)
class Product:
    """The joint machine: `pairs` names each output of the reference and the program's answer to it."""

    machine: Recurrence
    domains: tuple[Domain, ...]
    pairs: tuple[tuple[str, str], ...]
    #: Of a network, its past outputs, which are those of the program.
    own: tuple[str, ...] = ()

    @property
    def discrete(self) -> bool:
        return all(domain.discrete for domain in self.domains)


def must_fit(reference: Any, program: Recurrence, domains: tuple[Domain, ...]) -> None:
    """Both have as many inputs and outputs, and each input has a domain; else a ValueError says so."""
    if len(reference.inputs) != len(program.inputs) or len(domains) != len(reference.inputs):
        raise ValueError(
            f"the reference reads {len(reference.inputs)} columns, the program {len(program.inputs)}, "
            f"and {len(domains)} domains are given: they must be as many"
        )
    if len(reference.outputs) != len(program.outputs):
        raise ValueError(
            f"the reference has {len(reference.outputs)} outputs and the program {len(program.outputs)}"
        )


def product(reference: Recurrence, program: Recurrence, domains: tuple[Domain, ...]) -> Product:
    """Join two machines over the same inputs; names of the reference get the prefix `r.`, the others `p.`."""
    must_fit(reference, program, domains)
    names = tuple(f"x{i}" for i in range(len(domains)))
    start: dict[str, Start] = {}
    copies: list[Step] = []
    renames: list[dict[str, str]] = [{}, {}]
    machines = (reference.live(), program)
    for i, name in enumerate(names):
        starts: list[Start] = [machine.start_of(machine.inputs[i]) for machine in machines]
        for side, machine in enumerate(machines):
            if machine.inputs[i] not in lags_of(machine):  # it never reads what lies before the start
                starts[side] = starts[1 - side]
        # "first" only works on inputs, so the side that wants it keeps the input when the two disagree.
        owner = 1 if starts[1] == "first" else 0
        start[name] = starts[owner]
        for side, machine in enumerate(machines):
            if starts[side] == starts[owner]:
                renames[side][machine.inputs[i]] = name
            else:
                copy = f"{'rp'[side]}.{name}'"  # not an identifier, so no step has the name already
                copies.append(Step(copy, Var(name)))
                start[copy] = starts[side]
                renames[side][machine.inputs[i]] = copy
    steps = list(copies)
    for side, machine in enumerate(machines):
        for step in machine.steps:
            renames[side][step.name] = f"{'rp'[side]}.{step.name}"
        for step in machine.steps:
            steps.append(Step(renames[side][step.name], renamed(step.definition, renames[side])))
            start[renames[side][step.name]] = machine.start_of(step.name)
    outputs = [[renames[side][name] for name in machine.outputs] for side, machine in enumerate(machines)]
    joint = Recurrence(names, tuple(steps), tuple(outputs[0] + outputs[1]), start)
    return Product(joint, domains, tuple(zip(*outputs, strict=True)))


def expand_retrievals(joint: Product) -> Product | None:
    """Every retrieval and count as one cell a key; None if the keys of one are not an input with few
    values."""
    machine = joint.machine
    if not machine.retrieves():
        return joint
    domain_of = dict(zip(machine.inputs, joint.domains, strict=True))
    before: list[Step] = []
    after: list[Step] = []
    start = dict(machine.start)
    for step in machine.steps:
        definition = step.definition
        if not isinstance(definition, OverAll):
            before.append(step)
            continue
        domain = domain_of.get(definition.key)
        if domain is None or not domain.discrete or domain.high - domain.low >= MOST_KEYS:
            return None
        if isinstance(definition, Count):
            before += _counted(step.name, definition, domain)
            continue
        if not isinstance(definition, Retrieval):
            return None  # which position scores highest is no matter of the last value by key
        cells = []
        answer: Expr = Const(definition.default)
        for key in domain.values():
            cell = f"{step.name}.cell{int(key)}"
            keep = where(Var(definition.key).equals(int(key)), Var(definition.value), Var(cell, 1))
            cells.append(Step(cell, keep))
            start[cell] = definition.default
            answer = where(definition.query.equals(int(key)), Var(cell, definition.gap), answer)
        # A retrieval may read values that are computed later in the same position, except with gap 0.
        (before if definition.gap == 0 else after).extend(cells)
        before.append(Step(step.name, answer))
    expanded = Recurrence(machine.inputs, tuple(before + after), machine.outputs, start)
    return replace(joint, machine=expanded)


def _counted(name: str, definition: Count, domain: Domain) -> list[Step]:
    """A count as the sum of how often each key came up that counts."""
    cells, total = [], []
    for key in domain.values():
        cell = f"{definition.key}.times{int(key)}.{name}"
        cells.append(Step(cell, Var(cell, 1) + Var(definition.key).equals(int(key))))
        total.append(op(definition.relation, int(key), definition.query) * Var(cell))
    return [*cells, Step(name, reduce(lambda one, other: one + other, total))]


def inlined(machine: Recurrence) -> dict[str, Expr]:
    """Each step as a formula of the inputs and of the past alone: present locals are written out."""
    formulas: dict[str, Expr] = {}
    for step in machine.steps:
        assert isinstance(step.definition, Expr), "retrievals have no formula"
        present = {
            v: formulas[v.name] for v in step.definition.variables() if v.lag == 0 and v.name in formulas
        }
        formulas[step.name] = step.definition.substitute(present)
    return formulas


def depth(machine: Recurrence) -> int:
    """How many positions back the machine looks; after that many positions no start value is read."""
    return reduce(max, machine.depths().values(), 0)
