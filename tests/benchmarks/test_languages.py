"""Merged states that the suite of formal languages is compared with, and how its runs are judged."""

from __future__ import annotations

from types import SimpleNamespace

import merging
import numpy as np
import pytest

from weights2code import tasks


@pytest.mark.parametrize("name", ["tomita_2", "flip_flop"])
def test_states_merged_from_enough_rows_are_exact(name: str) -> None:
    task = tasks.get(name)
    found = merging.measure(*task.sample(400, 12, seed=0), task, seed=1, limit=60.0)
    assert found["rpni_exact"]
    assert found["rpni_states"] == 4  # one of them before the first row


def test_a_table_of_states_cannot_count_for_ever() -> None:
    task = tasks.get("dyck_1")
    found = merging.measure(*task.sample(200, 12, seed=0), task, seed=1, limit=60.0)
    assert found["rpni_states"] > 4
    assert not found["rpni_exact"]


def test_a_step_that_was_never_seen_has_no_answer() -> None:
    zeros = np.zeros((3, 4, 1))
    machine = merging.merged(zeros, zeros)
    assert (merging.outputs(machine, zeros) == zeros).all()
    assert np.isnan(merging.outputs(machine, zeros + 1)).all()


def test_merging_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def for_ever(*_: object, **__: object) -> SimpleNamespace:
        while True:
            pass

    monkeypatch.setattr(merging, "run_RPNI", for_ever)
    zeros = np.zeros((1, 1, 1))
    found = merging.measure(zeros, zeros, tasks.get("tomita_2"), 0, 0.05)
    assert found == {"rpni_states": None, "rpni_exact": False, "rpni_seconds": 0.05}
