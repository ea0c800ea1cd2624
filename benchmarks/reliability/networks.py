"""Small networks made by hand, and programs that are right but for something rare.

A network has random weights. Its program is made from it: the network runs on its own outputs over all short
sequences, and a table of what it put out, by what it can have read, is the program, written as a recurrence.
Then one thing is changed: one context, the first position, one late position, the ends of the domain, the
time after an event came up often. What the certificate says must hold on everything that is run, in float64,
in float32 where it says so, and in any order of sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from case import Result, shown
from network_truth import certified, every, run_network, runs, shown_by, wrong_claim

from chance import Chance, Random
from weights2code.data import Layout, Problem, from_arrays
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import HeadKind
from weights2code.language import (
    Const,
    Domain,
    Expr,
    Recurrence,
    Start,
    Step,
    Var,
    integers,
    op,
    reals,
    uniform,
    where,
)

#: Sequences that are tabulated, and terms of one step of a table.
TABULATED, TERMS = 30_000, 25


@dataclass(frozen=True, eq=False)
class Network:
    """A network, how far back it can look, and which running extrema its program must keep."""

    graph: DiscreteGraph
    domains: tuple[Domain, ...]
    reach: int
    extrema: tuple[tuple[HeadKind, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Tabulated:
    """The program that a network is, and the contexts that it was read from."""

    program: Recurrence
    codes: np.ndarray


FAMILIES: dict[str, Callable[[Random], Network]] = {}
#: What is bounded and not tabulated: a network and a program that are something like each other.
BOUNDED: dict[str, Callable[[Random], tuple[Network, Recurrence]]] = {}
Changed = tuple[Recurrence, list[np.ndarray]]
#: Something rare that is changed.
WAYS: dict[str, Callable[[Network, Tabulated, Chance], Changed]] = {}


def family(kind: str, into: dict[str, Any] = FAMILIES) -> Any:
    """Declares the family that follows: what it makes of choices."""

    def declare(make: Callable[[Chance], Any]) -> Any:
        into[kind] = lambda rng: make(Chance(rng))
        return make

    return declare


def family_of(number: int) -> str:
    """Families come in turn."""
    return [*FAMILIES, *BOUNDED][number % (len(FAMILIES) + len(BOUNDED))]


def nearly_own(family: str, rng: Random) -> tuple[str, Network, Recurrence, list[np.ndarray]] | None:
    """What is changed, a network, a program that is its own but for that, and sequences that may tell."""
    for _ in range(30):
        network = FAMILIES[family](rng)
        table = tabulated(network, Chance(rng))
        if table is not None:
            way = Chance(rng).among(list(WAYS))
            return way, network, *WAYS[way](network, table, Chance(rng))
    return None


def attack(number: int, seed: int) -> Result:
    """One network with a program that is nearly its own, or something like it, certified and judged."""
    rng = np.random.default_rng([seed, number, 1])
    family = family_of(number)
    way, whole, telling = "", "reals" not in family, []
    if family in BOUNDED:
        network, program = BOUNDED[family](rng)
    else:
        made = nearly_own(family, rng)
        if made is None:
            return Result(family, "no program")
        way, network, program, telling = made
    problem = problem_of(network, program, rng, whole=whole)
    known = runs(program, network.domains, rng, telling)
    tests = (whole and family in BOUNDED) or bool(rng.random() < 0.3)
    certificate = certified(network.graph, program, problem, number, tests=tests)
    like = None if whole else shown_by(program, problem, number)
    failure = wrong_claim(certificate, network.graph, program, known, whole=whole, shown=like)
    detail = f"{shown(program)}; {certificate.error}; {certificate.covers}; {certificate.method}"
    outcome = f"{way}: {certificate.verdict}" if way else certificate.verdict
    return Result(family, outcome, failure, detail)


def problem_of(
    network: Network, program: Recurrence, rng: Random, length: int = 6, *, whole: bool = True
) -> Problem:
    x = uniform(rng, network.domains, 40, length)
    with np.errstate(all="ignore"):
        y = program.run(x)
    data = from_arrays(x, np.nan_to_num(np.round(y)) if whole else y)
    graph = network.graph
    domains = data.domains()[1] if whole else tuple(reals(-1e3, 1e3) for _ in graph.outputs)
    return Problem("made", graph.inputs, graph.outputs, network.domains, domains, data, data, length)


# -- networks ------------------------------------------------------------------------------------------------


class _Making:
    """A network under construction."""

    def __init__(self, c: Chance, *, columns: int = 1, outputs: int = 1, past: bool = False) -> None:
        self.c = c
        scales = [c.pick(0.5, 1.0, 2.0, 4.0) for _ in range(columns + outputs)]
        name = "autoregressive" if past else "tagging"
        self.layout = Layout(name, tuple(scales[:columns]), tuple(scales[columns:]))
        self.inputs, self.outputs = tuple("ab"[:columns]), tuple("yz"[:outputs])
        labels = self.layout.channel_names(self.inputs, self.outputs)
        starts = [0.0] * columns + [float(c.rng.normal())] * outputs
        self.nodes: list[Node] = [
            ChannelNode(f"V{i}", label, start)
            for i, (label, start) in enumerate(zip(labels, starts, strict=False))
        ]

    def any(self) -> int:
        return self.c.between(0, len(self.nodes) - 1)

    @property
    def name(self) -> str:
        return f"V{len(self.nodes)}"

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def location(self, value: int | None = None, most: int = 2, nothing: float = 0.05) -> int:
        offset = None if self.c.of(nothing) else self.c.between(0, most)
        value = self.any() if value is None else value
        start = float(self.c.pick(0.0, 1.0, self.c.rng.normal()))
        return self.add(RouterNode(self.name, "location", {"value": value}, offset, start))

    def over_all(self, kind: HeadKind, value: int) -> int:
        return self.add(RouterNode(self.name, kind, {"value": value}))

    def pointer(self, reads: tuple[int, ...], range_: tuple[float, float], window: int) -> int:
        rng, (width, bins) = self.c.rng, (self.c.between(1, 3), self.c.between(1, 4))
        size = float(10.0 ** rng.uniform(-1, 1))
        bias = np.concatenate([rng.normal(size=window + 1), [-self.c.pick(3.0, 20.0, 300.0)]])
        query, key = (size * rng.normal(size=(bins + 1, width)) for _ in range(2))
        return self.add(
            RouterNode(
                self.name, "pointer", dict(zip(("query", "key", "value"), reads, strict=True)),
                query_table=query, key_table=key, relative_bias=bias, value_range=range_,
                null_score=float(rng.normal() - self.c.pick(0.0, 2.0, 100.0))
            )
        )  # fmt: skip

    def equality(self, reads: tuple[int, ...], window: int) -> int:
        last = -self.c.pick(0.0, 5.0, 1e6)
        bias = np.concatenate([self.c.rng.normal(size=window + 1), [last]])
        return self.add(
            RouterNode(
                self.name, "equality", dict(zip(("query", "key", "value"), reads, strict=True)),
                relative_bias=bias, null_score=self.c.pick(-2.0, -10.0, 0.5),
                sharpness=self.c.pick(1e7, 30.0, 1.0)
            )
        )  # fmt: skip

    def operator(self, operands: tuple[int, ...] | None = None, hidden: int = 6) -> int:
        rng = self.c.rng
        operands = tuple(self.any() for _ in range(self.c.between(1, 3))) if operands is None else operands
        weight = rng.normal(size=(hidden, len(operands)))
        weight[:, rng.random(len(operands)) < 0.1] = 0.0
        bias, out = rng.normal(size=hidden), rng.normal(size=hidden)
        return self.add(OperatorNode(self.name, operands, weight, bias, out, float(rng.normal())))

    def graph(self, kept: tuple[int, ...] = (), size: float = 1.5) -> DiscreteGraph:
        rng = self.c.rng
        head = np.zeros((len(self.outputs), len(self.nodes) + 1))
        for row in head:
            row[[*kept, self.any(), len(self.nodes) - 1]] = size * rng.normal(size=len(kept) + 2)
            row[-1] = rng.normal()
        return self.with_head(head)

    def with_head(self, head: np.ndarray) -> DiscreteGraph:
        return DiscreteGraph(tuple(self.nodes), head, self.layout, self.inputs, self.outputs, 6)

    def domains(self, most: int) -> tuple[Domain, ...]:
        low = self.c.between(-2, 1)
        return tuple(integers(low, low + self.c.between(1, most)) for _ in self.inputs)

    def network(
        self,
        most: int,
        size: float = 1.5,
        kept: tuple[int, ...] = (),
        reach: int | None = None,
        extrema: tuple[tuple[HeadKind, int], ...] = (),
    ) -> Network:
        """With domains of at most so many values and one."""
        graph = self.graph(kept, size)
        return Network(graph, self.domains(most), _reach(graph) if reach is None else reach, extrema)


def _reach(graph: DiscreteGraph) -> int:
    """How many positions back location heads can look together; a past output is one further."""
    far = [0] * len(graph.nodes)
    for index, node in enumerate(graph.nodes):
        if isinstance(node, ChannelNode):
            far[index] = int(index >= len(graph.inputs))
            continue
        far[index] = max((far[i] for i in node.sources()), default=0)
        if isinstance(node, RouterNode):
            window = 0 if node.relative_bias is None else len(node.relative_bias) - 2
            far[index] += (node.offset or 0) if node.kind == "location" else window
    return max((far[i] for i in graph.live()), default=0)


@family("location heads")
def locations(c: Chance) -> Network:
    """Location heads, some on top of others, and sub-MLPs between."""
    made = _Making(c, columns=c.between(1, 2))
    for _ in range(c.between(1, 3)):
        made.location(most=1)
        if c.of(0.5):
            made.operator()
    made.operator()
    return made.network(2)


@family("location heads alone")
def linear(c: Chance) -> Network:
    """Nothing but location heads, some of which find nothing."""
    made = _Making(c, past=c.of(0.3))
    for _ in range(c.between(2, 4)):
        made.location(most=c.between(1, 2), nothing=0.3)
    return made.network(2, 0.7)


@family("past outputs")
def past_outputs(c: Chance) -> Network:
    """Its own past outputs are read, at several offsets."""
    made = _Making(c, outputs=c.between(1, 2), past=True)
    made.location(made.layout.channels - 1, most=1)
    made.location(most=1)
    made.operator()
    return made.network(2, 0.7)


@family("a large domain")
def large_domain(c: Chance) -> Network:
    """Few values are read, of a large domain."""
    made = _Making(c)
    made.location(0, most=1)
    made.operator((0, 1))
    graph = made.graph(size=0.5)
    return Network(graph, tuple(integers(0, c.between(8, 14)) for _ in made.inputs), _reach(graph))


@family("extrema so far")
def extrema(c: Chance) -> Network:
    """The largest or smallest input so far, beside others, below a sub-MLP."""
    made = _Making(c, past=c.of(0.3))
    both: tuple[HeadKind, ...] = ("max", "min")
    kinds = tuple(kind for kind in both if c.of(0.7)) or both
    found = [made.over_all(kind, 0) for kind in kinds]
    if c.of(0.5):
        made.location(0, most=1)
    made.operator(tuple(dict.fromkeys([*found, made.any()])))
    return made.network(4, 0.7, extrema=tuple((kind, 0) for kind in kinds))


@family("extrema of operators")
def extrema_of_operators(c: Chance) -> Network:
    """The largest or smallest of something computed from a window, which is what a program must keep, too."""
    made = _Making(c)
    low = made.location(0, most=1)
    inner = made.operator((0, low)) if c.of(0.7) else made.pointer((0, 0, 0), (-2.0, 3.0), 1)
    made.over_all("max" if c.of(0.5) else "min", inner)
    made.operator((len(made.nodes) - 1, 0))
    return made.network(2, 0.7, reach=5)


@family("pointers")
def pointers(c: Chance) -> Network:
    """Heads that point by content, whose windows may or may not be bounded."""
    made = _Making(c, columns=c.between(1, 2))
    for _ in range(c.between(1, 2)):
        reads, window = tuple(made.any() for _ in range(3)), c.between(0, 1)
        made.pointer(reads, (-3.0, 3.0), window) if c.of(0.6) else made.equality(reads, window)
        if c.of(0.3):
            made.operator()
    return made.network(1 if len(made.inputs) > 1 else 3, kept=(len(made.nodes) - 1,))


@family("pointers above operators")
def pointers_above(c: Chance) -> Network:
    """What is pointed by and at was computed, and is read some positions back."""
    made = _Making(c)
    made.operator((0,))
    made.pointer(tuple(made.any() for _ in range(3)), (-3.0, 3.0), 1)
    made.location(len(made.nodes) - 1, most=1)
    made.operator()
    return made.network(2)


@family("huge weights")
def huge_weights(c: Chance) -> Network:
    """Weights that cancel: rounding decides what is left."""
    made, rng, hidden = _Making(c), c.rng, 4
    made.location(0, most=1)
    large = float(10.0 ** rng.uniform(2, 17))
    operands: tuple[int, ...] = (0, 1)
    weight, bias, out = rng.normal(size=(hidden, 2)), rng.normal(size=hidden), rng.normal(size=hidden)
    way = c.between(0, 2)
    if way == 0:  # the same operand twice
        parts = [weight[:, :1] + large, -large * np.ones((hidden, 1)), weight[:, 1:]]
        operands, weight = (0, 0, 1), np.concatenate(parts, 1)
    elif way == 1:  # large units that cancel
        bias = bias + large
        out[1::2] = -out[::2]
    else:  # a large operand of a small weight
        weight, out, bias = weight * large, out / large, bias * large
    made.add(OperatorNode("V2", operands, weight, bias, out, float(rng.normal())))
    return made.network(3, kept=(2,))


@family("means and sums")
def means(c: Chance) -> Network:
    """Means and sums of inputs: nothing closes, all sequences up to a length are covered."""
    made = _Making(c)
    made.over_all("mean" if c.of(0.5) else "sum", 0)
    made.over_all("max", 0)
    made.operator((1, 2))
    return made.network(2, 0.4, reach=7)


# -- what is bounded and not tabulated -----------------------------------------------------------------------


@family("reals", BOUNDED)
def over_reals(c: Chance) -> tuple[Network, Recurrence]:
    """Reals in, reals out; the program has pieces of its own."""
    past = c.of(0.5)
    made = _Making(c, past=past)
    made.location(0, most=2)
    if past:
        made.location(1, most=1)
    made.operator()
    graph = made.graph(size=0.3)
    low = c.pick(-1.0, 0.0, 2.0)
    network = Network(graph, (reals(low, low + c.pick(1.0, 3.0)),), _reach(graph))
    a, a1, y1 = Var("a"), Var("a", 1), Var("y", 1)
    slope, share = (round(float(c.rng.normal()), 2) for _ in range(2))
    share = max(-0.8, min(0.8, share))
    formulas = [
        slope * a + 0.3,
        slope * a + share * y1,
        op("max", slope * a, share * y1 + 0.1),
        op("abs", a - a1) * slope + share * y1,
        slope * a * a + share * y1,
        where(a > a1, slope * a, share * y1),
        op("min", a, 1) * op("max", a1, share),
    ]
    start = {"y": c.pick(0.0, 1.5)}
    return network, Recurrence(("a",), (Step("y", c.among(formulas)),), ("y",), start)


@family("reals from whole numbers", BOUNDED)
def from_whole_numbers(c: Chance) -> tuple[Network, Recurrence]:
    """Whole numbers in, reals out."""
    network, program = over_reals(c)
    low = c.between(-2, 1)
    return replace(network, domains=(integers(low, low + c.between(1, 5)),)), program


@family("values without end", BOUNDED)
def without_end(c: Chance) -> tuple[Network, Recurrence]:
    """Whole numbers that grow; the network's weights are a little off, and its start may be."""
    lag = c.between(1, 2)
    made = _Making(c, past=True)
    off = c.pick(0.0, 2.0**-24, 1e-9, 1e-4, 0.03) * c.pick(-1.0, 1.0)
    scale_a, scale_y = made.layout.input_scales[0], made.layout.output_scales[0]
    start = c.pick(0.0, 0.0, 3.0)
    made.nodes[1] = ChannelNode("V1", "y[t-1]", start / scale_y)
    source = 1 if lag == 1 else made.add(RouterNode("V2", "location", {"value": 1}, 1, start / scale_y))
    bent = c.of(0.4)
    if bent:  # relu(v) - relu(-v), which is v
        weight, out = np.array([[1.0 + off], [-1.0]]), np.array([1.0, -1.0])
        source = made.add(OperatorNode(made.name, (source,), weight, np.zeros(2), out, 0.0))
    head = np.zeros((1, len(made.nodes) + 1))
    head[0, source] = 1.0 + (0.0 if bent else off)
    head[0, 0] += scale_a / scale_y
    network = Network(made.with_head(head), made.domains(3), lag)
    told = start if c.of(0.8) else start + 1
    total = Var("a") + Var("y", lag)
    rare = op("and", Var("y", lag) > int(10 ** c.rng.uniform(1, 5)), Var("a").equals(1))
    formula = total if c.of(0.6) else total + where(rare, 1, 0)
    return network, Recurrence(("a",), (Step("y", formula),), ("y",), {"y": told})


