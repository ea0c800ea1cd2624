"""Every head of a network has a hypothesis, or a reason why it needs none (appendix, "Unmatched Heads").

A head that matches no hypothesis is harmless if the network is as right without it: with a constant in its
place, with the hypothesis that comes nearest, or with the other variables of the output head weighed anew.
Heads are taken one after the other, those with the least effect first, and what was put in the place of a
harmless one stays there: two heads that stand in for each other are not both superfluous.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.experiments.head_effects import Judge, Network
from weights2code.experiments.head_reasons import (
    DEAD,
    HARMLESS,
    NEEDED,
    NEGLIGIBLE,
    REDUNDANT,
    SUBSTITUTABLE,
    UNFIT,
)
from weights2code.experiments.jobs import Row
from weights2code.explain.by_value import ByValue, decided
from weights2code.explain.explanation import first_positions, match_heads
from weights2code.explain.hypotheses import FixedOffset, Hypothesis, Nothing, WindowedExtremum
from weights2code.explain.routing import LEAST_ANYWHERE, RouterMatch, attended, evidence, hypotheses
from weights2code.extraction.members import prune
from weights2code.graph import DiscreteGraph, RouterNode
from weights2code.graph.pruning import RANK

#: Hypotheses that are tried in the place of a head: those that agree most often, and where that matters.
MOST_TRIED = 4
#: Of those, so many of the best are tried with the output head weighed anew.
MOST_WEIGHED = 3
#: The patterns that the paper knows; the null slot everywhere is a constant.
THE_PAPERS = (FixedOffset, WindowedExtremum, Nothing)
SAME_FOR_EVERYTHING = "what reads it gives the same for everything"


# -- what can be put in the place of a head -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A head of a network, and the stream in which something is put in its place."""

    network: Network
    index: int
    values: np.ndarray

    @property
    def node(self) -> RouterNode:
        node = self.network.graph.nodes[self.index]
        assert isinstance(node, RouterNode)
        return node

    @property
    def actual(self) -> np.ndarray:
        return self.values[..., self.index]

    @property
    def first(self) -> int:
        """The first position at which it has an effect."""
        return first_positions(self.network.graph)[self.index]

    def with_constant(self, value: float) -> Network:
        return self.network.with_instead(self.index, lambda values: np.full(values.shape[:2], value))

    def with_hypothesis(self, hypothesis: Hypothesis, *, own_start: bool = False) -> Network:
        """A hypothesis in its place; with `own_start` not at the first positions, which lack the window."""
        node, until = self.node, hypothesis.reach() if own_start else 0

        def give(values: np.ndarray) -> np.ndarray:
            found = np.asarray(hypothesis.predict(node, values), float)
            found = np.where(np.isfinite(found), found, 0.0)  # an extremum of nothing is none
            if until:
                found[:, :until] = node.compute(values[:, :until])
            return found

        return self.network.with_instead(self.index, give)

    @property
    def mean(self) -> float:
        return float(np.mean(self.actual[:, self.first :]))

    @property
    def offsets(self) -> tuple[int, ...]:
        return attended(self.node, self.values, self.first)

    def agreement(self, hypothesis: Hypothesis) -> float:
        found = evidence(hypothesis, self.node, self.values, self.actual, self.first)
        return found.agreement if found.anywhere >= LEAST_ANYWHERE else found.anywhere

    def with_agreement(self, hypothesis: Hypothesis) -> str:
        """The same, with how often it agrees."""
        return f"{self.in_words(hypothesis)} ({self.agreement(hypothesis):.3f})"

    def in_words(self, hypothesis: Hypothesis) -> str:
        """A hypothesis with its thresholds in the user's units."""
        if not isinstance(hypothesis, ByValue):
            return hypothesis.describe()
        units = self.network.graph.units()
        return hypothesis.in_units({role: float(units[source]) for role, source in self.node.reads.items()})

    def candidates(
        self, weight: np.ndarray, allowed: tuple[type[Hypothesis], ...] = (Hypothesis,)
    ) -> list[Hypothesis]:
        """Hypotheses worth trying, simplest first: those that agree most, everywhere and by `weight`, which
        says how much the outputs depend on the head at each position; the offset that it selects most; and
        decisions by value."""
        node, often, first = self.node, self.offsets, self.first
        weight = weight[:, first:]
        weight = weight / weight.sum() if weight.sum() > 0 else np.full(weight.shape, 1 / weight.size)
        near = 1e-6 * max(float(np.ptp(self.actual)), 1e-12)
        known = [one for one in hypotheses(node, self.values.shape[1], often) if isinstance(one, allowed)]
        right = [(np.abs(one.predict(node, self.values) - self.actual) < near)[:, first:] for one in known]
        plain = np.argsort([-found.mean() for found in right], kind="stable")[:MOST_TRIED]
        weighed = np.argsort([-(found * weight).sum() for found in right], kind="stable")[:MOST_TRIED]
        chosen = [known[number] for number in sorted({*plain.tolist(), *weighed.tolist()})]
        if often and FixedOffset(often[0]) not in chosen:
            chosen.insert(0, FixedOffset(often[0]))
        trees = [decided(node, self.values, often, first, given) for given in (None, weight)]
        return [*chosen, *dict.fromkeys(tree for tree in trees if isinstance(tree, allowed))]

    def twin(self) -> str:
        """The other variable of the stream that goes along with it most closely."""
        own, found = self.actual[:, self.first :].ravel(), (0.0, "")
        for index, node in enumerate(self.network.graph.nodes):
            other = self.values[:, self.first :, index].ravel()
            if index != self.index and np.std(own) > 0 and np.std(other) > 0:
                found = max(found, (abs(float(np.corrcoef(own, other)[0, 1])), node.name))
        return f"{found[1]} (correlation {found[0]:.2f})" if found[1] else ""


