"""Identity: two machines that are the same but for names.

Variables that agree along a run are assumed to be equal, and the assumption is checked one position on: if
the definitions are the same formula once equals are replaced by equals, they stay equal for ever (the start
values are compared too). That needs no algebra and works for every step, retrievals included.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import renamed
from weights2code.verify.product import Product
from weights2code.verify.testing import probes

_LENGTH = 12


def same_up_to_names(joint: Product) -> bool:
    """Whether each output pair stays in one class when classes are split until they are consistent."""
    definitions = {step.name: step.definition for step in joint.machine.steps}
    classes = _candidates(joint, list(definitions))
    while True:
        leader = {name: members[0] for members in classes for name in members}
        split: list[list[str]] = []
        for members in classes:
            rest = list(members)
            while rest:
                head = renamed(definitions[rest[0]], leader)
                together = [rest[0], *(n for n in rest[1:] if head == renamed(definitions[n], leader))]
                split.append(together)
                rest = [name for name in rest if name not in together]
        if len(split) == len(classes):
            return all(
                right == answer or leader.get(right) == leader.get(answer, answer)
                for right, answer in joint.pairs
            )
        classes = split


def _candidates(joint: Product, names: list[str]) -> list[list[str]]:
    """Classes of steps that agree along a few runs and have the same start value."""
    machine = joint.machine
    with np.errstate(all="ignore"):
        trace = machine.trace(probes(np.random.default_rng(0), joint.domains, 8, _LENGTH, None))
    classes: list[list[str]] = []
    for name in names:
        for members in classes:
            alike = np.allclose(trace[name], trace[members[0]], rtol=1e-7, atol=1e-9, equal_nan=True)
            if alike and machine.start_of(name) == machine.start_of(members[0]):
                members.append(name)
                break
        else:
            classes.append([name])
    return classes
