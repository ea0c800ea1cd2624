"""Text, recurrence and model compute the same, for the machine of every built-in task."""

import numpy as np
import pytest

from weights2code.program.program import Program
from weights2code.program.sandbox import run_program
from weights2code.tasks import all_tasks, get
from weights2code.verify import three_way


def check(task):
    source = Program(task.name, task.machine, task.domains, task.integer_outputs).source()
    sequences = [x for length in (1, 2, 13) for x in task.sample(5, length, seed=length)[0]]
    result = three_way(
        task.machine,
        lambda batch: run_program(source, batch),
        sequences,
        integer_outputs=task.integer_outputs,
        discrete_model=lambda x: np.asarray(task.reference(x)).reshape(*x.shape[:2], -1),
    )
    assert result.text_agrees, (source, result.text)
    assert result.text.sequences == len(sequences)
    assert result.model is not None
    assert result.model.max_abs_error < 1e-9


@pytest.mark.parametrize("name", ["sum", "minimum_prev2"])
def test_text_recurrence_and_model_agree(name):
    check(get(name))


@pytest.mark.slow
@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_text_recurrence_and_model_agree_on_every_task(task):
    check(task)
