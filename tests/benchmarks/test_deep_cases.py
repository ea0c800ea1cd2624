"""Files with deep rules: every rule runs, every line of it matters, and the kept third is fixed."""

from __future__ import annotations

from pathlib import Path

import checks
import deep_cases
import numpy as np
import pytest

NAMES = [case.name for case in deep_cases.DEEP]


def drawn(case, count: int = 40, length: int = 16) -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.stack([case.draw(rng, length) for _ in range(count)])


def test_a_third_is_kept() -> None:
    places = np.random.default_rng(14).permutation(20)[:7]
    assert len(set(NAMES)) == 20
    assert tuple(NAMES[place] for place in sorted(places)) == deep_cases.KEPT
    assert [case.part for case in deep_cases.DEEP].count("kept") == 7


def test_some_inputs_are_reals_and_nothing_is_hidden() -> None:
    real = [case for case in deep_cases.DEEP if not (drawn(case) % 1 == 0).all()]
    assert len(real) >= 6
    assert {len(case.rule.steps) for case in deep_cases.DEEP} == {3, 4}
    assert all(checks.memory(case.rule) != "hidden" for case in deep_cases.DEEP)


@pytest.mark.parametrize("case", deep_cases.DEEP, ids=NAMES)
def test_every_column_and_every_line_matters(case) -> None:
    x = drawn(case)
    y = case.rule.run(x)
    np.testing.assert_array_equal(case.machine(x[3]), y[3])
    assert checks.unbalanced(y) is None
    for column in range(x.shape[2]):
        other = x.copy()
        other[:, :, column] = np.roll(x[:, :, column], 1, axis=0)
        assert checks.differing(case.rule.run(other), y) > 0.02
    for mutant in checks.mutants(case.rule):
        assert checks.differing(checks.quiet_run(mutant, x), y) > 0.01, mutant


def test_files_are_written_alike(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    case = deep_cases.DEEP[0]
    text = case.write(tmp_path).read_text()
    assert case.write(tmp_path / "again").read_text() == text
    lines = text.splitlines()
    assert lines[0] == "sequence,step,temperature,wanted,heater"
    assert int(lines[-1].split(",")[0]) == 399
    assert 400 * 12 <= len(lines) - 1 <= 400 * 20


def test_programs_are_judged_by_the_machine_behind_the_file() -> None:
    case = deep_cases.DEEP[0]

    def machine(x: np.ndarray) -> np.ndarray:
        return np.stack([case.machine(sequence) for sequence in x])

    assert case.judge(machine)
    assert not case.judge(lambda x: machine(x) + 1)
    assert not case.judge(None)
