"""Random step functions are the same for the same seed, run as their text says and need all their parts."""

from __future__ import annotations

import ast
from dataclasses import asdict

import numpy as np
import problems
import programs
import pytest
from programs import StepProgram

from weights2code.settings import Settings

COUNT, SEED = 6, 909


@pytest.fixture(scope="module")
def drawn() -> list[StepProgram]:
    return programs.draw(COUNT, SEED, (1, 2))


def program(body: str) -> StepProgram:
    """A program of one column `x` and a register `s`."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    source = f"START = 0\n\n\ndef step(s, row):\n    x = row['x']\n{lines}\n"
    return StepProgram("s", "count", 1, source, (("x", (0, 3)),), 12)


def test_the_same_seed_gives_the_same_programs(drawn: list[StepProgram]) -> None:
    assert programs.draw(2, SEED, (1, 2)) == drawn[:2]
    assert [p.size for p in drawn] == [1, 2] * 3
    assert [p.name for p in drawn] == [f"s{i:03d}" for i in range(COUNT)]
    assert len({p.source for p in drawn}) == COUNT
    assert [programs.faults(p) for p in drawn] == [None] * COUNT


def test_a_program_is_its_text_and_a_problem(drawn: list[StepProgram]) -> None:
    for p in drawn:
        x = programs.drawn(p, 0, 5, 9)
        y = programs.answers(p.source, p, x)
        assert np.array_equal(p.task.specification.run(x)[:, :, 0], y)
    case = problems.random_case(asdict(drawn[0]), Settings(seed=SEED))
    machine = drawn[0].task.specification.run
    assert case.judge(machine)
    assert not case.judge(lambda x: machine(x) + 1)
    problem = case.problem(case.settings)
    assert np.array_equal(machine(problem.validation.x), problem.validation.y)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("s = x\nreturn s, 2", "constant"),
        ("s = x\nreturn s, s", "a copy"),
        ("s = 3 * s + x\nreturn s, s", "grows too fast"),
        ("return s, [1, 2][x]", "raises IndexError"),
        ("s = (s + x) % 5\nif s > 7:\n    s = 0\nreturn s, s", "does not need if s > 7:\n    s = 0"),
        ("s = (s + min(x, 4)) % 5\nreturn s, s", "does not need min(x, 4)"),
        ("s = (s + x) % 5\nreturn s, s", None),
    ],
)
def test_degenerate_programs_are_refused(body: str, fault: str | None) -> None:
    assert programs.faults(program(body)) == fault


def test_mutants_change_every_kind_of_part() -> None:
    one = program("if 1 <= x <= 2 or s:\n    s = [4, 0][x % 2]\nreturn s, abs(s - x)")
    texts = {ast.unparse(tree) for _, tree in programs.mutants(one)}
    for part in ("if s:", "if 1 <= x or s:", "if True:", "[0, 0][x % 2]", "[4, 0][x]", "s, s - x"):
        assert any(part in text for text in texts), part
