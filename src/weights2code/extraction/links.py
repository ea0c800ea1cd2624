"""The link between the network and the program: how far both are equal, and which other network is.

The program is found. Where the rows showed it there is no network yet: one is wired for what the rule reads,
and its weights are solved for on the data. Else the member that it was read from is compared with it as it
was trained. That is the verdict on the network. If it is not known to be equal, another is made beside it:
the member pruned, as the program was read from it; another member of the rung may be right as it is; else a
copy goes back to training, with the sequences on which it is least right, its choices settled; else every
operator of the rule becomes units of its own, where that can be done; and at last a network that sees what
the rule combines is wired and trained. The best of them has a verdict of its own, which says how it came
about. Where the formula came from stays what it was. A network that was not to have sub-MLPs gets none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from weights2code.data import Problem, Regime, Sequences, fit_layout
from weights2code.effort import TimeUp, time_is_up
from weights2code.explain.explanation import match_heads
from weights2code.extraction.judge import UNFIT, model_agreement, with_caveat
from weights2code.extraction.members import MEMBERS_TRIED, fit_of, member, whole_graph
from weights2code.extraction.values import Extraction, Log
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.graph.machine import machine_of, reach
from weights2code.kernel.claims import Proved
from weights2code.language import Recurrence, Var, definition_variables
from weights2code.network.certify import Checked, certify_network
from weights2code.network.trial import outputs_of
from weights2code.network.tuning.compiled import compiled
from weights2code.network.tuning.lessons import to_learn_from
from weights2code.network.tuning.retune import retuned
from weights2code.network.tuning.wired import wired_for
from weights2code.verify.links import Made, NetworkCertificate, Sequence
from weights2code.views.hidden import States, with_states

if TYPE_CHECKING:
    from weights2code.training.storage import Trained

#: Wider margins are alike, of the half that there can be; errors of reals that are as good, of their size.
WIDE, SMALL = 0.2, 1e-4
#: Rounds of training on.
ROUNDS = 2
#: Sequences of the data that weights are solved for on; shorter ones are learned from their first output on.
LEARNED, SHORTEST = 1000, 4
#: A round of training on must lower errors to this share to be followed by another.
GAIN = 0.7
#: Verdicts in order.
ORDER = ("proved", "exhaustive", "bounded", "tested", "differs")


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A network, the member whose nodes it has (None: it was wired anew), and how it was checked."""

    graph: DiscreteGraph
    member: int | None
    checked: Checked

    @property
    def certificate(self) -> NetworkCertificate:
        return self.checked.certificate

    @property
    def as_trained(self) -> bool:
        return self.certificate.made == "trained"

    def rank(self) -> tuple[int, float]:
        """Smaller is better: the verdict, then how far from being wrong."""
        found = self.certificate
        far = -min(found.margin, WIDE) if found.margin is not None else (found.error or 0.0)
        return ORDER.index(found.verdict), far

    def much_better_than(self, other: _Candidate) -> bool:
        (verdict, far), (before, was) = self.rank(), other.rank()
        return verdict < before or (verdict == before and far < (GAIN * was if was > 0 else was))


def with_network(
    extraction: Extraction, trained: Trained | None, problem: Problem, log: Log, *, computes: bool = True
) -> tuple[Extraction, DiscreteGraph | None]:
    """The extraction with the network that equals its program, as far as one does, and what is known of that
    network and of the first one: as it was `trained`, or where nothing was, the network that it stands for.

    `computes` says whether a network that is wired anew may have sub-MLPs.

    The program is found already: an error that nobody foresaw costs what comes after the best network so far.
    """
    problem = problem.under(extraction.program.regime)
    own: _Candidate | None = None
    taught: _Candidate | None = None
    try:
        for found in _Networks(extraction, trained, problem, log, computes).candidates():
            if own is None or (found.as_trained and found.rank()[0] < own.rank()[0]):
                own = found
            elif not found.as_trained and (taught is None or found.rank() < taught.rank()):
                taught = found
            if time_is_up():
                break
    except TimeUp:
        pass
    except Exception as error:
        log.note("network and program", error)
    if own is None:
        return extraction, None
    if taught and (taught.certificate.verdict == "differs" or not taught.much_better_than(own)):
        taught = None
    return _linked(extraction, own, taught, problem, log.seed), own.graph