@family("formulas of location heads", BOUNDED)
def formulas(c: Chance) -> tuple[Network, Recurrence]:
    """Location heads with whole weights, and the formula that they are away from the start."""
    made = _Making(c, past=c.of(0.4))
    made.layout = replace(made.layout, input_scales=(1.0,), output_scales=(1.0,))
    starts = (0.0, 0.0, 1.0, 5.0)
    made.nodes = [replace(node, start=0.0) for node in made.nodes]  # type: ignore[type-var]
    reads: list[Expr] = list([Var("a"), Var("y", 1)][: len(made.nodes)])
    for _ in range(c.between(1, 4)):
        source = made.any()
        offset = None if c.of(0.25) else c.between(0, 2)
        start = c.among(starts)
        made.add(RouterNode(made.name, "location", {"value": source}, offset, start))
        found = reads[source]
        if offset is None:
            found = Const(int(start))
        elif isinstance(found, Var):
            found = Var(found.name, found.lag + offset)
        reads.append(found)
    head = np.zeros((1, len(made.nodes) + 1))
    total: Expr = Const(c.between(-1, 1))
    head[0, -1] = float(total.value)  # type: ignore[attr-defined]
    for index in {len(reads) - 1, made.any()}:
        factor = c.pick(-1, 1, 2)
        head[0, index] = factor + c.pick(0.0, 1e-7, 1e-3)
        total = total + factor * reads[index]
    graph = made.with_head(head)
    begin: dict[str, Start] = {"a": c.among(starts)}
    program = Recurrence(("a",), (Step("y", total),), ("y",), {**begin, "y": c.among(starts)})
    return Network(graph, made.domains(9), _reach(graph)), program.live()


