"""Text, recurrence and reference compute the same, for the machine of every built-in task."""

import numpy as np
import pytest

from weights2code.program.program import Program
from weights2code.program.sandbox import run_program
from weights2code.tasks import all_tasks, get


def check(task):
    source = Program(task.name, task.machine, task.domains, task.integer_outputs).source()
    sequences = [x for length in (1, 2, 13) for x in task.sample(5, length, seed=length)[0]]
    for x, text in zip(sequences, run_program(source, sequences), strict=True):
        with np.errstate(all="ignore"):
            own = task.machine.run(x[None])
        written = np.reshape(text, own.shape)
        np.testing.assert_allclose(written, own, rtol=1e-9, atol=1e-9, equal_nan=True, err_msg=source)
        right = np.asarray(task.reference(x[None])).reshape(own.shape)
        assert np.max(np.abs(own - right)) < 1e-9


@pytest.mark.parametrize("name", ["sum", "minimum_prev2"])
def test_text_recurrence_and_reference_agree(name):
    check(get(name))


@pytest.mark.slow
@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_text_recurrence_and_reference_agree_on_every_task(task):
    check(task)