class _Networks:
    """Networks in the order in which they are preferred; each is made only if those before will not do."""

    def __init__(
        self, extraction: Extraction, trained: Trained | None, problem: Problem, log: Log, computes: bool
    ) -> None:
        self.extraction, self.problem, self.log = extraction, problem, log
        self.members = trained
        self.computes, self.whole = computes, problem.integer_outputs
        self.program = replace(extraction.program.recurrence, outputs=problem.outputs)
        self.blank = extraction.network or blank(problem)
        nodes = (self.blank.nodes[index] for index in self.blank.live())
        # heads that go over everything so far: no continuous function of a mean is a majority at every length
        self.over_all = (
            goes_over_all(self.program)
            if trained is None
            else any(
                isinstance(node, RouterNode) and node.kind not in ("location", "pointer") for node in nodes
            )
        )

    @property
    def trained(self) -> Trained:
        assert self.members is not None
        return self.members

    def candidates(self) -> Iterator[_Candidate]:
        own: _Candidate | None = None
        for own in self.first():
            yield own
            proof_may_reach_further = own.as_trained and own.certificate.verdict == "exhaustive"
            if self.right(own) and not proof_may_reach_further:  # without what hardly counts, perhaps
                return
        if own is None:
            yield from self.exact()
            return
        measured = self.problem.regime in (Regime.NOISY, Regime.ROUNDED)  # as near as its data let it be
        if measured or not self.extraction.certificate.verified:
            return  # a rule that is not known to be right is nothing to learn from
        made = [self.trained_on(own), self.exact()]
        if self.members is not None:
            made = [self.others(own), *(made[::-1] if self.over_all else made), self.wired(own)]
        for found in chain(*made):
            yield found
            if self.right(found):
                return

    def first(self) -> Iterator[_Candidate]:
        """The network that the program was read from, as it was trained and pruned; where there is none, one
        that is wired for what the rule reads, its weights solved for on the data."""
        if self.members is not None:
            yield self.member_as_trained(self.extraction.member or 0)
            yield self.checked(self.extraction.graph, self.extraction.member, "pruned")
        elif (wired := self.wired_anew()) is not None:
            data = self.problem.training.take(slice(0, LEARNED))
            yield self.checked(retuned(wired, data, whole=self.whole), None, "wired", 1)

    def member_as_trained(self, index: int) -> _Candidate:
        """A member as it was trained."""
        found = self.checked(whole_graph(self.trained, index, self.problem), index, "trained")
        certificate = replace(found.certificate, member=index, read=self.extraction.member or 0)
        return replace(found, checked=replace(found.checked, certificate=certificate))

    def checked(self, graph: DiscreteGraph, member: int | None, made: Made, rounds: int = 0) -> _Candidate:
        found = certify_network(graph, self.program, self.problem, self.log.seed)
        certificate = replace(found.certificate, made=made, trained_on=rounds)
        return _Candidate(graph, member, replace(found, certificate=certificate))

    def right(self, found: _Candidate) -> bool:
        """Whether nothing need be done to a network any more."""
        certificate = found.certificate
        if certificate.verdict == "bounded":
            return certificate.error is not None and certificate.error <= SMALL * self.scale()
        if certificate.verdict == "exhaustive" and self.over_all:
            proof = certificate.proof
            return isinstance(proof, Proved) and (proof.length or 0) >= self.problem.length
        return certificate.verdict == "proved"

    def lessons(self, worst: list[Sequence], count: int) -> Sequences:
        """What a round of training on is about."""
        seed, window, layout = self.log.seed, None, self.blank.layout
        if not self.over_all and layout.name != "concat":
            machine = self.members and machine_of(self.blank, whole=self.whole)
            window = max(reach(machine) if machine else 0, *self.program.depths().values(), 0)
        return to_learn_from(
            worst,
            self.program,
            self.problem,
            seed + count,
            region=seed,
            window=window,
            first=layout.first_scored,
        )

    def scale(self) -> float:
        outputs = np.abs(outputs_of(self.program, self.problem.validation.x))
        return float(np.max(outputs, where=np.isfinite(outputs), initial=0.0))

    # -- networks that are made ------------------------------------------------------------------------------

    def others(self, own: _Candidate) -> Iterator[_Candidate]:
        """Other members of the rung, as they were trained and pruned."""
        tried = MEMBERS_TRIED if self.whole and own.certificate.verdict == "differs" else 0
        for index in range(min(tried, len(self.trained.losses))):
            if index != own.member:
                yield self.member_as_trained(index)
                yield self.checked(member(self.trained, index, self.problem).graph, index, "pruned")

    def exact(self) -> Iterator[_Candidate]:
        """A network that is the rule, operator by operator."""
        network = compiled(self.program, self.blank, self.problem) if self.computes else None
        if network is not None:
            yield self.checked(network, None, "written")

    def wired(self, own: _Candidate) -> Iterator[_Candidate]:
        """A network that is wired for the rule, trained."""
        wired = self.wired_anew()
        if wired is None:
            return
        learned = self.lessons(list(own.checked.worst), 0)
        first = self.checked(retuned(wired, learned, whole=self.whole), None, "wired", 1)
        yield first
        if not self.right(first):
            yield from self.trained_on(first)

    def wired_anew(self) -> DiscreteGraph | None:
        return wired_for(self.program, self.blank, self.problem, self.log.seed) if self.computes else None

    def rounds(self) -> int:
        """Rounds of training on: none where heads of a network that was made go over everything so far, or
        over what was computed from others that do, which never came out right."""
        if not self.over_all:
            return ROUNDS
        nodes = self.blank.nodes
        heads = [node for node in nodes if isinstance(node, RouterNode) and node.facts.aggregate]
        deep = any(isinstance(nodes[head.reads["value"]], OperatorNode) for head in heads)
        return int(self.members is not None and not deep)

    def trained_on(self, own: _Candidate) -> Iterator[_Candidate]:
        """The network after more training, with what it was least right on, while that helps."""
        worst, before = list(own.checked.worst), own
        for count in range(1, self.rounds() + 1):
            learned = self.lessons(worst, count)
            graph = retuned(before.graph, learned, whole=self.whole)
            found = self.checked(graph, own.member, "wired" if own.member is None else "trained on", count)
            yield found
            settled = found.certificate.verdict == "exhaustive"  # more training proves no more
            if settled or (count > 1 and not found.much_better_than(before)):
                return
            worst, before = [*worst, *found.checked.worst], found


