"""Networks with one weight changed: none that differs from its program somewhere is called equal to it.

A few small tasks are trained once. A case takes one of these networks, changes one weight that matters (or
the offset or operand of a choice) by an amount from the last digit to a multiple, and looks whether a rounded
output changes somewhere; most cases go on until one does, and some of those then look for the smallest change
that still does. What the certificate says of the mutant must hold on everything that was run.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from case import Result
from network_truth import Runs, agreed, certified, difference, runs, shown_by, wrong_claim

from weights2code.cli import main
from weights2code.data import Problem, from_arrays
from weights2code.experiments.provenance import CHANGES, source
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode, from_dict
from weights2code.language import Recurrence
from weights2code.program import Program
from weights2code.run_folder import read_config, write_atomically
from weights2code.source import problem_of

WHOLE = 1400
SECONDS = 60.0
HERE = Path(__file__).parent

#: Small tasks of every kind of network: windows, past outputs, several layers, running extrema, means,
#: lookups, values that grow, two outputs, reals.
TASKS = (
    "sum_last2", "parity", "parity_last3", "div_3", "add_mod_3", "bit_addition", "unique_prev2", "diff_last2",
    "bitwise_xor", "Prev2", "Max_Seen", "Min_Seen", "Majority_0_1", "Evens_Detector", "Parity_Last4",
    "abs_of_diff", "minimum_prev2", "retrieve_value_by_key", "sum", "freebody", "magnetic", "Base_4_Addition",
    "exponential_moving_average", "linear_drop",
)  # fmt: skip
#: Mutants that are tried until one changes an output, and halvings until the change is as small as can be.
TRIED, HALVINGS = 12, 45
#: Shares of the cases: those that keep the first mutant, and those that look for the smallest change.
FIRST, SMALLEST = 0.15, 0.4


@dataclass(frozen=True, eq=False)
class Base:
    """A trained network with its program, and runs of the program."""

    name: str
    graph: DiscreteGraph
    program: Recurrence
    problem: Problem
    known: list[Runs]
    #: The same, as far as the network was right before it was changed.
    right: list[Runs]


def folder_of(name: str) -> Path:
    """The run folder of a task, made once for every version of the source."""
    tree = source() or CHANGES
    place = HERE / "runs" / f"networks_{tree[:10]}" / name
    if tree.endswith(CHANGES) or not (place / "certificate.json").exists():
        made = _made(name)
        place.mkdir(parents=True, exist_ok=True)
        for file, data in made.items():
            write_atomically(place / file, data)
    return place


@functools.cache
def _made(name: str) -> dict[str, bytes]:
    """The files of a finished run; a process that is started later has them too."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        out = Path(folder) / "run"
        if main(["run", name, "--quiet", "--out", str(out)]) != 0:
            raise RuntimeError(f"{name} was not solved")
        files = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}
    last = {"certificate.json": files.pop("certificate.json")}
    return {**files, **last}


@functools.cache
def base(name: str) -> Base:
    """A task, its network and its program."""
    place = folder_of(name)
    graph = json.loads((place / "graph.json").read_text(encoding="utf-8"))
    graph.pop("formulas", None)
    program = Program.from_dict(json.loads((place / "certificate.json").read_text())["program"])
    problem = problem_of(*read_config(place)).under(program.regime)
    network = from_dict(graph)
    rule = replace(program.recurrence, outputs=network.outputs)
    if problem.outputs != network.outputs:  # a hidden state comes before what was asked for
        problem = _with_states(problem, rule)
    known = runs(rule, problem.domains, np.random.default_rng(0), most=4096)
    right = agreed(network, known) if problem.integer_outputs else known
    return Base(name, network, rule, problem, known, right)


def _with_states(problem: Problem, rule: Recurrence) -> Problem:
    """The problem with all outputs of a rule."""
    training, validation = (from_arrays(x, rule.run(x)) for x in (problem.training.x, problem.validation.x))
    return replace(
        problem,
        outputs=rule.outputs,
        output_domains=training.domains()[1],
        training=training,
        validation=validation,
    )


def prepare() -> None:
    """Once for all cases."""
    for name in TASKS:
        base(name)


def attack(number: int, seed: int) -> Result:
    """One mutant, certified and judged."""
    rng = np.random.default_rng([seed, number])
    return attacked(base(TASKS[number % len(TASKS)]), rng)


def mutant_of(found: Base, rng: np.random.Generator) -> tuple[str, DiscreteGraph, bool]:
    """What kind of number is changed, the network with the change, and whether an output is another."""
    changed = False
    until = 1 if rng.random() < FIRST else TRIED
    kind, mutant = "", found.graph
    before = difference(found.graph, found.right, whole=found.problem.integer_outputs)
    for _ in range(until):
        kind, change = _change(found.graph, rng)
        amount = _amount(rng)
        mutant = change(amount)
        changed = _changed(found, mutant, before.error)
        if changed:
            if kind not in ("offset", "operand") and rng.random() < SMALLEST:
                mutant = _smallest(found, change, amount, before.error)
            break
    return kind, mutant, changed


def attacked(found: Base, rng: np.random.Generator) -> Result:
    """One mutant of a network, certified and judged."""
    whole = found.problem.integer_outputs
    kind, mutant, changed = mutant_of(found, rng)
    tests = bool(rng.random() < 0.3)
    seed = int(rng.integers(1000))
    certificate = certified(mutant, found.program, found.problem, seed, tests=tests)
    shown = None if whole else shown_by(found.program, found.problem, seed)
    failure = wrong_claim(certificate, mutant, found.program, found.known, whole=whole, shown=shown)
    outcome = certificate.verdict if changed else f"{certificate.verdict}, no output changes"
    detail = f"{found.name}: {kind}: {certificate.covers}; {certificate.method}"
    return Result(kind, outcome, failure, detail)


