"""Random step functions are the same for the same seed, run as their text says and need all their parts."""

from __future__ import annotations

import ast
import pickle
from dataclasses import replace

import numpy as np
import problems
import pytest
import step_functions
import step_mutants
import step_statements

from weights2code.language import uniform

random_run = problems.neighbour("random_programs", "run")
COUNT, SEED = 8, 909


@pytest.fixture(scope="module")
def drawn():
    return step_functions.draw(COUNT, SEED)


def program(body: str, low: float = 0, high: float = 3, start: str = "0"):
    """A program of one column `x` and a register `s`."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    source = f"START = {start}\n\n\ndef step(s, row):\n    x = row['x']\n{lines}\n"
    return step_functions.StepProgram("s", "register", 1, source, (("x", (low, high)),), 12, ("register",))


def test_the_same_seed_gives_the_same_programs(drawn) -> None:
    assert step_functions.draw(3, SEED) == drawn[:3]
    assert {p.source for p in step_functions.draw(2, SEED - 1)}.isdisjoint(p.source for p in drawn)


def test_sizes_are_as_asked_and_families_are_among_the_tags(drawn) -> None:
    assert [p.size for p in drawn] == [1, 2, 3, 4] * 2
    assert [p.size for p in step_functions.draw(2, SEED, (2, 1))] == [2, 1]
    assert [p.name for p in drawn] == [f"s{i:03d}" for i in range(COUNT)]
    for p in drawn:
        least, most = step_functions.SIZES[p.size]
        assert least <= step_functions.weight(p.source) <= most, p.text()
        assert p.family in p.tags
        assert p.family in step_statements.IDIOMS


def test_the_text_is_what_runs(drawn) -> None:
    for p in drawn:
        names: dict = {}
        exec(p.text(), names)
        x = uniform(np.random.default_rng(0), step_functions.domains_of(p.inputs), 5, 9)
        y = p.run(x)
        assert y.shape == (5, 9, 1)
        assert np.array_equal(p.task.specification.called(x), y)
        state = names["START"]
        for row, out in zip(step_functions.rows_of(p.inputs, x)[0], y[0, :, 0], strict=True):
            state, given = names["step"](state, row)
            assert given == out


def test_every_program_meets_the_filters(drawn) -> None:
    assert [step_functions.faults(p) for p in drawn] == [None] * COUNT
    assert len({step_functions.signature(p) for p in drawn}) == COUNT


def test_a_program_goes_to_another_process_and_becomes_a_problem(drawn) -> None:
    sent = pickle.loads(pickle.dumps(drawn[0]))
    problem = random_run.problem_of(sent, SEED)
    assert np.array_equal(drawn[0].run(problem.validation.x), problem.validation.y)
    assert sent.judge(drawn[0].run, SEED)
    assert not sent.judge(lambda x: drawn[0].run(x) + 1, SEED)
    assert random_run.described(sent, SEED)["rule"] == drawn[0].text()


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("s = x\nreturn s, 2", "constant"),
        ("s = x\nreturn s, s", "a copy"),
        ("s = 2 * s + x\nreturn s, s", "grows too fast"),
        ("s = max(s, x)\nreturn s, s", "constant"),
        ("s = (s + x) % 50\nreturn s, int(s == 7)", "one value nearly always"),
        ("return s, [1, 2][x]", "raises IndexError"),
        ("s = (s + x) % 5\nif s > 7:\n    s = 0\nreturn s, s", "does not need if s > 7:\n    s = 0"),
        ("s = (s + min(x, 4)) % 5\nreturn s, s", "does not need min(x, 4)"),
        ("s = (s + x) % 5\nreturn s, s", None),
    ],
)
def test_degenerate_programs_are_refused(body: str, fault: str | None) -> None:
    assert step_functions.faults(program(body)) == fault


def test_a_row_that_is_unpacked_does_not_count_and_each_condition_does() -> None:
    one = program("if x > 1 and s < 3:\n    s += 1\nelif x == 0:\n    s = 0\nreturn s, s * x")
    assert step_functions.weight(one.source) == 5


def test_names_and_order_of_columns_make_no_other_program() -> None:
    source = "START = 0\n\n\ndef step(s, row):\n    return s, row['a'] - 2 * row['b']\n"
    bits = (0, 3)
    one = replace(program("return s, x"), source=source, inputs=(("a", bits), ("b", bits)))
    swapped = source.replace("'a'", "'c'").replace("'b'", "'a'").replace("'c'", "'b'")
    assert step_functions.signature(one) == step_functions.signature(replace(one, source=swapped))
    other = source.replace("- 2", "+ 2")
    assert step_functions.signature(one) != step_functions.signature(replace(one, source=other))


def test_mutants_change_every_kind_of_part() -> None:
    one = program("if 1 <= x <= 2 or s:\n    s = [4, 0][x % 2]\nreturn s, abs(s - x)")
    texts = {ast.unparse(tree) for _, tree in step_mutants.mutants(one.source, one.inputs, 0)}
    for part in (
        "if s:",
        "if 1 <= x or s:",
        "if True:",
        "if False:",
        "[0, 0][x % 2]",
        "[4, 0][x]",
        "s, s - x",
    ):
        assert any(part in text for text in texts), part