def with_made_network(
    extraction: Extraction, problem: Problem, log: Log, *, computes: bool = True
) -> tuple[Extraction, Trained | None, Problem, States | None]:
    """The extraction with a network of its own, the problem of that network, and what the program remembers;
    no network if none can be written down."""
    for states in ways(extraction.program.recurrence):
        own = problem if states is None else with_states(problem, states)
        found, graph = with_network(extraction, None, own, log, computes=computes)
        if graph is not None:
            return found, as_trained(graph, own, found), own, states
    return extraction, None, problem, None


def ways(program: Recurrence) -> Iterator[States | None]:
    """What may be an output of the network: what no head can hold, or all that is remembered."""
    some, every = States.of(program), States.of(program, heads=False)
    yield some
    if every is not None and (some is None or every.names != some.names):
        yield every


def as_trained(graph: DiscreteGraph, problem: Problem, extraction: Extraction) -> Trained:
    """A network that was made, as a rung of one member."""
    from weights2code.graph.to_model import model_of
    from weights2code.training.storage import Trained

    whole = extraction.program.integer_outputs
    loss, accuracy = fit_of(graph, problem.under(extraction.program.regime))
    return Trained(
        "made",
        "made",
        graph.layout,
        model_of(graph),
        (loss,),
        (accuracy,),
        extraction.certificate.network is not None and extraction.certificate.network.equal,
        (),
        0.0,
        integer_outputs=whole,
    )


def blank(problem: Problem) -> DiscreteGraph:
    """A network without any node but its channels, in the layout that rules are written in."""
    anywhere = problem.reference is None and problem.original is None
    layout = fit_layout("autoregressive", problem.training, int(anywhere and problem.length >= SHORTEST))
    labels = layout.channel_names(problem.inputs, problem.outputs)
    nodes = tuple(ChannelNode(f"V{place}_input", label) for place, label in enumerate(labels))
    head = np.zeros((len(problem.outputs), len(nodes) + 1))
    return DiscreteGraph(nodes, head, layout, problem.inputs, problem.outputs, problem.length)


def goes_over_all(program: Recurrence) -> bool:
    """Whether a rule has steps that heads over everything so far are needed for."""
    hidden = (step for step in program.live().steps if step.name not in program.outputs)
    return any(Var(s.name, 1) in definition_variables(s.definition) for s in hidden) or program.retrieves()


def _linked(
    extraction: Extraction, own: _Candidate, taught: _Candidate | None, problem: Problem, seed: int
) -> Extraction:
    """The extraction with its network; certificate and text say what is known of it and the trained one."""
    certificate, best = extraction.certificate, taught or own
    if problem.reference is not None:
        program = replace(extraction.program.recurrence, outputs=problem.outputs)
        agreement = model_agreement(program, own.graph, problem, seed)
        certificate = replace(certificate, model=agreement)
    first = own.certificate
    if first.member is None:  # it was made, and is alone in its file
        first = replace(first, member=0, read=0)
    certificate = replace(certificate, network=first, taught=taught and taught.certificate)
    if not certificate.model_fits:  # that was said before it was looked at
        kept = tuple(note for note in certificate.notes if not note.startswith(UNFIT))
        certificate = replace(certificate, model_fits=True, notes=kept)
        certificate = certificate if own.certificate.equal else with_caveat(certificate)
    return replace(
        extraction,
        network=best.graph,
        explained=extraction.explained if best.graph is extraction.network else None,
        program=extraction.program.with_verdict(certificate.words()),
        certificate=certificate,
        matched=match_heads(best.graph, problem.validation),
        member=best.member,
    )
