"""Correct programs are proved, wrong ones never: one table of programs, and mutations of all of them.

Each program is another way to compute a built-in task than its reference machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.language import (
    BITS,
    Const,
    Definition,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    uniform,
    where,
)
from weights2code.language.python_source import python_source
from weights2code.tasks import get
from weights2code.verify import certify

a, b, x = Var("a"), Var("b"), Var("x")
x1, x2, x3 = (Var("x", lag) for lag in (1, 2, 3))
y1, y2 = Var("y", 1), Var("y", 2)
px1, px2, py1, py2 = Var("px", 1), Var("px", 2), Var("py", 1), Var("py", 2)
c, m, n, s = Var("c"), Var("m"), Var("n"), Var("s")
TOTAL, COUNT = Var("s", 1) + x, Var("n", 1) + 1


def program(
    inputs: tuple[str, ...] = ("x",),
    outputs: tuple[str, ...] = ("y",),
    start: dict[str, Start] | None = None,
    **steps: Definition,
) -> Recurrence:
    return Recurrence(inputs, tuple(Step(name, d) for name, d in steps.items()), outputs, start or {})


CASES: dict[str, tuple[str, Recurrence]] = {
    "sum": ("sum", program(s=TOTAL, y=s)),
    "freebody": ("freebody", program(y=2 * y1 - y2 + x)),
    "gravity": ("gravity", program(y=2 * y1 - y2 + x - 1)),
    "spring": ("spring", program(y=y1 - y2 + x)),
    "magnetic": (
        "magnetic",
        program(
            ("a", "b"),
            ("px", "py"),
            px=2 * px1 - px2 - py1 + py2 + a,
            py=2 * py1 - py2 + px1 - px2 + b,
        ),
    ),
    "moving average": ("exponential_moving_average", program(y=0.3 * x + 0.7 * y1)),
    "oscillator": ("damped_harmonic_oscillator", program(y=1.6 * y1 - 0.85 * y2 + 0.25 * x)),
    "linear drop": ("linear_drop", program(y=2 * y1 - y2 + 0.098 - 0.1 * x * y1 + 0.1 * x * y2)),
    "quadratic drop": ("quadratic_drop", program(y=2 * y1 - y2 + 0.098 - x * (y1 - y2) * abs(y1 - y2))),
    "free fall": ("free_fall_height", program(y=4.9 * x * x)),
    "prefix mean": ("prefix_mean", program(s=TOTAL, n=COUNT, y=s * (1 / n))),
    "running mean": ("prefix_mean", program(n=COUNT, y=y1 + (x - y1) / n)),
    "maximum": ("Max_Seen", program(m=where(x >= Var("m", 1), x, Var("m", 1)), y=m)),
    "minimum": (
        "Min_Seen",
        program(m=where(x < Var("m", 1), x, Var("m", 1)), y=m, start={"m": inf}),
    ),
    "evens": ("Evens_Counter", program(y=y1 + (x % 2).equals(0))),
    "majority, counts": ("Majority_0_1", program(s=TOTAL, n=COUNT, y=2 * s > n)),
    "majority, mean": ("Majority_0_1", program(s=TOTAL, n=COUNT, m=s / n, y=m > 0.5)),
    "majority of three": (
        "Majority_0_2",
        program(
            q=Var("q", 1) + x * x,
            s=TOTAL,
            n=COUNT,
            twos=(Var("q") - s) / 2,
            ones=s - 2 * Var("twos"),
            zeros=n - Var("ones") - Var("twos"),
            y=where(
                Var("zeros") >= maximum(Var("ones"), Var("twos")),
                0,
                where(Var("ones") >= Var("twos"), 1, 2),
            ),
        ),
    ),
    "parentheses": (
        "balanced_parenthesis",
        program(c=Var("c", 1) + 1 - 2 * x, m=minimum(Var("m", 1), c), y=op("and", c.equals(0), m >= 0)),
    ),
    "window of seven": ("Sum_Last7", program(y=y1 + x - Var("x", 7))),
    "dithering": (
        "Dithering",
        program(s=TOTAL, y=op("floor", s / 15) - op("floor", Var("s", 1) / 15)),
    ),
    "addition": (
        "Base_7_Addition",
        program(("a", "b"), y=(a + b + ((Var("a", 1) + Var("b", 1)) > y1)) % 7),
    ),
    "division": (
        "div_3",
        program(r=(2 * (x2 + y2) + x1 + y1) % 4, y=(2 * Var("r") + x) >= 3),
    ),
    "smaller of two": (
        "minimum_prev2",
        program(y=0.5 * (x + x1 - abs(x - x1)), start={"x": "first"}),
    ),
    "difference": ("abs_of_diff", program(y=maximum(x - x1, x1 - x))),
    "parity": ("parity", program(y=x + y1 - 2 * x * y1)),
    "parity of a sum": ("parity", program(s=TOTAL, y=s - 2 * op("floor", s / 2))),
    "exclusive or": ("bitwise_xor", program(("a", "b"), y=a + b - 2 * a * b)),
    "index": ("Parity_Bits_Mod2", program(y=(1 - y1) + 0 * x, start={"y": 1})),
    "retrieval": (
        "retrieve_value_by_key",
        program(("k", "v", "q"), y=Retrieval("k", "v", Var("q"))),
    ),
}


def certificate(task_name: str, candidate: Recurrence, **options):
    task = get(task_name)
    return certify(
        candidate,
        reference=task.machine,
        domains=task.domains,
        sampler=task.sampler,
        length=task.length,
        integer_outputs=task.integer_outputs,
        **options,
    )


@pytest.mark.parametrize("case", CASES)
def test_correct_programs_are_proved(case):
    found = certificate(*CASES[case])
    assert found.verdict == "proved", found.explain()
    assert found.covers == "every length"
    assert found.counterexample is None
    if not get(CASES[case][0]).integer_outputs and "up to the names" not in found.method:
        assert "exact arithmetic; the text rounds" in found.method


OPPOSITES = [("add", "sub"), ("max", "min"), ("ge", "gt"), ("le", "lt"), ("eq", "ne"), ("and", "or")]
SWAPS = {
    **{one: other for pair in OPPOSITES for one, other in (pair, pair[::-1])},
    **dict.fromkeys(("abs", "floor"), "neg"),
    **dict.fromkeys(("mul", "mod"), "sub"),
    "div": "mul",
}


def changed_formulas(expr: Expr) -> Iterator[Expr]:
    """The formula with one constant, one lag or one operator changed, in every way."""
    if isinstance(expr, Const):
        yield Const(expr.value + 1)
    elif isinstance(expr, Var):
        yield Var(expr.name, expr.lag + 1)
        if expr.lag:
            yield Var(expr.name, expr.lag - 1)
    elif isinstance(expr, Op):
        if expr.name in SWAPS:
            yield Op(SWAPS[expr.name], expr.args)
        for i, argument in enumerate(expr.args):
            for changed in changed_formulas(argument):
                yield Op(expr.name, (*expr.args[:i], changed, *expr.args[i + 1 :]))


def changed_definitions(definition: Definition) -> Iterator[Definition]:
    if isinstance(definition, Retrieval):
        key, value, query = definition.key, definition.value, definition.query
        yield Retrieval(key, value, query, definition.gap + 1, definition.default)
        yield Retrieval(key, value, query, definition.gap, definition.default + 1)
        yield Retrieval(value, key, query, definition.gap, definition.default)
    elif isinstance(definition, Expr):
        yield from changed_formulas(definition)


def mutants(machine: Recurrence) -> Iterator[Recurrence]:
    """The machine with one constant, lag, operator or start value changed, in every way that runs."""
    for i, step in enumerate(machine.steps):
        for definition in changed_definitions(step.definition):
            steps = (*machine.steps[:i], Step(step.name, definition), *machine.steps[i + 1 :])
            try:
                yield Recurrence(machine.inputs, steps, machine.outputs, machine.start)
            except ValueError:  # reads what is not computed yet
                continue
    for name in machine.depths():
        other: Start = 1 if machine.start_of(name) != 1 else 2
        yield Recurrence(machine.inputs, machine.steps, machine.outputs, {**machine.start, name: other})


def differs(task, mutant: Recurrence, inputs: np.ndarray) -> bool:
    """Whether the given sequences show a difference that counts."""
    with np.errstate(all="ignore"):
        right, answer = task.machine.run(inputs), mutant.run(inputs)
    if task.integer_outputs:
        return not (np.round(right) == np.round(answer)).all()
    return not (np.abs(right - answer) <= 1e-3 * np.abs(right).max()).all()


def check_mutants(task_name: str, candidate: Recurrence, most: int) -> None:
    task = get(task_name)
    seen = 0
    inputs = uniform(np.random.default_rng(1234), task.domains, 200, 3 * task.length)
    chosen = list(mutants(candidate))
    for mutant in chosen[:: max(1, len(chosen) // most)]:
        found = certificate(task_name, mutant, time_limit=0.3, count=32)
        if differs(task, mutant, inputs):
            seen += 1
            assert found.verdict == "failed", (mutant, found)
        if found.verdict == "failed":
            assert differs(task, mutant, np.array([found.counterexample]))
    assert seen, "no mutant differed: the test tested nothing"


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_program_is_never_proved(case):
    """A few changes of each; the attack in benchmarks/ tries them all."""
    check_mutants(*CASES[case], most=4)


# Random machines over a small domain, which exhaustive comparison to length 7 can judge.

NAMES = ("u", "y")
LEAVES = st.one_of(
    st.integers(-2, 3).map(Const),
    st.sampled_from([x, x1, x2, Var("u", 1), y1, y2]),
)
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            op, st.sampled_from(["add", "sub", "mul", "max", "min", "ge", "eq", "lt", "and"]), inner, inner
        ),
        st.builds(op, st.sampled_from(["abs", "neg", "relu", "not"]), inner),
        st.builds(lambda e, k: e % k, inner, st.sampled_from([2, 3, -3])),
        st.builds(lambda e, k: op("floor", e / k), inner, st.sampled_from([2, 3])),
        st.builds(op, st.just("where"), inner, inner, inner),
    ),
    max_leaves=5,
)
STARTS = st.fixed_dictionaries(
    {}, optional={"x": st.sampled_from([1.0, "first"]), "u": st.sampled_from([1.0, inf]), "y": st.just(2.0)}
)
MACHINES = st.builds(lambda u, y, start: program(u=u, y=y, start=start), FORMULAS, FORMULAS, STARTS)
DOMAINS = st.sampled_from([BITS, integers(-1, 1)])


def agree_everywhere(one: Recurrence, other: Recurrence, domain, length: int) -> bool:
    values = domain.values()
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*[values] * length, indexing="ij")], axis=1)
    with np.errstate(all="ignore"):
        first, second = one.run(grid[:, :, None]), other.run(grid[:, :, None])
    return np.array_equal(first, second, equal_nan=True)


def check_random(reference: Recurrence, candidate: Recurrence, domain) -> None:
    with np.errstate(all="ignore"):
        found = certify(
            candidate,
            reference=reference,
            domains=(domain,),
            length=3,
            integer_outputs=True,
            time_limit=0.5,
            count=16,
        )
    if found.verdict == "proved":
        assert agree_everywhere(reference, candidate, domain, 7)
    elif found.verdict == "failed":
        assert found.counterexample is not None
        example = np.array([found.counterexample])
        with np.errstate(all="ignore"):
            right = reference.run(example)[0, :, 0]
            space: dict = {}
            exec(python_source(candidate, (domain,), "program"), space)
            try:  # the text counts: in Python inf // 2 is no number
                answer = space["program"](example[0, :, 0])
            except ArithmeticError:
                return
        near = [
            a == b or (abs(a - b) < 0.5 and np.round(a) == np.round(b))
            for a, b in zip(right, answer, strict=True)
        ]
        assert not all(near)


@settings(max_examples=15, deadline=None)
@given(MACHINES, DOMAINS)
def test_a_machine_never_fails_against_itself(machine, domain):
    found = certify(
        machine,
        reference=machine,
        domains=(domain,),
        length=3,
        integer_outputs=True,
        time_limit=0.5,
        count=16,
    )
    assert found.verdict != "failed"


@settings(max_examples=300, deadline=None)
@given(MACHINES, DOMAINS, st.data())
def test_random_mutants_are_judged_rightly(machine, domain, data):
    changed = list(mutants(machine))
    check_random(machine, changed[data.draw(st.integers(0, len(changed) - 1))], domain)
