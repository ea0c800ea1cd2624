"""Tasks of one's own: columns and domains, plain functions and formulas, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weights2code
from weights2code import tasks
from weights2code.errors import InputError
from weights2code.language import BITS, Recurrence, Var, integers, maximum, reals
from weights2code.language.formula_reading import read_formula, read_recurrence
from weights2code.tasks import StepFunction, Task
from weights2code.tasks.step_function import plain_state
from weights2code.tasks.task_file import TaskFile, is_task_file, load_task, task_file

X = {"x": (0, 4)}


def counted(total: int, row: dict[str, int]) -> tuple[int, int]:
    total = (total + row["x"]) % 3
    return total, int(total == 0)


def test_pairs_are_domains():
    inputs: dict[str, Any] = {"a": (0, 1), "b": (-2, 4), "c": (0.0, 1.0), "d": integers(3, 5)}
    task = Task(inputs=inputs, reference="y[t] = a[t]")
    assert task.domains == (BITS, integers(-2, 4), reals(0.0, 1.0), integers(3, 5))
    seen: list[dict[str, float]] = []
    Task(inputs=inputs, step=lambda state, row: (state, len(seen.append(row) or "")))
    assert {tuple(map(type, row.values())) for row in seen} == {(int, int, float, int)}
    assert weights2code.Task is Task
    assert isinstance(tasks.get("parity_last2"), Task)


def test_a_function_specifies_the_outputs_and_their_names():
    task = Task(inputs={"x": (0, 2)}, start=0, step=counted, length=7)
    x, y = task.sample(50, seed=1)
    assert x.shape == (50, 7, 1)
    assert np.array_equal(y[..., 0], np.cumsum(x[..., 0], axis=1) % 3 == 0)
    assert task.reference([[1, 2, 2]]).tolist() == [[0, 1, 0]]
    assert task.outputs == ("y",)
    pair: dict[str, Any] = {"inputs": X, "start": 0, "step": lambda s, row: (s, (row["x"], s))}
    assert Task(**pair).outputs == ("y1", "y2")
    assert Task(**pair, outputs=["now", "before"]).outputs == ("now", "before")


def test_a_sampler_draws_the_inputs():
    def rare(rng: np.random.Generator, count: int, length: int) -> np.ndarray:
        return (rng.random((count, length)) < 0.1).astype(float)

    task = Task(inputs={"x": (0, 1)}, start=0, step=counted, sampler=rare)
    assert task.sample(200)[0].mean() < 0.2
    wrong = Task(inputs={"x": (0, 1)}, start=0, step=counted, sampler=lambda rng, n, T: np.full((n, T, 1), 2))
    with pytest.raises(InputError, match="draws 2, which is not in bits"):
        wrong.sample(1)


def test_formulas_specify_the_outputs_too():
    texts: list[Any] = [
        "y[t] = max(x[t], y[t-1])",
        {"y": "max(x[t], y[t-1])"},
        {"y": maximum(Var("x"), Var("y", 1))},
        read_recurrence(["x"], "y[t] = max(x[t], y[t-1])"),
    ]
    for text in texts:
        task = Task(inputs={"x": (0, 9)}, reference=text)
        assert isinstance(task.machine, Recurrence)
        assert task.reference([[1, 4, 2]]).tolist() == [[1, 4, 4]]
    started = Task(inputs={"x": (0, 9)}, reference="y[t] = x[t] + y[t-1]", start={"y": 10})
    assert started.reference([[1, 4]]).tolist() == [[11, 15]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "x is read at no time"), ("x[t+1]", "is no time"), ("__import__(1)", "no function __import__"),
        ("x.y", "not part of a formula"), ("x[t] +", "is not a formula"), ("'a'", "not part of a formula"),
    ],
)  # fmt: skip
def test_what_is_no_formula_is_said(text: str, words: str):
    with pytest.raises(ValueError, match=words):
        read_formula(text)


def raising(state: int, row: dict[str, int]) -> tuple[int, float]:
    return state + 1, 1 / (5 - state)


def forgetful(state: None, row: dict[str, int], calls: list[int] = []) -> tuple[None, int]:  # noqa: B006
    calls.append(1)
    return state, len(calls) % 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"inputs": X}, "one of the two"),
        ({"inputs": {}, "step": counted}, "columns by name"),
        ({"inputs": {"x": (4, 0)}, "step": counted}, "from a smaller finite number to a larger"),
        ({"inputs": {"x": (0, 4.5)}, "step": counted}, "mixes a whole number and a float"),
        ({"inputs": {"x": "bits"}, "step": counted}, "must be a pair"),
        ({"inputs": {"x y": (0, 4)}, "step": counted}, "a plain name"),
        ({"inputs": X, "step": 3}, "must be a function"),
        ({"inputs": X, "step": counted, "length": 0}, "from 1 on"),
        ({"inputs": X, "start": 0, "step": raising}, "raises ZeroDivisionError: division by zero"),
        ({"inputs": X, "step": lambda s, row: 1}, "must return \\(state, output\\)"),
        ({"inputs": X, "step": lambda s, row: (s, None)}, "finite numbers, but returned None"),
        ({"inputs": X, "step": lambda s, row: (s, "a")}, "finite numbers, but returned 'a'"),
        ({"inputs": X, "step": lambda s, row: (s, ())}, "returns no output"),
        ({"inputs": {"y": (0, 4)}, "step": lambda s, row: (s, 1)}, "a column and an output"),
        (
            {"inputs": X, "start": 0, "step": lambda s, row: (s + 1, (1, 2) if s < 4 else 1)},
            "2 outputs as at the first position, but returned 1",
        ),
        ({"inputs": X, "reference": "y[t] = q[t]"}, "q, which nothing defines"),
        ({"inputs": X, "reference": "y[t] = x[t]", "start": 3}, "by name"),
        ({"inputs": {"x": (0, 3)}, "step": forgetful}, "different outputs when it is asked again"),
    ],
)
def test_what_is_no_task_is_one_sentence(arguments: dict[str, Any], words: str):
    with pytest.raises(InputError, match=words) as caught:
        Task(**arguments)
    assert "\n" not in str(caught.value)


# -- states --------------------------------------------------------------------------------------------------


def function(step: Any, start: Any, domain: Any = BITS) -> StepFunction:
    return StepFunction(("x",), ("y",), start, step, (domain,))


def test_finite_states_are_walked_through():
    walk = function(counted, 0).walk()
    assert walk is not None
    assert walk.moves.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert walk.answers[..., 0].tolist() == [[1, 0], [0, 0], [0, 1]]
    assert function(lambda s, row: (s + 1, s), 0).walk() is None
    assert function(counted, 0, reals(0.0, 1.0)).walk() is None
    grown = function(lambda s, row: (s * 2, s), 2**52).called(np.zeros((1, 3, 1)))
    assert grown[0, :, 0].tolist() == [2.0**52, 2.0**53, np.inf]  # which no target is


def listed(state: list[int], row: dict[str, int]) -> tuple[list[int], int]:
    state.append(row["x"])
    del state[:-2]
    return state, sum(state)


def nested(state: Any, row: dict[str, int]) -> tuple[Any, int]:
    state[1]["last"] = [*state[1]["last"], row["x"]][-2:]
    return state, sum(state[1]["last"])


def mapped(state: dict[str, int], row: dict[str, int]) -> tuple[dict[str, int], int]:
    state["b"], state["a"] = state["a"], row["x"]
    return state, state["a"] + state["b"]


def test_states_of_every_kind_are_walked_through_and_left_alone():
    given: list[Any] = []
    plain: list[tuple[Callable[..., Any], Any]] = [
        (listed, given),
        (nested, (None, {"last": []}, b"", True)),
        (mapped, {"a": 0, "b": 0}),
        (lambda s, row: ((s[1], row["x"]), s[1] + row["x"]), (0.5, 0)),
    ]
    x = np.array([[[1], [1], [0], [1]], [[0], [1], [1], [1]]], dtype=float)
    for step, start in plain:
        asked = function(step, start)
        walk = asked.walk()
        assert walk is not None
        assert len(walk.moves) <= 7
        assert asked.run(x)[..., 0].tolist() == [[1, 2, 1, 1], [0, 1, 2, 2]]
        assert np.array_equal(asked.run(x), asked.called(x))
    assert given == []


def test_states_that_a_function_can_tell_apart_stay_apart():
    walk = function(lambda s, row: (1.0 if row["x"] else s, len(repr(s))), 1).walk()
    assert walk is not None
    assert walk.answers[:, 0, 0].tolist() == [1, 3]
    states: list[Any] = [0, 0.0, -0.0, False, "", b"", None]
    states += [(), (0,), (False,), (0.0,), ("",), ((),), ([],), (1, 2), ((1,), 2), ((1, 2),)]
    states += [("tuple",), ("int", 1), [], [0], [1, 2], {}, {1: 2}, {1: 2, 3: 4}, {3: 4, 1: 2}]
    assert len({plain_state(state)[1] for state in states}) == len(states)
    for state in states:
        copy, key = plain_state(state)
        assert repr(copy) == repr(state)
        assert plain_state(copy)[1] == key


@dataclass
class Kept:
    last: int = 0


class Whole(int):
    pass


class Ordered(dict[str, int]):
    pass


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({1}, "a set"), (frozenset(), "a frozenset"), (Kept(), "a Kept"), (Kept, "a type"), (1j, "a complex"),
        (Whole(3), "a Whole"), (Ordered(), "a Ordered"), (np.zeros(2), "a ndarray"), (range(3), "a range"),
        (np.float64(1), "a float64"), (Decimal(1), "a Decimal"), (float("nan"), "NaN"),
        (([1, {2: (3, {4})}],), "a set"), ({frozenset(): 1}, "a frozenset"),
    ],
)  # fmt: skip
def test_states_that_cannot_be_told_apart_are_refused(state: Any, words: str):
    """As the first state, and as a later one."""
    sentence = f"the state holds {words}, which cannot be told apart safely; keep numbers"
    with pytest.raises(InputError, match=sentence):
        Task(inputs={"x": (0, 1)}, start=state, step=lambda s, row: (s, 0))
    with pytest.raises(InputError, match=sentence):
        Task(inputs={"x": (0, 1)}, start=0, step=lambda s, row: (state, 0))
    late = function(lambda s, row: (s + 1 if s < 50 else state, 0), 0)  # later than what is tried
    with pytest.raises(InputError, match=sentence):
        late.walk()


def test_a_list_in_two_places_is_refused():
    shared, cyclic = [0], [1]
    cyclic.append(cyclic)  # pyright: ignore[reportArgumentType]
    for state in ((shared, shared), (shared,) * 2, {1: shared, 2: [shared]}, cyclic, ((shared,),) * 2):
        with pytest.raises(InputError, match="the same list in two places"):
            Task(inputs={"x": (0, 1)}, start=state, step=lambda s, row: (s, 0))
    assert plain_state(([0], [0], (), ()))[0] == ([0], [0], (), ())
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    with pytest.raises(InputError, match="nested too deeply"):
        plain_state(deep)


# -- files ---------------------------------------------------------------------------------------------------


def test_a_file_names_a_task(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import weights2code\ndef step(s, row):\n    return s, row['x']\n"
        "same = weights2code.Task(inputs={'x': (0, 1)}, step=step)\n"
    )
    assert is_task_file("mine.py:same")
    assert not is_task_file("parity_last2")
    source = task_file(f"{file}:same")
    task = load_task(source)
    assert (task.name, task.columns) == ("same", ("x",))
    known = TaskFile.from_dict(source.to_dict())
    assert known == source
    with pytest.raises(InputError, match=r"name it with --task mine\.py:same"):
        load_task(known)
    said = {"sam": "did you mean same", "step": "of type function", "other": "its tasks are"}
    for name, words in said.items():
        with pytest.raises(InputError, match=words):
            load_task(task_file(f"{file}:{name}"))
    file.write_text("1/0\n")
    with pytest.raises(InputError, match="has changed"):
        load_task(source)
    with pytest.raises(InputError, match="line 1, raises ZeroDivisionError: division by zero"):
        load_task(task_file(f"{file}:same"))
    file.write_text("def (\n")
    with pytest.raises(InputError, match="line 1, raises SyntaxError"):
        load_task(task_file(f"{file}:same"))
    for name, words in (("nowhere.py:x", "there is no file"), (str(file), "name the task")):
        with pytest.raises(InputError, match=words):
            task_file(name)
