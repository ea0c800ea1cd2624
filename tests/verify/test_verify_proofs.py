"""Correct programs are proved, wrong ones never: one table of programs, and mutations of all of them.

Each program is another way to compute a built-in task than its reference machine.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_table import formulas, loaded, mutants, x, x1, x2, y1, y2
from weights2code.language import BITS, Recurrence, Retrieval, Start, Step, Var, integers, uniform
from weights2code.language.formula_reading import read_recurrence
from weights2code.language.python_source import python_source
from weights2code.tasks import get
from weights2code.verify import certify

N, S = "n = n[t-1] + 1; ", "s = s[t-1] + x[t]; "
OF_THREE = (
    f"q = q[t-1] + x[t]*x[t]; {S}{N}twos = (q[t] - s[t])/2; ones = s[t] - 2*twos[t]; "
    "zeros = n[t] - ones[t] - twos[t]; "
    "y = 0 if zeros[t] >= max(ones[t], twos[t]) else 1 if ones[t] >= twos[t] else 2"
)
#: The task, the program, and what lies before its start.
CASES: dict[str, tuple[str, str, dict[str, Start]]] = {
    "sum": ("sum", f"{S}y = s[t]", {}),
    "freebody": ("freebody", "y = 2*y[t-1] - y[t-2] + x[t]", {}),
    "gravity": ("gravity", "y = 2*y[t-1] - y[t-2] + x[t] - 1", {}),
    "spring": ("spring", "y = y[t-1] - y[t-2] + x[t]", {}),
    "magnetic": ("magnetic", "px = 2*px[t-1] - px[t-2] - py[t-1] + py[t-2] + a[t]; "
                 "py = 2*py[t-1] - py[t-2] + px[t-1] - px[t-2] + b[t]", {}),
    "moving average": ("exponential_moving_average", "y = 0.3*x[t] + 0.7*y[t-1]", {}),
    "oscillator": ("damped_harmonic_oscillator", "y = 1.6*y[t-1] - 0.85*y[t-2] + 0.25*x[t]", {}),
    "linear drop": ("linear_drop", "y = 2*y[t-1] - y[t-2] + 0.098 - 0.1*x[t]*y[t-1] + 0.1*x[t]*y[t-2]", {}),
    "quadratic drop": ("quadratic_drop", "y = 2*y[t-1] - y[t-2] + 0.098 - x[t]*(y[t-1] - y[t-2])*"
                       "abs(y[t-1] - y[t-2])", {}),
    "free fall": ("free_fall_height", "y = 4.9*x[t]*x[t]", {}),
    "prefix mean": ("prefix_mean", f"{S}{N}y = s[t]*(1/n[t])", {}),
    "running mean": ("prefix_mean", f"{N}y = y[t-1] + (x[t] - y[t-1])/n[t]", {}),
    "maximum": ("Max_Seen", "m = x[t] if x[t] >= m[t-1] else m[t-1]; y = m[t]", {}),
    "minimum": ("Min_Seen", "m = x[t] if x[t] < m[t-1] else m[t-1]; y = m[t]", {"m": inf}),
    "evens": ("Evens_Counter", "y = y[t-1] + (x[t] % 2 == 0)", {}),
    "majority, counts": ("Majority_0_1", f"{S}{N}y = 2*s[t] > n[t]", {}),
    "majority, mean": ("Majority_0_1", f"{S}{N}m = s[t]/n[t]; y = m[t] > 0.5", {}),
    "majority of three": ("Majority_0_2", OF_THREE, {}),
    "parentheses": ("balanced_parenthesis", "c = c[t-1] + 1 - 2*x[t]; m = min(m[t-1], c[t]); "
                    "y = c[t] == 0 and m[t] >= 0", {}),
    "window of seven": ("Sum_Last7", "y = y[t-1] + x[t] - x[t-7]", {}),
    "dithering": ("Dithering", f"{S}y = s[t]//15 - s[t-1]//15", {}),
    "addition": ("Base_7_Addition", "y = (a[t] + b[t] + ((a[t-1] + b[t-1]) > y[t-1])) % 7", {}),
    "division": ("div_3", "r = (2*(x[t-2] + y[t-2]) + x[t-1] + y[t-1]) % 4; y = 2*r[t] + x[t] >= 3", {}),
    "smaller of two": ("minimum_prev2", "y = 0.5*(x[t] + x[t-1] - abs(x[t] - x[t-1]))", {"x": "first"}),
    "difference": ("abs_of_diff", "y = max(x[t] - x[t-1], x[t-1] - x[t])", {}),
    "parity": ("parity", "y = x[t] + y[t-1] - 2*x[t]*y[t-1]", {}),
    "parity of a sum": ("parity", f"{S}y = s[t] - 2*(s[t]//2)", {}),
    "exclusive or": ("bitwise_xor", "y = a[t] + b[t] - 2*a[t]*b[t]", {}),
    "index": ("Parity_Bits_Mod2", "y = (1 - y[t-1]) + 0*x[t]", {"y": 1}),
    "retrieval": ("retrieve_value_by_key", "", {}),
}  # fmt: skip


def program(name: str) -> Recurrence:
    task, lines, start = CASES[name]
    if not lines:
        return Recurrence(("k", "v", "q"), (Step("y", Retrieval("k", "v", Var("q"))),), ("y",))
    inputs = ["a", "b"] if "a[t" in lines else ["x"]
    outputs = ["px", "py"] if task == "magnetic" else ["y"]
    return read_recurrence(inputs, lines.replace(";", "\n"), outputs, start)


def certificate(task_name: str, candidate: Recurrence, **options):
    task = get(task_name)
    return certify(
        candidate, reference=task.machine, domains=task.domains, sampler=task.sampler, length=task.length,
        integer_outputs=task.integer_outputs, **options,
    )  # fmt: skip


def differs(task, mutant: Recurrence, inputs: np.ndarray) -> bool:
    """Whether the given sequences show a difference that counts."""
    with np.errstate(all="ignore"):
        right, answer = task.machine.run(inputs), mutant.run(inputs)
    if task.integer_outputs:
        return not (np.round(right) == np.round(answer)).all()
    return not (np.abs(right - answer) <= 1e-3 * np.abs(right).max()).all()


@pytest.mark.parametrize("name", CASES)
def test_a_correct_program_is_proved_and_a_wrong_one_never(name: str):
    """A few changes of each; the attack in benchmarks/ tries them all."""
    task, right = get(CASES[name][0]), program(name)
    found = certificate(task.name, right)
    assert found.verdict == "proved", found.explain()
    assert (found.covers, found.counterexample) == ("every length", None)
    if not task.integer_outputs and "up to the names" not in found.method:
        assert "exact arithmetic; the text rounds" in found.method
    inputs = uniform(np.random.default_rng(1234), task.domains, 200, 3 * task.length)
    chosen, seen = list(mutants(right)), 0
    for mutant in chosen[:: max(1, len(chosen) // 4)]:
        found = certificate(task.name, mutant, time_limit=0.3, count=32)
        if differs(task, mutant, inputs):
            seen += 1
            assert found.verdict == "failed", (mutant, found)
        if found.verdict == "failed":
            assert differs(task, mutant, np.array([found.counterexample]))
    assert seen, "no mutant differed: the test tested nothing"


# Random machines over a small domain, which exhaustive comparison to length 7 can judge.

READ = formulas((x, x1, x2, Var("u", 1), y1, y2), whole=True, most=5)
STARTS = st.fixed_dictionaries(
    {}, optional={"x": st.sampled_from([1.0, "first"]), "u": st.sampled_from([1.0, inf]), "y": st.just(2.0)}
)
MACHINES = st.builds(
    lambda u, y, start: Recurrence(("x",), (Step("u", u), Step("y", y)), ("y",), start),
    READ,
    READ,
    STARTS,
)


@settings(max_examples=150, deadline=None)
@given(MACHINES, st.sampled_from([BITS, integers(-1, 1)]), st.data())
def test_random_machines_and_their_mutants_are_judged_rightly(machine, domain, data):
    changed = [machine, *mutants(machine)]
    candidate = changed[data.draw(st.integers(0, len(changed) - 1))]
    facts: Any = {"domains": (domain,), "length": 3, "integer_outputs": True, "time_limit": 0.5, "count": 16}
    with np.errstate(all="ignore"):
        found = certify(candidate, reference=machine, **facts)
        if found.verdict in ("proved", "exhaustive"):
            grid = np.meshgrid(*[domain.values()] * 7, indexing="ij")
            rows = np.stack([axis.ravel() for axis in grid], axis=1)[:, :, None]
            if found.verdict == "exhaustive":
                rows = rows[:, : int(found.covers.removeprefix("lengths 1 to "))]
            assert np.array_equal(machine.run(rows), candidate.run(rows), equal_nan=True)
        elif found.verdict == "failed":
            assert candidate is not machine
            assert found.counterexample is not None
            example = np.array([found.counterexample])
            try:  # the text counts: in Python inf // 2 is no number
                answer = loaded(python_source(candidate, (domain,), "program"))(example[0, :, 0])
            except ArithmeticError:
                return
            right = machine.run(example)[0, :, 0]
            assert not (
                (right == answer) | (np.abs(right - answer) < 0.5) & (np.round(right) == np.round(answer))
            ).all()
