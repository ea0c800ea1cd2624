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

import numpy as np
from case import Result
from network_truth import certified, run_network, runs, shown_by, wrong_claim

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
    where,
)

WHOLE = 1200
SECONDS = 60.0
#: Sequences that are tabulated, and terms of one step of a table.
TABULATED, TERMS = 30_000, 25
Random = np.random.Generator


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
    code: str
    codes: np.ndarray


def family_of(number: int) -> str:
    """Families come in turn."""
    return [*FAMILIES, *BOUNDED][number % (len(FAMILIES) + len(BOUNDED))]


def nearly_own(family: str, rng: Random) -> tuple[str, Network, Recurrence, list[np.ndarray]] | None:
    """What is changed, a network, a program that is its own but for that, and sequences that may tell."""
    for _ in range(30):
        network = FAMILIES[family](rng)
        table = tabulated(network, rng)
        if table is not None:
            break
    else:
        return None
    way = list(WAYS)[int(rng.integers(len(WAYS)))]
    return way, network, *WAYS[way](network, table, rng)


def attack(number: int, seed: int) -> Result:
    """One network with a program that is nearly its own, certified and judged."""
    rng = np.random.default_rng([seed, number, 1])
    family = family_of(number)
    if family in BOUNDED:
        return _bounded(family, number, rng)
    made = nearly_own(family, rng)
    if made is None:
        return Result(family, "no program")
    way, network, program, telling = made
    problem = problem_of(network, program, rng)
    known = runs(program, network.domains, rng, telling)
    certificate = certified(network.graph, program, problem, number, tests=bool(rng.random() < 0.3))
    failure = wrong_claim(certificate, network.graph, program, known, whole=True)
    detail = f"{way}; {certificate.covers}; {certificate.method}"
    return Result(family, f"{way}: {certificate.verdict}", failure, detail)


def _bounded(family: str, number: int, rng: Random) -> Result:
    """A network and a program that are something like each other, over reals or values without end."""
    network, program = BOUNDED[family](rng)
    whole = "reals" not in family
    problem = problem_of(network, program, rng, whole=whole)
    known = runs(program, network.domains, rng)
    certificate = certified(network.graph, program, problem, number, tests=not whole or rng.random() < 0.3)
    shown = None if whole else shown_by(program, problem, number)
    failure = wrong_claim(certificate, network.graph, program, known, whole=whole, shown=shown)
    formulas = "; ".join(f"{step.name} = {step.definition}" for step in program.steps)
    detail = f"{formulas}; {certificate.error}; {certificate.covers}; {certificate.method}"
    return Result(family, certificate.verdict, failure, detail)


def problem_of(
    network: Network, program: Recurrence, rng: Random, length: int = 6, *, whole: bool = True
) -> Problem:
    x = np.stack(
        [
            rng.integers(int(d.low), int(d.high) + 1, (40, length))
            if d.discrete
            else rng.uniform(float(d.low), float(d.high), (40, length))
            for d in network.domains
        ],
        -1,
    ).astype(float)
    with np.errstate(all="ignore"):
        y = program.run(x)
    data = from_arrays(x, np.nan_to_num(np.round(y)) if whole else y)
    graph = network.graph
    domains = data.domains()[1] if whole else tuple(reals(-1e3, 1e3) for _ in graph.outputs)
    return Problem("made", graph.inputs, graph.outputs, network.domains, domains, data, data, length)


# -- networks ------------------------------------------------------------------------------------------------


