"""A search sees sequences and domains: a specification is run on inputs, and nothing else is read from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code import pipeline, tasks
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.verify import certify

SETTINGS = Settings(samples=1500, time_limit=120.0)


class Sampled:
    """A specification that gives outputs of inputs; whatever else is asked of it is noted and refused."""

    def __init__(self, task: tasks.Task) -> None:
        self._specification, self.asked = task.specification, list[str]()

    def run(self, x: np.ndarray) -> np.ndarray:
        return self._specification.run(x)

    def __getattr__(self, name: str) -> object:
        self.asked.append(name)
        raise AttributeError(name)


@pytest.mark.parametrize("name", ["bitwise_xor", "parity_last2", "tomita_5", "count_mod_5"])
def test_a_program_is_found_without_a_look_at_its_specification(name: str):
    """Of the paper, of MIPS, and with a state that no output shows: tested first, and proved afterwards."""
    task = tasks.get(name)
    problem = problem_of(task.name, SETTINGS)
    sampled = Sampled(task)
    outcome = pipeline.search(replace(problem, reference=sampled), SETTINGS)
    assert sampled.asked == []
    assert outcome.exit_code == 0
    assert outcome.certificate is not None
    assert outcome.certificate.verdict in ("tested", "exhaustive")
    assert outcome.program is not None
    proof = certify(
        outcome.program.recurrence,
        reference=task.specification,
        domains=problem.domains,
        length=problem.length,
        integer_outputs=problem.integer_outputs,
    )
    assert proof.verdict == "proved"
