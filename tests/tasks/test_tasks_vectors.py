"""The reference machines equal the rows of the published MIPS generators, at their length and at 40."""

from pathlib import Path

import numpy as np
import pytest

from weights2code import tasks

with np.load(Path(__file__).parent / "vectors" / "mips.npz") as archive:
    VECTORS = {key: archive[key] for key in archive.files}
NAMES = sorted({key.split("/")[0] for key in VECTORS})


def test_every_mips_task_has_vectors():
    covered = {tasks.get(name).name for name in NAMES}
    assert covered == {task.name for task in tasks.all_tasks("mips")} | {"maximum_prev2", "minimum_prev2"}


@pytest.mark.parametrize("split", ["test", "len40"])
@pytest.mark.parametrize("name", NAMES)
def test_reference_equals_the_published_rows(name, split):
    if f"{name}/x_{split}" not in VECTORS:
        assert (name, split) == ("Parity_Bits_Mod2", "len40")
        return
    x, y = VECTORS[f"{name}/x_{split}"], VECTORS[f"{name}/y_{split}"]
    np.testing.assert_array_equal(tasks.get(name).reference(x), y)


@pytest.mark.parametrize("name", NAMES)
def test_published_inputs_have_the_declared_length_and_domains(name):
    task, x = tasks.get(name), VECTORS[f"{name}/x_test"]
    assert x.shape[1] == task.length
    for values, domain in zip(np.atleast_3d(x).transpose(2, 0, 1), task.domains, strict=True):
        assert np.isin(values, domain.values()).all()