def _changed(found: Base, mutant: DiscreteGraph, before: float) -> bool:
    """Whether some output is another: after rounding, or for reals by more than the network was off."""
    whole = found.problem.integer_outputs
    after = difference(mutant, found.right, whole=whole)
    return after.sequence is not None if whole else after.error > 2 * before


def _smallest(
    found: Base, change: Callable[[float], DiscreteGraph], amount: float, before: float
) -> DiscreteGraph:
    """About the smallest change that still changes an output."""
    low, high = 0.0, 1.0
    telling = [some for some in found.right if _changed(replace(found, right=[some]), change(amount), before)]
    found = replace(found, right=telling[:1])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _changed(found, change(amount * middle), before):
            high = middle
        else:
            low = middle
    return change(amount * high)


def _amount(rng: np.random.Generator) -> float:
    return float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-12, 1.5))


# -- what can be changed -------------------------------------------------------------------------------------

Change = Callable[[float], DiscreteGraph]
_ARRAYS = (
    "hidden_weight", "hidden_bias", "output_weight", "query_table", "key_table", "relative_bias",
)  # fmt: skip


def _change(graph: DiscreteGraph, rng: np.random.Generator) -> tuple[str, Change]:
    """One place of those that matter, any kind of place as likely as any other."""
    places = changes(graph, rng)
    kinds = sorted(places)
    kind = kinds[int(rng.integers(len(kinds)))]
    some = places[kind]
    return kind, some[int(rng.integers(len(some)))]


def changes(graph: DiscreteGraph, rng: np.random.Generator) -> dict[str, list[Change]]:
    """Every number that matters, by its kind; each is changed by an amount."""
    found: dict[str, list[Change]] = {}
    for row, column in np.argwhere(graph.head != 0):
        last = column == graph.head.shape[1] - 1
        found.setdefault("intercept" if last else "head weight", []).append(
            functools.partial(_in_head, graph, int(row), int(column))
        )
    for index in graph.live():
        node = graph.nodes[index]
        for name in _ARRAYS:
            array = getattr(node, name, None)
            if array is None:
                continue
            for place in np.argwhere(np.abs(array) > 0):
                change = functools.partial(_in_array, graph, index, name, tuple(place.tolist()))
                found.setdefault(name.replace("_", " "), []).append(change)
        numbers = {
            ChannelNode: ("start",) if index >= len(graph.inputs) else (),
            OperatorNode: ("output_bias",),
            RouterNode: _numbers(node),
        }[type(node)]
        for name in numbers:
            found.setdefault(name.replace("_", " "), []).append(
                functools.partial(_number, graph, index, name)
            )
        if isinstance(node, RouterNode) and node.kind == "location":
            found.setdefault("offset", []).append(functools.partial(_offset, graph, index, rng))
        if index > graph.layout.channels:
            found.setdefault("operand", []).append(functools.partial(_operand, graph, index, rng))
    return found


def _numbers(node: Any) -> tuple[str, ...]:
    if not isinstance(node, RouterNode):
        return ()
    if node.kind == "location":
        return ("start",)
    return ("null_score", "sharpness")[: 2 if node.kind == "equality" else 1] if node.facts.seeks else ()


def _with(graph: DiscreteGraph, index: int, node: Any) -> DiscreteGraph:
    return replace(graph, nodes=(*graph.nodes[:index], node, *graph.nodes[index + 1 :]))


def _in_head(graph: DiscreteGraph, row: int, column: int, amount: float) -> DiscreteGraph:
    head = graph.head.copy()
    head[row, column] += amount * max(1e-3, abs(head[row, column]))
    return replace(graph, head=head)


def _in_array(
    graph: DiscreteGraph, index: int, name: str, place: tuple[int, ...], amount: float
) -> DiscreteGraph:
    array = getattr(graph.nodes[index], name).copy()
    array[place] += amount * max(1e-3, abs(array[place]))
    return _with(graph, index, replace(graph.nodes[index], **{name: array}))


def _number(graph: DiscreteGraph, index: int, name: str, amount: float) -> DiscreteGraph:
    value = getattr(graph.nodes[index], name)
    value = abs(value * (1 + amount)) if name == "sharpness" else value + amount
    return _with(graph, index, replace(graph.nodes[index], **{name: value}))


def _offset(graph: DiscreteGraph, index: int, rng: np.random.Generator, amount: float) -> DiscreteGraph:
    node = graph.nodes[index]
    assert isinstance(node, RouterNode)
    other = [None, 0, 1, 2, 3, 5, 9][int(abs(amount) * 1e13) % 7]
    return _with(graph, index, replace(node, offset=other))


def _operand(graph: DiscreteGraph, index: int, rng: np.random.Generator, amount: float) -> DiscreteGraph:
    node, pick = graph.nodes[index], int(abs(amount) * 1e13)
    if isinstance(node, RouterNode):
        roles = sorted(node.reads)
        reads = {**node.reads, roles[pick % len(roles)]: pick // 7 % index}
        return _with(graph, index, replace(node, reads=reads))
    assert isinstance(node, OperatorNode)
    operands = list(node.operands)
    operands[pick % len(operands)] = pick // 7 % index
    return _with(graph, index, replace(node, operands=tuple(operands)))