class _Making:
    """A network under construction."""

    def __init__(self, rng: Random, *, columns: int = 1, outputs: int = 1, past: bool = False) -> None:
        self.rng = rng
        scales = [float(rng.choice([0.5, 1.0, 2.0, 4.0])) for _ in range(columns + outputs)]
        name = "autoregressive" if past else "tagging"
        self.layout = Layout(name, tuple(scales[:columns]), tuple(scales[columns:]))
        self.inputs = tuple("ab"[:columns])
        self.outputs = tuple("yz"[:outputs])
        labels = self.layout.channel_names(self.inputs, self.outputs)
        starts = [0.0] * columns + [float(rng.normal())] * outputs
        self.nodes: list[Node] = [
            ChannelNode(f"V{i}", label, start)
            for i, (label, start) in enumerate(zip(labels, starts, strict=False))
        ]

    def any(self) -> int:
        return int(self.rng.integers(len(self.nodes)))

    def channel(self) -> int:
        return int(self.rng.integers(self.layout.channels))

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def location(self, value: int | None = None, most: int = 2, nothing: float = 0.05) -> int:
        offset = None if self.rng.random() < nothing else int(self.rng.integers(0, most + 1))
        value = self.any() if value is None else value
        start = float(self.rng.choice([0.0, 1.0, self.rng.normal()]))
        return self.add(RouterNode(f"V{len(self.nodes)}", "location", {"value": value}, offset, start))

    def over_all(self, kind: HeadKind, value: int) -> int:
        return self.add(RouterNode(f"V{len(self.nodes)}", kind, {"value": value}))

    def pointer(self, reads: tuple[int, int, int], range_: tuple[float, float], window: int) -> int:
        rng, width, bins = self.rng, int(rng_int(self.rng, 1, 3)), int(rng_int(self.rng, 1, 4))
        size = float(10.0 ** rng.uniform(-1, 1))
        bias = np.concatenate([rng.normal(size=window + 1), [-float(rng.choice([3.0, 20.0, 300.0]))]])
        return self.add(
            RouterNode(
                f"V{len(self.nodes)}", "pointer", dict(zip(("query", "key", "value"), reads, strict=True)),
                query_table=size * rng.normal(size=(bins + 1, width)),
                key_table=size * rng.normal(size=(bins + 1, width)),
                relative_bias=bias, null_score=float(rng.normal() - rng.choice([0.0, 2.0, 100.0])),
                value_range=range_,
            )
        )  # fmt: skip

    def equality(self, reads: tuple[int, int, int], window: int) -> int:
        rng = self.rng
        last = -float(rng.choice([0.0, 5.0, 1e6]))
        bias = np.concatenate([rng.normal(size=window + 1), [last]])
        return self.add(
            RouterNode(
                f"V{len(self.nodes)}", "equality", dict(zip(("query", "key", "value"), reads, strict=True)),
                relative_bias=bias, null_score=float(rng.choice([-2.0, -10.0, 0.5])),
                sharpness=float(rng.choice([1e7, 30.0, 1.0])),
            )
        )  # fmt: skip

    def operator(self, operands: tuple[int, ...] | None = None, hidden: int = 6) -> int:
        rng = self.rng
        operands = tuple(self.any() for _ in range(int(rng.integers(1, 4)))) if operands is None else operands
        weight = rng.normal(size=(hidden, len(operands)))
        weight[:, rng.random(len(operands)) < 0.1] = 0.0
        return self.add(
            OperatorNode(
                f"V{len(self.nodes)}", operands, weight, rng.normal(size=hidden), rng.normal(size=hidden),
                float(rng.normal()),
            )
        )  # fmt: skip

    def graph(self, kept: tuple[int, ...] = (), size: float = 1.5) -> DiscreteGraph:
        rng = self.rng
        head = np.zeros((len(self.outputs), len(self.nodes) + 1))
        for row in head:
            row[[*kept, self.any(), len(self.nodes) - 1]] = size * rng.normal(size=len(kept) + 2)
            row[-1] = rng.normal()
        return DiscreteGraph(tuple(self.nodes), head, self.layout, self.inputs, self.outputs, 6)

    def domains(self, most: int) -> tuple[Domain, ...]:
        low = int(self.rng.integers(-2, 2))
        return tuple(integers(low, low + int(self.rng.integers(1, most + 1))) for _ in self.inputs)