def weighed_anew(network: Network, problem: Problem) -> Network:
    """The network with the best output head of the variables that its head reads now."""
    graph = network.graph
    values, (_, targets, scored) = network.stream(problem.validation), graph.encode(problem.validation)
    head = np.zeros_like(graph.head)
    for row, weights in enumerate(graph.head):
        kept = np.flatnonzero(weights[:-1])
        design = np.column_stack([values[scored][:, kept], np.ones(int(scored.sum()))])
        found = np.linalg.lstsq(design, targets[scored][:, row], rcond=RANK)[0]
        head[row, kept], head[row, -1] = found[:-1], found[-1]
    return replace(network, graph=replace(graph, head=head))


# -- the heads of a network ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """Why a head without a hypothesis is no trouble, or that it is; what stands in its place, in words; and
    the hypothesis that does."""

    reason: str
    detail: str
    network: Network
    hypothesis: Hypothesis | None = None


def explain_unmatched(
    place: Place, judge: Judge, problem: Problem, allowed: tuple[type[Hypothesis], ...] = (Hypothesis,)
) -> Found:
    """The first reason that holds, cheapest first; else its best hypothesis is put in its place.

    Only hypotheses of the `allowed` kinds are.
    """
    for name, value in (("its mean", place.mean), ("0", 0.0)):
        constant = place.with_constant(value)
        if np.array_equal(judge.given(constant), judge.given(place.network)):
            return Found(DEAD, SAME_FOR_EVERYTHING, constant)
        if judge.as_right(constant):
            return Found(NEGLIGIBLE, f"{name} in its place", constant)
    tried: list[tuple[float, Hypothesis, Network]] = []
    for hypothesis in place.candidates(sensitivity(place, judge), allowed):
        network = place.with_hypothesis(hypothesis)
        if judge.as_right(network):
            return Found(SUBSTITUTABLE, place.with_agreement(hypothesis), network, hypothesis)
        tried.append((judge.score(judge.given(network)).loss, hypothesis, network))
        if hypothesis.reach() > place.first:
            network = place.with_hypothesis(hypothesis, own_start=True)
            if judge.as_right(network):
                words = f"{place.with_agreement(hypothesis)} but for the first {hypothesis.reach()}"
                return Found(SUBSTITUTABLE, words, network, hypothesis)
    anew = weighed_anew(place.with_constant(place.mean), problem)
    if judge.as_right(anew):
        return Found(REDUNDANT, f"nearest to {place.twin()}", anew)
    tried.sort(key=lambda one: one[0])
    for _, hypothesis, network in tried[:MOST_WEIGHED]:
        anew = weighed_anew(network, problem)
        if judge.as_right(anew):
            words = f"{place.with_agreement(hypothesis)}, the output weighed anew"
            return Found(SUBSTITUTABLE, words, anew, hypothesis)
    _, hypothesis, network = tried[0]
    words = f"best in its place: {place.with_agreement(hypothesis)}"
    return Found(NEEDED if judge.fits else UNFIT, words, network)


def sensitivity(place: Place, judge: Judge) -> np.ndarray:
    """How much the outputs depend on a head at each position of the stream (n, T).

    Where another head carries what it gives to other positions, all positions count alike.
    """
    length = judge.sequences.x.shape[1]
    without = place.with_constant(place.mean)
    changed = without.answers(without.stream(judge.sequences), length) - place.network.answers(
        place.values, length
    )
    with np.errstate(all="ignore"):
        size = np.nan_to_num(np.mean(changed**2, axis=2), posinf=0.0)
    weight = np.zeros(place.actual.shape)
    weight[:, -length:] = size
    nodes = place.network.graph.nodes
    carried = any(isinstance(node, RouterNode) and place.index in node.sources() for node in nodes)
    return np.ones_like(weight) if carried or not weight.any() else weight


def analyse_heads(graph: DiscreteGraph, problem: Problem, sequences: Sequences) -> Row:
    """Every head of a trained network: its hypothesis, or the reason why it needs none, with the effects.

    Heads are matched on the problem's validation sequences, and judged on `sequences`.

    Returns
    -------
    dict
        `matched` and `unmatched` heads, a row each; `fits`; the scores of the `network`, of the one with
        something else in the place of every unmatched head, `replaced`, and of that with every other head
        doing what it matches, `listed`; whether all unmatched ones are `harmless`.
        Of a live head that matches, or can be replaced, but by neither of the paper's two patterns,
        `by_the_paper` is why it would be harmless or not if there were no others.
    """
    judge = Judge(Network(graph), sequences, problem.integer_outputs)
    pruned = prune(graph, problem)
    every = match_heads(graph, problem.validation, dead=True)
    kept = match_heads(pruned, problem.validation).routers
    known = {
        index: found if found.hypothesis else kept.get(index, found) for index, found in every.routers.items()
    }
    best: _Replaced | None = None
    for base in (Network(pruned), judge.network):
        if base is judge.network or judge.as_right(base):
            found = _one_by_one(base, known, judge, problem)
            best = found if best is None or len(found.missing) < len(best.missing) else best
        if best is not None and not best.missing:
            break
    assert best is not None
    return {
        "heads_in_all": len(known),
        "matched": best.matched,
        "unmatched": [{**row, "live_after_pruning": row["index"] in kept} for row in best.unmatched],
        "fits": judge.fits,
        "network": judge.scores(judge.network),
        "replaced": judge.scores(best.network),
        "listed": judge.scores(_by_hypotheses(best.network, known, judge)),
        "harmless": not best.missing,
    }


def _by_hypotheses(network: Network, known: dict[int, RouterMatch], judge: Judge) -> Network:
    """The network with every matched head replaced too, by what it matches."""
    values = network.stream(judge.sequences)
    instead = {
        index: Place(network, index, values).with_hypothesis(found.hypothesis, own_start=True).instead[index]
        for index, found in known.items()
        if found.hypothesis
    }
    return replace(network, instead={**network.instead, **instead})


@dataclass(frozen=True, slots=True, eq=False)
class _Replaced:
    """A network with something in the place of every unmatched head; `missing` are those that it needs."""

    network: Network
    matched: list[Row]
    unmatched: list[Row]
    missing: tuple[int, ...]


def _one_by_one(base: Network, known: dict[int, RouterMatch], judge: Judge, problem: Problem) -> _Replaced:
    """Every unmatched head replaced, beginning with a network, pruned or not, that is as right."""
    live, values = base.graph.live(), base.stream(judge.sequences)
    matched: list[Row] = []
    unmatched: list[Row] = []
    wanted: list[int] = []
    for index, found in known.items():
        if found.hypothesis:
            place = Place(base, index, values)
            row: Row = {"head": place.node.name, "hypothesis": place.in_words(found.hypothesis)}
            if index in live and not isinstance(found.hypothesis, THE_PAPERS):
                row["by_the_paper"] = explain_unmatched(place, judge, problem, THE_PAPERS).reason
            matched.append(row)
        elif index in live:
            wanted.append(index)
        else:
            place = Place(judge.network, index, judge.network.stream(judge.sequences))
            unmatched.append(_unmatched_row(place, judge, *_without_effect(place, judge)))
    within = replace(judge, network=base)
    wanted.sort(key=lambda index: _least_effect(Place(base, index, values), within))
    current, missing = base, {}
    for index in wanted:
        place, alone = Place(current, index, current.stream(judge.sequences)), Place(base, index, values)
        found = explain_unmatched(place, judge, problem)
        row = _unmatched_row(alone, within, found.reason, found.detail)
        if found.hypothesis is not None and not isinstance(found.hypothesis, THE_PAPERS):
            row["by_the_paper"] = explain_unmatched(place, judge, problem, THE_PAPERS).reason
        unmatched.append(row)
        if found.reason in HARMLESS:
            current = found.network
        else:  # it stays while the others are looked at
            missing[index] = found.network.instead[index]
    network = replace(current, instead={**current.instead, **missing})
    return _Replaced(network, matched, unmatched, tuple(missing))


def _least_effect(place: Place, judge: Judge) -> float:
    return judge.distance(judge.given(place.with_constant(place.mean)), judge.own[0])


def _without_effect(place: Place, judge: Judge) -> tuple[str, str]:
    """Why a head that is not live after pruning is not."""
    if place.index not in place.network.graph.live():
        return DEAD, "nothing reads it"
    constant = place.with_constant(place.mean)
    if np.array_equal(judge.given(constant), judge.own[0]):
        return DEAD, SAME_FOR_EVERYTHING
    if judge.as_right(constant):
        return NEGLIGIBLE, "its mean in its place"
    return REDUNDANT, f"nearest to {place.twin()}"


def _unmatched_row(place: Place, judge: Judge, reason: str, detail: str) -> Row:
    row: Row = {"head": place.node.name, "index": place.index, "reason": reason, "detail": detail}
    if reason != DEAD:
        row["mean_instead"] = judge.effect(place.with_constant(place.mean))
    return row