# -- the program that a network is ---------------------------------------------------------------------------


def tabulated(network: Network, c: Chance) -> Tabulated | None:
    """What the network puts out on all short sequences, by what it can have read; None if that is too much.

    A context is the age, capped, the inputs and past outputs in reach, and the extrema so far.
    """
    graph, columns = network.graph, network.domains
    reach = min(network.reach, 5)
    fan = int(np.prod([d.high - d.low + 1 for d in columns]))
    length = int(np.log(TABULATED) / np.log(fan))
    if length < min(reach + 1, 3):
        return None
    x = every(columns, length)
    y = np.zeros((len(x), length, len(graph.outputs)))
    for t in range(length):
        answer = run_network(graph, x[:, : t + 1], y[:, : t + 1])[:, t]
        if not np.all(np.abs(answer) < 1e4):
            return None
        y[:, t] = np.round(answer)

    def lagged(values: np.ndarray, before: np.ndarray, lag: int) -> np.ndarray:
        return np.concatenate([*[before] * lag, values], 1)[:, :length]

    cap, nothing = reach + 1, np.zeros((len(x), 1))
    steps = [Step("age", op("min", Var("age", 1) + 1, cap))]
    age = np.broadcast_to(np.minimum(np.arange(length), cap), x.shape[:2])
    leaves: list[tuple[Expr, np.ndarray]] = [(Var("age"), age)]
    begins: list[Start] = [0.0, "first", float(columns[0].low), 7.0]
    starts: dict[str, Start] = {name: c.among(begins) for name in graph.inputs}
    starts["age"] = -1.0
    for place, name in enumerate(graph.inputs):
        begin = starts[name]
        before = x[:, :1, place] if begin == "first" else np.full_like(nothing, begin)  # type: ignore[arg-type]
        leaves += [(Var(name, lag), lagged(x[..., place], before, lag)) for lag in range(reach + 1)]
    depth = min(reach, 2) if graph.layout.name == "autoregressive" else 0
    for place, name in enumerate(graph.outputs):
        leaves += [(Var(name, lag), lagged(y[..., place], nothing, lag)) for lag in range(1, depth + 1)]
    for place, (kind, column) in enumerate(network.extrema):
        kept = Var(f"m{place}")
        steps.append(Step(kept.name, op(kind, Var(graph.inputs[column]), Var(kept.name, 1))))
        starts[kept.name] = -np.inf if kind == "max" else np.inf
        leaves.append((kept, getattr(np, kind + "imum").accumulate(x[..., column], axis=1)))
    code, codes, factor = Const(0), np.zeros(x.shape[:2]), 1
    for leaf, values in leaves:
        low, high = int(values.min()), int(values.max())
        code = code + (leaf - low) * factor
        codes = codes + (values - low) * factor
        factor *= high - low + 1
    if factor > 2**50:
        return None
    steps.append(Step("code", code))
    for place, name in enumerate(graph.outputs):
        _, first = np.unique(codes, return_index=True)
        table = {int(codes.flat[i]): int(y[..., place].flat[i]) for i in first}
        if len(table) > 400:
            return None
        steps += _table_steps(name, table)
    return Tabulated(Recurrence(graph.inputs, tuple(steps), graph.outputs, starts), codes)