def rng_int(rng: Random, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _reach(graph: DiscreteGraph) -> int:
    """How many positions back location heads can look together; a past output is one further."""
    far = [0] * len(graph.nodes)
    for index, node in enumerate(graph.nodes):
        if isinstance(node, ChannelNode):
            far[index] = int(index >= len(graph.inputs))
        else:
            far[index] = max((far[i] for i in node.sources()), default=0)
            if isinstance(node, RouterNode):
                far[index] += (node.offset or 0) if node.kind == "location" else _window(node)
    return max((far[i] for i in graph.live()), default=0)


def _window(node: RouterNode) -> int:
    return 0 if node.relative_bias is None else len(node.relative_bias) - 2


def locations(rng: Random) -> Network:
    """Location heads, some on top of others, and sub-MLPs between."""
    made = _Making(rng, columns=rng_int(rng, 1, 2), outputs=1)
    for _ in range(rng_int(rng, 1, 3)):
        made.location(most=1)
        if rng.random() < 0.5:
            made.operator()
    made.operator()
    graph = made.graph()
    return Network(graph, made.domains(2), _reach(graph))


def linear(rng: Random) -> Network:
    """Nothing but location heads, some of which find nothing."""
    made = _Making(rng, past=bool(rng.random() < 0.3))
    for _ in range(rng_int(rng, 2, 4)):
        made.location(most=rng_int(rng, 1, 2), nothing=0.3)
    graph = made.graph(size=0.7)
    return Network(graph, made.domains(2), _reach(graph))


def past_outputs(rng: Random) -> Network:
    """Its own past outputs are read, at several offsets."""
    made = _Making(rng, outputs=rng_int(rng, 1, 2), past=True)
    made.location(made.layout.channels - 1, most=1)
    made.location(most=1)
    made.operator()
    graph = made.graph(size=0.7)
    return Network(graph, made.domains(2), _reach(graph))


def large_domain(rng: Random) -> Network:
    """Few values are read, of a large domain."""
    made = _Making(rng)
    made.location(0, most=1)
    made.operator((0, 1))
    graph = made.graph(size=0.5)
    domains = tuple(integers(0, int(rng.integers(8, 15))) for _ in made.inputs)
    return Network(graph, domains, _reach(graph))


def extrema(rng: Random) -> Network:
    """The largest or smallest input so far, beside others, below a sub-MLP."""
    made = _Making(rng, past=bool(rng.random() < 0.3))
    both: tuple[HeadKind, ...] = ("max", "min")
    kinds: tuple[HeadKind, ...] = tuple(kind for kind in both if rng.random() < 0.7) or both
    found: tuple[tuple[HeadKind, int], ...] = tuple((kind, made.over_all(kind, 0)) for kind in kinds)
    if rng.random() < 0.5:
        made.location(0, most=1)
    made.operator(tuple(dict.fromkeys([*(index for _, index in found), made.any()])))
    graph = made.graph(size=0.7)
    return Network(graph, made.domains(4), _reach(graph), tuple((kind, 0) for kind, _ in found))


def extrema_of_operators(rng: Random) -> Network:
    """The largest or smallest of something computed from a window, which is what a program must keep, too."""
    made = _Making(rng)
    low = made.location(0, most=1)
    inner = made.operator((0, low)) if rng.random() < 0.7 else made.pointer((0, 0, 0), (-2.0, 3.0), 1)
    made.over_all("max" if rng.random() < 0.5 else "min", inner)
    made.operator((len(made.nodes) - 1, 0))
    graph = made.graph(size=0.7)
    return Network(graph, made.domains(2), 5)


def pointers(rng: Random) -> Network:
    """Heads that point by content, whose windows may or may not be bounded."""
    made = _Making(rng, columns=rng_int(rng, 1, 2))
    for _ in range(rng_int(rng, 1, 2)):
        reads = made.any(), made.any(), made.any()
        window = rng_int(rng, 0, 1)
        made.pointer(reads, (-3.0, 3.0), window) if rng.random() < 0.6 else made.equality(reads, window)
        if rng.random() < 0.3:
            made.operator()
    graph = made.graph((len(made.nodes) - 1,))
    return Network(graph, made.domains(1 if len(made.inputs) > 1 else 3), _reach(graph))


def pointers_above(rng: Random) -> Network:
    """What is pointed by and at was computed, and is read some positions back."""
    made = _Making(rng)
    made.operator((0,))
    made.pointer((made.any(), made.any(), made.any()), (-3.0, 3.0), 1)
    made.location(len(made.nodes) - 1, most=1)
    made.operator()
    graph = made.graph()
    return Network(graph, made.domains(2), _reach(graph))


def huge_weights(rng: Random) -> Network:
    """Weights that cancel: rounding decides what is left."""
    made = _Making(rng)
    made.location(0, most=1)
    large = float(10.0 ** rng.uniform(2, 17))
    hidden = 4
    weight = rng.normal(size=(hidden, 2))
    operands: tuple[int, ...] = (0, 1)
    bias, out = rng.normal(size=hidden), rng.normal(size=hidden)
    way = rng_int(rng, 0, 2)
    if way == 0:  # the same operand twice
        parts = [weight[:, :1] + large, -large * np.ones((hidden, 1)), weight[:, 1:]]
        operands, weight = (0, 0, 1), np.concatenate(parts, 1)
    elif way == 1:  # large units that cancel
        bias = bias + large
        out[1::2] = -out[::2]
    else:  # a large operand of a small weight
        weight, out = weight * large, out / large
        bias = bias * large
    made.add(OperatorNode("V2", operands, weight, bias, out, float(rng.normal())))
    graph = made.graph((2,))
    return Network(graph, made.domains(3), _reach(graph))


def means(rng: Random) -> Network:
    """Means and sums of inputs: nothing closes, all sequences up to a length are covered."""
    made = _Making(rng)
    made.over_all("mean" if rng.random() < 0.5 else "sum", 0)
    made.over_all("max", 0)
    made.operator((1, 2))
    graph = made.graph(size=0.4)
    return Network(graph, made.domains(2), 7)


FAMILIES: dict[str, Callable[[Random], Network]] = {
    "location heads": locations,
    "location heads alone": linear,
    "past outputs": past_outputs,
    "a large domain": large_domain,
    "extrema so far": extrema,
    "extrema of operators": extrema_of_operators,
    "pointers": pointers,
    "pointers above operators": pointers_above,
    "huge weights": huge_weights,
    "means and sums": means,
}


# -- what is bounded and not tabulated -----------------------------------------------------------------------


def over_reals(rng: Random) -> tuple[Network, Recurrence]:
    """Reals in, reals out; the program has pieces of its own."""
    past = bool(rng.random() < 0.5)
    made = _Making(rng, past=past)
    made.location(0, most=2)
    if past:
        made.location(1, most=1)
    made.operator()
    graph = made.graph(size=0.3)
    low = float(rng.choice([-1.0, 0.0, 2.0]))
    network = Network(graph, (reals(low, low + float(rng.choice([1.0, 3.0]))),), _reach(graph))
    a, a1, y1 = Var("a"), Var("a", 1), Var("y", 1)
    slope, share = (round(float(rng.normal()), 2) for _ in range(2))
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
    start = float(rng.choice([0.0, 1.5]))
    program = Recurrence(
        ("a",), (Step("y", formulas[int(rng.integers(len(formulas)))]),), ("y",), {"y": start}
    )
    return network, program


def from_whole_numbers(rng: Random) -> tuple[Network, Recurrence]:
    """Whole numbers in, reals out."""
    network, program = over_reals(rng)
    low = rng_int(rng, -2, 1)
    return replace(network, domains=(integers(low, low + rng_int(rng, 1, 5)),)), program


def without_end(rng: Random) -> tuple[Network, Recurrence]:
    """Whole numbers that grow; the network's weights are a little off, and its start may be."""
    lag = rng_int(rng, 1, 2)
    made = _Making(rng, past=True)
    off = float(rng.choice([0.0, 2.0**-24, 1e-9, 1e-4, 0.03])) * float(rng.choice([-1, 1]))
    scale_a, scale_y = made.layout.input_scales[0], made.layout.output_scales[0]
    start = float(rng.choice([0.0, 0.0, 3.0]))
    made.nodes[1] = ChannelNode("V1", "y[t-1]", start / scale_y)
    source = 1 if lag == 1 else made.add(RouterNode("V2", "location", {"value": 1}, 1, start / scale_y))
    bent = rng.random() < 0.4
    if bent:  # relu(v) - relu(-v), which is v
        weight = np.array([[1.0 + off], [-1.0]])
        source = made.add(
            OperatorNode(f"V{len(made.nodes)}", (source,), weight, np.zeros(2), np.array([1.0, -1.0]), 0.0)
        )
    head = np.zeros((1, len(made.nodes) + 1))
    head[0, source] = 1.0 + (0.0 if bent else off)
    head[0, 0] += scale_a / scale_y
    graph = DiscreteGraph(tuple(made.nodes), head, made.layout, made.inputs, made.outputs, 6)
    network = Network(graph, made.domains(3), lag)
    told = start if rng.random() < 0.8 else start + 1
    total = Var("a") + Var("y", lag)
    rare = op("and", Var("y", lag) > int(10 ** rng.uniform(1, 5)), Var("a").equals(1))
    formula = total if rng.random() < 0.6 else total + where(rare, 1, 0)
    return network, Recurrence(("a",), (Step("y", formula),), ("y",), {"y": told})


def formulas(rng: Random) -> tuple[Network, Recurrence]:
    """Location heads with whole weights, and the formula that they are away from the start."""
    made = _Making(rng, past=bool(rng.random() < 0.4))
    made.layout = replace(made.layout, input_scales=(1.0,), output_scales=(1.0,))
    starts = [0.0, 0.0, 1.0, 5.0]
    made.nodes = [replace(node, start=0.0) for node in made.nodes]  # type: ignore[type-var]
    reads: list[Expr] = list([Var("a"), Var("y", 1)][: len(made.nodes)])
    for _ in range(rng_int(rng, 1, 4)):
        source = made.any()
        offset = None if rng.random() < 0.25 else rng_int(rng, 0, 2)
        start = float(rng.choice(starts))
        made.add(RouterNode(f"V{len(made.nodes)}", "location", {"value": source}, offset, start))
        found = reads[source]
        if offset is None:
            found = Const(int(start))
        elif isinstance(found, Var):
            found = Var(found.name, found.lag + offset)
        reads.append(found)
    head = np.zeros((1, len(made.nodes) + 1))
    total: Expr = Const(rng_int(rng, -1, 1))
    head[0, -1] = float(total.value)  # type: ignore[attr-defined]
    for index in {len(reads) - 1, made.any()}:
        factor = int(rng.choice([-1, 1, 2]))
        head[0, index] = factor + float(rng.choice([0.0, 1e-7, 1e-3]))
        total = total + factor * reads[index]
    graph = DiscreteGraph(tuple(made.nodes), head, made.layout, made.inputs, made.outputs, 6)
    begin: dict[str, Start] = {"a": float(rng.choice(starts))}
    program = Recurrence(("a",), (Step("y", total),), ("y",), {**begin, "y": float(rng.choice(starts))})
    return Network(graph, made.domains(9), _reach(graph)), program.live()


BOUNDED: dict[str, Callable[[Random], tuple[Network, Recurrence]]] = {
    "reals": over_reals,
    "reals from whole numbers": from_whole_numbers,
    "values without end": without_end,
    "formulas of location heads": formulas,
}


# -- the program that a network is ---------------------------------------------------------------------------


def tabulated(network: Network, rng: Random) -> Tabulated | None:
    """What the network puts out on all short sequences, by what it can have read; None if that is too much.

    A context is the age, capped, the inputs and past outputs in reach, and the extrema so far.
    """
    graph, columns = network.graph, network.domains
    reach = min(network.reach, 5)
    fan = int(np.prod([d.high - d.low + 1 for d in columns]))
    length = int(np.log(TABULATED) / np.log(fan))
    if length < min(reach + 1, 3):
        return None
    grid = np.meshgrid(*(d.values() for d in columns), indexing="ij")
    inputs = np.stack([c.ravel() for c in grid], 1)
    numbers = np.arange(fan**length)
    x = inputs[np.stack([numbers // fan**t % fan for t in range(length)], 1)]
    y = np.zeros((len(x), length, len(graph.outputs)))
    for t in range(length):
        answer = run_network(graph, x[:, : t + 1], y[:, : t + 1])[:, t]
        if not np.all(np.abs(answer) < 1e4):
            return None
        y[:, t] = np.round(answer)
    past = graph.layout.name == "autoregressive"
    depth = min(reach, 2) if past else 0
    starts: dict[str, Start] = {}
    for name in graph.inputs:
        starts[name] = [0.0, "first", float(columns[0].low), 7.0][int(rng.integers(4))]  # type: ignore[assignment]
    leaves: list[tuple[Expr, np.ndarray]] = []
    cap = reach + 1
    leaves.append((Var("age"), np.broadcast_to(np.minimum(np.arange(length), cap), x.shape[:2])))
    for place, name in enumerate(graph.inputs):
        first = x[:, :1, place]
        for lag in range(reach + 1):
            start = first if starts[name] == "first" else np.full_like(first, starts[name])  # type: ignore[arg-type]
            leaves.append((Var(name, lag), np.concatenate([*[start] * lag, x[..., place]], 1)[:, :length]))
    for place, name in enumerate(graph.outputs):
        for lag in range(1, depth + 1):
            before = np.zeros((len(x), lag))
            leaves.append((Var(name, lag), np.concatenate([before, y[..., place]], 1)[:, :length]))
    steps = [Step("age", op("min", Var("age", 1) + 1, cap))]
    starts["age"] = -1.0
    for place, (kind, column) in enumerate(network.extrema):
        name = graph.inputs[column]
        steps.append(Step(f"m{place}", op(kind, Var(name), Var(f"m{place}", 1))))
        starts[f"m{place}"] = -np.inf if kind == "max" else np.inf
        so_far = (np.maximum if kind == "max" else np.minimum).accumulate(x[..., column], axis=1)
        leaves.append((Var(f"m{place}"), so_far))
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
    return Tabulated(Recurrence(graph.inputs, tuple(steps), graph.outputs, starts), "code", codes)


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

Changed = tuple[Recurrence, list[np.ndarray]]


def _with(program: Recurrence, test: Expr, *more: Step, starts: dict[str, Start] | None = None) -> Recurrence:
    """One output is one more where the test holds."""
    name = program.outputs[-1]
    steps = [
        Step(step.name, step.definition + where(test, 1, 0)) if step.name == name else step  # type: ignore[operator]
        for step in program.steps
    ]
    place = next(i for i, step in enumerate(steps) if step.name == name)
    steps = [*steps[:place], *more, *steps[place:]]
    return replace(program, steps=tuple(steps), start={**program.start, **(starts or {})})


def nothing(network: Network, table: Tabulated, rng: Random) -> Changed:
    return table.program, []


def one_context(network: Network, table: Tabulated, rng: Random) -> Changed:
    values, counts = np.unique(table.codes, return_counts=True)
    rarest = values[np.argsort(counts)][: max(1, len(values) // 3)]
    return _with(table.program, Var("code").equals(int(rng.choice(rarest)))), []


def at_one_age(network: Network, table: Tabulated, rng: Random) -> Changed:
    age = int(rng.integers(0, min(network.reach, 5) + 2))
    value = float(rng.choice(network.domains[0].values()))
    test = op("and", Var("age").equals(age), Var(table.program.inputs[0]).equals(int(value)))
    return _with(table.program, test), []


def late(network: Network, table: Tabulated, rng: Random) -> Changed:
    when = int(rng.integers(2, 60))
    clock = Step("clock", op("min", Var("clock", 1) + 1, when + int(rng.integers(0, 2))))
    return _with(table.program, Var("clock").equals(when), clock), []


def at_the_ends(network: Network, table: Tabulated, rng: Random) -> Changed:
    domain, name = network.domains[0], table.program.inputs[0]
    end = int(domain.high if rng.random() < 0.5 else domain.low)
    span = int(rng.integers(1, 7))
    run = Step("run", where(Var(name).equals(end), op("min", Var("run", 1) + 1, span), 0))
    x = np.full((1, 20, len(network.domains)), float(end))
    return _with(table.program, Var("run").equals(span), run), [x]


def after_many(network: Network, table: Tabulated, rng: Random) -> Changed:
    name, often = table.program.inputs[0], int(rng.integers(2, 40))
    value = int(rng.choice(network.domains[0].values()))
    count = Step("count", op("min", Var("count", 1) + where(Var(name).equals(value), 1, 0), often))
    x = np.full((1, often + 3, len(network.domains)), float(value))
    return _with(table.program, Var("count").equals(often), count), [x]


def not_whole(network: Network, table: Tabulated, rng: Random) -> Changed:
    """The program is off by less than a half, and rounds to the same or just not."""
    by = float(rng.choice([0.3, -0.4, 1e-7, 0.499999]))
    name = table.program.outputs[-1]
    steps = [
        Step(step.name, step.definition + by) if step.name == name else step  # type: ignore[operator]
        for step in table.program.steps
    ]
    return replace(table.program, steps=tuple(steps)), []


WAYS: dict[str, Callable[[Network, Tabulated, Random], Changed]] = {
    "nothing": nothing,
    "one context": one_context,
    "one age": at_one_age,
    "late": late,
    "at the ends": at_the_ends,
    "after many": after_many,
    "not whole": not_whole,
}
