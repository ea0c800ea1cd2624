"""One meaning of solved: lengths, tolerance, noise, texts, and what is wrong in any case."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code import tasks
from weights2code.experiments.judging import lengths, solved, solves


def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
    return rng.uniform(0.0, 10.0, (n, length, 1)).round(1)


def total(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x, axis=1)


def rounded(x: np.ndarray) -> np.ndarray:
    return np.rint(x)


@pytest.mark.parametrize(
    ("length", "asked"), [(10, [10, 40]), (8, [8, 32, 40]), (20, [20, 40, 80]), (64, [40, 64, 256])]
)
def test_programs_are_judged_as_long_as_training_and_beyond(length, asked):
    assert lengths(length) == asked
    for wrong_at in asked:

        def run(x, wrong_at=wrong_at):
            return rounded(x) + (x.shape[1] == wrong_at)

        judgement = solved(run, rounded, draw, length, whole=True)
        assert not judgement.solved
        assert judgement.error == 1.0
        assert judgement.worst["length"] == wrong_at
    assert solved(rounded, rounded, draw, length, whole=True).solved


def test_whole_numbers_are_equal_and_reals_within_a_millionth_of_the_scale():
    assert not solved(lambda x: rounded(x) + 1e-9, rounded, draw, 10, whole=True)
    off_by = {1e-7: True, 0.9e-6: True, 2e-3: False}
    for off, right in off_by.items():
        assert solved(lambda x, off=off: x + off, lambda x: x, draw, 10, whole=False).solved is right
    # the scale is that of a sequence, so sums that grow to a hundred may be off by more than 1e-6
    assert solved(lambda x: total(x) + 2e-5, total, draw, 10, whole=False)
    assert not solved(lambda x: total(x) + 1e-2, total, draw, 10, whole=False)


def test_known_noise_is_allowed_and_no_more():
    assert solved(lambda x: x + 0.04, lambda x: x, draw, 10, whole=False, noise=0.05)
    assert not solved(lambda x: x + 0.06, lambda x: x, draw, 10, whole=False, noise=0.05)
    assert not solved(lambda x: rounded(x) + 0.04, rounded, draw, 10, whole=True, noise=0.05)


def test_one_wrong_value_in_one_sequence_is_wrong():
    def run(x):
        y = rounded(x)
        y[17, 3, 0] += 1
        return y

    worst = solved(run, rounded, draw, 10, whole=True).worst
    assert (worst["sequence"], worst["position"], worst["output"]) == (17, 3, 0)
    assert worst["given"] == worst["wanted"] + 1


def test_what_is_no_answer_is_wrong():
    def fails(x):
        raise ZeroDivisionError("by zero")

    assert not solved(None, rounded, draw, 10, whole=True)
    assert solved(fails, rounded, draw, 10, whole=True).worst["raised"] == "ZeroDivisionError: by zero"
    assert not solved(lambda x: np.full_like(x, np.nan), rounded, draw, 10, whole=False, noise=1.0)
    assert not solved(lambda x: x[:, :, 0], rounded, draw, 10, whole=True)


def test_texts_are_equal_and_each_output_has_its_own_kind():
    def truth(x):
        return np.stack([np.where(x[:, :, 0] > 5, "up", "down").astype(object), x[:, :, 0]], axis=2)

    def run(x, off=0.0, text="up"):
        return np.stack([np.where(x[:, :, 0] > 5, text, "down").astype(object), x[:, :, 0] + off], axis=2)

    asked = {"truth": truth, "draw": draw, "length": 10}
    assert solved(lambda x: run(x, 1e-7), **asked)
    assert not solved(lambda x: run(x, 1e-2), **asked)
    assert solved(lambda x: run(x, text="Up"), **asked).worst["given"] == "Up"


def test_a_task_is_judged_by_its_reference():
    task = tasks.get("parity_last2")
    assert solves(task.machine.run, task)
    assert not solves(lambda x: 1 - task.machine.run(x), task)


def test_seeds_draw_other_sequences():
    seen = []

    def kept(x):
        seen.append(x)
        return rounded(x)

    for seed in (0, 0, 1):
        solved(kept, rounded, draw, 40, whole=True, seed=seed)
    assert (seen[0] == seen[2]).all()
    assert not (seen[0] == seen[4]).all()