def _table_steps(name: str, table: dict[int, int]) -> list[Step]:
    """A table as a sum of tests of the code, in steps of a bearable size."""
    usual = max(set(table.values()), key=list(table.values()).count)
    rare = [(code, value) for code, value in table.items() if value != usual]
    steps: list[Step] = []
    total: Expr = Const(usual)
    for begin in range(0, len(rare), TERMS):
        for code, value in rare[begin : begin + TERMS]:
            total = total + where(Var("code").equals(code), value - usual, 0)
        steps.append(Step(f"{name}{begin}", total))
        total = Var(f"{name}{begin}")
    return [*steps, Step(name, total + 0)]


# -- something rare ------------------------------------------------------------------------------------------


def way(name: str) -> Any:
    """Declares the change that follows."""

    def declare(change: Callable[[Network, Tabulated, Chance], Changed]) -> None:
        WAYS[name] = change

    return declare


def _with(program: Recurrence, more: Expr | float, *before: Step) -> Recurrence:
    """One output is more by so much, which may read some more steps before it."""
    steps: list[Step] = []
    for step in program.steps:
        if step.name == program.outputs[-1]:
            steps += [*before, Step(step.name, step.definition + more)]  # type: ignore[operator]
        else:
            steps.append(step)
    return replace(program, steps=tuple(steps))


