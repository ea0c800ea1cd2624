"""Networks with one weight changed: none that differs from its program somewhere is called equal to it.

A few small tasks are trained once. A case takes one of these networks, changes one weight that matters (or
the offset or operand of a choice) by an amount from the last digit to a multiple, and looks whether a rounded
output changes somewhere; most cases go on until one does, and some of those then look for the smallest change
that still does. What the certificate says of the mutant must hold on everything that was run.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from case import Result, finished
from network_truth import Runs, agreed, certified, difference, runs, shown_by, wrong_claim

from chance import Chance, Random
from weights2code.data import Problem, from_arrays
from weights2code.experiments.provenance import CHANGES, source
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode, from_dict
from weights2code.language import Recurrence
from weights2code.program import Program
from weights2code.run_folder import CERTIFICATE, read_config, write_atomically
from weights2code.source import problem_of

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

    @property
    def whole(self) -> bool:
        return self.problem.integer_outputs

    def error(self, graph: DiscreteGraph) -> float:
        """How far a network is off what is right; infinite if it rounds to something else."""
        found = difference(graph, self.right, whole=self.whole)
        return np.inf if found.sequence is not None else found.error


def folder_of(name: str) -> Path:
    """The run folder of a task, made once for every version of the source."""
    tree = source() or CHANGES
    place = HERE / "runs" / f"networks_{tree[:10]}" / name
    if tree.endswith(CHANGES) or not (place / CERTIFICATE).exists():
        place.mkdir(parents=True, exist_ok=True)
        files = _made(name)
        for file in sorted(files, key=CERTIFICATE.__eq__):  # the certificate comes last
            write_atomically(place / file, files[file])
    return place


#: The files of a finished run; a process that is started later has them too.
_made = functools.cache(functools.partial(finished, "run"))


@functools.cache
def base(name: str) -> Base:
    """A task, its network and its program."""
    place = folder_of(name)
    graph = json.loads((place / "graph.json").read_text(encoding="utf-8"))
    graph.pop("formulas", None)
    program = Program.from_dict(json.loads((place / CERTIFICATE).read_text())["program"])
    problem = problem_of(*read_config(place)).under(program.regime)
    network = from_dict(graph)
    rule = replace(program.recurrence, outputs=network.outputs)
    if problem.outputs != network.outputs:  # a hidden state comes before what was asked for
        parts = (problem.training.x, problem.validation.x)
        training, validation = (from_arrays(x, rule.run(x)) for x in parts)
        problem = replace(
            problem,
            outputs=rule.outputs,
            output_domains=training.domains()[1],
            training=training,
            validation=validation,
        )
    known = runs(rule, problem.domains, np.random.default_rng(0), most=4096)
    right = agreed(network, known) if problem.integer_outputs else known
    return Base(name, network, rule, problem, known, right)


def prepare() -> None:
    """Once for all cases."""
    for name in TASKS:
        base(name)


def attack(number: int, seed: int) -> Result:
    """One mutant, certified and judged."""
    return attacked(base(TASKS[number % len(TASKS)]), np.random.default_rng([seed, number]))


def attacked(found: Base, rng: Random) -> Result:
    """One mutant of a network, certified and judged."""
    kind, mutant, changed = mutant_of(found, rng)
    tests = bool(rng.random() < 0.3)
    seed = int(rng.integers(1000))
    certificate = certified(mutant, found.program, found.problem, seed, tests=tests)
    shown = None if found.whole else shown_by(found.program, found.problem, seed)
    failure = wrong_claim(certificate, mutant, found.program, found.known, whole=found.whole, shown=shown)
    outcome = certificate.verdict if changed else f"{certificate.verdict}, no output changes"
    detail = f"{found.name}: {kind}: {certificate.covers}; {certificate.method}"
    return Result(kind, outcome, failure, detail)


def mutant_of(found: Base, rng: Random) -> tuple[str, DiscreteGraph, bool]:
    """What kind of number is changed, the network with the change, and whether an output is another: after
    rounding, or for reals by more than the network was off."""
    c = Chance(rng)
    until = 1 if c.of(FIRST) else TRIED
    limit = np.inf if found.whole else 2 * found.error(found.graph)
    kind, mutant = "", found.graph
    for _ in range(until):
        places = changes(found.graph)
        kind = c.among(sorted(places))
        change = c.among(places[kind])
        amount = float(c.pick(-1.0, 1.0) * 10.0 ** rng.uniform(-12, 1.5))
        mutant = change(amount)
        if _beyond(found.error(mutant), limit):
            if kind not in ("offset", "operand") and c.of(SMALLEST):
                mutant = _smallest(found, change, amount, limit)
            return kind, mutant, True
    return kind, mutant, False


def _beyond(error: float, limit: float) -> bool:
    return error == np.inf if limit == np.inf else error > limit


def _smallest(found: Base, change: Change, amount: float, limit: float) -> DiscreteGraph:
    """About the smallest change that still changes an output."""
    low, high, apart = 0.0, 1.0, [replace(found, right=[some]) for some in found.right]
    found = next(
        (one for one in apart if _beyond(one.error(change(amount)), limit)), replace(found, right=[])
    )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _beyond(found.error(change(amount * middle)), limit):
            high = middle
        else:
            low = middle
    return change(amount * high)


# -- what can be changed -------------------------------------------------------------------------------------

#: The network with one number changed by an amount.
Change = Callable[[float], DiscreteGraph]
_ARRAYS = (
    "hidden_weight", "hidden_bias", "output_weight", "query_table", "key_table", "relative_bias",
)  # fmt: skip


def changes(graph: DiscreteGraph) -> dict[str, list[Change]]:
    """Every number that matters, by its kind; any kind is as likely as any other."""
    found: dict[str, list[Change]] = {}
    for place in np.argwhere(graph.head != 0):
        kind = "intercept" if place[1] == graph.head.shape[1] - 1 else "head weight"
        found.setdefault(kind, []).append(functools.partial(_in_array, graph, None, "head", tuple(place)))
    for index in graph.live():
        for kind, change in _of_node(graph, index):
            found.setdefault(kind.replace("_", " "), []).append(change)
    return found


def _of_node(graph: DiscreteGraph, index: int) -> Iterator[tuple[str, Change]]:
    node = graph.nodes[index]
    for name in _ARRAYS:
        array = getattr(node, name, None)
        for place in () if array is None else np.argwhere(np.abs(array) > 0):
            yield name, functools.partial(_in_array, graph, index, name, tuple(place))
    numbers: tuple[str, ...] = ()
    if isinstance(node, ChannelNode) and index >= len(graph.inputs):
        numbers = ("start",)
    elif isinstance(node, OperatorNode):
        numbers = ("output_bias",)
    elif isinstance(node, RouterNode) and node.kind == "location":
        numbers = ("start",)
    elif isinstance(node, RouterNode) and node.facts.seeks:
        numbers = ("null_score", "sharpness")[: 2 if node.kind == "equality" else 1]
    for name in numbers:
        yield name, functools.partial(_number, graph, index, name)
    if isinstance(node, RouterNode) and node.kind == "location":
        yield "offset", functools.partial(_offset, graph, index)
    if index > graph.layout.channels:
        yield "operand", functools.partial(_operand, graph, index)


def _with(graph: DiscreteGraph, index: int | None, **parts: Any) -> DiscreteGraph:
    """Another head, or a node with other parts."""
    if index is None:
        return replace(graph, **parts)
    node = replace(graph.nodes[index], **parts)
    return replace(graph, nodes=(*graph.nodes[:index], node, *graph.nodes[index + 1 :]))


def _in_array(
    graph: DiscreteGraph, index: int | None, name: str, place: tuple[int, ...], amount: float
) -> DiscreteGraph:
    array = getattr(graph if index is None else graph.nodes[index], name).copy()
    array[place] += amount * max(1e-3, abs(array[place]))
    return _with(graph, index, **{name: array})


def _number(graph: DiscreteGraph, index: int, name: str, amount: float) -> DiscreteGraph:
    value = getattr(graph.nodes[index], name)
    value = abs(value * (1 + amount)) if name == "sharpness" else value + amount
    return _with(graph, index, **{name: value})


def _offset(graph: DiscreteGraph, index: int, amount: float) -> DiscreteGraph:
    return _with(graph, index, offset=[None, 0, 1, 2, 3, 5, 9][int(abs(amount) * 1e13) % 7])


def _operand(graph: DiscreteGraph, index: int, amount: float) -> DiscreteGraph:
    node, pick = graph.nodes[index], int(abs(amount) * 1e13)
    if isinstance(node, RouterNode):
        roles = sorted(node.reads)
        return _with(graph, index, reads={**node.reads, roles[pick % len(roles)]: pick // 7 % index})
    assert isinstance(node, OperatorNode)
    operands = list(node.operands)
    operands[pick % len(operands)] = pick // 7 % index
    return _with(graph, index, operands=tuple(operands))
