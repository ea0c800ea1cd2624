"""Memories: what heads over everything so far give, which of them the data ask for, and their networks."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, fit_layout, from_arrays
from weights2code.graph import DiscreteGraph, RouterNode
from weights2code.graph.from_model import graph_of
from weights2code.graph.to_model import model_of_all
from weights2code.language import (
    BITS,
    Domain,
    Recurrence,
    Retrieval,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    uniform,
    where,
)
from weights2code.pipeline import search as run_search
from weights2code.settings import Settings
from weights2code.training.build import build
from weights2code.training.delays import delay_of, delayed
from weights2code.training.functions import operator
from weights2code.training.ladder import FAST_LADDER
from weights2code.training.memories import (
    FUNCTIONS,
    OF_WHOLE,
    ONE,
    POSITION,
    TOTAL,
    Memory,
    Quantity,
    ages,
    computed,
    conditional,
    last_equal,
    plain,
    walks,
)
from weights2code.training.neighbours import near_rows
from weights2code.training.remembering import Memories, widened, with_heads
from weights2code.training.repeats import repeated_rows, windows_are_enough, without_outputs

A, B, X = Var("a"), Var("b"), Var("x")
NOW = {name: Quantity(((place, 0),)) for place, name in enumerate("ab")}
LAST_EQUAL = Memory("equality", NOW["a"], NOW["b"], NOW["b"], 1)


def problem_of(machine: Recurrence, *domains: Domain, count: int = 3000, length: int = 16) -> Problem:
    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return uniform(rng, domains, n, length)

    x = draw(np.random.default_rng(0), count + 200, length)
    data = from_arrays(x, machine.run(x))
    parts = data.take(slice(200, None)), data.take(slice(0, 200))
    return Problem(
        "task", machine.inputs, ("y",), domains, data.domains()[1], *parts, length, machine, sampler=draw
    )


def of_two(*steps: Step, start: dict[str, float] | None = None) -> Recurrence:
    return Recurrence(("a", "b"), steps, ("y",), start or {})


def looked_up(y: object) -> Recurrence:
    return of_two(Step("s", Retrieval("b", "a", B, 1)), Step("y", y))  # type: ignore[arg-type]


def test_the_last_equal_key():
    key, value = np.array([[1, 2, 1, 1]]), np.array([[5, 6, 7, 8]])
    assert last_equal(key, key, value, 1).tolist() == [[0, 0, 5, 7]]
    assert last_equal(key, key, value, 0).tolist() == [[5, 6, 7, 8]]


def test_repeated_rows_show_what_is_remembered_and_beside_what():
    s = Var("s")
    found = next(repeated_rows(problem_of(looked_up(s % 5), integers(0, 6), integers(0, 6))))
    assert (found.memories, found.leaves) == ((LAST_EQUAL,), ((2, 0),))
    found = next(repeated_rows(problem_of(looked_up(s - Var("s", 2) + A), BITS, BITS)))
    assert found.memories == (LAST_EQUAL,)
    assert sorted(found.leaves) == [(0, 0), (2, 0), (2, 2)]


@pytest.mark.slow
def test_sums_of_functions_are_found():
    machine = of_two(Step("s", Var("s", 1) + A.equals(B)), Step("y", maximum(Var("s") - B, 0)))
    found = next(repeated_rows(problem_of(machine, BITS, BITS)))
    equal = Quantity(((0, 0), (1, 0)), "equal")
    assert [memory.kind for memory in found.memories] == ["sum"]
    assert found.memories[0].value == equal


def test_nothing_is_remembered_where_windows_are_enough():
    near = of_two(Step("y", where(A, B, Var("b", 1))))
    assert next(repeated_rows(problem_of(near, BITS, BITS)), None) is None
    assert windows_are_enough(problem_of(near, BITS, BITS))
    reals_near = of_two(Step("y", A + maximum(B, Var("b", 1))))
    assert next(near_rows(problem_of(reals_near, reals(0, 1), reals(0, 1))), None) is None


def test_inputs_that_were_gathered_may_take_the_place_of_past_outputs():
    machine = of_two(Step("s", Var("s", 1) + A.equals(B)), Step("y", Var("s") + Var("s", 1)))
    problem = problem_of(machine, BITS, BITS)
    assert next(repeated_rows(problem), None) is None
    found = next(without_outputs(problem))
    assert found.memories == (Memory("sum", Quantity(((0, 0), (1, 0)), "equal")),)
    assert sorted(found.leaves) == [(2, 0), (2, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("same", "added"), [(4, True), (5, False)])
def test_what_comes_late_is_looked_for_where_it_was_made(same: int, added: bool):
    s, a = Var("s", 4), Var("a", 4)
    problem = problem_of(looked_up(s + a if added else s > a), integers(0, 4), integers(0, 4))
    assert delay_of(problem) == same
    found = next(delayed(problem, repeated_rows))
    assert found.memories == (LAST_EQUAL,)
    assert sorted(found.leaves) == [(0, 4), (2, 4)]
    assert not windows_are_enough(problem)
    at_once = problem_of(looked_up(Var("s") > A), integers(0, 4), integers(0, 4))
    assert next(delayed(at_once, repeated_rows), None) is None


def test_inputs_alone_need_nothing_that_was_gathered():
    near = of_two(Step("y", where(A, B, Var("b", 1))))
    assert next(without_outputs(problem_of(near, BITS, BITS)), None) is None


@pytest.mark.slow
def test_reals_are_asked_of_near_rows():
    machine = of_two(Step("s", Var("s", 1) + A - B), Step("y", op("relu", Var("s") - 1)))
    found = next(near_rows(problem_of(machine, reals(0, 1), reals(0, 1))))
    (memory,) = found.memories
    assert (memory.kind, memory.value.function) == ("sum", "difference")
    assert found.leaves == ((2, 0),)


def running_mean(y: object, *inputs: str) -> Recurrence:
    total, count = Step("s", Var("s", 1) + Var(inputs[-1])), Step("n", Var("n", 1) + 1)
    mean = Step("m", Var("s") / Var("n"))
    return Recurrence(inputs, (total, count, mean, Step("y", y)), ("y",))  # type: ignore[arg-type]


def test_means_of_whole_numbers_repeat():
    m = Var("m")
    machine = running_mean(m - 2 * Var("m", 1) + Var("m", 2), "x")
    found = next(repeated_rows(problem_of(machine, BITS)))
    assert [memory.kind for memory in found.memories] == ["mean"]
    assert found.leaves == ((1, 0), (1, 1), (1, 2))


def test_no_mean_is_seen_in_what_is_none():
    near = of_two(Step("y", A + maximum(B, Var("b", 1))))
    total = of_two(Step("y", Var("y", 1) + A * B))
    for machine in (near, total):
        assert next(near_rows(problem_of(machine, reals(0, 1), reals(0, 1))), None) is None


def found_by(machine: Recurrence, *domains: Domain) -> Memory:
    """The memory that repeated rows ask for, the last of them if it takes two."""
    return next(repeated_rows(problem_of(machine, *domains))).memories[-1]


@pytest.mark.slow
def test_the_last_value_under_a_condition():
    kept = Step("s", where(B.equals(2), A, Var("s", 1)))
    memory = found_by(of_two(kept, Step("y", minimum(Var("s"), A))), integers(0, 15), integers(0, 3))
    assert memory.query == Quantity(((0, 0),), ONE)
    assert memory.key is not None
    assert [point for point, level in memory.key.levels if level] == [(2.0,)]
    assert (memory.value, memory.gap) == (NOW["a"], 0)


@pytest.mark.slow
def test_how_long_ago_a_condition_held():
    since = Step("s", where(A.equals(2), 0, Var("s", 1) + 1))
    memory = found_by(of_two(since, Step("y", Var("s") * B)), integers(0, 3), BITS)
    assert memory.value.function == POSITION


def test_the_lowest_that_a_sum_was():
    total = Step("s", Var("s", 1) + X)
    low = Step("m", minimum(Var("m", 1), Var("s")))
    machine = Recurrence(("x",), (total, low, Step("y", Var("s").equals(Var("m")))), ("y",), {"m": np.inf})
    memory = found_by(machine, integers(-1, 1))
    assert (memory.kind, memory.value) == ("min", Quantity(((0, 0),), TOTAL))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_sub_mlp_computes_each_function(function: str, whole: bool):
    if function in OF_WHOLE and not whole:
        return
    rng = np.random.default_rng(1)
    values = rng.integers(-3, 6, (200, 2)).astype(float) if whole else rng.uniform(-3, 6, (200, 2))
    units = [2.0, 4.0]
    node = operator(function, (0, 1), units, [(-3.0, 6.0)] * 2, whole=whole)
    wanted = FUNCTIONS[function](*values.T)
    exact = 1e-12 if whole or function != "product" else 2e-3
    assert node.apply(values / units) == pytest.approx(wanted, abs=exact)


@pytest.mark.slow
@pytest.mark.parametrize("domains", [(integers(-2, 3), integers(0, 2)), (integers(0, 4), reals(-1, 1))])
def test_heads_in_the_place_of_columns_compute_the_same(domains: tuple[Domain, ...]):
    machine = of_two(Step("y", A + B))
    problem = problem_of(machine, *domains, count=40, length=9)
    rung = next(rung for rung in FAST_LADDER if rung.name == "pairs")
    pairs = [pair[1] for pair in (*ages(problem), *walks(problem))]
    heads = [*plain(problem), *computed(problem), *conditional(problem)][::15]
    for memory in [*heads, *pairs[::4]]:
        wide = widened(problem, (memory,))
        layout = fit_layout("autoregressive", wide.training)
        model = build(rung, wide, layout.channels, (-1.0, 1.0), seed=3).double()
        graph = graph_of(model.take([0]), 0, layout, wide)
        own = fit_layout("autoregressive", problem.training)
        loose = with_heads(graph, problem, own, (memory,), 1e7)
        made = graph_of(model_of_all([loose], 2, (-1.0, 1.0), 1e7), 0, own, problem)
        exact = problem.whole or memory.value.function != "product"  # of reals: as near as units make it
        near = 1e-6 if exact else 1e-2
        assert np.allclose(graph.run(wide.validation), made.run(problem.validation), atol=near)
        assert sum(isinstance(node, RouterNode) and node.kind == memory.kind for node in made.nodes) >= 1


@pytest.mark.slow
def test_sets_are_found_once():
    problem = problem_of(looked_up(Var("s") % 3), integers(0, 4), integers(0, 4))
    memories = Memories(problem)
    assert list(memories.sets()) == list(memories.sets())


def answer(machine: Recurrence, *domains: Domain) -> tuple[bool, DiscreteGraph | None]:
    problem = problem_of(machine, *domains)
    outcome = run_search(problem, Settings(rungs=("memory",)))
    x = uniform(np.random.default_rng(5), domains, 50, 60)
    assert outcome.program is not None
    assert outcome.certificate is not None
    same = np.allclose(outcome.program.run(x), machine.run(x))
    assert outcome.certificate.networks()[-1][1].verdict != "differs"
    return same and outcome.exit_code == 0, outcome.extraction and outcome.extraction.graph


@pytest.mark.slow
def test_a_function_of_a_lookup_becomes_a_program():
    right, graph = answer(looked_up((Var("s") + A) % 5), integers(0, 6), integers(0, 6))
    assert right
    assert graph is not None
    live = [graph.nodes[index] for index in graph.live()]
    assert any(isinstance(node, RouterNode) and node.kind == "equality" for node in live)
