"""The tasks that are built in: how they are found and told, and that each is what it says.

Their machines equal the rows of the published MIPS generators, at their length and at 40, or plain loops.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from weights2code import tasks
from weights2code.cli import parser
from weights2code.errors import InputError
from weights2code.language.exact import run_exact

EVERY = pytest.mark.parametrize("task", tasks.all_tasks(), ids=lambda task: task.name)
with np.load(Path(__file__).parent / "vectors" / "mips.npz") as archive:
    VECTORS = {key: archive[key] for key in archive.files}
#: Names that the paper and MIPS have for one task.
BOTH = {
    "sum": "Sum_All", "spring": "Newton_Spring", "unique_prev2": "Previous_Equals_Current",
    "abs_of_diff": "Abs_Diff", "bit_addition": "Binary_Addition", "parity_last3": "Parity_Last3",
}  # fmt: skip


# -- names and tables ----------------------------------------------------------------------------------------


def test_both_suites_name_the_same_task_however_it_is_spelt():
    for paper, mips in BOTH.items():
        assert tasks.get(paper) is tasks.get(mips)
        assert tasks.get(paper).name == paper
        assert mips in tasks.get(paper).aliases
    for task in tasks.all_tasks():
        for name in (task.name, *task.aliases):
            for variant in (name, name.upper(), name.lower(), name.replace("_", "-"), f" {name} "):
                assert tasks.get(variant) is task
    assert len({task.name for task in tasks.all_tasks()}) == 90


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("div3x", "div_3"), ("sum_last9", "Sum_Last"), ("bit_adition", "bit_addition"), ("qqqqqq", "w2c tasks")],
)
def test_a_typo_is_answered_with_the_nearest_names_or_the_list(typo: str, meant: str):
    with pytest.raises(InputError, match=meant):
        tasks.get(typo)


def test_suites_and_what_the_paper_says_of_its_tasks():
    counts = {"paper": 29, "mips": 62, "appendix": 3, "languages": 20, "all": 90}
    assert {suite: len(tasks.all_tasks(suite)) for suite in counts} == counts
    assert parser.SUITES == tasks.SUITES
    with pytest.raises(InputError, match="paper, mips, appendix, languages, all"):
        tasks.all_tasks("imagenet")
    groups = Counter(task.category for task in tasks.all_tasks("paper"))
    assert groups == {"Linear Arithmetic": 8, "Non-Linear Composition": 16, "Continuous Dynamics": 5}
    said = {task.name: task.paper for task in tasks.all_tasks() if task.paper}
    longer = {name for name, paper in said.items() if (paper.epochs, paper.learning_rate) != (50, 0.05)}
    assert longer == {"freebody", "gravity"}
    assert said["gravity"] == tasks.PaperSettings(2, 2, 3, epochs=100, learning_rate=0.01)
    assert said["bit_addition"] == tasks.PaperSettings(2, 4, 4)
    assert "Div_5" not in said


def test_the_class_of_the_window_follows_from_the_steps_unless_said():
    """Inputs alone (a), its own past or a carry (b), and what is said and not derived (c, d)."""
    windows = {"Sum_Last7": "a", "minimum_prev2": "a", "parity": "b", "bit_addition": "b", "magnetic": "b",
               "Majority_0_2": "c", "Bit_Palindrome": "d"}  # fmt: skip
    assert {name: tasks.get(name).window_class for name in windows} == windows
    tracks = {"sum_last2": False, "sum": True, "free_fall_height": False, "prefix_mean": False}
    assert {name: tasks.get(name).state_tracking for name in tracks} == tracks


def test_the_table_on_a_terminal_and_in_a_file():
    row, keys = tasks.rows([tasks.get("bit_addition"), tasks.get("retrieve_value_by_key")])
    assert list(row.values())[:4] == ["bit_addition", "Binary_Addition", "a, b: bits", 10]
    assert list(row.values())[4:7] == ["Non-Linear Composition", "b", "paper, mips"]
    assert keys["inputs"] == "key: 0..7; value: 0..99; query: 0..7"
    lines = tasks.plain_text(tasks.all_tasks()).splitlines()
    assert lines[0].startswith("name ")
    assert len(lines) == 91
    file, terminal = io.StringIO(), io.StringIO()
    tasks.render(tasks.all_tasks("paper"), Console(file=file, width=40))
    assert file.getvalue() == tasks.plain_text(tasks.all_tasks("paper"))
    tasks.render(tasks.all_tasks(), Console(file=terminal, force_terminal=True, width=80))
    assert all(task.name in terminal.getvalue() for task in tasks.all_tasks())
    assert "Newton_Freebody" in terminal.getvalue()


# -- samples and answers -------------------------------------------------------------------------------------


@EVERY
def test_a_task_is_what_it_says(task: tasks.Task):
    columns, wide = len(task.columns), (len(task.outputs),) if len(task.outputs) > 1 else ()
    x, y = task.sample(300, seed=1)
    assert (x.shape, y.shape) == ((300, task.length, columns), (300, task.length, len(task.outputs)))
    assert x.dtype == y.dtype == np.float64
    for values, domain in zip(x.transpose(2, 0, 1), task.domains, strict=True):
        assert domain.low <= values.min() <= values.max() <= domain.high
        if domain.discrete and domain.high - domain.low < 20:
            assert set(values.ravel()) == set(domain.values())
    _, long = task.sample(300, length=60, seed=2)
    assert np.isfinite(long).all()
    assert task.integer_outputs == bool((long == np.round(long)).all())
    reference = task.reference(x[:20] if columns > 1 else x[:20, :, 0])
    np.testing.assert_array_equal(reference.reshape(20, *y.shape[1:]), y[:20])
    assert reference.ndim == (3 if wide else 2)
    half = task.length // 2  # answers do not look ahead
    np.testing.assert_array_equal(task.machine.run(x[:20, :half]), y[:20, :half])
    assert task.reference(np.empty((3, 0, columns))).shape == (3, 0, *wide)
    assert task.reference(np.empty((0, 5, columns))).shape == (0, 5, *wide)
    assert task.sample(2, length=0)[0].shape == (2, 0, columns)
    assert task.sample(2, length=1)[1].shape == (2, 1, len(task.outputs))


def test_a_seed_names_a_sample_and_many_sequences_have_no_seam():
    task = tasks.get("bit_addition")
    first, again, other = (task.sample(5, seed=seed)[0] for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    x, y = task.sample(20_001, seed=1)
    np.testing.assert_array_equal(y, task.machine.run(x))


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("sum", [1, 2, 3], r"shape \(n, T\) or \(n, T, 1\), not \(3,\); add the axis of sequences"),
        ("sum", np.zeros((2, 3, 2)), r"1 column \(x\)"),
        ("bit_addition", np.zeros((4, 10)), r"2 columns \(a, b\): give an array of shape \(n, T, 2\)"),
        ("bit_addition", np.zeros((4, 10, 3)), r"not \(4, 10, 3\)"),
        ("sum", [[1, 2], [1]], "different lengths"),
        ("sum", [["one"]], "must be numbers"),
        ("sum", [[1, float("nan")]], "finite"),
    ],
)
def test_unusable_inputs_are_refused_with_the_fix(name: str, inputs, message: str):
    with pytest.raises(InputError, match=message):
        tasks.get(name).reference(inputs)
    for n, length in ((-1, 10), (1, -10)):
        with pytest.raises(InputError, match="0 or more"):
            tasks.get(name).sample(n, length)


# -- answers against independent statements ------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in VECTORS}))
def test_reference_equals_the_published_rows(name: str):
    task = tasks.get(name)
    for split in ("test", "len40"):
        if f"{name}/x_{split}" not in VECTORS:
            assert (name, split) == ("Parity_Bits_Mod2", "len40")
            continue
        x, y = VECTORS[f"{name}/x_{split}"], VECTORS[f"{name}/y_{split}"]
        np.testing.assert_array_equal(task.reference(x), y)
        assert x.shape[1] == (task.length if split == "test" else 40)
        for values, domain in zip(np.atleast_3d(x).transpose(2, 0, 1), task.domains, strict=True):
            assert np.isin(values, domain.values()).all()


def followed(step, state):
    """A plain loop: the state after each value, of which the first part is seen."""

    def loop(sequence):
        now = state
        for value in sequence:
            now = step(value, *now)
            yield now[0]

    return loop


def falling(drag):
    def step(x, height, speed):
        speed += 0.1 * (9.8 - x * drag(speed))
        return height + 0.1 * speed, speed

    return followed(step, (0.0, 0.0))


def swing(force, position, velocity):
    velocity += 0.5 * (force - position - 0.3 * velocity)
    return position + 0.5 * velocity, velocity


CONTINUOUS = {
    "exponential_moving_average": followed(lambda x, mean: (0.3 * x + 0.7 * mean,), (0.0,)),
    "free_fall_height": followed(lambda x, _: (4.9 * x**2,), (0.0,)),
    "damped_harmonic_oscillator": followed(swing, (0.0, 0.0)),
    "linear_drop": falling(lambda speed: speed),
    "quadratic_drop": falling(lambda speed: speed * abs(speed)),
    "prefix_mean": followed(lambda x, mean, n: (mean + (x - mean) / (n + 1), n + 1), (0.0, 0)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_tasks_on_reals_equal_plain_loops(name: str):
    inputs, outputs = tasks.get(name).sample(20, 40, seed=3)
    expected = [list(CONTINUOUS[name](sequence)) for sequence in inputs[:, :, 0].tolist()]
    np.testing.assert_allclose(outputs[:, :, 0], expected, rtol=1e-9, atol=1e-9)


def test_retrieval_returns_the_newest_earlier_value():
    inputs, outputs = tasks.get("retrieve_value_by_key").sample(50, 40, seed=4)
    for sequence, answers in zip(inputs.tolist(), outputs[:, :, 0].tolist(), strict=True):
        memory: dict[float, float] = {}
        for (key, value, query), answer in zip(sequence, answers, strict=True):
            assert answer == memory.get(query, 0)
            memory[key] = value


def test_double_precision_is_exact_up_to_the_stated_length():
    task = tasks.get("Bit_Palindrome")
    x, y = task.sample(6, length=task.exact_length, seed=5)
    inputs = np.concatenate([x, np.ones_like(x[:1])])
    np.testing.assert_array_equal(task.machine.run(inputs), run_exact(task.machine, inputs)[0])
    np.testing.assert_array_equal(task.machine.run(x), y)
    task = tasks.get("magnetic")
    assert task.exact_length is not None
    # the farthest that px can get: push in the direction of its response to a single push
    pushes = np.zeros((2, task.exact_length, 2))
    pushes[0, 0, 0] = pushes[1, 0, 1] = 1
    farthest = 10 * np.sign(task.machine.run(pushes)[:, :, 0].T[None, ::-1])
    exact = run_exact(task.machine, farthest)[0]
    assert 2**52 < np.abs(exact).max() < 2**53
    np.testing.assert_array_equal(task.machine.run(farthest), exact)


def test_palindromes_of_every_length_are_planted_and_told_apart():
    task, half = tasks.get("Bit_Palindrome"), np.random.default_rng(6).integers(0, 2, 100)
    palindrome = np.concatenate([half, half[::-1]])
    spoilt = palindrome.copy()
    spoilt[30] ^= 1
    assert task.reference([palindrome, spoilt])[:, -1].tolist() == [1, 0]
    share = task.sample(20_000, seed=1)[1][:, :, 0].mean(axis=0)
    assert share[0] == 1
    # planting adds 1/9 to what chance gives a prefix of that length, 2^-(length // 2)
    assert share[9] == pytest.approx(1 / 9 + 8 / 9 / 32, abs=0.02)
    assert task.sample(3, length=1)[1].tolist() == [[[1.0]]] * 3
