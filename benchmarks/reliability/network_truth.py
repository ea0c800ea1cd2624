"""The truth about a network and a program, found without the code that certifies: both are run.

The network runs by an evaluator of its own, node by node over whole sequences, in float64 and in float32, in
the usual order of sums and in the reverse, on the program's outputs as its past. As long as both agree that
past is the network's own, so the first difference of a sequence is a true one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from weights2code.data import Problem
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.graph.graph import channel_scales
from weights2code.graph.machine import free_running
from weights2code.heads import RECENCY
from weights2code.language import Domain, Recurrence
from weights2code.network import certify
from weights2code.network.trial import Trial, drawn
from weights2code.verify.links import NetworkCertificate

#: Short sequences that are run at most, drawn ones of moderate length, long ones, and their lengths.
SHORT, DRAWN, LONG = 12_000, 400, 12
DRAWN_LENGTH, LONG_LENGTH = 12, 150
#: Outputs beyond this are left out: float64 holds no halves there.
LARGEST = 2.0**50
#: A network that differs on so many drawn sequences cannot have passed tests.
OFTEN = 0.2
#: What the float64 of an error may be off, of its size or of 1.
DIGITS = 1e-9


@dataclass(frozen=True)
class Runs:
    """Sequences (n, T, columns), and the program's outputs on them."""

    x: np.ndarray
    right: np.ndarray
    drawn: bool = False


@dataclass(frozen=True)
class Difference:
    """Where a network leaves a program: a shortest sequence of those that were run, how far it is off at most
    one step ahead, and on which share of the drawn sequences."""

    sequence: np.ndarray | None
    error: float
    share: float


# -- running -------------------------------------------------------------------------------------------------


def run_network(
    graph: DiscreteGraph, x: np.ndarray, past: np.ndarray, kind: type = np.float64, *, backwards: bool = False
) -> np.ndarray:
    """The outputs (n, T, outputs) on sequences, with `past` as past outputs, in float64 or float32."""
    layout, order = graph.layout, slice(None, None, -1 if backwards else None)
    n, length, _ = x.shape
    scales = np.array(channel_scales(layout), kind)
    before = np.concatenate([np.zeros_like(past[:, :1]), past[:, :-1]], 1)
    channels = np.concatenate([x, before], 2) if layout.name == "autoregressive" else x
    stream = np.zeros((n, length, len(graph.nodes)), kind)
    with np.errstate(all="ignore"):
        stream[..., : len(scales)] = channels.astype(kind) / scales
        for index, node in enumerate(graph.nodes):
            if isinstance(node, ChannelNode):
                stream[:, 0, index] += kind(node.start)
            elif isinstance(node, OperatorNode):
                weight = node.hidden_weight.astype(kind)[:, order]
                operands = stream[..., list(node.operands)][..., order]
                hidden = np.maximum(_added(operands, weight) + node.hidden_bias.astype(kind), kind(0))
                out = _added(hidden[..., order], node.output_weight.astype(kind)[None, order])[..., 0]
                stream[..., index] = out + kind(node.output_bias)
            else:
                stream[..., index] = _head(node, stream, kind)
        head = graph.head.astype(kind)
        out = _added(stream[..., order], head[:, :-1][:, order]) + head[:, -1]
        return (out * np.array(layout.output_scales, kind)).astype(float)


