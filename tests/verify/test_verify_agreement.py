"""Text, recurrence and reference compute the same, for the machine of every built-in task."""

import numpy as np
import pytest

from weights2code.program import Program, run_program
from weights2code.tasks import all_tasks, get


def texts_and_sequences(task):
    source = Program(task.name, task.machine, task.domains, task.integer_outputs).source()
    return source, [x for length in (1, 2, 13) for x in task.sample(5, length, seed=length)[0]]


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_text_recurrence_and_reference_agree(task, loaded):
    source, sequences = texts_and_sequences(task)
    program = loaded(source)
    for x in sequences:
        with np.errstate(all="ignore"):
            own = task.machine.run(x[None])
            written = np.reshape(program(x), own.shape)
        np.testing.assert_allclose(written, own, rtol=1e-9, atol=1e-9, equal_nan=True, err_msg=source)
        right = np.asarray(task.reference(x[None])).reshape(own.shape)
        assert np.max(np.abs(own - right)) < 1e-9


def test_a_sandbox_computes_what_this_process_computes(loaded):
    source, sequences = texts_and_sequences(get("minimum_prev2"))
    for x, answer in zip(sequences, run_program(source, sequences), strict=True):
        assert np.array_equal(answer, loaded(source)(x))