def _values(network: Network) -> list[int]:
    return [int(value) for value in network.domains[0].values()]


def _end(network: Network, length: int, value: float) -> list[np.ndarray]:
    """One sequence of one value."""
    return [np.full((1, length, len(network.domains)), float(value))]


@way("nothing")
def nothing(network: Network, table: Tabulated, c: Chance) -> Changed:
    return table.program, []


@way("one context")
def one_context(network: Network, table: Tabulated, c: Chance) -> Changed:
    values, counts = np.unique(table.codes, return_counts=True)
    rarest = values[np.argsort(counts)][: max(1, len(values) // 3)]
    return _with(table.program, where(Var("code").equals(int(c.among(rarest.tolist()))), 1, 0)), []


@way("one age")
def at_one_age(network: Network, table: Tabulated, c: Chance) -> Changed:
    age = c.between(0, min(network.reach, 5) + 1)
    value = c.among(_values(network))
    test = op("and", Var("age").equals(age), Var(table.program.inputs[0]).equals(value))
    return _with(table.program, where(test, 1, 0)), []


@way("late")
def late(network: Network, table: Tabulated, c: Chance) -> Changed:
    when = c.between(2, 59)
    clock = Step("clock", op("min", Var("clock", 1) + 1, when + c.between(0, 1)))
    return _with(table.program, where(Var("clock").equals(when), 1, 0), clock), []


@way("at the ends")
def at_the_ends(network: Network, table: Tabulated, c: Chance) -> Changed:
    domain, name = network.domains[0], table.program.inputs[0]
    end = int(domain.high if c.of(0.5) else domain.low)
    span = c.between(1, 6)
    run = Step("run", where(Var(name).equals(end), op("min", Var("run", 1) + 1, span), 0))
    return _with(table.program, where(Var("run").equals(span), 1, 0), run), _end(network, 20, end)


@way("after many")
def after_many(network: Network, table: Tabulated, c: Chance) -> Changed:
    name, often = table.program.inputs[0], c.between(2, 39)
    value = c.among(_values(network))
    count = Step("count", op("min", Var("count", 1) + where(Var(name).equals(value), 1, 0), often))
    more = where(Var("count").equals(often), 1, 0)
    return _with(table.program, more, count), _end(network, often + 3, value)


@way("not whole")
def not_whole(network: Network, table: Tabulated, c: Chance) -> Changed:
    """The program is off by less than a half, and rounds to the same or just not."""
    return _with(table.program, c.pick(0.3, -0.4, 1e-7, 0.499999)), []