def _added(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted sums, one term after another."""
    total = np.zeros((*values.shape[:-1], len(weight)), values.dtype)
    for place in range(values.shape[-1]):
        if weight[:, place].any():
            total = total + values[..., place, None] * weight[:, place]
    return total


def _head(node: RouterNode, stream: np.ndarray, kind: type) -> np.ndarray:
    value, length = stream[..., node.reads["value"]], stream.shape[1]
    count = np.arange(1, length + 1).astype(kind)
    if node.kind in ("sum", "mean"):
        total = np.cumsum(value, 1, dtype=kind)
        return total / count if node.kind == "mean" else total
    if node.kind in ("max", "min"):
        return (np.maximum if node.kind == "max" else np.minimum).accumulate(value, axis=1)
    found = np.full(value.shape, kind(node.start if node.kind == "location" else 0.0))
    if node.kind == "location":
        for t in range(length if node.offset is not None else 0):
            if t >= (node.offset or 0):
                found[:, t] = value[:, t - (node.offset or 0)]
        return found
    assert node.relative_bias is not None
    query, key = (stream[..., node.reads[role]] for role in ("query", "key"))
    rows = np.arange(len(value))
    for t in range(length):
        back = t - np.arange(t + 1)
        bias = node.relative_bias.astype(kind)[np.minimum(back, len(node.relative_bias) - 1)]
        if node.kind == "equality":
            content = -kind(node.sharpness) * (query[:, t, None] - key[:, : t + 1]) ** 2
            score = content - kind(RECENCY) * back.astype(kind) + bias
        else:
            one, other = (
                _looked_up(where, table, node.value_range, kind)
                for where, table in ((query[:, t, None], node.query_table), (key[:, : t + 1], node.key_table))
            )
            score = (one * other).sum(-1, dtype=kind) / np.sqrt(kind(one.shape[-1])) + bias
        best = score.argmax(1)
        found[:, t] = np.where(score[rows, best] >= kind(node.null_score), value[rows, best], kind(0))
    return found


def _looked_up(
    value: np.ndarray, table: np.ndarray | None, value_range: tuple[float, float], kind: type
) -> np.ndarray:
    assert table is not None
    low, high = kind(value_range[0]), kind(value_range[1])
    place = np.clip((value - low) / (high - low), kind(0), kind(1)) * kind(len(table) - 1)
    left = np.minimum(place.astype(int), len(table) - 2)
    share = (place - left.astype(kind))[..., None]
    table = table.astype(kind)
    return (kind(1) - share) * table[left] + share * table[left + 1]


# -- what is run ---------------------------------------------------------------------------------------------


def runs(
    program: Recurrence,
    domains: tuple[Domain, ...],
    rng: np.random.Generator,
    telling: Sequence[np.ndarray] = (),
    most: int = SHORT,
) -> list[Runs]:
    """All short sequences where there are few, drawn ones, long ones, and those that may tell."""
    made = partial(_drawn, domains, rng)
    found = [Runs(x, _outputs(program, x), True) for x in (made(DRAWN, DRAWN_LENGTH),)]
    found += [Runs(x, _outputs(program, x)) for x in (made(LONG, LONG_LENGTH), *telling)]
    if all(domain.discrete for domain in domains):
        fan = prod(len(domain.values()) for domain in domains)
        length = int(np.log(most) / np.log(max(fan, 2)) + 1e-9)
        if length:
            x = every(domains, length)
            found.append(Runs(x, _outputs(program, x)))
    return found


def every(domains: tuple[Domain, ...], length: int) -> np.ndarray:
    """All sequences of a length."""
    columns = np.meshgrid(*(domain.values() for domain in domains), indexing="ij")
    inputs = np.stack([column.ravel() for column in columns], 1)
    numbers = np.arange(len(inputs) ** length)
    return inputs[np.stack([numbers // len(inputs) ** t % len(inputs) for t in range(length)], 1)]


def _drawn(domains: tuple[Domain, ...], rng: np.random.Generator, count: int, length: int) -> np.ndarray:
    """Random inputs; some stay at the ends of the domain, some hardly change."""
    columns = []
    for domain in domains:
        low, high = float(domain.low), float(domain.high)
        shape = (count, length)
        whole = rng.integers(int(low), int(high) + 1, shape)
        some = whole if domain.discrete else rng.uniform(low, high, shape)
        ends = np.where(rng.random(shape) < 0.5, low, high)
        kind = np.arange(count)[:, None] % 4
        steady = np.repeat(some[:, :1], length, 1)
        columns.append(np.select([kind == 2, kind == 3], [ends, steady], some).astype(float))
    return np.stack(columns, -1)


def shown_by(program: Recurrence, problem: Problem, seed: int) -> np.ndarray:
    """The program's outputs on the sequences that a claim about reals is like."""
    return _outputs(program, drawn(problem, seed))


def _outputs(program: Recurrence, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return program.run(x)


def difference(
    graph: DiscreteGraph, known: list[Runs], *, whole: bool, kind: type = np.float64, backwards: bool = False
) -> Difference:
    """Compare on sequences that were run."""
    shortest: np.ndarray | None = None
    error, share = 0.0, 0.0
    for some in known:
        right = np.round(some.right) if whole else some.right
        past = np.where(np.isfinite(right), right, 0.0)
        answer = run_network(graph, some.x, past, kind, backwards=backwards)
        counts = np.isfinite(right) & (np.abs(right) < LARGEST)
        apart = np.where(counts, np.abs(answer - right), 0.0)
        apart = np.where(np.isnan(apart), np.inf, apart)
        error = max(error, float(apart.max(initial=0.0)))
        wrong = np.asarray(np.any((apart >= 0.5) & whole, axis=2))
        if some.drawn:
            share = float(wrong.any(1).mean())
        if wrong.any():
            first = np.where(wrong.any(1), wrong.argmax(1), wrong.shape[1])
            row = int(first.argmin())
            if shortest is None or first[row] + 1 < len(shortest):
                shortest = some.x[row, : first[row] + 1]
    return Difference(shortest, error, share)


def agreed(graph: DiscreteGraph, known: list[Runs]) -> list[Runs]:
    """The same runs of whole numbers, as far as the network gives what the program gives."""
    found = []
    for some in known:
        right = np.round(some.right)
        past = np.where(np.isfinite(right), right, 0.0)
        wrong = np.any(~(np.abs(run_network(graph, some.x, past) - right) < 0.5), axis=2)
        after = np.cumsum(wrong, axis=1) > 0
        found.append(Runs(some.x, np.where(after[..., None], np.inf, some.right), some.drawn))
    return found


# -- asking --------------------------------------------------------------------------------------------------


def certified(
    graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int, *, tests: bool
) -> NetworkCertificate:
    """What is said of a network; without `tests`, by proofs alone, which must not need them."""
    usual = certify.run_side_by_side
    if not tests:
        certify.run_side_by_side = lambda *_: Trial(0, (), 0.0, None, None)
    try:
        return certify.certify_network(graph, program, problem, seed).certificate
    finally:
        certify.run_side_by_side = usual


# -- judging -------------------------------------------------------------------------------------------------


def wrong_claim(
    certificate: NetworkCertificate,
    graph: DiscreteGraph,
    program: Recurrence,
    known: list[Runs],
    *,
    whole: bool,
    shown: np.ndarray | None = None,
) -> str:
    """What a certificate claims that is not so; empty if nothing.

    Claims about reals speak of a past like that of some sequences: `shown` are the program's outputs there.
    """
    found = difference(graph, known, whole=whole)
    if certificate.verdict == "differs":
        return _no_difference(certificate, graph, program)
    if certificate.verdict == "tested":
        near = certificate.margin == 0.0  # it says that rounding decides
        often = whole and not near and certificate.sequences > 0 and found.share > OFTEN
        return f"tested, but {found.share:.0%} of drawn sequences differ" if often else ""
    covered = [_within(certificate, some, graph.outputs) for some in known]
    if certificate.verdict == "bounded" and shown is not None:
        covered = [_like(some, shown) for some in covered]
    ways: list[tuple[type, bool]] = [(np.float64, False), (np.float64, True)]
    if "float32" in certificate.method:
        ways.append((np.float32, False))
    for kind, backwards in ways:
        found = difference(graph, covered, whole=whole, kind=kind, backwards=backwards)
        name = f"{certificate.verdict} ({certificate.covers})"
        if found.sequence is not None:
            return (
                f"{name}, but the network differs after {len(found.sequence)} inputs, in {kind.__name__}: "
                f"{found.sequence.tolist()}"
            )
        if kind is np.float32:
            continue
        error, margin = certificate.error, certificate.margin
        if error is not None and found.error > error + DIGITS * max(1.0, error):
            return f"{name} with an error of {error}, but it is {found.error}"
        if margin is not None and 0.5 - found.error < margin - DIGITS:
            return f"{name} with a margin of {margin}, but it is {0.5 - found.error}"
    return _too_large(certificate, known)


def _within(certificate: NetworkCertificate, some: Runs, outputs: tuple[str, ...]) -> Runs:
    """What a verdict speaks of: up to a length, or up to the first value that is too large."""
    length = re.search(r"up to length (\d+)", certificate.covers)
    value = re.search(r"no past value exceeds 2\*\*(\d+)", certificate.covers)
    between = re.findall(r"(\w+) between (\S+) and ([^\s;,]+)", certificate.covers)
    x, right = some.x, some.right
    if length and certificate.verdict == "exhaustive":
        x, right = x[:, : int(length[1])], right[:, : int(length[1])]
    large = np.zeros(right.shape[:2], bool)
    if value:
        large = np.abs(right).max(2) > 2.0 ** int(value[1])
    for name, low, high in between:
        if name in outputs:
            own, narrow = right[..., outputs.index(name)], 0.01 * (float(high) - float(low))
            large |= (own < float(low) + narrow) | (own > float(high) - narrow)
    beyond = np.cumsum(large, axis=1) - large > 0  # some past value is
    return Runs(x, np.where(beyond[..., None], np.inf, right), some.drawn)


def _like(some: Runs, shown: np.ndarray) -> Runs:
    """As far as every past value, and every step, is one of those that sequences show at its position."""
    length = min(shown.shape[1], some.right.shape[1])
    right = some.right[:, :length]
    outside = np.zeros(right.shape[:2], bool)
    for values, others, first in (
        (right, shown[:, :length], 0),
        (np.diff(np.nan_to_num(right), axis=1), np.diff(shown[:, :length], axis=1), 1),
    ):
        if values.shape[1]:
            low, high = others.min(0), others.max(0)
            outside[:, first:] |= ~np.all((values >= low) & (values <= high), axis=2)
    beyond = np.cumsum(outside, axis=1) - outside > 0
    return Runs(some.x[:, :length], np.where(beyond[..., None], np.inf, right), some.drawn)


def _too_large(certificate: NetworkCertificate, known: list[Runs]) -> str:
    """Whether values pass the stated limit in positions where they are said not to."""
    said = re.search(r"exceeds 2\*\*(\d+) \(not in the first (\d+) positions", certificate.covers)
    if said is None:
        return ""
    limit, positions = 2.0 ** int(said[1]), int(said[2])
    largest = max(float(np.abs(some.right[:, :positions]).max(initial=0.0)) for some in known)
    return f"a value of {largest} within {positions} positions" if largest > limit else ""


def _no_difference(certificate: NetworkCertificate, graph: DiscreteGraph, program: Recurrence) -> str:
    if certificate.counterexample is None:
        return "differs, without a counterexample"
    x = np.array(certificate.counterexample, float)[None]
    right = np.round(_outputs(program, x))
    past = np.where(np.isfinite(right), right, 0.0)
    if graph.layout.name == "concat":
        return ""
    shown = [
        bool(np.any(~(np.abs(run_network(graph, x, past, backwards=way)[:, -1] - right[:, -1]) < 0.5)))
        for way in (False, True)
    ]
    # where rounding decides, the order in which a loaded network adds up is one of those that count
    shown.append(not np.array_equal(free_running(graph, x, whole=True)[:, -1], right[:, -1]))
    return "" if any(shown) else f"the counterexample {x[0].tolist()} shows no difference"
