"""Counts of everything so far under a comparison: what they mean, how they are written, found and proved."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import fit_layout, from_arrays
from weights2code.data.problem import Problem
from weights2code.graph import RouterNode
from weights2code.graph.from_model import graph_of
from weights2code.graph.machine import free_running
from weights2code.graph.to_model import model_of_all
from weights2code.heads import COUNTS, HEADS
from weights2code.language import Count, Domain, Expr, Recurrence, Step, Var, integers, reals, texts, uniform
from weights2code.pipeline import search as run_search
from weights2code.program import Program
from weights2code.program.sandbox import check_source, run_program
from weights2code.settings import Settings
from weights2code.training.build import build
from weights2code.training.ladder import FAST_LADDER
from weights2code.training.memories import Memory, Quantity, counts
from weights2code.training.neighbours import near_rows
from weights2code.training.remembering import widened, with_heads
from weights2code.training.repeats import repeated_rows
from weights2code.verify import certify

A, B = Var("a"), Var("b")


def machine(*steps: Step, inputs: tuple[str, ...] = ("a", "b")) -> Recurrence:
    return Recurrence(inputs, steps, ("y",))


def rank(relation: str, query: Expr = A) -> Recurrence:
    return machine(Step("y", Count("a", query, relation)))  # type: ignore[arg-type]


def problem_of(rule: Recurrence, *domains: Domain, count: int = 600, length: int = 12) -> Problem:
    x = uniform(np.random.default_rng(0), domains, count + 100, length)
    data = from_arrays(x, rule.run(x))
    parts = data.take(slice(100, None)), data.take(slice(0, 100))
    return Problem("task", rule.inputs, ("y",), domains, data.domains()[1], *parts, length)


def by_hand(x: np.ndarray, holds) -> np.ndarray:
    return np.array([[sum(holds(a, row[t]) for a in row[: t + 1]) for t in range(len(row))] for row in x])


def test_a_count_goes_over_everything_so_far_and_the_present():
    x = uniform(np.random.default_rng(1), (integers(0, 3), integers(0, 3)), 20, 9)
    for relation, holds in (
        ("lt", lambda a, b: a < b),
        ("le", lambda a, b: a <= b),
        ("eq", lambda a, b: a == b),
        ("ge", lambda a, b: a >= b),
        ("gt", lambda a, b: a > b),
    ):
        assert np.array_equal(rank(relation).run(x)[..., 0], by_hand(x[..., 0], holds))


def test_counts_are_stored_and_read_again():
    rule = rank("ge", B + 1)
    assert Recurrence.from_dict(rule.to_dict()) == rule
    wrong = rule.to_dict()
    wrong["steps"][0]["definition"]["relation"] = "__class__"
    with pytest.raises(ValueError, match="a count compares by one of"):
        Recurrence.from_dict(wrong)


@pytest.mark.parametrize("relation", ["lt", "le", "eq", "ge", "gt"])
def test_the_text_computes_the_same(relation: str):
    domains = (integers(0, 3), integers(0, 3))
    two = Count("b", A, "lt")
    rule = machine(Step("c", Count("a", B - 1, relation)), Step("d", two), Step("y", Var("c") + Var("d", 1)))  # type: ignore[arg-type]
    source = Program("ranks", rule, domains).source()
    assert not check_source(source)
    x = uniform(np.random.default_rng(2), domains, 3, 30)
    assert np.array_equal(np.stack(run_program(source, [*x])), rule.run(x)[..., 0])


def test_the_words_say_what_is_counted():
    program = Program("ranks", rank("lt"), (integers(0, 3), integers(0, 3)))
    assert program.formula() == "y[t] = how many s <= t have a[s] < a[t]"
    assert r"\left|\left\{ s \le t : a_{s} < a_{t} \right\}\right|" in program.latex()


@pytest.mark.slow
def test_counts_of_few_values_are_proved_and_refuted():
    domains = (integers(0, 2), integers(0, 2))
    # how many are smaller or equal is how many are smaller and how many are equal
    parts = Step("c", Count("a", A, "lt")), Step("d", Count("a", A, "eq")), Step("y", Var("c") + Var("d"))

    def verdict(program: Recurrence) -> str:
        found = certify(program, reference=rank("le"), domains=domains, length=8, integer_outputs=True)
        return found.verdict

    assert verdict(machine(*parts)) == "proved"
    assert verdict(rank("lt")) == "failed"
    late = machine(Step("c", Count("a", A, "le")), Step("y", Var("c") - (Var("c") > 500)))
    assert verdict(late) != "proved"


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("domains", [(integers(-2, 3), integers(-2, 3)), (reals(0.0, 1.0), reals(-1.0, 1.0))])
def test_heads_that_count(kind, domains: tuple[Domain, ...]):
    problem = problem_of(machine(Step("y", A + B)), *domains, count=40, length=9)
    rung = next(rung for rung in FAST_LADDER if rung.name == "pairs")
    memory = Memory(kind, Quantity(((1, 0),)), Quantity(((1, 0),)))
    wide = widened(problem, (memory,))
    layout = fit_layout("autoregressive", wide.training)
    model = build(rung, wide, layout.channels, (-1.0, 1.0), seed=3).double()
    graph = graph_of(model.take([0]), 0, layout, wide)
    own = fit_layout("autoregressive", problem.training)
    whole = model_of_all([with_heads(graph, problem, own, (memory,), 1e7)], 2, (-1.0, 1.0), 1e7)
    made = graph_of(whole, 0, own, problem)
    assert any(isinstance(node, RouterNode) and node.kind == kind for node in made.nodes)
    assert np.allclose(graph.run(wide.validation), made.run(problem.validation), atol=1e-9)
    x = problem.validation.x
    assert np.allclose(
        free_running(made, x[:, :1], whole=False)[:, 0], made.run(problem.validation)[:, 0], atol=1e-9
    )


@pytest.mark.slow
def test_data_ask_for_counts():
    found = next(repeated_rows(problem_of(rank("ge"), integers(0, 4), integers(0, 9))))
    (memory,) = found.memories
    assert HEADS[memory.kind].relation == "ge"
    above = machine(
        Step("n", Var("n", 1) + 1), Step("c", Count("a", A, "lt")), Step("y", 2 * Var("c") >= Var("n"))
    )
    found = next(repeated_rows(problem_of(above, integers(0, 90), integers(0, 9))))
    assert {memory.kind for memory in found.memories} == {"sum", "less"}
    of_reals = next(near_rows(problem_of(rank("gt", B), reals(0.0, 1.0), reals(0.0, 1.0))))
    (memory,) = of_reals.memories
    assert (memory.kind, memory.key, memory.value) == ("more", Quantity(((0, 0),)), Quantity(((1, 0),)))


def test_texts_are_counted_where_they_are_the_same():
    problem = problem_of(rank("eq"), texts(("x", "y", "z")), integers(0, 9))
    own = [memory for memory in counts(problem) if memory.key == Quantity(((0, 0),))]
    assert [memory.kind for memory in own] == ["same"]


@pytest.mark.slow
def test_a_rule_of_a_rank_becomes_a_program_and_its_network_passes():
    domains = (integers(0, 30), integers(0, 3))
    outcome = run_search(problem_of(rank("lt"), *domains, count=800), Settings(rungs=("memory",)))
    assert outcome.program is not None
    assert outcome.program.formula() == "y[t] = how many s <= t have a[s] < a[t]"
    assert outcome.certificate is not None
    assert outcome.certificate.networks()[-1][1].verdict in ("tested", "exhaustive")
